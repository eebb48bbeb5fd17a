"""Statistics of the Gaussian mixture: count, sum and sum of squares of each cluster and coordinate.

With n items, sums s_d and sums of squares q_d the log marginal likelihood of a cluster is

    constant[n] - (shape + n/2) sum_d log( rate + (q_d - s_d^2 / (n + tau)) / 2 )

The mean and the precision of each coordinate are integrated out. An item goes in or out in O(n_dims).
See `epluribus.models.gaussian`.
"""

import math
from typing import Any, NamedTuple

from epluribus._kernels.dispatch import implement, part
from epluribus._typing import FloatArray


class GaussianState(NamedTuple):
    """Data, tables and statistics."""

    values: FloatArray
    """(n_items, n_dims) data minus the prior mean."""
    shape: float
    """Shape of the Gamma prior of each precision."""
    rate: float
    """Its rate."""
    inverse: FloatArray
    """(n_items + 1,) 1 / (n + tau)."""
    constant: FloatArray
    """(n_items + 1,) the terms that depend on n alone."""
    total: FloatArray
    """(slots, n_dims) sums."""
    square: FloatArray
    """(slots, n_dims) sums of squares."""
    log_cluster: FloatArray
    """(slots,) log marginal likelihood of each cluster; 0 if it is empty."""


@part
def _reset(m: Any) -> None:
    for g in range(m.log_cluster.size):  # loops take less time to compile than slices
        m.log_cluster[g] = 0.0
        for j in range(m.total.shape[1]):
            m.total[g, j] = 0.0
            m.square[g, j] = 0.0


@part
def _prepare(m: Any, p: Any, i: int) -> None:
    pass  # the predictive density needs nothing but the statistics


@part
def _log_cluster(m: Any, n: int, g: int, i: int, sign: float) -> float:
    """Log marginal likelihood of cluster g with item i added (`sign` 1) or removed (-1): n items in all."""
    # sum over d of log( rate + (q_d - s_d^2 / (n + tau)) / 2 )
    logs = 0.0
    for d in range(m.values.shape[1]):
        y = m.values[i, d]
        # s_d and q_d as they will be after the change
        s = m.total[g, d] + sign * y
        q = m.square[g, d] + sign * y * y
        # In exact arithmetic q_d - s_d^2 / (n + tau) is never negative, but rounding could make it so.
        logs += math.log(m.rate + 0.5 * max(q - s * s * m.inverse[n], 0.0))
    return m.constant[n] - (m.shape + 0.5 * n) * logs


@part
def _logpred(m: Any, p: Any, i: int, g: int) -> float:
    # The marginal likelihood with the item divided by that without it; the other clusters cancel.
    return _log_cluster(m, p.sizes[g] + 1, g, i, 1.0) - m.log_cluster[g]


@part
def _change(m: Any, n: int, g: int, i: int, sign: float) -> float:
    """Add or remove item i, after which g has n items; return the change of the log likelihood."""
    after = _log_cluster(m, n, g, i, sign)
    change = after - m.log_cluster[g]
    for d in range(m.values.shape[1]):
        y = m.values[i, d]
        m.total[g, d] += sign * y
        m.square[g, d] += sign * y * y
    m.log_cluster[g] = after
    return change


@part
def _add(m: Any, p: Any, i: int, g: int) -> float:
    return _change(m, p.sizes[g] + 1, g, i, 1.0)


@part
def _remove(m: Any, p: Any, i: int, g: int) -> float:
    if p.sizes[g] > 0:
        return -_change(m, p.sizes[g], g, i, -1.0)  # `take` has already reduced the size
    # The item was alone: its log predictive is all that the cluster had. Exact zeros follow, so that no
    # rounding error survives in an empty cluster.
    value = m.log_cluster[g]
    m.total[g] = 0.0
    m.square[g] = 0.0
    m.log_cluster[g] = 0.0
    return value


@part
def _join(m: Any, p: Any, g: int, h: int) -> float:
    # The log marginal likelihood of one cluster with the statistics of both, minus those of the two.
    n = p.sizes[g] + p.sizes[h]
    logs = 0.0
    for d in range(m.values.shape[1]):
        s = m.total[g, d] + m.total[h, d]
        q = m.square[g, d] + m.square[h, d]
        logs += math.log(m.rate + 0.5 * max(q - s * s * m.inverse[n], 0.0))
    return m.constant[n] - (m.shape + 0.5 * n) * logs - m.log_cluster[g] - m.log_cluster[h]


implement(
    GaussianState,
    reset=_reset,
    prepare=_prepare,
    logpred=_logpred,
    add=_add,
    remove=_remove,
    join=_join,
)
