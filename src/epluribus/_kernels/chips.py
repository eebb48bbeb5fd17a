"""Partial partitions of high probability, grown greedily item by item (CHiPS).

A partial partition says of some items which of them are together and which are apart. Its probability is the
weight of the draws that say the same of these items: the draws that *agree*. Among all items that are not in
it, and all its clusters and a new one for each, the choice that keeps the largest weight is taken, until all
items are in it.

What an item can keep at best never grows: fewer draws agree after every step, and those in which the item
would have been alone are divided among further clusters. So what was found for an item at an earlier step is
an upper bound. Items are in a heap by their bounds; only the one at the top is looked at again, and taken if
it stays there. The choices are the same as if all items were looked at in every step.
"""

from heapq import heappop, heappushpop

import numpy as np

from epluribus._kernels.jit import kernel


@kernel
def grow(table, weights, items, stop, order, label, kept):
    """Add all items, one by one; once `stop[0]` is set, the rest without looking for the best.

    `table` is (n_items, n_draws). Of `items`, all in some order, the first is taken first; of those that keep the same
    weight, the one that comes first.
    """
    n_items, n_alive = table.shape
    # Bounds with a minus sign, since the least entry of a heap is at its top; and places in `items`.
    heap = [(-np.inf, q) for q in range(n_items)]
    mass, target, seen = np.zeros(n_items + 1), np.zeros(n_items, np.int64), np.full(n_items, -1)
    alive = np.arange(n_alive)  # the draws that agree
    # The cluster that each group of a draw stands for; -1 if none of its items is in one yet.
    cluster = np.full((n_alive, table.max() + 1), -1)
    k = 0
    seen[0] = 0  # the first item opens the first cluster
    for n in range(n_items):
        _, q = heappop(heap)
        while seen[q] != n:
            # The cluster, of k and a new one, with which the item keeps the largest weight.
            mass[: k + 1] = 0.0
            for t in alive[:n_alive]:
                s = cluster[t, table[items[q], t]]
                mass[s if s >= 0 else k] += weights[t]
            target[q], seen[q] = np.argmax(mass[: k + 1]), n
            # In a hurry the item is taken, whatever the others would keep.
            if not stop[0]:
                _, q = heappushpop(heap, (-mass[target[q]], q))
        i, s, agree, total = items[q], target[q], 0, 0.0
        for t in alive[:n_alive]:
            v = table[i, t]
            if cluster[t, v] == (s if s < k else -1):
                cluster[t, v] = s
                alive[agree] = t
                agree += 1
                total += weights[t]
        n_alive = agree
        order[n], label[n], kept[n] = i, s, total
        k = max(k, s + 1)
