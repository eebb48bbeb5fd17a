import math

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import strategies
from epluribus._parallel import Stopper
from epluribus.constraints import Constraints
from epluribus.uncertainty import _bounds, _certificate, certificate
from epluribus.uncertainty._bounds import binder_bound, triangle_bound

LOSSES = epl.losses.available()
METRICS = ("binder", "vi", "nvi", "id", "nid", "zero_one")


def no_enumeration(monkeypatch):
    monkeypatch.setattr(_certificate, "solves", lambda *_: False)


def weighted(z, kind):
    rng = np.random.default_rng(z.size)
    return epl.Draws(z, weights=None if kind == "equal" else rng.random(len(z)) + 0.05)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("kind", ["equal", "weighted"])
@given(z=strategies.draws(max_items=6, max_draws=10))
def test_triangle_bound_is_never_above_the_minimum(name, kind, z):
    draws = weighted(z, kind)
    bound = triangle_bound(draws, epl.losses.get(name), Stopper(), 1)
    assert bound <= epl.search.exact(draws, name).expected_loss + 1e-9


@pytest.mark.parametrize("cost", [0.4, 1.0, 1.7])
@pytest.mark.parametrize("kind", ["equal", "weighted"])
@given(z=strategies.draws(max_items=6, max_draws=10))
def test_binder_bound_is_never_above_the_minimum(cost, kind, z):
    draws = weighted(z, kind)
    bound = binder_bound(draws, cost, Stopper(), 1)
    minimum = epl.search.exact(draws, epl.losses.binder(cost)).expected_loss
    assert bound <= minimum + 1e-9


@pytest.mark.parametrize("name", LOSSES)
def test_no_certificate_claims_too_much(name, monkeypatch):
    """Wild samples of 7 items by the bounds alone, then by enumeration."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        z = rng.integers(rng.integers(2, 7), size=(int(rng.integers(2, 12)), 7))
        minimum = epl.search.exact(z, name).expected_loss
        best = z[0]
        with monkeypatch.context() as patch:
            no_enumeration(patch)
            found = certificate(best, z, loss=name)
        assert found.lower_bound <= minimum + 1e-9
        assert found.expected_loss == pytest.approx(epl.expected_loss(best, z, name))
        if found.proved:
            assert found.expected_loss == pytest.approx(minimum)
        assert certificate(best, z, loss=name).lower_bound == pytest.approx(minimum)
        assert certificate(epl.minimize(z, name, rng=0), z).proved
        assert found.gap >= 0


def test_binder_is_often_proved(monkeypatch):
    no_enumeration(monkeypatch)
    proved = 0
    for seed in range(20):
        z = strategies.random_draws(np.random.default_rng(seed), 12, 15, 3)
        best = epl.minimize(z, "binder", rng=0)
        found = certificate(best, z)
        assert found.lower_bound <= best.expected_loss
        proved += found.proved
    assert proved >= 18


def test_packing_alone_and_pairs_alone_hold(monkeypatch):
    z = np.random.default_rng(2).integers(2, size=(30, 24))
    best = epl.minimize(z, "binder", rng=0)
    bounds = []
    for name, value in (("_DENSE_ITEMS", 0), ("_PROGRAM_ITEMS", 0), ("_CUTS_PER_ITEM", 40)):
        with monkeypatch.context() as patch:
            patch.setattr(_bounds, name, value)
            bounds.append(binder_bound(epl.Draws(z), 1.0, Stopper(), 2))
    p = epl.uncertainty.psm(z)
    pairs = np.minimum(p, 1 - p)[np.triu_indices(24, 1)].sum()
    assert bounds[0] == pytest.approx(np.ceil(30 * pairs - 1e-4) / 30)
    assert bounds[0] < bounds[1] < bounds[2] <= best.expected_loss + 1e-9


def test_more_draws_than_a_block(monkeypatch):
    z = strategies.random_draws(np.random.default_rng(3), 12, 60, 3)
    loss = epl.losses.get("vi")
    best = epl.minimize(z, "vi", rng=0).expected_loss
    for draws in (epl.Draws(z), epl.Draws(z, weights=np.arange(1, 61))):
        whole = triangle_bound(draws, loss, Stopper(), 2)
        with monkeypatch.context() as patch:
            patch.setattr(_bounds, "_BLOCK", 16)
            parts = triangle_bound(draws, loss, Stopper(), 2)
        assert 0.5 * best < parts <= whole + 0.02 * best
        assert whole <= best * 1.1


@pytest.mark.parametrize("name", ["vi", "binder"])
def test_time_limit_ends_with_a_bound_that_holds(name):
    z = strategies.random_draws(np.random.default_rng(4), 40, 60, 8)
    best = epl.minimize(z, name, rng=0)
    found = certificate(best, z, time_limit=1e-6)
    full = certificate(best, z, time_limit=None)
    assert found.lower_bound <= full.lower_bound + 1e-9
    assert found.lower_bound < full.lower_bound or full.proved


def test_losses_without_a_bound(monkeypatch):
    z = strategies.random_draws(np.random.default_rng(5), 14, 10, 3)
    found = certificate(z[0], z, loss="omari")
    assert found.lower_bound == 0.0
    assert found.verdict == "no bound"
    assert "no partition has one below 0" in str(found)

    def f0(joint, size, group, n_items):
        return joint - size - group - n_items

    mine = epl.Loss(f0, float, float, float, linear=True)
    assert certificate(z[0], z, loss=mine).lower_bound == -math.inf
    assert certificate(z[0], z, loss=mine).method == "no bound for this loss"
    same = np.tile(z[0], (5, 1))
    assert certificate(z[0], same, loss="omari").verdict == "proved optimal"
    no_enumeration(monkeypatch)
    one = certificate([0, 0, 1], [[0, 0, 1], [0, 0, 1], [0, 1, 2]], loss="zero_one")
    assert one.verdict == "proved optimal"
    assert one.method == "the most probable draw"


def test_verdicts_round_up():
    loss = epl.losses.get("vi")
    made = epl.uncertainty.Certificate(1.0, 1 / 1.0331, "test", loss)
    assert made.verdict == "within 3.4%"
    assert epl.uncertainty.Certificate(1.0, 1 / 1.211, "test", loss).verdict == "within 22%"
    assert epl.uncertainty.Certificate(3.5, 1.0, "test", loss).verdict == "within 250%"
    tiny = epl.uncertainty.Certificate(2396.671, 2396.668, "test", loss)
    assert tiny.verdict == "within 0.00013%"
    assert "no partition has one below 0.96796" in str(made)


def test_says_among_which_partitions_it_is_the_best():
    z = np.repeat([0, 1, 2], 5) + np.zeros((20, 1), dtype=int)
    z[0, 0] = 1
    free = certificate(epl.minimize(z, rng=1), z)
    assert free.verdict == "proved optimal"
    for asked, words in (
        ({"k": 2}, "with exactly 2 clusters"),
        ({"constraints": Constraints(must_link=[(0, 14)])}, "subject to"),
        ({"k_max": 2}, "with at most 2 clusters"),
    ):
        best = epl.minimize(z, rng=1, **asked)
        found = certificate(best, z)
        assert found.expected_loss > free.expected_loss
        assert words in found.among
        if found.proved:
            assert found.verdict == f"proved optimal among partitions {found.among}"
        assert f"no partition {found.among} has" in str(found)


def test_a_bound_of_zero_that_is_reached_is_a_proof():
    loss = epl.losses.get("vi")
    assert epl.uncertainty.Certificate(1e-16, 0.0, "test", loss).verdict == "proved optimal"
    assert epl.uncertainty.Certificate(0.1, 0.0, "test", loss).verdict == "no bound"


def test_labels_that_separate_items_that_are_always_together():
    z = [[0] * 2 + [1] * 11]
    found = certificate(np.arange(13), z)
    assert not found.proved
    assert found.lower_bound == 0.0
