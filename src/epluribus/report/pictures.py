"""The numbers behind the pictures of the page: cells of the heatmap, coordinates of bars and lines.

Nothing is drawn here: the script of the page paints the heatmap, and the template writes bars and lines as
SVG. Coordinates of SVG have their origin at the top left, so a larger value has a smaller y.
"""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import numpy as np

from epluribus._text import span
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.uncertainty import NClusters, psm
from epluribus.uncertainty._order import leaf_order

CELLS = 400
"""Largest number of rows of the heatmap: 160 kB of cells, and about a pixel per row on a screen."""
_ITEMS = 2000
"""Largest number of items behind the heatmap: their similarity matrix takes 32 MB."""
_LEVELS = 255
"""A probability is one byte on the page, exact to 0.002: finer than the eye can see."""
_MANY, _LARGEST = 100, 60
"""With more clusters than this, only the largest are in the heatmap: the others would be too small to see."""
_NAME_LENGTH = 80
"""Characters of an item's name that are shown."""
_BARS, _BAR_NAMES = 40, 20
"""Largest number of bars on the page, and of names that have room below them."""
_BAR_WIDTH, _BARS_WIDTH, _VALUE_WIDTH = 120.0, 680.0, 32
"""Width of the widest bar, of all bars together, and of the narrowest bar with room for its value above."""
_NARROW = 8
"""Most names below the bars, and values above them, on the narrow screen of a phone."""
_POINTS = 300
"""Largest number of points on a line: about one per two pixels."""


def short(name: str, length: int = _NAME_LENGTH) -> str:
    """The name of an item, cut if it is longer."""
    return name if len(name) <= length else f"{name[: length - 1]}…"


def heatmap(best: Estimate, draws: Draws, n_jobs: int | None = None) -> dict[str, Any]:
    """The heatmap of the similarity matrix, with items in the order of their clusters, for the script.

    Returns a dictionary: ``n`` rows; ``cells``, n times n bytes from 0 to 255, in base64; ``edges``, where
    each row begins and ends among the items shown; ``names`` of the rows; ``clusters``, the cluster of each
    item shown; ``cuts``, the borders between clusters; ``largest``, how many clusters are shown if not all;
    ``shown`` and ``all``, the numbers of items shown, and of items in these clusters. Memory O(m^2) for the m
    items shown, at most 2000.
    """
    # Clusters from the largest to the smallest; the rank of a cluster is its place in that order.
    rank = np.argsort(np.argsort(-best.sizes, kind="stable"))
    order = np.argsort(rank[best.labels], kind="stable")
    largest = _LARGEST if best.n_clusters > _MANY else None
    if largest is not None:
        order = order[rank[best.labels[order]] < largest]
    n_items = len(order)
    # Some of many items stand for all, evenly spread over the order, so that clusters keep their shares.
    if len(order) > _ITEMS:
        order = order[_even_edges(len(order) - 1, _ITEMS - 1)]
    part = Draws(draws.distinct[:, order], weights=draws.weights, noise="missing", progress=False)
    matrix = psm(part, n_jobs=n_jobs, progress=False)
    # Within each cluster, put similar items next to each other, so that subgroups can be seen.
    leaves = _order_by_similarity(matrix, best.labels[order])
    order, matrix = order[leaves], matrix[np.ix_(leaves, leaves)]
    # One cell of the picture is the mean over a block: its sum, over rows and then columns, divided by the
    # number of its cells.
    edges = _even_edges(len(order), CELLS)
    widths = np.diff(edges)
    sums = np.add.reduceat(np.add.reduceat(matrix, edges[:-1], axis=0), edges[:-1], axis=1)
    levels = np.rint(_LEVELS * sums / np.outer(widths, widths)).clip(0, _LEVELS).astype(np.uint8)
    # A cut is the first item of the next cluster.
    labels = best.labels[order]
    cuts = np.flatnonzero(np.diff(labels)) + 1
    return {
        "n": len(widths),
        "cells": base64.b64encode(levels.tobytes()).decode("ascii"),
        "edges": edges.tolist(),
        "names": _row_names(order, edges, draws.item_names),
        "clusters": labels.tolist(),
        "cuts": cuts.tolist(),
        "largest": largest,
        "shown": len(order),
        "all": n_items,
    }


def _row_names(order: IntArray, edges: IntArray, names: tuple[str, ...]) -> list[str]:
    """The name of each row, shown for the cell under the pointer: its item, or its first and last item."""
    rows = []
    for begin, end in pairwise(edges.tolist()):
        first, last = short(names[order[begin]]), short(names[order[end - 1]])
        rows.append(first if end - begin == 1 else f"{first} … {last}, {end - begin} items")
    return rows


def _order_by_similarity(matrix: FloatArray, labels: IntArray) -> IntArray:
    """An order that keeps the clusters and puts similar items of one cluster next to each other.

    The items are in the order of their clusters already. Within each cluster they are put in the order of the
    leaves of a tree, made by average linkage of the distances 1 - P_ij.
    """
    # `labels` are constant on each block.
    blocks = np.split(np.arange(len(labels)), np.flatnonzero(np.diff(labels)) + 1)
    orders = (leaf_order(matrix[np.ix_(block, block)], optimal=False) for block in blocks)
    return np.concatenate([block[order] for block, order in zip(blocks, orders, strict=True)])


def _even_edges(n: int, at_most: int) -> IntArray:
    """Bounds, from 0 to n, of at most `at_most` blocks of nearly equal size.

    >>> _even_edges(10, 4).tolist()
    [0, 2, 5, 8, 10]
    """
    return np.linspace(0, n, min(n, at_most) + 1).round().astype(np.int64)


def bars_of_k(k: NClusters, estimate: int) -> dict[str, Any] | None:
    """Bars of the posterior of the number of clusters; None where all draws have the same number.

    `estimate` is the number of clusters of the estimate, whose bar is ``highlighted``. Returns a dictionary:
    ``bars``, each with its ``name``, whether it is ``named`` below, its ``mass`` and its coordinates;
    ``wide``, the width of a bar; ``with_values``, whether there is room for numbers above, and ``few``,
    whether also on a phone; ``floor``, where the bars stand. The picture is 700 wide.
    """
    if k.probability(k.mode) == 1:
        return None
    # Leave out thin tails (below a thousandth of the highest bar), then join every `step` neighboring numbers
    # where there are still too many bars.
    kept = np.flatnonzero(k.probabilities >= 0.001 * k.probabilities.max())
    values = k.values[kept[0] : kept[-1] + 1]
    step = -(-len(values) // _BARS)  # len / _BARS, rounded up
    masses = np.add.reduceat(
        k.probabilities[kept[0] : kept[-1] + 1], np.arange(0, len(values), step)
    )
    # Few bars are not stretched over the whole width. Each bar takes 0.8 of its slot, in the middle.
    slot = min(_BAR_WIDTH, _BARS_WIDTH / len(masses))
    top, floor = 24.0, 164.0
    bars = []
    for number, mass in enumerate(masses.tolist()):
        numbers = values[number * step : (number + 1) * step]
        height = (floor - top) * mass / masses.max()
        bars.append(
            {
                "name": span(int(numbers[0]), int(numbers[-1]), "-"),
                "named": number % -(-len(masses) // _BAR_NAMES) == 0,
                "main": number % -(-len(masses) // _NARROW) == 0,
                "mass": mass,
                "highlighted": estimate in numbers,
                "x": 10 + slot * (number + 0.1),
                "middle": 10 + slot * (number + 0.5),
                "y": floor - height,
                "height": max(height, 0.5),  # else the smallest could not be seen
            }
        )
    return {
        "bars": bars,
        "wide": 0.8 * slot,
        "with_values": slot >= _VALUE_WIDTH,
        "few": len(masses) <= _NARROW,
        "floor": floor,
    }


def trace_of_loss(draws: Draws, values: FloatArray) -> dict[str, Any]:
    """Lines of the loss between the estimate and each draw, one per chain.

    `values` has shape (n_draws,). Every chain is stretched over the whole width, whatever its length. Returns
    a dictionary: ``left`` and ``right`` of the frame; ``ticks``, pairs of a height and a number; ``chains``,
    the points of each line in SVG's format; ``smallest`` and ``largest`` loss, for screen readers.
    """
    chains = [_means(values[draws.chains == chain]) for chain in range(draws.n_chains)]
    low = float(min(chain.min() for chain in chains))
    high = float(max(chain.max() for chain in chains))
    # The frame, with room for the numbers of the ticks on the left and a title above.
    left, right, top, floor = 74.0, 692.0, 30.0, 176.0

    def height(value: Any) -> Any:
        # If the loss never changes, a line in the middle.
        if high == low:
            return (top + floor) / 2 + 0 * value
        return floor - (floor - top) * (value - low) / (high - low)

    def points(chain: FloatArray) -> str:
        x = left + (right - left) * (np.arange(len(chain)) + 0.5) / len(chain)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, height(chain), strict=True))

    return {
        "left": left,
        "right": right,
        "ticks": [(height(tick), f"{tick:.6g}") for tick in nice_ticks(low, high)],
        "chains": [points(chain) for chain in chains],
        "smallest": f"{values.min():.4g}",
        "largest": f"{values.max():.4g}",
    }


def nice_ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers from low to high; one if they are equal.

    >>> nice_ticks(0.3, 2.1)
    [0.5, 1.0, 1.5, 2.0]
    """
    if not high > low:
        return [low]
    # The largest of 5, 2, 1, 0.5, 0.2 times a power of ten that leaves room for three ticks.
    power = 10.0 ** np.floor(np.log10((high - low) / 2))
    for step in (power * factor for factor in (5.0, 2.0, 1.0, 0.5, 0.2)):
        # Ticks are step times an integer. One that lies on a border must not be lost to rounding.
        numbers = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
        if len(numbers) >= 3:
            # Adding 0.0 turns -0.0 into 0.0.
            return [float(number * step) + 0.0 for number in numbers]
    return [low, (low + high) / 2, high]


def _means(values: FloatArray) -> FloatArray:
    """The values, or the means of at most `_POINTS` blocks of consecutive values."""
    edges = _even_edges(len(values), _POINTS)
    return np.asarray(np.add.reduceat(values, edges[:-1]) / np.diff(edges))
