"""How sure the place of each item is, cluster by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._clusters import read_partition
from epluribus.plots._figure import cluster_colors, get_axes
from epluribus.plots.blocks import LEADER, shifted, spread
from epluribus.uncertainty.items import items

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
        ax.axvline(edge, color="white", linewidth=0.8)
    ax.plot(np.arange(n) + 0.5, table.runner_up_probability[order], ".", color="black",
            markersize=4 if n <= 300 else 2, label="with its second choice", clip_on=False)  # fmt: skip
    _name_below(ax, [names[g] for g in clusters], edges, font_size)
    ax.set(xlim=(0, n), ylim=(0, 1), xticks=[], ylabel="probability with its cluster")
    ax.set_xlabel("items by cluster", labelpad=10 + 1.2 * font_size)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.1,
              handletextpad=0.1)  # fmt: skip
    return ax


def _name_below(ax: Any, names: list[str], edges: Any, font_size: float) -> None:
    """Names of the clusters below the axis, kept apart, with a line to their middle."""
    width = ax.bbox.width * 72 / ax.figure.dpi  # in points
    longest = max(len(name) for name in names)
    gap = int(edges[-1]) * min(font_size * (0.62 * longest + 0.25) / width, 1 / len(names))
    middle = (edges[:-1] + edges[1:]) / 2
    line, text = shifted(ax, "below", 2), shifted(ax, "below", 8)
    first = gap * (np.arange(middle.size) + 0.5)  # the leftmost places within the axis
    places = np.clip(spread(middle, gap), first, int(edges[-1]) - first[::-1])
    for name, place, where in zip(names, middle, places, strict=True):
        ax.annotate(name, (place, 0), (where, 0), xycoords=line, textcoords=text, ha="center",
                    va="top", fontsize=font_size, arrowprops=LEADER | {"relpos": (0.5, 1)},
                    annotation_clip=False)  # fmt: skip
