"""How sure the estimate is: item by item, and by the bounds of its credible ball."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._text import count
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.estimate import Estimate
from epluribus.plots._data import bin_edges, draw_points, stack_bars
from epluribus.plots._names import legend_beside, name_below
from epluribus.plots._shared import (
    check_axes,
    check_order,
    cluster_colors,
    cluster_edges,
    column_names,
    draw_cuts,
    even_steps,
    get_axes,
    label_axes,
    read_data,
    read_partition,
    size_in_points,
)
from epluribus.uncertainty import CredibleBall, align, items

_SHOWN = 1000
"""The largest number of items drawn where pairs of items are shown."""


def certainty(
    best: Estimate | LabelsLike, draws: DrawsLike, *, font_size: float = 8, ax: Any = None
) -> Any:
    """Mean probability that each item is with the others of its cluster, and with its second choice.

    Clusters are drawn side by side, the most certain first, and so are the items within each. A dot is the
    probability of the item's runner-up: where it comes near the end of the bar, the item could just as well
    be in the other cluster.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    font_size : float, default 8
        Font size of the names of the clusters.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    epluribus.uncertainty.items : the numbers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]]
    >>> ax = epl.plots.certainty([0, 0, 1, 1], draws)
    >>> [text.get_text() for text in ax.texts]
    ['0', '1']
    """
    check_order("certainty(best, draws)", best, draws)
    table = items(best, draws)
    labels, names = read_partition(best, len(table))
    k, n = len(names), len(table)
    sizes = np.bincount(labels)
    # Clusters by their mean support, then items by their own.
    clusters = np.argsort(-np.bincount(labels, weights=table.support) / sizes, kind="stable")
    order = np.lexsort((-table.support, np.argsort(clusters)[labels]))
    edges = cluster_edges(sizes[clusters])
    ax = get_axes(ax, (7.0, 3.4))
    palette = cluster_colors(k)
    colors = [palette[g] for g in clusters]
    for color, low, high in zip(colors, edges[:-1], edges[1:], strict=True):
        # One outline per cluster instead of one bar per item: quick with thousands of items.
        ax.stairs(table.support[order[low:high]], np.arange(low, high + 1), fill=True, color=color,
                  linewidth=0)  # fmt: skip
    for edge in edges[1:-1]:
        ax.axvline(edge, color="white", linewidth=0.8 if k <= 12 else 0.3)
    # With a single cluster there is no second choice.
    if k > 1:
        # As wide as a bar where bars are wide enough; the white rim shows dots on dark bars.
        size = float(np.clip(2.4 * size_in_points(ax)[0] / n, 2.5, 6.0))
        ax.plot(np.arange(n) + 0.5, table.runner_up_probability[order], ".", color="black",
                markersize=size, markeredgewidth=0.25, markeredgecolor="white",
                label="with its second choice", clip_on=False)  # fmt: skip
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1,
                  handletextpad=0.1, markerscale=8 / size)  # fmt: skip
    ax.set(xlim=(0, n), ylim=(0, 1), xticks=[], ylabel="probability with its cluster")
    # The title of the axis goes below the names, however far down they reach.
    depth = name_below(ax, [names[g] for g in clusters], edges, colors, font_size)
    ax.set_xlabel("items by cluster", labelpad=depth)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def ball_bounds(ball: CredibleBall, X: ArrayLike | None = None, *, axes: Any = None) -> Any:
    """The estimate and the upper vertical, lower vertical and horizontal bound of its credible ball.

    With data, the clusters of a bound have the color of the cluster of the estimate with which they
    share most items. Without data, pairs of items that share a cluster are dark; items are in the order
    of the clusters of the estimate, which are separated by lines.

    Parameters
    ----------
    ball : CredibleBall
        From `epluribus.credible_ball`. If several bounds are equally far away, the first is shown.
    X : array_like of shape (n_items,) or (n_items, n_columns), optional
        The data: one column is shown as a histogram with a legend, two as points, more by their first two
        principal components. Names of columns are written along the axes.
    axes : array of 4 matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ndarray of matplotlib Axes, shape (4,)

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]]
    >>> ball = epl.credible_ball([0, 0, 1, 1], draws)
    >>> for ax in epl.plots.ball_bounds(ball, [1.0, 1.2, 3.0, 3.3]):
    ...     print(ax.get_title().replace(chr(10), ": "))
    estimate: 2 clusters
    upper bound: 2 clusters, vi 1.19
    lower bound: 3 clusters, vi 0.5
    horizontal bound: 2 clusters, vi 1.19
    """
    bounds = {
        "estimate": (ball.labels, None),
        "upper bound": (ball.upper[0], ball.distances[1]),
        "lower bound": (ball.lower[0], ball.distances[2]),
        "horizontal bound": (ball.horizontal[0], ball.distances[0]),
    }
    data = None if X is None else read_data(X, ball.labels.size)
    columns = 0 if data is None else data.shape[1]
    # Clusters get the number of the cluster of the estimate that they match, and so its color.
    matched = align(ball.labels, [labels for labels, _ in bounds.values()]).labels.astype(np.int64)
    colors = cluster_colors(int(matched.max()) + 1)
    # Squares of pairs are packed tightly ("compressed"); data fill the panels.
    axes = check_axes(axes, (4,), (11.0, 3.3), "constrained" if columns else "compressed")
    if data is not None and columns > 2:
        data = _principal(data)
    for ax, labels in zip(axes, matched, strict=True):
        clusters = np.unique(labels).tolist()
        if data is None:
            _draw_pairs(ax, labels, ball.labels)
        elif columns == 1:
            # The same bars in all four panels: those of the estimate.
            edges = bin_edges(data[:, 0], ball.labels)
            stack_bars(ax, data[:, 0], labels, {g: colors[g] for g in clusters}, bins=edges)
        else:
            draw_points(ax, data, labels, {g: str(g) for g in clusters}, colors, font_size=8)
    for ax, (name, (labels, distance)) in zip(axes, bounds.items(), strict=True):
        apart = "" if distance is None else f", {ball.loss.name} {distance:.3g}"
        ax.set_title(f"{name}\n{count(int(labels.max()) + 1, 'cluster')}{apart}", fontsize=10)
        ax.spines[["top", "right"]].set_visible(data is None)
        # One scale for all panels, written on the first only.
        if columns and ax is not axes[0]:
            ax.sharey(axes[0])
            ax.tick_params(labelleft=False)
    if columns == 1:
        from matplotlib.patches import Patch

        axes[0].set_ylabel("items")
        patches = [Patch(color=color) for color in colors]
        legend_beside(axes[-1], patches, [str(g) for g in range(len(colors))])
    if columns in (1, 2):
        names = column_names(X, columns)
        for ax in axes:
            label_axes(ax, names[:1])
        label_axes(axes[0], names)
    elif columns > 2:
        axes[0].set(xlabel="1st principal component", ylabel="2nd principal component")
    return axes


def _draw_pairs(ax: Any, labels: IntArray, reference: IntArray) -> None:
    """Which items are together, sorted by the reference and, within its clusters, by the bound."""
    order = np.lexsort((labels, reference))
    order = order[even_steps(order.size, _SHOWN)]
    shown, n = labels[order], order.size
    # vmax 1.3 leaves the blue of shared clusters light enough for the lines on it.
    ax.imshow(shown[:, None] == shown, cmap="Blues", vmin=0, vmax=1.3, interpolation="nearest",
              extent=(0, n, n, 0))  # fmt: skip
    edges = np.flatnonzero(np.diff(reference[order])) + 1
    draw_cuts(ax, edges, edges)
    ax.set(xticks=[], yticks=[])


def _principal(data: FloatArray) -> FloatArray:
    """Scores of shape (n_items, 2) on the first two principal components of the unscaled columns."""
    # The rows of V' in the singular value decomposition of the centered data are the components.
    centered = data - data.mean(axis=0)
    return np.asarray(centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T)
