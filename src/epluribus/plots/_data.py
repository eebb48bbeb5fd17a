"""The data, colored by cluster: one column, two columns, or every pair of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._text import count
from epluribus._typing import AnyArray, FloatArray, IntArray, LabelsLike
from epluribus.estimate import Estimate
from epluribus.partition import is_estimate
from epluribus.plots import _shared as shared

_MARKERS = "os^Dvp>X<Ph"
"""Shapes of points: with eleven of them and seven safe colors, neighbors in the list differ in both."""
_COLUMNS = 10
"""The largest number of columns of `pairs`: with more, the panels are too small to read."""


def histogram(
    best: Estimate | LabelsLike,
    values: ArrayLike,
    *,
    bins: int | str | ArrayLike | None = None,
    ax: Any = None,
) -> Any:
    """Histogram of one value per item, stacked and colored by cluster, with a tick for each item.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    values : array_like of shape (n_items,)
        One number per item. The name of a series or of a column is written along the axis.
    bins : int, str or array_like, optional
        Number of bars, the name of a rule, or the edges, as accepted by `numpy.histogram_bin_edges`.
        By default 15 to 60 bars, more for more items (the rule of Freedman and Diaconis).
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    scatter : for two values per item.
    pairs : for more.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.histogram(["right", "left", "right", "left"], [5.1, 0.2, 5.3, 0.1])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['left: 2 items', 'right: 2 items']
    """
    labels, names, data = _read(best, values, "values", columns=1)
    y = data[:, 0]
    ax = shared.get_axes(ax, shared.beside_legend(len(names), 3.6))
    colors = dict(enumerate(shared.cluster_colors(len(names))))
    legend = [f"{names[g]}: {count(int((labels == g).sum()), 'item')}" for g in colors]
    stack_bars(ax, y, labels, colors, bins=bin_edges(y, labels, bins), label=legend)
    for g, color in colors.items():
        # Ticks just below the axis: across in units of the data, down in shares of the height.
        own = y[labels == g]
        ax.plot(own, np.full(own.size, -0.02), "|", color=color, clip_on=False,
                transform=ax.get_xaxis_transform(), markersize=7)  # fmt: skip
    # The numbers of the axis move down, below the ticks of the items.
    ax.tick_params(axis="x", pad=9)
    shared.label_axes(ax, shared.column_names(values, 1))
    ax.set_ylabel("items")
    shared.legend_beside(ax, *ax.get_legend_handles_labels())
    return ax


def bin_edges(values: FloatArray, labels: IntArray, bins: Any = None, most: int = 60) -> FloatArray:
    """Edges of the bars of a histogram: what NumPy makes of `bins`, by default 15 to `most` bars.

    The default follows Freedman & Diaconis (1981, doi:10.1007/BF01025868), bars 2 IQR / n^(1/3) wide. The
    interquartile range (IQR) is that of the deviations from the medians of the clusters: that of the
    values themselves grows with the distance between clusters and would make the bars too wide.
    """
    if bins is None:
        medians = np.array([np.median(values[labels == g]) for g in range(labels.max() + 1)])
        quartiles = np.percentile(values - medians[labels], [25, 75])
        width = 2 * np.ptp(quartiles) / np.cbrt(values.size)
        # range / width bars, at most `most` and at least 15. If all values are equal, both widths are 0
        # and 1e-300 keeps the division defined: 0 bars, raised to 15.
        bins = int(max(np.ceil(np.ptp(values) / max(width, np.ptp(values) / most, 1e-300)), 15))
    return np.asarray(np.histogram_bin_edges(values, bins))


def stack_bars(
    ax: Any, values: AnyArray, labels: IntArray, colors: dict[int, Any], **options: Any
) -> None:
    """A histogram with bars stacked by cluster, in the order of `colors` from the bottom up."""
    groups = [values[labels == g] for g in colors]
    ax.hist(groups, stacked=True, color=list(colors.values()), **options)


def scatter(best: Estimate | LabelsLike, X: ArrayLike, *, ax: Any = None) -> Any:
    """Items as points; each cluster has a color and a shape.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    X : array_like of shape (n_items, n_columns)
        Two numbers for each item. Of more, the first two principal components are shown, each column standardized.
        Names of columns are written along the axes.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pairs : every pair of columns.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.scatter(["a", "a", "b"], [[0, 0], [0, 1], [5, 5]])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    labels, names, data = _read(best, X, "X")
    if data.shape[1] == 1:
        raise ValueError("'X' must have two columns or more; got one. plots.histogram shows it.")
    places, axes = plane(data, X)
    ax = shared.get_axes(ax, shared.beside_legend(len(names), 4.6))
    draw_points(ax, places, labels, dict(enumerate(names)), shared.cluster_colors(len(names)))
    shared.legend_beside(ax, *ax.get_legend_handles_labels())
    shared.label_axes(ax, axes)
    return ax


def _read(
    best: Estimate | LabelsLike, values: ArrayLike, argument: str, columns: int | None = None
) -> tuple[IntArray, list[str], FloatArray]:
    """Clusters, their names and the data, checked: an estimate in the place of the data is found first."""
    if is_estimate(values):
        shared.read_data(values, argument=argument)
    labels, names = shared.read_partition(best)
    return labels, names, shared.read_data(values, best, argument, columns)


def plane(data: FloatArray, values: Any) -> tuple[FloatArray, list[str]]:
    """Two columns as they are, or the first two principal components of more, and the names of the axes."""
    if data.shape[1] == 2:
        return data, shared.column_names(values, 2)
    return shared.principal(data), ["1st principal component", "2nd principal component"]


def draw_points(
    ax: Any,
    data: AnyArray,
    labels: IntArray,
    names: dict[int, str],
    colors: Sequence[Any],
    *,
    size: float | None = None,
) -> None:
    """The clusters in `names` as points, each of its color and shape, for a legend with the names.

    `data` has shape (n_items, 2), `names` maps the number of a cluster to its name, and `colors[g]` is the
    color of cluster g. `size` is the area of a point in square points, by default smaller for more items.
    """
    # The total area of all points stays about the same, within what can be seen and told apart.
    area = size if size is not None else float(np.clip(6000 / len(data), 5, 36))
    # A wide rim would hide the color of a small point.
    rim = 0.25 if area > 12 else 0.05
    for g, name in names.items():
        x, y = data[labels == g].T
        ax.scatter(x, y, s=area, color=colors[g], marker=_MARKERS[g % len(_MARKERS)], label=name,
                   edgecolors="#303030", linewidths=rim, zorder=2)  # fmt: skip


def pairs(
    best: Estimate | LabelsLike,
    X: ArrayLike,
    *,
    axes: Any = None,
) -> Any:
    """Every pair of columns as a scatter plot below the diagonal, each column as a histogram on it.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    X : array_like of shape (n_items, n_columns)
        At most 10 columns. Those of a data frame have names; else they are x0, x1, ...
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
    >>> axes = epl.plots.pairs([0, 0, 1], [[0, 0, 1], [0, 1, 2], [5, 5, 5]])
    >>> axes.shape, axes[2, 0].get_xlabel(), axes[2, 0].get_ylabel()
    ((3, 3), 'x0', 'x2')
    """
    labels, clusters, data = _read(best, X, "X")
    k, d = len(clusters), data.shape[1]
    if not 2 <= d <= _COLUMNS:
        way_out = "Use epluribus.plots.histogram." if d == 1 else "Choose some of the columns."
        raise ValueError(f"'X' must have 2 to {_COLUMNS} columns; got {d}. {way_out}")
    names = shared.column_names(X, d) or [f"x{j}" for j in range(d)]
    axes = shared.check_axes(axes, d, d, (1.2 + 1.75 * d, 0.6 + 1.65 * d), "constrained")
    colors = shared.cluster_colors(k)
    # Smaller points than in `scatter`: each panel has a fraction of its area.
    size = float(np.clip(2500 / len(data), 4, 16))
    for i, j in np.ndindex(d, d):
        ax = axes[i, j]
        if j > i:
            ax.set_axis_off()
            continue
        if i == j:
            edges = bin_edges(data[:, i], labels, most=25)
            stack_bars(ax, data[:, i], labels, dict(enumerate(colors)), bins=edges)
            ax.set_yticks([])
        else:
            # Without names: the panels are small, and the legend has them.
            draw_points(ax, data[:, [j, i]], labels, dict.fromkeys(range(k), ""), colors, size=size)
        ax.spines[["top", "right"]].set_visible(False)
        # Numbers only on the left and lower border: panels in a row or in a column show the same variable.
        ax.tick_params(labelbottom=i == d - 1, labelleft=j == 0)
    for j in range(d):
        axes[-1, j].set_xlabel(names[j])
        axes[j, 0].set_ylabel(names[j] if j else "")
    # One panel has a handle for every cluster; the points of the legend are as large as those of `scatter`.
    legend = axes[0, -1].legend(
        axes[1, 0].collections[:k], clusters, title="cluster", frameon=False, loc="upper right",
        fontsize=9, ncols=1 + (k - 1) // 8, markerscale=(36 / size) ** 0.5, borderaxespad=0.0,
        handletextpad=0.2, columnspacing=0.8,
    )  # fmt: skip
    # With three or more columns the panels beside the legend are empty, and it may reach into them.
    legend.set_in_layout(d == 2)
    return axes
