"""Statistics of the latent block model: ones in every block of a row cluster and a column cluster.

One state is one side's view: `item` is a row and the `other` side the columns, or the reverse. Both
views hold the same `ones` and `cell` memory, one of them transposed; the arrays are strided on
purpose, so that the two views have one type and are compiled once. See `epluribus.models.lbm`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.beta import BetaTables, log_block
from epluribus._kernels.dispatch import implement, part

__all__ = ["LatentBlockState"]


class LatentBlockState(NamedTuple):
    """Where the ones are, tables, the other side's partition, statistics."""

    start: NDArray[np.int64]
    """(n_items + 1,) where the ones of each item begin in `where`."""
    where: NDArray[np.int64]
    """Items of the other side at which this item has a one."""
    beta: BetaTables
    other_labels: NDArray[np.int64]
    other_sizes: NDArray[np.int64]
    other_order: NDArray[np.int64]
    other_n_clusters: NDArray[np.int64]
    ones: NDArray[np.int64]
    """(slots, other slots) ones in each block; strided."""
    cell: NDArray[np.float64]
    """(slots, other slots) lB(ones, n_g m_h); strided."""
    links: NDArray[np.int64]
    """(other slots,) WORK: ones of the prepared item in each cluster of the other side."""


@part
def _reset(m: Any) -> None:
    for g in range(m.ones.shape[0]):
        for h in range(m.ones.shape[1]):
            m.ones[g, h] = 0
            m.cell[g, h] = 0.0


@part
def _prepare(m: Any, p: Any, i: int) -> None:
    for s in range(m.other_n_clusters[0]):
        m.links[m.other_order[s]] = 0
    for at in range(m.start[i], m.start[i + 1]):
        m.links[m.other_labels[m.where[at]]] += 1


@part
def _logpred(m: Any, p: Any, i: int, g: int) -> float:
    row = np.uint64(g)  # unsigned: no look for a negative index
    n_g = p.sizes[row] + 1
    total = 0.0
    for s in range(m.other_n_clusters[0]):
        h = np.uint64(m.other_order[s])
        value = log_block(m.beta, m.ones[row, h] + m.links[h], n_g * m.other_sizes[h])
        total += value - m.cell[row, h]
    return total


@part
def _change(m: Any, g: int, n_g: int, sign: int) -> float:
    """Add or remove the prepared item (n_g counts it or not); the log likelihood's change."""
    total = 0.0
    for s in range(m.other_n_clusters[0]):
        h = m.other_order[s]
        e = m.ones[g, h] + sign * m.links[h]
        value = log_block(m.beta, e, n_g * m.other_sizes[h])
        total += value - m.cell[g, h]
        m.ones[g, h] = e
        m.cell[g, h] = value
    return total


@part
def _add(m: Any, p: Any, i: int, g: int) -> float:
    return _change(m, g, p.sizes[g] + 1, 1)


@part
def _remove(m: Any, p: Any, i: int, g: int) -> float:
    _prepare(m, p, i)
    return -_change(m, g, p.sizes[g], -1)


implement(
    LatentBlockState, reset=_reset, prepare=_prepare, logpred=_logpred, add=_add, remove=_remove
)
