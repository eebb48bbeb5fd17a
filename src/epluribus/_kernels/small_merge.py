"""Joining thousands of small clusters, the best pair first, without a matrix of all pairs.

With the sets of `small_clusters.py`, joining clusters a and b changes the total loss by

    sum_b w_b [f(n + m) - f(n) - f(m)]  +  W [f2(n_a + n_b) - f2(n_a) - f2(n_b)]

where n and m items of the set are in a and b. Only clusters that share a set have a first term. For two others
the sizes alone tell the change. It is negative only where f2 grows less than in proportion, as it does for no
built-in loss, but with a bound on the number of clusters such pairs may have to be joined.
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._typing import AnyArray, FloatArray, IntArray

_BLOCK = 256
"""Clusters whose least change is kept as one number: the best of all is then found in some 2 sqrt(K) steps."""


@kernel
def join_row(
    a: int,
    head: IntArray,
    after: IntArray,
    start: IntArray,
    member: IntArray,
    weights: FloatArray,
    first: IntArray,
    sets_of: IntArray,
    f: FloatArray,
    labels: IntArray,
    changes: FloatArray,
    touched: IntArray,
    tally: IntArray,
    seen: AnyArray,
    visited: IntArray,
) -> int:
    """changes[s] = the first term for the clusters that share a set with a (OUT).

    They are listed in `touched` and marked in `seen`; returns their number. The items of cluster a are head[a],
    then after[...], until -1. `visited` holds the last cluster for which each set was looked at, so that a set
    with several items of a is looked at once: it must not hold a on entry, and does not on exit.
    """
    n_touched, i = 0, head[a]
    while i >= 0:
        for x in range(first[i], first[i + 1]):
            b = sets_of[x]
            if visited[b] == a:
                continue
            visited[b] = a
            for q in range(start[b], start[b + 1]):
                if labels[member[q]] >= 0:
                    tally[labels[member[q]]] += 1
            n = tally[a]
            tally[a] = 0
            for q in range(start[b], start[b + 1]):
                s = labels[member[q]]
                if s >= 0 and tally[s] > 0:
                    if seen[s] == 0:
                        seen[s] = 1
                        touched[n_touched] = s
                        n_touched += 1
                    m = tally[s]
                    changes[s] += weights[b] * (f[n + m] - f[n] - f[m])
                    tally[s] = 0
        i = after[i]
    i = head[a]
    while i >= 0:
        for x in range(first[i], first[i + 1]):
            visited[sets_of[x]] = -1
        i = after[i]
    return n_touched


@kernel
def best_partner(
    a: int,
    n_touched: int,
    touched: IntArray,
    size: FloatArray,
    sizes: IntArray,
    changes: FloatArray,
    seen: AnyArray,
    partner: IntArray,
    least: FloatArray,
    lows: FloatArray,
) -> None:
    """Partner of a and the least change, from a row of `join_row`, which is cleared (OUT)."""
    partner[a], least[a] = -1, np.inf
    for q in range(n_touched):
        s = touched[q]
        by = changes[s] + size[sizes[a] + sizes[s]] - size[sizes[a]] - size[sizes[s]]
        if by < least[a] or (by == least[a] and s < partner[a]):
            partner[a], least[a] = s, by
        changes[s] = 0.0
        seen[s] = 0
    begin = a // _BLOCK * _BLOCK
    lows[a // _BLOCK] = least[begin : begin + _BLOCK].min()


@kernel
def sizes_to_join(size: FloatArray, sizes: IntArray) -> tuple[int, int, float]:
    """The two sizes of clusters for which f2 alone changes least, and that change."""
    n_of_size = np.zeros(sizes.max() + 1, np.int64)
    for n in sizes:
        n_of_size[n] += 1
    a, b, low = 0, 0, np.inf
    in_use = np.flatnonzero(n_of_size)
    for n in in_use:
        for m in in_use:
            if 0 < n <= m and (n < m or n_of_size[n] > 1):
                by = size[n + m] - size[n] - size[m]
                if by < low:
                    a, b, low = int(n), int(m), by
    return a, b, low


@kernel
def merge(
    start: IntArray,
    member: IntArray,
    weights: FloatArray,
    first: IntArray,
    sets_of: IntArray,
    f: FloatArray,
    size: FloatArray,
    convex: bool,
    tolerance: float,
    k_min: int,
    k_max: int,
    stop: IntArray,
    labels: IntArray,
    sizes: IntArray,
    changes: FloatArray,
    touched: IntArray,
    tally: IntArray,
    seen: AnyArray,
) -> float:
    """Join the best pair while that lowers the loss, and while there are more than `k_max` clusters.

    Slots 0..K-1 are in use; changes `labels` and `sizes`, and returns the change of the total loss. `convex` says
    that joining clusters never lowers the sum of f2. `changes`, `tally` and `seen` are zero on entry and exit.
    """
    k, total = sizes.shape[0], 0.0
    head, tail, after = np.full(k, -1), np.full(k, -1), np.full(labels.shape[0], -1)
    for i in range(labels.shape[0]):
        s = labels[i]
        if s >= 0:
            if head[s] < 0:
                head[s] = i
            else:
                after[tail[s]] = i
            tail[s] = i
    visited = np.full(weights.shape[0], -1)
    partner, least = np.full(k, -1), np.full(k, np.inf)
    lows, again = np.full(k // _BLOCK + 1, np.inf), np.empty(k, np.int64)
    for a in range(k):
        n = join_row(
            a, head, after, start, member, weights, first, sets_of, f, labels,
            changes, touched, tally, seen, visited,
        )  # fmt: skip
        best_partner(a, n, touched, size, sizes, changes, seen, partner, least, lows)
    left = k
    while left > k_min and stop[0] == 0:
        begin = int(np.argmin(lows)) * _BLOCK
        a = begin + int(np.argmin(least[begin : begin + _BLOCK]))
        b, by = partner[a], least[a]
        if left > k_max or not convex:
            n_a, n_b, change = sizes_to_join(size, sizes)
            if change < by and (change < -tolerance or left > k_max):
                for s in range(k):  # the first pair of these sizes that shares no set
                    if sizes[s] != n_a or by == change:
                        continue
                    n = join_row(
                        s, head, after, start, member, weights, first, sets_of, f, labels,
                        changes, touched, tally, seen, visited,
                    )  # fmt: skip
                    for other in range(k):
                        if sizes[other] == n_b and other != s and seen[other] == 0:
                            a, b, by = s, other, change
                            break
                    for q in range(n):
                        changes[touched[q]] = 0.0
                        seen[touched[q]] = 0
        if not (by < -tolerance or (left > k_max and by < np.inf)):
            break
        total += by
        i = head[b]
        while i >= 0:
            labels[i] = a
            i = after[i]
        after[tail[a]], tail[a], head[b] = head[b], tail[b], -1
        sizes[a] += sizes[b]
        sizes[b] = 0
        left -= 1
        best_partner(b, 0, touched, size, sizes, changes, seen, partner, least, lows)
        n = join_row(
            a, head, after, start, member, weights, first, sets_of, f, labels,
            changes, touched, tally, seen, visited,
        )  # fmt: skip
        n_again = 0
        for q in range(n):
            s = touched[q]
            by = changes[s] + size[sizes[a] + sizes[s]] - size[sizes[a]] - size[sizes[s]]
            if partner[s] == a or partner[s] == b:
                again[n_again] = s
                n_again += 1
            elif by < least[s]:
                partner[s], least[s] = a, by
                lows[s // _BLOCK] = min(lows[s // _BLOCK], by)
        best_partner(a, n, touched, size, sizes, changes, seen, partner, least, lows)
        for q in range(n_again):
            s = again[q]
            n = join_row(
                s, head, after, start, member, weights, first, sets_of, f, labels,
                changes, touched, tally, seen, visited,
            )  # fmt: skip
            best_partner(s, n, touched, size, sizes, changes, seen, partner, least, lows)
    return total
