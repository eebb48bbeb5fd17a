"""The posterior similarity matrix: the probability that two items share a cluster.

    P_ij = sum_t w_t [z_ti = z_tj] / sum_t w_t

Pairs are compared over all draws in blocks of rows, one block a thread; with draws of equal weight
the matrix is a count divided by a count, free of rounding.

Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. doi:10.1093/biomet/65.1.31
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from epluribus._kernels.together import keep_above, together_counts, together_weights
from epluribus._parallel import resolve_jobs
from epluribus.draws import Draws, as_draws
from epluribus._parallel import run_all
from epluribus._validate import check_fraction

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus._parallel import Stopper
    from epluribus._typing import DrawsLike

__all__ = ["Rows", "map_rows", "psm"]

_ROWS = 32
"""Rows a task compares at a time: their labels over some thousands of draws fit a core's cache."""
_REPEATS = 4
"""With so many draws to a distinct partition it pays to compare these, by weight."""
_THRESHOLD = 0.05
"""What a sparse matrix leaves out by default."""


@overload
def psm(
    draws: DrawsLike,
    *,
    sparse: Literal[False] = ...,
    per_chain: bool = ...,
    n_jobs: int | None = ...,
) -> NDArray[np.float64]: ...
@overload
def psm(
    draws: DrawsLike,
    *,
    sparse: bool,
    threshold: float | None = ...,
    per_chain: bool = ...,
    n_jobs: int | None = ...,
) -> Any: ...
def psm(
    draws: DrawsLike,
    *,
    sparse: bool = False,
    threshold: float | None = None,
    per_chain: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Posterior similarity matrix: the probability, for every two items, that they share a cluster.

    In a paper: *entry (i, j) is the proportion of posterior draws in which items i and j were in the
    same cluster*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; its weights are respected.
    sparse : bool, default False
        Keep only the larger entries, in a SciPy sparse array: for many items.
    threshold : float, optional
        For ``sparse=True``: entries not above it are left out; 0.05 by default.
    per_chain : bool, default False
        One matrix for each chain.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_items, n_items), or scipy.sparse.csr_array if `sparse`
        Symmetric, with ones on the diagonal. If `per_chain`, an array of shape (n_chains, n_items,
        n_items), or a list of sparse arrays.

    Notes
    -----
    Time O(n_items^2 n_draws), some 0.02 ns for each pair and draw. Memory 8 bytes for each entry of
    the dense matrix, 12 for each one kept in a sparse matrix, which is never dense on the way.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.uncertainty.psm([[0, 0, 1], [0, 0, 1], [0, 1, 1], [0, 0, 0]])
    array([[1.  , 0.75, 0.25],
           [0.75, 1.  , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    >>> epl.uncertainty.psm([[0, 0, 1], [0, 1, 1]], sparse=True, threshold=0.4).nnz
    7
    """
    sample = as_draws(draws)
    if threshold is not None and not sparse:
        raise ValueError(
            f"'threshold' is for sparse=True only; got {threshold!r} with sparse=False. "
            "Leave it out, or ask for a sparse matrix."
        )
    bound = check_fraction(
        _THRESHOLD if threshold is None else threshold, "threshold", zero=True, one=False
    )
    jobs = resolve_jobs(n_jobs)
    make: Callable[[Draws], Any] = (
        partial(_sparse, threshold=bound, n_jobs=jobs) if sparse else partial(_dense, n_jobs=jobs)
    )
    if not per_chain:
        return make(sample)
    parts = [make(sample.chain(number)) for number in range(sample.n_chains)]
    return parts if sparse else np.stack(parts)


class Rows:
    """Rows of the similarity matrix, computed when asked for; safe to share between threads."""

    def __init__(self, draws: Draws) -> None:
        weights = draws.draw_weights
        self.n_items = draws.n_items
        self.equal = bool(np.all(weights == weights[0]))
        self._counted = self.equal and draws.n_draws < _REPEATS * draws.n_distinct
        if self._counted:
            repeated = draws.n_draws > draws.n_distinct
            table = draws.item_major[:, draws.index] if repeated else draws.item_major
            self._labels = np.ascontiguousarray(table)
            self.total = float(draws.n_draws)
        else:
            self._labels = np.ascontiguousarray(draws.distinct)
            # With equal weights these are whole numbers, and sums of them exact.
            self._weights = draws.weights / weights[0] if self.equal else draws.weights
            self.total = float(self._weights.sum())

    def __call__(self, begin: int, end: int, stop: int) -> NDArray[np.float64]:
        """Probabilities of items begin..end with items 0..stop."""
        shape = (end - begin, stop)
        if self._counted:
            counts = np.empty(shape, dtype=np.int32)
            together_counts(self._labels, begin, end, stop, counts)
            return counts / self.total
        out = np.empty(shape)
        together_weights(self._labels, self._weights, begin, end, stop, out)
        return np.minimum(out / self.total, 1.0)  # rounding of weights may pass 1


def map_rows(
    draws: Draws,
    task: Callable[[Rows, int, int], Any],
    n_jobs: int,
    stopper: Stopper | None = None,
) -> list[Any]:
    """`task(rows, begin, end)` for each block of items, in threads; results in order.

    Blocks not begun when the time of `stopper` is up are left out.
    """
    source = Rows(draws)
    tasks: list[Callable[[], Any]] = [
        partial(task, source, begin, min(begin + _ROWS, draws.n_items))
        for begin in range(0, draws.n_items, _ROWS)
    ]
    return run_all(tasks, n_jobs, stopper)


def _dense(draws: Draws, n_jobs: int) -> NDArray[np.float64]:
    n = draws.n_items
    try:
        out = np.empty((n, n))
    except MemoryError:
        raise MemoryError(
            f"'draws' has {n:,} items: a dense matrix takes {8 * n * n / 1e9:.0f} GB. Use sparse=True."
        ) from None

    def fill(rows: Rows, begin: int, end: int) -> None:
        block = rows(begin, end, end)  # the lower triangle, mirrored
        out[begin:end, :end] = block
        out[:begin, begin:end] = block[:, :begin].T

    map_rows(draws, fill, n_jobs)
    np.fill_diagonal(out, 1.0)
    return out


def _sparse(draws: Draws, threshold: float, n_jobs: int) -> Any:
    from scipy.sparse import csr_array

    n = draws.n_items

    def keep(rows: Rows, begin: int, end: int) -> tuple[Any, Any, Any]:
        block = rows(begin, end, n)
        block[np.arange(end - begin), np.arange(begin, end)] = 1.0
        counts = np.empty(end - begin, dtype=np.int64)
        columns, values = np.empty(block.size, dtype=np.int32), np.empty(block.size)
        size = keep_above(block, threshold, counts, columns, values)
        return counts, columns[:size].copy(), values[:size].copy()

    counts, columns, values = (
        list(part) for part in zip(*map_rows(draws, keep, n_jobs), strict=True)
    )
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    if starts[-1] < 2**31:
        starts = starts.astype(np.int32)  # one type for both index arrays, else SciPy makes it so
    data = np.concatenate(values)
    values.clear()  # before the next copy is made
    return csr_array((data, np.concatenate(columns), starts), shape=(n, n))
