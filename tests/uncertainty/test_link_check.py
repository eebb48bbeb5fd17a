"""Held-out links: the check says yes for the model that made them, no where nodes differ in degree."""

import networkx as nx
import numpy as np
import pytest

from epluribus.models import GaussianMixture, PoissonBlockModel, StochasticBlockModel
from epluribus.uncertainty import link_check


def corrected_network(rng, n=120):
    """Two blocks; a few nodes have most of the links."""
    z = np.arange(n) % 2
    t = rng.pareto(1.5, n) + 0.3
    t /= t.mean()
    rates = np.where(z[:, None] == z, 0.15, 0.02) * np.outer(t, t)
    counts = np.triu(rng.poisson(rates), 1)
    return np.minimum(counts + counts.T, 1)


def test_a_right_model_is_calibrated():
    graph = nx.planted_partition_graph(3, 30, 0.4, 0.05, seed=2)
    check = link_check(StochasticBlockModel(graph), n_draws=150, rng=1)
    assert check.calibrated
    assert check.auc > 0.7
    assert "No deviation found" in str(check)
    # All pairs are counted: those with a held-out link, and the others through their weight.
    others = (check.linked == 0).sum() * check.weight
    assert 0.8 < (others + graph.number_of_edges()) / (90 * 89 / 2) < 1.2
    # As many links are expected as were held out.
    weight = np.where(check.linked == 1, 1.0, check.weight)
    assert (weight * check.predicted).sum() == pytest.approx(check.linked.sum(), rel=0.35)


def test_the_wrong_model_is_found_out_and_the_right_one_is_not():
    network = corrected_network(np.random.default_rng(2), 300)
    options = {"share": 0.3, "n_draws": 100, "rng": 1}
    wrong = link_check(StochasticBlockModel(network, k_max=2), **options)
    right = link_check(PoissonBlockModel(network, degree_corrected=True, k_max=2), **options)
    assert wrong.calibrated is False
    assert "degree_corrected=True" in wrong.sentence
    assert right.calibrated
    assert right.auc > wrong.auc + 0.02


def test_too_few_links_say_nothing():
    check = link_check(StochasticBlockModel(nx.path_graph(12)), n_draws=50, rng=1)
    assert check.calibrated is None
    assert "too few to say" in str(check)
    with pytest.raises(TypeError, match="must be a block model of a network"):
        link_check(GaussianMixture([0.0, 1.0, 5.0]))
