"""Slow, obvious twins of the models and priors: nothing here goes through the package's formulas or
kernels."""

from itertools import product
from math import exp, lgamma, log, perm

import numpy as np
from scipy.special import betaln
from scipy.stats import t as student


def partitions(n):
    """All partitions of n items, as restricted growth strings."""
    out = [[0]]
    for _ in range(n - 1):
        out = [[*row, g] for row in out for g in range(max(row) + 2)]
    return [tuple(row) for row in out]


def canonical(labels):
    seen = {}
    return tuple(seen.setdefault(g, len(seen)) for g in labels)


# --- priors ---


def mixture_prior(n, a, p_of_k):
    """Prior on partitions of a finite mixture: every label vector of every k, counted one by one
    while they are few."""
    prior = dict.fromkeys(partitions(n), 0.0)
    for k, p in p_of_k.items():
        if k**n <= 5000:
            for z in product(range(k), repeat=n):
                prior[canonical(z)] += p * exp(_log_dirichlet(z, k, a))
        else:
            for z in prior:  # perm(k, K) vectors of 1..k give the partition
                prior[z] += p * perm(k, max(z) + 1) * exp(_log_dirichlet(z, k, a))
    return prior


def _log_dirichlet(z, k, a):
    value = lgamma(k * a) - lgamma(k * a + len(z))
    return value + sum(lgamma(z.count(g) + a) - lgamma(a) for g in range(k))


def restaurant_prior(n, theta, discount):
    """Prior on partitions by seating one customer after the other."""
    prior = {}
    for z in partitions(n):
        p = 1.0
        for i in range(1, n):
            sizes = np.bincount(z[:i])
            if z[i] == len(sizes):
                p *= (theta + discount * len(sizes)) / (theta + i)
            else:
                p *= (sizes[z[i]] - discount) / (theta + i)
        prior[z] = p
    return prior


# --- likelihoods ---


def gaussian_log_marginal(y, labels, tau, gamma, delta, mean=0.0):
    """By the chain rule: each value is Student given those before it in its cluster."""
    y = np.asarray(y, dtype=float)
    y = y[:, None] if y.ndim == 1 else y
    total = 0.0
    for g in set(labels):
        for d in range(y.shape[1]):
            m, k, shape, rate = float(np.broadcast_to(mean, y.shape[1:])[d]), tau, gamma, delta
            for value in y[np.asarray(labels) == g, d]:
                scale = np.sqrt(rate * (k + 1) / (shape * k))
                total += student.logpdf(value, 2 * shape, loc=m, scale=scale)
                rate += 0.5 * k * (value - m) ** 2 / (k + 1)
                m = (k * m + value) / (k + 1)
                k += 1
                shape += 0.5
    return total


def _beta_sum(cells, b1, b2):
    """Sum over blocks of the log marginal of a list of zeros and ones."""
    ones = {block: sum(values) for block, values in cells.items()}
    return sum(
        betaln(ones[block] + b1, len(values) - ones[block] + b2) - betaln(b1, b2)
        for block, values in cells.items()
    )


def sbm_log_marginal(adjacency, labels, b1, b2, directed=False):
    cells = {}
    n = len(labels)
    for i in range(n):
        for j in range(n):
            if i == j or (not directed and i > j):
                continue
            block = (labels[i], labels[j])
            block = block if directed else tuple(sorted(block))
            cells.setdefault(block, []).append(int(adjacency[i][j]))
    return _beta_sum(cells, b1, b2)


def lbm_log_marginal(matrix, rows, columns, b1, b2):
    cells = {}
    for i, g in enumerate(rows):
        for j, h in enumerate(columns):
            cells.setdefault((g, h), []).append(int(matrix[i][j]))
    return _beta_sum(cells, b1, b2)


def normalized(log_weights):
    """Probabilities from a dict of logs."""
    top = max(log_weights.values())
    weights = {z: exp(value - top) for z, value in log_weights.items()}
    total = sum(weights.values())
    return {z: w / total for z, w in weights.items()}


def log_or_minus_infinity(p):
    return log(p) if p > 0 else -np.inf
