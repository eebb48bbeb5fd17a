"""How sure the estimate is: pair by pair, item by item, and by the bounds of its credible ball."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._text import count
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus._validate import shown
from epluribus.changes import renumbered
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import SimilarityMatrix
from epluribus.estimate import Estimate
from epluribus.plots import _shared as shared
from epluribus.plots._data import bin_edges, draw_points, plane, stack_bars
from epluribus.uncertainty import CredibleBall, items
from epluribus.uncertainty import psm as psm_of
from epluribus.uncertainty._matrix import order_by_similarity

_PAIRS, _SHOWN = 1000, 2000
"""The most items drawn in each of four panels of pairs, and in one: a picture has fewer dots than this across."""


def similarity(
    best: Estimate | LabelsLike | None = None,
    draws: DrawsLike | None = None,
    *,
    psm: Any = None,
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
    shared.name_clusters(ax, [names[g] for g in clusters], edges, [colors[g] for g in clusters])
    ax.set(xlim=(0, size), ylim=(size, 0), xticks=[])
    ax.set_xlabel(f"{n:,} items" if size == n else f"{size:,} of {n:,} items")
    label = f"{shared.share_of(sample)} with both in one cluster"
    # As shapes its steps would have seams.
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8).solids.set_rasterized(True)
    return ax


def similarities(sample: Draws | SimilarityMatrix, keep: IntArray) -> FloatArray:
    """(n, n) similarities of the items `keep`, or of all."""
    if isinstance(sample, SimilarityMatrix):
        return sample.dense(keep)
    return psm_of(sample if len(keep) == sample.n_items else sample.select_items(keep))


def certainty(best: Estimate | LabelsLike, draws: DrawsLike, *, ax: Any = None) -> Any:
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
        ax.plot(np.arange(n) + 0.5, table.runner_up_support[order], ".", color="black",
                markersize=size, markeredgewidth=0.25, markeredgecolor="white", clip_on=False)  # fmt: skip
        ax.set_title("dots: with its second choice", loc="right", fontsize=9)
    ax.set(xlim=(0, n), ylim=(0, 1), ylabel=f"support ({shared.share_of(sample)})")
    # The title of the axis goes below the names, however far down they reach.
    depth = shared.name_clusters(ax, names, edges, colors, below=True)
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
    if not isinstance(ball, CredibleBall):
        raise TypeError(f"'ball' must be made by credible_ball(best, draws); got {shown(ball)}.")
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
    if any(labels.min() < 0 for labels, _ in bounds.values()):
        raise ValueError(
            "'ball' must be of draws without missing labels: some of its bounds have gaps."
        )
    matched = np.stack([renumbered(ball.labels, labels) for labels, _ in bounds.values()])
    k = int(ball.labels.max()) + 1
    grays = np.linspace(0.3, 0.8, int(matched.max()) + 1 - k)
    colors = [*shared.cluster_colors(k), *map(str, grays)]
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
            draw_points(ax, data, labels, {g: str(g) for g in clusters}, colors)
        ax.set_title(f"{name}\n{count(int(own.max()) + 1, 'cluster')}{apart}", fontsize=10)
        ax.spines[["top", "right"]].set_visible(data is None)
        shared.label_axes(ax, names[:1])
        # One scale for all panels, written on the first only.
        if columns and ax is not axes[0]:
            ax.sharey(axes[0])
            ax.tick_params(labelleft=False)
    shared.label_axes(axes[0], names)
    if columns == 1:
        axes[0].set_ylabel("items")
    if columns:
        from matplotlib.patches import Patch

        patches = [Patch(color=color) for color in colors]
        shared.legend_beside(axes[-1], patches, [str(g) for g in range(len(colors))])
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
