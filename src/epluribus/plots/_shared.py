"""Common to all plots: Axes, colors, words, and the reading of partitions and data.

Every function that draws a partition takes its colors from `cluster_colors` and its names from
`read_partition`, so that a cluster looks the same in all pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from epluribus._typing import AnyArray, FloatArray, IntArray, LabelsLike
from epluribus._validate import need
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.partition import ORDER, as_labels, is_estimate, item_names, matched

_COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#4B3C00", "#F0D2A5", "#002DA5",
    "#004B4B", "#E12D4B", "#7887FF", "#96D25A", "#3C2D69", "#B41E96", "#A5E1D2", "#871E3C", "#E1C3FF", "#874B00",
)  # fmt: skip
"""The colors of Okabe & Ito (2008), without black, and further ones, each as far from all before it as can be, also
for color-blind readers (smallest distance in CIELAB 26, with deuteranopia 17)."""

_CUT = "#D55E00"
"""Color of the lines between clusters: it shows on the blues and the grays of matrices."""

_SIZE, _LINE, _LETTER = 8, 1.15, 0.62
"""Largest font size of the names of clusters; height of a line, and width of a letter, in units of it."""

# --- figures and Axes ---


def import_pyplot() -> Any:
    """matplotlib.pyplot, or an error that names the extra."""
    return need("matplotlib.pyplot", "plots", "A picture")


def get_axes(
    ax: Any, figsize: tuple[float, float] = (5.5, 3.6), *, layout: str = "constrained"
) -> Any:
    """The given Axes, or those of a new figure; without lines at the top and the right."""
    if ax is None:
        ax = import_pyplot().subplots(figsize=figsize, layout=layout)[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def check_axes(
    axes: Any, n_rows: int, n_columns: int, figsize: tuple[float, float], layout: str
) -> Any:
    """The given Axes as an array of this shape, or those of a new figure."""
    if axes is None:
        size = {"figsize": figsize, "layout": layout}
        return import_pyplot().subplots(n_rows, n_columns, squeeze=False, **size)[1]
    if np.size(axes) != n_rows * n_columns:
        raise ValueError(
            f"'axes' must hold {n_rows} x {n_columns} Axes; got {np.size(axes)}. "
            "Leave it out for a new figure."
        )
    return np.reshape(axes, (n_rows, n_columns))


def new_figure(figsize: tuple[float, float], n_axes: int = 1) -> tuple[Any, Any]:
    """A Figure that pyplot does not keep, to be written to files, and its Axes, in a row if there are several."""
    import_pyplot()  # where matplotlib is missing, the error names the extra
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize, layout="constrained")
    return figure, figure.subplots(1, n_axes)


def size_in_points(ax: Any) -> FloatArray:
    """Width and height of the Axes in points, the unit of font sizes."""
    return np.array([ax.bbox.width, ax.bbox.height]) * 72 / ax.figure.dpi


def draw_cuts(ax: Any, rows: IntArray, columns: IntArray) -> None:
    """A frame, and lines between clusters, given where clusters begin and end, down and across."""
    ax.spines[:].set_visible(True)
    ax.hlines(rows[1:-1], 0, columns[-1], color=_CUT, linewidth=0.7)
    ax.vlines(columns[1:-1], 0, rows[-1], color=_CUT, linewidth=0.7)


# --- colors and words ---


def cluster_colors(k: int) -> list[Any]:
    """Colors for k clusters, all easy to tell apart if there are at most twenty; cluster g always has the g-th."""
    if k <= len(_COLORS):
        return list(_COLORS[:k])
    from matplotlib import colormaps

    # Steps of the golden ratio: each new color falls into one of the widest gaps.
    more = colormaps["turbo"](0.381966 * np.arange(k - len(_COLORS)) % 1.0)
    return [*_COLORS, *map(tuple, more[:, :3].tolist())]


def text_color(background: Any) -> str:
    """Black or white, whichever is easier to read on the background."""
    from matplotlib.colors import to_rgb

    # How bright the eye finds red, green and blue (ITU-R BT.601).
    return "black" if np.dot((0.299, 0.587, 0.114), to_rgb(background)) > 0.55 else "white"


def is_ensemble(sample: Any) -> bool:
    """Whether these are clusterings of an ensemble, of which nothing is posterior, probable or expected."""
    return getattr(sample, "kind", "posterior") == "ensemble"


def share_of(sample: Any) -> str:
    """What a probability is called where it is a share of draws or of clusterings."""
    return f"share of the {'clusterings' if is_ensemble(sample) else 'draws'}"


def with_unit(loss: Loss) -> str:
    """The name of a loss with its unit: "vi, bits"."""
    return f"{loss.name}, {loss.unit}" if loss.unit else loss.name


# --- names of clusters ---
#
# Names along a side of the Axes stand beside their clusters, moved as little as needed to be at least a gap d apart.
# With a_i the middle of cluster i and x_i the place of its name, this is the least-squares problem
#
#     minimize sum (x_i - a_i)^2   subject to   x_{i+1} - x_i >= d
#
# and x_i - i d is the isotonic regression of a_i - i d. Where a name had to move, a thin line leads to it.


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
    middle: FloatArray, total: float, points: float, line: float = _LINE
) -> tuple[FloatArray, float]:
    """Places of names along an axis from 0 to `total` that is `points` points long, and their font size.

    A name takes `line` font sizes. Names stay within the axis, smaller where there is no room for all of them.
    """
    font_size = min(_SIZE, points / (line * middle.size))
    gap = line * font_size * total / points
    return spread(middle, gap, gap / 2, total - gap / 2), font_size


def name_clusters(
    ax: Any, names: Sequence[str], edges: IntArray, colors: Sequence[Any], *, below: bool = False
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
        style = {"color": color, "linewidth": 9, "solid_capstyle": "butt"}
        ax.plot(*ends, transform=outside(9), clip_on=False, **style)
    middle = (edges[:-1] + edges[1:]) / 2
    length = size_in_points(ax)[0 if below else 1]
    width = _LETTER * max(map(len, names)) + 0.4
    turned = below and length < 0.75 * _SIZE * width * len(names)
    line = width if below and not turned else _LINE
    places, font_size = place_along(middle, float(edges[-1]), length, line)
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


def beside_legend(k: int, height: float) -> tuple[float, float]:
    """The size of a figure with a legend of k clusters: columns of 15 names, each an inch wide."""
    return 5.0 + min(-(-k // 15), 3), height


def legend_beside(ax: Any, handles: Any, names: Sequence[str], *, rows: int = 15) -> Any:
    """Names of the clusters to the right of the Axes, of at most 45 of them."""
    if len(names) > 3 * rows:
        handles, names = handles[: 3 * rows], [*names[: 3 * rows - 1], "..."]
    columns = -(-len(names) // rows)  # rounded up
    return ax.legend(
        handles, names, title="cluster", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2, fontsize=9 if columns == 1 else 8, ncols=columns, columnspacing=1.0,
        handlelength=1.2, handletextpad=0.5,
    )  # fmt: skip


# --- partitions ---


def read_partition(
    best: Estimate | LabelsLike, others: Any = None, argument: str = "best"
) -> tuple[IntArray, list[str]]:
    """Clusters 0, 1, ... in the order of the user's labels, and these labels as text.

    For example, the labels ["b", "a", "b"] give the clusters [1, 0, 1] and the names ["a", "b"]. Items are put
    into the order of those of `others`, if it is given: draws, or another partition.
    """
    given: Any = best.labels if is_estimate(best) else best  # type: ignore[union-attr]
    if others is not None:
        in_order = matched(best, others, argument)
        if hasattr(best, "iloc") or hasattr(best, "coords"):
            given = matched(best, others, argument, rows=True)
        elif item_names(best) is not None:
            given = in_order
    # Numbers in order of first appearance; the order of the user's labels comes below.
    codes = as_labels(best if others is None else given, argument=argument)
    raw = np.asarray(given)
    if isinstance(raw.flat[0], Mapping | Set):  # clusters given as sets of items have no names
        raw = codes
    # The label of each cluster, read at its first item, and the order of these labels.
    own = raw.ravel()[np.unique(codes, return_index=True)[1]]
    order = np.argsort(own, kind="stable")
    # Integers that came as floats are written without their ".0".
    names = [str(int(x)) if isinstance(x, float | np.floating) else str(x) for x in own[order]]
    return np.argsort(order)[codes], names


def cluster_edges(sizes: AnyArray) -> AnyArray:
    """Where clusters of these sizes, side by side, begin and end: sizes 2 and 3 give 0, 2, 5."""
    return np.concatenate([[0], np.cumsum(sizes)])


def even_steps(n: int, most: int) -> IntArray:
    """At most `most` of the numbers 0 to n - 1, evenly spaced: all of them if n is not larger."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)


def some_of_each(labels: IntArray, most: int) -> IntArray:
    """Items evenly spaced through the clusters, at most `most`, and the first of each cluster."""
    steps = np.argsort(labels, kind="stable")[even_steps(labels.size, most)]
    return np.union1d(steps, np.unique(labels, return_index=True)[1])


# --- data ---


def read_data(
    values: ArrayLike, others: Any = None, argument: str = "X", columns: int | None = None
) -> AnyArray:
    """Numbers as a matrix with one row for each item of `others`, matched by name; a flat array is one column."""
    if is_estimate(values):
        raise TypeError(f"'{argument}' must be data; got an Estimate. {ORDER}")
    if others is not None:
        values = matched(values, others, argument, other="the partition", rows=True)
    data = np.asarray(values)
    if data.dtype.kind not in "fiub":
        raise TypeError(
            f"'{argument}' must hold numbers; got values of type {data.dtype}. Leave out columns of text or dates."
        )
    data = data.astype(np.float64)
    data = data[:, None] if data.ndim == 1 else data
    if data.ndim != 2 or 0 in data.shape or columns not in (None, data.shape[1]):
        raise ValueError(
            f"'{argument}' must have one row for each item, shape (n_items, {columns or 'n_columns'}); got shape "
            f"{np.shape(values)}. A histogram shows one column, scatter and pairs show more."
        )
    if not np.isfinite(data).all():
        raise ValueError(
            f"'{argument}' must hold finite numbers; got {int((~np.isfinite(data)).sum())} that are "
            "missing or infinite. Leave these items out, also of the partition."
        )
    return data


def principal(data: FloatArray) -> FloatArray:
    """(n_items, 2) scores on the first two principal components of the standardized columns."""
    spread = data.std(axis=0)
    # A column that is constant has no spread to divide by.
    centered = (data - data.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    left, values, _ = np.linalg.svd(centered, full_matrices=False)
    plane = left[:, :2] * values[:2]
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))  # a single item has one component


def column_names(values: Any, n: int) -> list[str]:
    """Names of the n columns of a data frame, or that of a series; empty if there are none."""
    name = getattr(values, "name", None)
    given = getattr(values, "columns", [] if name is None else [name])
    # A labeled array may have one name for all of its columns; numbers that pandas gives are no names.
    named = len(given) == n and not isinstance(given, pd.RangeIndex)
    return [str(name) for name in given] if named else []


def label_axes(ax: Any, names: Sequence[str]) -> None:
    """Write the names of one or two columns along the axes; without names, nothing."""
    for name, write in zip(names, (ax.set_xlabel, ax.set_ylabel), strict=False):
        write(name)
