"""Places for the nodes of a network, so that linked nodes and clusters are near and none overlap.

Forces of Fruchterman & Reingold (1991, doi:10.1002/spe.4380211102) with a pull to the middle of the
node's cluster, then nodes that still overlap are pushed apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import IntArray

__all__ = ["force_layout", "unit_square"]

_STEPS = 60, 400
"""At least and at most: as many as `_PAIRS` allows."""
_PAIRS = 1e8
"""Pairs of nodes looked at in all: a second or two."""
_BLOCK = 2**15
"""Pairs of nodes looked at together: they stay in the cache."""
_CLUSTER_PULL = 3.0
"""Pull to the middle of the cluster, in units of the force of one link."""
_GRAVITY = 0.6
"""Pull to the middle of the picture: keeps nodes without links in it."""


def force_layout(
    edges: IntArray, labels: IntArray, *, radius: float = 0.0, seed: int = 0
) -> NDArray[np.float64]:
    """Places of the nodes in the unit square, at least two `radius` apart where there is room.

    `edges` are pairs of nodes, each in one direction. Time O(n_nodes^2) a step; large networks are
    given fewer steps.
    """
    from scipy.sparse import coo_array

    n = labels.size
    half = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    linked = (half + half.T).tocsr()
    member = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    average = member / member.sum(axis=0)
    # Clusters begin on a circle in order of their links with each other, nodes near their cluster.
    rng = np.random.default_rng(seed)
    place = _circle(average.T @ (linked @ average))[labels] + 0.1 * rng.normal(size=(n, 2))
    length = 2.0 / np.sqrt(n)  # of a link at rest, for a picture of side 2
    steps = int(np.clip(_PAIRS / n**2, *_STEPS))
    for step in range(steps):
        middle = (average.T @ place)[labels]
        force = _push(place, length) - _pull(place, edges, length)
        force += 0.15 * _CLUSTER_PULL / length * (middle - place) - _GRAVITY * place
        size = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-12)
        heat = 0.1 * (1 - step / steps)
        place += force / size * np.minimum(size, heat)
    return _push_apart(unit_square(place), 2 * radius)


def _push(place: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    """Sum over all other nodes of the way from them, over its squared length."""
    x, y = place.T.astype(np.float32)
    force = np.empty_like(place)
    rows = 1 + _BLOCK // len(place)
    for low in range(0, len(place), rows):
        part = slice(low, low + rows)
        dx, dy = np.subtract.outer(x[part], x), np.subtract.outer(y[part], y)
        weight = dx * dx
        weight += dy * dy
        np.maximum(weight, 1e-6, out=weight)
        np.divide(np.float32(length**2), weight, out=weight)
        force[part, 0] = np.einsum("ij,ij->i", weight, dx)
        force[part, 1] = np.einsum("ij,ij->i", weight, dy)
    return force


def _pull(place: NDArray[np.float64], edges: IntArray, length: float) -> NDArray[np.float64]:
    """Sum over the links of each node of the way from the other end, times its length."""
    first, second = edges.T
    apart = place[first] - place[second]
    force = 0.15 / length * np.linalg.norm(apart, axis=1)[:, None] * apart
    return np.column_stack([
        np.bincount(first, force[:, j], len(place)) - np.bincount(second, force[:, j], len(place))
        for j in (0, 1)
    ])  # fmt: skip


def _circle(links: NDArray[np.float64]) -> NDArray[np.float64]:
    """Clusters on a circle, those with similar links side by side (second and third eigenvector)."""
    scaled = np.sqrt(links)
    values = np.linalg.eigh(np.diag(scaled.sum(axis=1)) - scaled)[1]
    first = values[:, min(1, len(links) - 1)]
    second = values[:, min(2, len(links) - 1)]
    order = np.argsort(np.argsort(np.arctan2(second, first)))
    angle = 2 * np.pi * order / len(links)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def unit_square(place: NDArray[np.float64], *, stretch: bool = True) -> NDArray[np.float64]:
    """Shifted and scaled into the unit square, each direction by itself if `stretch`."""
    low, high = place.min(axis=0), place.max(axis=0)
    side = high - low if stretch else np.full(2, (high - low).max())
    return np.asarray(0.5 + (place - (low + high) / 2) / np.maximum(side, 1e-12))


def _push_apart(place: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Overlapping nodes moved away from each other, a little at a time."""
    from scipy.spatial import cKDTree

    for _ in range(200):
        first, second = cKDTree(place).query_pairs(gap, output_type="ndarray").T
        apart = place[first] - place[second]
        distance = np.maximum(np.linalg.norm(apart, axis=1), 1e-9)
        overlap = gap - distance
        if overlap.max(initial=0.0) < 0.02 * gap:
            break
        move = 0.4 * (overlap / distance)[:, None] * apart
        for j in (0, 1):
            place[:, j] += np.bincount(first, move[:, j], len(place))
            place[:, j] -= np.bincount(second, move[:, j], len(place))
    return unit_square(place)
