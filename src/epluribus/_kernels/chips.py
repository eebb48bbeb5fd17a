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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine
from epluribus._typing import FloatArray, IntArray


@part
def _sink(heap: IntArray, bound: FloatArray, n: int) -> None:
    """Move the item at the top of a heap of n items down to its place; equal ones stay where they are."""
    q = 0
    while True:
        child = 2 * q + 1
        if child >= n:
            return
        if child + 1 < n and bound[heap[child + 1]] > bound[heap[child]]:
            child += 1
        if bound[heap[child]] <= bound[heap[q]]:
            return
        heap[q], heap[child] = heap[child], heap[q]
        q = child


@routine
def _best_cluster(
    labels: NDArray[np.unsignedinteger[Any]],
    weights: FloatArray,
    alive: IntArray,
    n_alive: int,
    cluster: NDArray[np.int32],
    k: int,
    mass: FloatArray,  # WORK
) -> int:
    """The cluster, of k and a new one, that keeps the largest weight; `mass` holds the weights of all."""
    mass[: k + 1] = 0.0
    for q in range(n_alive):
        t = alive[q]
        s = cluster[t, labels[t]]
        mass[s if s >= 0 else k] += weights[t]
    best = 0
    for s in range(1, k + 1):
        if mass[s] > mass[best]:
            best = s
    return best


@kernel
def grow(
    table: NDArray[np.unsignedinteger[Any]],
    weights: FloatArray,
    heap: IntArray,  # IN: the items in random order, the first one first; WORK
    bound: FloatArray,  # WORK (n_items,)
    target: IntArray,  # WORK (n_items,)
    seen: IntArray,  # WORK (n_items,)
    alive: IntArray,  # WORK (n_draws,)
    cluster: NDArray[np.int32],  # WORK (n_draws, largest label + 1)
    mass: FloatArray,  # WORK (n_items + 1,)
    stop: NDArray[np.uint8],
    order: IntArray,  # OUT (n_items,) items as they were added
    label: IntArray,  # OUT (n_items,) their clusters
    kept: FloatArray,  # OUT (n_items,) weight of the draws that agree, after each of them
) -> None:
    """Add all items, one by one; once `stop[0]` is set, the rest without looking for the best."""
    n_items, n_draws = table.shape
    n_alive, k = n_draws, 0
    for t in range(n_draws):
        alive[t] = t
    # cluster[t, v]: the cluster that group v of draw t stands for; -1 if none of its items is in one yet.
    cluster[:] = -1
    bound[:] = np.inf
    seen[:] = -1
    seen[heap[0]] = 0
    target[heap[0]] = 0
    for n in range(n_items):
        left = n_items - n
        while seen[heap[0]] != n:
            i = heap[0]
            target[i] = _best_cluster(table[i], weights, alive, n_alive, cluster, k, mass)
            bound[i] = mass[target[i]]
            seen[i] = n
            # In a hurry the item at the top is taken, whatever the others would keep.
            if not stop[0]:
                _sink(heap, bound, left)
        i = heap[0]
        s = target[i]
        # The draws that put item i elsewhere no longer agree.
        total, m = 0.0, 0
        for q in range(n_alive):
            t = alive[q]
            v = table[i, t]
            if cluster[t, v] == (s if s < k else -1):
                cluster[t, v] = s
                alive[m] = t
                m += 1
                total += weights[t]
        n_alive = m
        k = max(k, s + 1)
        order[n] = i
        label[n] = s
        kept[n] = total
        heap[0] = heap[left - 1]
        _sink(heap, bound, left - 1)
