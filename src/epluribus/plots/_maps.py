"""Maps of items and of draws: what is alike is near each other.

Classical scaling (Torgerson 1952): with D the n x n matrix of distances and C = I - 11'/n the centering
matrix, the places are the first two eigenvectors of -C D^2 C / 2 (squares taken entry by entry), times the
square roots of their eigenvalues.

Torgerson, W. S. (1952). Multidimensional scaling: I. Theory and method. Psychometrika 17, 401-419.
doi:10.1007/BF02288916
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus.draws import as_draws
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import matched
from epluribus.plots import _shared as shared
from epluribus.plots._matrices import similarities
from epluribus.plots._names import name_points
from epluribus.uncertainty import Modes, items

_ITEMS, _DRAWS = 1000, 400
"""The most items and draws shown: scaling takes cubic time, and draws are compared in pairs."""
_DOT = 26.0
"""Area of the dot of one item, in square points."""


def item_map(best: Estimate | LabelsLike, draws: DrawsLike, *, ax: Any = None) -> Any:
    """Items as points whose distances are, as well as the plane allows, one minus their similarity.

    Colors stand for clusters. A disc with the name of the cluster is its exemplar, the item with the largest
    mean similarity to the others; where discs would cover each other, they are moved, and a line leads to the
    item. Rings are doubtful items, whose mean similarity to the others of their cluster is below 0.5. Items at
    the same place are one dot, whose area is their number.

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
    sample = as_draws(draws)
    n = sample.n_items
    labels, names = shared.read_partition(best, sample)
    table = items(labels, sample)
    exemplars = table.exemplars[np.argsort(labels[table.exemplars])]  # in the order of the names
    keep = np.arange(n)
    if n > _ITEMS:
        keep = np.union1d(shared.some_of_each(labels, _ITEMS), exemplars)
    matrix = np.nan_to_num(similarities(sample, keep))  # never seen together: apart
    places, shares = _scale(1.0 - matrix)
    ax = shared.get_axes(ax, (5.8, 4.6))
    colors = shared.cluster_colors(len(names))
    # Items nearer to each other than a 150th of the width of the picture are one dot.
    width = max(float(np.ptp(places, axis=0).max()), 1e-12)
    kinds = np.column_stack([labels[keep], table.support[keep] < 0.5])
    cells = np.column_stack([np.rint(150 * places / width).astype(np.int64), kinds])
    _, first, counts = np.unique(cells, axis=0, return_index=True, return_counts=True)
    for g, doubtful in np.ndindex(len(names), 2):
        own = (kinds[first] == (g, doubtful)).all(axis=1)
        ax.scatter(*places[first[own]].T, s=_DOT * counts[own], alpha=0.8, zorder=2,
                   facecolors="none" if doubtful else colors[g],
                   edgecolors=colors[g] if doubtful else "white",
                   linewidths=1.2 if doubtful else 0.4)  # fmt: skip
    _name_directions(ax, shares, "1 - similarity")
    own = places[np.searchsorted(keep, exemplars)]
    moved = name_points(ax, names, own, 9)
    for text, here, there, color in zip(ax.texts, own, moved, colors, strict=True):
        ax.plot(*np.transpose([here, there]), color="black", linewidth=0.7, zorder=3)
        if len(text.get_text()) <= 3:  # a longer name does not fit into a disc
            ax.scatter(*there, s=190, color=color, edgecolors="black", linewidths=0.8, zorder=4)
            text.set(color=shared.text_color(color), path_effects=[])
    ax.set_title(f"{n:,} items" if len(keep) == n else f"{len(keep):,} of {n:,} items",
                 loc="left", fontsize=10)  # fmt: skip
    return ax


def partition_map(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    modes: Modes | ArrayLike | None = None,
    *,
    loss: LossLike | None = None,
    ax: Any = None,
) -> Any:
    """Draws as points whose distances are, as well as the plane allows, the losses between them.

    The area of a dot is the share of the draws that are this partition, which is written beside it from 5 %
    on; rare partitions have dots of the same small size. Colors stand for the nearest mode or, without modes,
    for the number of clusters. The labels of the axes say how much of the spread each axis shows.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition, shown as a star.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; of more than 400 draws, 400 are shown, evenly spaced.
    modes : Modes or array_like of shape (n_modes, n_items), optional
        The modes that `epluribus.modes` found, shown as numbered discs.
    loss : str or Loss, optional
        By default the loss that `best` was made for, "vi" for plain labels.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> draws = epl.Draws([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]])
    >>> ax = epl.plots.partition_map([0, 0, 1, 1], draws)
    >>> ax.collections[0].get_offsets().shape
    (3, 2)
    """
    labels, sample, chosen = read_best(best, draws, loss)
    sample.check_complete("A map of draws")
    found: Any = [] if modes is None else modes.labels if isinstance(modes, Modes) else modes
    marked = [labels, *(matched(mode, sample, "modes") for mode in found)]
    # Draws, not distinct partitions, are thinned: frequent partitions stay frequent.
    if sample.n_distinct > _DRAWS:
        sample = sample[shared.even_steps(sample.n_draws, _DRAWS)]
    n = sample.n_distinct
    # First the n draws, then the estimate, then the modes.
    distances = _distances(np.vstack([sample.distinct.astype(np.int64), marked]), chosen)
    places, explained = _scale(distances)
    ax = shared.get_axes(ax, (5.6, 4.4))
    # All dots together have an area of 4000 square points; the largest are drawn first and hide no other.
    size = np.maximum(4000 * sample.shares, 14.0)
    order = np.argsort(-size, kind="stable")
    if len(found):
        # By the losses themselves, not by the places in the plane, which distort them.
        nearest = distances[:n, n + 1 :].argmin(axis=1)
        colors = shared.cluster_colors(len(found))
        ax.scatter(*places[order].T, s=size[order], c=[colors[m] for m in nearest[order]], alpha=0.45,
                   linewidths=0, zorder=2)  # fmt: skip
        for mode, (at, color) in enumerate(zip(places[n + 1 :], colors, strict=True)):
            ax.scatter(*at, s=170, color=color, edgecolors="black", zorder=4, label=f"mode {mode}")
            ax.text(*at, str(mode), ha="center", va="center_baseline", fontsize=10,
                    fontweight="bold", color=shared.text_color(color), zorder=6)  # fmt: skip
    else:
        from matplotlib.ticker import MaxNLocator

        clusters = sample.distinct.max(axis=1).astype(np.int64) + 1
        points = ax.scatter(*places[order].T, s=size[order], c=clusters[order], cmap="viridis", alpha=0.7,
                            linewidths=0, zorder=2)  # fmt: skip
        ax.figure.colorbar(points, ax=ax, label="number of clusters", shrink=0.8,
                           ticks=MaxNLocator(integer=True))  # fmt: skip
    # The star is larger than the disc of a mode, which may lie on it.
    ax.scatter(*places[n], s=900 if len(found) else 260, marker="*", color="black",
               edgecolors="white", linewidths=1.2, zorder=3, label="estimate")  # fmt: skip
    for i in np.flatnonzero(sample.shares >= 0.05):
        down = np.sqrt(size[i] / np.pi) + 1.5  # the radius of a dot of this area, in points
        ax.annotate(f"{100 * sample.shares[i]:.0f} %", places[i], (0, -down), fontsize=8, zorder=7,
                    textcoords="offset points", ha="center", va="top")  # fmt: skip
    _name_directions(ax, explained, chosen.name)
    legend = ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=6,
                       borderaxespad=0.2, handletextpad=0.2, columnspacing=1.0)  # fmt: skip
    # Points in the legend have one size each, whatever the draws have; the last one is the star.
    for handle in legend.legend_handles:
        handle.set(sizes=[160 if handle is legend.legend_handles[-1] else 80], alpha=1.0)
    return ax


def _distances(rows: IntArray, loss: Loss) -> FloatArray:
    """Losses between all rows; for a loss with unequal costs, the mean of both directions."""
    # Items by rows, partitions by columns, in the smallest type of integer: as the kernels read them.
    table = np.ascontiguousarray(rows.T.astype(np.min_scalar_type(int(rows.max()))))
    matrix = np.array([loss_values(row, table, loss) for row in rows])
    return np.asarray((matrix + matrix.T) / 2)


def _scale(distances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places in the plane, and the share of each axis in the sum of the positive eigenvalues."""
    n = len(distances)
    center = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * center @ distances**2 @ center)
    # Largest first. Losses are not Euclidean distances: some eigenvalues may be negative.
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    two, shares = np.zeros((n, 2)), np.zeros(2)
    # A single point has one eigenvector.
    two[:, : min(n, 2)] = vectors[:, :2] * np.sqrt(values[:2])
    shares[: min(n, 2)] = values[:2] / max(float(values.sum()), np.finfo(np.float64).tiny)
    # The sign of an eigenvector is arbitrary: the first point is made to be left and low.
    return two * np.where(two[0] > 0, -1.0, 1.0), shares


def _name_directions(ax: Any, shares: FloatArray, what: str) -> None:
    """Axes of one unit, whose labels say how much of the spread they show."""
    # One unit is as long across as up: distances can be read in any direction.
    ax.set_aspect("equal", adjustable="datalim")
    ax.locator_params(nbins=7)
    ax.set_xlabel(f"first direction: {100 * shares[0]:.0f} % of the spread ({what})")
    ax.set_ylabel(f"second direction: {100 * shares[1]:.0f} %")
