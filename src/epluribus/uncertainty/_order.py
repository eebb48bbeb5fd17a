"""Orders in which similar items and clusters are neighbors: the leaves of trees of average linkage."""

from __future__ import annotations

import numpy as np

from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.estimate import Estimate, read_best
from epluribus.uncertainty._matrix import psm

_OPTIMAL = 300
"""The largest number of leaves of a tree that are put in the best order, which takes cubic time."""


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
    distances = 1.0 - np.nan_to_num(matrix[np.triu_indices(n, 1)])  # never seen together: apart
    # Rounding of a mean similarity may give a distance below 0, which linkage refuses.
    tree = linkage(np.maximum(distances, 0.0), "average", optimal_ordering=optimal)
    return leaves_list(tree).astype(np.int64)


def order_by_similarity(matrix: FloatArray, labels: IntArray) -> tuple[IntArray, IntArray]:
    """Clusters, and items, in an order in which similar ones are neighbors; see `similarity_order`."""
    # Row g averages over the items of cluster g: mean similarities between clusters.
    average = (labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)
    average /= average.sum(axis=1, keepdims=True)
    clusters = leaf_order(average @ matrix @ average.T, optimal=len(average) <= _OPTIMAL)
    # Items are sorted within their own clusters, so that clusters stay together.
    parts = []
    for g in clusters:
        items = np.flatnonzero(labels == g)
        own = matrix[np.ix_(items, items)]
        parts.append(items[leaf_order(own, optimal=len(items) <= _OPTIMAL)])
    return clusters, np.concatenate(parts)


def similarity_order(
    best: Estimate | LabelsLike, draws: DrawsLike, *, n_jobs: int | None = None
) -> tuple[IntArray, IntArray]:
    """Clusters, and items, in the order of the similarity heatmap: similar ones are neighbors.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The estimate.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    clusters : ndarray of shape (n_clusters,)
        The clusters, from the first to the last.
    items : ndarray of shape (n_items,)
        The items: all of the first cluster, then all of the second, and so on.

    Notes
    -----
    The leaves of trees of average linkage: one of the clusters, by their mean similarities, and one of
    the items of each cluster. The similarity matrix is formed: memory O(n_items^2).

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 1, 0, 2, 2], [0, 1, 0, 2, 2], [0, 1, 0, 1, 1]]
    >>> clusters, items = epl.uncertainty.similarity_order([0, 1, 0, 2, 2], draws)
    >>> clusters.tolist(), items.tolist()
    ([0, 2, 1], [0, 2, 3, 4, 1])
    """
    labels, sample, _ = read_best(best, draws, None)
    return order_by_similarity(psm(sample, n_jobs=n_jobs), labels)
