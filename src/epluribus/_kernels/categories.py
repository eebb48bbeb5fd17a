"""Statistics of mixtures of independent categorical columns: how often each category occurs in each cluster.

The categories of all columns are numbered through, so that one number c says column and category. With n_c
items of category c among the n_d known cells of its column, a new item adds

    sum over its known cells of  log( (n_c + weight[c]) / (n_d + weights[d]) )

See `epluribus.models.categorical`. All statistics are integers: nothing is ever rounded.
"""

import math
from typing import Any, NamedTuple

from epluribus._kernels.dispatch import implement, part, routine
from epluribus._typing import FloatArray, IntArray

_SMALL = 1e-200
"""A product this small is turned into its logarithm before it can underflow."""


class CategoryState(NamedTuple):
    """Data, prior and statistics."""

    cells: IntArray
    """(n_items, n_columns) number of each cell's category, -1 where it is missing."""
    weight: FloatArray
    """(n_categories,) parameters of the Dirichlet priors."""
    weights: FloatArray
    """(n_columns,) their sum in each column."""
    tally: IntArray
    """(slots, n_categories) how often each category occurs."""
    seen: IntArray
    """(slots, n_columns) number of cells that are not missing."""


@part
def _reset(m: Any) -> None:
    m.tally[:] = 0
    m.seen[:] = 0


@part
def _prepare(m: Any, p: Any, i: int) -> None:
    pass  # the predictive probability needs nothing but the counts


@routine
def _gain(m: Any, i: int, g: int) -> float:
    """Log predictive of item i in cluster g, which does not contain it."""
    value = 0.0
    product = 1.0  # one logarithm for many cells
    for d in range(m.cells.shape[1]):
        c = m.cells[i, d]
        if c >= 0:
            product *= (m.tally[g, c] + m.weight[c]) / (m.seen[g, d] + m.weights[d])
            if product < _SMALL:
                value += math.log(product)
                product = 1.0
    return value + math.log(product)


@routine
def _count(m: Any, i: int, g: int, sign: int) -> None:
    """Count item i in cluster g once more (`sign` 1) or once less (-1)."""
    for d in range(m.cells.shape[1]):
        c = m.cells[i, d]
        if c >= 0:
            m.tally[g, c] += sign
            m.seen[g, d] += sign


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
def _log_joined(weight: float, n: int, m: int) -> float:
    """Log of G(weight + n + m) G(weight) / (G(weight + n) G(weight + m)), G the Gamma function."""
    if n == 0 or m == 0:
        return 0.0
    apart = math.lgamma(weight + n) + math.lgamma(weight + m)
    return math.lgamma(weight + n + m) + math.lgamma(weight) - apart


@part
def _join(m: Any, p: Any, g: int, h: int) -> float:
    value = 0.0
    for c in range(m.weight.size):
        value += _log_joined(m.weight[c], m.tally[g, c], m.tally[h, c])
    for d in range(m.weights.size):
        value -= _log_joined(m.weights[d], m.seen[g, d], m.seen[h, d])
    return value


implement(
    CategoryState,
    reset=_reset,
    prepare=_prepare,
    logpred=_logpred,
    add=_add,
    remove=_remove,
    join=_join,
)
