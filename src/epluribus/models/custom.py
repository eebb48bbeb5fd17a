"""Any log posterior that is a function of the labels: slow but general (the paper's appendix).

The moves are those of the compiled models, run as plain Python; each partition that is considered costs one
call of the function. The moves also need the log target of partitions of some of the items, through

    log f(all items) = sum_i [ log f(items 1..i) - log f(items 1..i-1) ].

A function of all labels has no value for some of them, so it is taken as 0 there: the first N - 1 terms are 0
and the last is the whole value. The sum is right in any order of the items, and every acceptance ratio is
exact. The price is that split-merge makes its proposals without looking at the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from epluribus._kernels.chain import Partition
from epluribus._kernels.dispatch import implement
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import check_count, shown
from epluribus.models.base import Model, Side
from epluribus.models.prior import FlatPrior, PartitionLaw
from epluribus.partition import relabel


class CustomModel(Model):
    """A model given by a function of the labels.

    Parameters
    ----------
    log_posterior : callable
        Takes labels of shape (n_items,), clusters numbered 0, 1, ... in order of first appearance,
        and returns the log posterior up to a constant. Minus infinity forbids a partition. The value must
        depend on the partition alone.
    n_items : int
        Number of items.
    k_max : int, optional
        Largest number of clusters; `n_items` by default.
    prior : PartitionLaw, optional
        A prior to add, if the function is the log likelihood alone. By default no prior is added.

    Notes
    -----
    A Gibbs update calls the function once per cluster: thousands of updates per second, where compiled
    models reach a million. docs/developer/new-model.md shows how to write a compiled model.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.models import CustomModel
    >>> from epluribus.sampling import sample
    >>> def few_clusters(labels):
    ...     return -2.0 * (labels.max() + 1)
    >>> model = CustomModel(few_clusters, n_items=4)
    >>> trace = sample(model, n_draws=50, thin=4, burn_in=20, n_chains=1, rng=1)
    >>> trace.draws.n_items
    4
    """

    compiled = False
    statistics = ("missing", "current")

    def __init__(
        self,
        log_posterior: Callable[[IntArray], float],
        n_items: int,
        *,
        k_max: int | None = None,
        prior: PartitionLaw | None = None,
    ) -> None:
        if not callable(log_posterior):
            raise TypeError(
                f"'log_posterior' must be a function of the labels; got {shown(log_posterior)}."
            )
        N = check_count(n_items, "n_items")
        if prior is not None and not isinstance(prior, PartitionLaw):
            raise TypeError(
                f"'prior' must be an object such as DirichletProcess; got {shown(prior)}."
            )
        if prior is not None and k_max is not None:
            raise ValueError("'k_max' must be left out where 'prior' is given: the prior has it.")
        self._function = log_posterior
        # Without a prior the function is the whole log posterior: every partition has weight 1.
        bound = N if k_max is None else check_count(k_max, "k_max")
        self.sides = (Side("items", N, FlatPrior(bound) if prior is None else prior),)

    def _evaluate(self, labels: IntArray) -> float:
        """The user's function, its value checked."""
        value = float(self._function(labels))
        # Minus infinity is a probability of 0; NaN or infinity would break every comparison in the moves.
        if np.isnan(value) or value == np.inf:
            raise ValueError(
                f"'log_posterior' must return a number or minus infinity; it returned {value} "
                f"for labels {np.array2string(labels, threshold=20)}."
            )
        return value

    def _log_likelihood(self, *labels: IntArray) -> float:
        return self._evaluate(labels[0])

    def states(self, partitions: Sequence[Partition]) -> tuple[_State]:  # noqa: ARG002
        """One fresh state; see `Model.states`."""
        return (_State(self._evaluate, np.zeros(1, np.int64), np.zeros(1), {}),)

    def _parameters(self) -> dict[str, Any]:
        # Functions cannot be compared, so their names have to do: a checkpoint does not notice that the
        # body of the function has changed.
        name = getattr(self._function, "__qualname__", type(self._function).__name__)
        return {"name": np.frombuffer(name.encode(), dtype=np.uint8)}


# --- the six functions that the moves call; see `_kernels/dispatch.py` ---


class _State(NamedTuple):
    """The function, and the values that are known."""

    function: Callable[[IntArray], float]
    """Log target of canonical labels."""
    missing: IntArray
    """(1,) number of items taken out."""
    current: FloatArray
    """(1,) log target of the labels if no item is missing, else 0."""
    known: dict[int, float]
    """Log target for each cluster that the one missing item could join, as far as computed."""


def _reset(m: _State) -> None:
    m.missing[0] = -1  # unknown until the first `_prepare` counts
    m.current[0] = 0.0
    m.known.clear()


def _prepare(m: _State, p: Any, i: int) -> None:  # noqa: ARG001 - the same arguments for all models
    # A label of -1 marks an item that is taken out.
    m.missing[0] = np.count_nonzero(p.labels < 0)
    m.known.clear()


def _logpred(m: _State, p: Any, i: int, g: int) -> float:
    # Other items are missing too: the log target is 0 with and without item i.
    if m.missing[0] != 1:
        return 0.0
    if int(g) not in m.known:
        labels = p.labels.copy()
        labels[i] = g
        # The user's function sees canonical labels, whatever the numbers of the clusters in the chain.
        m.known[int(g)] = m.function(relabel(labels))
    return m.known[int(g)]


def _add(m: _State, p: Any, i: int, g: int) -> float:
    m.current[0] = _logpred(m, p, i, g)
    m.missing[0] -= 1
    m.known.clear()
    return float(m.current[0])


def _remove(m: _State, p: Any, i: int, g: int) -> float:  # noqa: ARG001
    value = float(m.current[0])  # 0 unless no item was missing
    m.known.clear()
    # Item i alone is missing from now on, and the value of putting it back is known already.
    if m.missing[0] == 0:
        m.known[int(g)] = value
    m.missing[0] += 1
    m.current[0] = 0.0
    return value


def _join(m: _State, p: Any, g: int, h: int) -> float:
    labels = np.where(p.labels == h, g, p.labels)
    return m.function(relabel(labels)) - float(m.current[0])


implement(
    _State,
    reset=_reset,
    prepare=_prepare,
    logpred=_logpred,
    add=_add,
    remove=_remove,
    join=_join,
)
