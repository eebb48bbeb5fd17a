"""The groups of all draws as sets of items, and the clusters of a partition as rings of items.

Each distinct set is stored once. Sets are found by a hash table with open addressing: the hash of a set is
the exclusive or of fixed random numbers, one for each item. Sets with the same hash are compared item by
item, so a collision costs time, never correctness.

A ring is a doubly linked list that closes on itself: each item knows the next and the previous one of its
cluster, so taking an item out, putting it in and linking two rings take a few steps. The sizes in use are
kept as a list, because all clusters of one size that an item does not touch cost it the same (`members`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part
from epluribus._kernels.engine import Price
from epluribus._kernels.looks import Looks, rename_looks
from epluribus._kernels.reference import by_reference
from epluribus._typing import FloatArray, IntArray


@by_reference
class Sets(NamedTuple):
    """The groups of all draws as sets of items.

    If f0 is linear, draws matter only through their groups: a set that is a group of several draws is
    stored once, and a set of a single item not at all. If not, all groups of all draws are stored in turn.
    """

    weight: FloatArray
    """(n_sets,) sum of the weights of the draws that have it as a group; 1 if f0 is not linear."""
    first: IntArray
    """(n_sets + 1,) set b is member[first[b]:first[b + 1]]."""
    member: NDArray[np.int32]
    """Items: if f0 is linear, first those that most draws have together, else ascending in each set."""
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
    # A counting sort. Group sizes, one place to the right, add up to the beginning of each group ...
    first[:] = 0
    for v in row:
        first[v + 1] += 1
    for v in range(1, first.shape[0]):
        first[v] += first[v - 1]
    # ... which moves on as items are placed, until it is the beginning of the next group: shifted back.
    for i in range(row.shape[0]):
        member[first[row[i]]] = i
        first[row[i]] += 1
    for v in range(first.shape[0] - 1, 0, -1):
        first[v] = first[v - 1]
    first[0] = 0


@part
def _slot_of(key: np.uint64, hashes: NDArray[np.uint64], slots: NDArray[np.int32]) -> np.uint64:
    """The first slot that holds a set with this hash, or the free slot where it belongs."""
    # The length of `slots` is a power of two: a bit mask takes the remainder.
    slot = key & np.uint64(slots.shape[0] - 1)
    while slots[slot] >= 0 and hashes[slots[slot]] != key:
        slot = (slot + np.uint64(1)) & np.uint64(slots.shape[0] - 1)
    return slot


@part
def _same(
    a: NDArray[np.int32], begin: int, end: int, b: NDArray[np.int32], first: int, last: int
) -> bool:
    """Whether a[begin:end] and b[first:last] hold the same items; both are ascending."""
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

    Returns the number of distinct sets. The work is done in three passes over the groups (hashes, slots,
    comparisons), so that the memory accesses of different groups do not wait for each other.
    """
    # The exclusive or does not depend on the order of items. An empty group has the hash 0.
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
        # Sets with the same hash are in the same run of occupied slots. The slot found above may have been
        # taken since, by another set of this draw: the search goes on from there.
        while slots[slot] >= 0:
            b = slots[slot]
            if _same(member, begin, end, set_member, set_first[b], set_first[b + 1]):
                break
            slot = (slot + np.uint64(1)) & np.uint64(slots.shape[0] - 1)
        if slots[slot] < 0:  # a set not seen before: its members are copied to the end of the list
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
    """A hash table of sets that are known to be distinct, so that none has to be compared."""
    for b in range(hashes.shape[0]):
        slot = hashes[b] & np.uint64(slots.shape[0] - 1)
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(slots.shape[0] - 1)
        slots[slot] = b


@kernel
def homes_of_sets(
    first: IntArray,
    member: NDArray[np.int32],
    labels: NDArray[np.unsignedinteger],
    home: NDArray[np.uint32],  # OUT (n_sets,)
) -> None:
    """The label that more than half of the members of each set have, if there is one; else any of theirs."""
    for b in range(first.shape[0] - 1):
        # Members with different labels cancel each other; the label of more than half is left over.
        n, kept = 0, np.uint32(0)
        for at in range(first[b], first[b + 1]):
            label = np.uint32(labels[member[at]])
            if n == 0:
                kept = label
            n += 1 if label == kept else -1
        home[b] = kept


@kernel
def reorder_sets(
    order: IntArray,
    first: IntArray,
    member: NDArray[np.int32],
    labels: NDArray[np.unsignedinteger],
    home: NDArray[np.uint32],
    new_first: IntArray,  # OUT (n_sets + 1,), its first entry 0
    new_member: NDArray[np.int32],  # OUT, as long as member
) -> None:
    """The sets in another order, and in each of them the members that are at home first."""
    for b in range(order.shape[0]):
        old = order[b]
        to = new_first[b]
        for at_home in (True, False):
            for at in range(first[old], first[old + 1]):
                if (labels[member[at]] == home[old]) == at_home:
                    new_member[to] = member[at]
                    to += 1
        new_first[b + 1] = to


@kernel
def fill_sets_of(
    first: IntArray,
    member: NDArray[np.int32],
    first_of: IntArray,  # OUT (n_items + 1,), zero on entry
    sets_of: NDArray[np.int32],  # OUT, as long as member
) -> None:
    """The sets that hold each item, ascending: for item i sets_of[first_of[i]:first_of[i + 1]].

    A counting sort as in `sort_groups`: `first_of` counts, then points to where the next set of each item
    goes, and is shifted back by one place at the end.
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
    """(n_items,) the next item of the same cluster; the last one is followed by the first."""
    before: IntArray
    """(n_items,) the previous item of the same cluster."""
    n_of_size: IntArray
    """Number of clusters of each size; 0 for size 0."""
    used_sizes: IntArray
    """First a 0, which stands for a new cluster, then the sizes in use in arbitrary order."""
    place: IntArray
    """Position of each size in use within `used_sizes`."""
    n_used: IntArray
    """(1,) the number of sizes in use, including the 0."""
    joint_sums: FloatArray
    """(n_draws,) joint sums; kept up to date if f0 is not linear."""
    size_sum: FloatArray
    """(1,) size sum, likewise."""
    by_size: FloatArray
    """The row of costs computed last: a cost for each size in use ..."""
    extra: FloatArray
    """... and what is added to it for the clusters touched; zero for all others."""
    is_touched: NDArray[np.uint8]
    """1 for the clusters in `touched`."""
    touched: IntArray
    """The clusters touched, in arbitrary order."""
    n_touched: IntArray
    """(1,) their number."""
    here: IntArray
    """(2 n_items + 2,) WORK: the clusters touched in one group or draw."""
    is_here: NDArray[np.uint8]
    """WORK: whether a cluster is in `here`; zero between calls."""
    tally: IntArray
    """WORK: items of one group in each cluster; zero between calls."""
    change: FloatArray
    """WORK: change of the joint sum of one draw, for the clusters of `here`."""
    seen: NDArray[np.uint8]
    """(n_sets,) WORK: whether a set has been visited; zero between calls."""
    now: FloatArray
    """(1,) WORK: the joint sum of one draw."""
    first: IntArray
    """(1,) zero."""
    gain_row: FloatArray
    """(2 n_items + 2,) WORK: the arguments of f0, changes of the joint sum ..."""
    size_row: FloatArray
    """(2 n_items + 2,) WORK: ... and size sums: for the sizes in use, then for the clusters in `here`."""
    value: FloatArray
    """(2 n_items + 2,) WORK: the values of f0 there."""
    least_size: FloatArray
    """(2,) the least of `price.size`: for any size, and for any but 0."""
    looks: Looks
    """What is known about items that were looked at; without entries if f0 is not linear, and in a state made
    for joins alone."""


# --- the clusters of the estimate ---


@part
def _resize(e: Any, s: int, n: int) -> None:
    """Set the size of cluster s, and update the list of sizes in use; 0 always stays on it."""
    old = e.sizes[s]
    e.sizes[s] = n
    if old > 0:
        e.n_of_size[old] -= 1
        # A size no longer in use leaves the list: the last one takes its place.
        if e.n_of_size[old] == 0:
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
    # Between `some_item` of the cluster and the item before it; a first item is a ring by itself.
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
    # Its neighbors are linked. If it was alone, `some_item` is meaningless until the cluster is filled again.
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
    """Give the label of an empty cluster to the last cluster, so that labels have no gaps."""
    last = e.n_clusters[0] - 1
    e.n_clusters[0] = last
    # The multiset of sizes does not change, so neither does the list of sizes in use.
    if empty != last:
        _rename(e, last, empty)
        e.some_item[empty] = e.some_item[last]
        e.sizes[empty] = e.sizes[last]
        e.sizes[last] = 0
        if e.looks.until.shape[0] > 0:
            rename_looks(e.looks, last, empty)


@kernel
def fill_members(labels: IntArray, n_clusters: int, e: Members) -> None:
    """Put every item into its cluster; all clusters are empty on entry. Label -1 means no cluster."""
    e.n_clusters[0] = n_clusters
    e.n_used[0] = 1  # the size 0, which is always on the list
    for i in range(labels.shape[0]):
        e.labels[i] = -1
        if labels[i] >= 0:
            put_item(e, i, labels[i])


@part
def join_rings(e: Any, a: int, b: int) -> None:
    """All items of cluster b go to a < b; the last cluster takes the label b."""
    # Two rings, i -> i_after ... and j -> j_after ..., are cut open after i and after j and closed
    # crosswise: i -> j_after ... j -> i_after ... is one ring.
    _rename(e, b, a)
    i, j = e.some_item[a], e.some_item[b]
    i_after, j_after = e.after[i], e.after[j]
    e.after[i], e.before[j_after] = j_after, i
    e.after[j], e.before[i_after] = i_after, j
    _resize(e, a, e.sizes[a] + e.sizes[b])
    _resize(e, b, 0)
    close_cluster(e, b)
