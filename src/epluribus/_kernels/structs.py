"""The arrays that travel together between kernels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Clusters",
    "MergeTables",
    "MergeWork",
    "Met",
    "Partners",
    "Sample",
    "Sets",
    "State",
    "Tables",
    "count_dtype",
]


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


# --- many small clusters: no contingency tables ---


class Sets(NamedTuple):
    """The groups of all draws as sets of items.

    If f0 is linear, draws matter only through their groups: a set that is a group of several draws is
    there once, and one of a single item not at all. If not, all groups of all draws are there in turn.
    """

    weight: NDArray[np.float64]
    """(n_sets,) sum of the weights of the draws that have it as a group; 1 if f0 is not linear."""
    first: NDArray[np.int64]
    """(n_sets + 1,) set b is member[first[b]:first[b + 1]]."""
    member: NDArray[np.int32]
    """Items, ascending in each set."""
    of_first: NDArray[np.int64]
    """(n_items + 1,) the sets that hold item i are of[of_first[i]:of_first[i + 1]]."""
    of: NDArray[np.int32]
    """Sets, ascending for each item: if f0 is not linear, one for each draw."""


class Clusters(NamedTuple):
    """A partition under change: its clusters as rings of items, and the sizes in use."""

    labels: NDArray[np.int64]
    """(n_items,) labels 0..K-1 without gaps; -1 for an item in no cluster."""
    sizes: NDArray[np.int64]
    """(n_items + 1,) cluster sizes; zero from K on."""
    n_clusters: NDArray[np.int64]
    """(1,) K."""
    one: NDArray[np.int64]
    """(n_items + 1,) an item of each cluster."""
    after: NDArray[np.int64]
    """(n_items,) the next item of the same cluster, round and round."""
    before: NDArray[np.int64]
    """(n_items,) the item before."""
    n_of_size: NDArray[np.int64]
    """(n_items + 1,) number of clusters of each size; none of size 0."""
    kinds: NDArray[np.int64]
    """(n_items + 1,) the sizes in use, in no order, after a 0."""
    kind_at: NDArray[np.int64]
    """(n_items + 1,) where a size in use is in `kinds`."""
    n_kinds: NDArray[np.int64]
    """(1,) how many there are, the 0 included."""


class Met(NamedTuple):
    """The cost of every cluster, as a cost by size and an extra for those that were met; and scratch."""

    by_size: NDArray[np.float64]
    """(n_items + 1,) for the sizes in use."""
    extra: NDArray[np.float64]
    """(n_items + 1,) zero for clusters not met."""
    is_met: NDArray[np.uint8]
    """(n_items + 1,)"""
    clusters: NDArray[np.int64]
    """(n_items + 1,) the clusters met, in no order."""
    n_met: NDArray[np.int64]
    """(1,)"""
    near: NDArray[np.int64]
    """(2 n_items + 2,) the clusters met in one draw."""
    is_near: NDArray[np.uint8]
    """(n_items + 1,) zero between calls."""
    counts: NDArray[np.int64]
    """(n_items + 1,) items of one group in each cluster; zero between calls."""
    change: NDArray[np.float64]
    """(n_items + 1,) change of the joint sum of one draw, for the clusters of `near`."""
    seen: NDArray[np.uint8]
    """(n_sets,) zero between calls."""
    gain: NDArray[np.float64]
    """(2 n_items + 2,) what f0 is evaluated at: changes of the joint sum ..."""
    size: NDArray[np.float64]
    """(2 n_items + 2,) ... and size sums, first of the sizes in use, then of the clusters of `near`."""
    value: NDArray[np.float64]
    """(2 n_items + 2,) f0 there."""


class Partners(NamedTuple):
    """What is remembered while clusters are joined, as in `MergeWork`."""

    joint: NDArray[np.float64]
    """(n_draws,) joint sums; kept up to date if f0 is not linear."""
    size_sum: NDArray[np.float64]
    """(1,) size sum."""
    partner: NDArray[np.int64]
    """(K,) best partner of each cluster."""
    best: NDArray[np.float64]
    """(K,) change of the total loss if they are joined."""
    fresh: NDArray[np.uint8]
    """(K,) whether `partner` and `best` are as they would be computed now."""
