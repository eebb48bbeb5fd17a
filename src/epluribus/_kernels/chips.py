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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.reference import by_reference
from epluribus._typing import FloatArray, IntArray


@by_reference
class Path(NamedTuple):
    """What a run has found: the items as they were added."""

    order: IntArray
    """(n_items,) the items."""
    label: IntArray
    """(n_items,) their clusters."""
    kept: FloatArray
    """(n_items,) weight of the draws that agree, after each of them."""


@by_reference
class Growth(NamedTuple):
    """What a run works on."""

    heap: IntArray
    """(n_items,) the items that are left; at the beginning in random order, the first one first."""
    bound: FloatArray
    """(n_items,) the largest weight that each item can keep."""
    target: IntArray
    """(n_items,) its best cluster, when it was looked at last ..."""
    seen: IntArray
    """(n_items,) ... and in which step that was."""
    alive: IntArray
    """(n_draws,) the draws that agree."""
    cluster: NDArray[np.int32]
    """(n_draws, largest label + 1) the cluster that each group of a draw stands for; -1 if none of its items
    is in one yet."""
    mass: FloatArray
    """(n_items + 1,) weight that each cluster would keep."""


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
def _look(table: Any, weights: FloatArray, w: Growth, i: int, n_alive: int, k: int) -> None:
    """Find the cluster, of k and a new one, with which item i keeps the largest weight."""
    w.mass[: k + 1] = 0.0
    for q in range(n_alive):
        t = w.alive[q]
        s = w.cluster[t, table[i, t]]
        w.mass[s if s >= 0 else k] += weights[t]
    best = 0
    for s in range(1, k + 1):
        if w.mass[s] > w.mass[best]:
            best = s
    w.target[i] = best
    w.bound[i] = w.mass[best]


@routine
def _add(
    table: Any,
    weights: FloatArray,
    w: Growth,
    i: int,
    n_alive: int,
    k: int,
    kept: FloatArray,
    n: int,
) -> int:
    """Put item i into its best cluster; return how many draws still agree, and write down their weight."""
    s, m = w.target[i], 0
    kept[n] = 0.0
    for q in range(n_alive):
        t = w.alive[q]
        v = table[i, t]
        if w.cluster[t, v] == (s if s < k else -1):
            w.cluster[t, v] = s
            w.alive[m] = t
            m += 1
            kept[n] += weights[t]
    return m


@kernel
def grow(
    table: NDArray[np.unsignedinteger[Any]],
    weights: FloatArray,
    w: Growth,  # WORK; the heap is filled
    stop: NDArray[np.uint8],
    path: Path,  # OUT
) -> None:
    """Add all items, one by one; once `stop[0]` is set, the rest without looking for the best."""
    n_items, n_alive, k = table.shape[0], table.shape[1], 0
    for t in range(n_alive):
        w.alive[t] = t
    w.cluster[:] = -1
    w.bound[:] = np.inf
    w.seen[:] = -1
    # The first item opens the first cluster.
    w.seen[w.heap[0]] = 0
    w.target[w.heap[0]] = 0
    for n in range(n_items):
        left = n_items - n
        while w.seen[w.heap[0]] != n:
            i = w.heap[0]
            _look(table, weights, w, i, n_alive, k)
            w.seen[i] = n
            # In a hurry the item at the top is taken, whatever the others would keep.
            if not stop[0]:
                _sink(w.heap, w.bound, left)
        i = w.heap[0]
        n_alive = _add(table, weights, w, i, n_alive, k, path.kept, n)
        path.order[n] = i
        path.label[n] = w.target[i]
        k = max(k, w.target[i] + 1)
        w.heap[0] = w.heap[left - 1]
        _sink(w.heap, w.bound, left - 1)
