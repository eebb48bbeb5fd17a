"""Predictions of new items against enumeration, and checks of models that are right and wrong."""

import copy

import numpy as np
import pytest

import epluribus as epl
from epluribus.models import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    PartitionPrior,
    PoissonMixture,
)
from epluribus.models.mixtures import condition, log_student_full
from oracles_models import partitions

RNG = np.random.default_rng(8)
DATA = {
    "line": (GaussianMixture, RNG.normal(size=(5, 1)), {}),
    "diagonal": (GaussianMixture, RNG.normal(size=(5, 2)), {"covariance": "diagonal"}),
    "full": (GaussianMixture, RNG.normal(size=(5, 2)), {"covariance": "full"}),
    "categorical": (CategoricalMixture, [[0, 1], [1, 1], [2, None], [0, 0], [1, 1]], {}),
    "bernoulli": (BernoulliMixture, [[0, 1], [1, None], [1, 1], [0, 0], [0, 1]], {}),
    "poisson": (PoissonMixture, [[0, 4], [5, 1], [7, None], [1, 2], [2, 0]], {"rate": 0.3}),
}


@pytest.mark.filterwarnings("ignore:5 items are few", "ignore:4 items are few")
@pytest.mark.parametrize("kind", DATA)
def test_probabilities_match_enumeration_with_one_more_item(kind):
    # All partitions of four items, weighted by their posterior, and the fifth as the new item.
    make, y, options = DATA[kind]
    if make is GaussianMixture:
        options = {"delta": 0.4, "mean": 0.1, **options}
    prior = PartitionPrior(0.8, "uniform", 6)
    five = make(y, prior=prior, **options)
    four = copy.copy(five)._copy(five.values[:4])
    rows = partitions(4)
    weights = np.exp([four.log_posterior(z) for z in rows])
    draws = epl.Draws(rows, weights=weights)
    best = np.array([0, 0, 1, 1])
    expected, given, total = np.zeros(3), np.zeros(3), 0.0
    for z in partitions(5):
        p = np.exp(five.log_posterior(z))
        total += p
        others = [best[i] for i in range(4) if z[i] == z[4]]
        share = np.bincount(others, minlength=3) / len(others) if others else [0, 0, 1]
        expected += p * np.asarray(share)
        if z[:4] == (0, 0, 1, 1):
            given += p * np.asarray(share)
    found = epl.uncertainty.predict(best, draws, four, y[4:5])
    np.testing.assert_allclose(found.probabilities[0], expected / total, rtol=1e-9)
    np.testing.assert_allclose(found.given_estimate[0], given / given.sum(), rtol=1e-9)
    np.testing.assert_allclose(found.log_density[0], np.log(total / weights.sum()), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:5 items are few")
def test_new_items_may_have_missing_cells():
    y = DATA["full"][1]
    full = GaussianMixture(y, covariance="full", delta=[0.4, 0.9], mean=0.1)
    # Integrated over the missing cell on a fine grid.
    grid = np.linspace(-60, 60, 60_001)
    rows = np.column_stack([np.full(grid.size, 0.7), grid])
    draws = epl.Draws([[0, 0, 1, 1, 0]])
    whole = epl.uncertainty.predict([0, 0, 1, 1, 0], draws, full, rows).log_density
    part = epl.uncertainty.predict([0, 0, 1, 1, 0], draws, full, [[0.7, np.nan]]).log_density
    np.testing.assert_allclose(part, np.log(np.exp(whole).sum() * (grid[1] - grid[0])), rtol=1e-4)
    nothing = epl.uncertainty.predict([0, 0, 1, 1, 0], draws, full, [[np.nan, np.nan]])
    np.testing.assert_allclose(nothing.log_density, 0, atol=1e-12)


def test_the_law_of_one_column_given_the_others():
    scale = np.array([[2.0, 0.5, 0.3], [0.5, 1.0, -0.2], [0.3, -0.2, 1.5]])
    y, center = RNG.normal(size=(4, 3)), np.array([0.2, -0.1, 0.4])
    df, middle, width = condition(y, 5.0, center, scale, 1)
    joint = log_student_full(y, 5.0, center, scale)
    others = log_student_full(y[:, [0, 2]], 5.0, center[[0, 2]], scale[np.ix_([0, 2], [0, 2])])
    from scipy.stats import t

    np.testing.assert_allclose(t.logpdf(y[:, 1], df, middle, width), joint - others, rtol=1e-10)


def test_predictions_as_text_and_table():
    y = np.r_[np.linspace(0, 1, 10), np.linspace(8, 9, 10)]
    model = GaussianMixture(y)
    draws = epl.sample(model, n_draws=200, rng=1).draws
    best = epl.minimize(draws, rng=1)
    found = epl.uncertainty.predict(best, draws, model, [0.5, 8.5, 1e6])
    assert found.labels.tolist() == [0, 1, -1]
    assert str(found).splitlines()[3].split()[:2] == ["2", "new"]
    assert found.to_pandas().shape == (3, 5)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
    for bad, message in (
        (lambda: epl.uncertainty.predict(best, draws, 3, [1]), "'model' must be a mixture"),
        (lambda: epl.uncertainty.predict(best, draws, model, [[1, 2]]), "'new' must have as many"),
        (lambda: epl.uncertainty.predict(best, draws, model, [np.inf]), "'new' must be finite"),
        (lambda: epl.uncertainty.predict([0, 1], [[0, 1]], model, [1]), "of the 20 items"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            bad()


def right_and_wrong():
    """Data, models that suit them, and models that do not."""
    rng = np.random.default_rng(4)
    z = np.repeat([0, 1], 150)
    normal = rng.normal(size=(300, 2)) + 6 * z[:, None]
    skewed = np.exp(rng.normal(0, 1.5, size=(300, 2)))
    p = np.array([[0.9, 0.1, 0.8, 0.3], [0.2, 0.7, 0.1, 0.6]])[z]
    bits = (rng.random((300, 4)) < p).astype(int)
    counts = rng.poisson(np.array([[2.0, 9.0, 4.0], [15.0, 1.0, 4.0]])[z])
    mixed = np.where(rng.random((300, 3)) < 0.5, 0, 40)  # much more than Poisson
    return {
        "diagonal": (GaussianMixture(normal, covariance="diagonal"), True),
        "full": (GaussianMixture(normal), True),
        "skewed": (GaussianMixture(skewed, covariance="diagonal", k_max=1), False),
        "skewed, full": (GaussianMixture(skewed, k_max=1), False),
        "bits": (BernoulliMixture(bits), True),
        "words": (CategoricalMixture(bits + 2 * rng.integers(0, 2, bits.shape)), True),
        "counts": (PoissonMixture(counts), True),
        "mixed": (PoissonMixture(mixed, k_max=1), False),
    }


@pytest.mark.filterwarnings("ignore:Columns")
@pytest.mark.parametrize("name", right_and_wrong())
def test_checks_say_yes_and_no(name):
    model, expected = right_and_wrong()[name]
    check = epl.uncertainty.predictive_check(model, n_draws=100, rng=3)
    assert check.calibrated is expected, str(check)
    n_cells = model.values.size
    assert abs(len(check.rows) - 0.1 * n_cells) <= 2
    bits, _ = check.gain
    assert (bits > 0.05) == expected, bits
    assert ("not calibrated" in str(check)) != expected


def test_a_check_of_few_cells_cannot_know():
    check = epl.uncertainty.predictive_check(GaussianMixture(np.arange(40.0)), rng=1, n_draws=50)
    assert check.calibrated is None
    assert "too few to say" in check.sentence


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["numbers", "full", "categories", "counts"])
def test_a_right_model_is_hardly_ever_refused_however_much_is_held_out(kind):
    """Half of the data predicts the other half: its own errors count too. At level 0.1, at most 5 of 20."""
    low = 0
    for seed in range(20):
        rng, z = np.random.default_rng(seed), np.repeat([0, 1], 60)
        model = {
            "numbers": lambda rng=rng: GaussianMixture(rng.normal(size=(120, 1))),
            "full": lambda rng=rng, z=z: GaussianMixture(
                rng.normal(size=(120, 2)) @ [[1, 0.9], [0, 0.4]] + 6 * z[:, None]
            ),
            "categories": lambda rng=rng: BernoulliMixture(
                (rng.random((200, 4)) < [0.2, 0.5, 0.7, 0.4]).astype(int), k_max=1
            ),
            "counts": lambda rng=rng: PoissonMixture(rng.poisson([2.0, 9.0], (120, 2))),
        }[kind]()
        check = epl.uncertainty.predictive_check(model, share=0.5, n_draws=30, rng=seed)
        low += check.p_value < 0.1
    assert low <= 5


def test_classes_of_probabilities_find_what_is_too_sure():
    """A calibrated forecast, by construction, and one that is too sure of itself; p-values of the first are even."""
    rng = np.random.default_rng(5)

    def p_value(p, told):
        rest = np.zeros(len(p), dtype=int), np.zeros(0), told, (rng.random(len(p)) < p).astype(int)
        return epl.uncertainty.PredictiveCheck(
            "categories", rest[0], *rest, np.zeros(1), np.zeros(1), 0.0, None
        ).p_value

    values = [p_value(p, p) for p in rng.random((300, 500))]
    assert abs(np.mean(np.array(values) < 0.2) - 0.2) < 0.07
    p = rng.random(4000)
    assert p_value(p, np.where(p > 0.5, 1 - (1 - p) / 3, p / 3)) < 1e-6
