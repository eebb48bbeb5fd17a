"""The Gaussian mixture on users' data: any unit, both forms of covariance, odd values, warnings."""

import warnings

import numpy as np
import pandas as pd
import pytest

from epluribus.datasets import load_galaxies
from epluribus.models import GaussianMixture
from epluribus.sampling.chain import fingerprint
from oracles_mixtures import full_gaussian_log_marginal
from oracles_models import gaussian_log_marginal

RNG = np.random.default_rng(6)


def differences(model, seed=3):
    """Log posteriors of a few partitions, relative to one cluster: what the sampler sees."""
    rng = np.random.default_rng(seed)
    n = model.n_items
    zero = model.log_posterior(np.zeros(n, int))
    return [model.log_posterior(rng.integers(0, k, n)) - zero for k in (2, 3, 8)]


@pytest.mark.parametrize(
    ("unit", "shift"), [(1e-3, 0), (1e-6, 5), (1e200, 0), (1e-200, 0), (-7, 3)]
)
def test_the_unit_of_one_column_does_not_matter(unit, shift):
    y = load_galaxies()
    expected = differences(GaussianMixture(y))
    # The shift leaves only so many digits of the data.
    tolerance = 1e-9 if shift == 0 else 1e-6
    found = differences(GaussianMixture(unit * y + shift))
    np.testing.assert_allclose(found, expected, rtol=tolerance)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_each_column_may_have_its_own_unit(covariance):
    y = RNG.normal(size=(60, 3))
    expected = differences(GaussianMixture(y, covariance=covariance))
    other = y * [1e5, 1e-160, -3e170] + [1e6, 0, 0]
    found = differences(GaussianMixture(other, covariance=covariance))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_the_paper_by_name():
    y = load_galaxies() / 1000
    explicit = {"alpha": 4, "tau": 0.01, "gamma": 0.5, "delta": 0.5, "mean": 0}
    by_name = GaussianMixture(y, prior="paper")
    assert fingerprint(by_name) == fingerprint(GaussianMixture(y, **explicit))
    assert by_name.sides[0].prior.k_max == 50
    # Values are left exactly as they are.
    assert np.array_equal(by_name.values[:, 0], y)
    two = GaussianMixture(RNG.normal(size=(99, 2)), prior="paper")
    assert two.covariance == "diagonal"
    assert GaussianMixture(y, prior="paper", delta=2.0).delta[0] == 2.0


def test_default_hyperparameters():
    y = RNG.normal(3, 2, (80, 2))
    s2 = y.var(axis=0, ddof=1)
    line, full = GaussianMixture(y[:, 0]), GaussianMixture(y)
    diagonal = GaussianMixture(y, covariance="diagonal")
    np.testing.assert_allclose(line.delta, 0.13 * s2[:1])
    np.testing.assert_allclose(full.delta, 0.1 * s2)
    np.testing.assert_allclose(diagonal.delta, 0.5 * s2)
    assert (line.gamma, full.gamma, diagonal.gamma) == (0.5, 1.5, 0.5)
    np.testing.assert_allclose(full.mean, y.mean(axis=0))
    # nu = d + 2 and S_0 = 0.2 diag(s^2), by the oracle's independent formula
    z = RNG.integers(0, 2, 80)
    expected = full_gaussian_log_marginal(y, z, 0.01, 1.5, 0.1 * s2, y.mean(axis=0))
    np.testing.assert_allclose(full.log_marginal(z), expected, rtol=1e-9)


def test_full_covariance_of_one_column_is_the_diagonal_form():
    y = RNG.normal(size=9)
    one = GaussianMixture(y, covariance="full")
    assert one.covariance == "diagonal"
    z = RNG.integers(0, 3, 9)
    nu_form = full_gaussian_log_marginal(y[:, None], z, 0.01, 0.5, one.delta, one.mean)
    diagonal = gaussian_log_marginal(y, z.tolist(), 0.01, 0.5, one.delta[0], one.mean[0])
    np.testing.assert_allclose([one.log_marginal(z), diagonal], nu_form, rtol=1e-9)


def test_the_form_that_is_the_default():
    y = RNG.normal(size=(36, 3))
    assert GaussianMixture(y).covariance == "full"  # 4 x 3^2 items
    assert GaussianMixture(y[:35]).covariance == "diagonal"
    assert GaussianMixture(y[:, 0]).covariance == "diagonal"
    gappy = y.copy()
    gappy[3, 1] = np.nan
    assert GaussianMixture(gappy).covariance == "diagonal"


def test_missing_cells_in_every_guise_are_one_model():
    y = RNG.normal(size=(12, 2))
    gone = np.zeros((12, 2), bool)
    gone[2, 0] = gone[5, 1] = True
    listed = [
        [None if g else v for v, g in zip(a, b, strict=True)] for a, b in zip(y, gone, strict=True)
    ]
    frame = pd.DataFrame(y).mask(gone).convert_dtypes()
    forms = [np.where(gone, np.nan, y), np.ma.array(y, mask=gone), listed, frame]
    assert len({fingerprint(GaussianMixture(form)) for form in forms}) == 1
    # The values under a mask do not matter, not even those that are not numbers.
    hidden = np.ma.array(np.where(gone, np.inf, y), mask=gone)
    assert fingerprint(GaussianMixture(hidden)) == fingerprint(GaussianMixture(forms[0]))


def test_an_item_without_any_value_follows_the_prior():
    y = np.array([[0.1, 0.2], [np.nan, np.nan], [5.0, 5.5]])
    model = GaussianMixture(y)
    same = [model.log_marginal(z) for z in ([0, 0, 1], [0, 1, 1], [0, 2, 1])]
    np.testing.assert_allclose(same, same[0])


def test_values_that_do_not_vary():
    assert np.isfinite(GaussianMixture(np.full(9, 7.0)).log_posterior([0] * 9))
    assert np.isfinite(GaussianMixture([[3.0, 4.0]]).log_posterior([0]))
    # With a scale of its own a constant column is allowed.
    y = np.column_stack([RNG.normal(size=9), np.ones(9)])
    assert np.isfinite(GaussianMixture(y, delta=1.0).log_posterior([0] * 9))


def seen(y, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GaussianMixture(y, **options)
    return [str(warning.message) for warning in caught]


def test_correlated_columns_warn_where_the_diagonal_form_was_not_asked_for():
    one = RNG.multivariate_normal(np.zeros(4), 0.8 + 0.2 * np.eye(4), 300)
    assert seen(one) == []
    assert seen(one, covariance="diagonal") == []
    one[0, 0] = np.nan
    (message,) = seen(one)
    assert "was chosen because cells are missing" in message
    wide = RNG.normal(size=(60, 8)) + 3 * RNG.normal(size=(60, 1))
    (message,) = seen(wide)
    assert "was chosen because items are few" in message
    assert seen(RNG.normal(size=(60, 8))) == []


def test_gross_outliers_do_not_move_the_prior():
    y = np.r_[RNG.normal(0, 1, 500), RNG.normal(6, 1, 500)]
    plain = GaussianMixture(y)
    far = GaussianMixture(np.r_[y, 500 * RNG.normal(size=10)])
    np.testing.assert_allclose(far.delta, plain.delta, rtol=0.05)
    np.testing.assert_allclose(far.mean, plain.mean, atol=0.1)
    np.testing.assert_allclose(plain.delta, 0.13 * y.var(ddof=1))


def test_few_items_for_full_covariance_warn():
    (message,) = seen(RNG.normal(size=(60, 8)), covariance="full")
    assert message.startswith("60 items are few for covariance matrices of 8 columns, 36 numbers")
