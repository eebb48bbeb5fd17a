"""Sweeps and joins of a linear loss without tables: for draws with thousands of small clusters.

The groups of all draws are *sets* of items. Draws share most of their small groups, so each distinct set is kept
once, with the sum w_b of the weights of its groups; a set of one item is left out, because such an item costs
w_b f(1) in every cluster. Set b is ``member[start[b]:start[b + 1]]``, and the sets that hold item i are
``sets_of[first[i]:first[i + 1]]``. Up to what is the same everywhere, item i in cluster s costs

    sum over its sets b of w_b (step[n_bs] - step[0])  +  W (f2(n_s + 1) - f2(n_s))

with n_bs the other items of b in s, counted in a walk through the set, and step[n] = f(n + 1) - f(n). A cluster
is *touched* if n_bs > 0 for one of the sets; all others cost the second term alone. A sweep takes time in
proportion to the sum of the squared sizes of the sets.
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._typing import AnyArray, FloatArray, IntArray


@kernel
def hash_groups(
    rows: IntArray, number: AnyArray, keys: AnyArray, sizes: IntArray, firsts: IntArray
) -> None:
    """The exclusive or of fixed random numbers, the number of items, and the first item of each group (OUT, zeros)."""
    for i in range(rows.shape[0]):
        for t in range(rows.shape[1]):
            r = rows[i, t]
            if sizes[r] == 0:
                firsts[r] = i
            sizes[r] += 1
            keys[r] ^= number[i]


@kernel
def equal_groups(
    keys: AnyArray, sizes: IntArray, firsts: IntArray, slots: IntArray, same: IntArray
) -> None:
    """same[r] = the first group with the items of group r, -1 if it has one item (OUT).

    Groups are equal if their keys, sizes and first items are. `slots` is a hash table, -1 where free, and its
    length a power of two.
    """
    mask = np.uint64(slots.shape[0] - 1)
    for r in range(keys.shape[0]):
        same[r] = -1
        if sizes[r] < 2:
            continue
        at = keys[r] & mask
        while slots[at] >= 0:
            q = slots[at]
            if keys[q] == keys[r] and sizes[q] == sizes[r] and firsts[q] == firsts[r]:
                break
            at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            slots[at] = r
        same[r] = slots[at]


@kernel
def fill_sets(
    rows: IntArray, set_of: IntArray, start: IntArray, member: IntArray, end: IntArray
) -> None:
    """The members of each set, ascending (OUT): set_of[r] is the set of group r, -1 for the others.

    `end` is scratch: where the next member of each set goes.
    """
    for b in range(end.shape[0]):
        end[b] = start[b]
    for i in range(rows.shape[0]):
        for t in range(rows.shape[1]):
            b = set_of[rows[i, t]]
            if b >= 0:
                member[end[b]] = i
                end[b] += 1


@kernel
def fill_sets_of(start: IntArray, member: IntArray, first: IntArray, sets_of: IntArray) -> None:
    """The sets that hold each item, ascending (OUT); `first` is zero on entry."""
    for i in member:
        first[i + 1] += 1
    for i in range(1, first.shape[0]):
        first[i] += first[i - 1]
    # Each beginning moves on as sets are placed, until it is the beginning of the next item: shifted back.
    for b in range(start.shape[0] - 1):
        for q in range(start[b], start[b + 1]):
            sets_of[first[member[q]]] = b
            first[member[q]] += 1
    for i in range(first.shape[0] - 1, 0, -1):
        first[i] = first[i - 1]
    first[0] = 0


@kernel
def set_sum(
    start: IntArray,
    member: IntArray,
    weights: FloatArray,
    f: FloatArray,
    labels: IntArray,
    tally: IntArray,
) -> float:
    """sum_b w_b sum_s f(n_bs); `tally` is zero on entry and exit."""
    total = 0.0
    for b in range(weights.shape[0]):
        line = 0.0
        for q in range(start[b], start[b + 1]):
            if labels[member[q]] >= 0:
                tally[labels[member[q]]] += 1
        for q in range(start[b], start[b + 1]):
            s = labels[member[q]]
            if s >= 0 and tally[s] > 0:
                line += f[tally[s]]
                tally[s] = 0
        total += weights[b] * line
    return total


@kernel
def cost_in(
    i: int,
    s: int,
    start: IntArray,
    member: IntArray,
    weights: FloatArray,
    first: IntArray,
    sets_of: IntArray,
    steps: FloatArray,
    labels: IntArray,
) -> float:
    """Sum over the sets b of item i of w_b (step[n_bs] - step[0]) for one cluster s."""
    total = 0.0
    for x in range(first[i], first[i + 1]):
        b, n = sets_of[x], 0
        for q in range(start[b], start[b + 1]):
            n += labels[member[q]] == s and member[q] != i
        total += weights[b] * (steps[n] - steps[0])
    return total


@kernel
def move_items(
    items: IntArray,
    targets: IntArray,
    start: IntArray,
    member: IntArray,
    weights: FloatArray,
    first: IntArray,
    sets_of: IntArray,
    steps: FloatArray,
    size_steps: FloatArray,
    nowhere: float,
    labels: IntArray,
    sizes: IntArray,
) -> float:
    """Move items to slots, one by one; returns the change of the total loss.

    `nowhere` is what the sets of an item cost where none of them has others: it counts for items from nowhere.
    """
    change = 0.0
    for x in range(items.shape[0]):
        i, target = items[x], targets[x]
        own = labels[i]
        if own == target:
            continue
        if own >= 0:
            change -= cost_in(i, own, start, member, weights, first, sets_of, steps, labels)
            change -= size_steps[sizes[own] - 1]
            sizes[own] -= 1
        else:
            change += nowhere
        labels[i] = target
        if target < 0:
            change -= nowhere
            continue
        change += cost_in(i, target, start, member, weights, first, sets_of, steps, labels)
        change += size_steps[sizes[target]]
        sizes[target] += 1
    return change


@kernel
def item_costs(
    i: int,
    start: IntArray,
    member: IntArray,
    weights: FloatArray,
    first: IntArray,
    sets_of: IntArray,
    steps: FloatArray,
    labels: IntArray,
    costs: FloatArray,
    touched: IntArray,
    tally: IntArray,
    seen: AnyArray,
) -> int:
    """costs[s] = sum over the sets b of item i of w_b (step[n_bs] - step[0]) for the clusters touched (OUT).

    They are listed in `touched` and marked in `seen`; returns their number. `costs`, `tally` and `seen` are zero
    on entry. The label of item i must be -1.
    """
    n_touched = 0
    for x in range(first[i], first[i + 1]):
        b = sets_of[x]
        begin, end, w = start[b], start[b + 1], weights[b]
        if end - begin == 2:  # the commonest by far: nothing to count
            s = max(labels[member[begin]], labels[member[begin + 1]])
            if s >= 0:
                if seen[s] == 0:
                    seen[s] = 1
                    touched[n_touched] = s
                    n_touched += 1
                costs[s] += w * (steps[1] - steps[0])
            continue
        for q in range(begin, end):
            if labels[member[q]] >= 0:
                tally[labels[member[q]]] += 1
        for q in range(begin, end):
            s = labels[member[q]]
            if s >= 0 and tally[s] > 0:
                if seen[s] == 0:
                    seen[s] = 1
                    touched[n_touched] = s
                    n_touched += 1
                costs[s] += w * (steps[tally[s]] - steps[0])
                tally[s] = 0
    return n_touched


@kernel
def sweep(
    order: IntArray,
    start: IntArray,
    member: IntArray,
    weights: FloatArray,
    first: IntArray,
    sets_of: IntArray,
    steps: FloatArray,
    size_steps: FloatArray,
    least_step: float,
    tolerance: float,
    k_min: int,
    k_max: int,
    stop: IntArray,
    blocked: AnyArray,
    labels: IntArray,
    sizes: IntArray,
    costs: FloatArray,
    touched: IntArray,
    tally: IntArray,
    seen: AnyArray,
) -> tuple[int, int, float]:
    """Visit the items in `order`, as `sweep.sweep` does; returns the number visited, of moves, and the change.

    `least_step` is the least of `size_steps` from 1 on: no cluster that is not touched costs less. Those are
    looked at only if that is below the best of the others, which VI and Binder never have without bounds.
    """
    moves, change, n_empty = 0, 0.0, 0
    empty = np.empty(sizes.shape[0], np.int64)
    for s in range(sizes.shape[0] - 1, -1, -1):
        if sizes[s] == 0:
            empty[n_empty] = s
            n_empty += 1
    used = sizes.shape[0] - n_empty
    for x in range(order.shape[0]):
        i = order[x]
        own = labels[i]
        if n_empty == 0 or stop[0] != 0:
            return x, moves, change
        alone = own >= 0 and sizes[own] == 1
        if alone and used <= k_min:
            continue
        labels[i] = -1
        n = item_costs(
            i, start, member, weights, first, sets_of, steps, labels, costs, touched, tally, seen
        )
        here, best, low = np.inf, -1, np.inf
        if own >= 0:
            here = low = costs[own] + size_steps[sizes[own] - 1]
        for q in range(n):
            s = touched[q]
            if s != own and costs[s] + size_steps[sizes[s]] < low and blocked[s] == 0:
                best, low = s, costs[s] + size_steps[sizes[s]]
        if used < k_max and not alone and size_steps[0] < low:
            best, low = empty[n_empty - 1], size_steps[0]
        if least_step < low - tolerance:
            for s in range(sizes.shape[0]):
                free = sizes[s] > 0 and seen[s] == 0 and s != own and blocked[s] == 0
                if free and size_steps[sizes[s]] < low:
                    best, low = s, size_steps[sizes[s]]
        for q in range(n):
            costs[touched[q]] = 0.0
            seen[touched[q]] = 0
        labels[i] = own
        if best < 0 or low >= here - tolerance:
            continue
        if own >= 0:
            change += low - here
            sizes[own] -= 1
        if sizes[best] == 0:
            n_empty -= 1
            used += 1
        if alone:
            empty[n_empty] = own
            n_empty += 1
            used -= 1
        sizes[best] += 1
        labels[i] = best
        moves += 1
    return order.shape[0], moves, change
