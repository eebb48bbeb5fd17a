"""The posterior similarity matrix: the probability that two items share a cluster.

    P_ij = sum_t w_t [z_ti = z_tj] / sum_t w_t

Items are compared over all draws in blocks of rows, one block per thread; with draws of equal weight
the matrix is a count divided by a count, free of rounding.

Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. doi:10.1093/biomet/65.1.31
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from epluribus._kernels.similarity import keep_above
from epluribus._parallel import resolve_jobs
from epluribus._validate import check_fraction
from epluribus.diagnostics import Similarity, map_blocks
from epluribus.draws import Draws, as_draws

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus._typing import DrawsLike

__all__ = ["psm"]

_THRESHOLD = 0.05
"""What a sparse matrix leaves out by default: pairs that hardly ever share a cluster."""


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
    the dense matrix, 12 for each one kept in a sparse matrix; a sparse matrix is never dense on the way.

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
    matrices = [make(sample.chain(number)) for number in range(sample.n_chains)]
    return matrices if sparse else np.stack(matrices)


def _dense(draws: Draws, n_jobs: int) -> NDArray[np.float64]:
    n, rows = draws.n_items, Similarity(draws)
    try:
        out = np.empty((n, n))
    except MemoryError:
        raise MemoryError(
            f"'draws' has {n:,} items: a dense matrix takes {8 * n * n / 1e9:.0f} GB. Use sparse=True."
        ) from None

    def fill(begin: int, end: int) -> None:
        block = rows(begin, end, end)  # the lower triangle, mirrored
        out[begin:end, :end] = block
        out[:begin, begin:end] = block[:, :begin].T

    map_blocks(n, fill, n_jobs)
    np.fill_diagonal(out, 1.0)  # sums of weights may be rounded
    return out


def _sparse(draws: Draws, threshold: float, n_jobs: int) -> Any:
    from scipy.sparse import csr_array

    n, rows = draws.n_items, Similarity(draws)

    def keep(begin: int, end: int) -> tuple[Any, Any, Any]:
        block = rows(begin, end, n)
        block[np.arange(end - begin), np.arange(begin, end)] = 1.0
        counts = np.empty(end - begin, dtype=np.int64)
        columns, values = np.empty(block.size, dtype=np.int32), np.empty(block.size)
        size = keep_above(block, threshold, counts, columns, values)
        return counts, columns[:size].copy(), values[:size].copy()

    blocks = map_blocks(n, keep, n_jobs)
    counts, columns, values = (list(part) for part in zip(*blocks, strict=True))
    del blocks
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    if starts[-1] < 2**31:
        starts = starts.astype(np.int32)  # one type for both index arrays, or SciPy converts them
    data = np.concatenate(values)
    values.clear()  # frees them before the next copy is made
    return csr_array((data, np.concatenate(columns), starts), shape=(n, n))
