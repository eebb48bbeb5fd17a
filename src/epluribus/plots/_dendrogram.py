"""The clusters of an estimate, joined pair by pair: a tree whose heights are expected losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._typing import DrawsLike, LabelsLike, LossLike
from epluribus.estimate import Estimate
from epluribus.plots._names import name_below
from epluribus.plots._shared import check_order, cluster_colors, get_axes, read_partition
from epluribus.uncertainty import merges

_NUMBERED = 30
"""The most merges that have the number of clusters beside them."""


def dendrogram(
    best: Estimate | LabelsLike, draws: DrawsLike, *, loss: LossLike | None = None, ax: Any = None
) -> Any:
    """Tree of the clusters of an estimate, joined one pair at a time by expected loss.

    It begins with the clusters of the estimate, at its expected loss, and joins in each step the two clusters
    whose union has the smallest expected loss. The height of a join is the expected loss of the whole
    partition after it, and the number beside it the number of clusters that are left.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, optional
        By default the loss that `best` was made for, "vi" for plain labels.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    epluribus.uncertainty.merges : the numbers, and the partition after each merge.

    Notes
    -----
    The heights are those of a path through partitions, not distances between clusters, and they are not
    an ultrametric: where a join lowers the expected loss, its line is below the one before. A cut through the
    tree need not be the best partition with that number of clusters, which ``minimize(draws, k=k)`` finds.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.dendrogram([0, 0, 1, 2], [[0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 1, 1]])
    >>> [text.get_text() for text in ax.texts]
    ['2', '1', '0', '1', '2']
    """
    check_order("dendrogram(best, draws)", best, draws)
    path = merges(best, draws, loss=loss)
    labels, names = read_partition(best, len(path.labels))
    # The path numbers clusters by first appearance, names and colors follow the user's labels.
    own = labels[np.unique(path.labels, return_index=True)[1]]
    colors = cluster_colors(len(names))
    ax = get_axes(ax, (min(14.0, max(5.5, 0.22 * path.n_clusters)), 3.8))
    k, heights = path.n_clusters, path.expected_losses
    # Where each cluster of the tree stands, across and up: clusters of the estimate at the expected loss.
    across, up = np.full(2 * k - 1, np.nan), np.full(2 * k - 1, heights[0])
    across[path.order] = np.arange(k) + 0.5
    for step, (a, b) in enumerate(path.pairs):
        height = heights[step + 1]
        across[k + step], up[k + step] = (across[a] + across[b]) / 2, height
        ax.plot([across[a], across[a], across[b], across[b]], [up[a], height, height, up[b]],
                color="#2f3b4c", linewidth=1.3, solid_joinstyle="miter")  # fmt: skip
        if k - 1 <= _NUMBERED:  # beside the line that leads up to the next join
            ax.annotate(str(k - step - 1), (across[k + step], height), (3, 2.5), ha="left",
                        textcoords="offset points", fontsize=8, color="#5a6475")  # fmt: skip
    ax.scatter(across[:k], up[:k], s=18, color=[colors[g] for g in own], zorder=3, clip_on=False)
    room = 0.06 * max(float(np.ptp(heights)), 1e-12)
    ax.set(xlim=(0, k), ylim=(heights.min() - room, heights.max() + 2 * room))
    shown = own[path.order]
    down = name_below(
        ax, [names[g] for g in shown], np.arange(k + 1), [colors[g] for g in shown], 8
    )
    unit = f", {path.loss.unit}" if path.loss.unit else ""
    ax.set_ylabel(f"expected loss ({path.loss.name}{unit})")
    ax.set_xticks([])
    ax.set_xlabel("clusters of the estimate", labelpad=down)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
