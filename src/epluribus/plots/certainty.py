"""How sure the place of each item is, cluster by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._clusters import check_order, read_partition
from epluribus.plots._figure import cluster_colors, get_axes, text_color
from epluribus.plots.blocks import LEADER, place_names, shifted, spread
from epluribus.uncertainty import items

if TYPE_CHECKING:
    from epluribus._typing import DrawsLike, LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["certainty"]


def certainty(
    best: Estimate | LabelsLike, draws: DrawsLike, *, font_size: float = 8, ax: Any = None
) -> Any:
    """Mean probability of each item to be with the others of its cluster, and with its second choice.

    Clusters stand side by side, the surest first; within each the surest item comes first. A dot is
    the probability of the item's runner-up: where it nears the bar's end the item could go either way.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    font_size : float, default 8
        Of the names of the clusters.
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
    clusters = np.argsort(-np.bincount(labels, weights=table.support) / sizes, kind="stable")
    rank = np.argsort(clusters)
    order = np.lexsort((-table.support, rank[labels]))
    edges = np.concatenate([[0], np.cumsum(sizes[clusters])])
    ax = get_axes(ax, (7.0, 3.4))
    colors = cluster_colors(k)
    for g, low, high in zip(clusters, edges[:-1], edges[1:], strict=True):
        ax.stairs(table.support[order[low:high]], np.arange(low, high + 1), fill=True,
                  color=colors[g], linewidth=0)  # fmt: skip
    for edge in edges[1:-1]:
        ax.axvline(edge, color="white", linewidth=0.8 if k <= 12 else 0.3)
    if k > 1:
        # As wide as a bar where bars are wide enough; the white rim shows dots on dark bars.
        size = float(np.clip(2.4 * ax.bbox.width * 72 / ax.figure.dpi / n, 2.5, 6.0))
        ax.plot(np.arange(n) + 0.5, table.runner_up_probability[order], ".", color="black",
                markersize=size, markeredgewidth=0.25, markeredgecolor="white",
                label="with its second choice", clip_on=False)  # fmt: skip
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1,
                  handletextpad=0.1, markerscale=8 / size)  # fmt: skip
    ax.set(xlim=(0, n), ylim=(0, 1), xticks=[], ylabel="probability with its cluster")
    height = _name_below(
        ax, [names[g] for g in clusters], edges, [colors[g] for g in clusters], font_size
    )
    ax.set_xlabel("items by cluster", labelpad=height)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _name_below(
    ax: Any, names: list[str], edges: Any, colors: list[Any], font_size: float
) -> float:
    """Names of the clusters in their colors below the axis, kept apart; how far down they reach.

    They stand upright where there is no room to write them side by side.
    """
    n, points = int(edges[-1]), ax.bbox.width * 72 / ax.figure.dpi
    middle = (edges[:-1] + edges[1:]) / 2
    letters = max(len(name) for name in names)
    room = points / len(names) / (0.62 * letters + 0.4)  # the font size at which all fit
    upright = room < 0.75 * font_size
    if upright:
        places, font_size = place_names(middle, n, points / 1.2, font_size)
    else:
        font_size = min(font_size, room)
        gap = n * font_size * (0.62 * letters + 0.4) / points
        places = spread(middle, gap, gap / 2, n - gap / 2)
    # Room for the lines to be told apart, where names had to move.
    drop = 8.0 if np.abs(places - middle).max() < 0.01 * n else 18.0
    line, text = shifted(ax, "below", 2), shifted(ax, "below", drop)
    for name, place, where, color in zip(names, middle, places, colors, strict=True):
        box = {"boxstyle": "square,pad=0.1", "facecolor": color, "linewidth": 0}
        ax.annotate(name, (place, 0), (where, 0), xycoords=line, textcoords=text, ha="center",
                    va="top", fontsize=font_size, rotation=90 if upright else 0, bbox=box,
                    color=text_color(color), annotation_clip=False,
                    arrowprops=LEADER | {"relpos": (0.5, 1), "color": color, "linewidth": 1})  # fmt: skip
    return drop + font_size * (0.62 * letters + 0.6 if upright else 1.3)
