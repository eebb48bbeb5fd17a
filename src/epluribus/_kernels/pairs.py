"""Sweeps for losses that depend on similarities of pairs of items: Binder's, and the lower bound of VI.

With p_ij the similarity of items i and j, p_ii = `one`, and s_i the sum of p_ij over the items j in the cluster of i,
the total loss is

    constant  +  sum_s size(n_s)  +  scale * sum_i g(s_i)

with g(s) = s for Binder's loss, and g(s) = log2 s for the bound (`logs`). An item i that joins cluster s adds

    size(n_s + 1) - size(n_s)  +  scale * [ g(one + r) + sum over the items j of s of g(s_j + p_ij) - g(s_j) ]

where r is the sum of p_ij over the items j of s. There are two ways to know r:

- ``together[i, j]`` is p_ij, without the diagonal, and ``sums[s, i]`` is r, for Binder's loss only: a look takes time
  O(K), a move O(n_items);
- item i has the neighbors ``near[first[i]]`` to ``near[first[i + 1] - 1]``, with similarities `share` above 0, and
  ``inside[j]`` is s_j: a look takes time O(neighbors + K). `together` and `sums` are then empty.
"""

import math

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._kernels.sweep import used_slots


@kernel
def item_costs(
    i, first, near, share, scale, one, logs, size_steps, labels, sizes, sums, inside, costs, reach
):
    """costs[s] = what item i costs in slot s, itself not counted there (OUT); `reach` is WORK."""
    own, dense = labels[i], sums.shape[0] > 0
    for s in range(sizes.shape[0]):
        reach[s] = sums[s, i] if dense and sizes[s] > 0 else 0.0
        costs[s] = 0.0
    for q in range(first[i], first[i + 1]):
        s, p = labels[near[q]], share[q]
        if s >= 0:
            reach[s] += p
            if logs:
                rest = inside[near[q]] - (p if s == own else 0.0)
                costs[s] += math.log2((rest + p) / rest)
    for s in range(sizes.shape[0]):
        costs[s] += math.log2(one + reach[s]) if logs else one + 2.0 * reach[s]
        costs[s] = scale * costs[s] + size_steps[sizes[s] - int(s == own)]


@kernel
def move_item(i, target, together, first, near, share, one, labels, sizes, sums, inside):
    """Item i goes to a slot."""
    own = labels[i]
    if sums.shape[0] > 0:
        row, into = together[i], sums[target]
        for j in range(row.shape[0]):
            into[j] += row[j]
        if own >= 0:
            out = sums[own]
            for j in range(row.shape[0]):
                out[j] -= row[j]
    inside[i] = one
    for q in range(first[i], first[i + 1]):
        j = near[q]
        if labels[j] == target:
            inside[j] += share[q]
            inside[i] += share[q]
        elif own >= 0 and labels[j] == own:
            inside[j] -= share[q]
    labels[i] = target
    sizes[target] += 1
    if own >= 0:
        sizes[own] -= 1


@kernel
def move_items(
    items, targets, together, first, near, share, scale, one, logs, size_steps,
    labels, sizes, sums, inside,
):  # fmt: skip
    """Move items to slots, one by one; returns the change of the total loss."""
    change, n = 0.0, sizes.shape[0]
    costs, reach = np.empty(n), np.empty(n)
    for x in range(items.shape[0]):
        i, target = items[x], targets[x]
        own = labels[i]
        if own != target:
            item_costs(
                i, first, near, share, scale, one, logs, size_steps, labels, sizes, sums, inside,
                costs, reach,
            )  # fmt: skip
            change += costs[target] - (costs[own] if own >= 0 else 0.0)
            move_item(i, target, together, first, near, share, one, labels, sizes, sums, inside)
    return change


@kernel
def sweep(
    order, together, first, near, share, scale, one, logs, size_steps, tolerance,
    k_min, k_max, stop, blocked, labels, sizes, sums, inside, gap, second,
):  # fmt: skip
    """Visit the items in `order`, as `sweep.sweep` does; returns the number visited, of moves, and the change."""
    moves, change, used, new, n = 0, 0.0, used_slots(sizes)[0], 0, sizes.shape[0]
    costs, reach = np.empty(n), np.empty(n)
    for x in range(order.shape[0]):
        i = order[x]
        own = labels[i]
        if used == n or stop[0] != 0:
            return x, moves, change
        while sizes[new] > 0:
            new = new + 1 if new + 1 < n else 0
        alone = own >= 0 and sizes[own] == 1
        gap[i] = np.inf
        if alone and used <= k_min:
            continue
        item_costs(
            i, first, near, share, scale, one, logs, size_steps, labels, sizes, sums, inside,
            costs, reach,
        )  # fmt: skip
        here = costs[own] if own >= 0 else np.inf
        best, low = -1, np.inf
        for s in range(n):
            if costs[s] < low and sizes[s] > 0 and s != own and blocked[s] == 0:
                best, low = s, costs[s]
        if used < k_max and not alone and costs[new] < low:
            best, low = new, costs[new]
        gap[i], second[i] = low - here, best
        if best < 0 or low >= here - tolerance:
            continue
        if own >= 0:
            change += low - here
        used += int(sizes[best] == 0) - int(alone)
        move_item(i, best, together, first, near, share, one, labels, sizes, sums, inside)
        moves += 1
    return order.shape[0], moves, change


@kernel
def cluster_around_pivots(order, levels, first, near, share, labels):
    """Each item in no cluster (-1), in this order, makes one of those more similar to it than its level (OUT)."""
    k = 0
    for i in order:
        if labels[i] < 0:
            labels[i] = k
            for q in range(first[i], first[i + 1]):
                if labels[near[q]] < 0 and share[q] > levels[i]:
                    labels[near[q]] = k
            k += 1
