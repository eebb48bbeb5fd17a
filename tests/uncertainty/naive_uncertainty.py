"""Slow, obvious twins of what `epluribus.uncertainty` computes."""

import itertools

import numpy as np

import oracles


def psm(z, weights=None):
    z = np.asarray(z)
    weights = np.ones(len(z)) if weights is None else np.asarray(weights, float)
    n = z.shape[1]
    out = np.zeros((n, n))
    for row, weight in zip(z, weights, strict=True):
        for i, j in itertools.product(range(n), repeat=2):
            out[i, j] += weight * (row[i] == row[j])
    return out / weights.sum()


def ball(name, best, z, level, weights=None):
    """Radius, mass, the partitions inside and the three bounds, by sorting all draws."""
    weights = np.ones(len(z)) if weights is None else np.asarray(weights, float)
    z, weights = [row for row, w in zip(z, weights, strict=True) if w > 0], weights[weights > 0]
    draws = [tuple(oracles.canonical(row)) for row in z]
    distance = [round(oracles.loss(name, best, row), 9) for row in draws]
    for radius in sorted(set(distance)):
        mass = sum(w for d, w in zip(distance, weights, strict=True) if d <= radius)
        if mass >= level * weights.sum() - 1e-9:
            break
    inside = {(d, row) for d, row in zip(distance, draws, strict=True) if d <= radius}

    def farthest(members):
        top = max(d for d, _ in members)
        return {row for d, row in members if d == top}

    few = min(max(row) for _, row in inside)
    many = max(max(row) for _, row in inside)
    return {
        "radius": radius,
        "mass": mass / weights.sum(),
        "inside": {row for _, row in inside},
        "horizontal": farthest(inside),
        "upper": farthest({(d, row) for d, row in inside if max(row) == few}),
        "lower": farthest({(d, row) for d, row in inside if max(row) == many}),
    }


def items(best, z, weights=None):
    """Mean probability of sharing a cluster with the others of each cluster, item by item."""
    p = psm(z, weights)
    weights = np.ones(len(z)) if weights is None else np.asarray(weights, float)
    n, k = len(best), max(best) + 1
    affinity = np.full((n, k), np.nan)
    for i in range(n):
        for g in range(k):
            others = [j for j in range(n) if best[j] == g and j != i]
            if others:
                affinity[i, g] = np.mean([p[i, j] for j in others])
    alone = [
        sum(w for row, w in zip(z, weights, strict=True) if list(row).count(row[i]) == 1)
        / weights.sum()
        for i in range(n)
    ]
    return affinity, np.array(alone)


def jaccard(best, z, weights=None):
    """Mean over the draws of the best Jaccard index of each cluster, and how often it is there."""
    weights = np.ones(len(z)) if weights is None else np.asarray(weights, float)
    clusters = [{i for i, g in enumerate(best) if g == c} for c in range(max(best) + 1)]
    stability, found = np.zeros(len(clusters)), np.zeros(len(clusters))
    for row, weight in zip(z, weights, strict=True):
        groups = [{i for i, h in enumerate(row) if h == c} for c in set(row)]
        for g, cluster in enumerate(clusters):
            top = max(len(cluster & group) / len(cluster | group) for group in groups)
            stability[g] += weight * top
            found[g] += weight * (top == 1)
    return stability / weights.sum(), found / weights.sum()
