"""A map of the draws: two of them are near each other where the loss between them is small.

The plane is that of classical scaling (`_scaling.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import as_labels
from epluribus.plots._names import halo, text_color
from epluribus.plots._scaling import name_directions, scale
from epluribus.plots._shared import check_order, cluster_colors, even_steps, get_axes
from epluribus.uncertainty import Modes

_SHOWN = 400
"""The largest number of draws shown: the losses between all pairs of them are computed."""
_AREA, _SMALLEST = 4000.0, 14.0
"""Area of all dots together, and of the smallest, in square points."""
_SHARE = 0.05
"""From this share of the draws on, it is written beside a dot."""


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
    for the number of clusters. The labels of the axes say how much of the spread each axis shows. Draws far
    from all others, which would shrink the rest to a dot, are moved to the border and marked with a ring.

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
    check_order("partition_map(best, draws)", best, draws)
    labels, sample, chosen = read_best(best, draws, loss)
    sample.check_complete("A map of draws")
    found = [] if modes is None else list(modes.labels if isinstance(modes, Modes) else modes)  # type: ignore[arg-type]
    marked = [labels, *(as_labels(mode, sample.n_items, "modes") for mode in found)]
    # Draws, not distinct partitions, are thinned: frequent partitions stay frequent.
    if sample.n_distinct > _SHOWN:
        sample = sample[even_steps(sample.n_draws, _SHOWN)]
    n = sample.n_distinct
    # First the n draws, then the estimate, then the modes.
    distances = _distances(np.vstack([sample.distinct.astype(np.int64), marked]), chosen)
    places, explained = scale(distances)
    draws_at, far = _bring_near(places[:n], places[n:])
    ax = get_axes(ax, (5.6, 4.4))
    size = np.maximum(_AREA * sample.shares, _SMALLEST)
    if found:
        # By the losses themselves, not by the places in the plane, which distort them.
        nearest = distances[:n, n + 1 :].argmin(axis=1)
        _draw_by_mode(ax, draws_at, size, nearest, places[n + 1 :])
    else:
        clusters = sample.distinct.max(axis=1).astype(np.int64) + 1
        _draw_by_n_clusters(ax, draws_at, size, clusters)
    if far.any():
        ax.scatter(*draws_at[far].T, s=60, facecolors="none", edgecolors="black", linewidths=0.8,
                   zorder=2, label="farther out")  # fmt: skip
    # The star is larger than the disc of a mode, which may lie on it.
    ax.scatter(*places[n], s=900 if found else 260, marker="*", color="black", edgecolors="white",
               linewidths=1.2, zorder=3, label="estimate")  # fmt: skip
    _write_shares(ax, draws_at, size, sample.shares)
    name_directions(ax, explained, chosen.name)
    legend = ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=6,
                       borderaxespad=0.2, handletextpad=0.2, columnspacing=1.0)  # fmt: skip
    # Points in the legend have one size each, whatever the draws have; the last one is the star.
    for handle in legend.legend_handles:
        handle.set(sizes=[160 if handle is legend.legend_handles[-1] else 80], alpha=1.0)
    return ax


def _bring_near(places: FloatArray, marked: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Places, with those far outside the middle 98% moved to the border, and which ones were moved.

    The places in `marked`, those of the estimate and the modes, are always inside the border.
    """
    low, high = np.percentile(places, [1, 99], axis=0)
    # Half of the range is added on each side, at least a tenth of the longer range if all are on a line.
    reach = np.maximum(high - low, 0.1 * (high - low).max())
    low = np.minimum(low - 0.5 * reach, marked.min(axis=0))
    high = np.maximum(high + 0.5 * reach, marked.max(axis=0))
    near = np.clip(places, low, high)
    return near, (near != places).any(axis=1)


def _write_shares(ax: Any, places: FloatArray, size: FloatArray, shares: FloatArray) -> None:
    """The share of frequent partitions, below their dots."""
    for i in np.flatnonzero(shares >= _SHARE):
        # The radius of a dot of this area, in points.
        down = np.sqrt(size[i] / np.pi) + 1.5
        ax.annotate(f"{100 * shares[i]:.0f} %", places[i], (0, -down), textcoords="offset points",
                    ha="center", va="top", fontsize=8, path_effects=halo(2), zorder=7)  # fmt: skip


def _draw_by_mode(
    ax: Any, places: AnyArray, size: AnyArray, nearest: IntArray, modes_at: AnyArray
) -> None:
    """Draws in the color of their mode, modes as numbered discs."""
    colors = cluster_colors(len(modes_at))
    for mode, color in enumerate(colors):
        # From the largest to the smallest, so that none is hidden.
        own = np.flatnonzero(nearest == mode)
        own = own[np.argsort(-size[own], kind="stable")]
        ax.scatter(*places[own].T, s=size[own], color=color, alpha=0.45, linewidths=0, zorder=2,
                   label=f"mode {mode}")  # fmt: skip
    # After all draws, so that no draw covers a mode.
    for mode, ((x, y), color) in enumerate(zip(modes_at, colors, strict=True)):
        ax.scatter(x, y, s=170, color=color, edgecolors="black", linewidths=1, zorder=4)
        ax.text(x, y, str(mode), ha="center", va="center_baseline", fontsize=10,
                fontweight="bold", color=text_color(color), zorder=6)  # fmt: skip


def _draw_by_n_clusters(ax: Any, places: FloatArray, size: FloatArray, clusters: IntArray) -> None:
    """Draws in the color of their number of clusters, with a scale."""
    from matplotlib.colors import BoundaryNorm

    low, high = int(clusters.min()), int(clusters.max())
    # One step of color for each number of clusters, and a tick in the middle of each, at most 13.
    norm = BoundaryNorm(np.arange(low, high + 2) - 0.5, 256, extend="neither")
    order = np.argsort(-size, kind="stable")  # the largest first, so that none is hidden
    places, size, clusters = places[order], size[order], clusters[order]
    points = ax.scatter(*places.T, s=size, c=clusters, cmap="viridis", norm=norm, alpha=0.7,
                        linewidths=0, zorder=2)  # fmt: skip
    ticks = np.arange(low, high + 1, 1 + (high - low) // 12)
    ax.figure.colorbar(points, ax=ax, label="number of clusters", ticks=ticks, shrink=0.8)


def _distances(rows: IntArray, loss: Loss) -> FloatArray:
    """Losses between all rows; for a loss with unequal costs, the mean of both directions."""
    # Items by rows, partitions by columns, in the smallest type of integer: as the kernels read them.
    table = np.ascontiguousarray(rows.T.astype(np.min_scalar_type(int(rows.max()))))
    matrix = np.array([loss_values(row, table, loss) for row in rows])
    return np.asarray((matrix + matrix.T) / 2)
