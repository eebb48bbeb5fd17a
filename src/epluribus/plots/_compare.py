"""Two partitions of the same items: how clusters flow into each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._typing import FloatArray, IntArray, LabelsLike
from epluribus._validate import shown
from epluribus.estimate import Estimate
from epluribus.plots import _shared as shared

_GAP = 0.25
"""Share of the height that is left between clusters, all gaps together."""
_BAR = 0.035
"""Width of the bars, as a share of the distance between them."""


def alluvial(
    a: Estimate | LabelsLike,
    b: Estimate | LabelsLike,
    *,
    titles: tuple[str, str] = ("a", "b"),
    ax: Any = None,
) -> Any:
    """Clusters of two partitions as bars, left and right, with bands for the items they share.

    Bands have the color of the cluster on the left. Clusters are placed so that few bands cross.
    Beside each bar stand its name and, in brackets, its size.

    Parameters
    ----------
    a, b : Estimate or array_like of shape (n_items,)
        Two partitions of the same items.
    titles : (str, str), default ("a", "b")
        Written above the bars.
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
        raise ValueError(f"'titles' must be two words; got {shown(titles)}.")
    left, left_names = shared.read_partition(a, argument="a")
    right, right_names = shared.read_partition(b, a, "b")
    # `add.at` adds 1 for every item, also where several items have the same cell.
    table = np.zeros((len(left_names), len(right_names)), dtype=np.int64)
    np.add.at(table, (left, right), 1)
    # Clusters at the right stand where most of their items come from (barycenters), so that few bands cross.
    middles = _tops(table.sum(axis=1)) + table.sum(axis=1) / (2 * table.sum())
    columns = np.argsort(middles @ table / table.sum(axis=0), kind="stable")
    table = table[:, columns]
    ax = shared.get_axes(ax, (5.5, float(np.clip(0.6 + 0.2 * max(table.shape), 5.0, 12.0))))
    colors = shared.cluster_colors(len(table))
    _draw_bands(ax, table, colors)
    _draw_bars(ax, 0.0, table.sum(axis=1), left_names, colors)
    gray = ["#606060"] * len(columns)
    _draw_bars(ax, 1.0, table.sum(axis=0), [right_names[h] for h in columns], gray)
    for x, title in zip((0.0, 1.0), titles, strict=True):
        ax.text(x, -0.02, title, ha="center", va="bottom", fontsize=10)
    ax.set(xlim=(-_BAR, 1 + _BAR), ylim=(1, 0))
    ax.set_axis_off()
    return ax


def _tops(sizes: IntArray) -> FloatArray:
    """Where each bar begins, in a picture of height 1."""
    gap = _GAP / sizes.size
    before = shared.cluster_edges(sizes)[:-1] * (1 - _GAP) / sizes.sum()
    return np.asarray(before + gap * (np.arange(sizes.size) + 0.5))


def _draw_bands(ax: Any, table: IntArray, colors: list[Any]) -> None:
    """A band for every two clusters that share items."""
    x = np.linspace(0, 1, 60)
    # The smooth step 6 x^5 - 15 x^4 + 10 x^3 rises from 0 to 1 and is flat at both ends.
    bend = x**3 * (10 - 15 * x + 6 * x**2)
    out, into = _tops(table.sum(axis=1)), _tops(table.sum(axis=0))
    for g, h in np.argwhere(table):
        # Bars and bands have the same scale: the bands of a cluster fill its bar.
        height = table[g, h] * (1 - _GAP) / table.sum()
        upper = out[g] + bend * (into[h] - out[g])
        ax.fill_between(x, upper, upper + height, color=colors[g], alpha=0.55, linewidth=0)
        # The next band of either cluster begins where this one ends.
        out[g] += height
        into[h] += height


def _draw_bars(ax: Any, x: float, sizes: IntArray, names: list[str], colors: list[Any]) -> None:
    """Bars at the left (x = 0) or at the right (x = 1), with names that do not overlap."""
    tops, heights = _tops(sizes), sizes * (1 - _GAP) / sizes.sum()
    ax.bar(x, heights, _BAR, bottom=tops, color=colors, linewidth=0)
    middle = tops + heights / 2
    places, font_size = shared.place_along(middle, 1.0, shared.size_in_points(ax)[1])
    side, align = (-1, "right") if x == 0 else (1, "left")
    # Both ends of the line that leads from a bar to its name.
    ends = x + side * _BAR * np.array([0.6, 1.4])
    for name, size, place, where in zip(names, sizes, middle, places, strict=True):
        ax.plot(ends, [place, where], color="#808080", linewidth=0.5, clip_on=False)
        ax.text(x + side * 1.6 * _BAR, where, f"{name} ({size:,})", fontsize=font_size, ha=align,
                va="center")  # fmt: skip
