"""One-dimensional data, colored by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._clusters import bin_edges, legend_beside, read_data, read_partition
from epluribus.plots._figure import cluster_colors, get_axes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from epluribus._typing import LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["histogram"]


def histogram(
    values: ArrayLike,
    best: Estimate | LabelsLike,
    *,
    bins: int | str | ArrayLike | None = None,
    ax: Any = None,
) -> Any:
    """Histogram of one value per item, stacked and colored by cluster, with a tick for each item.

    Clusters have the names and colors they have in all pictures; the legend lists them from left to
    right, beside the Axes if there are more than 12.

    Parameters
    ----------
    values : array_like of shape (n_items,)
        One number per item.
    best : Estimate or array_like of shape (n_items,)
        The partition.
    bins : int, str or array_like, optional
        Number of bars, or a rule or edges as `numpy.histogram_bin_edges` takes them. By default 15 to
        60 bars, more for more items (Freedman and Diaconis).
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    data = read_data(values, argument="values")
    if data.shape[1] != 1:
        other = "scatter" if data.shape[1] == 2 else "pairs"
        raise ValueError(
            f"'values' must hold one number per item; got shape {np.shape(values)}. "
            f"Use epluribus.plots.{other}."
        )
    y = data[:, 0]
    labels, names = read_partition(best, y.size)
    ax = get_axes(ax, (5.5 + (1.4 * -(-len(names) // 15) if len(names) > 12 else 0.0), 3.6))
    # Clusters from left to right, so that the legend follows the axis; colors go with the names.
    order = np.argsort([y[labels == g].mean() for g in range(len(names))])
    groups = [y[labels == g] for g in order]
    palette = cluster_colors(len(names))
    colors = [palette[g] for g in order]
    edges = bin_edges(y, labels, bins)
    legend = [
        f"{names[g]}: {group.size} item{'s' * (group.size > 1)}"
        for g, group in zip(order, groups, strict=True)
    ]
    ax.hist(groups, bins=edges, stacked=True, color=colors, label=legend)
    for group, color in zip(groups, colors, strict=True):
        ax.plot(group, np.full(group.size, -0.02), "|", color=color, clip_on=False,
                transform=ax.get_xaxis_transform(), markersize=7)  # fmt: skip
    ax.tick_params(axis="x", pad=9)
    ax.set_ylabel("items")
    ax.spines[["top", "right"]].set_visible(False)
    if len(groups) <= 12:
        ax.legend(frameon=False, title="cluster")
    else:
        legend_beside(ax, *ax.get_legend_handles_labels())
    return ax
