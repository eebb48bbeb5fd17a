import sys

import numpy as np
import pytest

import epluribus as epl
import strategies
from epluribus.uncertainty import compare, error, psm
from epluribus.diagnostics import ess, rhat

TRUTH = np.repeat([0, 1, 2], 5)


def noisy(rng, n_chains=2, n_draws=200, keep=0.8):
    """Independent draws around one truth."""
    noise = rng.integers(3, size=(n_chains, n_draws, 15))
    return np.where(rng.random(noise.shape) < keep, TRUTH, noise)


def sticky(rng, n_draws=2000):
    """A chain that stays where it is nine times out of ten."""
    z = noisy(rng, 1, n_draws)[0]
    stay = rng.random(n_draws) < 0.9
    last = np.maximum.accumulate(np.where(stay, 0, np.arange(n_draws)))
    return z[last]


def test_independent_draws_have_the_textbook_error():
    z = noisy(np.random.default_rng(0), n_draws=2000)
    found = error(TRUTH, z)
    values = epl.expected_loss(TRUTH, z, "vi", per_draw=True)
    assert found.expected_loss == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(values.std() / np.sqrt(len(values)), rel=0.1)
    assert 3000 < found.ess < 5000
    assert found.mixed
    by_chain = values.reshape(2, -1)
    assert found.rhat == pytest.approx(rhat(by_chain))
    assert found.ess == pytest.approx(ess(by_chain))


def test_standard_error_covers_the_truth_for_sticky_chains():
    """40 chains of one law: 95 % intervals around their means cover the common mean (at least 33)."""
    rng = np.random.default_rng(1)
    found = [error(TRUTH, sticky(rng, 1000)) for _ in range(40)]
    means = np.array([one.expected_loss for one in found])
    errors = np.array([one.standard_error for one in found])
    assert np.sum(np.abs(means - means.mean()) < 1.96 * errors) >= 33
    assert np.mean([one.ess for one in found]) < 150


def test_weights_like_repeated_draws_and_errors_that_grow():
    rng = np.random.default_rng(2)
    z = noisy(rng, 1, 400)[0]
    even = error(TRUTH, epl.Draws(z, weights=np.full(400, 7.0)))
    plain = error(TRUTH, z)
    assert even.standard_error == pytest.approx(plain.standard_error)
    weights = rng.exponential(size=400) ** 2
    found = error(TRUTH, epl.Draws(z, weights=weights))
    assert found.expected_loss == pytest.approx(
        np.average(epl.expected_loss(TRUTH, z, "vi", per_draw=True), weights=weights)
    )
    assert found.standard_error > plain.standard_error


def test_chains_that_disagree_are_seen():
    rng = np.random.default_rng(3)
    z = noisy(rng, keep=0.95)
    z[1] //= 2  # clusters 0 and 1 are one in the second chain
    found = error(TRUTH, z)
    assert not found.mixed
    assert found.rhat > 1.1
    assert found.ess < 20
    both = psm(z, per_chain=True)
    assert found.disagreement == pytest.approx(np.abs(both[0] - both[1]).max())
    i, j = (int(name) for name in found.pair)
    assert abs(both[0] - both[1])[i, j] == pytest.approx(found.disagreement)
    assert "above 1.01: run longer, or more chains" in str(found)
    assert f"(items {i} and {j})" in str(found)


def test_chains_equally_far_but_apart_are_seen():
    """Each chain has a partition of its own, as far from the estimate: the loss alone shows nothing."""
    one, other = [0, 0, 1, 1, 2, 2], [0, 1, 1, 0, 2, 2]
    z = np.array([[one] * 20, [other] * 20])
    found = error([0, 0, 0, 0, 1, 1], z)
    assert found.rhat == 1
    assert found.disagreement == 1
    assert not found.mixed
    assert "more than by chance" in str(found)
    assert "more than by chance" not in str(error(TRUTH, noisy(np.random.default_rng(8))))


def test_many_items_are_compared_in_part(monkeypatch):
    monkeypatch.setattr(sys.modules["epluribus.uncertainty.error"], "_COMPARISONS", 0)
    found = error(TRUTH, noisy(np.random.default_rng(4)))
    assert found.pair is None
    assert 0 < found.disagreement < 1
    assert "among the pairs compared" in str(found)


def test_chains_of_unequal_length():
    z = noisy(np.random.default_rng(5), 1, 300)[0]
    found = error(TRUTH, epl.Draws(z, chains=np.repeat([0, 1], [100, 200])))
    assert 150 < found.ess < 600
    assert found.n_chains == 2


def test_a_chain_without_weight_has_no_probabilities():
    z = noisy(np.random.default_rng(5), 2, 20).reshape(40, 15)
    draws = epl.Draws(z, weights=np.repeat([0.0, 1.0], 20), chains=np.repeat([0, 1], 20))
    assert np.isnan(error(TRUTH, draws).disagreement)


def test_paired_comparison_is_sharper_than_two_errors():
    z = noisy(np.random.default_rng(6), n_draws=500)
    other = TRUTH.copy()
    other[0] = 1
    found = compare(TRUTH, other, z)
    assert found.clear
    assert found.difference < 0
    assert found.standard_error < error(TRUTH, z).standard_error
    assert found.difference == pytest.approx(found.expected_losses[0] - found.expected_losses[1])
    assert str(found).startswith("A is better than B by 0.")
    assert str(compare(other, TRUTH, z)).startswith("B is better than A by 0.")
    same = compare(TRUTH, TRUTH, z)
    assert not same.clear
    assert str(same) == "A and B have the same expected loss (vi), 0 +- 0 apart"
    assert "Difference(difference=-0." in repr(found)


def test_a_difference_within_the_noise_is_called_so():
    z = [[0, 0, 1, 1], [0, 1, 1, 1]] * 10 + [[0, 0, 1, 1]]
    rng = np.random.default_rng(7)
    z = np.array(z)[rng.permutation(21)]
    assert "not told apart by these draws" in str(compare([0, 0, 1, 1], [0, 1, 1, 1], z))


def test_too_few_draws_for_an_error():
    found = error([0, 1], [[0, 1], [0, 0]])
    assert np.isnan(found.standard_error)
    assert not found.mixed
    assert "too few draws for a standard error" in str(found)
    assert "MonteCarloError(expected_loss=0.5" in repr(found)


def test_bad_arguments_are_refused_in_words():
    with pytest.raises(ValueError, match=r"'b' must have 3 items; got 2"):
        compare([0, 0, 1], [0, 1], [[0, 1, 1]])
    with pytest.raises(ValueError, match=r"'a' must have 3 items; got 2"):
        compare([0, 1], [0, 0, 1], strategies.random_draws(np.random.default_rng(0), 3, 2, 2))
