"""The loss between a partition and draws with missing labels.

Draw t has seen the items O_t, n_t of them. All counts are within O_t:

    loss_t = f0( sum f1(n_ght), sum f2(n_gt), sum f3(n_ht), n_t )

where n_gt is the number of items of cluster g that the draw has seen. In other words, it is the loss between
two partitions of O_t. In a table with missing labels, 0 is a missing one and clusters are 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.labels import count_dtype, count_tables
from epluribus._typing import FloatArray, IntArray
from epluribus.losses.base import LinearForm, Loss
from epluribus.partition import read_only

_TABLE_CELLS = 1 << 20
"""Cells of the contingency tables held at a time."""


def partial_values(
    labels: IntArray,
    table: NDArray[np.unsignedinteger[Any]],
    loss: Loss,
    *,
    columns_estimate: bool = False,
) -> FloatArray:
    """(n_draws,) loss of labels 0..K-1 against each column of a table in which labels of 0 are missing.

    Items with a label of -1 count as if no draw had seen them; the loss is 0 if a draw has seen no item. Time
    O(n_draws (n_items + K_a K_z)), or O(n_draws n_items log n_items) where the contingency tables would be
    nearly empty.
    """
    f1, f2, f3 = loss.tables(table.shape[0])
    k, groups = int(labels.max(initial=0)) + 1, int(table.max()) + 1
    # Where tables would be nearly empty, the cells in use are found by sorting.
    sparse = groups * k > max(_TABLE_CELLS // 8, 8 * table.shape[0])
    values = []
    for cells, mine, theirs in (_sorted_counts if sparse else _table_counts)(labels, table):
        size, group = (theirs, mine) if columns_estimate else (mine, theirs)
        counts = ((f1, cells), (f2, size), (f3, group))
        joint, *others = (_sum_used(f, n).tolist() for f, n in counts)
        seen = mine.sum(axis=1).tolist()
        sums = zip(joint, *others, seen, strict=True)
        found = np.array([loss.f0(*some) if some[3] else 0.0 for some in sums])
        if loss.zero_if_equal:
            in_cells, in_size, in_group = (np.count_nonzero(n, axis=1) for _, n in counts)
            found[(in_cells == in_size) & (in_cells == in_group)] = 0.0
        values.append(found)
    return np.concatenate(values)


def _sum_used(f: FloatArray, counts: IntArray) -> FloatArray:
    """Sums of f over the counts above 0 in each row: a user's f need not be 0 at 0."""
    return np.where(counts > 0, f[counts], 0.0).sum(axis=1)


def _sorted_counts(
    labels: IntArray, table: NDArray[np.unsignedinteger[Any]]
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """As `_table_counts`, for one draw at a time and without the cells that are not in use."""
    groups = int(table.max()) + 1
    for t in range(table.shape[1]):
        both = (table[:, t] > 0) & (labels >= 0)
        mine, theirs = labels[both], table[both, t].astype(np.int64)
        cells = np.unique(mine * groups + theirs, return_counts=True)[1]
        yield cells[None], np.bincount(mine)[None], np.bincount(theirs)[None]


def _table_counts(
    labels: IntArray, table: NDArray[np.unsignedinteger[Any]]
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """For some draws at a time, a row for each: items of the cells, of clusters of the labels, of its own."""
    n_items, n_draws = table.shape
    k, groups = int(labels.max(initial=0)) + 1, int(table.max()) + 1
    step = min(n_draws, max(1, _TABLE_CELLS // (groups * k)))
    work = np.empty((step, groups, k), dtype=count_dtype(n_items))
    for begin in range(0, n_draws, step):
        n = min(step, n_draws - begin)
        work[:] = 0
        count_tables(read_only(table), begin, begin + n, np.ascontiguousarray(labels), work)
        cells = work[:n, 1:]  # group 0 is what the draw has not seen
        yield cells.reshape(n, -1), cells.sum(axis=1), cells.sum(axis=2)


def linear_forms(loss: Loss, n_seen: IntArray) -> LinearForm:
    """The coefficients of a linear f0 for draws that have seen `n_seen` items: arrays of shape (n_draws,)."""
    numbers, at = np.unique(n_seen, return_inverse=True)
    # For no items at all the coefficients are never used; dividing by their number would be an error.
    forms = np.array([loss.linear_form(n) for n in np.maximum(numbers, 1).tolist()])
    return LinearForm(*forms[at].T)
