"""The groups of all draws as sets of items, each distinct set once.

Sets are found by a hash table with open addressing: the hash of a set is the exclusive or of
fixed random numbers of its items. Sets with the same hash are compared item by item, so a collision costs
time, never correctness.
"""

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part

__all__ = ["fill_sets_of", "fill_slots", "sort_groups", "take_sets"]


@kernel
def sort_groups(
    row: NDArray[np.unsignedinteger],
    first: NDArray[np.int64],  # OUT (groups + 1,)
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
    first: NDArray[np.int64],
    member: NDArray[np.int32],
    draw_weight: float,
    number: NDArray[np.uint64],
    smallest: int,
    n_sets: int,
    keys: NDArray[np.uint64],  # WORK (groups,)
    found: NDArray[np.uint64],  # WORK (groups,)
    weight: NDArray[np.float64],  # OUT, added to
    hashes: NDArray[np.uint64],  # OUT, added to
    set_first: NDArray[np.int64],  # OUT, added to
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
    first: NDArray[np.int64],
    member: NDArray[np.int32],
    first_of: NDArray[np.int64],  # OUT (n_items + 1,), zero on entry
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
