"""Matrices with rows and columns in order of their clusters: similarities, links, and rates of links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.draws import Draws, as_draws
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.estimate import Estimate
from epluribus.models.links import BlockTable
from epluribus.plots import _shared as shared
from epluribus.plots._names import name_clusters
from epluribus.plots._network import read_links
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
    down, names = shared.read_partition(rows, argument="rows")
    across = down if columns is None else shared.read_partition(columns, argument="columns")[0]
    if table.ndim != 2 or table.shape != (down.size, across.size):
        raise ValueError(
            f"'matrix' must have one row and one column for each label, shape ({down.size}, "
            f"{across.size}); got shape {table.shape}."
        )
    ax = shared.get_axes(ax, (5.5, 5.5))
    # Stable: within a cluster, items keep their order.
    by_row, by_column = np.argsort(down, kind="stable"), np.argsort(across, kind="stable")
    # vmax 1.25 makes ones dark gray, so that the lines between clusters show.
    ax.imshow(
        _cells(table, by_row, by_column), cmap="Greys", vmin=0, vmax=1.25, interpolation="nearest",
        aspect="equal" if columns is None else "auto", extent=(0, across.size, down.size, 0),
    )  # fmt: skip
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


def _cells(table: Any, by_row: IntArray, by_column: IntArray) -> AnyArray:
    """The matrix in this order; of a large one, how full each of at most 2000 x 2000 blocks is."""
    if max(table.shape) <= _SHOWN:
        dense = table if isinstance(table, np.ndarray) else table.toarray()
        return np.asarray(dense[np.ix_(by_row, by_column)])
    from scipy.sparse import coo_array

    # Never made dense: the ones are counted in the cells into which they fall. All cells are of one size,
    # but for the last, or they would differ in darkness.
    ones, steps = coo_array(table), [-(-size // _SHOWN) for size in table.shape]
    row, column = (
        np.argsort(by_row)[ones.row] // steps[0],
        np.argsort(by_column)[ones.col] // steps[1],
    )
    counts = np.zeros([-(-size // step) for size, step in zip(table.shape, steps, strict=True)])
    np.add.at(counts, (row, column), ones.data != 0)
    # The root: in most networks few cells are nearly full, and the others would be too pale.
    return np.asarray(np.sqrt(counts / max(float(counts.max()), 1.0)))


def block_rates(table: BlockTable, *, ax: Any = None) -> Any:
    """Rates of links between clusters: the darker a block, the more links there are for its pairs of nodes.

    Sides of blocks are as long as the roots of the sizes of clusters, so that small ones are seen too. Colors
    are logarithmic; rates are written where there is room. It needs no picture of the nodes: networks of any
    size can be shown.

    Parameters
    ----------
    table : BlockTable
        From `block_table` of a block model of a network.
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
    >>> model = epl.models.StochasticBlockModel([(0, 1), (1, 2), (0, 2), (3, 4)], n_nodes=5)
    >>> ax = epl.plots.block_rates(model.block_table([0, 0, 0, 1, 1]))
    >>> [text.get_text() for text in ax.texts]
    ['0.88', '0.071', '0.071', '0.75']
    """
    if not isinstance(table, BlockTable):
        raise TypeError(
            "'table' must be what block_table of a block model returns; got a "
            f"{type(table).__name__}."
        )
    from matplotlib.colors import LogNorm

    ax = shared.get_axes(ax, (5.2, 4.4))
    edges = shared.cluster_edges(np.sqrt(table.sizes))
    middle, share = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / edges[-1]
    low, high = float(table.mean.min()), float(table.mean.max())
    # One value alone has no range of colors.
    high = high if high > low else 1.1 * high
    colors = LogNorm(low, high)
    mesh = ax.pcolormesh(edges, edges, table.mean, cmap="Blues", norm=colors, edgecolors="white")
    mesh.set_linewidth(0.6 if table.sizes.size <= 40 else 0)
    ax.invert_yaxis()
    ax.set_aspect("equal")
    # A number is written at the sides, and into a block, where it has room.
    named = np.flatnonzero(share >= 1 / 42)
    ax.set_xticks(middle[named], named, fontsize=8)
    ax.set_yticks(middle[named], named, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    direction = ("to cluster", "from cluster") if table.directed else ("cluster", "cluster")
    ax.set(xlabel=direction[0], ylabel=direction[1])
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.8, label="links per pair of nodes")
    shared.log_ticks(bar.ax.yaxis, low, high)
    for g, h in np.argwhere((share[:, None] >= 1 / 25) & (share >= 1 / 10)):
        # White on dark blocks.
        color = "white" if colors(table.mean[g, h]) > 0.6 else "black"
        ax.text(middle[h], middle[g], f"{table.mean[g, h]:.2g}", ha="center", va="center",
                fontsize=8, color=color)  # fmt: skip
    return ax
