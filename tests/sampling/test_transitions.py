"""Every move on every model: exact transition matrices are in detailed balance with the enumerated
posterior."""

import numpy as np
import pytest

from enumerate_paths import transition_matrix
from epluribus._kernels.likelihood import ask, log_target
from epluribus._kernels.states import ADD, LABEL, ORDER, PREDICT, REMOVE, WEIGH, WEIGHT
from epluribus.models.base import make_partition
from oracles_models import partitions
from sampler_cases import KINDS, MIXTURES, NETWORKS, PRIORS, make_case, make_model

MOVES = ["gibbs", "allocation"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "lbm"])
def test_log_marginals_match_the_oracle(kind):
    n = 6 if kind in MIXTURES else 5
    model, oracle = make_model(kind, PRIORS["uniform"][0], n)
    for z in partitions(n)[::5]:
        np.testing.assert_allclose(model.log_marginal(z), oracle(np.array(z).tolist()), rtol=1e-11)


@pytest.mark.parametrize("kind", MIXTURES)
def test_every_answer_is_a_difference_of_log_likelihoods(kind):
    model, oracle = make_model(kind, PRIORS["uniform"][0], 6)
    for z in ((0, 0, 1, 1, 0, 2), (0, 1, 0, 2, 2, 1), (0, 0, 0, 0, 0, 0)):
        labels = np.array(z)
        (m,) = model.states((make_partition(labels, model.sides[0].tables),))
        log_target((m,), 1)
        for i in range(6):
            rest = np.delete(labels, i)
            others = np.delete(np.arange(6), i)
            without = sum(model._log_cluster(others[rest == g]) for g in set(rest.tolist()))
            g = m.own[LABEL, i]
            gone = ask(REMOVE, i, g, m)
            np.testing.assert_allclose(gone, oracle(z) - without, atol=1e-10)
            ask(WEIGH, i, g, m)
            weights = m.logs[WEIGHT].copy()
            for s in range(len(set(rest.tolist())) + 1):
                h = m.own[ORDER, s]
                moved = labels.copy()
                moved[i] = h
                expected = oracle(moved.tolist()) - without
                np.testing.assert_allclose(ask(PREDICT, i, h, m), expected, atol=1e-10)
                np.testing.assert_allclose(weights[s], expected, atol=1e-10)
            np.testing.assert_allclose(ask(ADD, i, g, m), gone, atol=1e-10)


def check(model, posterior, move, side, tolerance):
    P = transition_matrix(model, posterior, move, side)
    pi = np.array(list(posterior.values()))
    assert np.allclose(P.sum(axis=1), 1.0, atol=1e-12)
    flow = pi[:, None] * P
    assert np.abs(flow - flow.T).max() < tolerance
    assert np.abs(pi @ P - pi).max() < tolerance
    return P


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("kind", KINDS)
def test_moves_are_reversible_for_every_model(kind, move):
    n = 3 if kind in ("lbm", *NETWORKS[2:]) else 4
    model, posterior = make_case(kind, "uniform", n)
    for side in range(len(model.sides)):
        check(model, posterior, move, side, 1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_split_merge_is_reversible_for_every_model(kind):
    # Every choice of the launch and of the scan is followed.
    model, posterior = make_case(kind, "uniform", 3)
    for side in range(len(model.sides)):
        P = check(model, posterior, "split-merge 0", side, 1e-14)
        assert (P - np.diag(np.diag(P))).max() > 0.003


@pytest.mark.parametrize("move", ["split-merge 0 shuffled", "split-merge 1"])
def test_split_merge_is_reversible_with_scans_and_orders(move):
    model, posterior = make_case("sbm", "uniform", 3)
    check(model, posterior, move, 0, 1e-14)


def test_split_merge_of_four_items_is_reversible():
    model, posterior = make_case("sbm", "uniform 3", 4)
    P = check(model, posterior, "split-merge 0", 0, 1e-14)
    allowed = np.array(list(posterior.values())) > 0
    reached = np.linalg.matrix_power((P > 0).astype(float), 8) > 0
    assert reached[np.ix_(allowed, allowed)].all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "custom"])
def test_split_merge_is_reversible_on_more_items(kind):
    model, posterior = make_case(kind, "pitman-yor", 4)
    check(model, posterior, "split-merge 0", 0, 1e-14)
    model, posterior = make_case(kind, "pitman-yor", 3)
    check(model, posterior, "split-merge 1", 0, 1e-14)


@pytest.mark.parametrize("prior", PRIORS)
def test_split_merge_is_reversible_for_every_prior(prior):
    model, posterior = make_case("sbm", prior, 3)
    check(model, posterior, "split-merge 0", 0, 1e-14)


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("prior", PRIORS)
def test_moves_are_reversible_for_every_prior(prior, move):
    model, posterior = make_case("sbm", prior, 4)
    check(model, posterior, move, 0, 1e-14)


@pytest.mark.parametrize(
    ("move", "n"),
    [("split-merge 0", 2), ("split-merge 0", 4), ("allocation", 2), ("allocation", 5)],
)
def test_allocation_and_split_merge_reach_every_partition(move, n):
    # An ejection from five items is the first that can take more than two.
    model, posterior = make_case("gaussian", "uniform", n)
    P = check(model, posterior, move, 0, 1e-14)
    reached = np.linalg.matrix_power((P > 0).astype(float), 8) > 0
    assert reached.all()


def test_allocation_leaves_and_enters_one_cluster_with_two_allowed():
    model, posterior = make_case("gaussian", "fixed 2", 4)
    P = check(model, posterior, "allocation", 0, 1e-14)
    allowed = np.array(list(posterior.values())) > 0
    eigenvalues = np.linalg.eigvals(P[np.ix_(allowed, allowed)])
    assert np.sum(np.abs(eigenvalues) > 1 - 1e-9) == 1  # irreducible and aperiodic
