"""Statistics of the Gaussian mixture with full covariance matrices: count, sum and scatter of each cluster.

In units in which the prior scatter is the identity matrix, a cluster with n items, sum s and cross products Q
has the scatter S_n = I + Q - s s' / (n + tau) and the log marginal likelihood

    constant[n] - (freedom + n) / 2 log|S_n|

Instead of S_n its Cholesky factor is kept. With v the item minus the posterior mean s / (n + tau),

    S_{n+1} = S_n + (n + tau) / (n + tau + 1) v v'

so an item goes in or out by one update of the factor, and its predictive takes one triangular solve: both
O(n_dims^2). They are compiled once and called, which keeps compilation short. See
`epluribus.models.gaussian`.
"""

import math
from typing import Any, NamedTuple

from epluribus._kernels.dispatch import implement, part, routine
from epluribus._typing import FloatArray


class FullGaussianState(NamedTuple):
    """Data, tables and statistics."""

    values: FloatArray
    """(n_items, n_dims) data minus the prior mean, in units in which the prior scatter is the identity."""
    freedom: float
    """Degrees of freedom of the inverse Wishart prior."""
    inverse: FloatArray
    """(n_items + 1,) 1 / (n + tau)."""
    constant: FloatArray
    """(n_items + 1,) the terms that depend on n alone."""
    total: FloatArray
    """(slots, n_dims) sums."""
    factor: FloatArray
    """(slots, n_dims, n_dims) lower Cholesky factors of the scatters; above the diagonal is nothing."""
    log_det: FloatArray
    """(slots,) log determinants of the scatters."""
    work: FloatArray
    """(n_dims,) WORK: a vector of one item."""
    square: FloatArray
    """(n_dims, n_dims) WORK: the factor of two clusters together."""


@routine
def _empty(m: Any, g: int) -> None:
    """Statistics of an empty cluster: exact, so that no rounding error survives in it."""
    m.log_det[g] = 0.0
    for k in range(m.total.shape[1]):
        m.total[g, k] = 0.0
        for j in range(k):
            m.factor[g, k, j] = 0.0
        m.factor[g, k, k] = 1.0


@part
def _reset(m: Any) -> None:
    for g in range(m.log_det.size):
        _empty(m, g)


@part
def _prepare(m: Any, p: Any, i: int) -> None:
    pass  # the predictive density needs nothing but the statistics


@routine
def _grown(m: Any, n: int, i: int, g: int) -> float:
    """Log of |S_{n+1}| / |S_n| if item i joins cluster g of n items: log(1 + c v' S_n^{-1} v)."""
    # Forward substitution L x = v; then v' S_n^{-1} v = x' x.
    square = 0.0
    for k in range(m.work.size):
        x = m.values[i, k] - m.total[g, k] * m.inverse[n]
        for j in range(k):
            x -= m.factor[g, k, j] * m.work[j]
        x /= m.factor[g, k, k]
        m.work[k] = x
        square += x * x
    # c = (n + tau) / (n + tau + 1), from the table of 1 / (n + tau)
    return math.log1p(square / (1.0 + m.inverse[n]))


@routine
def _shift(m: Any, n: int, i: int, g: int, sign: float) -> float:
    """Add item i to cluster g (`sign` 1) or remove it (-1); n counts the items without i.

    Returns the change of log|S|, that of the larger minus that of the smaller cluster.
    """
    # sqrt(c) v, where the posterior mean in v is that without the item
    root = math.sqrt(1.0 / (1.0 + m.inverse[n]))
    for k in range(m.work.size):
        without = m.total[g, k] if sign > 0.0 else m.total[g, k] - m.values[i, k]
        m.work[k] = root * (m.values[i, k] - without * m.inverse[n])
        m.total[g, k] += sign * m.values[i, k]
    # One rotation a column brings L L' + sign w w' back to triangular form (Golub & Van Loan, 6.5.4).
    ratio = 1.0
    for k in range(m.work.size):
        old = m.factor[g, k, k]
        w = m.work[k]
        # S_n is the identity plus a non-negative matrix, so no pivot is below 1, whatever rounding says.
        new = math.sqrt(max(old * old + sign * w * w, 1.0))
        cosine = new / old
        sine = w / old
        ratio *= cosine
        m.factor[g, k, k] = new
        for j in range(k + 1, m.work.size):
            entry = (m.factor[g, j, k] + sign * sine * m.work[j]) / cosine
            m.work[j] = cosine * m.work[j] - sine * entry
            m.factor[g, j, k] = entry
    # |S| is the squared product of the pivots.
    change = 2.0 * math.log(ratio)
    m.log_det[g] += change
    return sign * change


@part
def _gain(m: Any, n: int, before: float, grown: float) -> float:
    """Log predictive of an item in a cluster of n items with log|S_n| `before`, which grows by `grown`."""
    powers = 0.5 * before + 0.5 * (m.freedom + n + 1) * grown
    return m.constant[n + 1] - m.constant[n] - powers


@part
def _logpred(m: Any, p: Any, i: int, g: int) -> float:
    n = p.sizes[g]
    return _gain(m, n, m.log_det[g], _grown(m, n, i, g))


@part
def _add(m: Any, p: Any, i: int, g: int) -> float:
    n = p.sizes[g]
    before = m.log_det[g]
    return _gain(m, n, before, _shift(m, n, i, g, 1.0))


@part
def _remove(m: Any, p: Any, i: int, g: int) -> float:
    n = p.sizes[g]  # without i: `take` has already reduced it
    if n > 0:
        grown = _shift(m, n, i, g, -1.0)
        return _gain(m, n, m.log_det[g], grown)
    value = _gain(m, 0, 0.0, m.log_det[g])
    _empty(m, g)
    return value


@part
def _join(m: Any, p: Any, g: int, h: int) -> float:
    n = p.sizes[g] + p.sizes[h]
    # log m = constant[n] - (freedom + n) / 2 log|S_n|, together and apart
    together = m.constant[n] - 0.5 * (m.freedom + n) * _log_det_together(m, p, g, h)
    apart_g = m.constant[p.sizes[g]] - 0.5 * (m.freedom + p.sizes[g]) * m.log_det[g]
    apart_h = m.constant[p.sizes[h]] - 0.5 * (m.freedom + p.sizes[h]) * m.log_det[h]
    return together - apart_g - apart_h


@routine
def _log_det_together(m: Any, p: Any, g: int, h: int) -> float:
    """log|S| of two clusters made one, by a Cholesky decomposition from scratch, O(n_dims^3)."""
    n_g, n_h = p.sizes[g], p.sizes[h]
    inverse = m.inverse[n_g + n_h]
    log_det = 0.0
    for k in range(m.work.size):
        for j in range(k + 1):
            # S = I + Q_g + Q_h - s s' / (n + tau), where I + Q_g = L_g L_g' + s_g s_g' / (n_g + tau)
            entry = m.total[g, k] * m.total[g, j] * m.inverse[n_g]
            entry += m.total[h, k] * m.total[h, j] * m.inverse[n_h]
            entry -= (m.total[g, k] + m.total[h, k]) * (m.total[g, j] + m.total[h, j]) * inverse
            for t in range(j + 1):
                entry += m.factor[g, k, t] * m.factor[g, j, t]
                entry += m.factor[h, k, t] * m.factor[h, j, t]
            if j == k:
                entry -= 1.0  # the identity was counted twice
            for t in range(j):
                entry -= m.square[k, t] * m.square[j, t]
            if j < k:
                m.square[k, j] = entry / m.square[j, j]
            else:
                entry = max(entry, 1.0)  # no pivot is below 1, as in `_shift`
                m.square[k, k] = math.sqrt(entry)
                log_det += math.log(entry)
    return log_det


implement(
    FullGaussianState,
    reset=_reset,
    prepare=_prepare,
    logpred=_logpred,
    add=_add,
    remove=_remove,
    join=_join,
)
