"""Pictures of the page: the heatmap as bytes for the canvas, bars and traces as inline SVG."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._text import count
from epluribus.draws import Draws
from epluribus.report.words import share
from epluribus.uncertainty import psm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import IntArray
    from epluribus.estimate import Estimate
    from epluribus.report.facts import Facts

__all__ = ["bars_of_k", "heatmap", "trace_of_loss"]

CELLS = 400
"""Largest number of rows of the heatmap: 160 kB."""
ITEMS = 2000
"""With more items so many, spread evenly, stand for all in the heatmap."""
_LEVELS = 255
_BARS = 40
_POINTS = 300
_COLOURS = 8


def _by_cluster(best: Estimate) -> IntArray:
    """Items by cluster, the largest first."""
    sizes = best.sizes
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return np.argsort(rank[best.labels], kind="stable")


def heatmap(best: Estimate, draws: Draws, n_jobs: int | None = None) -> dict[str, Any]:
    """Block means of the similarity matrix in the order of the clusters, for the canvas."""
    order = _by_cluster(best)
    n = len(order)
    if n > ITEMS:
        order = order[np.linspace(0, n - 1, ITEMS).round().astype(np.int64)]
    sample = Draws(draws.distinct[:, order], weights=draws.weights)
    matrix = psm(sample, n_jobs=n_jobs)
    within = _within_clusters(matrix, best.labels[order])
    order, matrix = order[within], matrix[np.ix_(within, within)]
    edges = _edges(len(order))
    means = np.add.reduceat(np.add.reduceat(matrix, edges[:-1], axis=0), edges[:-1], axis=1)
    widths = np.diff(edges)
    means /= np.outer(widths, widths)
    levels = np.clip(np.rint(_LEVELS * means), 0, _LEVELS).astype(np.uint8)
    labels = best.labels[order]
    cuts = np.flatnonzero(np.diff(labels)) + 1
    return {
        "n": len(widths),
        "cells": base64.b64encode(levels.tobytes()).decode("ascii"),
        "edges": edges.tolist(),
        "items": order.tolist(),
        "clusters": labels.tolist(),
        "cuts": cuts.tolist(),
        "shown": len(order),
        "all": n,
    }


def _within_clusters(matrix: NDArray[np.float64], labels: IntArray) -> IntArray:
    """An order that keeps the clusters and puts similar items of one next to each other."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    parts = []
    for block in np.split(np.arange(len(labels)), np.flatnonzero(np.diff(labels)) + 1):
        if len(block) > 2:
            part = matrix[np.ix_(block, block)]
            tree = linkage(1.0 - part[np.triu_indices(len(block), 1)], "average")
            parts.append(block[leaves_list(tree)])
        else:
            parts.append(block)
    return np.concatenate(parts)


def _edges(n: int) -> IntArray:
    """Bounds of at most `CELLS` blocks of nearly equal size."""
    return np.linspace(0, n, min(n, CELLS) + 1).round().astype(np.int64)


def bars_of_k(facts: Facts) -> tuple[str, str]:
    """Posterior of the number of clusters as SVG, and a sentence that says the same.

    No picture where all draws have the same number.
    """
    k = facts.n_clusters
    if k.probability(k.mode) == 1:
        other = (
            "" if facts.best.n_clusters == k.mode else f"; the estimate has {facts.best.n_clusters}"
        )
        return "", f"Every draw has {count(k.mode, 'cluster')}{other}."
    values, mass = k.values, k.probabilities
    # Leave out the thin tails, then join neighbours where there are still too many bars.
    kept = np.flatnonzero(mass >= 0.001 * mass.max())
    values, mass = values[kept[0] : kept[-1] + 1], mass[kept[0] : kept[-1] + 1]
    step = -(-len(values) // _BARS)
    starts = np.arange(0, len(values), step)
    heights = np.add.reduceat(mass, starts)
    ends = np.append(starts[1:], len(values)) - 1
    names = [_range(int(values[a]), int(values[b])) for a, b in zip(starts, ends, strict=True)]
    slot = min(56.0, 640.0 / len(names))
    width, top, floor = max(160.0, slot * len(names)) + 20, 24.0, 164.0
    parts = []
    every = -(-len(names) // 20)
    for number, (name, height) in enumerate(zip(names, heights, strict=True)):
        x = 10 + slot * number
        tall = (floor - top) * float(height / heights.max())
        low = int(values[starts[number]])
        mine = low <= facts.best.n_clusters < low + step
        parts.append(
            f'<g><title>{name}: {height:.3f}</title><rect class="bar{" mine" if mine else ""}" '
            f'x="{x + 0.1 * slot:.1f}" y="{floor - tall:.1f}" width="{0.8 * slot:.1f}" '
            f'height="{max(tall, 0.5):.1f}"/></g>'
        )
        middle = x + slot / 2
        if number % every == 0:
            parts.append(f'<text x="{middle:.1f}" y="{floor + 16}">{name}</text>')
        if slot >= 32:
            parts.append(
                f'<text class="value" x="{middle:.1f}" y="{floor - tall - 5:.1f}">'
                f"{'&lt;0.01' if height < 0.005 else f'{height:.2f}'}</text>"
            )
    low, high = k.interval
    caption = (
        f"Most probable: {k.mode} (probability {share(k.probability(k.mode))}); mean {k.mean:.2f}; "
        f"{_range(low, high, ' to ')} with probability {share(k.mass)}. The estimate has "
        f"{facts.best.n_clusters}, which has probability {share(k.probability(facts.best.n_clusters))}."
    )
    svg = (
        f'<svg class="bars" role="img" aria-label="Bars of the posterior of the number of clusters. '
        f'{caption}" viewBox="0 0 {width:.0f} 190" style="max-width:{width:.0f}px">'
        f'<line class="axis" x1="6" x2="{width - 6:.0f}" y1="{floor}" y2="{floor}"/>'
        f"{''.join(parts)}</svg>"
    )
    return svg, caption


def _range(low: int, high: int, link: str = "-") -> str:
    return f"{low}" if low == high else f"{low}{link}{high}"


def trace_of_loss(facts: Facts) -> str:
    """Loss between the estimate and each draw, by chain, as SVG lines."""
    draws, values = facts.draws, facts.values
    if values is None:
        return ""
    chains = [_means(values[draws.chains == chain]) for chain in range(draws.n_chains)]
    low = float(min(chain.min() for chain in chains))
    high = float(max(chain.max() for chain in chains))
    span = high - low
    left, right, top, floor = 74.0, 692.0, 30.0, 176.0

    def height(value: Any) -> Any:
        return (
            (top + floor) / 2 + 0 * value
            if span == 0
            else floor - (floor - top) * (value - low) / span
        )

    ticks = "".join(
        f'<line class="axis" x1="{left}" x2="{right}" y1="{height(tick):.1f}" y2="{height(tick):.1f}"/>'
        f'<text x="{left - 8}" y="{height(tick) + 4:.1f}" class="end">{tick:.6g}</text>'
        for tick in nice_ticks(low, high)
    )
    lines = []
    for chain, mine in enumerate(chains):
        x = left + (right - left) * (np.arange(len(mine)) + 0.5) / len(mine)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, height(mine), strict=True))
        lines.append(
            f'<polyline class="chain c{chain % _COLOURS}" points="{points}">'
            f"<title>chain {chain}</title></polyline>"
        )
    units = facts.best.loss.unit
    label = "loss to the estimate" + (f" ({units})" if units else "")
    return (
        '<svg class="trace" role="img" aria-label="Loss between the estimate and the draws, one line '
        f'a chain, from {values.min():.4g} to {values.max():.4g}" viewBox="0 0 700 202">{ticks}'
        f'{"".join(lines)}<text x="2" y="16" class="start">{label}</text>'
        f'<text x="{right}" y="197" class="end">draws in order</text></svg>'
    )


def nice_ticks(low: float, high: float) -> list[float]:
    """Three to six round numbers from low to high; one if they are equal."""
    if not high > low:
        return [low]
    power = 10.0 ** np.floor(np.log10((high - low) / 2))
    for step in (power * factor for factor in (5.0, 2.0, 1.0, 0.5, 0.2)):
        numbers = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
        if len(numbers) >= 3:
            return [float(number * step) + 0.0 for number in numbers]  # no -0
    return [low, (low + high) / 2, high]


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """At most `_POINTS` means of neighbours."""
    edges = np.linspace(0, len(values), min(len(values), _POINTS) + 1).round().astype(np.int64)
    return np.asarray(np.add.reduceat(values, edges[:-1]) / np.diff(edges))
