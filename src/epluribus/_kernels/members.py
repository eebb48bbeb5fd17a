"""Sweeps and joins of a linear loss without tables: for draws with thousands of small clusters.

The groups of all draws are *sets* of items. Draws share most of their small groups, so each distinct set is kept
once, with the sum w_b of the weights of its groups; a set of one item is left out, because such an item costs
w_b f(1) in every cluster. Set b is ``member[start[b]:start[b + 1]]``, and the sets that hold item i are
``sets_of[first[i]:first[i + 1]]``. Up to what is the same everywhere, item i in cluster s costs

    sum over its sets b of w_b (step[n_bs] - step[0])  +  W (f2(n_s + 1) - f2(n_s))

with n_bs the other items of b in s, and step[n] = f(n + 1) - f(n). Joining clusters a and b changes the loss by

    sum over the sets with items in both of w_c [f(n + m) - f(n) - f(m)]  +  W [f2(n_a + n_b) - f2(n_a) - f2(n_b)]

where n and m items of the set are in a and b. The first terms are not 0 only for clusters that share a set: these
are *touched*. A sweep, and the joins of all clusters, take time in proportion to the sum of the squared sizes of sets.
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._kernels.merge import next_pair, note_joins
from epluribus._kernels.sweep import used_slots


@kernel
def item_costs(i, own, start, member, weights, first, sets_of, steps, labels, costs, touched, tally):  # fmt: skip
    """costs[s] = the first sum for `own` and the clusters touched (OUT); returns the number of these.

    They are listed in `touched` (OUT), `own` first. The label of item i must be -1. `costs` is infinite elsewhere,
    and `tally` is 0 (WORK); both have one entry more than there are slots, for a label of -1.
    """
    touched[0], costs[own], n_touched = own, 0.0, 1
    for x in range(first[i], first[i + 1]):
        b = sets_of[x]
        for q in range(start[b], start[b + 1]):
            tally[labels[member[q]]] += 1
        for q in range(start[b], start[b + 1]):
            s = labels[member[q]]
            if s >= 0 and tally[s] > 0:
                if costs[s] == np.inf:
                    touched[n_touched], costs[s] = s, 0.0
                    n_touched += 1
                costs[s] += weights[b] * (steps[tally[s]] - steps[0])
            tally[s] = 0
    return n_touched


@kernel
def cell_sum(start, member, weights, first, sets_of, f, total_weight, labels, tally):
    """sum_b w_b sum_s f(n_bs), with the sets of single items. `tally` is as in `item_costs`."""
    total = 0.0
    for b in range(start.shape[0] - 1):
        for q in range(start[b], start[b + 1]):
            tally[labels[member[q]]] += 1
        tally[-1] = 0
        for q in range(start[b], start[b + 1]):
            s = labels[member[q]]
            total += weights[b] * f[tally[s]]  # f(0) = 0: each cell counts once
            tally[s] = 0
    for i in range(labels.shape[0]):
        alone = total_weight
        for x in range(first[i], first[i + 1]):
            alone -= weights[sets_of[x]]
        total += alone * f[1] if labels[i] >= 0 else 0.0
    return total


@kernel
def move_items(
    items, targets, start, member, weights, first, sets_of, steps, size_steps, nowhere, labels, sizes
):  # fmt: skip
    """Move items to slots (-1: nowhere), one by one; returns the change of the total loss.

    `nowhere` is what the sets of an item cost where none of them has others: it counts for items from nowhere.
    """
    change, width = 0.0, sizes.shape[0]
    costs, tally = np.full(width + 1, np.inf), np.zeros(width + 1, np.int64)
    touched = np.empty(width + 1, np.int64)
    for x in range(items.shape[0]):
        i, target = items[x], targets[x]
        own = labels[i]
        if own == target:
            continue
        labels[i] = -1
        n = item_costs(
            i, own, start, member, weights, first, sets_of, steps, labels, costs, touched, tally
        )
        change += nowhere * (int(own < 0) - int(target < 0))
        if own >= 0:
            sizes[own] -= 1
            change -= costs[own] + size_steps[sizes[own]]
        if target >= 0:
            change += size_steps[sizes[target]] + (costs[target] if costs[target] < np.inf else 0.0)
            sizes[target] += 1
        labels[i] = target
        costs[touched[:n]] = np.inf
    return change


@kernel
def sweep(
    order, start, member, weights, first, sets_of, steps, size_steps, least_step, tolerance,
    k_min, k_max, stop, blocked, labels, sizes,
):  # fmt: skip
    """Visit the items in `order`, as `sweep.sweep` does; returns the number visited, of moves, and the change.

    `least_step` is the least of `size_steps` from 1 on: no cluster that is not touched costs less. Those are
    looked at only if that is below the best of the others, which VI and Binder never have without bounds.
    """
    moves, change, new, width = 0, 0.0, 0, sizes.shape[0]
    costs, tally = np.full(width + 1, np.inf), np.zeros(width + 1, np.int64)
    touched, used = np.empty(width + 1, np.int64), used_slots(sizes)[0]
    for x in range(order.shape[0]):
        i = order[x]
        own = labels[i]
        if used == width or stop[0] != 0:
            return x, moves, change
        while sizes[new] > 0:
            new = new + 1 if new + 1 < width else 0
        alone = own >= 0 and sizes[own] == 1
        if alone and used <= k_min:
            continue
        labels[i] = -1
        n = item_costs(
            i, own, start, member, weights, first, sets_of, steps, labels, costs, touched, tally
        )
        labels[i] = own
        here = costs[own] + size_steps[sizes[own] - 1] if own >= 0 else np.inf
        best, low = -1, np.inf
        for s in touched[1:n]:
            cost = costs[s] + size_steps[sizes[s]]
            if (cost < low or (cost == low and s < best)) and blocked[s] == 0:
                best, low = s, cost
        if used < k_max and not alone and size_steps[0] < low:
            best, low = new, size_steps[0]
        if least_step < min(low, here) - tolerance:
            for s in range(width):
                free = sizes[s] > 0 and costs[s] == np.inf and blocked[s] == 0
                if free and size_steps[sizes[s]] < low:
                    best, low = s, size_steps[sizes[s]]
        costs[touched[:n]] = np.inf
        if best < 0 or low >= here - tolerance:
            continue
        if own >= 0:
            change += low - here
            sizes[own] -= 1
        used += int(sizes[best] == 0) - int(alone)
        sizes[best] += 1
        labels[i] = best
        moves += 1
    return order.shape[0], moves, change


@kernel
def link_members(labels, head, after):
    """head[s] = an item of cluster s, -1 if there is none; after[i] = another one, in a ring (OUT)."""
    for s in range(head.shape[0]):
        head[s] = -1
    for i in range(labels.shape[0]):
        s = labels[i]
        if s >= 0 and head[s] >= 0:
            after[i], after[head[s]] = after[head[s]], i
        elif s >= 0:
            head[s], after[i] = i, i


@kernel
def join_row(
    a, head, after, start, member, weights, first, sets_of, f, size, labels, sizes, row, touched, tally
):  # fmt: skip
    """row[s] = change if slot a is joined with the clusters that share a set with it (OUT); returns their number.

    They are listed in `touched` (OUT); `row` and `tally` are as in `item_costs`.
    """
    n_touched, i = 0, head[a]
    while i >= 0:
        for x in range(first[i], first[i + 1]):
            b = sets_of[x]
            q = start[b]
            while labels[member[q]] != a:
                q += 1
            if member[q] != i:  # the set was looked at from its first item in a
                continue
            for q in range(start[b], start[b + 1]):
                tally[labels[member[q]]] += 1
            n = tally[a]
            tally[a] = 0
            for q in range(start[b], start[b + 1]):
                s = labels[member[q]]
                m = tally[s]
                tally[s] = 0
                if m == 0 or s < 0:
                    continue
                if row[s] == np.inf:
                    row[s] = size[sizes[a] + sizes[s]] - size[sizes[a]] - size[sizes[s]]
                    touched[n_touched] = s
                    n_touched += 1
                row[s] += weights[b] * (f[n + m] - f[n] - f[m])
        i = after[i] if after[i] != head[a] else -1
    return n_touched


@kernel
def merge(start, member, weights, first, sets_of, f, size, tolerance, k_min, k_max, stop, labels, sizes):  # fmt: skip
    """Join the best pair that shares a set while that lowers the loss, or there are more than `k_max` clusters.

    Returns the change of the total loss.
    """
    width, total, n_seen, left = sizes.shape[0], 0.0, 0, used_slots(sizes)[0]
    head, after = np.empty(width, np.int64), np.empty(labels.shape[0], np.int64)
    link_members(labels, head, after)
    row, tally = np.full(width + 1, np.inf), np.zeros(width + 1, np.int64)
    touched = np.empty(width + 1, np.int64)
    partner, least = np.full(width, -1), np.full(width, np.inf)
    while stop[0] == 0:
        a, b = next_pair(n_seen, left, k_min, k_max, tolerance, partner, least)
        if a < 0:
            break
        n_seen += n_seen < width
        if b >= 0:
            total += least[a]
            i = head[b]
            while labels[i] == b:
                labels[i] = a
                i = after[i]
            after[head[a]], after[head[b]] = after[head[b]], after[head[a]]
            sizes[a] += sizes[b]
            sizes[b], head[b], least[b] = 0, -1, np.inf
            left -= 1
        n = join_row(
            a, head, after, start, member, weights, first, sets_of, f, size, labels, sizes,
            row, touched, tally,
        )  # fmt: skip
        note_joins(a, b, row, touched[:n], partner, least)
        row[touched[:n]] = np.inf
    return total
