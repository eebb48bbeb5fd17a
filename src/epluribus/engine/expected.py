"""The expected loss of a partition over draws (equation 2 of Rastelli & Friel 2018).

    psi(a) = sum_t w_t loss(a, z_t) / sum_t w_t

Equal draws are stored once, with their weights added, so each distinct partition is compared once.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from epluribus import losses
from epluribus._parallel import parts
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus.draws import Draws, as_draws
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.draws.store import Slice
from epluribus.engine.matrix import MatrixEngine
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import as_labels


@overload
def expected_loss(
    labels: LabelsLike,
    draws: DrawsLike | None = ...,
    loss: LossLike | None = ...,
    *,
    psm: Any = ...,
    per_draw: Literal[False] = ...,
) -> float: ...
@overload
def expected_loss(
    labels: LabelsLike, draws: DrawsLike, loss: LossLike | None = ..., *, per_draw: Literal[True]
) -> FloatArray: ...
def expected_loss(
    labels: LabelsLike,
    draws: DrawsLike | None = None,
    loss: LossLike | None = None,
    *,
    psm: Any = None,
    per_draw: bool = False,
) -> float | FloatArray:
    """Expected posterior loss of a partition: the mean of its loss over the draws.

    Parameters
    ----------
    labels : array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, default "vi" ("vi_lb" for a matrix)
        See `epluribus.losses.available`.
    psm : array_like or SciPy sparse matrix of shape (n_items, n_items), optional
        A similarity matrix in place of draws, for the losses "vi_lb" and "binder"; see `minimize`.
    per_draw : bool, default False
        Return the loss against each draw instead of their (weighted) mean.

    Returns
    -------
    float, or ndarray of shape (n_draws,) if `per_draw`

    Notes
    -----
    Time O(n_distinct (n_items + K_a K_z)), with n_distinct the number of distinct draws, K_a and K_z the
    numbers of clusters of the partition and of a draw. Where K_a K_z is large, the contingency tables are
    nearly empty, and the time is O(n_distinct (n_items + K_z)).

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = epl.Draws([[0, 0, 1], [0, 1, 1], [0, 0, 1]])
    >>> epl.expected_loss([0, 0, 1], draws, "binder")
    0.6666666666666666
    >>> epl.expected_loss([0, 0, 1], draws, "binder", per_draw=True)
    array([0., 2., 0.])
    """
    if (draws is None) == (psm is None):
        raise TypeError("Give 'draws', or a similarity matrix as 'psm', and not both.")
    if draws is None:
        if per_draw:
            raise ValueError("'per_draw' must be False with 'psm', which has no draws.")
        matrix = SimilarityMatrix.of(psm)
        engine = MatrixEngine(matrix.matrix, losses.for_matrix("vi_lb" if loss is None else loss))
        return engine.value_of(as_labels(labels, matrix.n_items))
    sample = as_draws(draws)
    chosen = losses.get("vi" if loss is None else loss)
    values = draw_losses(as_labels(labels, sample.n_items), sample, chosen)
    # `index` leads from each draw, in the order given, to its distinct partition.
    return values[sample.index] if per_draw else sample.mean(values)


def draw_losses(labels: IntArray, draws: Draws, loss: Loss) -> FloatArray:
    """(n_distinct,) loss of canonical labels against each distinct draw.

    The work is done in parts of about a tenth of a second; Ctrl-C takes effect between two of them.
    """
    store, missing = draws.store, draws.has_missing
    return np.concatenate(store.map(_slice_losses, labels, store.groups, loss, missing))


def _slice_losses(
    part: Slice, labels: IntArray, groups: int, loss: Loss, missing: bool
) -> FloatArray:
    """Loss of the labels against each draw of one slice."""
    table = part.table
    # Steps for one draw: a visit to each item, and to each cell of its contingency table.
    some = list(parts(table.shape[1], table.shape[0] + groups * (int(labels.max()) + 1)))
    if len(some) == 1:
        return loss_values(labels, table, loss, missing=missing)
    # Kernels read contiguous arrays. One part is copied at a time, never the whole table.
    columns = (np.ascontiguousarray(table[:, own]) for own in some)
    return np.concatenate([loss_values(labels, one, loss, missing=missing) for one in columns])
