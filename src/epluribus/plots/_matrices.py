"""Matrices with rows and columns in order of their clusters: similarities, and zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._order import best_first
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.draws import Draws, as_draws
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.estimate import Estimate
from epluribus.plots._names import name_left
from epluribus.plots._shared import (
    as_matrix,
    check_order,
    cluster_colors,
    cluster_edges,
    draw_cuts,
    even_steps,
    get_axes,
    read_partition,
)
from epluribus.uncertainty import psm as psm_of
from epluribus.uncertainty._matrix import leaf_order

_SHOWN = 2000
"""The largest number of items drawn: a picture has fewer dots than this across."""
_OPTIMAL = 300
"""The largest number of leaves of a tree that are put in the best order, which takes cubic time."""


@best_first
def similarity(
    best: Estimate | LabelsLike | None = None,
    draws: DrawsLike | None = None,
    *,
    psm: Any = None,
    font_size: float = 8,
    ax: Any = None,
) -> Any:
    """Heatmap of the posterior similarity matrix in order of the clusters, with lines between them.

    Similar clusters, and similar items within them, are side by side (average linkage).

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    psm : array_like or SciPy sparse matrix of shape (n_items, n_items), optional
        The matrix itself, in place of draws.
    font_size : float, default 8
        Font size of the names of the clusters.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Of more than 2000 items, 2000 are shown: the same share of each cluster, at least one item. The
    similarity of an item with itself is always 1, a line that carries no information: the diagonal
    shows the mean of the neighbors in the cluster instead.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]]
    >>> ax = epl.plots.similarity([0, 0, 1, 1], draws)
    >>> ax.images[0].get_array().data[0].tolist()
    [1.0, 1.0, 0.25, 0.0]
    """
    if best is None or (draws is None) == (psm is None):
        raise TypeError("Give similarity(best, draws), or similarity(best=best, psm=matrix).")
    check_order("similarity(best, draws)", best, draws)
    sample = as_draws(draws) if draws is not None else SimilarityMatrix.of(psm)
    labels, names = read_partition(best, sample.n_items)
    n = sample.n_items
    keep = _some_of_each(labels) if n > _SHOWN else np.arange(n)
    labels, matrix = labels[keep], _similarities(sample, keep)
    clusters, order = _order(matrix, labels)
    ax = get_axes(ax, (6.2, 5.2), "compressed")
    size = labels.size
    # Few cells are drawn with sharp edges; where cells are smaller than dots, they are averaged.
    image = ax.imshow(
        _fill_diagonal(matrix[np.ix_(order, order)], labels[order]), cmap="Blues", vmin=0, vmax=1,
        interpolation="nearest" if size <= 300 else "antialiased", extent=(0, size, size, 0),
    )  # fmt: skip
    edges = cluster_edges(np.bincount(labels)[clusters])
    draw_cuts(ax, edges[1:-1], edges[1:-1])
    colors = cluster_colors(len(names))
    name_left(ax, [names[g] for g in clusters], edges, [colors[g] for g in clusters], font_size)
    ax.set(xlim=(0, size), ylim=(size, 0), xticks=[])
    ax.set_xlabel(f"{n:,} items" if size == n else f"{size:,} of {n:,} items")
    ax.figure.colorbar(image, ax=ax, label="probability of sharing a cluster", shrink=0.8)
    return ax


def _similarities(sample: Draws | SimilarityMatrix, keep: IntArray) -> FloatArray:
    """(n, n) similarities of the items `keep`, or of all."""
    if isinstance(sample, SimilarityMatrix):
        return sample.dense(keep)
    if len(keep) < sample.n_items:
        # Other items make other draws equal: the distinct ones are found anew, with the weights kept.
        sample = Draws(np.asarray(sample)[:, keep], weights=sample.draw_weights)
    return psm_of(sample)


def _some_of_each(labels: IntArray) -> IntArray:
    """Items evenly spaced through the clusters, and the first of each cluster."""
    steps = np.argsort(labels, kind="stable")[even_steps(labels.size, _SHOWN)]
    return np.union1d(steps, np.unique(labels, return_index=True)[1])


def _fill_diagonal(matrix: FloatArray, labels: IntArray) -> FloatArray:
    """On the diagonal the mean similarity with the neighbors in the cluster, 1 where there is none."""
    # Similarity of each item with the next one, if that is in the same cluster.
    beside = np.where(labels[1:] == labels[:-1], matrix.diagonal(1), np.nan)
    # Row 0: with the item before; row 1: with the item after. The first and the last have only one.
    both = np.stack([np.append(np.nan, beside), np.append(beside, np.nan)])
    has = ~np.isnan(both)
    means = np.where(has, both, 0.0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    np.fill_diagonal(matrix, np.where(has.any(axis=0), means, 1.0))
    return matrix


def _order(matrix: FloatArray, labels: IntArray) -> tuple[IntArray, IntArray]:
    """Clusters, and items, in an order in which similar ones are neighbors."""
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


def blocks(
    matrix: ArrayLike | Any,
    rows: Estimate | LabelsLike,
    columns: Estimate | LabelsLike | None = None,
    *,
    column_names: Sequence[str] | None = None,
    font_size: float = 7,
    ax: Any = None,
) -> Any:
    """Matrix of zeros and ones (dark), rows and columns sorted by cluster, with lines between clusters.

    Parameters
    ----------
    matrix : array_like of shape (n_rows, n_columns), sparse matrix or networkx graph
        Zeros and ones; the nodes of a graph are taken in its order.
    rows : Estimate or array_like of shape (n_rows,)
        Cluster of each row. Clusters are shown in the order of their labels, which are written beside
        a strip of their colors.
    columns : Estimate or array_like of shape (n_columns,), optional
        Cluster of each column; by default those of the rows, as for the adjacency matrix of a network.
    column_names : sequence of str, optional
        Names written below the columns.
    font_size : float, default 7
        Font size of the names of clusters and columns.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.blocks([[0, 0, 1], [0, 0, 0], [1, 0, 0]], ["a", "b", "a"])
    >>> ax.images[0].get_array().data.tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    table = as_matrix(matrix)
    down, names = read_partition(rows, argument="rows")
    across = down if columns is None else read_partition(columns, argument="columns")[0]
    if table.ndim != 2 or table.shape != (down.size, across.size):
        raise ValueError(
            f"'matrix' must have one row and one column for each label, shape ({down.size}, "
            f"{across.size}); got shape {table.shape}."
        )
    ax = get_axes(ax, (5.5, 5.5))
    # Stable: within a cluster, items keep their order.
    by_row, by_column = np.argsort(down, kind="stable"), np.argsort(across, kind="stable")
    # vmax 1.25 makes ones dark gray, so that the lines between clusters show.
    ax.imshow(
        table[np.ix_(by_row, by_column)], cmap="Greys", vmin=0, vmax=1.25, interpolation="nearest",
        aspect="equal" if columns is None else "auto", extent=(0, across.size, down.size, 0),
    )  # fmt: skip
    row_edges, column_edges = (cluster_edges(np.bincount(labels)) for labels in (down, across))
    draw_cuts(ax, row_edges[1:-1], column_edges[1:-1], 0.6)
    name_left(ax, names, row_edges, cluster_colors(len(names)), font_size)
    ax.set(xlim=(0, across.size), ylim=(down.size, 0), xticks=[])
    if column_names is not None:
        ax.set_xticks(np.arange(across.size) + 0.5, [column_names[j] for j in by_column])
        ax.tick_params(axis="x", rotation=90, labelsize=font_size, length=0)
    return ax
