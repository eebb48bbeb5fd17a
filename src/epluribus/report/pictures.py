"""The pictures of the page: figures of `epluribus.plots` as SVG, and the cells of the heatmap."""

from __future__ import annotations

import base64
import io
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from epluribus import plots
from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.models.edges import is_graph
from epluribus.partition import matched
from epluribus.plots._matrices import similarities
from epluribus.plots._network import read_links
from epluribus.plots._shared import new_figure, principal, read_data, some_of_each
from epluribus.uncertainty._order import order_by_similarity

CELLS = 400
"""Largest number of rows of the heatmap: 160 kB of cells, and about a pixel per row on a screen."""
_ITEMS = 2000
"""Largest number of items behind the heatmap, and of points drawn as shapes; more are drawn as pixels."""


class Picture(NamedTuple):
    """Data with a row for each item, or a network, in the order of the items of the draws."""

    values: Any
    is_network: bool

    def part(self, items: IntArray) -> Picture:
        """The same for some of the items."""
        rows = self.values.iloc[items] if hasattr(self.values, "iloc") else self.values[items]
        return Picture(rows[:, items] if self.is_network else rows, self.is_network)


def read_picture(data: Any, best: Estimate, draws: Draws) -> Picture | None:
    """The data or the network that a user gives, checked."""
    if data is None:
        return None
    if is_graph(data) or hasattr(data, "tocsr"):
        matrix = read_links(data, best, "data")[0]
        if matrix.shape != (draws.n_items, draws.n_items):
            raise ValueError(
                f"'data' must be a network of the {draws.n_items} items; it has {matrix.shape[0]} nodes."
            )
        return Picture(matrix, True)
    values = matched(data, draws, "data", rows=True)
    read_data(values, argument="data")
    return Picture(values, False)


def data_figure(labels: IntArray, picture: Picture) -> tuple[str, str]:
    """The data colored by cluster as an image, and what it shows."""
    if picture.is_network:
        figure, ax = new_figure((6.5, 6.5))
        plots.network(picture.values, labels, ax=ax)
        return to_image(figure), "The network; the colors are the clusters."
    data = read_data(picture.values, argument="data")
    columns = data.shape[1]
    figure, ax = new_figure((6.5, 3.6) if columns == 1 else (5.5, 4.6))
    if columns == 1:
        what = "Histogram of the data"
        plots.histogram(picture.values, labels, ax=ax)
    elif columns == 2:
        what = "The two columns of the data"
        plots.scatter(picture.values, labels, ax=ax)
    else:
        what = f"The first two principal components of the {columns} columns of the data, each standardized"
        plots.scatter(principal(data), labels, ax=ax)
        ax.set(xlabel="1st principal component", ylabel="2nd principal component")
    return to_image(figure), f"{what}; the colors are the clusters."


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
