"""Canonical labels, contingency tables, and the sums of a loss over their cells.

For a partition with clusters g and a draw with clusters h, n_gh counts the items in both. A loss needs
the sums of f1(n_gh) over the cells, of f2(n_g) over the clusters and of f3(n_h) over those of the draw.
Labels of draws are item-major, (n_items, n_draws): the labels of one item in all draws are contiguous.
"""

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.vector import flat
from epluribus._typing import FloatArray, IntArray

_SMALL = 16
"""Up to this many items it is quicker to compare each with those before it than to count them: comparisons
are done for 16 draws in one instruction."""
_LINE, _SHORT = 64, 256
"""Bytes of an item's labels that are read at a time: one line of the cache, or all if there are few.
Two lines at a time, of rows that are far apart, took three times as long: none of them was read ahead."""


def count_dtype(n_items: int) -> type[np.integer]:
    """Type in which kernels count items: two bytes if these can hold `n_items`, else four."""
    return np.uint16 if n_items <= np.iinfo(np.uint16).max else np.int32


@kernel
def canonical_rows(
    rows: IntArray,
    low: int,
    stamp: IntArray,  # WORK, one entry per label, -1 on entry
    code: NDArray[np.uint32],  # WORK, same length
    out: NDArray[np.uint32],  # OUT
    n_clusters: IntArray,  # OUT
) -> None:
    """Relabel each row in order of first appearance (Strehl & Ghosh 2003).

    `rows` holds integers of at least `low`; entry label - low of `stamp` is the number of the last row in
    which the label was seen, so nothing has to be cleared between rows. The row 7 3 7 9 becomes 0 1 0 2.
    """
    for t in range(rows.shape[0]):
        k = 0
        for i in range(rows.shape[1]):
            label = rows[t, i] - low
            if stamp[label] != t:  # the first item of its cluster in this row
                stamp[label] = t
                code[label] = k
                k += 1
            out[t, i] = code[label]
        n_clusters[t] = k


@kernel
def count_tables(
    draws: NDArray[np.unsignedinteger],
    begin: int,
    end: int,
    labels: IntArray,
    counts: NDArray[np.integer],  # OUT (end - begin, groups, width), zero on entry
) -> None:
    """Contingency tables between `labels` and the draws begin..end-1; a label of -1 is in no cluster."""
    # Labels are item-major: the tables of many draws grow together, of all of them if rows are short.
    long = draws.shape[1] * draws.itemsize > _SHORT
    some = max(1, _LINE // draws.itemsize if long else end - begin)
    groups, width, cells = np.uint64(counts.shape[1]), np.uint64(counts.shape[2]), flat(counts)
    for first in range(begin, end, some):
        offset, last = np.uint64(first - begin) * groups * width, min(first + some, end)
        for i in range(draws.shape[0]):
            if labels[i] >= 0:
                # counts[t - begin, draws[i, t], labels[i]] += 1
                z, at = draws[i], offset + np.uint64(labels[i])
                for t in range(np.uint64(first), np.uint64(last)):
                    cells[at + np.uint64(z[t]) * width] += 1
                    at += groups * width


@kernel
def fill_gain(
    counts: NDArray[np.integer],
    fold: FloatArray,
    joint: FloatArray,
    inside: int,
    gain: NDArray[np.floating],  # OUT
) -> None:
    """What one more item adds in each cell of all tables (`Tables.gain`).

    With `inside` 1 instead of 0, what an item adds that is counted there already; empty cells have none.
    """
    # fold[t] (f1(n + 1) - f1(n)), with n the count of the cell; empty cells and columns included.
    for t in range(counts.shape[0]):
        for v in range(counts.shape[1]):
            for s in range(counts.shape[2]):
                n = np.int64(counts[t, v, s]) - inside
                gain[t, v, s] = fold[t] * joint[max(n, np.int64(0))]


@kernel
def table_sums(
    counts: NDArray[np.integer],
    n_clusters: int,
    begin: int,
    f1: FloatArray,
    f3: FloatArray,
    sums: FloatArray,  # OUT (2, n_draws): of f1 over the cells, of f3 over the clusters of the draw
    used: IntArray,  # OUT (2, n_draws): how many cells and clusters of the draw are in use
) -> None:
    """The sums of a loss over contingency tables, those of the draws from number `begin` on."""
    # The sums over v and s of f1(n_tvs), and over v of f3(n_tv), n_tv the row sums; and the numbers of n_tvs
    # and n_tv > 0. A draw is the same partition as the estimate if and only if both have as many clusters as
    # there are cells in use.
    for t in range(counts.shape[0]):
        sum1, sum3 = 0.0, 0.0
        n_cells, n_groups = 0, 0
        for v in range(counts.shape[1]):
            size = 0
            for s in range(n_clusters):
                n = counts[t, v, s]
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
def sparse_joint(
    draws: NDArray[np.unsignedinteger],
    member: IntArray,
    first: IntArray,
    f1: FloatArray,
    count: NDArray[np.int32],  # WORK (block, groups), zero on entry and at the end
    before: NDArray[np.int32],  # WORK (n_draws,)
    joint: FloatArray,  # OUT sum over cells of f1(n_gh), zero on entry
    n_cells: IntArray,  # OUT number of cells in use, zero on entry
) -> None:
    """The sums over cells of the tables of labels and draws, for tables that are large and nearly empty.

    The items of cluster g of the labels are member[first[g]:first[g + 1]]. In a small cluster each item is
    compared with those before it, for all draws at once; in a large one the items are counted by group. Only
    cells in use are visited: time O(n_draws n_items), as long as clusters are small.
    """
    n_draws, block = draws.shape[1], count.shape[0]
    for g in range(first.shape[0] - 1):
        # Large cluster: count its items by group, then add f1 of each count at its first item. Setting that
        # count to zero ends its part, and leaves `count` clean for the next cluster.
        if first[g + 1] - first[g] > _SMALL:
            for begin in range(0, n_draws, block):
                end = min(begin + block, n_draws)
                for at in range(first[g], first[g + 1]):
                    for t in range(begin, end):
                        count[t - begin, draws[member[at], t]] += 1
                for at in range(first[g], first[g + 1]):
                    for t in range(begin, end):
                        n = count[t - begin, draws[member[at], t]]
                        if n > 0:
                            joint[t] += f1[n]
                            n_cells[t] += 1
                            count[t - begin, draws[member[at], t]] = 0
            continue
        # Small cluster: f1 of a cell is the sum of what each of its items adds, f1(n + 1) - f1(n), where n
        # items of the cell came before it.
        for at in range(first[g], first[g + 1]):
            mine = draws[member[at]]
            before[:] = 0
            for earlier in range(first[g], at):
                theirs = draws[member[earlier]]
                for t in range(n_draws):
                    before[t] += mine[t] == theirs[t]
            for t in range(n_draws):
                n = before[t]
                joint[t] += f1[n + 1] - f1[n]
                n_cells[t] += n == 0  # the first item of its cell
