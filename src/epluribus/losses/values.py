"""The loss between two partitions, and between one partition and many.

    loss(a, z) = f0( sum f1(n_gh), sum f2(n_g), sum f3(n_h), N )

Counts are integers up to the last step. Whether two partitions are equal is decided from the counts: they are
if and only if their contingency table has as many cells in use as each of them has clusters. The loss is then
exactly 0, free of rounding errors.

A draw t with missing labels has seen the items O_t, n_t of them. All counts are then within O_t:

    loss_t = f0( sum f1(n_ght), sum f2(n_gt), sum f3(n_ht), n_t )

where n_gt is the number of items of cluster g that the draw has seen. In other words, it is the loss between
two partitions of O_t. In a table with missing labels, 0 is a missing one and clusters are 1, 2, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus import losses
from epluribus._kernels.labels import apply_f0, count_dtype, count_tables, sparse_joint, table_sums
from epluribus._typing import FloatArray, IntArray, LabelsLike, LossLike
from epluribus.losses.base import LinearForm, Loss
from epluribus.partition import as_labels, matched, read_only, relabel

_TABLE_CELLS = 1 << 18
"""Cells of the contingency tables held at a time: half a megabyte, so that they stay in the cache."""
_FEW = 2000
"""Up to this many values of a built-in f0 are computed by Python, in a millisecond; compiling takes 0.3 s."""
_DRAWS = 16
"""Draws counted at a time: with fewer, most of each cache line of item-major labels would be wasted."""


def loss(a: LabelsLike, b: LabelsLike, loss: LossLike = "vi") -> float:
    """Loss of estimating `b` by `a`.

    Parameters
    ----------
    a, b : array_like of shape (n_items,)
        Labels of two partitions of the same items. Where the order matters, as for a loss with a `cost`
        other than 1, `a` is the estimate and `b` the truth. Items whose label is missing (NaN, None, masked)
        in either of them are left out.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.

    Returns
    -------
    float

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.loss(["a", "a", "b"], [1, 2, 2], "binder")
    2.0
    >>> epl.loss([0, 0, 1, 1], [5, 5, 3, 3])
    0.0
    >>> epl.loss([0, 0, 1, 1], [5, 5, 3, None])
    0.0
    """
    first = as_labels(a, argument="a", missing=True)
    second = matched(b, a, "b", other="'a'", missing=True)
    both = (first >= 0) & (second >= 0)
    if not both.any():
        raise ValueError(
            "'a' and 'b' must have labels for some of the same items; they have for none."
        )
    if not both.all():
        first, second = relabel(first[both]), relabel(second[both])
    # One draw as a table with a single column, in the smallest type that holds its labels.
    draw = np.ascontiguousarray(second[:, None].astype(np.min_scalar_type(int(second.max()))))
    return float(loss_values(first, draw, losses.get(loss))[0])


def loss_values(
    labels: IntArray,
    table: NDArray[np.unsignedinteger[Any]],
    loss: Loss,
    *,
    columns_estimate: bool = False,
    missing: bool = False,
) -> FloatArray:
    """(n_draws,) loss of canonical `labels` against each column of an item-major table of labels.

    The labels are the estimate and the columns are draws; with `columns_estimate` it is the other way round.
    With `missing`, a label of 0 in the table is missing.

    Time O(n_draws (n_items + K_a K_z)). Where K_a K_z is large, the contingency tables are nearly empty, and
    the time is O(n_draws (n_items + K_z)).
    """
    n_items = len(table)
    if missing:
        return _partial_values(labels, table, loss, columns_estimate)
    f1, f_labels, f_columns = loss.tables(n_items)
    if columns_estimate:
        f_labels, f_columns = f_columns, f_labels
    n_clusters, groups = int(labels.max()) + 1, int(table.max()) + 1
    # Small contingency tables are filled and added up. Large ones would be nearly empty: they are not made,
    # and only the cells in use are visited.
    if groups * n_clusters <= max(_TABLE_CELLS, 8 * n_items):
        sums, used = _dense_sums(labels, table, groups, f1, f_columns)
        (joint, columns), (n_cells, n_groups) = sums, used
    else:
        joint, n_cells = sparse_sums(labels, table, groups, f1)
        together = np.zeros(n_items, dtype=np.int64)
        sums, used = _dense_sums(together, table, groups, f_columns, f_columns)
        columns, n_groups = sums[1], used[1]
    # As many cells in use as there are clusters on either side: the clusters coincide.
    equal = (n_cells == n_clusters) & (n_cells == n_groups)
    one = float(f_labels[np.bincount(labels)].sum())
    size: Any
    group: Any
    size, group = (columns, one) if columns_estimate else (one, columns)
    # A linear f0 is four multiplications for all at once, and needs no compiled code.
    if loss.linear:
        form = loss.linear_form(n_items)
        values = form.constant + form.joint * joint + form.size * size + form.group * group
    else:
        values = _apply(loss, n_items, joint, size, group)
    if loss.zero_if_equal:
        values[equal] = 0.0
    return values


def _dense_sums(
    labels: IntArray,
    table: NDArray[np.unsignedinteger[Any]],
    groups: int,
    f1: FloatArray,
    f3: FloatArray,
) -> tuple[FloatArray, IntArray]:
    """Sums of f1 over the cells and of f3 over the groups of each column, and the numbers of both in use."""
    n_items, n_draws = table.shape
    n_clusters = int(labels.max()) + 1
    sums, used = np.empty((2, n_draws)), np.empty((2, n_draws), dtype=np.int64)
    block = min(n_draws, max(_DRAWS, _TABLE_CELLS // (groups * n_clusters)))
    work = np.empty((block, groups, n_clusters), dtype=count_dtype(n_items))
    labels = np.ascontiguousarray(labels)  # else the kernel would be compiled once more
    for begin in range(0, n_draws, block):
        end = min(begin + block, n_draws)
        cells = work[: end - begin]
        cells[:] = 0
        count_tables(read_only(table), begin, end, labels, cells)
        table_sums(cells, n_clusters, begin, read_only(f1), read_only(f3), sums, used)
    return sums, used


def sparse_sums(
    labels: IntArray, table: NDArray[np.unsignedinteger[Any]], groups: int, f1: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Sum of f1 over the contingency table of `labels` and each column, and its cells in use.

    Items with a label of -1 are in no cluster, and in no cell. No contingency table is made: time O(n_items)
    for each column, as long as clusters are small.
    """
    n_draws = table.shape[1]
    # Items by cluster: those of cluster g are member[first[g]:first[g + 1]].
    sizes = np.bincount(labels + 1)
    member = np.argsort(labels, kind="stable")[sizes[0] :]
    first = np.append(0, np.cumsum(sizes[1:]))
    joint, n_cells = np.zeros(n_draws), np.zeros(n_draws, dtype=np.int64)
    count = np.zeros((_DRAWS, groups), dtype=np.int32)
    sparse_joint(read_only(table), member, first, read_only(f1), count, joint, n_cells)
    return joint, n_cells


def _apply(loss: Loss, n_items: int, *sums: Any) -> FloatArray:
    """The values of f0 at the three sums, of which the first is an array."""
    joint, size, group = (np.array(np.broadcast_to(some, len(sums[0]))) for some in sums)
    # A user's f0 is always compiled: as it is, a division by zero would be an error.
    if len(joint) <= _FEW and loss.family is not None:
        each = zip(joint.tolist(), size.tolist(), group.tolist(), strict=True)
        return np.array([loss.f0(*some, n_items) for some in each])
    values = np.empty(len(joint))
    apply_f0(loss.compiled_f0(), joint, size, group, float(n_items), values)
    return values


# --- missing labels ---


def _partial_values(
    labels: IntArray, table: NDArray[np.unsignedinteger[Any]], loss: Loss, columns_estimate: bool
) -> FloatArray:
    """(n_draws,) loss of labels 0..K-1 against each column of a table in which labels of 0 are missing.

    Items with a label of -1 count as if no draw had seen them; the loss is 0 if a draw has seen no item. Time
    O(n_draws (n_items + K_a K_z)), or O(n_draws n_items log n_items) where the contingency tables would be
    nearly empty.
    """
    f1, f2, f3 = loss.tables(table.shape[0])
    k, groups = int(labels.max(initial=0)) + 1, int(table.max()) + 1
    # Where tables would be nearly empty, the cells in use are found by sorting.
    sparse = groups * k > max((1 << 17), 8 * table.shape[0])
    values = []
    for cells, mine, theirs in (_sorted_counts if sparse else _table_counts)(labels, table):
        size, group = (theirs, mine) if columns_estimate else (mine, theirs)
        counts = ((f1, cells), (f2, size), (f3, group))
        joint, *others = (f[n].sum(axis=1).tolist() for f, n in counts)
        seen = mine.sum(axis=1).tolist()
        sums = zip(joint, *others, seen, strict=True)
        found = np.array([loss.f0(*some) if some[3] else 0.0 for some in sums])
        if loss.zero_if_equal:
            in_cells, in_size, in_group = (np.count_nonzero(n, axis=1) for _, n in counts)
            found[(in_cells == in_size) & (in_cells == in_group)] = 0.0
        values.append(found)
    return np.concatenate(values)


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
    step = min(n_draws, max(1, 4 * _TABLE_CELLS // (groups * k)))
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
