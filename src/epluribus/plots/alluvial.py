"""How the items of one partition flow into the clusters of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._clusters import read_partition
from epluribus.plots._figure import cluster_colors, get_axes
from epluribus.plots.blocks import place_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import IntArray, LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["alluvial"]

_GAP = 0.25
"""Part of the height left between clusters, in all."""
_BAR = 0.035
"""Width of the bars, as a share of the distance between them."""


def alluvial(
    a: Estimate | LabelsLike,
    b: Estimate | LabelsLike,
    *,
    titles: tuple[str, str] = ("a", "b"),
    font_size: float = 8,
    ax: Any = None,
) -> Any:
    """Clusters of two partitions as bars, left and right, with bands for the items they share.

    Bands have the color of the cluster on the left. Clusters are placed so that bands cross
    little. Beside each bar: its name and, in brackets, its size.

    Parameters
    ----------
    a, b : Estimate or array_like of shape (n_items,)
        Two partitions of the same items.
    titles : (str, str), default ("a", "b")
        Written above the bars.
    font_size : float, default 8
        Of the names of the clusters.
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
    >>> ax = epl.plots.alluvial(["x", "x", "y", "y"], [0, 0, 0, 1])
    >>> [text.get_text() for text in ax.texts]
    ['x (2)', 'y (2)', '0 (3)', '1 (1)', 'a', 'b']
    """
    if len(titles) != 2:
        raise ValueError(f"'titles' must be two words; got {titles!r}.")
    left, left_names = read_partition(a, argument="a")
    right, right_names = read_partition(b, left.size, "b")
    table = np.zeros((len(left_names), len(right_names)), dtype=np.int64)
    np.add.at(table, (left, right), 1)
    rows, columns = _orders(table)
    table = table[np.ix_(rows, columns)]
    ax = get_axes(ax, (5.5, float(np.clip(0.6 + 0.2 * max(table.shape), 5.0, 12.0))))
    colors = [cluster_colors(len(rows))[g] for g in rows]
    top_left, top_right = _tops(table.sum(axis=1)), _tops(table.sum(axis=0))
    _bands(ax, table, top_left, top_right, colors)
    names = [left_names[g] for g in rows]
    _bars(ax, 0.0, -1, top_left, table.sum(axis=1), names, colors, font_size)
    names = [right_names[g] for g in columns]
    _bars(ax, 1.0, 1, top_right, table.sum(axis=0), names, ["#606060"] * len(names), font_size)
    for x, title in zip((0.0, 1.0), titles, strict=True):
        ax.text(x, -0.02, title, ha="center", va="bottom", fontsize=font_size + 2)
    ax.set(xlim=(-_BAR, 1 + _BAR), ylim=(1, 0))
    ax.set_axis_off()
    return ax


def _orders(table: NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Rows and columns so that bands cross little: each at the mean place of what it shares."""
    rows, columns = np.arange(len(table)), np.arange(table.shape[1])
    for _ in range(10):
        place = _middles(table.sum(axis=1), rows)
        columns = np.argsort(place @ table / table.sum(axis=0), kind="stable")
        place = _middles(table.sum(axis=0), columns)
        rows = np.argsort(table @ place / table.sum(axis=1), kind="stable")
    return rows, columns


def _middles(sizes: NDArray[np.int64], order: IntArray) -> NDArray[np.float64]:
    """Middle of each bar when they are stacked in this order."""
    place = np.empty(sizes.size)
    place[order] = np.cumsum(sizes[order]) - sizes[order] / 2
    return place


def _tops(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Where each bar begins, in a picture of height 1."""
    k = sizes.size
    gap = min(0.04, _GAP / max(k - 1, 1))
    scale = (1 - _GAP) / sizes.sum()
    begin = (_GAP - gap * (k - 1)) / 2  # in the middle
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.asarray(begin + starts * scale + gap * np.arange(k))


def _bands(
    ax: Any,
    table: NDArray[np.int64],
    top_left: NDArray[np.float64],
    top_right: NDArray[np.float64],
    colors: list[Any],
) -> None:
    """A band for every two clusters that share items."""
    x = np.linspace(0, 1, 60)
    bend = x**3 * (10 - 15 * x + 6 * x**2)
    out, into = top_left.copy(), top_right.copy()
    for g, h in np.argwhere(table):
        height = table[g, h] * (1 - _GAP) / table.sum()
        upper = out[g] + bend * (into[h] - out[g])
        ax.fill_between(x, upper, upper + height, color=colors[g], alpha=0.55, linewidth=0)
        out[g] += height
        into[h] += height


def _bars(
    ax: Any,
    x: float,
    side: int,
    tops: NDArray[np.float64],
    sizes: NDArray[np.int64],
    names: list[str],
    colors: list[Any],
    font_size: float,
) -> None:
    """Bars at one side, with names that do not overlap."""
    heights = sizes * (1 - _GAP) / sizes.sum()
    ax.bar(x, heights, _BAR, bottom=tops, color=colors, linewidth=0)
    middle = tops + heights / 2
    places, font_size = place_names(middle, 1.0, ax.bbox.height * 72 / ax.figure.dpi, font_size)
    for name, size, place, where in zip(names, sizes, middle, places, strict=True):
        ends = x + side * _BAR * np.array([0.6, 1.4])
        ax.plot(ends, [place, where], color="#808080", linewidth=0.5, clip_on=False)
        ax.text(x + side * 1.6 * _BAR, where, f"{name} ({size:,})", fontsize=font_size,
                ha="right" if side < 0 else "left", va="center")  # fmt: skip
