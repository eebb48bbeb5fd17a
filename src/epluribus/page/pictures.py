"""The pictures of the page: figures of `epluribus.plots` as SVG, and the cells of the heatmap."""

from __future__ import annotations

import base64
import io
from itertools import pairwise
from typing import Any

import numpy as np

from epluribus import plots
from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.plots._matrices import similarities
from epluribus.plots._shared import new_figure, read_data, some_of_each
from epluribus.uncertainty._order import order_by_similarity

CELLS = 400
"""Largest number of rows of the heatmap: 160 kB of cells, and about a pixel per row on a screen."""
_ITEMS = 2000
"""Largest number of items behind the heatmap, and of points drawn as shapes; more are drawn as pixels."""


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
            one.set_rasterized(sum(size for _, size in marks) > _ITEMS and n > 1)
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "epluribus"}):
        figure.savefig(text, format="svg", dpi=100, metadata={"Date": None, "Creator": None})
    code = base64.b64encode(text.getvalue().encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{code}"


def heatmap(labels: IntArray, draws: Draws) -> dict[str, Any]:
    """The heatmap of the similarity matrix, in the order of `plots.similarity`, for the script.

    Returns a dictionary: ``n`` rows; ``cells``, n times n bytes from 0 to 255, in base64; ``edges``, where
    each row begins and ends among the items shown; ``names`` of the rows; ``clusters``, the cluster of each
    item shown; ``cuts``, the borders between clusters; ``shown`` and ``all``, the numbers of items. Memory O(m^2)
    for the m items shown, at most 2000 and one of each cluster.
    """
    keep = np.arange(len(labels)) if len(labels) <= _ITEMS else some_of_each(labels, _ITEMS)
    matrix = np.nan_to_num(similarities(draws, keep))  # never seen together: apart
    order = order_by_similarity(matrix, np.unique(labels[keep], return_inverse=True)[1])[1]
    keep, matrix = keep[order], matrix[np.ix_(order, order)]
    # One cell of the picture is the mean over a block: its sum, over rows and then columns, divided by the
    # number of its cells.
    edges = np.linspace(0, len(keep), min(len(keep), CELLS) + 1).round().astype(np.int64)
    widths = np.diff(edges)
    sums = np.add.reduceat(np.add.reduceat(matrix, edges[:-1], axis=0), edges[:-1], axis=1)
    levels = np.rint(255 * sums / np.outer(widths, widths)).clip(0, 255).astype(np.uint8)
    # Each row has the name of its item, or of its first and last item.
    names = []
    for begin, end in pairwise(edges.tolist()):
        first, last = (short(draws.item_names[keep[at]]) for at in (begin, end - 1))
        names.append(first if end - begin == 1 else f"{first} … {last}, {end - begin} items")
    return {
        "n": len(widths),
        "cells": base64.b64encode(levels.tobytes()).decode("ascii"),
        "edges": edges.tolist(),
        "names": names,
        "clusters": labels[keep].tolist(),
        "cuts": (np.flatnonzero(np.diff(labels[keep])) + 1).tolist(),
        "shown": len(keep),
        "all": len(labels),
    }


def short(name: str, length: int = 80) -> str:
    """The name of an item, cut if it is longer."""
    return name if len(name) <= length else f"{name[: length - 1]}…"
