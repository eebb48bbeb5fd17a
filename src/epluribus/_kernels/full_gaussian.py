"""The Gaussian mixture with full covariance matrices: count, sum and scatter of each cluster.

In units in which the prior scatter is the identity matrix, a cluster with n items, sum s and cross products Q
has the scatter S_n = I + Q - s s' / (n + tau) and the log marginal likelihood

    constant[n] - (freedom + n) / 2 log|S_n|

Instead of S_n its Cholesky factor is kept. With v the item minus the posterior mean s / (n + tau),

    S_{n+1} = S_n + (n + tau) / (n + tau + 1) v v'

so an item goes in or out by one update of the factor, and its predictive takes one triangular solve: both
O(n_dims^2). With d dimensions cluster g has d + 1 rows of `stat`, from g (d + 1): in row k the k-th entry of s, then
row k of the factor; in the last row log|S_n|. The d + 1 rows after those of all clusters are WORK: the factor of two
clusters together, and in the last row a vector of one item.
"""

import math

from epluribus._kernels.jit import part
from epluribus._kernels.states import ADD, ORDER, REMOVE, SIZE, WEIGHT

INVERSE, CONSTANT = range(2)
"""Rows of `table`: 1 / (n + tau), and the terms that depend on n alone. `hyper` is (freedom,)."""


@part
def full_gaussian(what, i, a, b, m):
    """Change of the log likelihood if item i joins each cluster at places a to b - 1, or leaves the one there."""
    freedom, rows = m.hyper[0], m.x.shape[1] + 1
    value = 0.0
    for s in range(a, b):
        g = m.own[ORDER, s]
        n = m.own[SIZE, g]
        if n == 0 and what != REMOVE:
            _empty(g, m)
        before = m.stat[g * rows + rows - 1, 0]
        if what == ADD or (what == REMOVE and n > 0):
            change = _shift(i, g, 1.0 if what == ADD else -1.0, m)
            before = min(before, m.stat[g * rows + rows - 1, 0])
        elif what == REMOVE:  # the item was alone
            before, change = 0.0, before
        else:
            change = _grown(i, g, m)
        # Log predictive of an item in a cluster of n items with log|S_n| `before`, which grows by `change`.
        powers = 0.5 * before + 0.5 * (freedom + n + 1) * change
        value = _constant(n + 1, m) - _constant(n, m) - powers
        m.logs[WEIGHT, s] = value
    return value


@part
def join_full(g, h, m):
    """Change of the log likelihood if clusters g and h become one."""
    n, k = m.own[SIZE, g], m.own[SIZE, h]
    freedom, rows = m.hyper[0], m.x.shape[1] + 1
    # log m = constant[n] - (freedom + n) / 2 log|S_n|, together and apart
    together = _constant(n + k, m) - 0.5 * (freedom + n + k) * _log_det_together(g, h, m)
    apart_g = _constant(n, m) - 0.5 * (freedom + n) * m.stat[g * rows + rows - 1, 0]
    apart_h = _constant(k, m) - 0.5 * (freedom + k) * m.stat[h * rows + rows - 1, 0]
    return together - apart_g - apart_h


@part
def _constant(n, m):
    """The terms that depend on n alone."""
    return m.table[CONSTANT, n]


@part
def _empty(g, m):
    """Statistics of an empty cluster: exact, so that no rounding error survives in it."""
    stat, rows = m.stat, m.x.shape[1] + 1
    at = g * rows
    for k in range(rows):
        for j in range(rows):
            stat[at + k, j] = 0.0
        if k < rows - 1:
            stat[at + k, 1 + k] = 1.0


@part
def _grown(i, g, m):
    """Log of |S_{n+1}| / |S_n| if item i joins cluster g of n items: log(1 + c v' S_n^{-1} v)."""
    x, table, stat, n = m.x, m.table, m.stat, m.own[SIZE, g]
    at = g * (x.shape[1] + 1)
    # Forward substitution L u = v; then v' S_n^{-1} v = u' u.
    d, work = x.shape[1], stat.shape[0] - 1
    square = 0.0
    for k in range(d):
        u = x[i, k] - stat[at + k, 0] * table[INVERSE, n]
        for j in range(k):
            u -= stat[at + k, 1 + j] * stat[work, j]
        u /= stat[at + k, 1 + k]
        stat[work, k] = u
        square += u * u
    # c = (n + tau) / (n + tau + 1), from the table of 1 / (n + tau)
    return math.log1p(square / (1.0 + table[INVERSE, n]))


@part
def _shift(i, g, sign, m):
    """Add item i to cluster g (`sign` 1) or remove it (-1).

    Returns the change of log|S|, that of the larger minus that of the smaller cluster.
    """
    x, table, stat, n = m.x, m.table, m.stat, m.own[SIZE, g]  # n is without i
    at = g * (x.shape[1] + 1)
    d, work = x.shape[1], stat.shape[0] - 1
    # sqrt(c) v, where the posterior mean in v is that without the item
    root = math.sqrt(1.0 / (1.0 + table[INVERSE, n]))
    for k in range(d):
        without = stat[at + k, 0] if sign > 0.0 else stat[at + k, 0] - x[i, k]
        stat[work, k] = root * (x[i, k] - without * table[INVERSE, n])
        stat[at + k, 0] += sign * x[i, k]
    # One rotation a column brings L L' + sign w w' back to triangular form (Golub & Van Loan, 6.5.4).
    ratio = 1.0
    for k in range(d):
        old, w = stat[at + k, 1 + k], stat[work, k]
        # S_n is the identity plus a non-negative matrix, so no pivot is below 1, whatever rounding says.
        new = math.sqrt(max(old * old + sign * w * w, 1.0))
        cosine, sine = new / old, w / old
        ratio *= cosine
        stat[at + k, 1 + k] = new
        for j in range(k + 1, d):
            entry = (stat[at + j, 1 + k] + sign * sine * stat[work, j]) / cosine
            stat[work, j] = cosine * stat[work, j] - sine * entry
            stat[at + j, 1 + k] = entry
    # |S| is the squared product of the pivots.
    change = 2.0 * math.log(ratio)
    stat[at + d, 0] += change
    return sign * change


@part
def _log_det_together(g, h, m):
    """log|S| of two clusters made one, by a Cholesky decomposition, O(n_dims^3)."""
    table, stat = m.table, m.stat
    n, k = m.own[SIZE, g], m.own[SIZE, h]
    inverse_g, inverse_h, inverse = table[INVERSE, n], table[INVERSE, k], table[INVERSE, n + k]
    rows = stat.shape[1]
    g, h, work = g * rows, h * rows, stat.shape[0] - rows
    log_det = 0.0
    for k in range(rows - 1):
        for j in range(k + 1):
            # S = I + Q_g + Q_h - s s' / (n + tau), where I + Q_g = L_g L_g' + s_g s_g' / (n_g + tau)
            entry = stat[g + k, 0] * stat[g + j, 0] * inverse_g
            entry += stat[h + k, 0] * stat[h + j, 0] * inverse_h
            total = (stat[g + k, 0] + stat[h + k, 0]) * (stat[g + j, 0] + stat[h + j, 0])
            entry -= total * inverse
            for t in range(1, j + 2):
                entry += stat[g + k, t] * stat[g + j, t]
                entry += stat[h + k, t] * stat[h + j, t]
            if j == k:
                entry -= 1.0  # the identity was counted twice
            for t in range(1, j + 1):
                entry -= stat[work + k, t] * stat[work + j, t]
            if j < k:
                stat[work + k, 1 + j] = entry / stat[work + j, 1 + j]
            else:
                entry = max(entry, 1.0)  # no pivot is below 1, as in `_shift`
                stat[work + k, 1 + k] = math.sqrt(entry)
                log_det += math.log(entry)
    return log_det
