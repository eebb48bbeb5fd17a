"""The lines beside an answer: cases where they must warn, must not, and must say that nothing is known."""

import pickle

import numpy as np
import pytest

import epluribus as epl
from epluribus.page import render
from epluribus.uncertainty import _certificate, health

A = np.repeat([0, 1, 2], 10)
B = np.tile([0, 1, 2], 10)


def near(rng, partition, n_draws=150, noise=0.08):
    noisy = rng.random((n_draws, 30)) < noise
    return np.where(noisy, rng.integers(3, size=(n_draws, 30)), partition)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_a_good_run(rng):
    draws = epl.Draws([near(rng, A) for _ in range(4)])
    best = epl.minimize(draws, rng=1)
    found = best.health(draws)
    assert found.fine is True
    assert found.chains.startswith("the 4 chains agree (R-hat at most 1.0")
    assert found.items.startswith("none doubtful")
    assert found.modes == "one partition is a fair summary"
    assert len(found.lines) == 3
    assert "ask next       best.health(draws)" in str(best)
    assert found.to_dict()["fine"] is True


def test_a_bad_run_must_not_be_published(rng, monkeypatch):
    monkeypatch.setattr(_certificate, "MOST_ITEMS", 0)  # many seconds
    draws = epl.Draws([near(rng, A), near(rng, A), near(rng, B)])
    best = epl.minimize(draws, rng=1)
    found = best.health(draws)
    text = str(found)
    assert "THEY DISAGREE (chain 2 is off" in text
    assert "do not report this answer" in text
    assert found.fine is False
    page = render(best, draws, rng=1)
    assert "DO NOT REPORT THIS ANSWER: THE CHAINS DISAGREE" in page
    assert "[Not for publication: the chains disagree" in page


def test_several_modes_and_doubtful_items(rng):
    both = np.where(rng.random((600, 1)) < 0.5, near(rng, A, 600), near(rng, B, 600))
    found = health(epl.minimize(both, rng=1), both)
    assert found.modes == epl.modes(both, rng=1).headline == "2 competing partitions"
    loose = np.where(np.arange(30) < 20, A, rng.integers(0, 9, (400, 30)))
    found = health(epl.minimize(loose, "binder", rng=1), loose)
    assert " of 30 doubtful" in found.items
    wild = rng.integers(0, 6, (300, 30))
    assert "no better than by chance" in health(epl.minimize(wild, rng=1), wild).modes


def test_a_support_of_exactly_one_half_is_shown_and_not_called_most():
    draws = [[0, 0, 1, 1], [0, 1, 2, 2]] * 50
    found = health(epl.minimize(draws, "binder", rng=1), draws)
    assert found.items == "2 of 4 doubtful (2 with another likely place)"


def test_items_nearly_as_often_elsewhere_are_doubtful(rng):
    truth = np.repeat([0, 1], 20)
    z = np.tile(truth, (600, 1))
    z[:, :5] = rng.random((600, 5)) > 0.57  # five items with either group
    found = health(epl.minimize(z, rng=1), z)
    assert found.items == "5 of 40 doubtful (5 with another likely place)"
    assert found.fine is None  # one chain


def test_what_is_not_known(rng):
    one = health(epl.minimize(near(rng, A), rng=1), near(rng, A))
    assert one.chains == "one chain: whether another would agree is not known"
    assert one.fine is None
    best = epl.minimize(near(rng, A), rng=1)
    assert health(best).lines[0].endswith("not checked")
    same = [A] * 5
    assert "all draws are equal" in str(epl.minimize(same, rng=1).health(same))
    few = np.where(np.arange(150) < 2, 1000.0, 1.0)
    weighted = epl.Draws(near(rng, A), weights=few)
    assert "few draws carry the weight" in str(epl.minimize(weighted, rng=1).health(weighted))


def test_an_ensemble_has_no_chains(rng):
    draws = epl.Draws(near(rng, A), kind="ensemble")
    best = epl.minimize(draws, rng=1)
    assert "mean loss" in str(best)
    assert len(best.health(draws).lines) == 2
    assert draws[:10].kind == epl.Draws(draws).kind == "ensemble"


def test_an_estimate_comes_back_from_pickle(rng):
    best = epl.minimize(near(rng, A), rng=1)
    again = pickle.loads(pickle.dumps(best))
    assert str(again) == str(best)
    assert again.expected_loss == best.expected_loss
