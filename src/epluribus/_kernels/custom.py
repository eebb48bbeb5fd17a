"""Any function of the labels as a model, in plain Python.

The moves need the log target of partitions of some of the items too. A function of all labels has
none, so it is defined as 0 there: the chain rule then still gives the right value for all items,
and every acceptance ratio stays exact; only the proposals of split-merge are made without looking
at the data.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.dispatch import implement

__all__ = ["CustomState"]


class CustomState(NamedTuple):
    """The function and what is known of it."""

    function: Callable[[NDArray[np.int64]], float]
    """Log target of canonical labels."""
    missing: NDArray[np.int64]
    """(1,) items taken out."""
    current: NDArray[np.float64]
    """(1,) log target of the labels, if no item is missing."""
    known: dict[int, float]
    """Log target of each choice of the one missing item, as far as computed."""


def _reset(m: CustomState) -> None:
    m.missing[0] = -1  # not known: the first `prepare` counts
    m.current[0] = 0.0
    m.known.clear()


def _prepare(m: CustomState, p: Any, i: int) -> None:
    m.missing[0] = np.count_nonzero(p.labels < 0)
    m.known.clear()


def _evaluate(m: CustomState, p: Any, i: int, g: int) -> float:
    """Log target with item i, the last one missing, in cluster g."""
    g = int(g)
    if g not in m.known:
        labels = p.labels.copy()
        labels[i] = g
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        rank = np.empty_like(first)
        rank[np.argsort(first)] = np.arange(first.size)
        m.known[g] = m.function(rank[inverse])
    return m.known[g]


def _logpred(m: CustomState, p: Any, i: int, g: int) -> float:
    return _evaluate(m, p, i, g) if m.missing[0] == 1 else 0.0


def _add(m: CustomState, p: Any, i: int, g: int) -> float:
    value = _logpred(m, p, i, g)
    m.missing[0] -= 1
    m.current[0] = value
    m.known.clear()
    return value


def _remove(m: CustomState, p: Any, i: int, g: int) -> float:
    value = float(m.current[0])  # 0 unless all items were there
    m.known.clear()
    if m.missing[0] == 0:
        m.known[int(g)] = value
    m.missing[0] += 1
    m.current[0] = 0.0
    return value


implement(CustomState, reset=_reset, prepare=_prepare, logpred=_logpred, add=_add, remove=_remove)
