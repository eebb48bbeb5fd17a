"""The mixtures: closed forms, every move by exact transition matrices, and visits of compiled runs."""

import numpy as np
import pytest

from enumerate_paths import transition_matrix
from epluribus._kernels.likelihood import ask, log_target
from epluribus._kernels.states import ADD, LABEL, ORDER, PREDICT, REMOVE, WEIGH, WEIGHT
from epluribus.models.base import make_partition
from epluribus.sampling import Allocation, Gibbs, SplitMerge, sample
from mixture_cases import KINDS, make_mixture_case, make_model
from oracles_models import partitions
from sampler_cases import frequencies, make_prior
from test_frequencies import LEVEL, chi_square, run

MOVES = ["gibbs", "split-merge", "launch 1", "allocation"]


@pytest.mark.parametrize("kind", KINDS)
def test_log_marginals_match_the_oracle(kind):
    prior, _ = make_prior("uniform", 6)
    model, oracle = make_model(kind, prior, 6)
    for z in partitions(6)[::7]:
        np.testing.assert_allclose(model.log_marginal(z), oracle(z), rtol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_every_item_in_every_cluster(kind):
    # All answers are differences of log likelihoods.
    prior, _ = make_prior("uniform", 6)
    model, oracle = make_model(kind, prior, 6)
    for z in ((0, 0, 1, 1, 0, 2), (0, 1, 0, 2, 2, 1), (0, 0, 0, 0, 0, 0)):
        labels = np.array(z)
        (m,) = model.states((make_partition(labels, model.sides[0].tables),))
        log_target((m,), 1)
        for i in range(6):
            rest = np.delete(labels, i)
            without = _oracle_without(model, i, rest)
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


def _oracle_without(model, i, rest):
    """Log marginal likelihood of all items but i, from scratch."""
    others = np.delete(np.arange(len(rest) + 1), i)
    return sum(model._log_cluster(others[rest == g]) for g in set(rest.tolist()))


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("kind", KINDS)
def test_moves_are_reversible(kind, move):
    model, posterior = make_mixture_case(kind, "uniform", 3 if move == "launch 1" else 4)
    pi = np.array(list(posterior.values()))
    flow = pi[:, None] * transition_matrix(model, posterior, move, 0)
    assert np.abs(flow - flow.T).max() < 1e-14


@pytest.mark.parametrize("kind", KINDS)
def test_visits_match_the_posterior(kind):
    model, posterior = make_mixture_case(kind, "pitman-yor", 5)
    assert run(model, posterior, "default", 31) > LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_visits_match_on_six_items(kind):
    model, posterior = make_mixture_case(kind, "uniform", 6)
    moves = [Gibbs(), SplitMerge(2, scans=0), SplitMerge(2, scans=3), Allocation(3)]
    trace = sample(model, n_draws=100_000, thin=39, moves=moves, rng=32)
    assert chi_square(frequencies(trace, posterior), np.array(list(posterior.values()))) > LEVEL


@pytest.mark.parametrize("kind", KINDS)
def test_a_longer_run_continues_a_shorter_one_bit_for_bit(kind, tmp_path):
    prior, _ = make_prior("uniform", 6)
    model, _ = make_model(kind, prior, 6)
    options = {"burn_in": 333, "thin": 17, "rng": 5, "n_chains": 2}
    whole = sample(model, n_draws=9000, **options)  # past two refreshes of the running sums
    sample(model, n_draws=3000, checkpoint=tmp_path / "run.npz", **options)
    resumed = sample(model, n_draws=9000, resume=tmp_path / "run.npz")
    assert np.array_equal(np.asarray(whole.draws), np.asarray(resumed.draws))
    assert np.array_equal(whole.log_posterior, resumed.log_posterior)
    fresh = [model.log_posterior(z) for z in np.asarray(whole.draws)[:50]]
    np.testing.assert_allclose(whole.log_posterior[0, :50], fresh, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_and_plain_python_make_the_same_draws(kind):
    prior, _ = make_prior("uniform", 6)
    model, _ = make_model(kind, prior, 6)
    options = {"n_draws": 15, "thin": 13, "burn_in": 0, "rng": 4}
    moves = [Gibbs(), SplitMerge(2, scans=0), SplitMerge(2, scans=2), Allocation(3)]
    compiled = sample(model, moves=moves, **options)
    model.compiled = False
    python = sample(model, moves=moves, **options)
    assert np.array_equal(np.asarray(compiled.draws), np.asarray(python.draws))
    np.testing.assert_allclose(compiled.log_posterior, python.log_posterior, atol=1e-9)
