"""A binary matrix with rows and columns put in order of their clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._figure import cluster_colors, get_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from epluribus._typing import LabelsLike

__all__ = ["blocks"]

_STRIP = 0.025
"""Width of the strip of cluster colors, as a share of the picture."""


def blocks(
    matrix: ArrayLike,
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
    matrix : array_like of shape (n_rows, n_columns)
        Zeros and ones.
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
    table = np.asarray(matrix)
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
    _name_clusters(ax, down, font_size)
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


def _name_clusters(ax: Any, labels: NDArray[Any], font_size: float) -> None:
    """A strip of colors left of the rows, and the names of the clusters, kept apart."""
    names, edges = np.unique(labels), _edges(labels)
    across = ax.get_yaxis_transform()
    for color, low, high in zip(cluster_colors(names.size), edges[:-1], edges[1:], strict=True):
        ax.fill_betweenx([low, high], -2 * _STRIP, -0.4 * _STRIP, transform=across, color=color,
                         linewidth=0, clip_on=False)  # fmt: skip
    height = ax.get_position().height * ax.figure.get_figheight() * 72  # in points
    gap = 1.15 * font_size * labels.size / height
    middle = (edges[:-1] + edges[1:]) / 2
    for name, place, where in zip(names, middle, spread(middle, gap), strict=True):
        ax.plot([-2 * _STRIP, -3 * _STRIP], [place, where], transform=across, color="#808080",
                linewidth=0.5, clip_on=False)  # fmt: skip
        ax.text(-3.2 * _STRIP, where, str(name), transform=across, ha="right", va="center",
                fontsize=font_size)  # fmt: skip
    ax.set_yticks([])


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
