"""The posterior similarity matrix: the probability, for every two items, that they share a cluster.

    P_ij = sum_t w_t [z_ti = z_tj] / sum_t w_t

The matrix is computed in blocks of rows, one block at a time per thread; if all draws have the same weight,
each entry is a count divided by a count, and exact up to that division.

Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. doi:10.1093/biomet/65.1.31

Orders of clusters and items in which similar ones are neighbors are the leaves of trees of average linkage.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._parallel import Stopper, resolve_jobs
from epluribus._progress import Progress, ProgressLike
from epluribus._typing import DrawsLike, FloatArray, IntArray
from epluribus._validate import check_fraction, check_memory, shown
from epluribus.draws import as_draws
from epluribus.draws.expected import Similarity, map_blocks

_THRESHOLD = 0.05
"""Entries up to this are left out of a sparse matrix by default: pairs that hardly ever share a cluster."""
_INSTEAD = (
    "`uncertainty.items` has the certainty of every item, `plots.similarity` a picture of some of them, and "
    "neither needs the matrix."
)


def psm(
    draws: DrawsLike,
    *,
    sparse: bool = False,
    threshold: float | None = None,
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
        items, NaN if there are none.

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
    least = _THRESHOLD if threshold is None else threshold
    bound = check_fraction(least, "threshold", zero=True, one=False)
    n, jobs, stopper, rows = sample.n_items, resolve_jobs(n_jobs), Stopper(), Similarity(sample)
    _check_memory(rows, n, bound if sparse else None)
    bar = Progress(progress, n, "similarity", stopper)
    done = 0

    def advance(n_rows: int) -> None:
        nonlocal done
        done += n_rows
        bar.show(done, {})

    try:
        if sparse:
            return _sparse(rows, n, bound, jobs, stopper, advance)
        return rows.matrix(jobs, stopper, advance)
    finally:
        bar.close()


def _sparse(
    rows: Similarity, n: int, threshold: float, n_jobs: int, stopper: Stopper, advance: Any
) -> Any:
    """The entries above the threshold as a CSR array, made block by block."""
    from scipy.sparse import csr_array, vstack

    def keep(begin: int, end: int) -> Any:
        block = rows(begin, end, n)
        block[np.arange(end - begin), np.arange(begin, end)] = 1.0
        block[~(block > threshold)] = 0.0  # also NaN, of items that were never seen together
        return csr_array(block)

    blocks = map_blocks(n, keep, n_jobs, stopper, on_done=lambda block: advance(block.shape[0]))
    return vstack(blocks, format="csr")


def _check_memory(rows: Similarity, n: int, threshold: float | None) -> None:
    """Refuse a matrix that would not fit; the size of a sparse one is estimated from a few of its rows."""
    if threshold is None:
        needed = 8.0 * n**2
        what = f"A dense similarity matrix of {n:,} items"
        way_out = "Use sparse=True, which keeps the larger entries only, or fewer items."
    else:
        # Eight blocks of eight rows, the same ones every time: whether a matrix is refused is not left to chance.
        size = min(8, n)
        begins = np.random.default_rng(0).integers(n - size + 1, size=8).tolist()
        share = np.mean([(rows(begin, begin + size, n) > threshold).mean() for begin in begins])
        # 20 bytes for an entry: the blocks, and the values once more while they are put together.
        needed = 20.0 * float(share) * n * n
        kept = f"of whose entries about {100 * share:.2g}% are above {threshold:g},"
        what = f"A sparse similarity matrix of {n:,} items, {kept}"
        way_out = "Choose a higher threshold, or fewer items."
    check_memory(needed, what, f"{way_out} {_INSTEAD}")


def leaf_order(matrix: FloatArray) -> IntArray:
    """Items with similar ones side by side: the leaves of the tree of average linkage, from left to right.

    `matrix` holds similarities P_ij, and the distances are 1 - P_ij. Branches of up to 300 leaves are
    turned so that neighbors are as similar as they can be, which takes cubic time.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    n = len(matrix)
    # Any order of one or two leaves is a good one, and linkage needs two.
    if n <= 2:
        return np.arange(n)
    # The upper triangle row by row, the condensed form that SciPy takes.
    distances = 1.0 - np.nan_to_num(matrix[np.triu_indices(n, 1)])  # never seen together: apart
    # Rounding of a mean similarity may give a distance below 0, which linkage refuses.
    tree = linkage(np.maximum(distances, 0.0), "average", optimal_ordering=n <= 300)
    return leaves_list(tree).astype(np.int64)


def order_by_similarity(matrix: FloatArray, labels: IntArray) -> tuple[IntArray, IntArray]:
    """Clusters, and items, in an order in which similar ones are neighbors, as in the similarity heatmap."""
    # Row g averages over the items of cluster g: mean similarities between clusters.
    average = (labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)
    average /= average.sum(axis=1, keepdims=True)
    clusters = leaf_order(average @ matrix @ average.T)
    # Items are sorted within their own clusters, so that clusters stay together.
    parts = [np.flatnonzero(labels == g) for g in clusters]
    ordered = [items[leaf_order(matrix[np.ix_(items, items)])] for items in parts]
    return clusters, np.concatenate(ordered)
