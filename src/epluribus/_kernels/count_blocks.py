"""Statistics of block models with counts, loops or degrees: what `block_models` has, in a general form.

The network may be directed or not, may have loops, and its edges may be counts (parallel edges, weights). The
block of clusters g and h has e edges in all and an *exposure* x, the number of pairs of nodes in it:

    undirected    n_g n_h,    n_g (n_g - 1) / 2 if g = h, n_g (n_g + 1) / 2 with loops, n_g^2 / 2 with degrees
    directed      n_g n_h,    n_g (n_g - 1) if g = h, n_g^2 with loops or degrees

Its log marginal likelihood depends on the *law* of the edges: `block_models.BetaTables` for zeros and ones,
or counts with a Poisson rate that has a Gamma(a, b) prior,

    lG(e, x) = lgamma(a + e) - lgamma(a) + a log b - (a + e) log(b + x)

With degrees each node has a propensity; those of a cluster sum to its size n and are otherwise uniform, which
adds for a cluster whose nodes have D ends of edges (for directed networks one term for each direction)

    lD(n, D) = D log n + lgamma(n) - lgamma(n + D)

See `epluribus.models.count_blocks`.
"""

import math
from typing import Any, NamedTuple

from epluribus._kernels.block_models import BetaTables, clear, log_block, log_rising
from epluribus._kernels.dispatch import Contract, implement, part
from epluribus._kernels.hints import guess_cluster, smooth_scores
from epluribus._kernels.reference import by_reference
from epluribus._typing import FloatArray, IntArray


@by_reference
class GammaTables(NamedTuple):
    """Tables of a Gamma prior on the rates of counts."""

    shape: float
    """a, the prior number of edges."""
    rate: float
    """b, the exposure in which they were seen."""
    rising: FloatArray
    """lgamma(a + e) - lgamma(a), at e = 0, 1, ..."""
    log_exposure: FloatArray
    """log(b + x), at x = 0, 1/2, 1, ..."""


_LAW = Contract(log_cell=3)
log_cell = _LAW.function("log_cell", inline=True)
"""``log_cell(law, e, x)``: log marginal likelihood of a block with e edges and exposure x."""


@part
def _log_counts(t: Any, e: int, x: float) -> float:
    at = int(2.0 * x)
    log_x = t.log_exposure[at] if at < t.log_exposure.size else math.log(t.rate + x)
    # In this order, so that lG(0, 0) is exactly 0.
    value = t.shape * t.log_exposure[0] - (t.shape + e) * log_x
    return log_rising(t.rising, t.shape, e) + value


@part
def _log_binary(t: Any, e: int, x: float) -> float:
    return log_block(t, e, int(x))


_LAW.implement(GammaTables, log_cell=_log_counts)
_LAW.implement(BetaTables, log_cell=_log_binary)


class NetworkState(NamedTuple):
    """Neighbors, tables and statistics of a network of a general kind."""

    start: IntArray
    """(n_items + 1,) where the edges from each item begin in `neighbors` and `counts`, loops left out."""
    neighbors: IntArray
    counts: IntArray
    """How many edges lead to each neighbor."""
    start_in: IntArray
    """The same for edges that arrive; in an undirected network these arrays are those above."""
    neighbors_in: IntArray
    counts_in: IntArray
    loops: IntArray
    """(n_items,) edges of each item to itself."""
    ends: IntArray
    """(n_items, 2) ends of edges at each item, outgoing and incoming; undirected: all, and 0."""
    constants: FloatArray
    """(n_items,) each item's part of the log likelihood that does not depend on the partition."""
    directed: bool
    with_degrees: bool
    own_pairs: float
    """What `_exposure` adds to n: -1 without loops, 1 with loops, 0 with degrees or in a directed network
    with loops."""
    law: Any
    log_gamma: FloatArray
    """lgamma(n), at n = 0, 1, ...; 0 at 0."""
    edges: IntArray
    """(slots, slots) edges from cluster to cluster; symmetric if the network is undirected."""
    cell: FloatArray
    """(slots, slots) log marginal likelihood of each block; symmetric if the network is undirected."""
    cluster_ends: IntArray
    """(slots, 2) ends of edges at each cluster."""
    log_ends: FloatArray
    """(slots,) the terms lD of each cluster; 0 without degrees."""
    links: IntArray
    """(slots,) WORK: edges from the prepared item to each cluster, loops left out."""
    links_in: IntArray
    """(slots,) WORK: edges from each cluster to the prepared item; 0 if the network is undirected."""


@part
def _exposure(m: Any, n: int) -> float:
    """Pairs of nodes within a cluster of n."""
    # Directed: n (n - 1) or n^2; undirected: n (n - 1) / 2, n (n + 1) / 2 or n^2 / 2.
    return n * (n + m.own_pairs) * (1.0 if m.directed else 0.5)


@part
def _log_gamma(m: Any, n: int) -> float:
    return m.log_gamma[n] if n < m.log_gamma.size else math.lgamma(n)


@part
def _log_degrees(m: Any, n: int, ends: int, ends_in: int) -> float:
    """LD of a cluster, for both directions if there are two."""
    if n == 0 or not m.with_degrees:
        return 0.0
    value = _log_gamma(m, n) - _log_gamma(m, n + ends) + ends * math.log(n)
    if m.directed:
        value += _log_gamma(m, n) - _log_gamma(m, n + ends_in) + ends_in * math.log(n)
    return value


@part
def _reset(m: Any) -> None:
    clear(m.edges, m.cell)
    for g in range(m.log_ends.size):
        m.cluster_ends[g, 0] = 0
        m.cluster_ends[g, 1] = 0
        m.log_ends[g] = 0.0


@part
def _prepare(m: Any, p: Any, i: int) -> None:
    for s in range(min(p.n_clusters[0] + 1, p.order.size)):
        m.links[p.order[s]] = 0
        m.links_in[p.order[s]] = 0
    for at in range(m.start[i], m.start[i + 1]):
        g = p.labels[m.neighbors[at]]
        if g >= 0:  # others may be taken out too
            m.links[g] += m.counts[at]
    if m.directed:
        for at in range(m.start_in[i], m.start_in[i + 1]):
            g = p.labels[m.neighbors_in[at]]
            if g >= 0:
                m.links_in[g] += m.counts_in[at]


@part
def _set(m: Any, g: Any, h: Any, e: int, x: float, write: bool) -> float:
    """Change of the log likelihood if block (g, h) gets e edges and exposure x; stored if `write`."""
    value = log_cell(m.law, e, x)
    change = value - m.cell[g, h]
    if write:
        m.edges[g, h] = e
        m.cell[g, h] = value
    return change


@part
def _change(m: Any, p: Any, i: int, g: int, sign: int, write: bool) -> float:
    """Change if the prepared item i joins cluster g (`sign` 1) or leaves it (-1)."""
    n_g = p.sizes[g] + (sign > 0)  # size after the change
    # Within g: edges to its members in both directions (`links_in` is 0 if undirected), and loops. A new
    # cluster is not in the list of clusters below, but may have loops.
    e = m.edges[g, g] + sign * (m.links[g] + m.links_in[g] + m.loops[i])
    total = _set(m, g, g, e, _exposure(m, n_g), write) + sign * m.constants[i]
    for s in range(p.n_clusters[0]):
        h = p.order[s]
        if h != g:
            x = float(n_g * p.sizes[h])
            total += _set(m, g, h, m.edges[g, h] + sign * m.links[h], x, write)
            if m.directed:
                total += _set(m, h, g, m.edges[h, g] + sign * m.links_in[h], x, write)
            elif write:  # the tables are symmetric
                m.edges[h, g] = m.edges[g, h]
                m.cell[h, g] = m.cell[g, h]
    if m.with_degrees:
        ends = m.cluster_ends[g, 0] + sign * m.ends[i, 0]
        ends_in = m.cluster_ends[g, 1] + sign * m.ends[i, 1]
        value = _log_degrees(m, n_g, ends, ends_in)
        total += value - m.log_ends[g]
        if write:
            m.cluster_ends[g, 0] = ends
            m.cluster_ends[g, 1] = ends_in
            m.log_ends[g] = value
    return total


@part
def _logpred(m: Any, p: Any, i: int, g: int) -> float:
    return _change(m, p, i, g, 1, False)


@part
def _add(m: Any, p: Any, i: int, g: int) -> float:
    return _change(m, p, i, g, 1, True)


@part
def _remove(m: Any, p: Any, i: int, g: int) -> float:
    _prepare(m, p, i)
    return -_change(m, p, i, g, -1, True)


@part
def _join(m: Any, p: Any, g: int, h: int) -> float:
    n = p.sizes[g] + p.sizes[h]
    # Inside the union: the edges of both clusters and those between them, in both directions if directed.
    inside = m.edges[g, g] + m.edges[h, h] + m.edges[g, h]
    total = -m.cell[g, g] - m.cell[h, h] - m.cell[g, h]
    if m.directed:
        inside += m.edges[h, g]
        total -= m.cell[h, g]
    total += log_cell(m.law, inside, _exposure(m, n))
    for s in range(p.n_clusters[0]):
        k = p.order[s]
        if k != g and k != h:
            x = float(n * p.sizes[k])
            total += log_cell(m.law, m.edges[g, k] + m.edges[h, k], x)
            total -= m.cell[g, k] + m.cell[h, k]
            if m.directed:
                total += log_cell(m.law, m.edges[k, g] + m.edges[k, h], x)
                total -= m.cell[k, g] + m.cell[k, h]
    ends = m.cluster_ends[g, 0] + m.cluster_ends[h, 0]
    ends_in = m.cluster_ends[g, 1] + m.cluster_ends[h, 1]
    return total + _log_degrees(m, n, ends, ends_in) - m.log_ends[g] - m.log_ends[h]


@part
def _guess(m: Any, p: Any, i: int, u: float) -> None:
    out = m.start[i + 1] - m.start[i]
    into = m.start_in[i + 1] - m.start_in[i] if m.directed else 0
    at = int(u * (out + into))  # one of all neighbors of i
    t = -1
    if at < out:  # i sends to cluster t: so do the members of a good cluster
        t = p.labels[m.neighbors[m.start[i] + at]]
    elif out + into > 0:  # i receives from it
        t = p.labels[m.neighbors_in[m.start_in[i] + at - out]]
    guess_cluster(p, m.edges, t, at >= out)


@part
def _smooth(m: Any, p: Any, n: int, g: int, h: int) -> None:
    smooth_scores(m.start, m.neighbors, m.start_in, m.neighbors_in, m.directed, p, n, g, h)


implement(
    NetworkState,
    reset=_reset,
    prepare=_prepare,
    logpred=_logpred,
    add=_add,
    remove=_remove,
    join=_join,
    guess=_guess,
    smooth=_smooth,
)
