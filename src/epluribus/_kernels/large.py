"""The search for very many items: costs of items while nothing moves, and sweeps over the few that may move.

**Costs.** The groups of all draws are numbered through, and r_it is that of item i in draw t. What item i costs in
cluster s is sum_t gains[r_it, s] (`sweep.py`). Gains are whole numbers here, so that sums do not depend on the order
in which draws are added: they may be added in threads, or on other machines.

**Pairs.** Binder's loss is a sum over pairs of items. With P_ij the weight of the draws that have i and j together, in
units (0 for i = j), and ``fixed[i, s]`` the sum of P_ij over the items j that stay in cluster s, item i costs

    base n_s + unit (fixed[i, s] + sum_j P_ij)    over the n_s other items of cluster s, of which the free ones are j

A look at an item takes time O(n_free + K), and a move O(1): there may be thousands of small clusters.
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._kernels.sweep import used_slots

BLOCK = 32
"""Draws that are added up before the next item: their gains stay in the cache."""


@kernel
def add_costs(table, first, labels, gains, own_gains, costs):
    """costs[i, s] += sum_t gains[r_it, s] (OUT); for the cluster of item i itself the sum of `own_gains`.

    `table` has the labels of the items in the draws, (n_items, n_draws), and r_it = first[t] + table[i, t]. An item
    with a label of -1 is in no cluster. The last line of `gains` is 0: it fills up the last eight draws.
    """
    n_draws, width, n_items = table.shape[1], np.uint64(gains.shape[1]), np.uint64(table.shape[0])
    at = np.empty(BLOCK, dtype=np.uint64)
    for begin in range(0, n_draws, BLOCK):
        n = min(BLOCK, n_draws - begin)
        at[n:] = gains.shape[0] - 1
        for i in range(n_items):
            for t in range(n):
                at[t] = first[begin + t] + table[i, begin + t]
            for t in range(0, n, 8):
                a, b, c, d = at[t], at[t + 1], at[t + 2], at[t + 3]
                e, f, g, h = at[t + 4], at[t + 5], at[t + 6], at[t + 7]
                for s in range(width):
                    costs[i, s] += ((gains[a, s] + gains[b, s]) + (gains[c, s] + gains[d, s])) + (
                        (gains[e, s] + gains[f, s]) + (gains[g, s] + gains[h, s])
                    )
            if labels[i] >= 0:
                own = np.uint64(labels[i])
                for t in range(n):
                    costs[i, own] += own_gains[at[t], own] - gains[at[t], own]


@kernel
def sweep_pairs(
    order, together, fixed, base, unit, tolerance, k_min, k_max, stop,
    labels, sizes, sums,
):  # fmt: skip
    """Visit the items in `order`; each goes to the cluster where it costs least, perhaps a new one, where it costs 0.

    It stays unless that lowers the loss by more than `tolerance`. There is always an empty slot in `sizes`. Changes
    labels and sizes; `sums` is WORK. Returns the number of moves; it returns early if ``stop[0]`` is set.
    """
    moves = 0
    used, top = used_slots(sizes)
    for i in order:
        own = labels[i]
        alone = sizes[own] == 1
        if stop[0] != 0:
            return moves
        if alone and used <= k_min:
            continue
        sums[:top] = 0.0
        sums[: fixed.shape[1]] = fixed[i]
        for j in range(labels.shape[0]):
            sums[labels[j]] += together[i, j]
        low = base * (sizes[own] - 1) + unit * sums[own] - tolerance
        best, new = own, top
        for s in range(top):
            if sizes[s] == 0:
                new = min(new, s)
            elif s != own and base * sizes[s] + unit * sums[s] < low:
                best, low = s, base * sizes[s] + unit * sums[s]
        if used < k_max and not alone and low > 0.0:
            best = new
        if best != own:
            used += int(sizes[best] == 0) - int(alone)
            sizes[own] -= 1
            sizes[best] += 1
            labels[i] = best
            moves += 1
            top = max(top, best + 1)
    return moves
