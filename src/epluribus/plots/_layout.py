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

__all__ = ["force_layout"]

_STEPS = 400
_CLUSTER_PULL = 3.0
"""Pull to the middle of the cluster, in units of the force of one link."""
_GRAVITY = 0.6
"""Pull to the middle of the picture: keeps nodes without links in it."""


def force_layout(
    adjacency: NDArray[np.int64], labels: IntArray, *, radius: float = 0.0, seed: int = 0
) -> NDArray[np.float64]:
    """Places of the nodes in the unit square, at least two `radius` apart where there is room.

    Time O(n_nodes^2) for each of some hundred steps.
    """
    n = len(adjacency)
    linked = adjacency.astype(np.float64)
    member = (labels[:, None] == np.arange(labels.max() + 1)).astype(np.float64)
    average = member / member.sum(axis=0)
    # Clusters begin on a circle in order of their links with each other, nodes near their cluster.
    rng = np.random.default_rng(seed)
    place = _circle(average.T @ linked @ average)[labels] + 0.1 * rng.normal(size=(n, 2))
    length = 2.0 / np.sqrt(n)  # of a link at rest, for a picture of side 2
    for step in range(_STEPS):
        apart = place[:, None] - place
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
        push = (length / distance) ** 2 - linked * distance / length * 0.15
        np.fill_diagonal(push, 0.0)
        middle = (average.T @ place)[labels]
        force = (push[:, :, None] * apart).sum(axis=1)
        force += 0.15 * _CLUSTER_PULL / length * (middle - place) - _GRAVITY * place
        size = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-12)
        heat = 0.1 * (1 - step / _STEPS)
        place += force / size * np.minimum(size, heat)
    return _push_apart(_unit(place), 2 * radius)


def _circle(links: NDArray[np.float64]) -> NDArray[np.float64]:
    """Clusters on a circle, those with similar links side by side (second and third eigenvector)."""
    scaled = np.sqrt(links)
    values = np.linalg.eigh(np.diag(scaled.sum(axis=1)) - scaled)[1]
    first = values[:, min(1, len(links) - 1)]
    second = values[:, min(2, len(links) - 1)]
    order = np.argsort(np.argsort(np.arctan2(second, first)))
    angle = 2 * np.pi * order / len(links)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _unit(place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shifted and scaled into the unit square, each direction by itself."""
    low, high = place.min(axis=0), place.max(axis=0)
    return np.asarray((place - low) / np.maximum(high - low, 1e-12))


def _push_apart(place: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Overlapping nodes moved away from each other, a little at a time."""
    for _ in range(200):
        apart = place[:, None] - place
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-9)
        overlap = np.maximum(gap - distance, 0.0)
        np.fill_diagonal(overlap, 0.0)
        if overlap.max(initial=0.0) < 0.02 * gap:
            break
        place = place + 0.4 * ((overlap / distance)[:, :, None] * apart).sum(axis=1)
    return _unit(place)
