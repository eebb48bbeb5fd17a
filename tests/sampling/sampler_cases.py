"""Small models whose whole posterior can be enumerated, each with its oracle."""

import warnings
from itertools import pairwise, product
from math import factorial

import numpy as np

from epluribus.models import (
    BernoulliMixture,
    CategoricalMixture,
    CustomModel,
    DirichletProcess,
    GaussianMixture,
    LatentBlockModel,
    PartitionPrior,
    PitmanYor,
    PoissonBlockModel,
    PoissonMixture,
    StochasticBlockModel,
)
from oracles_mixtures import (
    categorical_log_marginal,
    full_gaussian_log_marginal,
    gappy_gaussian_log_marginal,
)
from oracles_mixtures import poisson_log_marginal as counts_log_marginal
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

MIXTURES = ("gaussian", "gaussian 2-d", "full", "gaps", "categories", "ones", "counts")
NETWORKS = (
    "sbm",
    "directed sbm",
    "sbm with loops",
    "poisson",
    "directed poisson",
    "corrected",
    "directed corrected",
)
KINDS = (*MIXTURES, *NETWORKS, "lbm", "custom")

POISSON = {k: 1 / ((np.e - 1) * factorial(k)) for k in range(1, 40)}
GEOMETRIC = {k: 0.5**k for k in range(1, 80)}
PRIORS = {
    "uniform": (PartitionPrior(0.7, "uniform", 6), 0.7, dict.fromkeys(range(1, 7), 1 / 6)),
    "uniform 3": (PartitionPrior(1.3, "uniform", 3), 1.3, dict.fromkeys((1, 2, 3), 1 / 3)),
    "fixed 2": (PartitionPrior(0.9, "fixed", 2), 0.9, {2: 1.0}),
    "geometric": (PartitionPrior(0.6, "geometric", 50), 0.6, GEOMETRIC),
    "poisson": (PartitionPrior(2.0, "poisson", 50), 2.0, POISSON),
    "dirichlet process": (DirichletProcess(0.8), 0.8, 0.0),
    "pitman-yor": (PitmanYor(0.4, 0.3), 0.4, 0.3),
}


def make_prior(name, n):
    """A small prior by its name: the object, and the enumerated probabilities of partitions."""
    prior, concentration, more = PRIORS[name]
    enumerate_it = mixture_prior if isinstance(more, dict) else restaurant_prior
    return prior, enumerate_it(n, concentration, more)


Y = [0.3, -0.4, 1.9, 2.2, -1.5, 0.9]
A = np.array([[0, 1, 1, 0, 0], [1, 0, 1, 0, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 1, 0]])
D = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 0, 0, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]])
# Counts with loops: a symmetric matrix and one that is not.
C = np.array([[1, 2, 1, 0, 0], [2, 0, 3, 0, 1], [1, 3, 0, 0, 0], [0, 0, 0, 2, 1], [0, 1, 0, 1, 0]])
F = np.array([[1, 2, 1, 0, 0], [0, 0, 3, 1, 1], [2, 0, 0, 0, 0], [1, 0, 0, 2, 1], [0, 1, 0, 0, 0]])
X = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]])
PLANE = np.array([[0.3, 1.0], [-0.4, -0.9], [1.9, 0.4], [2.2, 1.8], [-1.5, -0.2], [0.9, 1.1]])
GAPPY = PLANE.copy()
GAPPY[1, 0] = GAPPY[3, 1] = GAPPY[4, 0] = GAPPY[4, 1] = np.nan
WORDS = [["a", "x"], ["a", None], ["b", "y"], ["c", "x"], [None, None], ["b", "y"]]
BITS = [[1, 1, 0], [1, None, 0], [0, 0, 1], [0, 1, None], [1, 1, 1], [0, 0, 0]]
COUNTS = [[0, 3], [1, None], [7, 2], [9, 30], [None, 4], [0, 0]]


def make_model(kind, prior, n):
    """(model, a function of the labels: its log marginal likelihood by the oracle); not for rows and columns."""
    gauss = {"tau": 0.3, "gamma": 1.2}
    if kind == "gaussian":
        model = GaussianMixture(Y[:n], delta=0.8, mean=0.2, prior=prior, **gauss)
        return model, lambda z: gaussian_log_marginal(Y[:n], z, 0.3, 1.2, 0.8, 0.2)
    if kind in ("gaussian 2-d", "full", "gaps"):
        y = (GAPPY if kind == "gaps" else PLANE)[:n]
        more = {"delta": [0.8, 0.4], "mean": [0.2, 0.1]}
        form = "full" if kind == "full" else "diagonal"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few items: a warning is right
            model = GaussianMixture(y, covariance=form, prior=prior, **gauss, **more)
        oracle = full_gaussian_log_marginal if kind == "full" else gappy_gaussian_log_marginal
        return model, lambda z: oracle(y, z, 0.3, 1.2, *more.values())
    if kind == "categories":
        model = CategoricalMixture(WORDS[:n], weight=0.6, prior=prior)
        weights = [dict.fromkeys(names, 0.6) for names in model.categories]
        return model, lambda z: categorical_log_marginal(WORDS[:n], z, weights)
    if kind == "ones":
        model = BernoulliMixture(BITS[:n], beta=(0.6, 0.9), prior=prior)
        return model, lambda z: categorical_log_marginal(BITS[:n], z, [{1: 0.6, 0: 0.9}] * 3)
    if kind == "counts":
        model = PoissonMixture(COUNTS[:n], shape=1.3, rate=[0.5, 0.2], prior=prior)
        return model, lambda z: counts_log_marginal(COUNTS[:n], z, 1.3, [0.5, 0.2])
    if kind == "custom":

        def preference(labels):
            return float(np.sin(3.0 * np.dot(labels, np.arange(1, len(labels) + 1))))

        return CustomModel(preference, n, prior=prior), preference
    directed = kind.startswith("directed")
    if "sbm" in kind:
        loops = "loops" in kind
        table = (D if directed else np.minimum(C, 1) if loops else A)[:n, :n]
        options = {"directed": directed, "loops": loops}
        model = StochasticBlockModel(table, beta=(0.5, 0.8), prior=prior, **options)
        return model, lambda z: sbm_log_marginal(table, z, 0.5, 0.8, **options)
    table = (F if directed else C)[:n, :n]
    options = {"directed": directed, "shape": 0.7, "rate": 1.3, "prior": prior}
    if kind.endswith("corrected"):
        model = PoissonBlockModel(table, degree_corrected=True, **options)
        return model, lambda z: corrected_closed_form(table, z, 0.7, 1.3, directed)
    model = PoissonBlockModel(table, loops=True, **options)
    return model, lambda z: poisson_log_marginal(table, z, 0.7, 1.3, directed, loops=True)


def make_case(kind, prior, n):
    """(model, enumerated posterior: one tuple of labels per side -> probability)."""
    own, pmf = make_prior(prior, n)
    if kind == "lbm":
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
    model, oracle = make_model(kind, own, n)
    log = {(z,): oracle(z) + log_or_minus_infinity(pmf[z]) for z in partitions(n)}
    return model, normalized(log)


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
