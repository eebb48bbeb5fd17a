"""Two things that have items meet by name where both have names; what does not fit is refused."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import epluribus as epl
from epluribus.models import GaussianMixture
from epluribus.page import render
from epluribus.partition import item_names, matched

NAMES = list("abcdefghijkl")
TRUTH = np.repeat([0, 1, 2], 4)


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(3)
    z = np.where(rng.random((60, 12)) < 0.9, TRUTH, rng.integers(0, 3, (60, 12)))
    return epl.Draws(z, items=NAMES)


@pytest.fixture(scope="module")
def best(draws):
    return epl.minimize(draws, rng=1)


ORDER = np.random.default_rng(0).permutation(12)


@pytest.mark.parametrize(
    "make",
    [
        lambda labels: pd.Series(labels, index=NAMES).iloc[ORDER],
        lambda labels: {NAMES[i]: labels[i] for i in ORDER},
        lambda labels: [{n for n, k in zip(NAMES, labels, strict=True) if k == g} for g in range(3)],
        lambda labels: xr.DataArray(labels[ORDER], coords={"item": np.array(NAMES)[ORDER]}, dims="item"),
        lambda labels: epl.Draws(labels[None, ORDER], items=np.array(NAMES)[ORDER].tolist()),
        lambda labels: labels,
    ],
)  # fmt: skip
def test_labels_are_matched_by_name(make, draws, best):
    assert epl.expected_loss(make(TRUTH), draws) == epl.expected_loss(TRUTH, draws)
    assert np.array_equal(matched(make(TRUTH), draws), TRUTH)
    assert epl.loss(best, make(best.labels)) == 0.0
    assert epl.loss(make(best.labels), best) == 0.0


def test_an_estimate_of_draws_in_another_order(draws, best):
    z = np.asarray(draws)[:, ORDER]
    turned = epl.Draws(z, items=[NAMES[i] for i in ORDER])
    assert epl.expected_loss(best, turned) == pytest.approx(best.expected_loss)
    ball, again = epl.credible_ball(best, draws), epl.credible_ball(best, turned)
    assert ball.radius == pytest.approx(again.radius)
    assert best.health(turned).to_dict() == best.health(draws).to_dict()


def test_undecided_items_are_matched_too(draws):
    best = epl.minimize(draws, rng=1, undecided=0.2)
    z = np.asarray(draws)[:, ORDER]
    turned = epl.Draws(z, items=[NAMES[i] for i in ORDER])
    (one, some), (other, again) = best.decided(draws), best.decided(turned)
    assert set(one.items) == set(other.items)
    assert epl.expected_loss(one, some) == pytest.approx(epl.expected_loss(other, again))


def test_rows_of_data_are_matched():
    data = pd.DataFrame({"x": np.arange(12.0)}, index=NAMES).iloc[ORDER]
    sample = epl.Draws(TRUTH[None], items=NAMES)
    assert matched(data, sample, "data", rows=True)["x"].tolist() == list(range(12))
    assert matched(data.to_numpy(), sample, "data", rows=True)[:, 0].tolist() == ORDER.tolist()


def test_numbers_left_by_a_filter_are_no_names(draws):
    labels = pd.Series(TRUTH, index=np.arange(12) * 3)
    assert np.array_equal(matched(labels, draws), TRUTH)
    assert item_names(pd.Series(TRUTH)) is None


@pytest.mark.parametrize("names", [[*NAMES[:-1], "m"], [*NAMES[:-1], "a"]])
def test_other_names_are_refused(names, draws):
    with pytest.raises(
        ValueError, match="'best' must name the same items as the draws; 'l' is missing"
    ):
        epl.credible_ball(pd.Series(TRUTH, index=names), draws)


@pytest.mark.parametrize("table", [epl.Draws, pd.DataFrame])
def test_starts_are_matched_by_name(table, draws):
    def starts(names):
        rows = np.stack([TRUTH[ORDER]] * 2)
        known = {"items" if table is epl.Draws else "columns": names}
        return epl.minimize(draws, starts=table(rows, **known), n_starts=2, search="greedy").labels

    assert epl.loss(starts([NAMES[i] for i in ORDER]), TRUTH) == 0
    with pytest.raises(ValueError, match="'starts' must name the same items as the draws"):
        starts([f"x{i}" for i in ORDER])


def test_a_named_matrix_is_put_in_the_order_of_the_items():
    path = np.eye(12, k=1, dtype=int) + np.eye(12, k=-1, dtype=int)
    frame = pd.DataFrame(path, index=NAMES, columns=NAMES).iloc[ORDER, ORDER]
    shown = epl.plots.blocks(pd.Series(TRUTH, index=NAMES), frame).images[0].get_array()
    assert np.array_equal(shown, path)
    with pytest.raises(ValueError, match="'matrix' must name the same items"):
        epl.plots.blocks(pd.Series(TRUTH, index=[f"x{i}" for i in range(12)]), frame)


LONG, SHORT = np.arange(14) % 3, np.arange(13) % 3
MODEL = GaussianMixture(np.arange(14.0))


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("b", lambda: epl.loss(LONG, SHORT)),
        ("b", lambda: epl.partition.meet(LONG, SHORT)),
        ("b", lambda: epl.changes.what_differs(LONG, SHORT)),
        ("b", lambda: epl.plots.alluvial(LONG, SHORT)),
        ("b", lambda: epl.uncertainty.compare(LONG, SHORT, [LONG])),
        ("a", lambda: epl.uncertainty.compare(SHORT, LONG, [LONG])),
        ("best", lambda: render(epl.minimize([SHORT]), [LONG])),
        ("start", lambda: epl.search.greedy([LONG], SHORT)),
        ("starts", lambda: epl.minimize([LONG], starts=SHORT)),
        ("start", lambda: epl.sample(MODEL, start=SHORT)),
        ("labels", lambda: MODEL.log_marginal(SHORT)),
    ],
)
def test_partitions_of_fewer_items_are_refused(argument, call):
    with pytest.raises(ValueError, match=f"'{argument}' must have 14 items; got 13"):
        call()


@pytest.mark.parametrize("n", [11, 13])
def test_other_numbers_of_items_are_refused(n, draws, best):
    other = epl.Draws(np.zeros((5, n), dtype=int))
    ask = (
        epl.credible_ball,
        epl.certificate,
        epl.Estimate.health,
        epl.uncertainty.items,
        epl.uncertainty.error,
    )
    for function in ask:
        with pytest.raises(ValueError, match=f"'best' must have {n} items; got 12"):
            function(best, other)
    with pytest.raises(ValueError, match="one row for each of the 12 items"):
        matched(np.zeros((n, 2)), draws, "data", rows=True)


def test_numbers_out_of_order_and_names_that_come_twice_are_refused(draws):
    """Rising numbers are places; others were shuffled."""
    assert matched(pd.Series(TRUTH, index=range(3, 15)), draws).tolist() == TRUTH.tolist()
    with pytest.raises(ValueError, match="must name the same items as the draws; 'a' is missing"):
        matched(pd.Series(TRUTH, index=ORDER + 100), draws)
    twice = pd.Series(TRUTH, index=[*NAMES[:-1], "a"])
    with pytest.raises(ValueError, match="a name appears twice"):
        matched(pd.Series(TRUTH, index=NAMES), twice, "b")


def test_an_estimate_of_an_ensemble_makes_one_of_an_array(draws):
    z = np.asarray(draws)
    best = epl.minimize(epl.Draws(z, kind="ensemble"), rng=1)
    assert str(epl.credible_ball(best, z)).startswith("95% ball")
    assert best.health(z).chains == ""


def test_an_estimate_goes_where_pandas_takes_labels(best):
    table = pd.crosstab(TRUTH, best)
    assert table.to_numpy().sum() == len(best) == 12
    assert pd.Series(best).tolist() == list(best) == best.labels.tolist()
