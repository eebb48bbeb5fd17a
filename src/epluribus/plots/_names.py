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

from epluribus._typing import FloatArray, IntArray
from epluribus.plots._shared import size_in_points

_LINE, _LETTER = 1.15, 0.62
"""Height of a line of text, and width of a letter, on the wide side, in units of the font size."""


def spread(places: ArrayLike, gap: float, low: float, high: float) -> FloatArray:
    """Ascending places moved as little as needed to be `gap` apart (least squares).

    They stay between `low` and `high`, nearer to each other than `gap` where there is no room. For
    example, the places 1, 1 and 9 with a gap of 2 between -10 and 10 become 0, 2 and 9.
    """
    from scipy.optimize import isotonic_regression

    wanted = np.asarray(places, dtype=np.float64)
    # The widest gap at which all of them fit between the bounds.
    gap = min(gap, max(high - low, 0.0) / max(wanted.size - 1, 1))
    offset = gap * np.arange(wanted.size)
    # Clipping the regression is the regression within bounds.
    pooled = isotonic_regression(wanted - offset).x
    return np.asarray(np.clip(pooled, low, high - offset[-1]) + offset)


def place_along(
    middle: FloatArray, total: float, points: float, font_size: float, line: float = _LINE
) -> tuple[FloatArray, float]:
    """Places of names along an axis from 0 to `total` that is `points` points long, and their font size.

    A name takes `line` font sizes. Names stay within the axis, smaller where there is no room for all of them.
    """
    font_size = min(font_size, points / (line * middle.size))
    gap = line * font_size * total / points
    return spread(middle, gap, gap / 2, total - gap / 2), font_size


def name_clusters(
    ax: Any, names: Sequence[str], edges: IntArray, colors: Sequence[Any], font_size: float, *, below: bool = False
) -> float:  # fmt: skip
    """A strip of colors along the left of the Axes, or below them, and the names of the clusters beside it.

    Below, names are turned by 90 degrees where there is no room to write them side by side. Returns how many
    points they reach out.
    """
    from matplotlib.transforms import ScaledTranslation

    def outside(points: float) -> Any:
        """Coordinates of the data along the side, and this many points outside of it."""
        along = ax.get_xaxis_transform() if below else ax.get_yaxis_transform()
        x, y = (0.0, -points / 72) if below else (-points / 72, 0.0)
        return along + ScaledTranslation(x, y, ax.figure.dpi_scale_trans)

    side = slice(None) if not below else slice(None, None, -1)  # (x, y) of what is across and along
    for color, low, high in zip(colors, edges[:-1], edges[1:], strict=True):
        ends = ([0, 0], [low, high])[side]
        ax.plot(
            *ends,
            transform=outside(9),
            color=color,
            linewidth=9,
            clip_on=False,
            solid_capstyle="butt",
        )
    middle = (edges[:-1] + edges[1:]) / 2
    length = size_in_points(ax)[0 if below else 1]
    width = _LETTER * max(map(len, names)) + 0.4
    turned = below and length < 0.75 * font_size * width * len(names)
    line = width if below and not turned else _LINE
    places, font_size = place_along(middle, float(edges[-1]), length, font_size, line)
    leader = {"arrowstyle": "-", "color": "#808080", "linewidth": 0.5, "shrinkA": 1, "shrinkB": 0}
    for name, place, where in zip(names, middle, places, strict=True):
        ax.annotate(
            name, (0, place)[side], (0, where)[side], xycoords=outside(14), textcoords=outside(19),
            ha="center" if below else "right", va="top" if below else "center", fontsize=font_size,
            rotation=90 if turned else 0, annotation_clip=False,
            arrowprops=leader | {"relpos": (0.5, 1) if below else (1, 0.5)},
        )  # fmt: skip
    (ax.set_xticks if below else ax.set_yticks)([])
    return float(19 + font_size * (width if turned or not below else _LINE))


def push_apart(places: FloatArray, gap: float) -> FloatArray:
    """Points that are nearer to each other than `gap` moved away from each other, a little at a time."""
    from scipy.spatial import cKDTree

    # Points at one place need a direction in which to move: the golden angle gives each another.
    angle = 2.4 * np.arange(len(places))
    place = places + 1e-3 * gap * np.column_stack([np.cos(angle), np.sin(angle)])
    # A crowd loosens from its border inwards; few points need far fewer rounds.
    for _ in range(200):
        first, second = cKDTree(place).query_pairs(gap, output_type="ndarray").T
        apart = place[first] - place[second]
        distance = np.maximum(np.linalg.norm(apart, axis=1), 1e-9)
        overlap = gap - distance
        if overlap.max(initial=0.0) < 0.02 * gap:
            break
        # Half of the overlap for each point separates a lone pair at once, but overshoots in a crowd.
        move = 0.4 * (overlap / distance)[:, None] * apart
        np.add.at(place, first, move)
        np.subtract.at(place, second, move)
    return place


def name_points(
    ax: Any, names: Sequence[str], places: ArrayLike, font_size: float = 10, **style: Any
) -> FloatArray:
    """Names written over points of the picture, moved apart where they would cover each other.

    Returns where they are. A white rim makes them legible over anything.
    """
    from matplotlib.patheffects import withStroke

    # In names across and down; the limits of the Axes must be known by now.
    wide = _LETTER * max(map(len, names), default=0)
    name = font_size * np.array([max(1.7, min(wide, 8.0)), 1.7])
    unit = size_in_points(ax) / name / [np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())]
    moved = push_apart(np.asarray(places) * unit, 1.0) / unit
    rim = [withStroke(linewidth=0.25 * font_size, foreground="white")]
    style = {"ha": "center", "va": "center", "fontweight": "bold", "path_effects": rim} | style
    for text, (x, y) in zip(names, moved, strict=True):
        ax.text(x, y, text, fontsize=font_size, zorder=6, **style)
    return moved


def legend_beside(ax: Any, handles: Any, names: Sequence[str], *, rows: int = 15) -> Any:
    """Names of the clusters to the right of the Axes, in as many columns as needed."""
    columns = -(-len(names) // rows)  # rounded up
    return ax.legend(
        handles, names, title="cluster", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2, fontsize=9 if columns == 1 else 8, ncols=columns, columnspacing=1.0,
        handlelength=1.2, handletextpad=0.5,
    )  # fmt: skip
