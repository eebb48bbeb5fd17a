"""The posterior similarity matrix: the probability, for every two items, that they share a cluster.

    P_ij = sum_t w_t [z_ti = z_tj] / sum_t w_t

The matrix is computed in blocks of rows, one block at a time per thread; if all draws have the same weight,
each entry is a count divided by a count, and exact up to that division.

Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. doi:10.1093/biomet/65.1.31
"""

from __future__ import annotations

import time
from typing import Any, Literal, overload

import numpy as np

from epluribus._parallel import Stopper, resolve_jobs
from epluribus._progress import ProgressLike, make_progress
from epluribus._typing import DrawsLike, FloatArray
from epluribus._validate import available_memory, check_fraction, check_memory, shown
from epluribus.diagnostics import Similarity
from epluribus.draws import Draws, as_draws
from epluribus.draws.together import map_blocks
from epluribus.draws.together import seen_together as both_seen

_THRESHOLD = 0.05
"""Entries up to this are left out of a sparse matrix by default: pairs that hardly ever share a cluster."""
_SAMPLED = 8
"""Random blocks of so many rows, and as many rows in each, tell how many entries a sparse matrix has."""
_STEPS = 100
"""Thresholds that are tried, equally spaced, if one is too low."""
_INSTEAD = (
    "`uncertainty.items` has the certainty of every item, `plots.similarity` a picture of some of them, and "
    "neither needs the matrix."
)


@overload
def psm(
    draws: DrawsLike,
    *,
    sparse: Literal[False] = ...,
    per_chain: bool = ...,
    n_jobs: int | None = ...,
    progress: ProgressLike = ...,
) -> FloatArray: ...
@overload
def psm(
    draws: DrawsLike,
    *,
    sparse: bool,
    threshold: float | None = ...,
    per_chain: bool = ...,
    n_jobs: int | None = ...,
    progress: ProgressLike = ...,
) -> Any: ...
def psm(
    draws: DrawsLike,
    *,
    sparse: bool = False,
    threshold: float | None = None,
    per_chain: bool = False,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
) -> Any:
    """Posterior similarity matrix: the probability, for every two items, that they share a cluster.

    In a paper: *entry (i, j) is the proportion of posterior draws in which items i and j were in the
    same cluster*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; its weights are respected.
    sparse : bool, default False
        Whether to keep only the larger entries, in a SciPy sparse array: for many items.
    threshold : float, optional
        For ``sparse=True``: entries not above it are left out; 0.05 by default.
    per_chain : bool, default False
        Whether to return one matrix for each chain.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    progress : bool or callable, optional
        By default a bar appears, on a terminal or in a notebook, when the work has taken two seconds; True
        shows it at once, False never. A function is called as ``(done, total, info)``, with rows of the
        matrix.

    Returns
    -------
    ndarray of shape (n_items, n_items), or scipy.sparse.csr_array if `sparse`
        Symmetric, with ones on the diagonal. Where labels are missing, among the draws that have seen both
        items (`seen_together` counts them), NaN if there are none. If `per_chain`, an array of shape
        (n_chains, n_items, n_items), or a list of sparse arrays.

    Notes
    -----
    Time O(n_items^2 n_draws), about 0.02 ns for each pair and draw. Memory: 8 bytes for each entry of the
    dense matrix, 12 for each entry kept in a sparse one, which is never dense on the way. A matrix that does
    not fit into the free memory is refused before the work, with a `MemoryError` that says what it would
    take; how many entries a sparse one will have is estimated from a few of its rows.

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
            f"'threshold' is for sparse=True only; got {shown(threshold)} with sparse=False. "
            "Leave it out, or ask for a sparse matrix."
        )
    bound = check_fraction(
        _THRESHOLD if threshold is None else threshold, "threshold", zero=True, one=False
    )
    samples = [sample.chain(c) for c in range(sample.n_chains)] if per_chain else [sample]
    maker = _Maker(sample.n_items, len(samples), resolve_jobs(n_jobs), progress)
    try:
        found = [maker.sparse(part, bound) if sparse else maker.dense(part) for part in samples]
    finally:
        maker.bar.close()
    if not per_chain:
        return found[0]
    return found if sparse else np.stack(found)


def seen_together(draws: DrawsLike) -> FloatArray:
    """How many draws have labels for both of two items: what each entry of `psm` rests on.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        Draws, of which some labels may be missing.

    Returns
    -------
    ndarray of shape (n_items, n_items)
        Symmetric; 0 for items that were never seen together, for which `psm` is NaN.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.uncertainty.seen_together([[0, 0, 1], [0, 1, None]])
    array([[2., 2., 1.],
           [2., 2., 1.],
           [1., 1., 1.]])
    """
    sample = as_draws(draws)
    if not sample.has_missing:
        return np.full((sample.n_items, sample.n_items), float(sample.n_draws))
    times = np.bincount(sample.index, minlength=sample.n_distinct).astype(np.float64)
    return both_seen(sample.item_major, times)


class _Maker:
    """Makes one or several matrices under one progress bar, which counts rows."""

    def __init__(self, n_items: int, n_matrices: int, n_jobs: int, progress: ProgressLike) -> None:
        self.n_items, self.n_matrices, self.n_jobs = n_items, n_matrices, n_jobs
        self.stopper, self.n_done = Stopper(), 0
        self.bar = make_progress(progress, n_matrices * n_items, "similarity", self.stopper)

    def _advance(self, n_rows: int) -> None:
        self.n_done += n_rows
        self.bar.show(self.n_done, {})

    def dense(self, draws: Draws) -> FloatArray:
        """(n_items, n_items) the whole matrix."""
        # Several are put into one array in the end, and are then in memory twice.
        copies = 1 if self.n_matrices == 1 else 2 * self.n_matrices
        if self.n_done == 0:
            check_memory(
                8.0 * copies * self.n_items**2,
                f"A dense similarity matrix of {self.n_items:,} items",
                f"Use sparse=True, which keeps the larger entries only, or fewer items. {_INSTEAD}",
            )
        return Similarity(draws).matrix(self.n_jobs, self.stopper, self._advance)

    def sparse(self, draws: Draws, threshold: float) -> Any:
        """The entries above the threshold as a CSR array, made block by block."""
        from scipy.sparse import csr_array

        n, rows = self.n_items, Similarity(draws)
        if self.n_done == 0:
            self._check_sparse(rows, threshold)

        def keep(begin: int, end: int) -> tuple[Any, Any, Any]:
            block = rows(begin, end, n)
            block[np.arange(end - begin), np.arange(begin, end)] = 1.0
            kept = block > threshold
            return kept.sum(axis=1), np.nonzero(kept)[1].astype(np.int32), block[kept]

        found = map_blocks(
            n, keep, self.n_jobs, self.stopper, on_done=lambda block: self._advance(len(block[0]))
        )
        blocks = list(zip(*found, strict=True))
        del found
        # Values, columns and counts in turn: each list is freed before the next is copied, since together
        # they may fill the memory.
        data = np.concatenate(blocks.pop())
        columns = np.concatenate(blocks.pop())
        starts = np.concatenate([[0], np.cumsum(np.concatenate(blocks.pop()))])
        if starts[-1] < 2**31:
            # SciPy wants one type for both index arrays, and would otherwise copy the larger one.
            starts = starts.astype(np.int32)
        return csr_array((data, columns, starts), shape=(n, n))

    def _check_sparse(self, rows: Similarity, threshold: float) -> None:
        """Refuse a sparse matrix that would not fit, as far as a few of its rows can tell."""
        # The same rows every time: whether a matrix is refused is not left to chance.
        n, size = self.n_items, min(_SAMPLED, self.n_items)
        begins = np.random.default_rng(0).integers(n - size + 1, size=_SAMPLED)
        rows(0, 1, n)  # the first call may compile, and would be timed
        seconds, above, counts = 0.0, 0, np.zeros(_STEPS, dtype=np.int64)
        for begin in begins.tolist():
            began = time.perf_counter()
            block = rows(begin, begin + size, n)
            seconds += time.perf_counter() - began
            above += int((block > threshold).sum())
            counts += np.histogram(block, _STEPS, (0.0, 1.0))[0]
        seen = size * _SAMPLED
        pace, share = seconds / seen / self.n_jobs, above / (seen * n)
        # The blocks, and the values once more while they are put together.
        whole = 20.0 * n * n * self.n_matrices
        # The lowest of some thresholds above which few enough entries lie, half as many to be safe.
        at_least = counts[::-1].cumsum()[::-1] / (seen * n)
        fits = np.flatnonzero(at_least * whole <= available_memory() / 2)
        higher = f"threshold={fits[0] / _STEPS:g} should fit; f" if len(fits) else "F"
        check_memory(
            share * whole,
            f"A sparse similarity matrix of {n:,} items, of whose entries about {100 * share:.2g} % are "
            f"above {threshold:g} (it would take about {_duration(pace * n * self.n_matrices)}),",
            f"{higher}ewer items need less. {_INSTEAD}",
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
