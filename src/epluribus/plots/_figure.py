"""What all pictures share: matplotlib on demand, a fresh Axes, colors of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._validate import need

__all__ = ["as_matrix", "cluster_colors", "get_axes", "import_pyplot", "new_figure", "text_color"]

# Okabe & Ito (2008), told apart by all kinds of color vision; black is kept for lines.
_OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442")


# Trubetskoy's list of colors that differ most from each other, the palest left out.
_TWENTY = (
    "#4363d8", "#f58231", "#3cb44b", "#e6194b", "#42d4f4", "#f032e6", "#ffe119", "#000075",
    "#bfef45", "#800000", "#469990", "#fabed4", "#9a6324", "#911eb4", "#aaffc3", "#808000",
    "#dcbeff", "#ffd8b1", "#a9a9a9", "#404040",
)  # fmt: skip


# Of a grid of 16 levels of red, green and blue, neither very dark nor very pale, the thirty whose smallest
# difference (CIEDE2000; 17.1) was largest after exchanges from farthest-first starts. As seen with
# deuteranopia (Machado et al. 2009) a difference counted 1.7 times; the smallest is 10.1.
_THIRTY = (
    "#117788", "#ee8899", "#ffdd11", "#553333", "#22aa00", "#cc22ff", "#ddddff", "#88bbbb",
    "#224466", "#bb1144", "#8888bb", "#224400", "#ff8811", "#ffccbb", "#886677", "#556655",
    "#449977", "#aaaa66", "#ff88ee", "#66aaff", "#bb6655", "#004444", "#ccee88", "#7700aa",
    "#66eecc", "#991100", "#1144ff", "#ee1199", "#777700", "#3377bb",
)  # fmt: skip


def import_pyplot() -> Any:
    """matplotlib.pyplot, or an error that names the extra."""
    return need("matplotlib.pyplot", "plots", "A picture")


def get_axes(
    ax: Any, figsize: tuple[float, float] = (5.5, 3.6), layout: str = "constrained"
) -> Any:
    """The given Axes, or those of a new figure; `layout` "compressed" suits square pictures."""
    if ax is not None:
        return ax
    return import_pyplot().subplots(figsize=figsize, layout=layout)[1]


def as_matrix(network: Any) -> Any:
    """An array, from one, from a sparse matrix, or from a networkx graph: ones where there are edges."""
    if hasattr(network, "toarray"):
        return network.toarray()
    if not (hasattr(network, "is_directed") and hasattr(network, "edges")):
        return np.asarray(network)
    number = {node: k for k, node in enumerate(network.nodes)}
    matrix = np.zeros((len(number), len(number)), dtype=np.int64)
    for first, second in network.edges():
        matrix[number[first], number[second]] = 1
        if not network.is_directed():
            matrix[number[second], number[first]] = 1
    return matrix


def new_figure(
    figsize: tuple[float, float], n_rows: int = 1, n_columns: int = 1, **options: Any
) -> tuple[Any, Any]:
    """A Figure outside pyplot's memory, to be written to files, and its Axes (an array if several)."""
    import_pyplot()  # the error names the extra
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=figsize, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(n_rows, n_columns, **options)


def cluster_colors(k: int) -> list[Any]:
    """Colors that can be told apart, up to thirty; beyond, hues go on by the golden angle."""
    for colors in (_OKABE_ITO, _TWENTY, _THIRTY):
        if k <= len(colors):
            return list(colors[:k])
    import colorsys

    more = range(len(_THIRTY), k)
    return [
        *_THIRTY,
        *(colorsys.hls_to_rgb(0.381966 * i % 1.0, (0.42, 0.62, 0.3)[i % 3], 0.65) for i in more),
    ]


def text_color(background: Any) -> str:
    """Black or white, whichever is read more easily on the background."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(background)
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else "white"
