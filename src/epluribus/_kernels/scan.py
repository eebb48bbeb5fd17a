"""One look at many items with nothing moved: what clusters would cost them, how close they are to moving.

Nothing changes in between, so items can be looked at in any order, in threads, in slices of draws, or on
another machine: costs add over draws. The numbers are sums in single precision; what they cannot decide is
left to the loops that move items.
"""

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.vector import BLOCK, add_block, flat
from epluribus._typing import FloatArray, IntArray


@kernel
def add_costs(
    table: NDArray[np.unsignedinteger],
    gain: NDArray[np.float32],
    used: int,
    single: NDArray[np.float32],  # WORK (width,)
    cost: FloatArray,  # OUT (n_items, width), added to
) -> None:
    """Add the gains of the items of `table` in its draws, for the first `used` clusters."""
    n_draws, n_used, begin = np.uint64(table.shape[1]), np.uint64(used), np.uint64(0)
    # Block by block of draws: their part of the gains stays in the cache while all items pass by.
    while begin < n_draws:
        end = min(begin + np.uint64(BLOCK), n_draws)
        for i in range(table.shape[0]):
            add_block(table[i], begin, end, gain, n_used, single)
            for s in range(n_used):
                cost[i, s] += single[s]
        begin = end


@kernel
def add_own_costs(
    table: NDArray[np.unsignedinteger],
    labels: IntArray,
    gain: NDArray[np.float32],
    own: FloatArray,  # OUT (n_items,), added to
) -> None:
    """Add what items cost in their own clusters, without counting themselves."""
    groups, width, rows = np.uint64(gain.shape[1]), np.uint64(gain.shape[2]), flat(gain)
    n_draws, first = np.uint64(table.shape[1]), np.uint64(0)
    while first < n_draws:
        last = min(first + np.uint64(BLOCK), n_draws)
        for i in range(table.shape[0]):
            if labels[i] < 0:
                continue
            z, at = table[i], np.uint64(labels[i])
            total = 0.0
            for t in range(first, last):
                total += rows[(np.uint64(t) * groups + np.uint64(z[t])) * width + at]
            own[i] += total
        first = last


@kernel
def add_exact_costs(
    table: NDArray[np.unsignedinteger],
    labels: IntArray,
    counts: NDArray[np.integer],
    fold: FloatArray,
    joint: FloatArray,
    own: FloatArray,  # OUT (n_items,), added to
) -> None:
    """The same in double precision, from the counts; quick if items of one cluster follow each other."""
    groups, width, cells = (
        np.uint64(counts.shape[1]),
        np.uint64(counts.shape[2]),
        flat(counts),
    )
    n_draws, first = np.uint64(table.shape[1]), np.uint64(0)
    while first < n_draws:
        last = min(first + np.uint64(BLOCK), n_draws)
        for i in range(table.shape[0]):
            z, at = table[i], np.uint64(labels[i])
            total = 0.0
            for t in range(first, last):
                n = np.uint64(cells[(np.uint64(t) * groups + np.uint64(z[t])) * width + at])
                total += fold[t] * joint[n - np.uint64(1)]
            own[i] += total
        first = last


@kernel
def find_gaps(
    cost: FloatArray,
    own: FloatArray,
    labels: IntArray,
    sizes: IntArray,
    n_clusters: int,
    size: FloatArray,
    target: IntArray,  # OUT (n_items,)
    gap: FloatArray,  # OUT (n_items,)
) -> None:
    """For each item the best cluster other than its own, and how much more it costs than its own.

    Entry K of a row of costs is a new cluster, which is no other cluster for an item that is alone. For an
    item in no cluster: the best of the clusters that exist, and how much more the second best costs. `size`
    holds what one more item changes in the size term of a cluster with n items.
    """
    for i in range(cost.shape[0]):
        mine = labels[i]
        alone = mine >= 0 and sizes[mine] == 1
        best, low, second = -1, np.inf, np.inf
        for s in range(n_clusters if alone or mine < 0 else n_clusters + 1):
            if s == mine:
                continue
            value = cost[i, s] + size[sizes[s]]
            if value < low:
                best, low, second = s, value, low
            elif value < second:
                second = value
        target[i] = best
        gap[i] = low - (own[i] + size[sizes[mine] - 1]) if mine >= 0 else second - low


@kernel
def largest_shifts(
    before: NDArray[np.integer],
    then: IntArray,
    now: NDArray[np.integer],
    names: IntArray,
    fold: FloatArray,
    joint: FloatArray,
    most: FloatArray,  # WORK (2, len(then))
    inside: FloatArray,  # OUT (len(then),), added to
    outside: FloatArray,  # OUT, likewise
) -> None:
    """By how much at most the costs of clusters have changed for any item, by their counts before and now.

    Clusters then[0], then[1], ... of before are called names[0], names[1], ... now. An item sees one group in
    every draw, so the sum over draws of the largest change in a group is a bound. `inside` is for the items
    of the cluster itself, which do not count themselves.
    """
    for t in range(now.shape[0]):
        most[:] = 0.0
        for v in range(now.shape[1]):
            for j in range(then.shape[0]):
                n, m = np.int64(before[t, v, then[j]]), np.int64(now[t, v, names[j]])
                if n == m:
                    continue
                most[1, j] = max(most[1, j], abs(joint[m] - joint[n]))
                # Otherwise no item of the cluster is there that was looked at, or still is.
                if n > 0 and m > 0:
                    most[0, j] = max(most[0, j], abs(joint[m - 1] - joint[n - 1]))
        for j in range(then.shape[0]):
            inside[j] += abs(fold[t]) * most[0, j]
            outside[j] += abs(fold[t]) * most[1, j]
