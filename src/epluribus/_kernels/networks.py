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
    LINKED,
    LINKS,
    LINKS_IN,
    ORDER,
    POISSON,
    REMOVE,
    SIZE,
    WEIGHT,
)

FIRST, SECOND, DOWN, ACROSS, DIRECTED, DEGREES, OWN_PAIRS, OWN, OTHERS, MINE, THEIRS, LOG_GAMMA = (
    range(12)
)
"""Places in `hyper`: the two parameters of the prior; how to find a block in `stat`; 1 for a directed network; 1 with
degrees; a cluster of n nodes has n (n + this) pairs within it, half as many if undirected;
lgamma of the number that each of the three rows of `table` begins with."""
LOOPS, ENDS, ENDS_IN, CONSTANT = range(4)
"""Columns of `x`."""
LINKS_OF, GROWTH = range(2)
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
    home = own[LABEL, i]  # its cluster, which is weighed as if the item was out
    away = home if model != LATENT else -1
    value = 0.0
    for s in range(a, b):
        g = own[ORDER, s]
        inside = g == home
        n = own[SIZE, g] + (not inside)  # the size with the item
        out = other[LINKS_IN if directed else LINKS, g] if model != LATENT else 0
        # First as if it had no links ...
        if inside or n == 1:
            value = _growth(i, g, m)
        else:
            value = stat[int(hyper[OWN]) + g, GROWTH]
            if away >= 0:
                row, back, rest = (
                    g * down + away * across,
                    away * down + g * across,
                    2 * other[SIZE, away] - 2,
                )
                e = int(stat[row, LINKS_OF]) - out
                value += _log_growth(e, n * rest, rest, model, hyper, table) - stat[row, GROWTH]
                if directed:
                    e = int(stat[back, LINKS_OF]) - other[LINKS, g]
                    value += _log_growth(e, n * rest, rest, model, hyper, table)
        # ... and then with its links to each cluster.
        for t in range(1, other[LINKED, 0] + 1):
            h = other[LINKED, t]
            if model == LATENT or h != g:
                twice = 2 * n * (other[SIZE, h] - (h == away))
                e, links = int(stat[g * down + h * across, LINKS_OF]), other[LINKS, h]
                e -= links if inside else out if h == away else 0
                value += _log_links(e, links, twice, model, hyper, table)
                if directed:
                    e, links = int(stat[h * down + g * across, LINKS_OF]), other[LINKS_IN, h]
                    e -= links if inside else other[LINKS, g] if h == away else 0
                    value += _log_links(e, links, twice, model, hyper, table)
        if model != LATENT:
            value += x[i, CONSTANT]
            links = _links_within(i, g, m)
            if links > 0:
                e = int(stat[g * (down + across), LINKS_OF]) - (links if inside else 0)
                value += _log_links(e, links, _pairs_within(n, hyper), model, hyper, table)
        if hyper[DEGREES] > 0.0:
            for side in range(2 if directed else 1):
                ends = int(stat[int(hyper[OWN]) + side * across + g, LINKS_OF])
                if not inside:
                    ends += int(x[i, ENDS + side])
                value += _log_degrees(n, ends, hyper, table)
        logs[WEIGHT, s] = value
    if what == ADD:
        _write_blocks(i, m.own[ORDER, a], 1, m)
    return value


@part
def _growth(i, g, m):
    """Change of the log likelihood if item i, without its links, joins cluster g of the other items."""
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
    home = own[LABEL, i]
    away = home if model != LATENT else -1
    inside = g == home
    n = own[SIZE, g] + (not inside)
    value = 0.0
    for t in range(other[COUNT, 0]):
        h = other[ORDER, t]
        if model == LATENT or h != g:
            rest = 2 * (other[SIZE, h] - (h == away))
            e = int(stat[g * down + h * across, LINKS_OF]) - (other[LINKS, h] if inside else 0)
            value += _log_growth(e, n * rest, rest, model, hyper, table)
            if directed:
                e = int(stat[h * down + g * across, LINKS_OF]) - (
                    other[LINKS_IN, h] if inside else 0
                )
                value += _log_growth(e, n * rest, rest, model, hyper, table)
    if model != LATENT:
        e = int(stat[g * (down + across), LINKS_OF]) - (_links_within(i, g, m) if inside else 0)
        twice, before = _pairs_within(n, hyper), _pairs_within(n - 1, hyper)
        value += _log_growth(e, twice, twice - before, model, hyper, table)
    if hyper[DEGREES] > 0.0:
        for side in range(2 if directed else 1):
            ends = int(
                stat[int(hyper[OWN]) + side * across + g, LINKS_OF]
                - (x[i, ENDS + side] if inside else 0.0)
            )
            value -= _log_degrees(n - 1, ends, hyper, table)
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
    mine = int(hyper[MINE])
    theirs = int(hyper[THEIRS])
    for t in range(1, other[LINKED, 0] + 1):
        h = other[LINKED, t]
        if model == LATENT or h != g:
            stat[g * down + h * across, LINKS_OF] += sign * other[LINKS, h]
            if model != LATENT:  # an undirected network has each block twice
                links = other[LINKS_IN if directed else LINKS, h]
                stat[h * down + g * across, LINKS_OF] += sign * links
    n = own[SIZE, g] + (sign > 0)  # the size after the change: `SIZE` does not count the item
    total = 0.0
    for t in range(other[COUNT, 0]):
        h = other[ORDER, t]
        row = g * down + h * across
        back = row if model == LATENT else h * down + g * across
        if model != LATENT and h == g:
            stat[row, LINKS_OF] += sign * _links_within(i, g, m)
            e = int(stat[row, LINKS_OF])
            twice, after = _pairs_within(n, hyper), _pairs_within(n + 1, hyper)
            total += _log_growth(e, after, after - twice, model, hyper, table)
            continue
        grows, other_grows, m_h = 0.0, 0.0, other[SIZE, h]
        for side in range(2 if directed else 1):
            e = int(stat[back if side else row, LINKS_OF])
            now = _log_pairs(e, 2 * n * m_h, model, hyper, table)
            grows += _log_pairs(e, 2 * (n + 1) * m_h, model, hyper, table) - now
            other_grows += _log_pairs(e, 2 * n * (m_h + 1), model, hyper, table) - now
        total += grows
        stat[row + mine, GROWTH] = grows if n > 0 else 0.0  # of a closed cluster all are 0
        stat[int(hyper[OTHERS]) + h, GROWTH] += other_grows - stat[back + theirs, GROWTH]
        stat[back + theirs, GROWTH] = other_grows
    if hyper[DEGREES] > 0.0:
        for side in range(2 if directed else 1):
            row = int(hyper[OWN]) + side * across + g
            stat[row, LINKS_OF] += sign * x[i, ENDS + side]
            total -= _log_degrees(n, int(stat[row, LINKS_OF]), hyper, table)
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
    """Log marginal likelihood of a block, but for what depends on its links alone."""
    if model == POISSON:
        return -(hyper[FIRST] + e) * _log_exposure(twice, hyper, table)
    pairs = twice // 2
    zeros = _log_rising(pairs - e, 1, hyper[SECOND], hyper, table)
    return zeros - _log_rising(pairs, 2, hyper[FIRST] + hyper[SECOND], hyper, table)


@part
def _log_growth(e, twice, more, model, hyper, table):
    """Change of the log marginal likelihood of a block of e links by the last more / 2 of its twice / 2 pairs."""
    after = _log_pairs(e, twice, model, hyper, table)
    return after - _log_pairs(e, twice - more, model, hyper, table)


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
