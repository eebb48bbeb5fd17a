"""Canonical labels and contingency tables."""

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel

__all__ = ["canonical_rows", "count_tables", "loss_sums"]


@kernel
def canonical_rows(
    rows: NDArray[np.int64],
    low: int,
    stamp: NDArray[np.int64],  # WORK, one entry per label, none in `first`..`first + n_rows`
    code: NDArray[np.uint32],  # WORK, same length
    first: int,
    out: NDArray[np.uint32],  # OUT
    n_clusters: NDArray[np.int64],  # OUT
) -> None:
    """Relabel each row in order of first appearance (Strehl & Ghosh 2003).

    `stamp[label]` holds the number of the last row in which the label was seen, so nothing is
    cleared.
    """
    for t in range(rows.shape[0]):
        k = 0
        for i in range(rows.shape[1]):
            label = rows[t, i] - low
            if stamp[label] != first + t:
                stamp[label] = first + t
                code[label] = k
                k += 1
            out[t, i] = code[label]
        n_clusters[t] = k


@kernel
def count_tables(
    draws: NDArray[np.unsignedinteger],
    begin: int,
    end: int,
    labels: NDArray[np.int64],
    counts: NDArray[np.integer],  # OUT (end - begin, groups, width), zero on entry
) -> None:
    """Contingency tables between `labels` and the draws begin..end."""
    for i in range(draws.shape[0]):
        for t in range(begin, end):
            counts[t - begin, draws[i, t], labels[i]] += 1


@kernel
def loss_sums(
    draws: NDArray[np.unsignedinteger],
    labels: NDArray[np.int64],
    n_clusters: int,
    f1: NDArray[np.float64],
    f3: NDArray[np.float64],
    table: NDArray[np.integer],  # WORK (block, groups, n_clusters)
    joint: NDArray[np.float64],  # OUT sum over cells of f1(n_gh)
    group: NDArray[np.float64],  # OUT sum over the draw's clusters of f3(n_h)
    equal: NDArray[np.bool_],  # OUT whether draw and labels are the same partition
) -> None:
    """The sums of a loss for every draw, from integer counts, a block of draws at a time."""
    block = table.shape[0]
    for begin in range(0, draws.shape[1], block):
        end = min(begin + block, draws.shape[1])
        table[:] = 0
        count_tables(draws, begin, end, labels, table)
        for t in range(begin, end):
            n_cells = 0
            n_groups = 0
            sum1 = 0.0
            sum3 = 0.0
            for h in range(table.shape[1]):
                size = 0
                for g in range(n_clusters):
                    n = table[t - begin, h, g]
                    if n > 0:
                        sum1 += f1[n]
                        size += n
                        n_cells += 1
                if size > 0:
                    sum3 += f3[size]
                    n_groups += 1
            joint[t] = sum1
            group[t] = sum3
            equal[t] = n_cells == n_clusters and n_cells == n_groups
