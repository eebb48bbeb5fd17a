"""Priors on partitions against enumeration."""

import numpy as np
import pytest

from epluribus.models import DirichletProcess, GaussianMixture, PartitionPrior, PitmanYor
from oracles_models import mixture_prior, partitions, restaurant_prior

ON_K = {
    "uniform": dict.fromkeys(range(1, 5), 1 / 4),
    "fixed": {4: 1.0},
    "poisson": {
        k: np.exp(-np.log(np.expm1(1)) - np.log(np.arange(1.0, k + 1)).sum()) for k in range(1, 60)
    },
    "geometric": {k: 0.5**k for k in range(1, 90)},
}


@pytest.mark.parametrize("concentration", [0.5, 4.0])
@pytest.mark.parametrize("on_k", ON_K)
def test_mixtures_match_enumeration_over_label_vectors(on_k, concentration):
    expected = mixture_prior(5, concentration, ON_K[on_k])
    k_max = 4 if on_k in ("uniform", "fixed") else 10
    prior = PartitionPrior(concentration, on_k, k_max)
    for z, p in expected.items():
        np.testing.assert_allclose(np.exp(prior.log_pmf(z)), p, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize(("theta", "discount"), [(1.0, 0.0), (0.3, 0.0), (0.8, 0.4), (-0.2, 0.5)])
def test_processes_match_sequential_seating(theta, discount):
    prior = DirichletProcess(theta) if discount == 0 else PitmanYor(theta, discount)
    for z, p in restaurant_prior(6, theta, discount).items():
        np.testing.assert_allclose(np.exp(prior.log_pmf(z)), p, rtol=1e-10)


@pytest.mark.parametrize(
    "prior",
    [
        PartitionPrior(0.5, "uniform", 50),
        PartitionPrior(4.0, "poisson", 50),
        PartitionPrior(0.5, "geometric", 50),
        PartitionPrior(1.0, "fixed", 20),
        PartitionPrior(1.0, "uniform", 3),
        DirichletProcess(2.0),
        PitmanYor(0.5, 0.25),
    ],
    ids=repr,
)
def test_sums_to_one_over_all_partitions_of_seven_items(prior):
    total = np.exp([prior.log_pmf(z) for z in partitions(7)]).sum()
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_more_clusters_than_allowed_have_probability_zero():
    assert PartitionPrior(1.0, "fixed", 2).log_pmf([0, 1, 2]) == -np.inf


@pytest.mark.parametrize(
    "prior",
    [
        PartitionPrior(0.5, "uniform", 50),
        PartitionPrior(4.0, "poisson", 3),
        PartitionPrior(0.7, "fixed", 4),
        DirichletProcess(2.0),
        DirichletProcess(0.5, k_max=3),
        PitmanYor(0.5, 0.25),
        PitmanYor(-0.2, 0.5),
    ],
    ids=repr,
)
def test_the_number_of_clusters_a_priori(prior):
    # Summed over all partitions of seven items, one by one.
    expected = np.zeros(8)
    for z in partitions(7):
        expected[max(z) + 1] += np.exp(prior.log_pmf(z))
    expected /= expected.sum()  # a bound is not renormalized in log_pmf
    found = prior.n_clusters(7)
    for k in range(8):
        np.testing.assert_allclose(found.get(k, 0.0), expected[k], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("discount", [0.0, 0.6])
def test_many_clusters_a_priori_match_sequential_seating(discount):
    # K is a Markov chain: a new cluster opens with probability (theta + d K) / (theta + n).
    p, theta = np.zeros(401), 1.5
    p[1] = 1.0
    k = np.arange(401)
    for n in range(1, 400):
        new = p * (theta + discount * k) / (theta + n)
        p = p - new
        p[1:] += new[:-1]
    found = PitmanYor(theta, discount).n_clusters(400)
    assert abs(sum(found.values()) - 1) < 1e-9
    for K in (3, 9, 20, 60, 110):
        np.testing.assert_allclose(found.get(K, 0.0), p[K], rtol=1e-9, atol=1e-12)
    mean = float(k @ p)
    low, high = np.searchsorted(p.cumsum(), [0.025, 0.975])
    text = PitmanYor(theta, discount).describe(400)
    assert text.endswith(f"mean {mean:.1f}, 95% interval {low} to {high}")


def test_processes_are_as_simple_as_mixtures():
    law = GaussianMixture([1.0, 2.0], prior="dirichlet-process", alpha=0.4).sides[0].prior
    assert law == DirichletProcess(0.4)
    law = GaussianMixture([1.0, 2.0], prior="pitman-yor", k_max=7).sides[0].prior
    assert law == PitmanYor(1.0, 0.5, 7)
    assert PitmanYor(1.0, 0.5, 2).log_pmf([0, 1, 2]) == -np.inf


def test_what_a_prior_says_about_very_many_items_is_computed_when_asked():
    assert "`n_clusters` of the prior has it (1,000,000 items)" in PitmanYor().describe(1_000_000)
    assert DirichletProcess(1.0).describe(1) == (
        "number of clusters of 1 item, a priori: mean 1.0, 95% interval 1 to 1"
    )
