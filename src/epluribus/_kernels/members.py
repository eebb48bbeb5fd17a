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
from epluribus._kernels.tables import used_slots


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
    k_min, k_max, stop, blocked, labels, sizes, gap, second,
):  # fmt: skip
    """Visit the items in `order`, as `tables.sweep` does; returns the number visited, of moves, and the change.

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
        gap[i] = np.inf
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
        gap[i], second[i] = low - here, best
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
def join_row(
    a, items, start, member, weights, first, sets_of, f, size, labels, sizes, row, touched, tally
):
    """row[s] = change if slot a is joined with the clusters that share a set with it (OUT); returns their number.

    They are listed in `touched` (OUT); `items` are those of a; `row` and `tally` are as `costs` in `item_costs`.
    """
    n_touched = 0
    for i in items:
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
    return n_touched


@kernel
def best_joins(
    order, begin, start, member, weights, first, sets_of, f, size, labels, sizes, closed, partner,
    least,
):  # fmt: skip
    """partner[a] and least[a]: the cluster that shares a set with a whose join is best, and its change (OUT).

    The items of cluster a are order[begin[a]:begin[a + 1]]. Clusters a and b with ``closed[a, b]`` are not joined, if
    it is not empty.
    """
    width = sizes.shape[0]
    row, tally = np.full(width + 1, np.inf), np.zeros(width + 1, np.int64)
    touched = np.empty(width + 1, np.int64)
    for a in range(width):
        n = join_row(
            a, order[begin[a] : begin[a + 1]], start, member, weights, first, sets_of, f, size,
            labels, sizes, row, touched, tally,
        )  # fmt: skip
        for s in touched[:n]:
            # Each change is computed from one side only: both clusters must see the same one.
            if s < a and (closed.shape[0] == 0 or not closed[a, s]):
                if row[s] < least[a] or (row[s] == least[a] and s < partner[a]):
                    partner[a], least[a] = s, row[s]
                if row[s] < least[s]:
                    partner[s], least[s] = a, row[s]
            row[s] = np.inf
