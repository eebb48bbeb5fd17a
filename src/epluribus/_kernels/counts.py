"""Statistics of mixtures of independent Poisson columns: number of cells and sum of each cluster and column.

With n known cells of sum s the log marginal likelihood of a column of a cluster is, without the factorials
of the data,

    shape log rate - lgamma(shape) + lgamma(shape + s) - (shape + s) log(rate + n)

so that a cell y adds lgamma(shape + s + y) - lgamma(shape + s) - (shape + s) log1p(1 / (rate + n)) - y
log(rate + n + 1). See `epluribus.models.counts`. The statistics are integers: nothing is ever rounded.
"""

import math
from typing import Any, NamedTuple

from epluribus._kernels.dispatch import implement, part, routine
from epluribus._typing import FloatArray, IntArray

_FEW = 16
"""Up to this count a ratio of Gamma functions is a product of so few factors that it cannot overflow."""


class CountState(NamedTuple):
    """Data, prior and statistics."""

    cells: IntArray
    """(n_items, n_columns) the counts, -1 where one is missing."""
    log_factorial: FloatArray
    """(n_items,) sum over the known cells of an item of log y!."""
    shape: float
    """Shape of the Gamma prior of each rate."""
    rate: FloatArray
    """(n_columns,) its rate in each column."""
    seen: IntArray
    """(slots, n_columns) number of cells that are not missing."""
    total: IntArray
    """(slots, n_columns) their sum."""


@part
def _reset(m: Any) -> None:
    m.seen[:] = 0
    m.total[:] = 0


@part
def _prepare(m: Any, p: Any, i: int) -> None:
    pass  # the predictive probability needs nothing but the statistics


@part
def _log_rising(x: float, y: int) -> float:
    """lgamma(x + y) - lgamma(x): the log of x (x + 1) ... (x + y - 1)."""
    if y > _FEW or x > 1e12:
        return math.lgamma(x + y) - math.lgamma(x)
    product = 1.0
    for j in range(y):
        product *= x + j
    return math.log(product)


@routine
def _gain(m: Any, i: int, g: int) -> float:
    """Log predictive of item i in cluster g, which does not contain it."""
    value = -m.log_factorial[i]
    for d in range(m.cells.shape[1]):
        y = m.cells[i, d]
        if y >= 0:
            shape = m.shape + m.total[g, d]
            rate = m.rate[d] + m.seen[g, d]
            value -= shape * math.log1p(1.0 / rate)
            if y > 0:  # most cells of sparse data are 0
                value += _log_rising(shape, y) - y * math.log(rate + 1.0)
    return value


@routine
def _count(m: Any, i: int, g: int, sign: int) -> None:
    """Put item i into the statistics of cluster g (`sign` 1) or take it out (-1)."""
    for d in range(m.cells.shape[1]):
        y = m.cells[i, d]
        if y >= 0:
            m.seen[g, d] += sign
            m.total[g, d] += sign * y


@part
def _logpred(m: Any, p: Any, i: int, g: int) -> float:
    return _gain(m, i, g)


@part
def _add(m: Any, p: Any, i: int, g: int) -> float:
    value = _gain(m, i, g)
    _count(m, i, g, 1)
    return value


@part
def _remove(m: Any, p: Any, i: int, g: int) -> float:
    _count(m, i, g, -1)
    return _gain(m, i, g)


@part
def _log_column(m: Any, d: int, n: int, s: int) -> float:
    """Log marginal likelihood of n counts of sum s in column d, without their factorials."""
    constant = m.shape * math.log(m.rate[d]) - math.lgamma(m.shape)
    return constant + math.lgamma(m.shape + s) - (m.shape + s) * math.log(m.rate[d] + n)


@part
def _join(m: Any, p: Any, g: int, h: int) -> float:
    value = 0.0
    for d in range(m.rate.size):
        value += _log_column(m, d, m.seen[g, d] + m.seen[h, d], m.total[g, d] + m.total[h, d])
        value -= _log_column(m, d, m.seen[g, d], m.total[g, d])
        value -= _log_column(m, d, m.seen[h, d], m.total[h, d])
    return value


implement(
    CountState,
    reset=_reset,
    prepare=_prepare,
    logpred=_logpred,
    add=_add,
    remove=_remove,
    join=_join,
)
