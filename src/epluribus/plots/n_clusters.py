"""The posterior of the number of clusters, beside that of the estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.draws import as_draws
from epluribus.plots._clusters import check_order, read_partition
from epluribus.plots._figure import get_axes

if TYPE_CHECKING:
    from epluribus._typing import DrawsLike, LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["n_clusters"]


def n_clusters(
    draws: DrawsLike, best: Estimate | LabelsLike | None = None, *, ax: Any = None
) -> Any:
    """Bar chart of the posterior of the number of clusters.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    best : Estimate or array_like of shape (n_items,), optional
        Its number of clusters is marked.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    check_order("n_clusters(draws, best)", best, draws)
    sample = as_draws(draws)
    ax = get_axes(ax)
    k = sample.n_clusters
    mass = np.bincount(k, weights=sample.draw_weights) / sample.draw_weights.sum()
    low, high = int(k.min()), int(k.max())
    marked = None if best is None else len(read_partition(best, sample.n_items)[1])
    values = np.arange(low, high + 1)
    colors = ["#0072B2" if value != marked else "#E69F00" for value in values]
    ax.bar(values, mass[low : high + 1], width=0.8, color=colors)
    if marked is not None:
        inside = low <= marked <= high
        ax.set_ylim(0.0, 1.15 * mass.max())  # room for the words above the bars
        ax.axvline(marked, color="#E69F00", linestyle=":", linewidth=1.5)
        ax.annotate(
            f"estimate: {marked}",
            (marked, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(4, -4),
            textcoords="offset points",
            va="top",
            color="#8a5a00",
        )
        if not inside:
            ax.set_xlim(min(low, marked) - 0.6, max(high, marked) + 0.6)
    if high - low < 20:
        ax.set_xticks(values)
    ax.set_xlabel("number of clusters")
    ax.set_ylabel("posterior probability")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
