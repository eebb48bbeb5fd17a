"""One-dimensional data, colored by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.draws import as_labels
from epluribus.estimate import Estimate
from epluribus.plots._figure import cluster_colors, get_axes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from epluribus._typing import LabelsLike

__all__ = ["histogram"]


def histogram(
    values: ArrayLike, best: Estimate | LabelsLike, *, bins: int = 40, ax: Any = None
) -> Any:
    """Histogram of one value per item, stacked and colored by cluster, with a tick for each item.

    Parameters
    ----------
    values : array_like of shape (n_items,)
        One number per item.
    best : Estimate or array_like of shape (n_items,)
        The partition.
    bins : int, default 40
        Number of bars.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    y = np.asarray(values, dtype=np.float64)
    labels = as_labels(best.labels if isinstance(best, Estimate) else best, y.size, "best")
    ax = get_axes(ax)
    # Clusters from left to right, so that colors and the legend follow the axis.
    order = np.argsort([y[labels == g].mean() for g in range(labels.max() + 1)])
    groups = [y[labels == g] for g in order]
    colors = cluster_colors(len(groups))
    edges = np.histogram_bin_edges(y, bins)
    legend = [f"{rank + 1}: {group.size} items" for rank, group in enumerate(groups)]
    ax.hist(groups, bins=edges, stacked=True, color=colors, label=legend)
    for group, color in zip(groups, colors, strict=True):
        ax.plot(group, np.full(group.size, -0.02), "|", color=color, clip_on=False,
                transform=ax.get_xaxis_transform(), markersize=7)  # fmt: skip
    ax.tick_params(axis="x", pad=9)
    ax.set_ylabel("items")
    ax.spines[["top", "right"]].set_visible(False)
    if len(groups) <= 12:
        ax.legend(frameon=False, title="cluster")
    return ax
