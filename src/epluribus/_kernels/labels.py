"""Canonical labels, contingency tables, and the sums of a loss over their cells.

Draws come one per row and are stored item-major, (n_items, n_draws): the labels of one item in all draws are
contiguous. For a partition with clusters g and a draw with clusters h, n_gh counts the items in both. A loss
needs the sums of f1(n_gh) over the cells, of f2(n_g) over the clusters and of f3(n_h) over those of the draw.
"""

import numpy as np

from epluribus._kernels.jit import kernel

_LINE, _SHORT = 64, 256
"""Bytes of an item's labels that are read at a time: one line of the cache, or all if there are few.
Two lines at a time, of rows that are far apart, took three times as long: none of them was read ahead."""


def count_dtype(n_items: int) -> type[np.integer]:
    """Type in which kernels count items: two bytes if these can hold `n_items`, else four."""
    return np.uint16 if n_items <= np.iinfo(np.uint16).max else np.int32


@kernel
def canonical_rows(rows, low, seen, out, n_clusters):
    """Relabel each row in order of first appearance (Strehl & Ghosh 2003): 7 3 7 9 becomes 0 1 0 2.

    `rows` holds integers of at least `low`; `out` (OUT) has its shape, `n_clusters` (OUT) one entry for each row.
    `seen` (WORK) has an entry for each label, zero on entry. Its entry label - low is (t + 1) 2^32 + code, where t
    is the last row in which the label was seen and code its number there: entries of earlier rows are smaller than
    all of this row, so that nothing has to be cleared between rows.
    """
    for t in range(rows.shape[0]):
        row, line = rows[t], out[t]
        base = np.int64(t + 1) << np.int64(32)
        unused = base
        for i in range(row.shape[0]):
            # Unsigned: no check for negative indices.
            label = np.uint64(np.int64(row[i]) - low)
            code = seen[label]
            if code < base:  # the first item of its cluster in this row
                code = unused
                seen[label] = code
                unused += 1
            line[i] = code - base
        n_clusters[t] = unused - base


@kernel
def count_tables(draws, begin, end, labels, counts):
    """Contingency tables between `labels` and the draws begin..end-1; a label of -1 is in no cluster.

    `counts` (OUT), of shape (end - begin, groups, width), is zero on entry.
    """
    # Labels are item-major: the tables of many draws grow together, of all of them if rows are short.
    long = draws.shape[1] * draws.itemsize > _SHORT
    some = max(1, _LINE // draws.itemsize if long else end - begin)
    width, step = np.uint64(counts.shape[2]), np.uint64(counts.shape[1] * counts.shape[2])
    cells = counts.reshape(counts.size)
    for first in range(begin, end, some):
        last, offset = min(first + some, end), np.uint64(first - begin) * step
        for i in range(draws.shape[0]):
            if labels[i] >= 0:
                # counts[t - begin, draws[i, t], labels[i]] += 1
                z, at = draws[i], offset + np.uint64(labels[i])
                for t in range(np.uint64(first), np.uint64(last)):
                    cells[at + np.uint64(z[t]) * width] += 1
                    at += step


@kernel
def table_sums(counts, n_clusters, begin, f1, f3, sums, used):
    """The sums of a loss over contingency tables, those of the draws from number `begin` on.

    `sums` (OUT) and `used` (OUT) have shape (2, n_draws). For draw t they hold the sums of f1(n_tvs) over groups v
    and clusters s and of f3(n_tv) over v, where n_tv is the sum of row v, and the numbers of n_tvs and of n_tv above
    0. A draw is the same partition as the estimate if and only if both have as many clusters as there are cells in
    use.
    """
    for t in range(counts.shape[0]):
        sum1, sum3 = 0.0, 0.0
        n_cells, n_groups = 0, 0
        for v in range(counts.shape[1]):
            row, size = counts[t, v], 0
            for s in range(n_clusters):
                n = row[s]
                if n > 0:  # f1(0) = 0, and most cells may be empty
                    sum1 += f1[n]
                    size += n
                    n_cells += 1
            if size > 0:
                sum3 += f3[size]
                n_groups += 1
        sums[0, begin + t], sums[1, begin + t] = sum1, sum3
        used[0, begin + t], used[1, begin + t] = n_cells, n_groups


@kernel
def sparse_joint(draws, member, first, f1, count, joint, n_cells):
    """The sums over cells of the tables of labels and draws, for tables that are large and nearly empty.

    The items of cluster g of the labels are member[first[g]:first[g + 1]]: they are counted by group. Only cells in
    use are visited: time O(n_draws n_items).

    Added to `joint` (OUT) is the sum of f1(n_gh) for each draw, to `n_cells` (OUT) the number of cells in use.
    `count`, of shape (block, groups), is WORK, zero on entry and at the end.
    """
    n_draws, block = draws.shape[1], count.shape[0]
    for g in range(first.shape[0] - 1):
        for begin in range(0, n_draws, block):
            end = min(begin + block, n_draws)
            for at in range(first[g], first[g + 1]):
                z = draws[member[at], begin:end]
                for t in range(z.shape[0]):
                    count[t, z[t]] += 1
            # f1 of each count is added at its first item. Setting that count to zero ends its part, and leaves
            # `count` clean for the next cluster.
            for at in range(first[g], first[g + 1]):
                z = draws[member[at], begin:end]
                for t in range(z.shape[0]):
                    n = count[t, z[t]]
                    if n > 0:
                        joint[begin + t] += f1[n]
                        n_cells[begin + t] += 1
                        count[t, z[t]] = 0


@kernel
def apply_f0(f0, joint, size, group, n_items, values):
    """values[t] = f0(joint[t], size[t], group[t], n_items)."""
    for t in range(joint.shape[0]):
        values[t] = f0(joint[t], size[t], group[t], n_items)
