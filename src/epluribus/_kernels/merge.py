"""What joining clusters changes, for a linear loss on contingency tables.

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
