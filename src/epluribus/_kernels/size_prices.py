"""Prices by cluster size: the rows behind a lower bound on the expected variation of information.

For each item i and each bin of cluster sizes there is a row x_ij in [0, 1], "item j is with item i". The row
pays base + slope sum_j x_ij for its size, -2 E log2 n_it with n_it = sum over the cluster of i in draw t, and
prices w_ij = -w_ji. A tangent to the logarithm makes the payment linear, so that its minimum over all rows
of the bin is that of the smallest coefficients. `uncertainty/_vi_bound.py` has the theory.

The loops over draws and items are products of small matrices, written so that the compiler turns them into
vector instructions. Sizes of arrays: N items, K bins, G groups of draws.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._typing import FloatArray, IntArray

_TWO_BITS = 2.0 / math.log(2.0)
"""-2 log2 m >= -2 log2 n + _TWO_BITS (1 - m / n): the tangent at n."""


class Bins(NamedTuple):
    """Bins of cluster sizes; on each, (2 - cost) log2 of the size is at least base + slope times size."""

    low: IntArray
    """(K,) smallest size of each bin."""
    high: IntArray
    """(K,) largest size."""
    base: FloatArray
    """(K,)"""
    slope: FloatArray
    """(K,) 0 where the bin is a single size."""
    alive: NDArray[np.uint8]
    """(K, N) 1 unless the item is known to be in no cluster of that size."""


class Room(NamedTuple):
    """Memory that one thread works in; what sums run over is padded to a multiple of four."""

    left: FloatArray
    """(K, N) rows of an item."""
    flat: FloatArray
    """(N, G) the groups of draws of an item, transposed."""
    n: FloatArray
    """(K, G) how many of a row are in its cluster in each draw; then slopes of the tangents there."""
    h: FloatArray
    """(K, N) coefficients of the linear payment."""
    buffer: FloatArray
    """(N,) coefficients that are sorted."""
    which: IntArray
    """(K,) the bins in use."""


@kernel
def add_products(
    left: FloatArray,
    n_rows: int,
    right: FloatArray,
    n_inner: int,
    width: int,
    out: FloatArray,  # IN and OUT
) -> None:
    """Add left @ right to `out`; `n_rows` and `n_inner` are multiples of four.

    Four by four at a time: 16 factors stay in registers while the columns pass by.
    """
    for a in range(0, n_rows, 4):
        o0, o1, o2, o3 = out[a], out[a + 1], out[a + 2], out[a + 3]
        for c in range(0, n_inner, 4):
            p0, p1, p2, p3 = left[a, c], left[a, c + 1], left[a, c + 2], left[a, c + 3]
            q0, q1, q2, q3 = (
                left[a + 1, c],
                left[a + 1, c + 1],
                left[a + 1, c + 2],
                left[a + 1, c + 3],
            )
            r0, r1, r2, r3 = (
                left[a + 2, c],
                left[a + 2, c + 1],
                left[a + 2, c + 2],
                left[a + 2, c + 3],
            )
            s0, s1, s2, s3 = (
                left[a + 3, c],
                left[a + 3, c + 1],
                left[a + 3, c + 2],
                left[a + 3, c + 3],
            )
            # Rows are sparse: most items are with few others.
            some = abs(p0) + abs(p1) + abs(p2) + abs(p3) + abs(q0) + abs(q1) + abs(q2) + abs(q3)
            some += abs(r0) + abs(r1) + abs(r2) + abs(r3) + abs(s0) + abs(s1) + abs(s2) + abs(s3)
            if some == 0.0:
                continue
            b0, b1, b2, b3 = right[c], right[c + 1], right[c + 2], right[c + 3]
            for g in range(width):
                o0[g] += p0 * b0[g] + p1 * b1[g] + p2 * b2[g] + p3 * b3[g]
                o1[g] += q0 * b0[g] + q1 * b1[g] + q2 * b2[g] + q3 * b3[g]
                o2[g] += r0 * b0[g] + r1 * b1[g] + r2 * b2[g] + r3 * b3[g]
                o3[g] += s0 * b0[g] + s1 * b1[g] + s2 * b2[g] + s3 * b3[g]


@kernel
def smallest_first(values: FloatArray, n: int, r: int) -> None:  # IN and OUT
    """Reorder values[:n] so that the r smallest come first, for 0 < r < n (Hoare's selection)."""
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
def choose(i: int, a: int, h: FloatArray, bins: Bins, buffer: FloatArray) -> tuple[int, int]:
    """How many others join item i in its cheapest row of bin a, and how many could; buffer has these first.

    The first number is -1 if no row of the bin has enough items left.
    """
    count = negative = 0
    for j in range(h.shape[0]):
        if bins.alive[a, j] and j != i:
            buffer[count] = h[j]
            count += 1
            negative += h[j] < 0.0
    need = bins.low[a] - 1
    if count < need:
        return -1, count
    # At least the smallest size; beyond it those that lower the payment, up to the largest size.
    k = min(max(negative, need), min(bins.high[a] - 1, count))
    if 0 < k < count:
        smallest_first(buffer, count, k)
    return k, count


@kernel
def bins_of(i: int, bins: Bins, which: IntArray) -> int:
    """The bins that item i may be in, and their number."""
    m = 0
    for a in range(bins.alive.shape[0]):
        if bins.alive[a, i]:
            which[m] = a
            m += 1
    return m


@kernel
def copy_rows(i: int, m: int, x: FloatArray, which: IntArray, left: FloatArray) -> int:
    """Copy the rows of item i, padded to a multiple of four by rows of zeros; the padded number."""
    n_items = x.shape[0]
    padded = (m + 3) // 4 * 4
    for r in range(padded):
        for j in range(left.shape[1]):
            left[r, j] = 0.0
        if r < m:
            for j in range(n_items):
                left[r, j] = x[i, which[r], j]
        left[r, i] = 1.0  # an item is with itself: every n_it is at least 1
    return padded


@kernel
def improve_rows(
    begin: int,
    end: int,
    x: FloatArray,  # IN and OUT (N, K, N)
    w: FloatArray,
    groups: FloatArray,
    shares: FloatArray,
    bins: Bins,
    gain: float,
    soft: float,
    stop: NDArray[np.uint8],
    value: FloatArray,  # OUT (N, K)
    size: FloatArray,  # OUT (N, K)
    room: Room,
) -> None:
    """The value of each row's cheapest form, and a step of the row towards it, for items begin..end-1.

    `groups` (N, G, N) and `shares` (N, G) are means of draws: by Jensen's inequality the values are bounds
    too, whatever x and w are. The precision is that of the room. `size` is the sum of the absolute terms,
    from which rounding is bounded. With a `gain` of 0 rows stay as they are.
    """
    n_items, n_groups = x.shape[0], groups.shape[1]
    left, flat, n, h, buffer, which = room
    for i in range(begin, end):
        if stop[0]:
            return
        value[i] = np.inf
        size[i] = 0.0
        m = bins_of(i, bins, which)
        if m == 0:
            continue
        rows = copy_rows(i, m, x, which, left)
        for g in range(n_groups):
            for j in range(n_items):
                flat[j, g] = groups[i, g, j]
        for j in range(n_items, flat.shape[0]):
            flat[j] = 0.0
        n[:rows] = 0.0
        h[:rows] = 0.0
        add_products(left, rows, flat, flat.shape[0], n_groups, n)
        for r in range(m):
            a = which[r]
            # The part of the tangents that does not depend on the row, and their slopes.
            value[i, a] = bins.base[a]
            size[i, a] = abs(bins.base[a])
            for g in range(n_groups):
                part = _TWO_BITS * shares[i, g] * math.log(n[r, g])
                value[i, a] += _TWO_BITS * shares[i, g] - part
                size[i, a] += _TWO_BITS * shares[i, g] + part
                n[r, g] = -_TWO_BITS * shares[i, g] / n[r, g]
        n[m:rows] = 0.0
        add_products(n, rows, groups[i], n_groups, n_items, h)
        for r in range(m):
            a = which[r]
            for j in range(n_items):
                size[i, a] += abs(h[r, j]) + abs(w[i, a, j]) + bins.slope[a]
                h[r, j] += w[i, a, j] + bins.slope[a]
            k, count = choose(i, a, h[r], bins, buffer)
            if k < 0:
                value[i, a] = np.inf
                continue
            total, below, above = value[i, a] + h[r, i], -np.inf, np.inf
            for j in range(k):
                total += buffer[j]
                below = max(below, buffer[j])
            value[i, a] = total
            if gain == 0.0:
                continue
            for j in range(k, count):
                above = min(above, buffer[j])
            # Halfway between the last that joins and the first that does not; items near it join in part.
            middle = above - 1.0 if k == 0 else below + 1.0 if k == count else (below + above) / 2
            scale = (k + 1) / (2.0 * soft)
            for j in range(n_items):
                v = min(max((middle - h[r, j]) * scale + 0.5, 0.0), 1.0)
                if not bins.alive[a, j]:
                    v = 0.0
                new = x[i, a, j] + gain * (v - x[i, a, j])
                x[i, a, j] = new if new > 1e-5 else 0.0  # zeros are skipped in the products
            x[i, a, i] = 1.0


@kernel
def move_prices(
    begin: int,
    end: int,
    tile: int,
    x: FloatArray,
    w: FloatArray,  # IN and OUT (N, K, N)
    momentum: FloatArray,  # IN and OUT (N, K, N)
    pull: FloatArray,
    step: FloatArray,
    keep: float,
) -> None:
    """Raise w_ij and lower w_ji where row i has j more than row j has i, for begin <= i < end and j > i.

    `pull` (N, K) is how much each row counts. Pairs come in tiles: w_ji is far from w_ij in memory.
    """
    n_items, n_bins = x.shape[0], x.shape[1]
    for i0 in range(begin, end, tile):
        for j0 in range(i0, n_items, tile):
            for a in range(n_bins):
                for i in range(i0, min(i0 + tile, end)):
                    for j in range(max(j0, i + 1), min(j0 + tile, n_items)):
                        excess = pull[i, a] * x[i, a, j] - pull[j, a] * x[j, a, i]
                        v = keep * momentum[i, a, j] + step[a] * excess
                        momentum[i, a, j] = v
                        w[i, a, j] += v
                        w[j, a, i] -= v
