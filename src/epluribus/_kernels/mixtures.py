"""Mixtures: independent columns, any cell of which may be missing (NaN), or Gaussian with full covariance matrices.

**Independent columns.** A missing cell is integrated out by leaving it out. With n known cells of a column in a
cluster, sum s and sum of squares q:

    Gaussian    constant[n] - n log_unit - (shape + n/2) log( 1 + q - s^2 / (n + tau) )
    counts      shape log rate - lgamma(shape) + lgamma(shape + s) - (shape + s) log(rate + n)
    categories  lgamma(weights) - lgamma(weights + n) + sum over c of lgamma(weight[c] + n_c) - lgamma(weight[c])

(counts without the factorials of the data). A cluster has `width` rows of `stat`, cluster g beginning at g width:

    Gaussian    one for each column: n, s, q, log marginal likelihood
    counts      one for each column: n, s
    categories  one for each category, those of all columns numbered through: n_c; and n in row d, column d

**Full covariance.** In units in which the prior scatter is the identity matrix, a cluster with n items, sum s and cross
products Q has the scatter S_n = I + Q - s s' / (n + tau) and the log marginal likelihood

    constant[n] - (freedom + n) / 2 log|S_n|

Instead of S_n its Cholesky factor is kept. With v the item minus the posterior mean s / (n + tau),

    S_{n+1} = S_n + (n + tau) / (n + tau + 1) v v'

so an item goes in or out by one update of the factor, and its predictive takes one triangular solve: both
O(n_dims^2). With d dimensions cluster g has d + 1 rows of `stat`, from g (d + 1): in row k the k-th entry of s, then
row k of the factor; in the last row log|S_n|. The row after those of all clusters is work space, a vector of one item.
"""

import math

from epluribus._kernels.jit import part
from epluribus._kernels.states import ADD, COUNTS, ORDER, PREDICT, REMOVE, SIZE, WEIGH, WEIGHT

SHAPE, FIRST = range(2)
"""Places in `hyper`: of a Gamma prior; where the numbers of the columns begin: log units, or for counts rates.
Categories have in it for each column the sum of its weights, from `FIRST` on too. Full covariance: (freedom,)."""
INVERSE, CONSTANT = range(2)
"""Rows of `table`, Gaussian of both forms: 1 / (n + tau), and the terms that depend on n alone. Counts have one row,
the sum of log y! over each item; categories have one row, the weight of each category."""
NEGLIGIBLE = 50.0
"""Log weights this far below the largest are lost in rounding, even of clusters of 10,000 times the size."""
N, TOTAL, SQUARE, CELL = range(4)
"""Columns of `stat`."""


@part
def gaussian(what, i, a, b, m):
    """Change of the log likelihood if item i joins each cluster at places a to b - 1, or leaves the one there."""
    hyper, x, table, stat, own, logs = m.hyper, m.x, m.table, m.stat, m.own, m.logs
    sign, write = -1 if what == REMOVE else 1, what in (ADD, REMOVE)
    total = 0.0
    for t in range(a, b):
        at = own[ORDER, t] * x.shape[1]
        total = 0.0
        for d in range(x.shape[1]):
            y = x[i, d]
            if y == y:  # not NaN
                row = at + d
                n = int(stat[row, N]) + sign
                # Exact zeros where nothing is left, so that no rounding error survives.
                s, q, after = 0.0, 0.0, 0.0
                if n > 0:
                    s, q = stat[row, TOTAL] + sign * y, stat[row, SQUARE] + sign * y * y
                    after = _log_cell(n, s, q, d, hyper, table)
                total += after - stat[row, CELL]
                if write:
                    stat[row, N], stat[row, TOTAL], stat[row, SQUARE], stat[row, CELL] = (
                        n,
                        s,
                        q,
                        after,
                    )
        logs[WEIGHT, t] = total
    return sign * total


@part
def _log_cell(n, s, q, d, hyper, table):
    """Log marginal likelihood of n values of column d with sum s and sum of squares q."""
    # In exact arithmetic q - s^2 / (n + tau) is never negative, but rounding could make it so.
    spread = max(q - s * s * table[INVERSE, n], 0.0)
    logs = (hyper[SHAPE] + 0.5 * n) * math.log(1.0 + spread)
    return table[CONSTANT, n] - n * hyper[FIRST + d] - logs


@part
def discrete(what, i, a, b, m):
    """The same for counts or categories, by the predictive probability of the item."""
    hyper, x, table, stat, own, logs = m.hyper, m.x, m.table, m.stat, m.own, m.logs
    is_count = m.model == COUNTS
    width = x.shape[1] if is_count else table.shape[1]
    value = 0.0
    for t in range(a, b):
        at = own[ORDER, t] * width
        value = -table[0, i] if is_count else 0.0
        product = 1.0  # one logarithm for many cells
        for d in range(x.shape[1]):
            y = x[i, d]
            if y == y:
                row = at + (d if is_count else int(y))
                if what == REMOVE:
                    stat[at + d, N] -= 1.0
                    stat[row, TOTAL] -= y if is_count else 1.0
                n, s = stat[at + d, N], stat[row, TOTAL]
                if is_count:
                    shape, rate = hyper[SHAPE] + s, hyper[FIRST + d] + n
                    value -= shape * math.log1p(1.0 / rate)
                    if y > 0:  # most cells of sparse data are 0
                        value -= y * math.log(rate + 1.0)
                        # lgamma(shape + y) - lgamma(shape), for few counts by the product
                        if y > 16 or shape > 1e12:  # a product of 16 factors cannot overflow
                            value += math.lgamma(shape + y) - math.lgamma(shape)
                        else:
                            rising = 1.0
                            for j in range(int(y)):
                                rising *= shape + j
                            value += math.log(rising)
                else:
                    product *= (s + table[0, int(y)]) / (n + hyper[FIRST + d])
                    if product < 1e-200:  # before it underflows
                        value += math.log(product)
                        product = 1.0
                if what == ADD:
                    stat[at + d, N] += 1.0
                    stat[row, TOTAL] += y if is_count else 1.0
        if not is_count:
            value += math.log(product)
        logs[WEIGHT, t] = value
    return value


# --- full covariance ---


@part
def full_gaussian(what, i, likely, a, b, m):
    """Change of the log likelihood if item i joins each cluster at places a to b - 1, or leaves the one there.

    The likeliest place is weighed first: the predictives of others are followed no further than to `NEGLIGIBLE`.
    """
    freedom, rows = m.hyper[0], m.x.shape[1] + 1
    value, top = 0.0, -math.inf
    for t in range(a, b):
        s = (t + likely) % b if what == WEIGH else t
        g = m.own[ORDER, s]
        n = m.own[SIZE, g]
        if n == 0 and what != REMOVE:
            _empty(g, m)
        before = m.stat[g * rows + rows - 1, 0]
        constant, degrees = m.table[CONSTANT, n + 1] - m.table[CONSTANT, n], freedom + n + 1
        if what == ADD or (what == REMOVE and n > 0):
            change = _shift(i, g, 1.0 if what == ADD else -1.0, m)
            before = min(before, m.stat[g * rows + rows - 1, 0])
        elif what == REMOVE:  # the item was alone
            before, change = 0.0, before
        elif what == PREDICT:
            change = _grown(i, g, math.inf, m)
        else:  # a change beyond the last one makes the weight negligible
            change = _grown(i, g, 2 * (constant - 0.5 * before - top + NEGLIGIBLE) / degrees, m)
        # Log predictive of an item in a cluster of n items with log|S_n| `before`, which grows by `change`.
        value = constant - 0.5 * before - 0.5 * degrees * change
        m.logs[WEIGHT, s] = value
        top = max(top, value)
    return value


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
def _grown(i, g, most, m):
    """Log of |S_{n+1}| / |S_n| if item i joins cluster g of n items: log(1 + c v' S_n^{-1} v); or a number > `most`."""
    x, table, stat, n = m.x, m.table, m.stat, m.own[SIZE, g]
    at = g * (x.shape[1] + 1)
    # Forward substitution L u = v; then v' S_n^{-1} v = u' u.
    d, work = x.shape[1], stat.shape[0] - 1
    square = 0.0
    limit = (1.0 + table[INVERSE, n]) * math.exp(min(most, 700.0))
    for k in range(d):
        if square > limit:
            break
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
