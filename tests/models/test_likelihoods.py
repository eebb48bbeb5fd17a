"""Log marginal likelihoods against slow twins and golden values."""

import numpy as np
import pytest
from scipy.stats import gamma as gamma_distribution
from scipy.stats import norm

from epluribus._kernels.states import LABEL
from epluribus.datasets import load_congress_votes, load_galaxies
from epluribus.models import (
    CategoricalMixture,
    CustomModel,
    GaussianMixture,
    LatentBlockModel,
    PoissonMixture,
    StochasticBlockModel,
)
from epluribus.sampling import Allocation, Gibbs, SplitMerge, sample
from epluribus.sampling.chain import Chain, RunSettings
from epluribus.sampling.moves import make_schedule

# Golden values: computed with SciPy from the formulas in the docstrings of the models, to nine
# decimals.


def test_golden_galaxies():
    model = GaussianMixture(load_galaxies() / 1000, prior="paper")
    seven = np.repeat([0, 1, 2], [7, 72, 3])
    np.testing.assert_allclose(model.log_marginal(np.zeros(82, int)), -248.344802930, atol=1e-8)
    np.testing.assert_allclose(model.log_marginal(seven), -187.540804995, atol=1e-8)
    np.testing.assert_allclose(model.log_marginal(np.arange(82)), -417.905684035, atol=1e-8)
    np.testing.assert_allclose(model.log_prior(seven), -48.135476962, atol=1e-8)


def test_golden_votes():
    house = load_congress_votes()
    one = np.zeros(435, int), np.zeros(16, int)
    party = np.unique(house.party, return_inverse=True)[1], np.arange(16)
    half, flat = LatentBlockModel(house.yeas), LatentBlockModel(house.yeas, beta=(1, 1))
    np.testing.assert_allclose(half.log_marginal(*one), -4827.953836071, atol=1e-8)
    np.testing.assert_allclose(half.log_marginal(*party), -3680.982992861, atol=1e-8)
    np.testing.assert_allclose(flat.log_marginal(*one), -4827.502468914, atol=1e-8)
    np.testing.assert_allclose(flat.log_marginal(*party), -3675.168995480, atol=1e-8)


def test_golden_blogs(shared_data):
    from epluribus.datasets import load_french_blogs

    blogs = load_french_blogs(shared_data)
    model = StochasticBlockModel(blogs.edges, n_nodes=blogs.n_nodes)
    np.testing.assert_allclose(model.log_marginal(np.zeros(196, int)), -5092.620932262, atol=1e-8)
    np.testing.assert_allclose(model.log_marginal(blogs.party), -3712.334941904, atol=1e-8)


def test_gaussian_matches_a_sum_over_a_fine_grid():
    y, tau, a, b = np.array([0.3, -0.8, 1.1]), 0.5, 1.2, 0.9
    # mean and log precision on a grid; the integrand is smooth and vanishes at the ends
    mean, log_r = np.linspace(-12, 12, 2001), np.linspace(-12, 4.5, 2001)
    mu, r = mean[:, None], np.exp(log_r)[None, :]
    density = norm.pdf(mu, 0, (tau * r) ** -0.5) * gamma_distribution.pdf(r, a, scale=1 / b) * r
    for value in y:
        density = density * norm.pdf(value, mu, r**-0.5)
    expected = np.log(density.sum() * (mean[1] - mean[0]) * (log_r[1] - log_r[0]))
    model = GaussianMixture(y, tau=tau, gamma=a, delta=b, mean=0)
    np.testing.assert_allclose(model.log_marginal([0, 0, 0]), expected, rtol=1e-5)


def medium_models():
    rng = np.random.default_rng(4)
    A = np.triu(rng.random((40, 40)) < 0.15, 1).astype(int)
    D = (rng.random((30, 30)) < 0.2).astype(int)
    np.fill_diagonal(D, 0)
    far = np.concatenate([rng.normal(0, 1, 25), rng.normal(9, 2, 25)]) + 20_000
    return {
        "gaussian": GaussianMixture(far, tau=0.01, delta=0.5, mean=19_000),
        "gaussian 3-d": GaussianMixture(rng.normal(size=(30, 3)) * [1, 10, 0.1]),
        "full": GaussianMixture(np.cumsum(rng.normal(size=(90, 4)), axis=1) * [1, 10, 0.1, 1e5]),
        # Far items, some of them alone with one other: what a held item changes is close to everything.
        "full, far": GaussianMixture(np.exp(3 * rng.normal(size=(60, 2)))),
        "gaps": GaussianMixture(
            np.where(rng.random((30, 3)) < 0.2, np.nan, rng.normal(size=(30, 3))) + 1e5
        ),
        "categories": CategoricalMixture(rng.integers(0, 4, (40, 5))),
        "counts": PoissonMixture(rng.poisson([0.3, 4.0, 3000.0], (40, 3))),
        "sbm": StochasticBlockModel(A + A.T),
        "directed sbm": StochasticBlockModel(D, directed=True),
        "lbm": LatentBlockModel(rng.integers(0, 2, (40, 12)), prior="poisson"),
        "custom": CustomModel(lambda z: -0.1 * float(z.sum()), 8),
    }


@pytest.mark.parametrize("name", medium_models())
def test_running_log_posterior_equals_the_one_from_scratch(name):
    model = medium_models()[name]
    schedule = make_schedule([Gibbs(), SplitMerge(20), Allocation(20)], model)
    labels = tuple(np.arange(s.n_items) % min(5, s.tables.slots) for s in model.sides)
    settings = RunSettings(n_draws=10_000, burn=0, thin=7)
    chain = Chain(model, labels, schedule, settings, np.random.default_rng(5))
    stop = np.zeros(1, dtype=np.uint8)
    # Up to just before a refresh, where rounding has had the longest time to collect.
    for until in (1, 500, 65_535) if model.compiled else (1, 300):
        chain.run_until(until, stop)
        fresh = model.log_posterior(*[state.own[LABEL, :-1] for state in chain.states])
        np.testing.assert_allclose(chain.running[0], fresh, rtol=0, atol=1e-8)
    for t in range(0, chain.n_kept, max(1, chain.n_kept // 20)):
        fresh = model.log_posterior(*[table[t] for table in chain.labels])
        np.testing.assert_allclose(chain.log_posterior[t], fresh, rtol=0, atol=1e-8)
    best = model.log_posterior(*[record.best for record in chain.records])
    np.testing.assert_allclose(chain.running[1], best, rtol=0, atol=1e-8)
    assert best >= chain.log_posterior[: chain.n_kept].max() - 1e-8


def test_large_counts_beyond_the_tables_agree():
    # 1.1 million pairs of nodes in one cluster: more than the 2^20 entries of the tables.
    N = 1500
    ring = [(i, (i + 1) % N) for i in range(N)]
    model = StochasticBlockModel(ring, n_nodes=N, k_max=3)
    trace = sample(
        model, n_draws=20, thin=50, burn=0, n_chains=1, start=np.zeros(model.n_items), rng=1
    )
    fresh = [model.log_posterior(labels) for labels in np.asarray(trace.draws)]
    np.testing.assert_allclose(trace.log_posterior[0], fresh, rtol=0, atol=1e-6)
