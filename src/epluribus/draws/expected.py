"""The expected loss of a partition over draws (equation 2 of Rastelli & Friel 2018).

    psi(a) = sum_t w_t loss(a, z_t) / sum_t w_t

Equal draws are stored once, with their weights added, so each distinct partition is compared once. Without
draws, a similarity matrix is enough for two losses:

    binder   E[ (c Qz + (2 - c) Qa) / 2 - Qj ]: the sums over draws are sums of similarities, and exact
    vi_lb    (c Z + (2 - c) A - 2 J) / N with Z = sum_i log2 r_i, A = sum_i log2 n_i and J = sum_i log2 s_i:
             the lower bound of Wade & Ghahramani (2018), doi:10.1214/17-BA1073

where n_i is the size of the cluster of item i, r_i the sum of p_ij over all items j, and s_i that over the
items of its cluster.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopper, parts
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus.draws.draws import Draws, as_draws
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.draws.store import Slice
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import matched


@overload
def expected_loss(
    labels: LabelsLike, draws: DrawsLike | None = ..., loss: LossLike | None = ..., *,
    psm: Any = ..., per_draw: Literal[False] = ...,
) -> float: ...  # fmt: skip
@overload
def expected_loss(
    labels: LabelsLike, draws: DrawsLike, loss: LossLike | None = ..., *, per_draw: Literal[True]
) -> FloatArray: ...
def expected_loss(
    labels: LabelsLike, draws: DrawsLike | None = None, loss: LossLike | None = None, *,
    psm: Any = None, per_draw: bool = False,
) -> float | FloatArray:  # fmt: skip
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
        chosen = losses.for_matrix("vi_lb" if loss is None else loss)
        mine = matched(labels, matrix, "labels", other="the similarity matrix")
        return matrix_loss(mine, matrix.matrix, chosen)
    sample = as_draws(draws)
    chosen = losses.get("vi" if loss is None else loss)
    values = draw_losses(matched(labels, sample, "labels"), sample, chosen)
    # `index` leads from each draw, in the order given, to its distinct partition.
    return values[sample.index] if per_draw else sample.mean(values)


def matrix_loss(labels: IntArray, matrix: Any, loss: Loss) -> float:
    """Expected loss of labels 0..K-1 from the similarities of items, for `losses.binder` and `losses.vi_lb`.

    The matrix is symmetric, dense or of SciPy's sparse kinds; its diagonal is taken for 1.

    >>> similar = np.array([[1, 0.75, 0], [0.75, 1, 0.25], [0, 0.25, 1]])
    >>> matrix_loss(np.array([0, 0, 1]), similar, losses.binder())  # 1 - 0.75 together, 0.25 apart
    0.5
    """
    from scipy.sparse import coo_array

    n, entries = len(labels), coo_array(matrix)
    apart = entries.row != entries.col
    i, j, share = entries.row[apart], entries.col[apart], entries.data[apart]
    # The sums of the similarities of each item, itself included: with all items, and with its cluster.
    rows = 1.0 + np.bincount(i, share, n)
    inside = 1.0 + np.bincount(i, share * (labels[i] == labels[j]), n)
    if loss.family == "vi_lb":
        rows, inside = np.log2(rows), np.log2(inside)
    size = loss.tables(n)[1][np.bincount(labels)].sum()
    return float(loss.f0(float(inside.sum()), float(size), float(rows.sum()), n))


def draw_losses(
    labels: IntArray, draws: Draws, loss: Loss, stopper: Stopper | None = None
) -> FloatArray:
    """(n_distinct,) loss of canonical labels against each distinct draw.

    The work is done in parts of about a tenth of a second; Ctrl-C takes effect between two of them. Waiting for the
    workers of a cluster ends with the stopper.
    """
    store, missing = draws.store, draws.has_missing
    store = store if stopper is None else store.hearing(stopper)
    return np.concatenate(store.map(_slice_losses, labels, store.groups, loss, missing))


def _slice_losses(
    part: Slice, labels: IntArray, groups: int, loss: Loss, missing: bool
) -> FloatArray:
    """Loss of the labels against each draw of one slice."""
    table = part.table
    # Steps for one draw: a visit to each item, and to each cell of its contingency table.
    some = parts(table.shape[1], table.shape[0] + groups * (int(labels.max()) + 1))
    # Kernels read contiguous arrays. One part is copied at a time, never the whole table.
    columns = (np.ascontiguousarray(table[:, own]) for own in some)
    return np.concatenate([loss_values(labels, one, loss, missing=missing) for one in columns])
