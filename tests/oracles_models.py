"""Slow, obvious twins of the models and priors: nothing here goes through the package's formulas or
kernels."""

from functools import cache
from itertools import product
from math import exp, lgamma, log, perm

import numpy as np
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import nbinom
from scipy.stats import t as student

import oracles


def partitions(n):
    """All partitions of n items, as restricted growth strings."""
    return [tuple(row) for row in oracles.all_partitions(n)]


def canonical(labels):
    return tuple(oracles.canonical(labels))


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


def sbm_log_marginal(adjacency, labels, b1, b2, directed=False, loops=False):
    cells = {}
    n = len(labels)
    for i in range(n):
        for j in range(n):
            if (i == j and not loops) or (not directed and i > j):
                continue
            block = (labels[i], labels[j])
            block = block if directed else tuple(sorted(block))
            cells.setdefault(block, []).append(int(adjacency[i][j]))
    return _beta_sum(cells, b1, b2)


def poisson_log_marginal(counts, labels, a, b, directed=False, loops=False):
    """By the chain rule: each count is negative binomial given those before it in its block."""
    state, total = {}, 0.0
    n = len(labels)
    for i in range(n):
        for j in range(n):
            if (i == j and not loops) or (not directed and i > j):
                continue
            block = (labels[i], labels[j])
            block = block if directed else tuple(sorted(block))
            shape, rate = state.get(block, (a, b))
            total += nbinom.logpmf(counts[i][j], shape, rate / (rate + 1))
            state[block] = shape + counts[i][j], rate + 1
    return total


def corrected_closed_form(counts, labels, a, b, directed=False):
    """The formula of the degree-corrected model, cell by cell; `corrected_log_marginal` confirms it."""
    n = len(labels)
    sizes = [labels.count(g) for g in labels]  # of the cluster of each node
    edges, exposure, out, into = {}, {}, {}, {}
    total = 0.0
    for i in range(n):
        for j in range(n):
            if not directed and i > j:
                continue
            y = int(counts[i][j])
            half = 0.5 if i == j and not directed else 1.0
            block = (labels[i], labels[j])
            block = block if directed else tuple(sorted(block))
            edges[block] = edges.get(block, 0) + y
            exposure[block] = exposure.get(block, 0.0) + half
            total += y * log(half) - lgamma(y + 1)
            for ends, node in ((out, i), (into if directed else out, j)):
                ends[node] = ends.get(node, 0) + y
    for block, e in edges.items():
        total += lgamma(a + e) - lgamma(a) + a * log(b) - (a + e) * log(b + exposure[block])
    for ends in (out, into) if directed else (out,):
        for i, d in ends.items():
            total += lgamma(d + 1) + d * log(sizes[i])
        for g in set(labels):
            own = sum(d for i, d in ends.items() if labels[i] == g)
            total += lgamma(labels.count(g)) - lgamma(labels.count(g) + own)
    return total


@cache
def _gamma_integral(power):
    """Integral of s^(power - 1) exp(-s), by quadrature; s = t^4 smooths the corner at 0."""
    return quad(lambda t: 4 * t ** (4 * power - 1) * exp(-(t**4)), 0, 6, limit=200)[0]


def corrected_log_marginal(counts, labels, a, b, directed=False):
    """Propensities by a product grid for clusters of at most two nodes; rates by quadrature.

    Slow and rough, but it shares no formula with the package: only for partitions of three nodes."""
    counts, n = np.asarray(counts), len(labels)
    clusters = sorted(set(labels))
    members = {g: [i for i in range(n) if labels[i] == g] for g in clusters}
    directions = 2 if directed else 1

    def log_given(t_out, t_in):
        """Log likelihood given propensities, the rates integrated out by quadrature."""
        total, exposure, edges = 0.0, {}, {}
        for i in range(n):
            for j in range(n):
                if not directed and i > j:
                    continue
                block = (labels[i], labels[j])
                block = block if directed else tuple(sorted(block))
                scale = t_out[i] * t_in[j] * (0.5 if i == j and not directed else 1.0)
                y = counts[i, j]
                total += y * log(scale) - lgamma(y + 1) if y else 0.0
                exposure[block] = exposure.get(block, 0.0) + scale
                edges[block] = edges.get(block, 0) + y
        for block, x in exposure.items():
            # integral of r^(e + a - 1) exp(-r (b + x)) b^a / Gamma(a) over r = s / (b + x)
            total += log(_gamma_integral(edges[block] + a)) + a * log(b) - lgamma(a)
            total -= (edges[block] + a) * log(b + x)
        return total

    # A cluster of two has propensities 2 u and 2 (1 - u), u uniform; of three or more: not covered.
    free = [(g, d) for g in clusters if len(members[g]) == 2 for d in range(directions)]
    u, w = np.polynomial.legendre.leggauss(40)
    u, w = (u + 1) / 2, w / 2
    value = 0.0
    for choice in product(range(u.size), repeat=len(free)):
        t = np.ones((2, n))
        weight = 1.0
        for (g, d), c in zip(free, choice, strict=True):
            first, second = members[g]
            rows = [d] if directed else [0, 1]
            for row in rows:
                t[row, first], t[row, second] = 2 * u[c], 2 * (1 - u[c])
            weight *= w[c]
        value += weight * exp(log_given(t[0], t[1]))
    return log(value)


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
