"""Expectations over the draws: the loss of a partition (equation 2 of Rastelli & Friel 2018), the similarity of items.

    psi(a) = sum_t w_t loss(a, z_t) / sum_t w_t          p_ij = sum_t w_t [z_ti = z_tj] / sum_t w_t

Equal draws are stored once, with their weights added, so each distinct partition is compared once. Without
draws, a similarity matrix that was made elsewhere is enough for two losses:

    binder   E[ (c Qz + (2 - c) Qa) / 2 - Qj ]: the sums over draws are sums of similarities, and exact
    vi_lb    (c Z + (2 - c) A - 2 J) / N with Z = sum_i log2 r_i, A = sum_i log2 n_i and J = sum_i log2 s_i:
             the lower bound of Wade & Ghahramani (2018), doi:10.1214/17-BA1073

where n_i is the size of the cluster of item i, r_i the sum of p_ij over all items j, and s_i that over the
items of its cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus import losses
from epluribus._kernels.similarity import together_counts, together_weights
from epluribus._parallel import Stopper, parts, run_all
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus._validate import as_array, check_memory
from epluribus.draws.draws import Draws, as_draws
from epluribus.draws.rows import all_equal
from epluribus.draws.store import Slice, Store
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import matched, read_only
from epluribus.readers.files import read_matrix

_CLOSE = 1e-6
"""Rounding that is allowed in a matrix read from a file: asymmetry, values beyond 0 and 1, the diagonal."""
ROUNDING = 1e-12
"""Probabilities that differ by less than this are equal: sums of weights are rounded."""
_BLOCK_ROWS = 32
"""Rows of the matrix per task: their labels over a few thousand draws fit into a core's cache."""
_BLOCK_CELLS = 1 << 22
"""Largest number of entries of a block: 32 MB."""
_REPEATS = 4
"""With this many draws per distinct partition it pays to compare distinct partitions, with weights."""


def expected_loss(
    labels: LabelsLike, draws: DrawsLike | None = None, loss: LossLike | None = None, *,
    psm: Any = None, per_draw: bool = False,
) -> Any:  # fmt: skip
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


# --- how often items share a cluster ---


class Together:
    """Weight of the draws in which items share a cluster, by rows on demand; threads may share it.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_draws)
        Labels, item-major. They are kept in the layout that the comparison needs.
    weights : ndarray of shape (n_draws,)

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.draws.expected import Together
    >>> Together(np.array([[0, 0], [0, 1], [1, 1]], dtype=np.uint8), np.array([1.0, 1.0]))(1, 2, 3)
    array([[1., 2., 1.]])
    """

    def __init__(self, table: NDArray[np.unsignedinteger[Any]], weights: FloatArray) -> None:
        self._weights, self._counted = weights, all_equal(weights)
        self._labels = read_only(np.ascontiguousarray(table if self._counted else table.T))

    def __call__(self, begin: int, end: int, stop: int) -> FloatArray:
        """(end - begin, stop) weights for items begin..end-1 with items 0..stop-1."""
        shape = (end - begin, stop)
        if self._counted:  # integers: no rounding but that of the product
            counts = np.empty(shape, dtype=np.int32)
            together_counts(self._labels, begin, end, stop, counts)
            return self._weights[0] * counts
        out = np.empty(shape)
        together_weights(self._labels, self._weights, begin, end, stop, out)
        return out


class Similarity:
    """Probabilities that items share a cluster, computed by rows on demand; threads may share it.

    Parameters
    ----------
    draws : Draws
        Labels are copied in the layout that the comparison needs; the matrix is not stored.

    Examples
    --------
    >>> from epluribus import Draws
    >>> from epluribus.draws.expected import Similarity
    >>> Similarity(Draws([[0, 0, 1], [0, 1, 1]]))(1, 2, 3)  # item 1 with items 0, 1, 2
    array([[0.5, 1. , 0.5]])
    """

    def __init__(self, draws: Draws) -> None:
        weights, store, mass = draws.draw_weights, draws.store, draws.weights
        equal_weights = all_equal(weights)
        if equal_weights:
            # Divided by the common weight they are integers, and sums of integers are exact.
            mass = draws.weights / weights[0]
        self._n_items, self._mass, self._total = draws.n_items, mass, float(mass.sum())
        # Slices on a cluster are compared one after the other, when rows are asked for.
        self._together: Callable[[int, int, int], FloatArray]
        self._together = partial(_over_slices, store, mass)
        self._seen: Together | None = None
        if store.in_one_piece:
            table = store.whole()
            if draws.has_missing:
                self._n_seen, self._seen = (
                    (table > 0) @ mass,
                    Together((table > 0).view(np.uint8), mass),
                )
            # Counting equal labels, draw by draw, is quickest, unless partitions are repeated often.
            elif equal_weights and draws.n_distinct < draws.n_draws < _REPEATS * draws.n_distinct:
                table, mass = table[:, draws.index], np.ones(draws.n_draws)
            self._together = Together(table, mass)

    def __call__(self, begin: int, end: int, stop: int) -> FloatArray:
        """(end - begin, stop) probabilities of items begin..end-1 with items 0..stop-1."""
        together = self._together(begin, end, stop)
        if self._seen is None:
            together /= self._total
            return np.minimum(together, 1.0, out=together)  # rounding of weights may exceed 1
        # Among the draws that have seen both; NaN if none has. Two missing labels are equal, but not together.
        one = self._n_seen[begin:end, None] + self._n_seen[:stop] - self._total
        # `_seen` counts draws that saw both or neither.
        both = (self._seen(begin, end, stop) + one) / 2
        together -= both - one
        out = np.full(both.shape, np.nan)
        np.divide(together, both, out=out, where=both > ROUNDING * self._total)
        return np.clip(out, 0.0, 1.0, out=out)

    def matrix(
        self,
        n_jobs: int,
        stopper: Stopper | None = None,
        on_rows: Callable[[int], Any] = lambda _: None,
    ) -> FloatArray:
        """(n_items, n_items) all of them; `on_rows` is told how many rows each block has."""
        out = np.empty((self._n_items, self._n_items))
        fill_symmetric(out, self, n_jobs, stopper, on_rows)
        np.fill_diagonal(out, 1.0)  # sums of weights may have been rounded
        return out


def _over_slices(store: Store, mass: FloatArray, begin: int, end: int, stop: int) -> FloatArray:
    """Weight of the draws in which items share a cluster, over the slices on a cluster."""
    found = store.map(_slice_together, mass, begin, end, stop)
    return np.asarray(sum(found[1:], start=found[0]))


def _slice_together(part: Slice, mass: FloatArray, begin: int, end: int, stop: int) -> FloatArray:
    """The same for the draws of one slice."""
    return Together(part.table, mass[part.columns])(begin, end, stop)


def fill_symmetric(
    out: FloatArray,
    rows: Callable[[int, int, int], FloatArray],
    n_jobs: int,
    stopper: Stopper | None = None,
    on_rows: Callable[[int], Any] = lambda _: None,
) -> None:
    """Fill a symmetric matrix with `rows(begin, end, stop)`; `on_rows` is told how many rows each block has."""

    def fill(begin: int, end: int) -> int:
        # The lower triangle is computed and mirrored. Blocks do not overlap: threads need no lock.
        block = rows(begin, end, end)
        out[begin:end, :end] = block
        out[:begin, begin:end] = block[:, :begin].T
        return end - begin

    map_blocks(len(out), fill, n_jobs, stopper, on_done=on_rows)


def map_blocks(
    n_items: int,
    task: Callable[[int, int], Any],
    n_jobs: int,
    stopper: Stopper | None = None,
    *,
    step: int = 1,
    on_done: Callable[[Any], Any] = lambda _: None,
) -> list[Any]:
    """`task(begin, end)` for every block of items, or every `step`-th one, in threads; results in order.

    Blocks that have not begun when the time of `stopper` is up are left out, except the first. `on_done` is
    called with each result, in one thread.
    """
    # Fewer rows where they are long, so that a block of each thread fits in memory.
    rows = max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // n_items))
    begins = range(0, n_items, rows * step)
    tasks = [partial(task, begin, min(begin + rows, n_items)) for begin in begins]
    return run_all(tasks, n_jobs, stopper, on_done)


# --- a similarity matrix that was made elsewhere ---


@dataclass(frozen=True)
class SimilarityMatrix:
    """Probabilities that items share a cluster, without the draws they come from."""

    matrix: Any
    """(n_items, n_items) scipy.sparse.csr_array, symmetric, without the diagonal and without zeros."""
    items: tuple[str, ...] | None
    """Names of the items, if a data frame brought them."""

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.matrix.shape[0])

    @classmethod
    def of(cls, psm: Any) -> SimilarityMatrix:
        """Read and check a matrix: an array, nested lists, a data frame, a SciPy sparse matrix, or a file of one.

        Files are csv and other text, npy, npz of SciPy, and rds.

        Examples
        --------
        >>> from epluribus.draws.expected import SimilarityMatrix
        >>> SimilarityMatrix.of([[1, 0.5], [0.4, 1]])
        Traceback (most recent call last):
        ValueError: 'psm' must be symmetric; entry (0, 1) is 0.5 and entry (1, 0) is 0.4.
        """
        from scipy.sparse import csr_array, issparse

        if isinstance(psm, cls):
            return psm
        items = psm.columns if hasattr(psm, "columns") else None
        if isinstance(psm, str | Path):
            psm, items = read_matrix(Path(psm))
        if isinstance(psm, np.ma.MaskedArray):  # what is masked is missing
            psm = np.ma.filled(psm.astype(np.float64), np.nan)
        psm = psm if issparse(psm) else as_array(psm, "psm", np.float64)
        if psm.ndim != 2 or psm.shape[0] != psm.shape[1] or psm.shape[0] == 0:
            raise ValueError(
                f"'psm' must be a square matrix, items by items; got shape {psm.shape}. Draws are given as "
                "the first argument: minimize(draws)."
            )
        # Two copies of the entries, with their places.
        check_memory(
            40.0 * (psm.nnz if issparse(psm) else np.count_nonzero(psm)),
            f"A search with the similarity matrix of {psm.shape[0]:,} items",
            "Leave out small entries in a sparse matrix, or take fewer items.",
        )
        csr = _checked(csr_array(psm, dtype=np.float64))
        csr = (csr + csr.T) * 0.5
        csr.setdiag(0.0)
        csr.eliminate_zeros()
        csr.sort_indices()
        return cls(csr, None if items is None else tuple(map(str, items)))

    def dense(self, keep: IntArray | None = None) -> FloatArray:
        """(n, n) the similarities of some items, or of all, with ones on the diagonal."""
        out = (self.matrix if keep is None else self.matrix[keep][:, keep]).toarray()
        np.fill_diagonal(out, 1.0)
        return out


def _checked(csr: Any) -> Any:
    """The matrix itself, if its entries are similarities; rounding beyond 0 and 1 is cut off."""
    # NaN fails both comparisons.
    entries = csr.tocoo()
    for k in np.flatnonzero(~((entries.data >= -_CLOSE) & (entries.data <= 1 + _CLOSE)))[:1]:
        where = f"entry ({entries.row[k]}, {entries.col[k]}) is {entries.data[k]:g}"
        raise ValueError(f"'psm' must hold probabilities, from 0 to 1; {where}.")
    csr.data = np.clip(csr.data, 0.0, 1.0)
    for i in np.flatnonzero(np.abs(csr.diagonal() - 1.0) > _CLOSE).tolist():
        raise ValueError(
            f"'psm' must have ones on the diagonal; entry ({i}, {i}) is {csr[i, i]:g}. If these are "
            "distances, give 1 - distances."
        )
    apart = abs(csr - csr.T).tocoo()
    for k in np.flatnonzero(apart.data > _CLOSE)[:1]:
        i, j = apart.row[k], apart.col[k]
        raise ValueError(
            f"'psm' must be symmetric; entry ({i}, {j}) is {csr[i, j]:g} and entry ({j}, {i}) is {csr[j, i]:g}."
        )
    return csr
