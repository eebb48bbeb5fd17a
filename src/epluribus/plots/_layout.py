"""Places for the nodes of a network: linked nodes and clusters near each other, and no overlap.

The forces of Fruchterman & Reingold (1991, doi:10.1002/spe.4380211102) with l the length of a link at
rest, and in addition a pull to the middle of the node's cluster and one to the middle of the picture:

    every other node pushes by l^2 / d;   every linked node pulls by 0.15 d^2 / l;
    the middle of the cluster pulls by 0.45 d / l;   the middle of the picture pulls by 0.6 d

where d is in turn the distance to that node or to that middle.

Each step moves a node along the sum of its forces, at most as far as the "heat" allows, which cools down
to 0. Then nodes that still overlap are pushed apart.
"""

from __future__ import annotations

import numpy as np

from epluribus._typing import FloatArray, IntArray

_STEPS = 60, 400
"""The fewest and the most steps; between them, as many as `_PAIRS` allows."""
_PAIRS = 1e8
"""Pairs of nodes visited in all steps together: a second or two."""
_BLOCK = 2**15
"""Pairs of nodes computed at once: their distances stay in the processor's cache."""
_LINK_PULL = 0.15
"""Pull of a link, weak enough for dense clusters not to collapse."""
_CLUSTER_PULL = 3.0 * _LINK_PULL
"""Pull to the middle of the cluster: at distance 1, half the side of the picture, as that of three links."""
_GRAVITY = 0.6
"""Pull to the middle of the picture: keeps nodes without links in it."""


def force_layout(
    edges: IntArray, labels: IntArray, *, radius: float = 0.0, seed: int = 0
) -> FloatArray:
    """Places of the nodes in the unit square, at least twice `radius` apart where there is room.

    `edges` of shape (n_links, 2) are pairs of nodes, each link once; the result has shape (n_nodes, 2).
    Time O(n_nodes^2) per step, and fewer steps for larger networks.
    """
    from scipy.sparse import coo_array

    n = labels.size
    half = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    # Symmetric: a link counts for both of its ends.
    linked = (half + half.T).tocsr()
    member = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    average = member / member.sum(axis=0)  # column g averages over cluster g
    # Clusters begin on a circle in order of their links with each other, nodes near their cluster.
    rng = np.random.default_rng(seed)
    place = _circle(average.T @ (linked @ average))[labels] + 0.1 * rng.normal(size=(n, 2))
    length = 2.0 / np.sqrt(n)  # of a link at rest, for a picture of side 2
    steps = int(np.clip(_PAIRS / n**2, *_STEPS))
    for step in range(steps):
        middle = (average.T @ place)[labels]
        force = _push(place, length) - _pull(place, edges, length)
        force += _CLUSTER_PULL / length * (middle - place) - _GRAVITY * place
        # The step has the direction of the force and its length, at most `heat`.
        size = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-12)
        heat = 0.1 * (1 - step / steps)  # the longest move of this step
        place += force / size * np.minimum(size, heat)
    return _push_apart(unit_square(place), 2 * radius)


def _push(place: FloatArray, length: float) -> FloatArray:
    """l^2 / d away from every other node: l^2 times the vector from it, divided by its squared length."""
    # Half the memory, and a picture needs no more digits.
    x, y = place.T.astype(np.float32)
    force = np.empty_like(place)
    # All nodes against a few at a time, so that no n_nodes x n_nodes matrix is made.
    rows = 1 + _BLOCK // len(place)
    for low in range(0, len(place), rows):
        part = slice(low, low + rows)
        dx, dy = np.subtract.outer(x[part], x), np.subtract.outer(y[part], y)
        weight = dx * dx
        weight += dy * dy
        # Nodes at one place, and a node with itself, have no distance to divide by.
        np.maximum(weight, 1e-6, out=weight)
        np.divide(np.float32(length**2), weight, out=weight)
        force[part, 0] = np.einsum("ij,ij->i", weight, dx)
        force[part, 1] = np.einsum("ij,ij->i", weight, dy)
    return force


def _pull(place: FloatArray, edges: IntArray, length: float) -> FloatArray:
    """0.15 d^2 / l for every link: the vector from the other end, times its length (to be subtracted)."""
    first, second = edges.T
    apart = place[first] - place[second]
    force = _LINK_PULL / length * np.linalg.norm(apart, axis=1)[:, None] * apart
    return np.column_stack([
        # Equal and opposite at the two ends; `bincount` adds up the links of each node.
        np.bincount(first, force[:, j], len(place)) - np.bincount(second, force[:, j], len(place))
        for j in (0, 1)
    ])  # fmt: skip


def _circle(links: FloatArray) -> FloatArray:
    """Places of the clusters on a circle, strongly linked ones side by side.

    `links[g, h]` is the mean number of links between a node of g and a node of h. The order is that of
    the angles in the plane of the second and third eigenvector of the graph's Laplacian.
    """
    # Roots, or a few strong links would decide alone.
    scaled = np.sqrt(links)
    # The eigenvectors of the Laplacian after the constant one vary slowly from neighbor to neighbor.
    values = np.linalg.eigh(np.diag(scaled.sum(axis=1)) - scaled)[1]
    # One or two clusters have fewer eigenvectors, and any order will do.
    first = values[:, min(1, len(links) - 1)]
    second = values[:, min(2, len(links) - 1)]
    order = np.argsort(np.argsort(np.arctan2(second, first)))
    angle = 2 * np.pi * order / len(links)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def unit_square(place: FloatArray, *, stretch: bool = True) -> FloatArray:
    """Places moved and scaled into the unit square, each direction by itself if `stretch`."""
    low, high = place.min(axis=0), place.max(axis=0)
    side = high - low if stretch else np.full(2, (high - low).max())
    return np.asarray(0.5 + (place - (low + high) / 2) / np.maximum(side, 1e-12))


def _push_apart(place: FloatArray, gap: float) -> FloatArray:
    """Overlapping nodes moved away from each other, a little at a time."""
    from scipy.spatial import cKDTree

    # A crowd loosens from its border inwards; most networks need far fewer rounds.
    for _ in range(200):
        first, second = cKDTree(place).query_pairs(gap, output_type="ndarray").T
        apart = place[first] - place[second]
        distance = np.maximum(np.linalg.norm(apart, axis=1), 1e-9)
        overlap = gap - distance
        if overlap.max(initial=0.0) < 0.02 * gap:
            break
        # Half of the overlap for each node separates a lone pair at once, but overshoots in a crowd.
        move = 0.4 * (overlap / distance)[:, None] * apart
        for j in (0, 1):
            place[:, j] += np.bincount(first, move[:, j], len(place))
            place[:, j] -= np.bincount(second, move[:, j], len(place))
    return unit_square(place)
