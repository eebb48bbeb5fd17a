"""Matrices with rows and columns in order of their clusters: similarities, and links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.draws import Draws, as_draws
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.estimate import Estimate
from epluribus.plots import _shared as shared
from epluribus.plots._names import name_clusters
from epluribus.plots._network import check_shape, read_links
from epluribus.uncertainty import psm as psm_of
from epluribus.uncertainty._matrix import order_by_similarity

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
    Of more than 2000 items, 2000 are shown: the same share of each cluster, at least one item.

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
    sample = as_draws(draws) if draws is not None else SimilarityMatrix.of(psm)
    labels, names = shared.read_partition(best, sample)
    n = sample.n_items
    keep = shared.some_of_each(labels, _SHOWN) if n > _SHOWN else np.arange(n)
    labels, matrix = labels[keep], similarities(sample, keep)
    clusters, order = order_by_similarity(matrix, labels)
    ax = shared.get_axes(ax, (6.2, 5.2), layout="compressed")
    size = labels.size
    # Few cells are drawn with sharp edges; where cells are smaller than dots, they are averaged.
    image = ax.imshow(
        matrix[np.ix_(order, order)], cmap="Blues", vmin=0, vmax=1,
        interpolation="nearest" if size <= 300 else "antialiased", extent=(0, size, size, 0),
    )  # fmt: skip
    edges = shared.cluster_edges(np.bincount(labels)[clusters])
    shared.draw_cuts(ax, edges, edges)
    colors = shared.cluster_colors(len(names))
    name_clusters(ax, [names[g] for g in clusters], edges, [colors[g] for g in clusters], font_size)
    ax.set(xlim=(0, size), ylim=(size, 0), xticks=[])
    ax.set_xlabel(f"{n:,} items" if size == n else f"{size:,} of {n:,} items")
    label = f"{shared.share_of(sample)} with both in one cluster"
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    return ax


def similarities(sample: Draws | SimilarityMatrix, keep: IntArray) -> FloatArray:
    """(n, n) similarities of the items `keep`, or of all."""
    if isinstance(sample, SimilarityMatrix):
        return sample.dense(keep)
    return psm_of(sample if len(keep) == sample.n_items else sample.select_items(keep))


def blocks(
    best: Estimate | LabelsLike,
    matrix: ArrayLike | Any,
    *,
    columns: Estimate | LabelsLike | None = None,
    column_names: Sequence[str] | None = None,
    font_size: float = 7,
    ax: Any = None,
) -> Any:
    """Matrix of zeros and ones (dark), rows and columns sorted by cluster, with lines between clusters.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_rows,)
        Cluster of each row. Clusters are shown in the order of their labels, which are written beside
        a strip of their colors.
    matrix : array_like of shape (n_rows, n_columns), sparse matrix, networkx graph or edges
        Zeros and ones; a network in one of the forms of `network`.
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
    With more than 2000 rows or columns, each one is a faint dot.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.blocks(["a", "b", "a"], [[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    >>> ax.images[0].get_array().data.tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    table, _ = read_links(matrix, best, "matrix")
    down, names = shared.read_partition(best)
    across = down if columns is None else shared.read_partition(columns, argument="columns")[0]
    check_shape(table, (down.size, across.size), "matrix")
    ax = shared.get_axes(ax, (5.5, 5.5))
    # Stable: within a cluster, items keep their order.
    by_row, by_column = np.argsort(down, kind="stable"), np.argsort(across, kind="stable")
    if max(table.shape) <= _SHOWN:
        dense = table if isinstance(table, np.ndarray) else table.toarray()
        # vmax 1.25 makes ones dark gray, so that the lines between clusters show.
        ax.imshow(dense[np.ix_(by_row, by_column)], cmap="Greys", vmin=0, vmax=1.25,
                  interpolation="nearest", extent=(0, across.size, down.size, 0))  # fmt: skip
    else:  # never made dense
        row, column = table.nonzero()
        ax.plot(np.argsort(by_column)[column] + 0.5, np.argsort(by_row)[row] + 0.5, ",",
                color="0.2", alpha=0.4, rasterized=True)  # fmt: skip
    ax.set_aspect("equal" if columns is None else "auto")
    row_edges, column_edges = (
        shared.cluster_edges(np.bincount(labels)) for labels in (down, across)
    )
    shared.draw_cuts(ax, row_edges, column_edges)
    name_clusters(ax, names, row_edges, shared.cluster_colors(len(names)), font_size)
    ax.set(xlim=(0, across.size), ylim=(down.size, 0), xticks=[])
    if column_names is not None:
        ax.set_xticks(np.arange(across.size) + 0.5, [column_names[j] for j in by_column])
        ax.tick_params(axis="x", rotation=90, labelsize=font_size, length=0)
    return ax
