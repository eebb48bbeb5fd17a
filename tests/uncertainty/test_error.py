import numpy as np
import pytest
from scipy.stats import t as student

import epluribus as epl
from epluribus.diagnostics import chain_agreement, ess, rhat
from epluribus.uncertainty import Difference, compare, error, psm

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
    assert found.agreement.agree
    by_chain = values.reshape(2, -1)
    assert found.rhat == pytest.approx(rhat(by_chain))
    assert found.ess == pytest.approx(ess(by_chain, method="mean"))


def test_standard_error_covers_the_truth_for_sticky_chains():
    """40 chains of one law: 95% intervals around their means cover the common mean (at least 33)."""
    rng = np.random.default_rng(1)
    found = [error(TRUTH, sticky(rng, 1000)) for _ in range(40)]
    means = np.array([one.expected_loss for one in found])
    errors = np.array([one.standard_error for one in found])
    assert np.sum(np.abs(means - means.mean()) < 1.96 * errors) >= 33
    assert np.mean([one.ess for one in found]) < 150


def test_weights_enter_the_mean_and_its_error():
    """The formula of the module, and for independent draws the textbook's error of a weighted mean."""
    rng = np.random.default_rng(2)
    z, weights = noisy(rng, 2, 1000), rng.exponential(size=(2, 1000)) ** 2
    found = error(TRUTH, epl.Draws(z, weights=weights))
    x = epl.expected_loss(TRUTH, z, "vi", per_draw=True).reshape(2, 1000)
    mean = np.average(x, weights=weights)
    assert found.expected_loss == pytest.approx(mean)
    influence = weights * (x - mean) / weights.mean()
    size = ess(influence, method="mean")
    worth = weights.sum() ** 2 / (weights**2).sum()  # Kish
    assert found.ess == pytest.approx(size * worth / 2000)
    # The jackknife's influence, enlarged by Student's and Edgeworth's factor.
    drawn = influence / (1 - weights / weights.sum())
    centered = drawn - drawn.mean()
    skewness = (centered**3).mean() / centered.std() ** 3
    factor = student.ppf(0.975, found.ess - 1) / 1.959964 * (1 + (1.08 * skewness**2 + 1.21) / size)
    spread = np.sqrt((drawn**2).sum() / 1999)
    assert found.standard_error == pytest.approx(factor * spread / np.sqrt(size))
    textbook = np.sqrt((weights**2 * (x - mean) ** 2).sum()) / weights.sum()
    assert textbook < found.standard_error < 1.2 * textbook
    assert found.standard_error > 1.5 * error(TRUTH, z).standard_error
    assert found.rhat == pytest.approx(rhat(x))
    other = np.where(np.arange(15) == 0, 1, TRUTH)
    pair = compare(TRUTH, other, epl.Draws(z, weights=weights))
    y = epl.expected_loss(other, z, "vi", per_draw=True).reshape(2, 1000)
    assert pair.expected_losses == pytest.approx((mean, np.average(y, weights=weights)))
    assert pair.difference == pytest.approx(np.average(x - y, weights=weights))


def test_chains_that_disagree_are_seen():
    rng = np.random.default_rng(3)
    z = noisy(rng, keep=0.95)
    z[1] //= 2  # clusters 0 and 1 are one in the second chain
    found = error(TRUTH, z)
    assert not found.agreement.agree
    assert found.rhat > 1.1
    assert found.ess < 20
    both = [psm(chain) for chain in z]
    assert found.agreement.difference == pytest.approx(np.abs(both[0] - both[1]).max())
    i, j = (int(name) for name in found.agreement.pair)
    assert np.abs(both[0] - both[1])[i, j] == pytest.approx(found.agreement.difference)
    alone = chain_agreement(epl.Draws(z))
    assert (found.agreement.agree, found.agreement.pair) == (alone.agree, alone.pair)


def test_chains_of_unequal_length():
    z = noisy(np.random.default_rng(5), 1, 300)[0]
    found = error(TRUTH, epl.Draws(z, chains=np.repeat([0, 1], [100, 200])))
    x = epl.expected_loss(TRUTH, z, "vi", per_draw=True)
    x -= x.mean()
    cut = ess([x[:100], x[200:]], method="mean")  # the last draws of the longer chain
    assert found.ess == pytest.approx(cut * 300 / 200)  # but all draws count
    assert found.standard_error == pytest.approx(x.std(ddof=1) / np.sqrt(found.ess))
    assert found.n_chains == 2


def test_three_draws_that_carry_the_weight_are_not_worth_hundreds():
    z = noisy(np.random.default_rng(10), 1, 1000)[0]
    weights = np.where(np.arange(1000) < 3, 1000.0, 1.0)
    found = error(TRUTH, epl.Draws(z, weights=weights))
    assert found.ess < 7
    assert "Few draws carry the weight: the 1,000 draws are worth 5.32 of equal weight" in str(
        found
    )
    heavy = np.random.default_rng(5).pareto(1.35, 1000) + 0.5
    assert "heavy tail" in error(TRUTH, epl.Draws(z, weights=heavy)).few_carry
    assert error(TRUTH, z).few_carry == ""


def test_importance_weights_are_covered():
    """200 samples with weights that depend on the draw: intervals of 1.96 standard errors hold the mean.

    Draws are noisy with a rate of their own, drawn evenly from two; the weights make it 0.3 to 0.7.
    """
    rng = np.random.default_rng(11)
    rate, p = np.array([0.1, 0.4]), np.array([0.3, 0.7])

    def sample(n, share):
        which = rng.choice(2, size=n, p=share)
        noise = rng.random((n, 15)) < rate[which][:, None]
        return np.where(noise, rng.integers(3, size=(n, 15)), TRUTH), which

    mean = epl.expected_loss(TRUTH, sample(40_000, p)[0], "vi")
    covered = 0
    for _ in range(200):
        z, which = sample(200, [0.5, 0.5])
        weights = (p / 0.5)[which] * rng.lognormal(0, 0.7, 200)
        found = error(TRUTH, epl.Draws(z, weights=weights))
        covered += abs(found.expected_loss - mean) < 1.96 * found.standard_error
    assert 183 <= covered <= 197  # 95%, and two and a half standard deviations


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


def test_a_difference_within_the_noise_is_called_so():
    z = [[0, 0, 1, 1], [0, 1, 1, 1]] * 10 + [[0, 0, 1, 1]]
    rng = np.random.default_rng(7)
    z = np.array(z)[rng.permutation(21)]
    assert "these draws cannot tell them apart" in str(compare([0, 0, 1, 1], [0, 1, 1, 1], z))


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.61923, 0.02512, "0.619 +- 0.025"),
        (61.923, 2.512, "61.9 +- 2.5"),
        (619.23, 25, "619 +- 25"),
    ],
)
def test_two_digits_of_the_error_are_printed(value, error, text):
    found = Difference(-value, error, 10.0, (1.0, 1.0), epl.losses.vi())
    assert f"by {text} (vi)" in str(found)


def test_too_few_draws_for_an_error():
    found = error([0, 1], [[0, 1], [0, 0]])
    assert np.isnan(found.standard_error)
    assert not found.agreement.agree
    assert "do not tell its standard error" in str(found)
    assert "too few, or too much alike, to say what they are worth" in str(found)
    assert "nan" not in str(error([0, 1], [[0, 1]]))


def test_one_chain_has_nothing_to_agree_with():
    z = np.random.default_rng(0).integers(2, size=(2, 20, 4))
    assert "chains" not in str(error([0, 0, 1, 1], z[0]))
    assert "Chains 0 and 1 differ by" in str(error([0, 0, 1, 1], z))


def test_a_chain_that_does_not_move_says_nothing_about_its_error():
    same = np.tile([0, 0, 1, 1], (4, 100, 1))
    found = error([0, 0, 1, 1], same)
    assert np.isnan(found.standard_error)
    assert np.isnan(found.ess)
    assert np.isnan(epl.uncertainty.plausibility([0, 1, 0, 1], same).p_values[0])


def test_one_heavy_draw_has_no_error():
    z = np.random.default_rng(0).integers(3, size=(200, 12))
    heavy = epl.Draws(z, weights=np.r_[1e4, np.ones(199)])
    assert "do not tell its standard error" in str(error(z[0], heavy))


def test_missing_labels_are_said_where_chains_are_not_compared():
    z = np.ma.masked_equal(np.random.default_rng(0).integers(-1, 3, (2, 50, 6)), -1)
    assert "The chains could not be compared." in str(error([0, 0, 1, 1, 2, 2], z))
