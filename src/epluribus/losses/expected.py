"""The loss between two partitions, and its expectation over draws (equation 2 of Rastelli & Friel).

    psi(a) = sum_t w_t loss(a, z_t) / sum_t w_t

Counts are integers up to the last step, so zeros are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from epluribus import losses
from epluribus._kernels.partitions import group_sums, loss_sums, sparse_joint
from epluribus._kernels.structs import count_dtype
from epluribus._kernels.sweep import row_values
from epluribus.draws import Draws, as_draws, as_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike
    from epluribus.losses.base import Loss

__all__ = ["expected_loss", "loss", "loss_values", "sparse_sums", "values_from_sums"]

_TABLE_CELLS = 1 << 18
"""Cells of the contingency tables held at a time: half a MB, so that they stay in a cache."""


def loss(a: LabelsLike, b: LabelsLike, loss: LossLike = "vi") -> float:
    """Loss of estimating `b` by `a`.

    Parameters
    ----------
    a, b : array_like of shape (n_items,)
        Labels of two partitions of the same items; for a loss with `cost` other than 1, `a` is the
        estimate and `b` the truth.
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
    """
    first = as_labels(a, argument="a")
    second = as_labels(b, len(first), argument="b")
    draw = np.ascontiguousarray(second[:, None].astype(np.min_scalar_type(int(second.max()))))
    return float(loss_values(first, draw, losses.get(loss))[0])


@overload
def expected_loss(
    labels: LabelsLike, draws: DrawsLike, loss: LossLike = ..., *, per_draw: Literal[False] = ...
) -> float: ...
@overload
def expected_loss(
    labels: LabelsLike, draws: DrawsLike, loss: LossLike = ..., *, per_draw: Literal[True]
) -> NDArray[np.float64]: ...
def expected_loss(
    labels: LabelsLike, draws: DrawsLike, loss: LossLike = "vi", *, per_draw: bool = False
) -> float | NDArray[np.float64]:
    """Expected posterior loss of a partition: the mean of its loss over the draws.

    Parameters
    ----------
    labels : array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    per_draw : bool, default False
        Return the loss against each draw instead of their (weighted) mean.

    Returns
    -------
    float, or ndarray of shape (n_draws,) if `per_draw`

    Notes
    -----
    Time O(n_distinct (n_items + K_a K_z)); where K_a K_z is large the tables are nearly empty, and it
    is O(n_distinct (n_items + K_z)).

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = epl.Draws([[0, 0, 1], [0, 1, 1], [0, 0, 1]])
    >>> epl.expected_loss([0, 0, 1], draws, "binder")
    0.6666666666666666
    >>> epl.expected_loss([0, 0, 1], draws, "binder", per_draw=True)
    array([0., 2., 0.])
    """
    sample = as_draws(draws)
    values = loss_values(as_labels(labels, sample.n_items), sample, losses.get(loss))
    if per_draw:
        return values[sample.index]
    return float(values @ sample.weights / sample.total_weight)


def loss_values(
    labels: IntArray, draws: Draws | NDArray[np.unsignedinteger[Any]], loss: Loss
) -> NDArray[np.float64]:
    """Loss of canonical `labels` against each distinct draw, or each column of an item-major array."""
    table = draws.item_major if isinstance(draws, Draws) else draws
    n_items, n_draws = table.shape
    f1, f2, f3 = loss.tables(n_items)
    n_clusters = int(labels.max()) + 1
    groups = int(table.max()) + 1
    joint, group = np.zeros(n_draws), np.zeros(n_draws)
    equal = np.empty(n_draws, dtype=np.bool_)
    if groups * n_clusters <= max(_TABLE_CELLS, 8 * n_items):
        # Fewer than 16 draws at a time would waste most of each cache line read.
        block = min(n_draws, max(16, _TABLE_CELLS // (groups * n_clusters)))
        work = np.empty((block, groups, n_clusters), dtype=count_dtype(n_items))
        loss_sums(table, labels, n_clusters, f1, f3, work, joint, group, equal)
    else:
        joint, n_cells = sparse_sums(labels, table, groups, f1)
        n_groups = np.zeros(n_draws, dtype=np.int64)
        group_sums(table, f3, np.zeros((16, groups), dtype=np.int32), group, n_groups)
        equal = (n_cells == n_clusters) & (n_cells == n_groups)
    size = float(f2[np.bincount(labels)].sum())
    values = values_from_sums(loss, n_items, joint, size, group)
    if loss.zero_if_equal:
        values[equal] = 0.0
    return values


def sparse_sums(
    labels: IntArray,
    table: NDArray[np.unsignedinteger[Any]],
    groups: int,
    f1: NDArray[np.float64],
) -> tuple[NDArray[np.float64], IntArray]:
    """Sum of f1 over the contingency table of `labels` and each column, and its cells in use.

    No table is made: time O(n_items) for each column, as long as clusters are small.
    """
    n_draws = table.shape[1]
    member = np.argsort(labels, kind="stable")
    first = np.append(0, np.cumsum(np.bincount(labels)))
    joint, n_cells = np.zeros(n_draws), np.zeros(n_draws, dtype=np.int64)
    count, before = np.zeros((16, groups), dtype=np.int32), np.empty(n_draws, dtype=np.int32)
    sparse_joint(table, member, first, f1, count, before, joint, n_cells)
    return joint, n_cells


def values_from_sums(
    loss: Loss,
    n_items: int,
    joint: NDArray[np.float64],
    size: float,
    group: NDArray[np.float64],
) -> NDArray[np.float64]:
    """f0 of each draw from its sums."""
    if loss.linear:
        form = loss.linear_form(n_items)
        return form.constant + form.joint * joint + form.size * size + form.group * group
    values = np.zeros(len(joint))
    row_values(loss.compiled_row(), joint, size, group, float(n_items), values)
    return values
