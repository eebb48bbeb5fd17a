"""The groups of all draws as sets of items, and the clusters of a partition as rings of items.

Each distinct set is there once. Sets are found by a hash table with open addressing: the hash of a set is
the exclusive or of fixed random numbers of its items. Sets with the same hash are compared item by item,
so a collision costs time, never correctness.

In a ring each item knows the next and the one before in its cluster, round and round, so that taking an
item out, putting it in and joining two clusters take a handful of steps. The sizes in use are kept as a
list, since clusters of one size that an item does not touch all cost it the same (`members`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part
from epluribus._kernels.engine import Price
from epluribus._typing import FloatArray, IntArray


class Sets(NamedTuple):
    """The groups of all draws as sets of items.

    If f0 is linear, draws matter only through their groups: a set that is a group of several draws is
    there once, and one of a single item not at all. If not, all groups of all draws are there in turn.
    """

    weight: FloatArray
    """(n_sets,) sum of the weights of the draws that have it as a group; 1 if f0 is not linear."""
    first: IntArray
    """(n_sets + 1,) set b is member[first[b]:first[b + 1]]."""
    member: NDArray[np.int32]
    """Items, ascending in each set."""
    first_of: IntArray
    """(n_items + 1,) the sets that hold item i are sets_of[first_of[i]:first_of[i + 1]]."""
    sets_of: NDArray[np.int32]
    """Sets, ascending for each item: if f0 is not linear, one for each draw."""


@kernel
def sort_groups(
    row: NDArray[np.unsignedinteger],
    first: IntArray,  # OUT (groups + 1,)
    member: NDArray[np.int32],  # OUT (n_items,)
) -> None:
    """Sort the items of one draw by group: group v is member[first[v]:first[v + 1]]."""
    # A counting sort: count, add up, place, and move the pointers back.
    first[:] = 0
    for v in row:
        first[v + 1] += 1
    for v in range(1, first.shape[0]):
        first[v] += first[v - 1]
    for i in range(row.shape[0]):
        member[first[row[i]]] = i
        first[row[i]] += 1
    for v in range(first.shape[0] - 1, 0, -1):
        first[v] = first[v - 1]
    first[0] = 0


@part
def _slot_of(key: np.uint64, hashes: NDArray[np.uint64], slots: NDArray[np.int32]) -> np.uint64:
    """The first slot that holds a set with this hash, or a free one."""
    slot = key & np.uint64(slots.shape[0] - 1)
    while slots[slot] >= 0 and hashes[slots[slot]] != key:
        slot = (slot + np.uint64(1)) & np.uint64(slots.shape[0] - 1)
    return slot


@part
def _same(
    a: NDArray[np.int32], begin: int, end: int, b: NDArray[np.int32], first: int, last: int
) -> bool:
    """Whether a[begin:end] and b[first:last] are the same."""
    same = end - begin == last - first
    at = 0
    while same and begin + at < end:
        same = a[begin + at] == b[first + at]
        at += 1
    return same


@kernel
def take_sets(
    first: IntArray,
    member: NDArray[np.int32],
    draw_weight: float,
    number: NDArray[np.uint64],
    smallest: int,
    n_sets: int,
    keys: NDArray[np.uint64],  # WORK (groups,)
    found: NDArray[np.uint64],  # WORK (groups,)
    weight: FloatArray,  # OUT, added to
    hashes: NDArray[np.uint64],  # OUT, added to
    set_first: IntArray,  # OUT, added to
    set_member: NDArray[np.int32],  # OUT, added to
    slots: NDArray[np.int32],  # the hash table, -1 where free; at most half full at the end
) -> int:
    """Add the groups of one draw, sorted by `sort_groups`, that hold `smallest` items or more.

    Returns the number of distinct sets. All are looked up before any is compared: one need not wait for
    the memory of another.
    """
    # The order of items does not matter for an exclusive or, so a set has one hash.
    for v in range(first.shape[0] - 1):
        key = np.uint64(0)
        for at in range(first[v], first[v + 1]):
            key ^= number[member[at]]
        keys[v] = key
    for v in range(first.shape[0] - 1):
        found[v] = _slot_of(keys[v], hashes, slots)
    for v in range(first.shape[0] - 1):
        begin, end = first[v], first[v + 1]
        if end - begin < smallest:
            continue
        slot = found[v]
        # Sets with one hash stand in slots side by side; another set of this draw may have come between.
        while slots[slot] >= 0:
            b = slots[slot]
            if _same(member, begin, end, set_member, set_first[b], set_first[b + 1]):
                break
            slot = (slot + np.uint64(1)) & np.uint64(slots.shape[0] - 1)
        if slots[slot] < 0:  # a set not seen before
            slots[slot] = n_sets
            weight[n_sets] = 0.0
            hashes[n_sets] = keys[v]
            new = set_first[n_sets]
            for at in range(end - begin):
                set_member[new + at] = member[begin + at]
            set_first[n_sets + 1] = new + end - begin
            n_sets += 1
        weight[slots[slot]] += draw_weight
    return n_sets


@kernel
def fill_slots(
    hashes: NDArray[np.uint64],
    slots: NDArray[np.int32],  # OUT, -1 on entry
) -> None:
    """A hash table of distinct sets."""
    for b in range(hashes.shape[0]):
        slot = hashes[b] & np.uint64(slots.shape[0] - 1)
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(slots.shape[0] - 1)
        slots[slot] = b


@kernel
def fill_sets_of(
    first: IntArray,
    member: NDArray[np.int32],
    first_of: IntArray,  # OUT (n_items + 1,), zero on entry
    sets_of: NDArray[np.int32],  # OUT, as long as member
) -> None:
    """The sets that hold each item, ascending: for item i sets_of[first_of[i]:first_of[i + 1]].

    A counting sort: `first_of` counts, then points to where the next set of each item goes, and is moved
    back by one place at the end.
    """
    for i in member:
        first_of[i + 1] += 1
    for i in range(1, first_of.shape[0]):
        first_of[i] += first_of[i - 1]
    for b in range(first.shape[0] - 1):
        for at in range(first[b], first[b + 1]):
            i = member[at]
            sets_of[first_of[i]] = b
            first_of[i] += 1
    for i in range(first_of.shape[0] - 1, 0, -1):
        first_of[i] = first_of[i - 1]
    first_of[0] = 0


class Members(NamedTuple):
    """A partition under change: its clusters as rings of items, and the sizes in use.

    Arrays without a shape have n_items + 1 entries.
    """

    price: Price
    sets: Sets
    labels: IntArray
    """(n_items,) labels 0..K-1 without gaps; -1 for an item in no cluster."""
    sizes: IntArray
    """Cluster sizes; zero from K on."""
    n_clusters: IntArray
    """(1,) K."""
    some_item: IntArray
    """An item of each cluster."""
    after: IntArray
    """(n_items,) the next item of the same cluster, round and round."""
    before: IntArray
    """(n_items,) the item before."""
    n_of_size: IntArray
    """Number of clusters of each size; none of size 0."""
    used_sizes: IntArray
    """The sizes in use, in no order, after a 0, which stands for a new cluster."""
    place: IntArray
    """Where a size in use stands in `used_sizes`."""
    n_used: IntArray
    """(1,) how many there are, the 0 included."""
    joint_sums: FloatArray
    """(n_draws,) joint sums; kept up to date if f0 is not linear."""
    size_sum: FloatArray
    """(1,) size sum, likewise."""
    by_size: FloatArray
    """The row of costs computed last: for the sizes in use ..."""
    extra: FloatArray
    """... and what is added for the clusters touched; zero for all others."""
    is_touched: NDArray[np.uint8]
    touched: IntArray
    """The clusters touched, in no order."""
    n_touched: IntArray
    """(1,)"""
    here: IntArray
    """(2 n_items + 2,) WORK: the clusters touched in one group or draw."""
    is_here: NDArray[np.uint8]
    """WORK, zero between calls."""
    tally: IntArray
    """WORK: items of one group in each cluster; zero between calls."""
    change: FloatArray
    """WORK: change of the joint sum of one draw, for the clusters of `here`."""
    seen: NDArray[np.uint8]
    """(n_sets,) WORK, zero between calls."""
    gain_row: FloatArray
    """(2 n_items + 2,) WORK: what f0 is evaluated at, changes of the joint sum ..."""
    size_row: FloatArray
    """(2 n_items + 2,) WORK: ... and size sums, first of the sizes in use, then of the clusters of `here`."""
    value: FloatArray
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
def fill_members(labels: IntArray, n_clusters: int, e: Members) -> None:
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
