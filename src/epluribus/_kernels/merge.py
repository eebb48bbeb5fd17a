"""Joining the clusters of a partition, the best pair first, for a linear loss on contingency tables.

Joining clusters a and b changes the total loss of `sweep.py` by

    sum_r w_r [f_r(n_ra + n_rb) - f_r(n_ra) - f_r(n_rb)]  +  W [f2(n_a + n_b) - f2(n_a) - f2(n_b)]

Only cells in use count, since f_r(0) = 0. The change for two clusters depends on these two alone.
"""

import numpy as np

from epluribus._kernels.jit import kernel


@kernel
def all_joins(counts, weights, kinds, f, size, sizes, used, changes):
    """changes[a, b] for every two of the clusters (OUT), infinite for a = b and for empty ones.

    ``size[n]`` is W f2(n).
    `used` is scratch: the clusters with items in a group.
    """
    k = sizes.shape[0]
    for a in range(k):
        for b in range(k):
            changes[a, b] = 0.0
    for r in range(counts.shape[0]):
        w, kind, n_used = weights[r], kinds[r], 0
        for s in range(k):
            used[n_used] = s
            n_used += counts[r, s] > 0
        for x in range(1, n_used):
            a = used[x]
            n = counts[r, a]
            own = f[kind, n]
            for y in range(x):
                m = counts[r, used[y]]
                changes[a, used[y]] += w * (f[kind, n + m] - own - f[kind, m])
    for a in range(k):
        changes[a, a] = np.inf
        for b in range(a):
            if sizes[a] == 0 or sizes[b] == 0:
                changes[a, b] = np.inf
            changes[a, b] += size[sizes[a] + sizes[b]] - size[sizes[a]] - size[sizes[b]]
            changes[b, a] = changes[a, b]


@kernel
def join_row(a, counts, weights, kinds, f, size, sizes, row):
    """row[b] = change if clusters a and b are joined (OUT); infinite for a itself and for empty ones."""
    k = sizes.shape[0]
    for b in range(k):
        row[b] = 0.0
    for r in range(counts.shape[0]):
        n = counts[r, a]
        if n == 0:
            continue
        w, kind, own = weights[r], kinds[r], f[kinds[r], n]
        for b in range(k):
            m = counts[r, b]
            if m > 0 and b != a:
                row[b] += w * (f[kind, n + m] - own - f[kind, m])
    for b in range(k):
        if b == a or sizes[b] == 0:
            row[b] = np.inf
        else:
            row[b] += size[sizes[a] + sizes[b]] - size[sizes[a]] - size[sizes[b]]


@kernel
def next_pair(n_seen, left, k_min, k_max, tolerance, partner, least):
    """The cluster a to be looked at next, -1 for none, and b if the two are to be joined, else -1.

    First of all each of the clusters looks for a partner, the first `n_seen` have; then it is the one whose join
    changes the loss least. `left` clusters are left. If a partner has joined another one, it is -1: then ``least[a]``
    is no longer exact, but none is less, and cluster a is looked at again.
    """
    if n_seen < partner.shape[0]:
        return n_seen, -1
    a = int(np.argmin(least))
    wanted = least[a] < -tolerance or (left > k_max and least[a] < np.inf)
    return (a, partner[a]) if left > k_min and wanted else (-1, -1)


@kernel
def note_joins(a, b, row, others, partner, least):
    """Partners and least changes (OUT) from the changes ``row[s]`` if a, which b may have joined, is joined with s."""
    partner[a], least[a] = -1, np.inf
    for s in others:
        if row[s] < least[a] or (row[s] == least[a] and s < partner[a]):
            partner[a], least[a] = s, row[s]
        if row[s] < least[s]:
            partner[s], least[s] = a, row[s]
        elif b >= 0 and s != a and (partner[s] == a or partner[s] == b):
            partner[s] = -1


@kernel
def merge(counts, weights, kinds, f, size, tolerance, k_min, k_max, stop, changes, sizes, into):
    """Join the best pair while that lowers the loss, and while there are more than `k_max` clusters.

    `changes` are those of `all_joins`. Changes counts and sizes; ``into[s]`` is the cluster that s is in now
    (OUT). Returns the change of the total loss.
    """
    k, left, total, every = sizes.shape[0], 0, 0.0, np.arange(sizes.shape[0])
    partner, least, row = np.empty(k, np.int64), np.empty(k), np.empty(k)
    for s in range(k):
        left += sizes[s] > 0
        into[s], partner[s] = s, np.argmin(changes[s])
        least[s] = changes[s, partner[s]]
    while stop[0] == 0:
        a, b = next_pair(k, left, k_min, k_max, tolerance, partner, least)
        if a < 0:
            break
        if b >= 0:
            total += least[a]
            for r in range(counts.shape[0]):
                counts[r, a] += counts[r, b]
                counts[r, b] = 0
            sizes[a] += sizes[b]
            sizes[b], least[b] = 0, np.inf
            left -= 1
            for s in range(k):
                if into[s] == b:
                    into[s] = a
        join_row(a, counts, weights, kinds, f, size, sizes, row)
        note_joins(a, b, row, every, partner, least)
    return total
