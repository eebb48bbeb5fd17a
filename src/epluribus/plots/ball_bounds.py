"""The estimate and the bounds of its credible ball, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._clusters import bin_edges, check_axes, legend_beside, match, read_data
from epluribus.plots._figure import cluster_colors
from epluribus.plots.scatter import draw_points

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from epluribus._typing import IntArray
    from epluribus.uncertainty import CredibleBall

__all__ = ["ball_bounds"]

_SHOWN = 1000
"""Items drawn at most where pairs of items are shown."""


def ball_bounds(ball: CredibleBall, X: ArrayLike | None = None, *, axes: Any = None) -> Any:
    """The estimate and the upper vertical, lower vertical and horizontal bound of its credible ball.

    With data, clusters of a bound have the color of the cluster of the estimate that they share most
    items with. Without, items are in the order of the clusters of the estimate, pairs that share a
    cluster dark, and lines part the clusters of the estimate.

    Parameters
    ----------
    ball : CredibleBall
        From `epluribus.credible_ball`. Of several bounds equally far, the first is shown.
    X : array_like of shape (n_items,) or (n_items, n_columns), optional
        The data: one column is shown as a histogram with a legend, two as points, more by their first two
        principal components.
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
    from matplotlib.patches import Patch

    bounds = {
        "estimate": (ball.labels, 0.0),
        "upper bound": (ball.upper[0], ball.distances[1]),
        "lower bound": (ball.lower[0], ball.distances[2]),
        "horizontal bound": (ball.horizontal[0], ball.distances[0]),
    }
    data = None if X is None else read_data(X, ball.labels.size)
    matched = [match(labels, ball.labels) for labels, _ in bounds.values()]
    colors = cluster_colors(1 + max(int(labels.max()) for labels in matched))
    axes = check_axes(axes, (4,), (11.0, 3.3), "compressed" if data is None else "constrained")
    many = data is not None and data.shape[1] > 2
    if data is not None and many:
        data = _principal(data)
    for ax, labels in zip(axes, matched, strict=True):
        if data is None:
            _pairs(ax, labels, ball.labels)
        elif data.shape[1] == 1:
            groups = {g: data[labels == g, 0] for g in np.unique(labels)}
            ax.hist(list(groups.values()), bins=bin_edges(data[:, 0], ball.labels), stacked=True,
                    color=[colors[g] for g in groups])  # fmt: skip
        else:
            names = {int(g): str(g) for g in np.unique(labels)}
            draw_points(ax, data, labels, names, colors, font_size=8)
    for ax, (name, (labels, distance)) in zip(axes, bounds.items(), strict=True):
        k = int(labels.max()) + 1
        apart = "" if name == "estimate" else f", {ball.loss.name} {distance:.3g}"
        ax.set_title(f"{name}\n{k} cluster{'s' * (k > 1)}{apart}", fontsize=10)
        ax.spines[["top", "right"]].set_visible(data is None)
        if data is not None and ax is not axes[0]:
            ax.sharey(axes[0])
            ax.tick_params(labelleft=False)
    if data is not None and data.shape[1] == 1:
        axes[0].set_ylabel("items")
        patches = [Patch(color=color) for color in colors]
        legend_beside(axes[-1], patches, [str(g) for g in range(len(colors))])
    elif many:
        axes[0].set(xlabel="1st principal component", ylabel="2nd principal component")
    return axes


def _pairs(ax: Any, labels: IntArray, reference: IntArray) -> None:
    """Which items are together, in the order of the reference and of the bound within it."""
    order = np.lexsort((labels, reference))
    if order.size > _SHOWN:
        order = order[np.linspace(0, order.size - 1, _SHOWN).astype(np.int64)]
    shown, n = labels[order], order.size
    ax.imshow(shown[:, None] == shown, cmap="Blues", vmin=0, vmax=1.3, interpolation="nearest",
              extent=(0, n, n, 0))  # fmt: skip
    for edge in np.flatnonzero(np.diff(reference[order])) + 1:
        ax.axhline(edge, color="#D55E00", linewidth=0.7)
        ax.axvline(edge, color="#D55E00", linewidth=0.7)
    ax.set(xticks=[], yticks=[])


def _principal(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """First two principal components of the columns, not scaled."""
    centred = data - data.mean(axis=0)
    return np.asarray(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)
