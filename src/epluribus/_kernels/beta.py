"""The Beta-Bernoulli block: log marginal likelihood of e ones among n cells, from tables.

    lB(e, n) = log B(e + b1, n - e + b2) - log B(b1, b2) = ones[e] + zeros[n - e] - cells[n]

where ones[x] = lgamma(x + b1) - lgamma(b1), zeros the same with b2, cells with b1 + b2: so lB(0, 0)
= 0 exactly.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.dispatch import part

__all__ = ["BetaTables", "log_block"]


class BetaTables(NamedTuple):
    """Tables of log rising factorials; beyond their end the function itself is called."""

    b1: float
    b2: float
    ones: NDArray[np.float64]
    zeros: NDArray[np.float64]
    cells: NDArray[np.float64]


@part
def _log_rising(table: NDArray[np.float64], b: float, x: int) -> float:
    if x < table.size:
        return table[np.uint64(x)]  # unsigned: no look for a negative index
    return math.lgamma(x + b) - math.lgamma(b)


@part
def log_block(t: BetaTables, e: int, n: int) -> float:
    """lB(e, n)."""
    ones = _log_rising(t.ones, t.b1, e)
    zeros = _log_rising(t.zeros, t.b2, n - e)
    return ones + zeros - _log_rising(t.cells, t.b1 + t.b2, n)
