"""Prices by cluster size: the rows behind a lower bound on the expected variation of information.

For each item i and each bin of cluster sizes there is a row x_ij in [0, 1], "item j is with item i". The row
pays

    base + slope sum_j x_ij - 2 sum_g share_g log2 n_g + sum_j w_ij x_ij,    n_g = sum_j groups_gj x_ij,

for its size, for the groups g of draws, and prices w_ij = -w_ji. With tangents to the logarithm at the
present row the payment is linear: its minimum over all rows of the bin is a sum of smallest coefficients,
and a lower bound. `uncertainty/_size_prices.py` has the theory. Arrays: N items, K bins, G groups of draws.
"""

import math

import numpy as np

from epluribus._kernels.jit import kernel

_TWO_BITS = 2.0 / math.log(2.0)
"""-2 log2 m >= -2 log2 n + _TWO_BITS (1 - m / n): the tangent at n."""


@kernel
def add_products(row, right, out):
    """Add row @ right to `out`, four factors at a time: the compiler makes vector instructions of it."""
    n_inner, width = right.shape
    c = 0
    while c + 3 < n_inner:
        p0, p1, p2, p3 = row[c], row[c + 1], row[c + 2], row[c + 3]
        # Rows are sparse: most items are with few others.
        if p0 != 0.0 or p1 != 0.0 or p2 != 0.0 or p3 != 0.0:
            b0, b1, b2, b3 = right[c], right[c + 1], right[c + 2], right[c + 3]
            for g in range(width):
                out[g] += p0 * b0[g] + p1 * b1[g] + p2 * b2[g] + p3 * b3[g]
        c += 4
    for rest in range(c, n_inner):
        for g in range(width):
            out[g] += row[rest] * right[rest, g]


@kernel
def smallest_first(values, n, r):
    """Reorder values[:n] so that the r smallest come first, for 0 < r < n (Hoare's selection).

    `np.partition` does the same, but takes ten seconds to compile.
    """
    left, right = 0, n - 1
    while left < right:
        pivot = values[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if r - 1 <= j:
            right = j
        elif r - 1 >= i:
            left = i
        else:
            break


@kernel
def improve_rows(
    begin, x, w, groups, shares, low, high, base, slope, alive, near, gain, soft, stop, value, size
):
    """The value of each row's cheapest form, and a step of the row towards it, for n items from `begin` on.

    `w` is (n, K, N), `groups` (n, G, N) with `shares` (n, G): in which share of a group's draws the others
    are with the item. `low`, `high`, `base` and `slope` (K,) belong to the bins of sizes; alive[a, j] says
    whether item j can be in a cluster of bin a. Only rows that are `near` (n, K) are looked at. `size` is the
    sum of the absolute terms of the value, from which rounding is bounded. With a `gain` of 0 all rows are looked
    at, and stay as they are. The precision is that of x.
    """
    n_items, n_groups = x.shape[2], groups.shape[1]
    n, h = np.zeros(n_groups, x.dtype), np.zeros(n_items, x.dtype)
    buffer = np.zeros(n_items, x.dtype)
    for q in range(x.shape[0]):
        i = begin + q
        flat = np.ascontiguousarray(groups[q].T)  # (N, G)
        for a in range(len(low)):
            if stop[0] or (gain > 0.0 and not near[q, a]):
                continue
            value[q, a], size[q, a] = np.inf, 0.0
            if not alive[a, i]:
                continue
            row = x[q, a]
            n[:] = 0.0
            add_products(row, flat, n)
            # The part of the tangents that does not depend on the row, and their slopes.
            total, terms = base[a], abs(base[a])
            for g in range(n_groups):
                part = _TWO_BITS * shares[q, g] * math.log(n[g])
                total += _TWO_BITS * shares[q, g] - part
                terms += _TWO_BITS * shares[q, g] + part
                n[g] = -_TWO_BITS * shares[q, g] / n[g]
            h[:] = 0.0
            add_products(n, groups[q], h)
            count = negative = 0
            for j in range(n_items):
                terms += abs(h[j]) + abs(w[q, a, j]) + slope[a]
                h[j] += w[q, a, j] + slope[a]
                if alive[a, j] and j != i:
                    buffer[count] = h[j]
                    count += 1
                    negative += h[j] < 0.0
            # At least the smallest size; beyond it those that lower the payment, up to the largest size.
            need = low[a] - 1
            if count < need:
                continue
            k = min(max(negative, need), min(high[a] - 1, count))
            if 0 < k < count:
                smallest_first(buffer, count, k)
            total += h[i]
            below, above = -np.inf, np.inf
            for j in range(k):
                total += buffer[j]
                below = max(below, buffer[j])
            value[q, a], size[q, a] = total, terms
            if gain == 0.0:
                continue
            # Halfway between the last that joins and the first that does not; items near it join in part.
            for j in range(k, count):
                above = min(above, buffer[j])
            middle = above - 1.0 if k == 0 else below + 1.0 if k == count else 0.5 * (below + above)
            scale = (k + 1) / (2.0 * soft)
            for j in range(n_items):
                v = min(max((middle - h[j]) * scale + 0.5, 0.0), 1.0) if alive[a, j] else 0.0
                new = row[j] + gain * (v - row[j])
                row[j] = new if new > 1e-5 else 0.0  # zeros are skipped in the products
            row[i] = 1.0
