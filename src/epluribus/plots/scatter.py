"""Two-dimensional data, by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._clusters import read_data, read_partition
from epluribus.plots._figure import cluster_colors, get_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from epluribus._typing import IntArray, LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["draw_points", "name_places", "scatter"]

_MARKERS = "os^Dvp>X<Ph"


def scatter(X: ArrayLike, best: Estimate | LabelsLike, *, ax: Any = None) -> Any:
    """Items as points; each cluster has a color, a shape and its name in the middle.

    Parameters
    ----------
    X : array_like of shape (n_items, 2)
        Two numbers for each item.
    best : Estimate or array_like of shape (n_items,)
        The partition.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    pairs : for more columns.
    histogram : for one.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.scatter([[0, 0], [0, 1], [5, 5]], ["a", "a", "b"])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b']
    """
    data = read_data(X)
    if data.shape[1] != 2:
        other = "histogram" if data.shape[1] == 1 else "pairs"
        raise ValueError(
            f"'X' must have 2 columns; got shape {np.shape(X)}. Use epluribus.plots.{other}."
        )
    labels, names = read_partition(best, len(data))
    ax = get_axes(ax, (5.5, 4.6))
    draw_points(ax, data, labels, dict(enumerate(names)), cluster_colors(len(names)))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def draw_points(
    ax: Any,
    data: NDArray[Any],
    labels: IntArray,
    names: dict[int, str],
    colors: Sequence[Any],
    *,
    size: float | None = None,
    font_size: float = 10,
) -> None:
    """One scatter for each cluster in `names`, which are written over one of its items if not empty."""
    from matplotlib.patheffects import withStroke

    area = size if size is not None else float(np.clip(6000 / len(data), 5, 36))
    rim = 0.25 if area > 12 else 0.05  # a wide one would hide the color of a small point
    for g in names:
        x, y = data[labels == g].T
        ax.scatter(x, y, s=area, color=colors[g], marker=_MARKERS[g % len(_MARKERS)],
                   edgecolors="#303030", linewidths=rim, zorder=2)  # fmt: skip
    halo = [withStroke(linewidth=2.5, foreground="white")]
    named = {g: name for g, name in names.items() if name}
    for g, (x, y) in zip(named, name_places(ax, data, labels, list(named)), strict=True):
        ax.annotate(named[g], (x, y), (0, 0.7 * font_size), textcoords="offset points",
                    ha="center", va="center", fontsize=font_size, fontweight="bold", path_effects=halo,
                    zorder=4)  # fmt: skip


def name_places(
    ax: Any, data: NDArray[Any], labels: IntArray, clusters: list[int]
) -> list[NDArray[np.float64]]:
    """For the name of each cluster, its most central item that is not at another name."""
    points = np.array([ax.bbox.width, ax.bbox.height]) * 72 / ax.figure.dpi
    room = np.array([16.0, 12.0]) / points * np.maximum(np.ptp(data, axis=0), 1e-12)
    places: dict[int, NDArray[np.float64]] = {}
    for g in sorted(clusters, key=lambda g: -int((labels == g).sum())):
        own = data[labels == g]
        own = own[np.abs(own - np.median(own, axis=0)).sum(axis=1).argsort(kind="stable")]
        taken = np.array([*places.values()]).reshape(-1, 2)
        free = (np.abs(own[:, None] - taken) > room).any(axis=2).all(axis=1)
        places[g] = own[int(free.argmax())]  # the most central where none is free
    return [places[g] for g in clusters]
