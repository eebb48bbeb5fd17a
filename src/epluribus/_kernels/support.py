"""How well the draws support the place of each item, and each cluster, of a partition.

n_g is the size of cluster g of the partition, n_h the size of cluster h of a draw, and n_gh the number of
items in both.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import routine
from epluribus._kernels.sets import Sets
from epluribus._typing import FloatArray, IntArray


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


@routine
def _fill_table(
    row: NDArray[np.unsignedinteger],
    labels: IntArray,
    table: IntArray,  # OUT (groups, n_clusters)
    sizes: IntArray,  # OUT (groups,)
) -> None:
    """Contingency table n_gh of one draw and the partition, and the sizes n_h."""
    table[:] = 0
    sizes[:] = 0
    for i in range(len(row)):
        table[row[i], labels[i]] += 1
        sizes[row[i]] += 1


@kernel
def item_support(
    rows: NDArray[np.unsignedinteger],
    weights: FloatArray,
    labels: IntArray,
    cluster_sizes: IntArray,  # (n_clusters,)
    begin: int,
    end: int,
    shares: Shares,
    table: IntArray,  # WORK (groups, n_clusters)
    sizes: IntArray,  # WORK (groups,)
    together: FloatArray,  # OUT (end - begin, n_clusters), zero on entry
    alone: FloatArray,  # OUT (end - begin,), zero on entry
    part: FloatArray,  # OUT (end - begin,), zero on entry
) -> None:
    """For items begin..end-1: the weighted number of items of each cluster that are with them in a draw.

    together[i, k] = sum over t of w_t n_kh, where h is the cluster of item i in draw t; the item itself is
    counted. Also the weight of the draws in which the item is alone, and its part of the loss.
    """
    for t in range(rows.shape[0]):
        row = rows[t]
        _fill_table(row, labels, table, sizes)
        weight = weights[t]
        for i in range(begin, end):
            h = row[i]
            g = labels[i]
            # w_t n_kh for all clusters k of the partition
            total = together[i - begin]
            for k in range(table.shape[1]):
                total[k] += weight * table[h, k]
            if sizes[h] == 1:
                alone[i - begin] += weight
            # scale_t (joint(n_gh) + size(n_g) + group(n_h))
            part[i - begin] += shares.scale[t] * (
                shares.joint[table[h, g]] + shares.size[cluster_sizes[g]] + shares.group[sizes[h]]
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
