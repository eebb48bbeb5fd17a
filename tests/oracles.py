"""Slow, obvious twins of what the package computes. Nothing here uses the package's kernels."""

import itertools
import math

import numpy as np


def table(a, b):
    """Contingency table by counting."""
    rows, columns = sorted(set(a)), sorted(set(b))
    return np.array(
        [[sum(x == g and y == h for x, y in zip(a, b, strict=True)) for h in columns] for g in rows]
    )


def entropy(counts):
    n = sum(counts)
    return -sum(c / n * math.log2(c / n) for c in counts if c)


def pairs_apart(a, b, cost=1.0):
    """Binder's loss pair by pair: `cost` for separating in a what is together in b."""
    total = 0.0
    for i, j in itertools.combinations(range(len(a)), 2):
        if b[i] == b[j] and a[i] != a[j]:
            total += cost
        if a[i] == a[j] and b[i] != b[j]:
            total += 2 - cost
    return total


def loss(name, a, b, cost=1.0):
    """Each loss from its textbook definition."""
    counts = table(a, b)
    ha, hb = entropy(counts.sum(1)), entropy(counts.sum(0))
    joint = entropy(counts.ravel())
    mutual = ha + hb - joint
    n = len(a)
    if name == "binder":
        return pairs_apart(a, b, cost)
    if name == "vi":  # c H(a|b) + (2 - c) H(b|a)
        return cost * (joint - hb) + (2 - cost) * (joint - ha)
    if name == "nvi":
        return 1 - mutual / joint if joint > 1e-12 else 0.0
    if name == "id":
        return max(ha, hb) - mutual
    if name == "nid":
        return 1 - mutual / max(ha, hb) if max(ha, hb) > 1e-12 else 0.0
    if name == "zero_one":
        return float(pairs_apart(a, b) > 0)
    if name == "omari":
        together = [math.comb(c, 2) for c in counts.ravel()]
        in_a = sum(math.comb(c, 2) for c in counts.sum(1))
        in_b = sum(math.comb(c, 2) for c in counts.sum(0))
        if n == 1 or in_a == in_b == 0 or in_a == in_b == math.comb(n, 2):
            return 0.0
        expected = in_a * in_b / math.comb(n, 2)
        return 1 - (sum(together) - expected) / ((in_a + in_b) / 2 - expected)
    raise KeyError(name)


def expected_loss(name, a, draws, weights=None, cost=1.0):
    weights = np.ones(len(draws)) if weights is None else np.asarray(weights, float)
    values = [loss(name, a, z, cost) for z in draws]
    return float(np.dot(values, weights) / weights.sum())


def canonical(labels):
    seen = {}
    return [seen.setdefault(label, len(seen)) for label in labels]


def all_partitions(n):
    """Every partition of n items, by recursion."""
    if n == 1:
        return [[0]]
    return [[*part, label] for part in all_partitions(n - 1) for label in range(max(part) + 2)]
