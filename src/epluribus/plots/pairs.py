"""Data of several columns, every two of them against each other, by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._clusters import bin_edges, check_axes, read_data, read_partition
from epluribus.plots._figure import cluster_colors
from epluribus.plots.scatter import draw_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from epluribus._typing import LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["pairs"]

_COLUMNS = 10
"""Columns at most: beyond, panels are too small to read."""


def pairs(
    X: ArrayLike,
    best: Estimate | LabelsLike,
    *,
    names: Sequence[str] | None = None,
    axes: Any = None,
) -> Any:
    """Every two columns as a scatter plot below the diagonal, each column as histograms on it.

    Parameters
    ----------
    X : array_like of shape (n_items, n_columns)
        At most 10 columns.
    best : Estimate or array_like of shape (n_items,)
        The partition.
    names : sequence of str, optional
        Names of the columns; by default those of a data frame, or x0, x1, ...
    axes : array of n_columns x n_columns matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ndarray of matplotlib Axes, shape (n_columns, n_columns)
        Those above the diagonal are empty; the legend is in the upper right corner.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> axes = epl.plots.pairs([[0, 0, 1], [0, 1, 2], [5, 5, 5]], [0, 0, 1])
    >>> axes.shape, axes[2, 0].get_xlabel(), axes[2, 0].get_ylabel()
    ((3, 3), 'x0', 'x2')
    """
    data = read_data(X)
    labels, clusters = read_partition(best, len(data))
    d = data.shape[1]
    if not 2 <= d <= _COLUMNS:
        way_out = "Use epluribus.plots.histogram." if d == 1 else "Choose some of the columns."
        raise ValueError(f"'X' must have 2 to {_COLUMNS} columns; got {d}. {way_out}")
    if names is None:
        names = [str(name) for name in getattr(X, "columns", [f"x{j}" for j in range(d)])]
    if len(names) != d:
        raise ValueError(f"'names' must have one name for each of {d} columns; got {len(names)}.")
    axes = check_axes(axes, (d, d), (1.2 + 1.75 * d, 0.6 + 1.65 * d))
    colors = cluster_colors(len(clusters))
    unnamed = dict.fromkeys(range(len(clusters)), "")
    size = float(np.clip(2500 / len(data), 4, 16))
    for i, j in np.ndindex(d, d):
        ax = axes[i, j]
        if j > i:
            ax.set_axis_off()
        elif i == j:
            edges = bin_edges(data[:, i], labels, most=25)
            groups = [data[labels == g, i] for g in range(len(clusters))]
            ax.hist(groups, bins=edges, stacked=True, color=colors)
            ax.set_yticks([])
        else:
            draw_points(ax, data[:, [j, i]], labels, unnamed, colors, size=size)
        ax.spines[["top", "right"]].set_visible(False)
        if i == d - 1:
            ax.set_xlabel(names[j])
        else:
            ax.tick_params(labelbottom=False)
        if j == 0 and i > 0:
            ax.set_ylabel(names[i])
        elif j > 0:
            ax.tick_params(labelleft=False)
    handles = [axes[1, 0].collections[g] for g in range(len(clusters))]
    legend = axes[0, -1].legend(
        handles, clusters, title="cluster", frameon=False, loc="upper right", fontsize=9,
        ncols=1 + (len(clusters) - 1) // 8, markerscale=(36 / size) ** 0.5, borderaxespad=0.0,
        handletextpad=0.2, columnspacing=0.8,
    )  # fmt: skip
    legend.set_in_layout(d == 2)  # with more columns the panels beside it are empty
    return axes
