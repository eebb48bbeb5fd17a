"""Names of clusters, written so that none covers another.

Names along a side of the Axes stand beside their clusters, moved as little as needed to be at least a gap
d apart. With a_i the middle of cluster i and x_i the place of its name, this is the least-squares problem

    minimize sum (x_i - a_i)^2   subject to   x_{i+1} - x_i >= d

and x_i - i d is the isotonic regression of a_i - i d. Where a name had to move, a thin line leads to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.plots._shared import size_in_points

_LEADER = {"arrowstyle": "-", "color": "#808080", "linewidth": 0.5, "shrinkA": 1, "shrinkB": 0}
"""The line from a cluster to its name."""
_LINE = 1.15
"""Height of a line of text, in units of its font size."""
_LETTER = 0.62
"""Width of a letter, on the wide side, in units of the font size."""


def spread(places: ArrayLike, gap: float, low: float = -np.inf, high: float = np.inf) -> FloatArray:
    """Ascending places moved as little as needed to be `gap` apart (least squares).

    They stay between `low` and `high`, nearer to each other than `gap` where there is no room. For
    example, the places 0, 1 and 10 with a gap of 3 become -1, 2 and 10: the first two share the move.
    """
    from scipy.optimize import isotonic_regression

    wanted = np.asarray(places, dtype=np.float64)
    # The widest gap at which all of them fit between the bounds.
    gap = min(gap, max(high - low, 0.0) / max(wanted.size - 1, 1))
    offset = gap * np.arange(wanted.size)
    pooled = isotonic_regression(wanted - offset).x
    # Clipping the regression is the regression within bounds.
    return np.asarray(np.clip(pooled, low, high - offset[-1]) + offset)


def place_along(
    middle: FloatArray, total: float, points: float, font_size: float
) -> tuple[FloatArray, float]:
    """Places of names along an axis from 0 to `total` that is `points` points long, and their font size.

    They stay within the axis; where there is no room for all of them they are written smaller.
    """
    # At most the size at which one line per name fills the axis.
    font_size = min(font_size, points / (_LINE * middle.size))
    gap = _LINE * font_size * total / points
    return spread(middle, gap, gap / 2, total - gap / 2), font_size


def _outside(ax: Any, side: str, points: float) -> Any:
    """Coordinates of the data along one side of the Axes, and this many points outside of it."""
    from matplotlib.transforms import ScaledTranslation

    left = side == "left"
    # Along the side in units of the data; across, 0 is the border, moved out by a fixed distance.
    along = ax.get_yaxis_transform() if left else ax.get_xaxis_transform()
    x, y = (-points / 72, 0.0) if left else (0.0, -points / 72)
    return along + ScaledTranslation(x, y, ax.figure.dpi_scale_trans)


def name_left(
    ax: Any, names: Sequence[str], edges: IntArray, colors: Sequence[Any], font_size: float
) -> None:
    """A strip of colors to the left of the rows, and the names of the clusters beside it."""
    # From the Axes outwards: the strip of colors, the near end of the line, the name.
    strip, line, text = (_outside(ax, "left", points) for points in (9, 14, 19))
    for color, low, high in zip(colors, edges[:-1], edges[1:], strict=True):
        ax.plot([0, 0], [low, high], transform=strip, color=color, linewidth=9, clip_on=False,
                solid_capstyle="butt")  # fmt: skip
    middle = (edges[:-1] + edges[1:]) / 2
    places, font_size = place_along(middle, float(edges[-1]), size_in_points(ax)[1], font_size)
    for name, place, where in zip(names, middle, places, strict=True):
        ax.annotate(name, (0, place), (0, where), xycoords=line, textcoords=text, ha="right",
                    va="center", fontsize=font_size, arrowprops=_LEADER | {"relpos": (1, 0.5)},
                    annotation_clip=False)  # fmt: skip
    ax.set_yticks([])


def name_below(
    ax: Any, names: Sequence[str], edges: IntArray, colors: Sequence[Any], font_size: float
) -> float:
    """Names of the clusters, on their colors, below the axis; returns how many points down they reach.

    They are turned by 90 degrees where there is no room to write them side by side.
    """
    n, points = int(edges[-1]), size_in_points(ax)[0]
    middle = (edges[:-1] + edges[1:]) / 2
    # In font sizes: the width of the longest name, and 0.4 between two names.
    width = _LETTER * max(map(len, names))
    # The font size at which all names fit side by side; if it is too small, they are turned.
    room = points / len(names) / (width + 0.4)
    upright = room < 0.75 * font_size
    if upright:
        # Boxes around the names: a little more room than plain lines of text need.
        places, font_size = place_along(middle, n, points / 1.2, font_size)
    else:
        font_size = min(font_size, room)
        gap = n * font_size * (width + 0.4) / points
        places = spread(middle, gap, gap / 2, n - gap / 2)
    # Where names had to move they stand lower, to keep the lines that lead to them apart.
    drop = 8.0 if np.abs(places - middle).max() < 0.01 * n else 18.0
    line, text = _outside(ax, "below", 2), _outside(ax, "below", drop)
    for name, place, where, color in zip(names, middle, places, colors, strict=True):
        box = {"boxstyle": "square,pad=0.1", "facecolor": color, "linewidth": 0}
        ax.annotate(name, (place, 0), (where, 0), xycoords=line, textcoords=text, ha="center",
                    va="top", fontsize=font_size, rotation=90 if upright else 0, bbox=box,
                    color=text_color(color), annotation_clip=False,
                    arrowprops=_LEADER | {"relpos": (0.5, 1), "color": color, "linewidth": 1})  # fmt: skip
    return float(drop + font_size * (width + 0.6 if upright else 1.3))


def legend_beside(ax: Any, handles: Any, names: list[str], *, rows: int = 15) -> Any:
    """Names of the clusters to the right of the Axes, in as many columns as needed."""
    columns = -(-len(names) // rows)  # rounded up
    return ax.legend(
        handles, names, title="cluster", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2, fontsize=9 if columns == 1 else 8, ncols=columns, columnspacing=1.0,
        handlelength=1.2, handletextpad=0.5,
    )  # fmt: skip


def text_color(background: Any) -> str:
    """Black or white, whichever is easier to read on the background."""
    from matplotlib.colors import to_rgb

    # How bright the eye finds red, green and blue (ITU-R BT.601).
    return "black" if np.dot((0.299, 0.587, 0.114), to_rgb(background)) > 0.55 else "white"


def halo(width: float) -> list[Any]:
    """A white rim around letters written over points."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


def place_over_items(
    ax: Any, data: AnyArray, labels: IntArray, clusters: Sequence[int]
) -> list[FloatArray]:
    """For the name of each cluster, its most central item that is not at another name."""
    # A name takes about 16 x 12 points, here in units of the data.
    room = np.array([16.0, 12.0]) / size_in_points(ax) * np.maximum(np.ptp(data, axis=0), 1e-12)
    places: dict[int, FloatArray] = {}
    # The largest cluster chooses first.
    for g in sorted(clusters, key=lambda g: -int((labels == g).sum())):
        own = data[labels == g]
        # From the most central item outwards, by the distance |x| + |y| from the median.
        own = own[np.abs(own - np.median(own, axis=0)).sum(axis=1).argsort(kind="stable")]
        taken = np.array([*places.values()]).reshape(-1, 2)
        # An item is free if it is far enough, across or down, from every name placed so far.
        free = (np.abs(own[:, None] - taken) > room).any(axis=2).all(axis=1)
        # The first free item; where none is free, argmax gives 0, the most central one.
        places[g] = own[int(free.argmax())]
    return [places[g] for g in clusters]
