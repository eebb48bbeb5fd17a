"""Statistics of the Gaussian mixture: count, sum and sum of squares of each cluster and coordinate.

With n items, sums s_d and sums of squares q_d the log marginal likelihood of a cluster is

    constant[n] - (shape + n/2) sum_d log( rate + (q_d - s_d^2 / (n + tau)) / 2 )

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
    rate: float
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
    m.total[:] = 0.0
    m.square[:] = 0.0
    m.log_cluster[:] = 0.0


@part
def _prepare(m: Any, p: Any, i: int) -> None:
    pass  # the predictive needs nothing but the statistics


@part
def _log_cluster(m: Any, n: int, g: int, i: int, sign: float) -> float:
    """Log marginal likelihood of cluster g with item i added (`sign` 1) or removed (-1), n items then."""
    logs = 0.0
    for d in range(m.values.shape[1]):
        y = m.values[i, d]
        # s_d and q_d of the cluster as it will be
        s = m.total[g, d] + sign * y
        q = m.square[g, d] + sign * y * y
        # The spread is never negative; rounding could make it so.
        logs += math.log(m.rate + 0.5 * max(q - s * s * m.inverse[n], 0.0))
    return m.constant[n] - (m.shape + 0.5 * n) * logs


@part
def _logpred(m: Any, p: Any, i: int, g: int) -> float:
    # A ratio of marginal likelihoods: with the item over without it. The other clusters cancel.
    return _log_cluster(m, p.sizes[g] + 1, g, i, 1.0) - m.log_cluster[g]


@part
def _change(m: Any, n: int, g: int, i: int, sign: float) -> float:
    """Add or remove item i, after which g has n items; the change of the log likelihood."""
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
        return -_change(m, p.sizes[g], g, i, -1.0)  # `take` has counted the item out already
    value = m.log_cluster[g]
    # Exact zeros: no rounding error may survive in an empty cluster.
    m.total[g] = 0.0
    m.square[g] = 0.0
    m.log_cluster[g] = 0.0
    return value


implement(GaussianState, reset=_reset, prepare=_prepare, logpred=_logpred, add=_add, remove=_remove)
