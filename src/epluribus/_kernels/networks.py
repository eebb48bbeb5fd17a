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

Row g * `DOWN` + h * `ACROSS` of `stat` has e and the log marginal likelihood of block (g, h): rows are senders, an
undirected network has each block twice, and the columns of a matrix see the statistics of its rows transposed. With
degrees, slots^2 + g and slots^2 + slots + g are the rows of cluster g with its ends of links, outgoing and incoming,
and the term above. A row of `x` has a node's links to itself, its ends of links, outgoing (undirected: all) and
incoming, and what it adds to the log likelihood in any cluster. A move changes the blocks of one cluster only, in
time O(K + degree of the item).
"""

import math

from epluribus._kernels.jit import part
from epluribus._kernels.states import (
    ADD,
    COUNT,
    LABEL,
    LATENT,
    LINKS,
    LINKS_IN,
    ORDER,
    POISSON,
    REMOVE,
    SIZE,
    WEIGHT,
)

FIRST, SECOND, DOWN, ACROSS, DIRECTED, DEGREES, OWN_PAIRS, LOG_GAMMA = range(8)
"""Places in `hyper`: the two parameters of the prior; how to find a block in `stat`; 1 for a directed network; 1 with
degrees; a cluster of n nodes has n (n + this) pairs within it, half as many if undirected;
lgamma of the number that each of the three rows of `table` begins with."""
LOOPS, ENDS, ENDS_IN, CONSTANT = range(4)
"""Columns of `x`."""


@part
def count_links(i, m):
    """Count the links of item i to each cluster; there are none to the next new cluster."""
    start, near, other = m.start, m.near, m.other
    for side in range(2 if m.hyper[DIRECTED] > 0.0 else 1):
        links, row = LINKS + side, i + side * m.x.shape[0]
        # Only the entries that will be read are cleared: O(K), not O(slots).
        for s in range(min(other[COUNT, 0] + 1, other[COUNT, 1])):
            other[links, other[ORDER, s]] = 0
        for at in range(start[row], start[row + 1]):
            g = other[LABEL, near[at, 0]]
            if g >= 0:  # a split takes several items out at once
                other[links, g] += near[at, 1]


@part
def change_blocks(what, i, a, b, m):
    """Change of the log likelihood if item i joins each cluster at places a to b - 1, or leaves the one there."""
    model, hyper, x, table, stat = m.model, m.hyper, m.x, m.table, m.stat
    own, other, logs = m.own, m.other, m.logs
    down, across = int(hyper[DOWN]), int(hyper[ACROSS])
    directed = hyper[DIRECTED] > 0.0
    sign = -1 if what == REMOVE else 1
    write = what in (ADD, REMOVE)
    symmetric = write and not directed and model != LATENT
    total = 0.0
    for s in range(a, b):
        g = own[ORDER, s]
        n = own[SIZE, g] + (sign > 0)  # size after the change: `SIZE` does not count the item
        total = 0.0
        # All clusters of the other side, or of this one with g, which may be the next new one.
        n_places = other[COUNT, 0]
        if model != LATENT:
            n_places = max(n_places, s + 1)
            total = sign * x[i, CONSTANT]
        for t in range(n_places):
            h = other[ORDER, t]
            within = model != LATENT and t == s
            row, links, twice = g * down + h * across, other[LINKS, h], 2 * n * other[SIZE, h]
            if within:  # links to members of g in both directions, and to itself
                links += int(x[i, LOOPS]) + (other[LINKS_IN, g] if directed else 0)
                twice = _pairs_within(n, hyper)
            for _ in range(2 if directed and not within else 1):
                e = int(stat[row, 0]) + sign * links
                if model == POISSON:
                    value = _log_counts(e, twice, hyper, table)
                elif twice < 2 * table.shape[1]:
                    value = table[0, e] + table[1, twice // 2 - e] - table[2, twice // 2]
                else:
                    value = _log_ones(e, twice // 2, hyper, table)
                total += value - stat[row, 1]
                if write:
                    stat[row, 0], stat[row, 1] = e, value
                # The same block in the other direction: another one if the network is directed, else a copy.
                row, links = h * down + g * across, other[LINKS_IN, h]
            if symmetric:
                stat[row, 0], stat[row, 1] = e, value
        if hyper[DEGREES] > 0.0:
            for side in range(2 if directed else 1):
                row = down * (down + side) + g
                ends = int(stat[row, 0] + sign * x[i, ENDS + side])
                value = _log_degrees(n, ends, hyper, table)
                total += value - stat[row, 1]
                if write:
                    stat[row, 0], stat[row, 1] = ends, value
        logs[WEIGHT, s] = total
    return sign * total


@part
def _pairs_within(n, hyper):
    """Twice the number of pairs within a cluster of n nodes."""
    return n * (n + int(hyper[OWN_PAIRS])) * (2 if hyper[DIRECTED] > 0.0 else 1)


@part
def _log_ones(e, pairs, hyper, table):
    """Log marginal likelihood of a block with e ones among the pairs."""
    ones = _log_rising(e, 0, hyper[FIRST], hyper, table)
    zeros = _log_rising(pairs - e, 1, hyper[SECOND], hyper, table)
    return ones + zeros - _log_rising(pairs, 2, hyper[FIRST] + hyper[SECOND], hyper, table)


@part
def _log_counts(e, twice, hyper, table):
    """Log marginal likelihood of a block with e links among twice / 2 pairs."""
    log_x = table[1, twice] if twice < table.shape[1] else math.log(hyper[SECOND] + 0.5 * twice)
    # In this order, so that an empty block has exactly 0.
    value = hyper[FIRST] * table[1, 0] - (hyper[FIRST] + e) * log_x
    return value + _log_rising(e, 0, hyper[FIRST], hyper, table)


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
