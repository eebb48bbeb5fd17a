"""The data behind the draws as a picture: bars of one column, points of two or more, colored by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._text import count
from epluribus._typing import FloatArray, IntArray
from epluribus.estimate import Estimate
from epluribus.plots._matrices import some_of_each
from epluribus.plots._shared import cluster_colors
from epluribus.report.pictures import nice_ticks

_POINTS = 2000
"""The most items drawn as points: more would cover each other, and the page would grow."""
_BINS = 8, 60
"""The fewest and the most bars of a histogram."""
COLORED = 30
"""The most clusters that have colors of their own on the page."""
_GRAY = "#8c96a3"
"""The color of all clusters where there are more."""
_LEFT, _RIGHT, _TOP, _FLOOR = 56.0, 692.0, 12.0, 372.0
"""The frame, in a picture of 700 by 410."""


def page_colors(k: int) -> list[str]:
    """One color for each of k clusters, as in all pictures; gray where there are more than 30."""
    return list(cluster_colors(k)) if k <= COLORED else [_GRAY] * k


def data_picture(best: Estimate, data: FloatArray) -> dict[str, Any]:
    """Coordinates of the picture of the data.

    Returns a dictionary: ``bars`` and ``points``, one of which is empty, each with its place, color and
    cluster; ``x_ticks`` and ``y_ticks``; the frame; ``what`` it shows, in words; ``keys``, pairs of a cluster
    and its color, for a legend.
    """
    colors = page_colors(best.n_clusters)
    made = _histogram if data.shape[1] == 1 else _scatter
    keys = list(enumerate(colors)) if 1 < best.n_clusters <= COLORED else []
    frame = {"left": _LEFT, "right": _RIGHT, "top": _TOP, "floor": _FLOOR, "keys": keys}
    return {"bars": [], "points": [], **made(best.labels, data, colors), **frame}


def _place(values: FloatArray | float, low: float, high: float, begin: float, end: float) -> Any:
    """Values from low to high on a line from begin to end; in its middle if all are equal."""
    if not high > low:
        return (begin + end) / 2 + 0 * values
    return begin + (end - begin) * (values - low) / (high - low)


def _ticks(low: float, high: float, begin: float, end: float) -> list[tuple[float, str]]:
    """Places and texts of round numbers."""
    return [(float(_place(t, low, high, begin, end)), f"{t:.6g}") for t in nice_ticks(low, high)]


def _histogram(labels: IntArray, data: FloatArray, colors: list[str]) -> dict[str, Any]:
    """Bars of one column, the clusters on top of each other."""
    values = data[:, 0]
    edges = np.histogram_bin_edges(values, "auto")
    n_bins = int(np.clip(len(edges) - 1, *_BINS))
    edges = np.linspace(edges[0], edges[-1], n_bins + 1)
    # The last bar has both of its ends.
    where = np.clip(np.searchsorted(edges, values, "right") - 1, 0, n_bins - 1)
    k = len(colors)
    counts = np.bincount(where * k + labels, minlength=n_bins * k).reshape(n_bins, k)
    tallest = int(counts.sum(axis=1).max())
    x = _place(edges, edges[0], edges[-1], _LEFT, _RIGHT)
    bars = []
    for b in range(n_bins):
        below = 0
        for g in np.flatnonzero(counts[b]).tolist():
            size = int(counts[b, g])
            top = _place(below + size, 0, tallest, _FLOOR, _TOP)
            bars.append(
                {
                    "x": x[b], "width": max(x[b + 1] - x[b] - 0.8, 0.5), "y": top, "color": colors[g],
                    "height": _place(below, 0, tallest, _FLOOR, _TOP) - top,
                    "title": f"cluster {g}: {count(size, 'item')}",
                }
            )  # fmt: skip
            below += size
    return {
        "bars": bars,
        "x_ticks": _ticks(edges[0], edges[-1], _LEFT, _RIGHT),
        # Items come in whole numbers.
        "y_ticks": [t for t in _ticks(0, tallest, _FLOOR, _TOP) if float(t[1]).is_integer()],
        "what": "Histogram of the data; the colors are the clusters.",
    }


def _scatter(labels: IntArray, data: FloatArray, colors: list[str]) -> dict[str, Any]:
    """Points of two columns, or of the first two principal components of more."""
    plane, what = data, "The two columns of the data"
    if data.shape[1] > 2:
        plane, explained = _principal(data)
        what = (
            f"The first two principal components of the {data.shape[1]} columns of the data, each "
            f"standardized ({100 * explained:.0f} % of the variance)"
        )
    keep = some_of_each(labels, _POINTS) if len(labels) > _POINTS else np.arange(len(labels))
    if len(keep) < len(labels):
        what += f"; {len(keep):,} of the {len(labels):,} items are shown"
    low, high = plane.min(axis=0), plane.max(axis=0)
    # Points are inset a little, so that none is cut.
    x = _place(plane[keep, 0], low[0], high[0], _LEFT + 8, _RIGHT - 8)
    y = _place(plane[keep, 1], low[1], high[1], _FLOOR - 8, _TOP + 8)
    return {
        "points": [
            {
                "x": x[p],
                "y": y[p],
                "color": colors[labels[i]],
                "item": int(i),
                "cluster": int(labels[i]),
            }
            for p, i in enumerate(keep)
        ],
        "radius": 3.6 if len(keep) <= 500 else 2.2,
        "x_ticks": _ticks(low[0], high[0], _LEFT + 8, _RIGHT - 8),
        "y_ticks": _ticks(low[1], high[1], _FLOOR - 8, _TOP + 8),
        "what": f"{what}; the colors are the clusters.",
    }


def _principal(data: FloatArray) -> tuple[FloatArray, float]:
    """The first two principal components of standardized columns, and their share of the variance."""
    centered = data - data.mean(axis=0)
    spread = centered.std(axis=0)
    # A column that is constant says nothing, and has no spread to divide by.
    centered = centered / np.where(spread > 0, spread, 1.0)
    left, values, _ = np.linalg.svd(centered, full_matrices=False)
    total = float((values**2).sum())
    plane = np.zeros((len(data), 2))
    plane[:, : len(values[:2])] = left[:, :2] * values[:2]
    # The sign of a component is arbitrary: its largest entry is made positive.
    plane = plane * np.where(np.abs(plane.min(axis=0)) > plane.max(axis=0), -1.0, 1.0)
    return plane, float((values[:2] ** 2).sum()) / total if total > 0 else 1.0
