"""The arrays that travel together between kernels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MergeTables", "MergeWork", "Sample", "State", "Tables", "count_dtype"]


def count_dtype(n_items: int) -> type[np.integer]:
    """Smallest type kernels use for counts of items."""
    return np.uint16 if n_items <= np.iinfo(np.uint16).max else np.int32


class Sample(NamedTuple):
    """Posterior draws as the kernels see them."""

    labels: NDArray[np.unsignedinteger]
    """(n_items, n_draws) canonical labels, item-major: one item's labels are contiguous."""
    weights: NDArray[np.float64]
    """(n_draws,) weight of each draw."""


class Tables(NamedTuple):
    """What one more item adds to the sums of a loss, as a function of the count it joins.

    For a linear loss the coefficients of f0 and the weights are multiplied in, so that costs are
    plain sums.
    """

    joint: NDArray[np.float64]
    """(n_items + 1,) f1(n + 1) - f1(n), the change of the joint sum; the last entry is never used."""
    size: NDArray[np.float64]
    """(n_items + 1,) f2(n + 1) - f2(n), the change of the size sum; the last entry is never used."""
    fold: NDArray[np.float64]
    """(n_draws,) what multiplies `joint` in `State.gain`: the weights if f0 is linear, else ones."""
    margin: float
    """Bound on the rounding error of a cost summed in single precision."""
    tolerance: float
    """Costs closer than this are equal."""


class State(NamedTuple):
    """A partition under change, with the contingency tables of all draws."""

    labels: NDArray[np.int64]
    """(n_items,) labels 0..K-1 without gaps."""
    sizes: NDArray[np.int64]
    """(width,) cluster sizes; zero from K on."""
    n_clusters: NDArray[np.int64]
    """(1,) K."""
    counts: NDArray[np.integer]
    """(n_draws, groups, width): items of draw t in its group v and in cluster s; zero for s >= K."""
    gain: NDArray[np.floating]
    """(n_draws, groups, width): fold[t] * joint[counts[t, v, s]]; single precision if f0 is linear."""


class MergeTables(NamedTuple):
    """What the joining of clusters needs of the loss and the draws, unchanged while it runs."""

    f1: NDArray[np.float64]
    """(n_items + 1,) f1; for a linear loss times its coefficient."""
    f2: NDArray[np.float64]
    """(n_items + 1,) f2; for a linear loss times its coefficient and the sum of the weights."""
    weights: NDArray[np.float64]
    """(n_draws,)"""
    group: NDArray[np.float64]
    """(n_draws,) sums of f3."""
    n_items: float


class MergeWork(NamedTuple):
    """Arrays that change while clusters are joined."""

    joint: NDArray[np.float64]
    """(n_draws,) joint sums."""
    size_sum: NDArray[np.float64]
    """(1,) size sum."""
    partner: NDArray[np.int64]
    """(K,) best partner of each cluster."""
    best: NDArray[np.float64]
    """(K,) change of the total loss if they are joined."""
    fresh: NDArray[np.uint8]
    """(K,) whether `partner` and `best` are as they would be computed now."""
    change: NDArray[np.float64]
    """(K,) a row of changes."""
    joint_change: NDArray[np.float64]
    """(K,) the same for the joint sum of one draw."""
    size: NDArray[np.float64]
    """(K,) the size sum after each merge."""
