"""Probabilities that items share a cluster: the similarity matrix.

    P_ij = sum_t w_t [z_ti = z_tj] / sum_t w_t

The matrix is computed in blocks of rows, one block at a time per thread; if all draws have the same weight,
each entry is a count divided by a count, and exact up to that division.

Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. doi:10.1093/biomet/65.1.31
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from epluribus._kernels.similarity import keep_above
from epluribus._parallel import resolve_jobs
from epluribus._typing import DrawsLike, FloatArray, IntArray
from epluribus._validate import check_fraction
from epluribus.diagnostics import Similarity
from epluribus.draws import Draws, as_draws
from epluribus.draws.together import map_blocks

_THRESHOLD = 0.05
"""Entries up to this are left out of a sparse matrix by default: pairs that hardly ever share a cluster."""


@overload
def psm(
    draws: DrawsLike,
    *,
    sparse: Literal[False] = ...,
    per_chain: bool = ...,
    n_jobs: int | None = ...,
) -> FloatArray: ...
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
        Whether to keep only the larger entries, in a SciPy sparse array: for many items.
    threshold : float, optional
        For ``sparse=True``: entries not above it are left out; 0.05 by default.
    per_chain : bool, default False
        Whether to return one matrix for each chain.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_items, n_items), or scipy.sparse.csr_array if `sparse`
        Symmetric, with ones on the diagonal. If `per_chain`, an array of shape (n_chains, n_items,
        n_items), or a list of sparse arrays.

    Notes
    -----
    Time O(n_items^2 n_draws), about 0.02 ns for each pair and draw. Memory: 8 bytes for each entry of the
    dense matrix, 12 for each entry kept in a sparse one, which is never dense on the way.

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

    def make(part: Draws) -> Any:
        return _sparse(part, bound, jobs) if sparse else _dense(part, jobs)

    if not per_chain:
        return make(sample)
    matrices = [make(sample.chain(number)) for number in range(sample.n_chains)]
    return matrices if sparse else np.stack(matrices)


def _dense(draws: Draws, n_jobs: int) -> FloatArray:
    """(n_items, n_items) the whole matrix."""
    n = draws.n_items
    try:
        return Similarity(draws).matrix(n_jobs)
    except MemoryError:
        raise MemoryError(
            f"'draws' has {n:,} items: a dense matrix takes {8 * n * n / 1e9:.0f} GB. Use sparse=True."
        ) from None


def _sparse(draws: Draws, threshold: float, n_jobs: int) -> Any:
    """The entries above the threshold as a CSR array, made block by block."""
    from scipy.sparse import csr_array

    n, rows = draws.n_items, Similarity(draws)

    def keep(begin: int, end: int) -> tuple[Any, Any, Any]:
        block = rows(begin, end, n)
        block[np.arange(end - begin), np.arange(begin, end)] = 1.0
        # Room for every entry of the block, of which only those kept are copied and returned.
        counts = np.empty(end - begin, dtype=np.int64)
        columns, values = np.empty(block.size, dtype=np.int32), np.empty(block.size)
        size = keep_above(block, threshold, counts, columns, values)
        return counts, columns[:size].copy(), values[:size].copy()

    blocks = list(zip(*map_blocks(n, keep, n_jobs), strict=True))
    # Values, columns and counts in turn: each list is freed before the next is copied, since together
    # they may fill the memory.
    data = np.concatenate(blocks.pop())
    columns = np.concatenate(blocks.pop())
    starts = np.concatenate([[0], np.cumsum(np.concatenate(blocks.pop()))])
    if starts[-1] < 2**31:
        # SciPy wants one type for both index arrays, and would otherwise copy the larger one.
        starts = starts.astype(np.int32)
    return csr_array((data, columns, starts), shape=(n, n))


def leaf_order(matrix: FloatArray, *, optimal: bool) -> IntArray:
    """Items with similar ones side by side: the leaves of the tree of average linkage, from left to right.

    `matrix` holds similarities P_ij, and the distances are 1 - P_ij. If `optimal`, branches are turned so
    that neighbors are as similar as they can be, which takes longer.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    n = len(matrix)
    # Any order of one or two leaves is a good one, and linkage needs two.
    if n <= 2:
        return np.arange(n)
    # The upper triangle row by row, the condensed form that SciPy takes.
    distances = 1.0 - matrix[np.triu_indices(n, 1)]
    # Rounding of a mean similarity may give a distance below 0, which linkage refuses.
    tree = linkage(np.maximum(distances, 0.0), "average", optimal_ordering=optimal)
    return leaves_list(tree).astype(np.int64)
