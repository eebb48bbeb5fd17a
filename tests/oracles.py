"""Slow, obvious twins of what the package computes. Nothing here uses the package's kernels."""

import itertools
import math

import numpy as np


def xlogx(n):
    return n * math.log2(n) if n else 0.0


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


def losses_of_all(loss, draws, weights=None):
    """All partitions as rows, in lexicographic order, and the expected loss of each from its definition."""
    rows = np.array(all_partitions(len(draws[0])))
    weights = np.ones(len(draws)) if weights is None else np.asarray(weights, float)
    n, total = rows.shape[1], np.zeros(len(rows))
    f1, f2, f3 = (np.array([f(m) for m in range(n + 1)]) for f in (loss.f1, loss.f2, loss.f3))
    member = rows[:, :, None] == np.arange(n)  # (partition, item, cluster)
    size = f2[member.sum(axis=1)].sum(axis=1)
    for draw, weight in zip(draws, weights, strict=True):
        groups = np.array([np.equal(draw, h) for h in np.unique(draw)])
        joint = sum(f1[(member & g[:, None]).sum(axis=1)].sum(axis=1) for g in groups)
        group = f3[groups.sum(axis=1)].sum()
        values = np.array([loss.f0(j, s, group, n) for j, s in zip(joint, size, strict=True)])
        if loss.zero_if_equal:
            values[(rows == canonical(draw)).all(axis=1)] = 0.0
        total += weight * values
    return rows, total / weights.sum()


def best_partition(loss, draws, weights=None, k_min=1, k_max=99):
    """The first of the best of all partitions with k_min to k_max clusters, and its expected loss."""
    rows, values = losses_of_all(loss, draws, weights)
    k = rows.max(axis=1) + 1
    rows, values = rows[(k >= k_min) & (k <= k_max)], values[(k >= k_min) & (k <= k_max)]
    low = values.min()
    first = int(np.argmax(values <= low + 1e-12 * max(1.0, abs(low))))
    return rows[first].tolist(), float(values[first])
