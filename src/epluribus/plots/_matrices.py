"""Matrices with rows and columns in order of their clusters: similarities, and zeros and ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.draws import Draws, as_draws
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.estimate import Estimate
from epluribus.plots._graphs import read_links
from epluribus.plots._names import name_left
from epluribus.plots._shared import (
    check_order,
    cluster_colors,
    cluster_edges,
    draw_cuts,
    even_steps,
    get_axes,
    read_partition,
)
from epluribus.uncertainty import psm as psm_of
from epluribus.uncertainty._order import order_by_similarity

_SHOWN = 2000
"""The largest number of items drawn: a picture has fewer dots than this across."""


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
    keep = some_of_each(labels, _SHOWN) if n > _SHOWN else np.arange(n)
    labels, matrix = labels[keep], similarities(sample, keep)
    clusters, order = order_by_similarity(matrix, labels)
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


def similarities(sample: Draws | SimilarityMatrix, keep: IntArray) -> FloatArray:
    """(n, n) similarities of the items `keep`, or of all."""
    if isinstance(sample, SimilarityMatrix):
        return sample.dense(keep)
    if len(keep) < sample.n_items:
        # Other items make other draws equal: the distinct ones are found anew, with the weights kept.
        sample = Draws(np.asarray(sample)[:, keep], weights=sample.draw_weights)
    return psm_of(sample)


def some_of_each(labels: IntArray, most: int) -> IntArray:
    """Items evenly spaced through the clusters, at most `most`, and the first of each cluster."""
    steps = np.argsort(labels, kind="stable")[even_steps(labels.size, most)]
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
        Zeros and ones. The nodes of a graph are found by the names of the items of an estimate; labels
        without names are in the order of the graph, which is refused if its nodes are 0, 1, ... in another
        order.
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

    Notes
    -----
    With more than 2000 rows or columns, each cell stands for a few neighbors in the order of the clusters,
    and its darkness grows with the root of the number of ones among them.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.blocks([[0, 0, 1], [0, 0, 0], [1, 0, 0]], ["a", "b", "a"])
    >>> ax.images[0].get_array().data.tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    table, _ = read_links(matrix, rows, "matrix")
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
        _cells(table, by_row, by_column), cmap="Greys", vmin=0, vmax=1.25, interpolation="nearest",
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


def _cells(table: Any, by_row: IntArray, by_column: IntArray) -> FloatArray | IntArray:
    """The matrix in this order; of a large one, how full each of at most 2000 x 2000 blocks is."""
    if max(table.shape) <= _SHOWN:
        dense = table if isinstance(table, np.ndarray) else table.toarray()
        return np.asarray(dense[np.ix_(by_row, by_column)])
    from scipy.sparse import coo_array

    # Never made dense: the ones are counted in the cells into which they fall. All cells are of one size,
    # but for the last, or they would differ in darkness.
    ones, steps = coo_array(table), [-(-size // _SHOWN) for size in table.shape]
    n_rows, n_columns = (-(-size // step) for size, step in zip(table.shape, steps, strict=True))
    row, column = (
        np.argsort(by_row)[ones.row] // steps[0],
        np.argsort(by_column)[ones.col] // steps[1],
    )
    counts = np.bincount(row * n_columns + column, ones.data != 0, n_rows * n_columns)
    # The root: in most networks few cells are nearly full, and the others would be too pale.
    return np.sqrt(counts.reshape(n_rows, n_columns) / max(float(counts.max()), 1.0))
