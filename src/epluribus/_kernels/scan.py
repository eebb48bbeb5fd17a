"""One look at many items with nothing moved: what clusters would cost them, and how close they are to moving.

Nothing changes in between, so that items can be looked at in threads, in slices of draws, or on other machines:
costs add over draws. They are whole numbers, of which `scale` make one unit of the loss, so that sums do not depend
on where and in which order they are added. Labels are those of the draws, of few bytes; the groups of all draws are
numbered through, and those of draw t begin at ``first[t]`` (`sweep.py` has the formulas).
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._typing import AnyArray, FloatArray, IntArray

BLOCK = 32
"""Draws that are added up before the next item: their part of the gains stays in the cache."""


@kernel
def count_groups(
    table: AnyArray, begin: int, end: int, first: IntArray, labels: IntArray, counts: IntArray
) -> None:
    """counts[r, s] += 1 for each item of cluster s in group r of draws begin..end-1 (OUT).

    Groups are numbered from the first of draw `begin` on; items with a label of -1 are not counted.
    """
    low, t0, t1 = np.uint64(first[begin]), np.uint64(begin), np.uint64(end)
    for i in range(table.shape[0]):
        if labels[i] >= 0:
            s = np.uint64(labels[i])
            for t in range(t0, t1):
                counts[np.uint64(first[t]) + np.uint64(table[i, t]) - low, s] += 1


@kernel
def fill_gains(
    counts: IntArray,
    weights: FloatArray,
    steps: FloatArray,
    scale: float,
    gains: IntArray,
    inside: IntArray,
) -> None:
    """What one more item adds to cell r, s with its n items, and what one of these items costs (both OUT).

    gains[r, s] = scale w_r (f(n + 1) - f(n)), and inside[r, s] = scale w_r (f(n) - f(n - 1)), rounded; inside is 0
    without items. `steps` are the differences of f.
    """
    for r in range(counts.shape[0]):
        w = scale * weights[r]
        for s in range(counts.shape[1]):
            n = counts[r, s]
            gains[r, s] = np.rint(w * steps[n])
            inside[r, s] = np.rint(w * steps[n - 1]) if n > 0 else 0


@kernel
def add_costs(
    table: AnyArray,
    first: IntArray,
    labels: IntArray,
    gains: IntArray,
    inside: IntArray,
    costs: IntArray,
    own: IntArray,
) -> None:
    """Add what the draws of the table say about its items to their costs.

    costs[i, s] += sum_t gains[r_it, s] for all slots, and own[i] += sum_t inside[r_it, labels[i]] for items in a
    cluster, where r_it = first[t] + table[i, t] (both OUT).
    """
    n_draws, width, n_items = table.shape[1], np.uint64(gains.shape[1]), np.uint64(table.shape[0])
    at = np.empty(BLOCK, dtype=np.uint64)
    for begin in range(0, n_draws, BLOCK):
        n = min(BLOCK, n_draws - begin)
        for i in range(n_items):
            for t in range(n):
                at[t] = first[begin + t] + table[i, begin + t]
            t = 0
            while t + 8 <= n:
                a, b, c, d = at[t], at[t + 1], at[t + 2], at[t + 3]
                e, f, g, h = at[t + 4], at[t + 5], at[t + 6], at[t + 7]
                for s in range(width):
                    costs[i, s] += ((gains[a, s] + gains[b, s]) + (gains[c, s] + gains[d, s])) + (
                        (gains[e, s] + gains[f, s]) + (gains[g, s] + gains[h, s])
                    )
                t += 8
            while t < n:
                for s in range(width):
                    costs[i, s] += gains[at[t], s]
                t += 1
            if labels[i] >= 0:
                mine, total = np.uint64(labels[i]), 0
                for t in range(n):
                    total += inside[at[t], mine]
                own[i] += total


@kernel
def best_moves(
    costs: IntArray,
    own: IntArray,
    labels: IntArray,
    scale: float,
    sizes: IntArray,
    size_steps: FloatArray,
    may_open: bool,
    target: IntArray,
    gap: FloatArray,
) -> None:
    """For each item the best cluster other than its own, and how much more it costs than its own (both OUT).

    Slot K, after the clusters in `sizes`, is a new cluster; it is none for an item that is alone or in no cluster,
    or if none may be opened. An item in no cluster costs nothing.
    """
    k = sizes.shape[0]
    for i in range(costs.shape[0]):
        mine = labels[i]
        best, low = -1, np.inf
        for s in range(k):
            value = costs[i, s] / scale + size_steps[sizes[s]]
            if s != mine and value < low:
                best, low = s, value
        if may_open and mine >= 0 and sizes[mine] > 1 and costs[i, k] / scale + size_steps[0] < low:
            best, low = k, costs[i, k] / scale + size_steps[0]
        here = own[i] / scale + size_steps[sizes[mine] - 1] if mine >= 0 else 0.0
        target[i], gap[i] = best, low - here
