"""Statistics of the stochastic block model: edges between every two clusters.

Undirected: for clusters g and h there are e_gh edges among n_g n_h pairs, n_g (n_g - 1) / 2 if g =
h. Directed: e_gh edges from g to h among n_g n_h ordered pairs, n_g (n_g - 1) if g = h. `cell`
holds lB(e_gh, pairs) for every two clusters, 0 where one of them is empty. See
`epluribus.models.sbm`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.beta import BetaTables, log_block
from epluribus._kernels.dispatch import implement, part

__all__ = ["DirectedBlockState", "UndirectedBlockState"]


class UndirectedBlockState(NamedTuple):
    """Neighbours, tables and statistics; `edges` and `cell` are symmetric."""

    start: NDArray[np.int64]
    """(n_items + 1,) where the neighbours of each item begin in `neighbour`."""
    neighbour: NDArray[np.int64]
    beta: BetaTables
    edges: NDArray[np.int64]
    """(slots, slots) e_gh."""
    cell: NDArray[np.float64]
    """(slots, slots) lB(e_gh, pairs)."""
    links: NDArray[np.int64]
    """(slots,) WORK: edges of the prepared item to each cluster."""


class DirectedBlockState(NamedTuple):
    """The same with edges that leave (rows of `edges`) and edges that arrive (columns)."""

    start: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    start_in: NDArray[np.int64]
    neighbour_in: NDArray[np.int64]
    beta: BetaTables
    edges: NDArray[np.int64]
    cell: NDArray[np.float64]
    links: NDArray[np.int64]
    links_in: NDArray[np.int64]


@part
def _reset(m: Any) -> None:
    m.edges[:] = 0
    m.cell[:] = 0.0


@part
def _count(
    start: NDArray[np.int64],
    neighbour: NDArray[np.int64],
    p: Any,
    i: int,
    links: NDArray[np.int64],  # OUT
) -> None:
    """Neighbours of i in each cluster in use; 0 for the next new cluster."""
    for s in range(min(p.n_clusters[0] + 1, p.order.size)):
        links[p.order[s]] = 0
    for at in range(start[i], start[i + 1]):
        g = p.labels[neighbour[at]]
        if g >= 0:
            links[g] += 1


@part
def _prepare_undirected(m: Any, p: Any, i: int) -> None:
    _count(m.start, m.neighbour, p, i, m.links)


@part
def _logpred_undirected(m: Any, p: Any, i: int, g: int) -> float:
    row = np.uint64(g)  # unsigned: no look for a negative index
    n_g = p.sizes[row]
    total = 0.0
    for s in range(p.n_clusters[0]):
        h = np.uint64(p.order[s])
        pairs = (n_g + 1) * p.sizes[h] if h != row else (n_g + 1) * n_g // 2
        total += log_block(m.beta, m.edges[row, h] + m.links[h], pairs) - m.cell[row, h]
    return total


@part
def _change_undirected(m: Any, p: Any, g: int, n_g: int, sign: int) -> float:
    """Add or remove the prepared item (n_g counts it or not); the log likelihood's change."""
    total = 0.0
    for s in range(p.n_clusters[0]):
        h = p.order[s]
        pairs = n_g * p.sizes[h] if h != g else n_g * (n_g - 1) // 2
        e = m.edges[g, h] + sign * m.links[h]
        value = log_block(m.beta, e, pairs)
        total += value - m.cell[g, h]
        m.edges[g, h] = e
        m.edges[h, g] = e
        m.cell[g, h] = value
        m.cell[h, g] = value
    return total


@part
def _add_undirected(m: Any, p: Any, i: int, g: int) -> float:
    return _change_undirected(m, p, g, p.sizes[g] + 1, 1)


@part
def _remove_undirected(m: Any, p: Any, i: int, g: int) -> float:
    _prepare_undirected(m, p, i)
    return -_change_undirected(m, p, g, p.sizes[g], -1)


@part
def _prepare_directed(m: Any, p: Any, i: int) -> None:
    _count(m.start, m.neighbour, p, i, m.links)
    _count(m.start_in, m.neighbour_in, p, i, m.links_in)


@part
def _logpred_directed(m: Any, p: Any, i: int, g: int) -> float:
    n_g = p.sizes[g]
    total = 0.0
    for s in range(p.n_clusters[0]):
        h = p.order[s]
        if h == g:
            e = m.edges[g, g] + m.links[g] + m.links_in[g]
            total += log_block(m.beta, e, (n_g + 1) * n_g) - m.cell[g, g]
        else:
            pairs = (n_g + 1) * p.sizes[h]
            total += log_block(m.beta, m.edges[g, h] + m.links[h], pairs) - m.cell[g, h]
            total += log_block(m.beta, m.edges[h, g] + m.links_in[h], pairs) - m.cell[h, g]
    return total


@part
def _set_cell(m: Any, g: int, h: int, e: int, pairs: int) -> float:
    """Write one cell; the change of the log likelihood."""
    value = log_block(m.beta, e, pairs)
    change = value - m.cell[g, h]
    m.edges[g, h] = e
    m.cell[g, h] = value
    return change


@part
def _change_directed(m: Any, p: Any, g: int, n_g: int, sign: int) -> float:
    """Add or remove the prepared item (n_g counts it or not); the log likelihood's change."""
    total = 0.0
    for s in range(p.n_clusters[0]):
        h = p.order[s]
        if h == g:
            e = m.edges[g, g] + sign * (m.links[g] + m.links_in[g])
            total += _set_cell(m, g, g, e, n_g * (n_g - 1))
        else:
            pairs = n_g * p.sizes[h]
            total += _set_cell(m, g, h, m.edges[g, h] + sign * m.links[h], pairs)
            total += _set_cell(m, h, g, m.edges[h, g] + sign * m.links_in[h], pairs)
    return total


@part
def _add_directed(m: Any, p: Any, i: int, g: int) -> float:
    return _change_directed(m, p, g, p.sizes[g] + 1, 1)


@part
def _remove_directed(m: Any, p: Any, i: int, g: int) -> float:
    _prepare_directed(m, p, i)
    return -_change_directed(m, p, g, p.sizes[g], -1)


implement(
    UndirectedBlockState,
    reset=_reset,
    prepare=_prepare_undirected,
    logpred=_logpred_undirected,
    add=_add_undirected,
    remove=_remove_undirected,
)
implement(
    DirectedBlockState,
    reset=_reset,
    prepare=_prepare_directed,
    logpred=_logpred_directed,
    add=_add_directed,
    remove=_remove_directed,
)
