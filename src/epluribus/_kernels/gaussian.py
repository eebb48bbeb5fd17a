"""Statistics of the Gaussian mixture: count, sum and sum of squares of each cluster and coordinate.

With n items, sums s_d and sums of squares q_d the log marginal likelihood of a cluster is

    constant[n] - (shape + n/2) sum_d log( rate + (q_d - s_d^2 / (n + tau)) / 2 )

See `epluribus.models.gaussian`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.dispatch import implement, part

__all__ = ["GaussianState"]


class GaussianState(NamedTuple):
    """Data, tables and statistics."""

    values: NDArray[np.float64]
    """(n_items, n_dims) data less the prior mean."""
    shape: float
    rate: float
    inverse: NDArray[np.float64]
    """(n_items + 1,) 1 / (n + tau)."""
    constant: NDArray[np.float64]
    """(n_items + 1,) the terms that depend on n alone."""
    total: NDArray[np.float64]
    """(slots, n_dims) sums."""
    square: NDArray[np.float64]
    """(slots, n_dims) sums of squares."""
    log_cluster: NDArray[np.float64]
    """(slots,) log marginal likelihood of each cluster; 0 if empty."""


@part
def _reset(m: Any) -> None:
    m.total[:] = 0.0
    m.square[:] = 0.0
    m.log_cluster[:] = 0.0


@part
def _prepare(m: Any, p: Any, i: int) -> None:
    pass


@part
def _log_cluster(m: Any, n: int, g: int, i: int, sign: float) -> float:
    """Log marginal likelihood of cluster g with item i counted in `sign` times, n items in all."""
    logs = 0.0
    for d in range(m.values.shape[1]):
        y = m.values[i, d]
        s = m.total[g, d] + sign * y
        q = m.square[g, d] + sign * y * y
        logs += math.log(m.rate + 0.5 * max(q - s * s * m.inverse[n], 0.0))
    return m.constant[n] - (m.shape + 0.5 * n) * logs


@part
def _logpred(m: Any, p: Any, i: int, g: int) -> float:
    return _log_cluster(m, p.sizes[g] + 1, g, i, 1.0) - m.log_cluster[g]


@part
def _add(m: Any, p: Any, i: int, g: int) -> float:
    before = m.log_cluster[g]
    after = _log_cluster(m, p.sizes[g] + 1, g, i, 1.0)
    for d in range(m.values.shape[1]):
        y = m.values[i, d]
        m.total[g, d] += y
        m.square[g, d] += y * y
    m.log_cluster[g] = after
    return after - before


@part
def _remove(m: Any, p: Any, i: int, g: int) -> float:
    n = p.sizes[g]
    before = m.log_cluster[g]
    if n == 0:  # exact zeros: rounding must not survive in an empty cluster
        m.log_cluster[g] = 0.0
        for d in range(m.values.shape[1]):
            m.total[g, d] = 0.0
            m.square[g, d] = 0.0
        return before
    after = _log_cluster(m, n, g, i, -1.0)
    for d in range(m.values.shape[1]):
        y = m.values[i, d]
        m.total[g, d] -= y
        m.square[g, d] -= y * y
    m.log_cluster[g] = after
    return before - after


implement(GaussianState, reset=_reset, prepare=_prepare, logpred=_logpred, add=_add, remove=_remove)
