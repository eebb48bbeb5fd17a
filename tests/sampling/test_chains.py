"""R-hat, effective sample size and agreement of chains."""

import numpy as np
import pytest

from epluribus.diagnostics import (
    coclustering_by_chain,
    coclustering_disagreement,
    ess,
    rhat,
)
from epluribus.draws import Draws


def autoregression(rho, shape, rng):
    noise = rng.normal(size=shape) * np.sqrt(1 - rho**2)
    noise[:, 0] /= np.sqrt(1 - rho**2)
    for t in range(1, shape[1]):
        noise[:, t] += rho * noise[:, t - 1]
    return noise


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, -0.4])
def test_ess_of_an_autoregression(rho):
    # ESS / draws = (1 - rho) / (1 + rho); the estimate has a standard error of a few per cent.
    x = autoregression(rho, (4, 20_000), np.random.default_rng(1))
    np.testing.assert_allclose(ess(x), 80_000 * (1 - rho) / (1 + rho), rtol=0.12)
    assert rhat(x) < 1.01


def test_rhat_by_hand():
    x = np.array([[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 8.0]])
    halves = np.array([[0, 1], [2, 3], [4, 5], [6, 8]])
    within = halves.var(axis=1, ddof=1).mean()
    between = 2 * halves.mean(axis=1).var(ddof=1)
    np.testing.assert_allclose(rhat(x), np.sqrt((within / 2 + between / 2) / within))


def test_constant_short_and_stuck_chains():
    assert rhat(np.ones((2, 10))) == 1.0
    assert ess(np.ones((2, 10))) == 20.0
    assert rhat(np.array([[1.0] * 10, [2.0] * 10])) == np.inf
    assert np.isnan(rhat([[1.0, 2.0]]))
    assert np.isnan(ess([1.0, 2.0, 3.0]))
    drifting = np.random.default_rng(2).normal(size=1000).cumsum()
    assert rhat(drifting) > 1.05  # one chain, seen by its halves
    assert ess(drifting) < 50


def test_coclustering_matches_a_loop():
    rng = np.random.default_rng(3)
    z = rng.integers(0, 3, (3, 40, 6))
    draws = Draws(z)
    pairs = np.array([(i, j) for j in range(6) for i in range(j)])
    expected = np.array([[np.mean(c[:, i] == c[:, j]) for i, j in pairs] for c in z])
    np.testing.assert_allclose(coclustering_by_chain(draws, pairs), expected)
    apart = (expected.max(axis=0) - expected.min(axis=0)).max()
    np.testing.assert_allclose(coclustering_disagreement(draws), apart)
    assert coclustering_disagreement(draws, n_pairs=4) <= apart
    assert np.isnan(coclustering_disagreement(draws.chain(0)))


def test_every_pair_is_looked_at_once():
    # One pair differs between the chains, each pair in turn: none is missed.
    for i in range(5):
        for j in range(i + 1, 5):
            apart = np.arange(5)
            joined = apart.copy()
            joined[j] = i
            assert coclustering_disagreement(Draws([[apart], [joined]])) == 1.0
