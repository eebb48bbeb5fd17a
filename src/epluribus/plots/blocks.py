"""A binary matrix with rows and columns put in order of their clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._figure import as_matrix, cluster_colors, get_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from epluribus._typing import IntArray, LabelsLike

__all__ = ["LEADER", "blocks", "name_clusters", "shifted", "spread"]

LEADER = {"arrowstyle": "-", "color": "#808080", "linewidth": 0.5, "shrinkA": 1, "shrinkB": 0}
"""The line from a cluster to its name."""


def blocks(
    matrix: ArrayLike | Any,
    rows: LabelsLike,
    columns: LabelsLike | None = None,
    *,
    column_names: Sequence[str] | None = None,
    font_size: float = 7,
    ax: Any = None,
) -> Any:
    """Matrix of zeros and ones (dark), rows and columns sorted by cluster, with lines between clusters.

    Parameters
    ----------
    matrix : array_like of shape (n_rows, n_columns), sparse matrix or networkx graph
        Zeros and ones; of a graph, the nodes in its order.
    rows : array_like of shape (n_rows,)
        Cluster of each row. Clusters are shown in the order of their labels, which are written beside
        a strip of their colors.
    columns : array_like of shape (n_columns,), optional
        Cluster of each column; by default those of the rows, as for the adjacency matrix of a network.
    column_names : sequence of str, optional
        Written below the columns instead of their clusters.
    font_size : float, default 7
        Of the names of clusters and columns.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    table = as_matrix(matrix)
    down = np.asarray(rows)
    across = down if columns is None else np.asarray(columns)
    if table.ndim != 2 or table.shape != (down.size, across.size):
        raise ValueError(
            f"'matrix' must have one row and one column for each label, shape ({down.size}, "
            f"{across.size}); got shape {table.shape}."
        )
    ax = get_axes(ax, (5.5, 5.5))
    by_row, by_column = np.argsort(down, kind="stable"), np.argsort(across, kind="stable")
    ax.imshow(
        table[np.ix_(by_row, by_column)],
        cmap="Greys",
        vmin=0,
        vmax=1.25,  # ones in dark grey, so that the lines between clusters show
        interpolation="nearest",
        aspect="equal" if columns is None else "auto",
        extent=(0, across.size, down.size, 0),
    )
    for labels, draw in ((down, ax.axhline), (across, ax.axvline)):
        for edge in _edges(labels)[1:-1]:
            draw(edge, color="#D55E00", linewidth=0.6)
    names = np.unique(down)
    name_clusters(ax, names, _edges(down), cluster_colors(names.size), font_size)
    ax.set(xlim=(0, across.size), ylim=(down.size, 0))
    if column_names is None:
        ax.set_xticks([])
    else:
        ax.set_xticks(np.arange(across.size) + 0.5, [column_names[j] for j in by_column])
        ax.tick_params(axis="x", rotation=90, labelsize=font_size, length=0)
    return ax


def _edges(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Where clusters begin and end once sorted."""
    return np.concatenate([[0], np.cumsum(np.unique(labels, return_counts=True)[1])])


def name_clusters(
    ax: Any,
    names: Sequence[Any] | NDArray[Any],
    edges: IntArray,
    colors: Sequence[Any],
    font_size: float,
) -> None:
    """A strip of colors left of the rows, and the names of the clusters, kept apart."""
    strip, line, text = (shifted(ax, "left", points) for points in (9, 14, 19))
    for color, low, high in zip(colors, edges[:-1], edges[1:], strict=True):
        ax.plot([0, 0], [low, high], transform=strip, color=color, linewidth=9, clip_on=False,
                solid_capstyle="butt")  # fmt: skip
    height = ax.bbox.height * 72 / ax.figure.dpi  # in points
    gap = 1.15 * font_size * int(edges[-1]) / height
    middle = (edges[:-1] + edges[1:]) / 2
    for name, place, where in zip(names, middle, spread(middle, gap), strict=True):
        ax.annotate(str(name), (0, place), (0, where), xycoords=line, textcoords=text, ha="right",
                    va="center", fontsize=font_size, arrowprops=LEADER | {"relpos": (1, 0.5)},
                    annotation_clip=False)  # fmt: skip
    ax.set_yticks([])


def shifted(ax: Any, side: str, points: float) -> Any:
    """Data along one side of the Axes, so many points outside of it."""
    from matplotlib.transforms import ScaledTranslation

    left = side == "left"
    along = ax.get_yaxis_transform() if left else ax.get_xaxis_transform()
    x, y = (-points / 72, 0.0) if left else (0.0, -points / 72)
    return along + ScaledTranslation(x, y, ax.figure.dpi_scale_trans)


def spread(places: ArrayLike, gap: float) -> NDArray[np.float64]:
    """Ascending places moved as little as needed to be `gap` apart (least squares, by pooling)."""
    wanted = np.asarray(places, dtype=np.float64)
    offset = gap * np.arange(wanted.size)
    groups: list[list[float]] = []  # mean of (place - offset), how many
    for value in wanted - offset:
        groups.append([value, 1.0])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            mean, n = groups.pop()
            before, m = groups.pop()
            groups.append([(mean * n + before * m) / (n + m), n + m])
    return np.concatenate([np.full(int(n), mean) for mean, n in groups]) + offset
