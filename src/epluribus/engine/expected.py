"""The expected loss of a partition over draws (equation 2 of Rastelli & Friel).

psi(a) = sum_t w_t loss(a, z_t) / sum_t w_t
"""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from epluribus import losses
from epluribus._parallel import parts
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus.draws import Draws, as_draws
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import as_labels


@overload
def expected_loss(
    labels: LabelsLike, draws: DrawsLike, loss: LossLike = ..., *, per_draw: Literal[False] = ...
) -> float: ...
@overload
def expected_loss(
    labels: LabelsLike, draws: DrawsLike, loss: LossLike = ..., *, per_draw: Literal[True]
) -> FloatArray: ...
def expected_loss(
    labels: LabelsLike, draws: DrawsLike, loss: LossLike = "vi", *, per_draw: bool = False
) -> float | FloatArray:
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
    values = draw_losses(as_labels(labels, sample.n_items), sample, losses.get(loss))
    return values[sample.index] if per_draw else sample.mean(values)


def draw_losses(labels: IntArray, draws: Draws, loss: Loss) -> FloatArray:
    """Loss of canonical labels against each distinct draw.

    In parts of about a tenth of a second, between which Ctrl-C is heard.
    """
    table = draws.item_major
    groups = int(draws.n_clusters.max())
    slices = list(parts(table.shape[1], table.shape[0] + groups * (int(labels.max()) + 1)))
    if len(slices) == 1:
        return loss_values(labels, table, loss)
    columns = (np.ascontiguousarray(table[:, part]) for part in slices)
    return np.concatenate([loss_values(labels, column, loss) for column in columns])
