"""Common to all plots: Axes, colors, and the reading of partitions and data.

Every function that draws a partition takes its colors from `cluster_colors` and its names from
`read_partition`, so that a cluster looks the same in all pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import AnyArray, FloatArray, IntArray, LabelsLike
from epluribus._validate import need
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.partition import as_labels, is_estimate

_OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442")
"""Okabe & Ito (2008): distinct for all kinds of color vision. Their black is kept for lines."""

_TWENTY = (
    "#4363d8", "#f58231", "#3cb44b", "#e6194b", "#42d4f4", "#f032e6", "#ffe119", "#000075",
    "#bfef45", "#800000", "#469990", "#fabed4", "#9a6324", "#911eb4", "#aaffc3", "#808000",
    "#dcbeff", "#ffd8b1", "#a9a9a9", "#404040",
)  # fmt: skip
"""Trubetskoy's list of colors that differ most from each other, without the palest ones."""

_THIRTY = (
    "#117788", "#ee8899", "#ffdd11", "#553333", "#22aa00", "#cc22ff", "#ddddff", "#88bbbb",
    "#224466", "#bb1144", "#8888bb", "#224400", "#ff8811", "#ffccbb", "#886677", "#556655",
    "#449977", "#aaaa66", "#ff88ee", "#66aaff", "#bb6655", "#004444", "#ccee88", "#7700aa",
    "#66eecc", "#991100", "#1144ff", "#ee1199", "#777700", "#3377bb",
)  # fmt: skip
"""The thirty colors whose smallest difference (CIEDE2000; 17.1) is largest.

They were chosen by exchanges, from farthest-first starts, among 16 levels each of red, green and blue,
without very dark and very pale colors. A difference as seen with deuteranopia (Machado et al. 2009)
counted 1.7 times; the smallest of these is 10.1.
"""

_CUT = "#D55E00"
"""Color of the lines between clusters: it shows on the blues and the grays of matrices."""

# --- figures and Axes ---


def import_pyplot() -> Any:
    """matplotlib.pyplot, or an error that names the extra."""
    return need("matplotlib.pyplot", "plots", "A picture")


def get_axes(
    ax: Any, figsize: tuple[float, float] = (5.5, 3.6), layout: str = "constrained"
) -> Any:
    """The given Axes, or those of a new figure; the layout "compressed" suits square pictures."""
    return import_pyplot().subplots(figsize=figsize, layout=layout)[1] if ax is None else ax


def check_axes(
    axes: Any, shape: tuple[int, ...], figsize: tuple[float, float], layout: str = "constrained"
) -> Any:
    """The given Axes as an array of this shape, or those of a new figure."""
    if axes is None:
        # A flat shape is one row of panels.
        rows, columns = shape if len(shape) == 2 else (1, *shape)
        figure = import_pyplot().figure(figsize=figsize, layout=layout)
        return figure.subplots(rows, columns, squeeze=False).reshape(shape)
    given = np.asarray(axes)
    if given.size != np.prod(shape):
        raise ValueError(
            f"'axes' must hold {' x '.join(map(str, shape))} Axes; got {given.size}. "
            "Leave it out for a new figure."
        )
    return given.reshape(shape)


def new_figure(
    figsize: tuple[float, float], n_rows: int = 1, n_columns: int = 1
) -> tuple[Any, Any]:
    """A Figure that pyplot does not keep, to be written to files, and its Axes (an array if several)."""
    import_pyplot()  # where matplotlib is missing, the error names the extra
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Made without pyplot, which keeps every figure open until it is closed.
    figure = Figure(figsize=figsize, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(n_rows, n_columns)


def size_in_points(ax: Any) -> FloatArray:
    """Width and height of the Axes in points, the unit of font sizes."""
    return np.array([ax.bbox.width, ax.bbox.height]) * 72 / ax.figure.dpi


def draw_cuts(ax: Any, rows: IntArray, columns: IntArray, width: float = 0.7) -> None:
    """Lines between clusters: across at these rows, down at these columns."""
    for places, draw in ((rows, ax.axhline), (columns, ax.axvline)):
        for place in places:
            draw(place, color=_CUT, linewidth=width)


# --- colors ---


def cluster_colors(k: int) -> list[Any]:
    """Colors for k clusters, all easy to distinguish if there are at most thirty."""
    # The shortest list that is long enough: with fewer colors they differ more.
    for colors in (_OKABE_ITO, _TWENTY, _THIRTY):
        if k <= len(colors):
            return list(colors[:k])
    import colorsys

    # The golden angle, 0.381966 of the circle: each new hue falls into one of the widest gaps. The three
    # levels of lightness take turns.
    more = [
        colorsys.hls_to_rgb(0.381966 * i % 1.0, (0.42, 0.62, 0.3)[i % 3], 0.65)
        for i in range(len(_THIRTY), k)
    ]
    return [*_THIRTY, *more]


# --- partitions ---


def read_partition(
    best: Estimate | LabelsLike, n_items: int | None = None, argument: str = "best"
) -> tuple[IntArray, list[str]]:
    """Clusters 0, 1, ... in the order of the user's labels, and these labels as text.

    For example, the labels ["b", "a", "b"] give the clusters [1, 0, 1] and the names ["a", "b"].
    """
    # Numbers in order of first appearance; the order of the user's labels comes below.
    given: Any = best
    if is_estimate(given):
        given = given.labels
    codes = as_labels(given, n_items, argument)
    raw = np.asarray(given)
    if isinstance(raw.flat[0], Mapping | Set):  # clusters given as sets of items have no names
        raw = codes
    # The label of each cluster, read at its first item, and the order of these labels.
    own = raw.ravel()[np.unique(codes, return_index=True)[1]]
    order = np.argsort(own, kind="stable")
    # Integers that came as floats are written without their ".0".
    names = [str(int(x)) if isinstance(x, float | np.floating) else str(x) for x in own[order]]
    return np.argsort(order)[codes], names


def check_order(call: str, best: Any, draws: Any) -> None:
    """Refuse an estimate and draws given in the wrong order.

    `call` is the right call, such as "certainty(best, draws)", which the message shows.
    """
    # Plain arrays may be either, and their shapes are checked later.
    if isinstance(draws, Estimate) or isinstance(best, Draws):
        plot = call.partition("(")[0]
        raise TypeError(f"plots.{plot} takes the estimate first, then the draws: {call}.")


def cluster_edges(sizes: IntArray) -> IntArray:
    """Where clusters of these sizes, side by side, begin and end: sizes 2 and 3 give 0, 2, 5."""
    return np.concatenate([[0], np.cumsum(sizes)])


def even_steps(n: int, most: int) -> IntArray:
    """At most `most` of the numbers 0 to n - 1, evenly spaced: all of them if n is not larger."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)


# --- data ---


def read_data(values: ArrayLike, n_items: int | None = None, argument: str = "X") -> AnyArray:
    """Numbers as a matrix with one row per item; a flat array is one column."""
    data = np.asarray(values, dtype=np.float64)
    data = data[:, None] if data.ndim == 1 else data
    if data.ndim != 2 or 0 in data.shape or (n_items is not None and len(data) != n_items):
        rows = "n_items" if n_items is None else n_items
        raise ValueError(
            f"'{argument}' must have one row for each item, shape ({rows}, n_columns); "
            f"got shape {np.shape(values)}."
        )
    if not np.isfinite(data).all():
        raise ValueError(
            f"'{argument}' must hold finite numbers; got {int((~np.isfinite(data)).sum())} that are "
            "missing or infinite. Leave these items out, also of the partition."
        )
    return data


def column_names(values: Any, n: int) -> list[str]:
    """Names of the n columns of a data frame, or that of a series; empty if there are none."""
    given = getattr(values, "columns", None)
    if given is None:
        name = getattr(values, "name", None)
        given = [] if name is None else [name]
    # A labeled array may have one name for all of its columns.
    return [str(name) for name in given] if len(given) == n else []


def label_axes(ax: Any, names: Sequence[str]) -> None:
    """Write the names of one or two columns along the axes; without names, nothing."""
    for name, write in zip(names, (ax.set_xlabel, ax.set_ylabel), strict=False):
        write(name)
