"""Long compiled runs visit partitions as often as the enumerated posterior says.

Each test keeps draws far enough apart to be nearly independent and compares the visits of all states by a
chi-square test at level 1e-4, with fixed seeds: with some 30 tests a correct sampler fails with
probability 0.003 per change of stream. With 40 000 draws and 15 states a sampler whose distribution is off
by 0.02 in total variation, the smallest of the known mistakes, is found with probability 0.97: the
noncentrality is at least 40 000 x 4 x 0.02^2 = 64. The slow tests keep 200 000 draws."""

import numpy as np
import pytest
from scipy.stats import chisquare

from epluribus.models import GaussianMixture
from epluribus.sampling import Allocation, Gibbs, SplitMerge, sample
from sampler_cases import MIXTURES, frequencies, make_case, make_prior

LEVEL = 1e-4
# Moves, and the number of steps per item from draw to draw: enough for the slowest mode of each chain to
# fall below a few per cent.
SCHEDULES = {
    "gibbs": ([Gibbs()], 4),
    "default": ("default", 3),
    "split-merge": ([SplitMerge(5)], 24),  # few merges are proposed
    "appendix": ("appendix", 6),
}


def chi_square(visits, probabilities):
    """p-value; states with an expected count below 10 are taken together."""
    expected = probabilities * visits.sum()
    assert visits[expected == 0].sum() == 0
    order = np.argsort(expected)
    visits, expected = visits[order][expected[order] > 0], expected[order][expected[order] > 0]
    rare = int(np.sum(expected.cumsum() < 10)) + 1
    visits = np.r_[visits[:rare].sum(), visits[rare:]]
    expected = np.r_[expected[:rare].sum(), expected[rare:]]
    return chisquare(visits, expected * visits.sum() / expected.sum()).pvalue


def run(model, posterior, schedule, rng, n_draws=20_000, times=1):
    """p-value of the draws of two chains; `times` spreads them further."""
    moves, steps = SCHEDULES[schedule]
    thin = times * steps * sum(side.n_items for side in model.sides)
    trace = sample(model, n_draws=n_draws, burn=1000, thin=thin, moves=moves, rng=rng)
    return chi_square(frequencies(trace, posterior), np.array(list(posterior.values())))


FEW = [(kind, s) for kind in ("gaussian", "sbm", "lbm") for s in ("gibbs", "default", "appendix")]
FEW += [(kind, "default") for kind in ("directed sbm", "corrected", *MIXTURES[2:])]


@pytest.mark.parametrize(("kind", "schedule"), [*FEW, ("directed poisson", "gibbs")])
def test_visits_match_the_posterior(kind, schedule):
    prior = {"gibbs": "uniform", "default": "pitman-yor", "appendix": "uniform 3"}[schedule]
    model, posterior = make_case(kind, prior, 4)
    assert run(model, posterior, schedule, 11) > LEVEL


@pytest.mark.parametrize("schedule", ["gibbs", "split-merge", "appendix"])
def test_visits_match_with_two_clusters_at_most(schedule):
    model, posterior = make_case("gaussian", "fixed 2", 4)
    assert run(model, posterior, schedule, 12) > LEVEL


@pytest.mark.parametrize(
    "prior", ["uniform", "fixed 2", "poisson", "geometric", "dirichlet process", "pitman-yor"]
)
def test_without_data_visits_match_the_prior(prior):
    own, pmf = make_prior(prior, 4)
    model = GaussianMixture(np.zeros(4), delta=0.5, mean=0.0, prior=own)
    model.values = np.zeros((4, 0))  # no coordinate: the likelihood is 1
    posterior = {(z,): p for z, p in pmf.items()}
    assert run(model, posterior, "default", 13) > LEVEL


KINDS = [*MIXTURES, "sbm", "directed sbm", "lbm", "corrected", "poisson"]
PRIORS = ["uniform", "poisson", "geometric", "dirichlet process", "pitman-yor"]


@pytest.mark.slow
@pytest.mark.parametrize("schedule", list(SCHEDULES))
@pytest.mark.parametrize("kind", KINDS)
def test_visits_match_on_more_items(kind, schedule):
    # Each model meets four of the priors, each schedule all five; exact matrices cover the rest.
    prior = PRIORS[(KINDS.index(kind) + list(SCHEDULES).index(schedule)) % len(PRIORS)]
    model, posterior = make_case(kind, prior, 6 if kind in MIXTURES else 5)
    assert run(model, posterior, schedule, 14, n_draws=100_000, times=2) > LEVEL


@pytest.mark.slow
def test_visits_match_for_a_mixture_of_all_moves():
    model, posterior = make_case("sbm", "uniform", 5)
    moves = [Gibbs(), Allocation(5), SplitMerge(2)]
    trace = sample(model, n_draws=100_000, thin=50, moves=moves, rng=15)
    assert chi_square(frequencies(trace, posterior), np.array(list(posterior.values()))) > LEVEL


def test_visits_match_for_a_function_of_the_labels():
    # Plain Python: fewer draws.
    model, posterior = make_case("custom", "uniform", 4)
    trace = sample(model, n_draws=1000, thin=9, burn=100, n_chains=1, rng=16)
    assert chi_square(frequencies(trace, posterior), np.array(list(posterior.values()))) > LEVEL
