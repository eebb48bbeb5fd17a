"""Small models whose whole posterior can be enumerated, each with its oracle."""

from itertools import pairwise, product
from math import factorial

import numpy as np

from epluribus.models import (
    CustomModel,
    DirichletProcess,
    GaussianMixture,
    LatentBlockModel,
    PartitionPrior,
    PitmanYor,
    PoissonBlockModel,
    StochasticBlockModel,
)
from oracles_models import (
    canonical,
    corrected_closed_form,
    gaussian_log_marginal,
    lbm_log_marginal,
    log_or_minus_infinity,
    mixture_prior,
    normalized,
    partitions,
    poisson_log_marginal,
    restaurant_prior,
    sbm_log_marginal,
)

POISSON = {k: 1 / ((np.e - 1) * factorial(k)) for k in range(1, 40)}
GEOMETRIC = {k: 0.5**k for k in range(1, 80)}


def make_prior(name, n):
    """A small prior by its name: the object, and the enumerated probabilities of partitions."""
    if name == "uniform":
        return PartitionPrior(0.7, "uniform", 6), mixture_prior(
            n, 0.7, dict.fromkeys(range(1, 7), 1 / 6)
        )
    if name == "uniform 3":
        return PartitionPrior(1.3, "uniform", 3), mixture_prior(
            n, 1.3, dict.fromkeys((1, 2, 3), 1 / 3)
        )
    if name == "fixed 2":
        return PartitionPrior(0.9, "fixed", 2), mixture_prior(n, 0.9, {2: 1.0})
    if name == "geometric":
        return PartitionPrior(0.6, "geometric", 50), mixture_prior(n, 0.6, GEOMETRIC)
    if name == "poisson":
        return PartitionPrior(2.0, "poisson", 50), mixture_prior(n, 2.0, POISSON)
    if name == "dirichlet process":
        return DirichletProcess(0.8), restaurant_prior(n, 0.8, 0.0)
    if name == "pitman-yor":
        return PitmanYor(0.4, 0.3), restaurant_prior(n, 0.4, 0.3)
    raise KeyError(name)


Y = [0.3, -0.4, 1.9, 2.2, -1.5, 0.9]
A = np.array([[0, 1, 1, 0, 0], [1, 0, 1, 0, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 1, 0]])
D = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 0, 0, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]])
# Counts with loops: a symmetric matrix and one that is not.
C = np.array([[1, 2, 1, 0, 0], [2, 0, 3, 0, 1], [1, 3, 0, 0, 0], [0, 0, 0, 2, 1], [0, 1, 0, 1, 0]])
F = np.array([[1, 2, 1, 0, 0], [0, 0, 3, 1, 1], [2, 0, 0, 0, 0], [1, 0, 0, 2, 1], [0, 1, 0, 0, 0]])
X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]])


def make_case(kind, prior, n):
    """(model, enumerated posterior: one tuple of labels per side -> probability)."""
    own, pmf = make_prior(prior, n)
    if kind == "gaussian":
        model = GaussianMixture(Y[:n], tau=0.3, gamma=1.2, delta=0.8, mean=0.2, prior=own)
        log = {z: gaussian_log_marginal(Y[:n], z, 0.3, 1.2, 0.8, 0.2) for z in partitions(n)}
    elif kind == "gaussian 2-d":
        y = np.array(Y[:n])[:, None] * [1.0, -0.5] + [0.0, 0.3]
        options = {"tau": 0.3, "gamma": 1.2, "delta": 0.8, "mean": 0.0}
        model = GaussianMixture(y, covariance="diagonal", prior=own, **options)
        log = {z: gaussian_log_marginal(y, z, 0.3, 1.2, 0.8) for z in partitions(n)}
    elif kind == "sbm":
        model = StochasticBlockModel(A[:n, :n], beta=(0.5, 0.8), prior=own)
        log = {z: sbm_log_marginal(A, z, 0.5, 0.8) for z in partitions(n)}
    elif kind == "directed sbm":
        model = StochasticBlockModel(D[:n, :n], directed=True, beta=(0.5, 0.8), prior=own)
        log = {z: sbm_log_marginal(D, z, 0.5, 0.8, directed=True) for z in partitions(n)}
    elif kind == "sbm with loops":
        model = StochasticBlockModel(
            np.minimum(C, 1)[:n, :n], loops=True, beta=(0.5, 0.8), prior=own
        )
        log = {
            z: sbm_log_marginal(np.minimum(C, 1), z, 0.5, 0.8, loops=True) for z in partitions(n)
        }
    elif kind.endswith(("poisson", "corrected")):
        counts, directed = (F, True) if kind.startswith("directed") else (C, False)
        corrected = kind.endswith("corrected")
        model = PoissonBlockModel(
            counts[:n, :n],
            directed=directed,
            degree_corrected=corrected,
            loops=not corrected,
            shape=0.7,
            rate=1.3,
            prior=own,
        )
        oracle = corrected_closed_form if corrected else poisson_log_marginal
        options = {"directed": directed} if corrected else {"directed": directed, "loops": True}
        log = {z: oracle(counts, z, 0.7, 1.3, **options) for z in partitions(n)}
    elif kind == "custom":

        def preference(labels):
            return float(np.sin(3.0 * np.dot(labels, np.arange(1, labels.size + 1))))

        model = CustomModel(preference, n, prior=own)
        log = {z: preference(np.array(z)) for z in partitions(n)}
    elif kind == "lbm":
        columns = PartitionPrior(0.5, "uniform", 3)
        column_pmf = mixture_prior(3, 0.5, dict.fromkeys((1, 2, 3), 1 / 3))
        model = LatentBlockModel(X[:n], beta=(0.6, 0.9), prior=(own, columns))
        joint = {
            (r, c): lbm_log_marginal(X, r, c, 0.6, 0.9)
            + log_or_minus_infinity(pmf[r])
            + log_or_minus_infinity(column_pmf[c])
            for r, c in product(partitions(n), partitions(3))
        }
        return model, normalized(joint)
    posterior = {(z,): value + log_or_minus_infinity(pmf[z]) for z, value in log.items()}
    return model, normalized(posterior)


def frequencies(trace, posterior):
    """Visits of each state, in the order of `posterior`."""
    tables = [np.asarray(trace.draws)]
    if trace.column_draws is not None:
        tables.append(np.asarray(trace.column_draws))
    widths = np.cumsum([0, *[table.shape[1] for table in tables]])
    rows, counts = np.unique(np.hstack(tables), axis=0, return_counts=True)
    visits = dict.fromkeys(posterior, 0)
    for row, count in zip(rows, counts, strict=True):
        key = tuple(canonical(row[a:b].tolist()) for a, b in pairwise(widths))
        visits[key] += int(count)
    return np.array(list(visits.values()))
