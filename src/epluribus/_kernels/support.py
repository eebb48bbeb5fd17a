"""How well the draws support the place of each item, and each cluster, of a partition.

n_g is the size of cluster g of the partition, n_h the size of cluster h of a draw, and n_gh the number of
items in both.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.sets import Sets
from epluribus._typing import FloatArray, IntArray

_DRAWS = 16
"""Draws handled at a time."""


class Shares(NamedTuple):
    """One item's part of the loss against draw t: scale[t] * (joint[n_gh] + size[n_g] + group[n_h]).

    The item is in cluster g of the partition and in cluster h of the draw.
    """

    joint: FloatArray
    """(n_items + 1,) the term of the cell, by its count."""
    size: FloatArray
    """(n_items + 1,) the term of the cluster, by its size."""
    group: FloatArray
    """(n_items + 1,) the term of the draw's cluster, by its size."""
    scale: FloatArray
    """(n_draws,) factor of each draw; in `members_support` (n_sets,), of each set."""


@kernel
def item_support(
    rows: NDArray[np.unsignedinteger],  # (n, n_draws), item-major
    weights: FloatArray,
    labels: IntArray,  # (n,)
    cluster_sizes: IntArray,  # (n_clusters,)
    shares: Shares,
    counts: NDArray[np.integer],  # (n_draws, groups, n_clusters), contingency tables n_hk
    sizes: IntArray,  # (n_draws, groups), sizes n_h
    together: FloatArray,  # IN and OUT (n, n_clusters)
    alone: FloatArray,  # IN and OUT (n,)
    part: FloatArray,  # IN and OUT (n,)
) -> None:
    """For some items: the weighted number of items of each cluster that are with them in a draw.

    Added to together[i, k] is the sum over t of w_t n_hk, where h is the cluster of item i in draw t; the
    item itself is counted. Also the weight of the draws in which the item is alone, and its part of the
    loss.
    """
    # Few draws at a time, so that their tables stay in the cache while all items pass.
    for first in range(0, rows.shape[1], _DRAWS):
        for i in range(rows.shape[0]):
            g = labels[i]
            total = together[i]
            for t in range(first, min(first + _DRAWS, rows.shape[1])):
                h = rows[i, t]
                weight = weights[t]
                # w_t n_hk for all clusters k of the partition
                cells = counts[t, h]
                for k in range(cells.shape[0]):
                    total[k] += weight * cells[k]
                if sizes[t, h] == 1:
                    alone[i] += weight
                # scale_t (joint(n_gh) + size(n_g) + group(n_h))
                part[i] += shares.scale[t] * (
                    shares.joint[cells[g]]
                    + shares.size[cluster_sizes[g]]
                    + shares.group[sizes[t, h]]
                )


@kernel
def members_support(
    sets: Sets,
    labels: IntArray,
    cluster_sizes: IntArray,  # (n_clusters,)
    begin: int,
    end: int,
    shares: Shares,  # with one scale for each set
    together: FloatArray,  # OUT (end - begin, n_clusters), zero on entry
    alone: FloatArray,  # OUT (end - begin,), zero on entry
    part: FloatArray,  # OUT (end - begin,), zero on entry
) -> None:
    """The same as `item_support`, by walking through the members of the clusters of the draws.

    For each item, every distinct set that contains it and is a cluster of some draw is visited once, with
    the weight of all draws that have it.
    """
    for i in range(begin, end):
        g = labels[i]
        for at in range(sets.first_of[i], sets.first_of[i + 1]):
            b = sets.sets_of[at]
            n = sets.first[b + 1] - sets.first[b]
            # Each member of the set adds the weight to its cluster; n_gh of them are in the item's own.
            own = 0
            for q in range(sets.first[b], sets.first[b + 1]):
                s = labels[sets.member[q]]
                together[i - begin, s] += sets.weight[b]
                own += s == g
            if n == 1:
                alone[i - begin] += sets.weight[b]
            part[i - begin] += shares.scale[b] * (
                shares.joint[own] + shares.size[cluster_sizes[g]] + shares.group[n]
            )


@kernel
def cluster_recovery(
    rows: NDArray[np.unsignedinteger],
    weights: FloatArray,
    member: IntArray,
    first: IntArray,
    count: IntArray,  # WORK (groups,), zero on entry and at the end
    sizes: IntArray,  # WORK (groups,)
    jaccard: FloatArray,  # OUT (n_clusters,), zero on entry
    found: FloatArray,  # OUT (n_clusters,), zero on entry
) -> None:
    """Weighted best Jaccard index of each cluster in the draws, and weight of the draws that have it.

    The items of cluster g are member[first[g]:first[g + 1]]. The Jaccard index of g with cluster h of a draw
    is the number of items in both over the number in either, n_gh / (n_g + n_h - n_gh); it is 1 if and only
    if the draw has exactly this cluster.
    """
    for t in range(rows.shape[0]):
        row = rows[t]
        sizes[:] = 0
        for h in row:
            sizes[h] += 1
        for g in range(first.shape[0] - 1):
            # n_gh for the clusters h that share an item with g; others have an index of 0.
            for at in range(first[g], first[g + 1]):
                count[row[member[at]]] += 1
            best = 0.0
            for at in range(first[g], first[g + 1]):
                h = row[member[at]]
                n = count[h]
                if n > 0:  # the first visit of h; its count is cleared for the next cluster
                    best = max(best, n / (first[g + 1] - first[g] + sizes[h] - n))
                    count[h] = 0
            jaccard[g] += weights[t] * best
            if best == 1.0:
                found[g] += weights[t]
