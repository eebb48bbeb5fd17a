"""How sure the estimate is: item by item, by the bounds of its credible ball, and where items are undecided."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._text import count
from epluribus._typing import DrawsLike, IntArray, LabelsLike
from epluribus.draws import as_draws
from epluribus.estimate import Estimate
from epluribus.plots import _shared as shared
from epluribus.plots._data import bin_edges, draw_points, plane, stack_bars
from epluribus.plots._names import legend_beside, name_clusters
from epluribus.uncertainty import CredibleBall, align, items, left_out

_PAIRS, _UNDECIDED = 1000, 30
"""The most items drawn where pairs of items are shown, and the most undecided ones: those that add most."""


def certainty(
    best: Estimate | LabelsLike, draws: DrawsLike, *, font_size: float = 8, ax: Any = None
) -> Any:
    """Mean probability that each item is with the others of its cluster, and with its second choice.

    Clusters are drawn side by side, and within each the most certain items first. A dot is the
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
    sample = as_draws(draws)
    table = items(best, sample)
    labels, names = shared.read_partition(best, sample)
    k, n = len(names), len(table)
    sizes = np.bincount(labels)
    order, edges = np.lexsort((-table.support, labels)), shared.cluster_edges(sizes)
    ax = shared.get_axes(ax, (7.0, 3.4))
    colors = shared.cluster_colors(k)
    for color, low, high in zip(colors, edges[:-1], edges[1:], strict=True):
        # One outline per cluster instead of one bar per item: quick with thousands of items.
        ax.stairs(table.support[order[low:high]], np.arange(low, high + 1), fill=True, color=color,
                  linewidth=0)  # fmt: skip
    # With a single cluster there is no second choice.
    if k > 1:
        # The white rim shows dots on dark bars; they are as wide as a bar where bars are wide enough.
        size = float(np.clip(2.4 * shared.size_in_points(ax)[0] / n, 2.5, 6.0))
        ax.plot(np.arange(n) + 0.5, table.runner_up_probability[order], ".", color="black",
                markersize=size, markeredgewidth=0.25, markeredgecolor="white", clip_on=False)  # fmt: skip
        ax.set_title("dots: with its second choice", loc="right", fontsize=9)
    ax.set(xlim=(0, n), ylim=(0, 1), ylabel=f"support ({shared.share_of(sample)})")
    # The title of the axis goes below the names, however far down they reach.
    depth = name_clusters(ax, names, edges, colors, font_size, below=True)
    ax.set_xlabel("items by cluster", labelpad=depth)
    return ax


def ball_bounds(ball: CredibleBall, X: ArrayLike | None = None, *, axes: Any = None) -> Any:
    """The estimate and the upper vertical, lower vertical and horizontal bound of its credible ball.

    With data, the clusters of a bound have the color of the cluster of the estimate with which they
    share most items; those that the estimate does not have are gray. Without data, pairs of items that
    share a cluster are dark; items are in the order of the clusters of the estimate, which are separated
    by lines.

    Parameters
    ----------
    ball : CredibleBall
        From `epluribus.credible_ball`. If several bounds are equally far away, the first is shown.
    X : array_like of shape (n_items,) or (n_items, n_columns), optional
        The data: one column is shown as a histogram with a legend, two as points, more by their first two
        principal components, each column standardized. Names of columns are written along the axes.
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
        "estimate": (ball.labels, ""),
        "upper bound": (ball.upper[0], f", {ball.loss.name} {ball.distances[1]:.3g}"),
        "lower bound": (ball.lower[0], f", {ball.loss.name} {ball.distances[2]:.3g}"),
        "horizontal bound": (ball.horizontal[0], f", {ball.loss.name} {ball.distances[0]:.3g}"),
    }
    data = None if X is None else shared.read_data(X, ball.labels)
    columns = 0 if data is None else data.shape[1]
    names = shared.column_names(X, columns)
    if data is not None and columns > 1:
        data, names = plane(data, X)
    # Clusters get the number of the cluster of the estimate that they match, and so its color.
    matched = align(ball.labels, [labels for labels, _ in bounds.values()]).labels.astype(np.int64)
    k = int(ball.labels.max()) + 1
    colors = [
        *shared.cluster_colors(k),
        *map(str, np.linspace(0.3, 0.8, int(matched.max()) + 1 - k)),
    ]
    # Squares of pairs are packed tightly ("compressed"); data fill the panels.
    axes = shared.check_axes(axes, 1, 4, (11.0, 3.3), "constrained" if columns else "compressed")[0]
    for ax, labels, (name, (own, apart)) in zip(axes, matched, bounds.items(), strict=True):
        clusters = np.unique(labels).tolist()
        if data is None:
            _draw_pairs(ax, labels, ball.labels)
        elif columns == 1:
            # The same bars in all four panels: those of the estimate.
            edges = bin_edges(data[:, 0], ball.labels)
            stack_bars(ax, data[:, 0], labels, {g: colors[g] for g in clusters}, bins=edges)
        else:
            draw_points(ax, data, labels, {g: str(g) for g in clusters}, colors, font_size=8)
        ax.set_title(f"{name}\n{count(int(own.max()) + 1, 'cluster')}{apart}", fontsize=10)
        ax.spines[["top", "right"]].set_visible(data is None)
        shared.label_axes(ax, names[:1])
        # One scale for all panels, written on the first only.
        if columns and ax is not axes[0]:
            ax.sharey(axes[0])
            ax.tick_params(labelleft=False)
    shared.label_axes(axes[0], names)
    if columns == 1:
        from matplotlib.patches import Patch

        axes[0].set_ylabel("items")
        patches = [Patch(color=color) for color in colors]
        legend_beside(axes[-1], patches, [str(g) for g in range(len(colors))])
    return axes


def _draw_pairs(ax: Any, labels: IntArray, reference: IntArray) -> None:
    """Which items are together, sorted by the reference and, within its clusters, by the bound."""
    order = np.lexsort((labels, reference))
    order = order[shared.even_steps(order.size, _PAIRS)]
    shown, n = labels[order], order.size
    # vmax 1.3 leaves the blue of shared clusters light enough for the lines on it.
    ax.imshow(shown[:, None] == shown, cmap="Blues", vmin=0, vmax=1.3, interpolation="nearest",
              extent=(0, n, n, 0))  # fmt: skip
    edges = np.append(np.flatnonzero(np.diff(reference[order], prepend=-1)), n)
    shared.draw_cuts(ax, edges, edges)
    ax.set(xticks=[], yticks=[])


def undecided(best: Estimate, draws: DrawsLike, *, font_size: float = 8, ax: Any = None) -> Any:
    """Where each undecided item might belong: its two most likely clusters, and how often it is alone.

    One row for each item, those first that would add most to the expected loss; at the right, what it would
    add. Two dots close together are an item between two clusters; a gray diamond far to the right is one
    that is mostly alone.

    Parameters
    ----------
    best : Estimate
        Made by `minimize` with a cost for `undecided` items.
    draws : Draws or array_like of shape (n_draws, n_items)
        The draws that it was made from.
    font_size : float, default 8
        Font size of the names.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    epluribus.uncertainty.left_out : the numbers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1, 0], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1]]
    >>> best = epl.minimize(draws, undecided=0.5, rng=1)
    >>> [text.get_text() for text in epl.plots.undecided(best, draws).get_yticklabels()]
    ['4']
    """
    sample = as_draws(draws)
    table = left_out(best, sample)
    n = min(len(table), _UNDECIDED)
    ax = shared.get_axes(ax, (6.4, 1.4 + 0.24 * max(n, 1)))
    rows, colors = np.arange(n), shared.cluster_colors(max(best.n_clusters, 1))
    # A thin line carries the eye from the name to its dots.
    ax.hlines(rows, 0, 1, color="0.92", linewidth=1, zorder=0)
    ax.scatter(table.alone[:n], rows, marker="D", s=28, color="0.6", zorder=2, linewidth=0)
    for place, size in ((1, 70), (0, 110)):
        known = (table.places[:n, place] >= 0) & (table.probabilities[:n, place] >= 0.005)
        clusters, at = table.places[:n, place][known], table.probabilities[:n, place][known]
        ax.scatter(
            at, rows[known], s=size, color=[colors[c] for c in clusters], zorder=3, linewidth=0
        )
        for x, y, c in zip(at, rows[known], clusters, strict=True):
            ax.text(x, y, str(c), ha="center", va="center", fontsize=font_size - 1, zorder=4,
                    color=shared.text_color(colors[c]))  # fmt: skip
    for y, added in zip(rows, table.adds[:n], strict=True):
        ax.text(1.03, y, f"{added:.2g}", va="center", fontsize=font_size)
    unit = f" ({best.loss.unit})" if best.loss.unit else ""
    ax.text(1.03, -0.9, f"would add{unit}", fontsize=font_size, va="center", color="0.35")
    ax.set_yticks(rows, table.names[:n], fontsize=font_size)
    ax.set(xlim=(-0.03, 1.02), ylim=(max(n, 1) - 0.4, -0.6))
    ax.set_xlabel(f"{shared.share_of(sample)} with a cluster (dot), or alone (diamond)")
    hidden = f"; {n} of them shown" if len(table) > n else ""
    title = f"{count(len(table), 'item')} undecided at a cost of {table.cost:g}{hidden}"
    ax.set_title(title, fontsize=font_size + 2, loc="left")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax
