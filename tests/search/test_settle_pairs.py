"""Very many items under a loss that is a sum over pairs of items: most of them are only counted."""

import numpy as np
import pytest

import epluribus as epl
from epluribus.engine import Engine
from epluribus.search import _minimize as entrance
from epluribus.search import _settle_pairs as pairs
from epluribus.search import large


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """Few items are searched first, and few are free if they need not be."""
    monkeypatch.setattr(entrance, "LARGE", 300)
    monkeypatch.setattr(large, "_FEW", 150)
    monkeypatch.setattr(pairs, "_CLOSEST", 3)
    monkeypatch.setattr(pairs, "_SMALL", 1)


def sample(seed, n=1200, n_draws=80, k=6, unsure=0.15, noise=0.15):
    """Items of which some are between two clusters, and then alone or in small clusters."""
    rng = np.random.default_rng(seed)
    truth, other = rng.choice(k, (2, n))
    away = rng.random((n_draws, n)) < 0.45 * (rng.random(n) < unsure)
    z = np.where(away, other, truth)
    lost = rng.random(z.shape) < noise
    z[lost] = rng.integers(k, size=int(lost.sum()))
    return epl.Draws(z)


def check(best, draws):
    """The loss is what it is said to be, and no item would move, by exact costs over all items."""
    assert best.runs[-1].start == "few items"
    assert best.expected_loss == pytest.approx(epl.expected_loss(best, draws, best.loss), rel=1e-12)
    if best.converged:
        engine = Engine(draws.item_major, draws.weights, best.loss, "tables")
        costs = engine.costs(engine.start(best.labels), np.arange(draws.n_items))
        # Gains in single precision are rounded; differences between partitions are larger.
        assert (costs.min(axis=1) - costs[np.arange(draws.n_items), best.labels]).min() > -1e-3


@pytest.fixture
def freed(monkeypatch):
    """How many items were free in each search over free items."""
    seen, searched = [], pairs.PairSettler._searched

    def count(self, labels, free, found):
        seen.append(len(free))
        return searched(self, labels, free, found)

    monkeypatch.setattr(pairs.PairSettler, "_searched", count)
    return seen


@pytest.mark.parametrize("loss", ["binder", "binder(cost=0.8)", "binder(cost=1.2)"])
@pytest.mark.parametrize("seed", range(3))
def test_no_item_would_move_though_most_are_only_counted(loss, seed, freed):
    draws = sample(seed)
    best = epl.minimize(draws, loss, rng=seed)
    assert best.converged
    check(best, draws)
    assert freed[-1] < draws.n_items / 2
    assert (np.bincount(best.labels) < 3).sum() > 10


def test_as_good_as_with_all_items(monkeypatch):
    draws = sample(3)
    comp = epl.minimize(draws, "binder", rng=1)
    monkeypatch.setattr(entrance, "LARGE", 10**9)
    ref = epl.minimize(draws, "binder", rng=1)
    assert ref.runs[-1].start != "few items"
    assert comp.expected_loss <= ref.expected_loss * (1 + 1e-5)


def test_items_are_freed_until_the_others_certainly_stay(freed):
    """What the free items did may bring others close to moving: they are freed as well."""
    again = []
    for seed in range(4):
        draws = sample(seed)
        check(epl.minimize(draws, "binder(cost=1.2)", rng=seed), draws)
        again.append(len(freed) > 1)
        assert freed == sorted(freed)
        freed.clear()
    assert any(again)


def test_all_items_alone():
    draws = sample(5, n=600, noise=0.6)
    best = epl.minimize(draws, "binder", rng=1)
    assert best.n_clusters > 500
    assert best.converged
    check(best, draws)


def test_no_item_is_unsure(freed):
    best = epl.minimize(np.tile(np.arange(900) % 4, (50, 1)), "binder", rng=1)
    assert best.expected_loss == 0.0
    assert best.converged
    assert freed == [3]


def test_fractional_weights():
    draws = sample(6)
    weights = np.random.default_rng(0).random(draws.n_draws) + 0.5
    draws = epl.Draws(draws.item_major.T, weights=weights)
    check(epl.minimize(draws, "binder", rng=1), draws)


def test_without_room_for_the_matrix_tables_are_used(monkeypatch):
    monkeypatch.setattr(pairs, "pairs_fit", lambda *_: False)
    draws = sample(7)
    check(epl.minimize(draws, "binder", rng=1), draws)


def test_never_worse_than_a_given_start():
    draws = sample(8)
    good = epl.minimize(draws, "binder", rng=1)
    other = epl.minimize(draws, "binder", starts=good.labels, rng=2)
    assert other.expected_loss <= good.expected_loss


@pytest.mark.parametrize("where", ["settle", "sweep"])
def test_ended_early_the_loss_is_that_of_the_labels(where, monkeypatch):
    draws, done = sample(9), []

    class Stopping(pairs.Climber):
        """Ends the search when it begins to work on the free items."""

        def settle(self, **options):
            if where == "settle":
                self.settings.stopper.flag[0] = 1
                done.append(where)
            super().settle(**options)

        def sweep(self, *args, **options):
            if where == "sweep":
                self.settings.stopper.flag[0] = 1
                done.append(where)
            return super().sweep(*args, **options)

    monkeypatch.setattr(pairs, "Climber", Stopping)
    best = epl.minimize(draws, "binder", rng=1, time_limit=1000)
    assert done
    assert not best.converged
    assert best.labels.min() == 0
    check(best, draws)
