"""Statistics of the block models: the number of ones in the block of every two clusters.

A block is the part of an adjacency matrix, or of a matrix of rows and columns, that belongs to two
clusters g and h. With e ones in n cells, and the probability of a one integrated out under a Beta(b1, b2)
prior, its log marginal likelihood is

    lB(e, n) = log B(e + b1, n - e + b2) - log B(b1, b2) = ones[e] + zeros[n - e] - cells[n]

where ones[x] = lgamma(x + b1) - lgamma(b1), zeros is the same with b2 and cells with b1 + b2, so that
lB(0, 0) is exactly 0. The tables `edges` or `ones` hold e, and `cell` holds lB, for every two clusters;
`cell` is 0 where one of them is empty. The number n of cells of a block:

    undirected network    n_g n_h pairs, n_g (n_g - 1) / 2 if g = h; the tables are symmetric
    directed network      n_g n_h ordered pairs, n_g (n_g - 1) if g = h; rows are senders
    latent block model    n_g m_h, with n_g rows and m_h columns

Moving an item into or out of cluster g changes only the blocks of g, so a move takes time O(K + degree of the
item). See `epluribus.models.block_models`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from epluribus._kernels.dispatch import implement, part
from epluribus._kernels.hints import guess_cluster, smooth_scores
from epluribus._kernels.reference import by_reference
from epluribus._typing import FloatArray, IntArray


@by_reference
class BetaTables(NamedTuple):
    """Tables of log rising factorials; beyond their end `lgamma` is called."""

    b1: float
    """Prior count of ones: the first parameter of the Beta distribution."""
    b2: float
    """Prior count of zeros: the second parameter."""
    ones: FloatArray
    """log b1 (b1 + 1) ... (b1 + x - 1) = lgamma(x + b1) - lgamma(b1), at x = 0, 1, ..."""
    zeros: FloatArray
    """The same for b2."""
    cells: FloatArray
    """The same for b1 + b2."""


@part
def log_rising(table: FloatArray, b: float, x: int) -> float:
    """log b (b + 1) ... (b + x - 1), from the table as far as it reaches."""  # noqa: D403 - a formula
    if x < table.size:
        return table[np.uint64(x)]  # unsigned: no check for a negative index
    return math.lgamma(x + b) - math.lgamma(b)


@part
def log_block(t: BetaTables, e: int, n: int) -> float:
    """lB(e, n)."""
    # B(e + b1, n - e + b2) / B(b1, b2) is the rising factorial of b1 at e, times that of b2 at n - e,
    # divided by that of b1 + b2 at n.
    ones = log_rising(t.ones, t.b1, e)
    zeros = log_rising(t.zeros, t.b2, n - e)
    return ones + zeros - log_rising(t.cells, t.b1 + t.b2, n)


@part
def _set_block(
    beta: BetaTables, ones: Any, cell: Any, g: Any, h: Any, e: int, n: int, write: bool
) -> float:
    """Change of the log likelihood if block (g, h) gets e ones in n cells; stored if `write`."""
    value = log_block(beta, e, n)
    change = value - cell[g, h]
    if write:
        ones[g, h] = e
        cell[g, h] = value
    return change


def _implement(
    state: type,
    reset: Callable[..., Any],
    prepare: Callable[..., Any],
    change: Callable[..., Any],
    join: Callable[..., Any],
    guess: Callable[..., Any],
    **optional: Callable[..., Any],
) -> None:
    """Register a block model, given how its log likelihood changes.

    ``change(m, p, g, sign, write)`` is the change if the prepared item joins cluster g (`sign` 1) or
    leaves it (-1). The last two arguments are constants wherever the function is inlined, so the branches
    on them cost nothing.
    """

    @part
    def logpred(m: Any, p: Any, i: int, g: int) -> float:
        return change(m, p, g, 1, False)

    @part
    def add(m: Any, p: Any, i: int, g: int) -> float:
        return change(m, p, g, 1, True)

    @part
    def remove(m: Any, p: Any, i: int, g: int) -> float:
        # The contract asks for an item that is prepared afterwards, so that it can be put back at once.
        prepare(m, p, i)
        return -change(m, p, g, -1, True)

    implement(
        state,
        reset=reset,
        prepare=prepare,
        logpred=logpred,
        add=add,
        remove=remove,
        join=join,
        guess=guess,
        **optional,
    )


# --- networks ---


class UndirectedBlockState(NamedTuple):
    """Neighbors, tables and statistics of an undirected network."""

    start: IntArray
    """(n_items + 1,) where the neighbors of each item begin in `neighbors`."""
    neighbors: IntArray
    """The neighbors of item 0, then those of item 1, and so on; each edge is in it twice."""
    beta: BetaTables
    edges: IntArray
    """(slots, slots) edges between every two clusters; symmetric."""
    cell: FloatArray
    """(slots, slots) lB of every block; symmetric."""
    links: IntArray
    """(slots,) WORK: edges of the prepared item to each cluster."""


class DirectedBlockState(NamedTuple):
    """The same for a directed network: edges from an item and edges to it are kept apart."""

    start: IntArray
    """(n_items + 1,) where the receivers of each item's edges begin in `neighbors`."""
    neighbors: IntArray
    start_in: IntArray
    """(n_items + 1,) where the senders of edges to each item begin in `neighbors_in`."""
    neighbors_in: IntArray
    beta: BetaTables
    edges: IntArray
    """(slots, slots) edges from each cluster (row) to each cluster (column)."""
    cell: FloatArray
    """(slots, slots) lB of every block."""
    links: IntArray
    """(slots,) WORK: edges from the prepared item to each cluster."""
    links_in: IntArray
    """(slots,) WORK: edges from each cluster to the prepared item."""


@part
def clear(table: Any, cell: Any) -> None:
    """Set two tables of the same shape to 0; loops take less time to compile than slices."""
    for g in range(table.shape[0]):
        for h in range(table.shape[1]):
            table[g, h] = 0
            cell[g, h] = 0.0


@part
def _reset(m: Any) -> None:
    clear(m.edges, m.cell)


@part
def _count_links(
    start: IntArray,
    neighbors: IntArray,
    p: Any,
    i: int,
    links: IntArray,  # OUT
) -> None:
    """Count the neighbors of i in each cluster; there are none in the next new cluster."""
    # Only the entries that will be read are cleared, those of the K clusters and of the next new one:
    # O(K), not O(slots).
    for s in range(min(p.n_clusters[0] + 1, p.order.size)):
        links[p.order[s]] = 0
    for at in range(start[i], start[i + 1]):
        g = p.labels[neighbors[at]]
        if g >= 0:  # a split takes several items out at once
            links[g] += 1


@part
def _prepare_undirected(m: Any, p: Any, i: int) -> None:
    _count_links(m.start, m.neighbors, p, i, m.links)


@part
def _prepare_directed(m: Any, p: Any, i: int) -> None:
    _count_links(m.start, m.neighbors, p, i, m.links)
    _count_links(m.start_in, m.neighbors_in, p, i, m.links_in)


@part
def _change_undirected(m: Any, p: Any, g: int, sign: int, write: bool) -> float:
    row = np.uint64(g)  # unsigned: no check for a negative index
    n_g = p.sizes[row] + (sign > 0)  # size after the change: `sizes` does not count the item
    # Sum over the clusters h of the change of lB(e_gh, n_gh). A new cluster is not in this list, but
    # with one item it has no pairs inside: lB(0, 0) = 0.
    total = 0.0
    for s in range(p.n_clusters[0]):
        h = np.uint64(p.order[s])
        # Pairs of nodes in the block; within a cluster each pair is counted once.
        pairs = n_g * p.sizes[h] if h != row else n_g * (n_g - 1) // 2
        # The edges of the item to the items of h are gained or lost.
        e = m.edges[row, h] + sign * m.links[h]
        total += _set_block(m.beta, m.edges, m.cell, row, h, e, pairs, write)
        if write:  # the tables are symmetric
            m.edges[h, row] = e
            m.cell[h, row] = m.cell[row, h]
    return total


@part
def _change_directed(m: Any, p: Any, g: int, sign: int, write: bool) -> float:
    n_g = p.sizes[g] + (sign > 0)  # size after the change
    # Sum over the clusters h of the changes of lB(e_gh, n_gh) and of lB(e_hg, n_hg).
    total = 0.0
    for s in range(p.n_clusters[0]):
        h = p.order[s]
        e = m.edges[g, h] + sign * m.links[h]
        if h == g:  # edges from the item and edges to it are in the same block
            e += sign * m.links_in[g]
            total += _set_block(m.beta, m.edges, m.cell, g, g, e, n_g * (n_g - 1), write)
        else:
            pairs = n_g * p.sizes[h]  # the same number from g to h and from h to g
            total += _set_block(m.beta, m.edges, m.cell, g, h, e, pairs, write)
            e = m.edges[h, g] + sign * m.links_in[h]
            total += _set_block(m.beta, m.edges, m.cell, h, g, e, pairs, write)
    return total


@part
def _join_undirected(m: Any, p: Any, g: int, h: int) -> float:
    n = p.sizes[g] + p.sizes[h]
    # Inside the union: the edges of both clusters and those between them.
    inside = m.edges[g, g] + m.edges[h, h] + m.edges[g, h]
    total = log_block(m.beta, inside, n * (n - 1) // 2) - m.cell[g, g] - m.cell[h, h]
    total -= m.cell[g, h]
    for s in range(p.n_clusters[0]):
        x = p.order[s]
        if x != g and x != h:
            total += log_block(m.beta, m.edges[g, x] + m.edges[h, x], n * p.sizes[x])
            total -= m.cell[g, x] + m.cell[h, x]
    return total


@part
def _join_directed(m: Any, p: Any, g: int, h: int) -> float:
    n = p.sizes[g] + p.sizes[h]
    # Inside the union: the edges of both clusters and those between them, in both directions.
    inside = m.edges[g, g] + m.edges[h, h] + m.edges[g, h] + m.edges[h, g]
    total = log_block(m.beta, inside, n * (n - 1)) - m.cell[g, g] - m.cell[h, h]
    total -= m.cell[g, h] + m.cell[h, g]
    for s in range(p.n_clusters[0]):
        x = p.order[s]
        if x != g and x != h:
            pairs = n * p.sizes[x]
            total += log_block(m.beta, m.edges[g, x] + m.edges[h, x], pairs)
            total += log_block(m.beta, m.edges[x, g] + m.edges[x, h], pairs)
            total -= m.cell[g, x] + m.cell[h, x] + m.cell[x, g] + m.cell[x, h]
    return total


@part
def _guess_undirected(m: Any, p: Any, i: int, u: float) -> None:
    # A random neighbor, in cluster t; then a cluster by the number of its edges to t.
    degree = m.start[i + 1] - m.start[i]
    t = p.labels[m.neighbors[m.start[i] + int(u * degree)]] if degree > 0 else -1
    guess_cluster(p, m.edges, t, True)


@part
def _guess_directed(m: Any, p: Any, i: int, u: float) -> None:
    out = m.start[i + 1] - m.start[i]
    into = m.start_in[i + 1] - m.start_in[i]
    at = int(u * (out + into))  # one of all edges of i
    t = -1
    if at < out:  # i sends to cluster t: so do the members of a good cluster
        t = p.labels[m.neighbors[m.start[i] + at]]
    elif out + into > 0:  # i receives from it
        t = p.labels[m.neighbors_in[m.start_in[i] + at - out]]
    guess_cluster(p, m.edges, t, at >= out)


@part
def _smooth_undirected(m: Any, p: Any, n: int, g: int, h: int) -> None:
    smooth_scores(m.start, m.neighbors, m.start, m.neighbors, False, p, n, g, h)


@part
def _smooth_directed(m: Any, p: Any, n: int, g: int, h: int) -> None:
    smooth_scores(m.start, m.neighbors, m.start_in, m.neighbors_in, True, p, n, g, h)


_implement(
    UndirectedBlockState,
    _reset,
    _prepare_undirected,
    _change_undirected,
    _join_undirected,
    _guess_undirected,
    smooth=_smooth_undirected,
)
_implement(
    DirectedBlockState,
    _reset,
    _prepare_directed,
    _change_directed,
    _join_directed,
    _guess_directed,
    smooth=_smooth_directed,
)


# --- rows and columns ---


class LatentBlockState(NamedTuple):
    """One side of the latent block model: its items are the rows, those of the `other` side the columns.

    For the other side it is the reverse. The states of both sides hold the same `ones` and `cell`, one of
    them transposed. These arrays are strided on purpose: both states then have the same type, so the
    kernels are compiled once.
    """

    start: IntArray
    """(n_items + 1,) where the ones of each item begin in `where`."""
    where: IntArray
    """Items of the other side at which each item has a one."""
    beta: BetaTables
    # The partition of the other side, shared with its state: the fields of `chain.Partition`.
    other_labels: IntArray
    other_sizes: IntArray
    other_order: IntArray
    other_n_clusters: IntArray
    ones: IntArray
    """(slots, slots of the other side) ones in each block; strided."""
    cell: FloatArray
    """(slots, slots of the other side) lB of each block; strided."""
    links: IntArray
    """(slots of the other side,) WORK: ones of the prepared item in each cluster of the other side."""


@part
def _reset_latent(m: Any) -> None:
    clear(m.ones, m.cell)


@part
def _prepare_latent(m: Any, p: Any, i: int) -> None:
    # No item of the other side is taken out while this side moves, so all its labels are known.
    for s in range(m.other_n_clusters[0]):
        m.links[m.other_order[s]] = 0
    for at in range(m.start[i], m.start[i + 1]):
        m.links[m.other_labels[m.where[at]]] += 1


@part
def _change_latent(m: Any, p: Any, g: int, sign: int, write: bool) -> float:
    row = np.uint64(g)  # unsigned: no check for a negative index
    n_g = p.sizes[row] + (sign > 0)  # size after the change
    # Sum over the clusters h of the other side of the change of lB(e_gh, n_g m_h).
    total = 0.0
    for s in range(m.other_n_clusters[0]):
        h = np.uint64(m.other_order[s])
        e = m.ones[row, h] + sign * m.links[h]
        n = n_g * m.other_sizes[h]
        total += _set_block(m.beta, m.ones, m.cell, row, h, e, n, write)
    return total


@part
def _join_latent(m: Any, p: Any, g: int, h: int) -> float:
    n = p.sizes[g] + p.sizes[h]
    total = 0.0
    for s in range(m.other_n_clusters[0]):
        x = m.other_order[s]
        total += log_block(m.beta, m.ones[g, x] + m.ones[h, x], n * m.other_sizes[x])
        total -= m.cell[g, x] + m.cell[h, x]
    return total


@part
def _guess_latent(m: Any, p: Any, i: int, u: float) -> None:
    n = m.start[i + 1] - m.start[i]
    t = m.other_labels[m.where[m.start[i] + int(u * n)]] if n > 0 else -1
    guess_cluster(p, m.ones, t, False)


_implement(
    LatentBlockState, _reset_latent, _prepare_latent, _change_latent, _join_latent, _guess_latent
)
