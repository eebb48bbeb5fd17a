"""Mixtures of independent columns: Gaussian, counts or categories, any cell of which may be missing (NaN).

Given the partition, columns are independent; a missing cell is integrated out by leaving it out. With n known cells
of a column in a cluster, sum s and sum of squares q:

    Gaussian    constant[n] - n log_unit - (shape + n/2) log( rate + (q - s^2 / (n + tau)) / 2 )
    counts      shape log rate - lgamma(shape) + lgamma(shape + s) - (shape + s) log(rate + n)
    categories  lgamma(weights) - lgamma(weights + n) + sum over c of lgamma(weight[c] + n_c) - lgamma(weight[c])

(counts without the factorials of the data). A cluster has `width` rows of `stat`, cluster g beginning at g width:

    Gaussian    one for each column: n, s, q, log marginal likelihood
    counts      one for each column: n, s
    categories  one for each category, those of all columns numbered through: n_c; and n in row d, column d
"""

import math

from epluribus._kernels.jit import part
from epluribus._kernels.states import (
    ADD,
    CATEGORIES,
    COUNTS,
    GAUSSIAN,
    ORDER,
    REMOVE,
    WEIGHT,
)

SHAPE, RATE, FIRST = range(3)
"""Places in `hyper`: of a Gamma prior; where the numbers of the columns begin: log units, or for counts rates.
Categories have in it for each column the sum of its weights, from `FIRST` on too."""
INVERSE, CONSTANT = range(2)
"""Rows of `table`, Gaussian: 1 / (n + tau), and the terms that depend on n alone. Counts have one row, sum of log y!
over each item; categories have one row, the weight of each category."""
N, TOTAL, SQUARE, CELL = range(4)
"""Columns of `stat`."""
_FEW = 16
"""Up to this count a ratio of Gamma functions is a product of so few factors that it cannot overflow."""
_SMALL = 1e-200
"""A product this small is turned into its logarithm before it can underflow."""


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
    logs = (hyper[SHAPE] + 0.5 * n) * math.log(hyper[RATE] + 0.5 * spread)
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
                        if y > _FEW or shape > 1e12:
                            value += math.lgamma(shape + y) - math.lgamma(shape)
                        else:
                            rising = 1.0
                            for j in range(int(y)):
                                rising *= shape + j
                            value += math.log(rising)
                else:
                    product *= (s + table[0, int(y)]) / (n + hyper[FIRST + d])
                    if product < _SMALL:
                        value += math.log(product)
                        product = 1.0
                if what == ADD:
                    stat[at + d, N] += 1.0
                    stat[row, TOTAL] += y if is_count else 1.0
        if not is_count:
            value += math.log(product)
        logs[WEIGHT, t] = value
    return value


@part
def join_columns(g, h, m):
    """Change of the log likelihood if clusters g and h become one."""
    hyper, table, stat = m.hyper, m.table, m.stat
    width = table.shape[1] if m.model == CATEGORIES else m.x.shape[1]
    g, h = g * width, h * width
    value = 0.0
    for d in range(m.x.shape[1]):
        n, k = stat[g + d, N], stat[h + d, N]
        s, t = stat[g + d, TOTAL], stat[h + d, TOTAL]
        if m.model == GAUSSIAN and n + k > 0:
            q = stat[g + d, SQUARE] + stat[h + d, SQUARE]
            value += _log_cell(int(n + k), s + t, q, d, hyper, table)
            value -= stat[g + d, CELL] + stat[h + d, CELL]
        elif m.model == COUNTS:
            shape, rate = hyper[SHAPE], hyper[FIRST + d]
            value += _log_joined(shape, s, t) - (shape + s + t) * math.log(rate + n + k)
            value += (shape + s) * math.log(rate + n) + (shape + t) * math.log(rate + k)
            value -= shape * math.log(rate)
        elif m.model == CATEGORIES:
            value -= _log_joined(hyper[FIRST + d], n, k)
    if m.model == CATEGORIES:
        for c in range(width):
            value += _log_joined(table[0, c], stat[g + c, TOTAL], stat[h + c, TOTAL])
    return value


@part
def _log_joined(weight, n, k):
    """Log of G(weight + n + k) G(weight) / (G(weight + n) G(weight + k)), G the Gamma function."""
    if n == 0 or k == 0:
        return 0.0
    apart = math.lgamma(weight + n) + math.lgamma(weight + k)
    return math.lgamma(weight + n + k) + math.lgamma(weight) - apart
