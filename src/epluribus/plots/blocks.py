"""A binary matrix with rows and columns put in order of their clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._clusters import read_partition
from epluribus.plots._figure import as_matrix, cluster_colors, get_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from epluribus._typing import IntArray, LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["LEADER", "blocks", "name_clusters", "place_names", "shifted", "spread"]

LEADER = {"arrowstyle": "-", "color": "#808080", "linewidth": 0.5, "shrinkA": 1, "shrinkB": 0}
"""The line from a cluster to its name."""


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
        Zeros and ones; of a graph, the nodes in its order.
    rows : Estimate or array_like of shape (n_rows,)
        Cluster of each row. Clusters are shown in the order of their labels, which are written beside
        a strip of their colors.
    columns : Estimate or array_like of shape (n_columns,), optional
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
    down, names = read_partition(rows, argument="rows")
    across = down if columns is None else read_partition(columns, argument="columns")[0]
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
    name_clusters(ax, names, _edges(down), cluster_colors(len(names)), font_size)
    ax.set(xlim=(0, across.size), ylim=(down.size, 0))
    if column_names is None:
        ax.set_xticks([])
    else:
        ax.set_xticks(np.arange(across.size) + 0.5, [column_names[j] for j in by_column])
        ax.tick_params(axis="x", rotation=90, labelsize=font_size, length=0)
    return ax


def _edges(labels: IntArray) -> NDArray[np.int64]:
    """Where clusters begin and end once sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(labels))])


def name_clusters(
    ax: Any,
    names: Sequence[str],
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
    middle = (edges[:-1] + edges[1:]) / 2
    places, font_size = place_names(middle, float(edges[-1]), height, font_size)
    for name, place, where in zip(names, middle, places, strict=True):
        ax.annotate(name, (0, place), (0, where), xycoords=line, textcoords=text, ha="right",
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


def place_names(
    middle: NDArray[np.float64], total: float, points: float, font_size: float
) -> tuple[NDArray[np.float64], float]:
    """Places of names along an axis from 0 to `total`, so many points long, and their font size.

    They stay within the axis; where there is no room for all of them they are written smaller.
    """
    font_size = min(font_size, points / (1.15 * middle.size))
    gap = 1.15 * font_size * total / points
    return spread(middle, gap, gap / 2, total - gap / 2), font_size


def spread(
    places: ArrayLike, gap: float, low: float = -np.inf, high: float = np.inf
) -> NDArray[np.float64]:
    """Ascending places moved as little as needed to be `gap` apart (least squares, by pooling).

    They stay between `low` and `high`, nearer to each other than `gap` where there is no room.
    """
    wanted = np.asarray(places, dtype=np.float64)
    gap = min(gap, max(high - low, 0.0) / max(wanted.size - 1, 1))
    offset = gap * np.arange(wanted.size)
    groups: list[list[float]] = []  # mean of (place - offset), how many
    for value in wanted - offset:
        groups.append([value, 1.0])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            mean, n = groups.pop()
            before, m = groups.pop()
            groups.append([(mean * n + before * m) / (n + m), n + m])
    pooled = np.concatenate([np.full(int(n), mean) for mean, n in groups])
    return np.asarray(np.clip(pooled, low, high - offset[-1]) + offset)
