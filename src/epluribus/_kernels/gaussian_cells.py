"""Statistics of the Gaussian mixture with missing cells: those of `gaussian`, counted in each coordinate.

A missing cell is NaN. Coordinates are independent given the cluster, so that integrating a cell out means to
leave it out: coordinate d of a cluster has n_d items, and its log marginal likelihood is

    constant[n_d] - n_d log_unit[d] - (shape + n_d/2) log( rate + (q_d - s_d^2 / (n_d + tau)) / 2 )
"""

import math
from typing import Any, NamedTuple

from epluribus._kernels.dispatch import implement, part, routine
from epluribus._typing import FloatArray, IntArray


class GaussianCellsState(NamedTuple):
    """Data, tables and statistics."""

    values: FloatArray
    """(n_items, n_dims) data minus the prior mean, in the model's units; NaN where missing."""
    shape: float
    """Shape of the Gamma prior of each precision."""
    rate: float
    """Its rate."""
    log_unit: FloatArray
    """(n_dims,) log of the unit of each coordinate."""
    inverse: FloatArray
    """(n_items + 1,) 1 / (n + tau)."""
    constant: FloatArray
    """(n_items + 1,) the terms of one coordinate that depend on n alone."""
    seen: IntArray
    """(slots, n_dims) number of cells that are not missing."""
    total: FloatArray
    """(slots, n_dims) sums."""
    square: FloatArray
    """(slots, n_dims) sums of squares."""
    log_cell: FloatArray
    """(slots, n_dims) log marginal likelihood of each coordinate of each cluster."""


@part
def _reset(m: Any) -> None:
    m.seen[:] = 0
    m.total[:] = 0.0
    m.square[:] = 0.0
    m.log_cell[:] = 0.0


@part
def _prepare(m: Any, p: Any, i: int) -> None:
    pass  # the predictive density needs nothing but the statistics


@part
def _log_cell(m: Any, d: int, n: int, s: float, q: float) -> float:
    """Log marginal likelihood of n values of coordinate d with sum s and sum of squares q."""
    # In exact arithmetic q - s^2 / (n + tau) is never negative, but rounding could make it so.
    spread = max(q - s * s * m.inverse[n], 0.0)
    logs = (m.shape + 0.5 * n) * math.log(m.rate + 0.5 * spread)
    return m.constant[n] - n * m.log_unit[d] - logs


@routine
def _gain(m: Any, i: int, g: int) -> float:
    """Log predictive of item i in cluster g, summed over the cells that it has."""
    value = 0.0
    for d in range(m.values.shape[1]):
        y = m.values[i, d]
        if y == y:  # not NaN
            s = m.total[g, d] + y
            q = m.square[g, d] + y * y
            value += _log_cell(m, d, m.seen[g, d] + 1, s, q) - m.log_cell[g, d]
    return value


@routine
def _shift(m: Any, i: int, g: int, sign: int) -> float:
    """Add item i to the statistics (`sign` 1) or remove it (-1); return its log predictive."""
    value = 0.0
    for d in range(m.values.shape[1]):
        y = m.values[i, d]
        if y == y:
            before = m.log_cell[g, d]
            n = m.seen[g, d] + sign
            m.seen[g, d] = n
            # Exact zeros where nothing is left, so that no rounding error survives.
            m.total[g, d] = m.total[g, d] + sign * y if n > 0 else 0.0
            m.square[g, d] = m.square[g, d] + sign * y * y if n > 0 else 0.0
            after = _log_cell(m, d, n, m.total[g, d], m.square[g, d]) if n > 0 else 0.0
            m.log_cell[g, d] = after
            value += sign * (after - before)
    return value


@part
def _logpred(m: Any, p: Any, i: int, g: int) -> float:
    return _gain(m, i, g)


@part
def _add(m: Any, p: Any, i: int, g: int) -> float:
    return _shift(m, i, g, 1)


@part
def _remove(m: Any, p: Any, i: int, g: int) -> float:
    return _shift(m, i, g, -1)


@part
def _join(m: Any, p: Any, g: int, h: int) -> float:
    value = 0.0
    for d in range(m.values.shape[1]):
        n = m.seen[g, d] + m.seen[h, d]
        s = m.total[g, d] + m.total[h, d]
        q = m.square[g, d] + m.square[h, d]
        if n > 0:
            value += _log_cell(m, d, n, s, q) - m.log_cell[g, d] - m.log_cell[h, d]
    return value


implement(
    GaussianCellsState,
    reset=_reset,
    prepare=_prepare,
    logpred=_logpred,
    add=_add,
    remove=_remove,
    join=_join,
)
