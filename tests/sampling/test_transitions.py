"""Every move on every model: exact transition matrices are in detailed balance with the enumerated
posterior."""

import numpy as np
import pytest

from enumerate_paths import transition_matrix
from sampler_cases import make_case

NETWORKS = ["sbm with loops", "poisson", "directed poisson", "corrected", "directed corrected"]
KINDS = ["gaussian", "gaussian 2-d", "sbm", "directed sbm", "lbm", "custom", *NETWORKS]
PRIORS = [
    "uniform",
    "uniform 3",
    "fixed 2",
    "poisson",
    "geometric",
    "dirichlet process",
    "pitman-yor",
]
MOVES = ["gibbs", "split-merge", "allocation"]


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
    n = 3 if kind in ("lbm", *NETWORKS) else 4
    model, posterior = make_case(kind, "uniform", n)
    for side in range(len(model.sides)):
        check(model, posterior, move, side, 1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_launches_are_reversible_for_every_model(kind):
    # Every coin and every choice of the scans is followed.
    model, posterior = make_case(kind, "uniform", 3)
    for side in range(len(model.sides)):
        P = check(model, posterior, "launch 0", side, 1e-14)
        assert (P - np.diag(np.diag(P))).max() > 0.003


@pytest.mark.parametrize("move", ["launch 0 shuffled", "launch 1"])
def test_launches_are_reversible_with_scans_and_orders(move):
    model, posterior = make_case("sbm", "uniform", 3)
    check(model, posterior, move, 0, 1e-14)


def test_launches_of_four_items_are_reversible():
    model, posterior = make_case("sbm", "uniform 3", 4)
    P = check(model, posterior, "launch 0", 0, 1e-14)
    allowed = np.array(list(posterior.values())) > 0
    reached = np.linalg.matrix_power((P > 0).astype(float), 8) > 0
    assert reached[np.ix_(allowed, allowed)].all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "custom"])
def test_launches_are_reversible_on_more_items(kind):
    model, posterior = make_case(kind, "pitman-yor", 4)
    check(model, posterior, "launch 0", 0, 1e-14)
    model, posterior = make_case(kind, "pitman-yor", 3)
    check(model, posterior, "launch 1", 0, 1e-14)


@pytest.mark.parametrize("prior", PRIORS)
def test_launches_are_reversible_for_every_prior(prior):
    model, posterior = make_case("sbm", prior, 3)
    check(model, posterior, "launch 0", 0, 1e-14)


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("prior", PRIORS)
def test_moves_are_reversible_for_every_prior(prior, move):
    model, posterior = make_case("sbm", prior, 4)
    check(model, posterior, move, 0, 1e-14)


@pytest.mark.parametrize(
    ("move", "n"), [("split-merge", 2), ("split-merge", 4), ("allocation", 2), ("allocation", 5)]
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
