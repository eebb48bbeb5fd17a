"""Very many items under a loss that is a sum over pairs of items: most of them are only counted."""

import numpy as np
import pytest

import epluribus as epl
from epluribus._parallel import Stopped
from epluribus.draws.together import Together
from epluribus.engine import NO_BOUNDS, Engine
from epluribus.search import _minimize as entrance
from epluribus.search import _settle, large
from epluribus.search import _settle_pairs as pairs


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


def test_without_room_for_the_matrix_all_items_are_searched_at_once(monkeypatch):
    monkeypatch.setattr(pairs, "pairs_fit", lambda *_: False)
    draws = sample(7)
    best = epl.minimize(draws, "binder", rng=1)
    assert best.runs[-1].start != "few items"
    monkeypatch.setattr(entrance, "LARGE", 10**9)
    assert best.expected_loss == epl.minimize(draws, "binder", rng=1).expected_loss


@pytest.mark.parametrize(("n", "k"), [(60, 20), (400, 20), (900, 5)])
def test_items_alone_in_slices_without_room_for_the_matrix(n, k):
    """Noise: all items apart are best, though the few are searched with few clusters at first."""
    z = np.random.default_rng(0).integers(k, size=(300, n))
    draws = epl.Draws(z, memory_limit=z.size // 3)
    best = epl.minimize(draws, "binder", rng=1)
    check(best, epl.Draws(z))
    assert best.expected_loss <= epl.expected_loss(np.arange(n), z, "binder") * (1 + 1e-9)


def test_items_that_rounding_cannot_tell_from_moving_are_settled_once(monkeypatch):
    """They are swept by exact costs, and not again and again in turn with others."""
    monkeypatch.setattr(_settle, "_AT_ONCE", 20)
    swept, done = _settle.Settler._swept, []

    def count(self, *args, **options):
        done.append(1)
        assert len(done) < 50
        return swept(self, *args, **options)

    frozen = _settle.Settler._frozen
    coarse = lambda self, found: frozen(self, found)._replace(margin=10.0)  # noqa: E731
    monkeypatch.setattr(_settle.Settler, "_frozen", coarse)
    monkeypatch.setattr(_settle.Settler, "_swept", count)
    z = np.asarray(sample(4, n=1500, n_draws=200, unsure=0.4).item_major.T)
    best = epl.minimize(epl.Draws(z, memory_limit=z.size // 2), "binder", rng=1)
    assert done
    assert best.converged
    check(best, epl.Draws(z))


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_more_clusters_than_few_items(loss):
    draws = sample(9, n=700, n_draws=20)
    for bounds in ({"k": 600}, {"k_min": 400}):
        best = epl.minimize(draws, loss, rng=1, **bounds)
        assert best.n_clusters >= best.settings.k_min
        assert best.n_clusters <= best.settings.most(700)


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("in_memory", [True, False])
def test_no_item_wants_a_new_cluster_where_there_may_be_none(loss, in_memory, freed, monkeypatch):
    monkeypatch.setattr(large, "_COLUMNS", 0)  # also Binder with few clusters
    z = np.asarray(sample(10).item_major.T)
    draws = epl.Draws(z) if in_memory else epl.Draws(z, memory_limit=z.size // 2)
    best = epl.minimize(draws, loss, rng=1, k_max=3)
    assert best.n_clusters == 3
    assert best.converged
    assert not freed or freed[-1] < len(z[0]) / 2
    engine = Engine(epl.Draws(z).item_major, np.ones(len(z)), best.loss, "tables")
    costs = engine.costs(engine.start(best.labels), np.arange(len(z[0])))[:, :3]
    assert (costs.min(axis=1) - costs[np.arange(len(z[0])), best.labels]).min() > -1e-3


def test_few_clusters_need_no_pairs(monkeypatch):
    monkeypatch.setattr(large, "_MANY", 300)
    monkeypatch.setattr(entrance, "LARGE", 10**6)
    draws = sample(10)
    assert epl.minimize(draws, "binder", rng=1).runs[-1].start == "few items"
    assert epl.minimize(draws, "binder", rng=1, k_max=3).runs[-1].start != "few items"


def test_ctrl_c_while_the_matrix_is_made(monkeypatch):
    """What was placed is kept."""
    matrix, made = Together.matrix, []

    def interrupted(self, n_jobs, stopper=None, *rest, **named):
        if stopper not in (None, NO_BOUNDS.stopper):  # not that of the few items
            made.append(1)
            stopper.interrupt()
        return matrix(self, n_jobs, stopper, *rest, **named)

    monkeypatch.setattr(Together, "matrix", interrupted)
    best = epl.minimize(sample(1), "binder", rng=1)
    assert made
    assert best.interrupted
    assert not best.converged


def test_draws_without_weight():
    draws = sample(2, n_draws=20)
    weights = np.r_[np.ones(10), np.zeros(10)]
    draws = epl.Draws(draws.item_major.T, weights=weights)
    for loss in ("vi", "binder"):
        best = epl.minimize(draws, loss, rng=1)
        check(best, draws)


@pytest.mark.parametrize("bounds", [{"k_max": 3}, {"k_min": 20}])
def test_ended_at_once_the_bounds_are_kept(bounds, monkeypatch):
    def stop(*_):
        raise Stopped

    monkeypatch.setattr(large.LargeSearch, "_search_few", stop)
    for loss in ("vi", "binder"):
        best = epl.minimize(sample(3), loss, rng=1, **bounds)
        assert best.runs[-1].start == "few items"
        assert best.settings.k_min <= best.n_clusters <= best.settings.most(1200)
        assert not best.converged


def test_a_start_with_very_many_clusters():
    """It is compared with what is found, but not searched from: joining so many would take very long."""
    draws = sample(4)
    best = epl.minimize(draws, "binder", rng=1, starts=np.arange(draws.n_items))
    check(best, draws)
    assert best.expected_loss <= epl.expected_loss(np.arange(draws.n_items), draws, "binder")


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
