"""Small mixtures whose whole posterior can be enumerated, each with its oracle."""

import warnings

import numpy as np

from epluribus.models import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    PoissonMixture,
)
from oracles_mixtures import (
    categorical_log_marginal,
    full_gaussian_log_marginal,
    gappy_gaussian_log_marginal,
    poisson_log_marginal,
)
from oracles_models import log_or_minus_infinity, normalized, partitions
from sampler_cases import make_prior

KINDS = ("full", "gappy gaussian", "categorical", "bernoulli", "poisson")
Y = np.array([[0.3, 1.0], [-0.4, -0.9], [1.9, 0.4], [2.2, 1.8], [-1.5, -0.2], [0.9, 1.1]])
GAPPY = Y.copy()
GAPPY[1, 0] = GAPPY[3, 1] = GAPPY[4, 0] = GAPPY[4, 1] = np.nan
WORDS = [["a", "x"], ["a", None], ["b", "y"], ["c", "x"], [None, None], ["b", "y"]]
BITS = [[1, 1, 0], [1, None, 0], [0, 0, 1], [0, 1, None], [1, 1, 1], [0, 0, 0]]
COUNTS = [[0, 3], [1, None], [7, 2], [9, 30], [None, 4], [0, 0]]


def make_model(kind, prior, n):
    """(model, a function of the labels: its log marginal likelihood by the oracle)."""
    if kind == "full":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few items: a warning is right
            options = {"tau": 0.3, "gamma": 1.2, "delta": [0.8, 0.4], "mean": [0.2, 0.1]}
            model = GaussianMixture(Y[:n], covariance="full", prior=prior, **options)
        return model, lambda z: full_gaussian_log_marginal(Y[:n], z, *options.values())
    if kind == "gappy gaussian":
        options = {"tau": 0.3, "gamma": 1.2, "delta": [0.8, 0.4], "mean": [0.2, 0.1]}
        model = GaussianMixture(GAPPY[:n], prior=prior, **options)
        return model, lambda z: gappy_gaussian_log_marginal(GAPPY[:n], z, *options.values())
    if kind == "categorical":
        model = CategoricalMixture(WORDS[:n], weight=0.6, prior=prior)
        weights = [dict.fromkeys(names, 0.6) for names in model.categories]
        return model, lambda z: categorical_log_marginal(WORDS[:n], z, weights)
    if kind == "bernoulli":
        model = BernoulliMixture(BITS[:n], beta=(0.6, 0.9), prior=prior)
        return model, lambda z: categorical_log_marginal(BITS[:n], z, [{1: 0.6, 0: 0.9}] * 3)
    model = PoissonMixture(COUNTS[:n], shape=1.3, rate=[0.5, 0.2], prior=prior)
    return model, lambda z: poisson_log_marginal(COUNTS[:n], z, 1.3, [0.5, 0.2])


def make_mixture_case(kind, prior, n):
    """(model, enumerated posterior: a tuple with one tuple of labels -> probability)."""
    own, pmf = make_prior(prior, n)
    model, oracle = make_model(kind, own, n)
    log = {(z,): oracle(z) + log_or_minus_infinity(pmf[z]) for z in partitions(n)}
    return model, normalized(log)
