"""A map of the items: two of them are near each other where they share a cluster in most draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.draws import as_draws
from epluribus.estimate import Estimate
from epluribus.plots._matrices import similarities, some_of_each
from epluribus.plots._names import halo, text_color
from epluribus.plots._scaling import name_directions, scale
from epluribus.plots._shared import check_order, cluster_colors, get_axes, read_partition
from epluribus.uncertainty import items

_SHOWN = 1000
"""The largest number of items shown: scaling takes cubic time."""
_DOT, _DISC = 26.0, 190.0
"""Area of the dot of one item, and of the disc of an exemplar, in square points."""
_GRAIN = 150
"""Items nearer to each other than the picture's width divided by this are one dot, larger for more items."""
_DOUBTFUL = 0.5
"""An item with a smaller support is a ring: it is more often apart from its cluster than with it."""


def item_map(best: Estimate | LabelsLike, draws: DrawsLike, *, ax: Any = None) -> Any:
    """Items as points whose distances are, as well as the plane allows, one minus their similarity.

    Colors stand for clusters. A disc with the name of the cluster is its exemplar, the item with the largest
    mean similarity to the others. Rings are doubtful items, whose mean similarity to the others of their
    cluster is below 0.5. Items at the same place are one dot, whose area is their number.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; of more than 1000 items, 1000 are shown: the same share of each cluster, at
        least one item.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    similarity : the same probabilities without the distortion of the plane.
    partition_map : a map of the draws.
    epluribus.uncertainty.items : with ``.exemplars``, the exemplars by number.

    Notes
    -----
    Classical scaling (Torgerson 1952) of the distances 1 - P_ij. The labels of the axes say how much of the
    spread each axis shows: clusters that are apart in a third direction may lie on each other.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> draws = [[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 2]]
    >>> ax = epl.plots.item_map([0, 0, 0, 1, 1], draws)
    >>> [text.get_text() for text in ax.texts]
    ['0', '1']
    """
    check_order("item_map(best, draws)", best, draws)
    sample = as_draws(draws)
    n = sample.n_items
    labels, names = read_partition(best, n)
    table = items(labels, sample)
    exemplars = table.exemplars
    keep = np.arange(n)
    if n > _SHOWN:
        keep = np.union1d(some_of_each(labels, _SHOWN), exemplars)
    matrix = np.nan_to_num(similarities(sample, keep))  # never seen together: apart
    places, shares = scale(1.0 - matrix)
    ax = get_axes(ax, (5.8, 4.6))
    colors = cluster_colors(len(names))
    for at, g, counts, doubtful in _dots(places, labels[keep], table.support[keep] < _DOUBTFUL):
        ax.scatter(*at.T, s=_DOT * counts, facecolors="none" if doubtful else colors[g],
                   edgecolors=colors[g] if doubtful else "white",
                   linewidths=1.2 if doubtful else 0.4, alpha=0.8, zorder=2)  # fmt: skip
    # After all dots, so that none covers a name.
    for item in exemplars:
        g = labels[item]
        x, y = places[np.searchsorted(keep, item)]
        # A long name does not fit into a disc: it is written over the dot.
        style: dict[str, Any] = {"path_effects": halo(2.5)}
        if len(names[g]) <= 3:
            ax.scatter(x, y, s=_DISC, color=colors[g], edgecolors="black", linewidths=0.8, zorder=3)
            style = {"color": text_color(colors[g])}
        ax.text(x, y, names[g], ha="center", va="center_baseline", fontsize=8.5,
                fontweight="bold", zorder=4, **style)  # fmt: skip
    name_directions(ax, shares, "1 - similarity")
    ax.set_title(f"{n:,} items" if len(keep) == n else f"{len(keep):,} of {n:,} items",
                 loc="left", fontsize=10)  # fmt: skip
    return ax


def _dots(
    places: FloatArray, labels: IntArray, doubtful: NDArray[np.bool_]
) -> list[tuple[FloatArray, int, IntArray, bool]]:
    """Sure and doubtful items of each cluster: where their dots are, and how many items each has."""
    width = max(float(np.ptp(places, axis=0).max()), 1e-12)
    cells = np.rint(places / width * _GRAIN).astype(np.int64)
    found = []
    for g in range(int(labels.max()) + 1):
        for kind in (False, True):
            own = np.flatnonzero((labels == g) & (doubtful == kind))
            if len(own):
                _, first, counts = np.unique(
                    cells[own], axis=0, return_index=True, return_counts=True
                )
                found.append((places[own[first]], g, counts, kind))
    return found
