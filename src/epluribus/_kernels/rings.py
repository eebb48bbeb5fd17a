"""Clusters as rings of items: the state of the execution that walks through members.

Each item knows the next and the one before in its cluster, round and round, so that taking an item out,
putting it in and joining two clusters take a handful of steps. The sizes in use are kept as a list, since
clusters of one size that an item does not touch all cost it the same (`members`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part
from epluribus._kernels.engine import Price

__all__ = [
    "Members", "Sets", "close_cluster", "fill_members", "join_rings", "put_item", "take_item",
]  # fmt: skip


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
    first_of: NDArray[np.int64]
    """(n_items + 1,) the sets that hold item i are sets_of[first_of[i]:first_of[i + 1]]."""
    sets_of: NDArray[np.int32]
    """Sets, ascending for each item: if f0 is not linear, one for each draw."""


class Members(NamedTuple):
    """A partition under change: its clusters as rings of items, and the sizes in use.

    Arrays without a shape have n_items + 1 entries.
    """

    price: Price
    sets: Sets
    labels: NDArray[np.int64]
    """(n_items,) labels 0..K-1 without gaps; -1 for an item in no cluster."""
    sizes: NDArray[np.int64]
    """Cluster sizes; zero from K on."""
    n_clusters: NDArray[np.int64]
    """(1,) K."""
    some_item: NDArray[np.int64]
    """An item of each cluster."""
    after: NDArray[np.int64]
    """(n_items,) the next item of the same cluster, round and round."""
    before: NDArray[np.int64]
    """(n_items,) the item before."""
    n_of_size: NDArray[np.int64]
    """Number of clusters of each size; none of size 0."""
    used_sizes: NDArray[np.int64]
    """The sizes in use, in no order, after a 0, which stands for a new cluster."""
    place: NDArray[np.int64]
    """Where a size in use stands in `used_sizes`."""
    n_used: NDArray[np.int64]
    """(1,) how many there are, the 0 included."""
    joint_sums: NDArray[np.float64]
    """(n_draws,) joint sums; kept up to date if f0 is not linear."""
    size_sum: NDArray[np.float64]
    """(1,) size sum, likewise."""
    by_size: NDArray[np.float64]
    """The row of costs computed last: for the sizes in use ..."""
    extra: NDArray[np.float64]
    """... and what is added for the clusters touched; zero for all others."""
    is_touched: NDArray[np.uint8]
    touched: NDArray[np.int64]
    """The clusters touched, in no order."""
    n_touched: NDArray[np.int64]
    """(1,)"""
    here: NDArray[np.int64]
    """(2 n_items + 2,) WORK: the clusters touched in one group or draw."""
    is_here: NDArray[np.uint8]
    """WORK, zero between calls."""
    tally: NDArray[np.int64]
    """WORK: items of one group in each cluster; zero between calls."""
    change: NDArray[np.float64]
    """WORK: change of the joint sum of one draw, for the clusters of `here`."""
    seen: NDArray[np.uint8]
    """(n_sets,) WORK, zero between calls."""
    gain_row: NDArray[np.float64]
    """(2 n_items + 2,) WORK: what f0 is evaluated at, changes of the joint sum ..."""
    size_row: NDArray[np.float64]
    """(2 n_items + 2,) WORK: ... and size sums, first of the sizes in use, then of the clusters of `here`."""
    value: NDArray[np.float64]
    """(2 n_items + 2,) WORK: f0 there."""


# --- the clusters of the estimate ---


@part
def _resize(e: Any, s: int, n: int) -> None:
    """Set the size of cluster s, and keep the list of sizes in use; 0 always stays on it."""
    old = e.sizes[s]
    e.sizes[s] = n
    if old > 0:
        e.n_of_size[old] -= 1
        if e.n_of_size[old] == 0:  # the last size of the list takes its place
            e.n_used[0] -= 1
            moved = e.used_sizes[e.n_used[0]]
            e.used_sizes[e.place[old]] = moved
            e.place[moved] = e.place[old]
    if n > 0:
        e.n_of_size[n] += 1
        if e.n_of_size[n] == 1:
            e.used_sizes[e.n_used[0]] = n
            e.place[n] = e.n_used[0]
            e.n_used[0] += 1


@part
def put_item(e: Any, i: int, s: int) -> None:
    """Put item i, which is in no cluster, into s; s = K opens a new cluster."""
    e.labels[i] = s
    if s == e.n_clusters[0]:
        e.n_clusters[0] += 1
    # Into the ring between the item known of the cluster and the one before it.
    if e.sizes[s] == 0:
        e.some_item[s] = i
        e.after[i] = i
        e.before[i] = i
    else:
        after = e.some_item[s]
        before = e.before[after]
        e.after[before] = i
        e.before[i] = before
        e.after[i] = after
        e.before[after] = i
    _resize(e, s, e.sizes[s] + 1)


@part
def take_item(e: Any, i: int) -> None:
    """Take item i out of its cluster."""
    s = e.labels[i]
    e.labels[i] = -1
    before, after = e.before[i], e.after[i]
    e.after[before] = after
    e.before[after] = before
    e.some_item[s] = after
    _resize(e, s, e.sizes[s] - 1)


@part
def _rename(e: Any, s: int, name: int) -> None:
    """Give all items of cluster s, which is not empty, another label."""
    i = e.some_item[s]
    for _ in range(e.sizes[s]):
        e.labels[i] = name
        i = e.after[i]


@part
def close_cluster(e: Any, empty: int) -> None:
    """Give the label of an empty cluster to the last cluster."""
    last = e.n_clusters[0] - 1
    e.n_clusters[0] = last
    if empty != last:
        _rename(e, last, empty)
        e.some_item[empty] = e.some_item[last]
        e.sizes[empty] = e.sizes[last]
        e.sizes[last] = 0


@kernel
def fill_members(labels: NDArray[np.int64], n_clusters: int, e: Members) -> None:
    """Put every item into its cluster, all of them empty on entry; an item with label -1 into none."""
    e.n_clusters[0] = n_clusters
    e.n_used[0] = 1  # the size 0
    for i in range(labels.shape[0]):
        e.labels[i] = -1
        if labels[i] >= 0:
            put_item(e, i, labels[i])


@part
def join_rings(e: Any, a: int, b: int) -> None:
    """All items of cluster b go to a < b; the last cluster takes the label b."""
    # The two rings are cut open after i and j, and closed crosswise: one ring.
    _rename(e, b, a)
    i, j = e.some_item[a], e.some_item[b]
    i_after, j_after = e.after[i], e.after[j]
    e.after[i], e.before[j_after] = j_after, i
    e.after[j], e.before[i_after] = i_after, j
    _resize(e, a, e.sizes[a] + e.sizes[b])
    _resize(e, b, 0)
    close_cluster(e, b)
