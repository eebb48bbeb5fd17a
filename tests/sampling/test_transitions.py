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


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.slow)


SMALL = ("lbm", *NETWORKS[2:])
CASES = [
    # Every choice of the launch of a split and of its scan is followed.
    *[(kind, "uniform", 3, "split-merge 0") for kind in KINDS],
    *[(kind, "uniform", 3 if kind in SMALL else 4, move) for kind in KINDS for move in ("gibbs", "allocation")],
    *[("sbm", prior, 3, "split-merge 0") for prior in PRIORS],
    *[("sbm", prior, 4, move) for prior in PRIORS for move in ("gibbs", "allocation")],
    ("sbm", "uniform", 3, "split-merge 0 shuffled"),
    ("sbm", "uniform", 3, "split-merge 1"),
    *[slow(kind, "pitman-yor", 4, "split-merge 0") for kind in KINDS if kind != "custom"],
    *[slow(kind, "pitman-yor", 3, "split-merge 1") for kind in KINDS if kind != "custom"],
]  # fmt: skip


def check(model, posterior, move, side=0):
    P = transition_matrix(model, posterior, move, side)
    pi = np.array(list(posterior.values()))
    assert np.allclose(P.sum(axis=1), 1.0, atol=1e-12)
    flow = pi[:, None] * P
    assert np.abs(flow - flow.T).max() < 1e-14
    assert np.abs(pi @ P - pi).max() < 1e-14
    return P


@pytest.mark.parametrize(("kind", "prior", "n", "move"), CASES)
def test_moves_are_reversible(kind, prior, n, move):
    model, posterior = make_case(kind, prior, n)
    for side in range(len(model.sides)):
        P = check(model, posterior, move, side)
        assert (P - np.diag(np.diag(P))).max() > 0.003


@pytest.mark.parametrize(
    ("kind", "prior", "n", "move"),
    [
        ("sbm", "uniform 3", 4, "split-merge 0"),
        ("gaussian", "uniform", 4, "split-merge 0"),
        ("gaussian", "uniform", 2, "allocation"),
        ("gaussian", "uniform", 5, "allocation"),  # the first ejection that can take more than two
        ("gaussian", "fixed 2", 4, "allocation"),
    ],
)
def test_moves_reach_every_partition(kind, prior, n, move):
    model, posterior = make_case(kind, prior, n)
    P = check(model, posterior, move)
    allowed = np.array(list(posterior.values())) > 0
    assert (np.linalg.matrix_power(P[np.ix_(allowed, allowed)], 8) > 0).all()
    eigenvalues = np.linalg.eigvals(P[np.ix_(allowed, allowed)])
    assert np.sum(np.abs(eigenvalues) > 1 - 1e-9) == 1  # irreducible and aperiodic
