"""Sweeps over the few items that may move, for losses that are sums over pairs of items, such as Binder's.

All other items stay. With P_ij the weight of the draws that have i and j together, in units (0 for i = j), and
``fixed[i, s]`` the sum of P_ij over the items j that stay in cluster s, a set B of m items in cluster s costs

    sum_{i in B} [ base n_s + unit (fixed[i, s] + sum_j P_ij) ]    over the n_s items there that are not in B

A look at a set takes time O(m n_items), and a move O(m): there may be thousands of small clusters.
"""

from epluribus._kernels.jit import kernel
from epluribus._typing import AnyArray, FloatArray, IntArray


@kernel
def sweep_sets(
    start: IntArray,
    member: IntArray,
    together: AnyArray,
    fixed: FloatArray,
    base: float,
    unit: float,
    tolerance: float,
    k_min: int,
    k_max: int,
    stop: IntArray,
    labels: IntArray,
    sizes: IntArray,
    sums: FloatArray,
) -> int:
    """Visit sets of items; each goes as a whole where it costs least, perhaps into a new cluster.

    Set b is member[start[b]:start[b + 1]], items of one cluster: a single item, or a whole cluster, for which this
    is a join. It stays unless a move lowers the loss by more than `tolerance`. There is always an empty slot in
    `sizes`. Changes labels and sizes; `sums` is scratch. Returns the number of moves; it returns early if
    ``stop[0]`` is set.
    """
    moves, used, top = 0, 0, 0
    for s in range(sizes.shape[0]):
        used += sizes[s] > 0
        top = s + 1 if sizes[s] > 0 else top
    for b in range(start.shape[0] - 1):
        if stop[0] != 0:
            return moves
        own, m = labels[member[start[b]]], start[b + 1] - start[b]
        alone = sizes[own] == m
        if alone and used <= k_min:
            continue
        sums[:top] = 0.0
        inner = 0.0
        for x in range(start[b], start[b + 1]):
            i = member[x]
            for j in range(labels.shape[0]):
                sums[labels[j]] += together[i, j]
            for s in range(fixed.shape[1]):
                sums[s] += fixed[i, s]
            for y in range(start[b], start[b + 1]):
                inner += together[i, member[y]]
        here = base * m * (sizes[own] - m) + unit * (sums[own] - inner)
        best, low, new = own, here - tolerance, top
        for s in range(top):
            if sizes[s] == 0:
                new = min(new, s)
            elif s != own and base * m * sizes[s] + unit * sums[s] < low:
                best, low = s, base * m * sizes[s] + unit * sums[s]
        # The items of the set stay together: alone they cost nothing.
        if used < k_max and not alone and low > 0.0:
            best = new
        if best != own:
            used += int(sizes[best] == 0) - int(alone)
            sizes[own] -= m
            sizes[best] += m
            for x in range(start[b], start[b + 1]):
                labels[member[x]] = best
            moves += 1
            top = max(top, best + 1)
    return moves
