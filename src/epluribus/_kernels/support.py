"""How well the draws support the place of each item, and each cluster, of a partition.

n_g is the size of cluster g of the partition, n_h the size of cluster h of a draw, and n_gh the number of
items in both. An item in g and h has the part scale_t (joint(n_gh) + size(n_g) + group(n_h)) in the loss
against draw t; `joint`, `size` and `group` are tables for 0, 1, ..., N, `scale` has an entry for each draw.
"""

import numpy as np

from epluribus._kernels.jit import kernel

_DRAWS = 16
"""Draws handled at a time: their tables stay in the cache while all items pass."""


@kernel
def item_support(
    rows, weights, labels, cluster_sizes, joint, size, group, scale, counts, sizes, together, alone,
    part,
):  # fmt: skip
    """For some items: the weighted number of items of each cluster that are with them in a draw.

    Added to together[i, k] is the sum over t of w_t n_hk, where h is the cluster of item i in draw t; the
    item itself is counted. Also the weight of the draws in which the item is alone, and its part in the loss.
    `rows` is (n, n_draws), `counts` (n_draws, groups, n_clusters) has the n_hk, `sizes` (n_draws, groups) the
    n_h. Added to: `together` (n, n_clusters), `alone` (n,), `part` (n,).
    """
    for first in range(0, rows.shape[1], _DRAWS):
        for i in range(rows.shape[0]):
            g = labels[i]
            total = together[i]
            for t in range(first, min(first + _DRAWS, rows.shape[1])):
                h = rows[i, t]
                # w_t n_hk for all clusters k of the partition
                cells = counts[t, h]
                for k in range(cells.shape[0]):
                    total[k] += weights[t] * cells[k]
                if sizes[t, h] == 1:
                    alone[i] += weights[t]
                value = joint[cells[g]] + size[cluster_sizes[g]] + group[sizes[t, h]]
                part[i] += scale[t] * value


@kernel
def members_support(
    number, member, start, weights, labels, cluster_sizes, joint, size, group, scale, begin,
    together, alone, part,
):  # fmt: skip
    """The same for n items from `begin` on, by walking through the members of the clusters of the draws.

    `number` is (n_items, n_draws), with the clusters of all draws numbered through; the items of cluster b
    are member[start[b]:start[b + 1]].
    """
    for i in range(begin, begin + len(alone)):
        g, at = labels[i], i - begin
        for t in range(number.shape[1]):
            b = number[i, t]
            n, own = start[b + 1] - start[b], 0
            # Each member adds the weight to its cluster; n_gh of them are in the item's own.
            for q in range(start[b], start[b + 1]):
                s = labels[member[q]]
                together[at, s] += weights[t]
                own += s == g
            if n == 1:
                alone[at] += weights[t]
            part[at] += scale[t] * (joint[own] + size[cluster_sizes[g]] + group[n])


@kernel
def cluster_recovery(rows, weights, member, first, groups, jaccard, found):
    """Weighted best Jaccard index of each cluster in the draws, and weight of the draws that have it.

    Added to `jaccard` and `found`, (n_clusters,). `rows` is (n_draws, n_items), with labels below `groups`. The
    items of cluster g are member[first[g]:first[g + 1]]. The Jaccard index of g with cluster h of a draw is the
    number of items in both over the number in either, n_gh / (n_g + n_h - n_gh); it is 1 if and only if the draw
    has g.
    """
    count, sizes = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
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
