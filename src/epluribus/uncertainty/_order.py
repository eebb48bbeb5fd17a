"""Orders of clusters and items in which similar ones are neighbors: the leaves of trees of average linkage."""

from __future__ import annotations

import numpy as np

from epluribus._typing import FloatArray, IntArray


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
