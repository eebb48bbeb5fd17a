"""The pictures of the page: figures of `epluribus.plots` as SVG."""

from __future__ import annotations

import base64
import io
from typing import Any

from epluribus import plots
from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.plots._shared import new_figure, read_data

_POINTS = 2000
"""Largest number of points drawn as shapes; more are drawn as pixels."""


def data_figure(labels: IntArray, data: Any) -> tuple[str, str]:
    """The data colored by cluster as an image, and what it shows."""
    columns = read_data(data, argument="data").shape[1]
    figure, ax = new_figure((6.5, 3.6) if columns == 1 else (5.5, 4.6))
    if columns == 1:
        what = "Histogram of the data"
        plots.histogram(labels, data, ax=ax)
    else:
        what = "The two columns of the data"
        if columns > 2:
            what = f"The first two principal components of the {columns} columns of the data, each standardized"
        plots.scatter(labels, data, ax=ax)
    return to_image(figure), f"{what}; the colors are the clusters."


def network_figure(labels: IntArray, network: Any) -> str:
    """The network colored by cluster as an image."""
    figure, ax = new_figure((6.5, 6.5))
    plots.network(labels, network, ax=ax)
    return to_image(figure)


def similarity_figure(best: Estimate, draws: Draws) -> str:
    """The similarity matrix as an image."""
    figure, ax = new_figure((6.5, 5.4))
    plots.similarity(best, draws, ax=ax)
    return to_image(figure)


def number_figure(best: Estimate, draws: Draws) -> str:
    """Bars of the number of clusters as an image."""
    figure, ax = new_figure((6.5, 3.0))
    plots.n_clusters(draws, best=best, ax=ax)
    return to_image(figure)


def trace_figure(best: Estimate, draws: Draws) -> str:
    """The loss between the estimate and each draw as an image."""
    figure, ax = new_figure((6.5, 3.0))
    plots.loss_trace(best, draws, ax=ax)
    return to_image(figure)


def to_image(figure: Any) -> str:
    """A figure as SVG, in the form that an image of a page has as its source: the same figure, the same text."""
    import matplotlib as mpl

    # Thousands of points would be megabytes of shapes: they become pixels, the axes stay as they are.
    for ax in figure.axes:
        marks = [(one, len(one.get_offsets())) for one in ax.collections]
        marks += [(one, len(one.get_xdata())) for one in ax.lines]
        for one, n in marks:
            one.set_rasterized(sum(size for _, size in marks) > _POINTS and n > 1)
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "epluribus"}):
        figure.savefig(text, format="svg", dpi=100, metadata={"Date": None, "Creator": None})
    code = base64.b64encode(text.getvalue().encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{code}"


def short(name: str, length: int = 80) -> str:
    """The name of an item, cut if it is longer."""
    return name if len(name) <= length else f"{name[: length - 1]}…"
