"""Slow, obvious twins of the mixtures: each item's predictive by SciPy, given those before it in its
cluster. None or NaN is a missing cell, which is left out."""

import numpy as np
from scipy.stats import multivariate_t, nbinom

from oracles_models import gaussian_log_marginal


def full_gaussian_log_marginal(y, labels, tau, gamma, delta, mean):
    """Normal-inverse-Wishart: nu = 2 gamma + d - 1, S_0 = 2 diag(delta)."""
    y, labels = np.asarray(y, dtype=float), np.asarray(labels)
    d = y.shape[1]
    total = 0.0
    for g in set(labels.tolist()):
        nu, scatter = 2 * gamma + d - 1, 2 * np.diag(np.broadcast_to(delta, d)).astype(float)
        k, m = tau, np.broadcast_to(mean, d).astype(float)
        for row in y[labels == g]:
            df = nu - d + 1
            total += multivariate_t.logpdf(row, m, scatter * (k + 1) / (k * df), df)
            scatter = scatter + k / (k + 1) * np.outer(row - m, row - m)
            m, k, nu = (k * m + row) / (k + 1), k + 1, nu + 1
    return total


def gappy_gaussian_log_marginal(y, labels, tau, gamma, delta, mean):
    """Column by column, without the missing cells."""
    y, labels = np.asarray(y, dtype=float), np.asarray(labels)
    total = 0.0
    for d in range(y.shape[1]):
        known = ~np.isnan(y[:, d])
        if known.any():
            one = (y[known, d], labels[known].tolist(), tau, gamma)
            total += gaussian_log_marginal(*one, np.broadcast_to(delta, y.shape[1])[d], mean[d])
    return total


def categorical_log_marginal(y, labels, weights):
    """`weights[d]` maps each category of column d to its parameter."""
    total = 0.0
    for d, own in enumerate(weights):
        counts = {}
        for row, g in zip(y, labels, strict=True):
            if row[d] is None:
                continue
            seen = counts.setdefault(g, dict.fromkeys(own, 0))
            top = seen[row[d]] + own[row[d]]
            total += np.log(top / (sum(seen.values()) + sum(own.values())))
            seen[row[d]] += 1
    return total


def poisson_log_marginal(y, labels, shape, rate):
    total = 0.0
    for d, b0 in enumerate(rate):
        state = {}
        for row, g in zip(y, labels, strict=True):
            if row[d] is None:
                continue
            a, b = state.get(g, (shape, b0))
            total += nbinom.logpmf(row[d], a, b / (b + 1))
            state[g] = a + row[d], b + 1
    return total
