"""Groups of draws that look alike from one item: few rows instead of thousands.

By Jensen's inequality the mean of -log n_it over a group of draws is at least -log of the mean n_it. Little
is lost if the draws of a group agree in the logarithms of the numbers that matter: their features.
"""

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._typing import FloatArray, IntArray


@kernel
def split_draws(
    features: FloatArray,
    shares: FloatArray,
    limit: int,
    order: IntArray,  # OUT (n_draws,)
    starts: IntArray,  # OUT (limit + 1,)
    score: FloatArray,  # OUT (limit,)
    axis: IntArray,  # OUT (limit,)
) -> int:
    """Split the draws into at most `limit` groups; the number of groups.

    The group with the largest variance in one of its features is split at its mean, again and again.
    Group g is order[starts[g]:starts[g + 1]].
    """
    n_draws, n_features = features.shape
    for t in range(n_draws):
        order[t] = t
    starts[0], starts[1] = 0, n_draws
    n, first, last = 1, 0, 1
    while True:
        # New groups: the feature with the largest variance, times the group's share.
        for g in range(first, last):
            score[g], axis[g] = 0.0, 0
            for c in range(n_features):
                total, s1, s2 = 0.0, 0.0, 0.0
                for q in range(starts[g], starts[g + 1]):
                    v, p = features[order[q], c], shares[order[q]]
                    total += p
                    s1 += p * v
                    s2 += p * v * v
                if total > 0.0 and s2 - s1 * s1 / total > score[g]:
                    score[g], axis[g] = s2 - s1 * s1 / total, c
        g = 0
        for q in range(1, n):
            if score[q] > score[g]:
                g = q
        if n == limit or score[g] <= 1e-12:
            return n
        c, total, s1 = axis[g], 0.0, 0.0
        for q in range(starts[g], starts[g + 1]):
            total += shares[order[q]]
            s1 += shares[order[q]] * features[order[q], c]
        left, right = starts[g], starts[g + 1] - 1
        while left <= right:
            if features[order[left], c] <= s1 / total:
                left += 1
            else:
                order[left], order[right] = order[right], order[left]
                right -= 1
        if left == starts[g] or left == starts[g + 1]:  # equal up to rounding
            score[g] = 0.0
            first = last = 0
            continue
        for q in range(n, g, -1):
            starts[q + 1] = starts[q]
        for q in range(n - 1, g, -1):
            score[q + 1], axis[q + 1] = score[q], axis[q]
        starts[g + 1] = left
        n += 1
        first, last = g, g + 2


@kernel
def mean_of_groups(
    labels: NDArray[np.unsignedinteger],
    i: int,
    shares: FloatArray,
    order: IntArray,
    starts: IntArray,
    n_groups: int,
    means: FloatArray,  # OUT (at least n_groups, N)
    weights: FloatArray,  # OUT (at least n_groups,)
    sums: FloatArray,  # OUT (N,)
) -> None:
    """In which share of each group's draws the others are with item i, and the share of the group itself.

    Shares are rounded up: with too many together a bound can only be too low. Rows beyond the groups get no
    weight. `labels` is (n_draws, N).
    """
    means[:] = 0.0
    weights[:] = 0.0
    for g in range(n_groups):
        total = 0.0
        sums[:] = 0.0
        for q in range(starts[g], starts[g + 1]):
            t = order[q]
            total += shares[t]
            for j in range(labels.shape[1]):
                if labels[t, j] == labels[t, i]:
                    sums[j] += shares[t]
        weights[g] = total
        for j in range(labels.shape[1]):
            # A sum over all of the draws, in the same order, is exactly the total.
            means[g, j] = 1.0 if sums[j] == total else min(1.0, sums[j] / total * (1.0 + 2e-7))
    # An item is with itself, in rows without weight too.
    means[:, i] = 1.0
