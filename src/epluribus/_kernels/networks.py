"""Block models: networks of ones or of counts, and matrices of ones with clusters of rows and of columns.

A *block* is what lies between two clusters g and h. With e links among x pairs of items, and the rate of links
integrated out, its log marginal likelihood is

    ones, Beta(b1, b2) prior      T1[e] + T2[x - e] - T3[x],  T1[n] = lgamma(b1 + n) - lgamma(b1), T2 with b2,
                                  T3 with b1 + b2
    counts, Gamma(a, b) prior     a log b - (a + e) log(b + x) + lgamma(a + e) - lgamma(a)

so that an empty block has exactly 0. The number x of pairs:

    undirected network     n_g n_h;    n_g (n_g - 1) / 2 if g = h, n_g (n_g + 1) / 2 with loops, n_g^2 / 2 with degrees
    directed network       n_g n_h;    n_g (n_g - 1) if g = h, n_g^2 with loops or degrees
    rows and columns       n_g m_h, with n_g rows and m_h columns

With degrees, each node has a propensity; those of a cluster sum to its size n and are otherwise uniform, which adds
for a cluster whose nodes have D ends of links (for directed networks one term for each direction)

    D log n + lgamma(n) - lgamma(n + D)

The *growth* of cluster g is the change of the log likelihood if an item without links joins it: a sum over all
blocks of the cluster, which is kept up to date. The weight of an item then takes another look only at the blocks in
which it has links: all weights in time O(K x clusters to which the item is linked) instead of O(K^2). A move changes
the blocks of one cluster, and the growth of all, in time O(K + degree of the item).

Row r = g * `DOWN` + h * `ACROSS` of `stat` has e of block (g, h): rows are senders, and an undirected network has each
block twice. Row r + `MINE` has what the block adds to the growth of g. For networks `MINE` is 0; the columns of a
matrix see the blocks of its rows transposed, and have their part of the growth in rows of their own, `THEIRS` to the
rows. Of a cluster that is not in use all these are 0. Row `OWN` + g has the ends of links of cluster g, outgoing
(undirected: all), if there are degrees, and its growth; `ACROSS` rows later are the incoming ends. A row of `x` has a
node's links to itself, its ends of links, and what it adds to the log likelihood in any cluster.
"""

import math

from epluribus._kernels.jit import part
from epluribus._kernels.states import (
    ADD,
    COUNT,
    LABEL,
    LATENT,
    LINKED,
    LINKS,
    LINKS_IN,
    ORDER,
    POISSON,
    REMOVE,
    SIZE,
    WEIGHT,
)

FIRST, SECOND, DOWN, ACROSS, DIRECTED, DEGREES, OWN_PAIRS, MINE, THEIRS, OWN, OTHERS, LOG_GAMMA = (
    range(12)
)
"""Places in `hyper`: the two parameters of the prior; how to find a block in `stat`; 1 for a directed network; 1 with
degrees; a cluster of n nodes has n (n + this) pairs within it, half as many if undirected; where in `stat` to find
growth, and the rows of the clusters of this side and of the other one; lgamma of the number that each of the three rows
of `table` begins with."""
LOOPS, ENDS, ENDS_IN, CONSTANT = range(4)
"""Columns of `x`."""
EDGES, GROWTH = range(2)
"""Columns of `stat`."""


@part
def count_links(i, m):
    """Count the links of item i to each cluster, and list the clusters to which it has any."""
    start, near, other = m.start, m.near, m.other
    for t in range(1, other[LINKED, 0] + 1):  # those of the item before
        other[LINKS, other[LINKED, t]] = 0
        other[LINKS_IN, other[LINKED, t]] = 0
    n = 0
    for side in range(2 if m.hyper[DIRECTED] > 0.0 else 1):
        row = i + side * m.x.shape[0]
        for at in range(start[row], start[row + 1]):
            g = other[LABEL, near[at, 0]]
            if g >= 0:  # a split takes several items out at once
                if other[LINKS, g] + other[LINKS_IN, g] == 0:
                    n += 1
                    other[LINKED, n] = g
                other[LINKS + side, g] += near[at, 1]
    other[LINKED, 0] = n


@part
def change_blocks(what, i, a, b, m):
    """Change of the log likelihood if item i joins each cluster at places a to b - 1, or leaves the one there."""
    if what == REMOVE:
        _write_blocks(i, m.own[ORDER, a], -1, m)
    model, hyper, x, table, stat = m.model, m.hyper, m.x, m.table, m.stat
    own, other, logs = m.own, m.other, m.logs
    down, across, directed = int(hyper[DOWN]), int(hyper[ACROSS]), hyper[DIRECTED] > 0.0
    value = 0.0
    for s in range(a, b):
        g = own[ORDER, s]
        n = own[SIZE, g] + 1  # the size with the item
        # First as if it had no links, then those to each cluster.
        value = stat[int(hyper[OWN]) + g, GROWTH] if n > 1 else _growth_of_new(m)
        for t in range(1, other[LINKED, 0] + 1):
            h = other[LINKED, t]
            if model == LATENT or h != g:
                row, links, twice = g * down + h * across, other[LINKS, h], 2 * n * other[SIZE, h]
                value += _log_links(int(stat[row, EDGES]), links, twice, model, hyper, table)
                if directed:
                    row, links = h * down + g * across, other[LINKS_IN, h]
                    value += _log_links(int(stat[row, EDGES]), links, twice, model, hyper, table)
        if model != LATENT:
            value += x[i, CONSTANT]
            links = _links_within(i, g, m)
            if links > 0:
                e, twice = int(stat[g * (down + across), EDGES]), _pairs_within(n, hyper)
                value += _log_links(e, links, twice, model, hyper, table)
        if hyper[DEGREES] > 0.0:
            for side in range(2 if directed else 1):
                row = int(hyper[OWN]) + side * across + g
                value += _log_degrees(n, int(stat[row, EDGES] + x[i, ENDS + side]), hyper, table)
        logs[WEIGHT, s] = value
    if what == ADD:
        _write_blocks(i, m.own[ORDER, a], 1, m)
    return value


@part
def _growth_of_new(m):
    """Change of the log likelihood if a node without links becomes a cluster."""
    model, hyper, table, other = m.model, m.hyper, m.table, m.other
    none, value = _log_pairs(0, 0, model, hyper, table), 0.0
    for t in range(other[COUNT, 0]):
        value += _log_pairs(0, 2 * other[SIZE, other[ORDER, t]], model, hyper, table) - none
    if hyper[DIRECTED] > 0.0:
        value *= 2
    if model != LATENT:
        value += _log_pairs(0, _pairs_within(1, hyper), model, hyper, table) - none
    return value


@part
def _write_blocks(i, g, sign, m):
    """Put item i into the blocks of cluster g (`sign` 1), or take it out (-1)."""
    model, hyper, x, table, stat, own, other = (
        m.model,
        m.hyper,
        m.x,
        m.table,
        m.stat,
        m.own,
        m.other,
    )
    down, across, directed = int(hyper[DOWN]), int(hyper[ACROSS]), hyper[DIRECTED] > 0.0
    for t in range(1, other[LINKED, 0] + 1):
        h = other[LINKED, t]
        if model == LATENT or h != g:
            stat[g * down + h * across, EDGES] += sign * other[LINKS, h]
            if model != LATENT:  # an undirected network has each block twice
                links = other[LINKS_IN if directed else LINKS, h]
                stat[h * down + g * across, EDGES] += sign * links
    n = own[SIZE, g] + (sign > 0)  # the size after the change: `SIZE` does not count the item
    total = 0.0
    for t in range(other[COUNT, 0]):
        h = other[ORDER, t]
        row = g * down + h * across
        back = row if model == LATENT else h * down + g * across
        if model != LATENT and h == g:
            stat[row, EDGES] += sign * _links_within(i, g, m)
            e = int(stat[row, EDGES])
            total += _log_pairs(e, _pairs_within(n + 1, hyper), model, hyper, table)
            total -= _log_pairs(e, _pairs_within(n, hyper), model, hyper, table)
            continue
        grows, other_grows, n_h = 0.0, 0.0, other[SIZE, h]
        for side in range(2 if directed else 1):
            e = int(stat[back if side else row, EDGES])
            now = _log_pairs(e, 2 * n * n_h, model, hyper, table)
            grows += _log_pairs(e, 2 * (n + 1) * n_h, model, hyper, table) - now
            other_grows += _log_pairs(e, 2 * n * (n_h + 1), model, hyper, table) - now
        total += grows
        stat[row + int(hyper[MINE]), GROWTH] = grows if n > 0 else 0.0  # closed: 0
        back += int(hyper[THEIRS])
        stat[int(hyper[OTHERS]) + h, GROWTH] += other_grows - stat[back, GROWTH]
        stat[back, GROWTH] = other_grows
    if hyper[DEGREES] > 0.0:
        for side in range(2 if directed else 1):
            row = int(hyper[OWN]) + side * across + g
            stat[row, EDGES] += sign * x[i, ENDS + side]
            total -= _log_degrees(n, int(stat[row, EDGES]), hyper, table)
    stat[int(hyper[OWN]) + g, GROWTH] = total


@part
def _links_within(i, g, m):
    """Links of a node to the others of cluster g, in both directions, and to itself."""
    return int(m.x[i, LOOPS]) + m.other[LINKS, g] + m.other[LINKS_IN, g]


@part
def _pairs_within(n, hyper):
    """Twice the number of pairs within a cluster of n nodes."""
    return n * (n + int(hyper[OWN_PAIRS])) * (2 if hyper[DIRECTED] > 0.0 else 1)


@part
def _log_links(e, more, twice, model, hyper, table):
    """Change of the log marginal likelihood of a block of e links among twice / 2 pairs by more links."""
    value = _log_rising(e + more, 0, hyper[FIRST], hyper, table) - _log_rising(
        e, 0, hyper[FIRST], hyper, table
    )
    if model == POISSON:
        return value - more * _log_exposure(twice, hyper, table)
    zeros = twice // 2 - e
    return (
        value
        + _log_rising(zeros - more, 1, hyper[SECOND], hyper, table)
        - _log_rising(zeros, 1, hyper[SECOND], hyper, table)
    )


@part
def _log_pairs(e, twice, model, hyper, table):
    """Log marginal likelihood of a block, but for what depends on its e links alone."""
    if model == POISSON:
        return -(hyper[FIRST] + e) * _log_exposure(twice, hyper, table)
    zeros = _log_rising(twice // 2 - e, 1, hyper[SECOND], hyper, table)
    return zeros - _log_rising(twice // 2, 2, hyper[FIRST] + hyper[SECOND], hyper, table)


@part
def _log_exposure(twice, hyper, table):
    """log(rate + exposure), with an exposure of twice / 2."""
    return table[1, twice] if twice < table.shape[1] else math.log(hyper[SECOND] + 0.5 * twice)


@part
def _log_rising(n, row, b, hyper, table):
    """log b (b + 1) ... (b + n - 1), from a row of the table as far as it reaches."""  # noqa: D403 - a formula
    return table[row, n] if n < table.shape[1] else math.lgamma(b + n) - hyper[LOG_GAMMA + row]


@part
def _log_degrees(n, ends, hyper, table):
    """What degrees add for a cluster of n nodes with this many ends of links."""
    if n == 0:
        return 0.0
    before, after = n - 1, n - 1 + ends  # lgamma(n) is the log of a rising factorial of 1
    gammas = _log_rising(before, 2, 1.0, hyper, table) - _log_rising(after, 2, 1.0, hyper, table)
    return gammas + ends * math.log(n)
