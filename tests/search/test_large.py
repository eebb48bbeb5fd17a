"""The search for very many items, on samples small enough for an oracle."""

import numpy as np
import pytest

import epluribus as epl
from epluribus._parallel import NEVER, Stopped
from epluribus.search import _minimize as entrance
from epluribus.search import large, pairs
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds, TableState

LINEAR = ["vi", "vi(cost=0.6)", "binder", "binder(cost=0.8)", "binder(cost=1.3)"]


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """Few items are searched first, and few are free if they need not be."""
    monkeypatch.setattr(entrance, "LARGE", 300)
    monkeypatch.setattr(large, "_FEW", 150)
    monkeypatch.setattr(large, "_MOST", 600)


def noisy(n=1500, n_draws=150, k=6, seed=0, unsure=0.1):
    """Six clusters, with some items between two of them."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(k, n, p=rng.dirichlet(np.ones(k)))
    z = np.tile(truth, (n_draws, 1))
    moved = rng.random(z.shape) < 0.1
    z[moved] = rng.integers(k, size=int(moved.sum()))
    between = rng.random(n) < unsure
    z[:, between] = np.where(rng.random((n_draws, int(between.sum()))) < 0.5, truth[between], 0)
    return z


def loose(seed, n=1200, n_draws=80, k=6, unsure=0.15, noise=0.15):
    """Items of which many are between two clusters: alone, or in small clusters, under Binder's loss."""
    rng = np.random.default_rng(seed)
    truth, other = rng.choice(k, (2, n))
    away = rng.random((n_draws, n)) < 0.45 * (rng.random(n) < unsure)
    z = np.where(away, other, truth)
    lost = rng.random(z.shape) < noise
    z[lost] = rng.integers(k, size=int(lost.sum()))
    return z


def check(best, draws, k_max=None):
    """The loss is what it is said to be; after a search to the end no item would move, by exact costs."""
    assert best.runs[-1].start == "few items"
    assert best.expected_loss == pytest.approx(epl.expected_loss(best, draws, best.loss), rel=1e-12)
    if best.converged:
        state = TableState(Problem.of(draws, best.loss), best.labels)
        bounds = Bounds(1, draws.n_items if k_max is None else k_max, NEVER)
        assert state.sweep(np.arange(draws.n_items), bounds).n_moves == 0


@pytest.fixture
def freed(monkeypatch):
    """How many items were free in each search over free items, under Binder's loss."""
    seen, swept = [], large.LargeRefiner._sweep_pairs

    def count(self, labels, free, *rest):
        seen.append(len(free))
        return swept(self, labels, free, *rest)

    monkeypatch.setattr(large.LargeRefiner, "_sweep_pairs", count)
    return seen


@pytest.mark.parametrize("loss", LINEAR)
@pytest.mark.parametrize("make", [noisy, loose])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_single_item_would_move(loss, make, seed):
    draws = epl.Draws(make(seed=seed))
    best = epl.minimize(draws, loss, rng=seed)
    # Tables are made for ten clusters for each one of a draw, and no more.
    assert best.converged or best.n_clusters == large.COLUMNS * 6
    check(best, draws)


@pytest.mark.parametrize("loss", LINEAR)
@pytest.mark.parametrize("make", [noisy, loose])
def test_about_as_good_as_a_search_of_all_items(loss, make, monkeypatch):
    monkeypatch.setattr(large, "_FEW", 500)
    draws = epl.Draws(make(seed=0))
    comp = epl.minimize(draws, loss, rng=1)
    monkeypatch.setattr(entrance, "LARGE", 10**9)
    ref = epl.minimize(draws, loss, rng=1)
    assert ref.runs[-1].start != "few items"
    assert comp.expected_loss <= ref.expected_loss * (1 + 2e-4)


def test_under_binder_most_items_are_only_counted(freed):
    draws = epl.Draws(loose(1))
    best = epl.minimize(draws, "binder", rng=1)
    assert 0 < freed[-1] < draws.n_items / 2
    assert freed == sorted(freed)
    assert (np.bincount(best.labels) < 3).sum() > 10


@pytest.mark.parametrize("scale", [1e-50, 1e-42, 1e40])
@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_the_size_of_weights_does_not_matter(loss, scale):
    z, weights = noisy(n=600, n_draws=40), np.arange(1.0, 41)
    best = epl.minimize(epl.Draws(z, weights=weights), loss, rng=1)
    same = epl.minimize(epl.Draws(z, weights=weights * scale), loss, rng=1)
    assert (same.labels == best.labels).all()
    assert same.converged


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_fractional_weights_and_draws_without_weight(loss):
    z = loose(6)
    weights = np.random.default_rng(0).random(len(z)) + 0.5
    weights[:20] = 0
    draws = epl.Draws(z, weights=weights)
    check(epl.minimize(draws, loss, rng=1), draws)


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_same_answer_for_any_number_of_threads(loss):
    ref = epl.minimize(noisy(), loss, rng=3, n_jobs=1)
    np.testing.assert_array_equal(epl.minimize(noisy(), loss, rng=3, n_jobs=3).labels, ref.labels)


def test_losses_that_are_not_linear_are_searched_with_all_items():
    assert epl.minimize(noisy(n=400, n_draws=30), "nvi", rng=1).runs[-1].start != "few items"


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_bounds_on_the_number_of_clusters(loss):
    draws = epl.Draws(noisy())
    assert epl.minimize(draws, loss, k=3, rng=1).n_clusters == 3
    assert epl.minimize(draws, loss, k_min=9, rng=1).n_clusters >= 9
    best = epl.minimize(draws, loss, k_max=2, rng=1)
    assert best.n_clusters <= 2
    check(best, draws, k_max=2)
    bounds = {"k": 600} if loss == "vi" else {"k_min": 400}  # more than the few items
    best = epl.minimize(loose(9, n=700, n_draws=20), loss, rng=1, **bounds)
    assert best.settings.k_min <= best.n_clusters <= best.settings.most(700)


def test_a_given_start_with_too_many_clusters_is_made_to_fit():
    z = noisy()
    best = epl.minimize(z, k_max=4, starts=np.where(np.arange(1500) == 7, 6, z[0]), rng=1)
    assert best.n_clusters <= 4


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_never_worse_than_a_given_start_or_one_cluster_or_all_apart(loss):
    z = loose(8)
    good = epl.minimize(z, loss, rng=1)
    assert epl.minimize(z, loss, starts=good.labels, rng=2).expected_loss <= good.expected_loss
    noise = epl.Draws(np.random.default_rng(5).integers(40, size=(60, 700)))
    value = epl.minimize(noise, loss, rng=1).expected_loss
    for labels in (np.zeros(700, dtype=int), np.arange(700)):
        assert value <= epl.expected_loss(labels, noise, loss) * (1 + 1e-12)


def test_a_start_with_very_many_clusters():
    """It is compared with what is found, but not searched from: joining so many would take very long."""
    draws = epl.Draws(loose(4))
    best = epl.minimize(draws, "binder", rng=1, starts=np.arange(draws.n_items))
    check(best, draws)


def test_all_items_alone():
    draws = epl.Draws(loose(5, n=600, noise=0.6))
    best = epl.minimize(draws, "binder", rng=1)
    assert best.n_clusters > 500
    assert best.converged
    check(best, draws)


def test_a_cluster_too_small_for_the_sample_is_found():
    z = noisy(n=3000, unsure=0.0)
    z[:, :12] = 6
    best = epl.minimize(z, rng=1)
    assert len(set(best.labels[:12])) == 1
    assert np.bincount(best.labels)[best.labels[0]] == 12


def test_items_of_every_small_group_are_chosen():
    columns = np.zeros((2000, 3), dtype=np.uint8)
    columns[:25, 1], columns[25:28, 2] = 1, 1
    items = large.few_items(columns, np.random.default_rng(0))
    assert (items < 25).sum() >= 10
    assert {25, 26, 27} <= set(items.tolist())
    assert large.few_items(np.arange(2000)[:, None], np.random.default_rng(0)) is None


def test_many_small_clusters_are_searched_at_once():
    best = epl.minimize(np.tile(np.arange(1400) // 2, (20, 1)), rng=1)
    assert best.runs[-1].start != "few items"
    assert best.n_clusters == 700


def test_without_room_for_the_matrix_tables_are_used(monkeypatch, freed):
    monkeypatch.setattr(large, "available_memory", lambda: 0)
    draws = epl.Draws(loose(7))
    best = epl.minimize(draws, "binder", rng=1)
    assert not freed
    check(best, draws)


@pytest.mark.parametrize("quick", [True, False])
def test_ended_early_it_says_on_how_many_draws_the_loss_is(quick, monkeypatch):
    monkeypatch.setattr(large, "_TASK", 64)
    monkeypatch.setattr(large, "_QUICK", large._QUICK if quick else 0)
    z = noisy()
    best = epl.minimize(z, rng=1, time_limit=1e-6)
    assert not best.converged
    assert best.n_draws == (len(z) if quick else large.DRAWS)
    assert "stopped early" in str(best)
    if quick:
        assert best.expected_loss == pytest.approx(epl.expected_loss(best, z), rel=1e-12)


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_ended_early_nothing_is_lost(loss, at, monkeypatch):
    """Ctrl-C in one of the passes: tables are counted, items placed, tables counted, items looked at, ..."""
    draws, calls = epl.Draws(noisy()), []
    for name in ("_count", "_look"):
        whole = getattr(large.LargeRefiner, name)

        def work(self, *args, whole=whole, **named):
            calls.append(1)
            if len(calls) >= at:
                self.settings.stopper.interrupt()
                raise Stopped
            return whole(self, *args, **named)

        monkeypatch.setattr(large.LargeRefiner, name, work)
    best = epl.minimize(draws, loss, rng=1)
    assert best.interrupted
    assert not best.converged
    assert best.labels.min() == 0
    value = epl.expected_loss(best, draws, loss)
    assert best.expected_loss == pytest.approx(value, rel=1e-12)
    # Before the items are placed there is only a draw.
    good = epl.expected_loss(epl.minimize(draws.thin(2), loss, rng=1), draws, loss)
    assert (value < 1.05 * good) == (at > 2)


def test_ctrl_c_while_the_matrix_is_made(monkeypatch):
    """What was placed is kept."""
    fill, made = pairs.fill_symmetric, []

    def interrupted(out, rows, n_jobs, stopper=None, *rest):
        if stopper is not None:  # not that of the few items
            made.append(1)
            stopper.interrupt()
        return fill(out, rows, n_jobs, stopper, *rest)

    monkeypatch.setattr(pairs, "fill_symmetric", interrupted)
    best = epl.minimize(loose(1), "binder", rng=1)
    assert made
    assert best.interrupted
    assert not best.converged


@pytest.mark.parametrize("bounds", [{"k_max": 3}, {"k_min": 20}])
@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_ended_at_once_the_bounds_are_kept(bounds, loss, monkeypatch):
    def stop(*_):
        raise Stopped

    monkeypatch.setattr(large, "_search_few", stop)
    best = epl.minimize(loose(3), loss, rng=1, **bounds)
    assert best.runs[-1].start == "few items"
    assert best.settings.k_min <= best.n_clusters <= best.settings.most(1200)
    assert not best.converged


def test_a_limit_leaves_time_to_place_the_items(monkeypatch):
    """Whatever the clock says, the search of the few items is told to end before the whole time is up."""
    seen = []
    whole = large.Search.recombine

    def search(self):
        seen.append(self.stopper.left)
        return whole(self)

    monkeypatch.setattr(large.Search, "recombine", search)
    best = epl.minimize(noisy(n=400, n_draws=30), rng=1, time_limit=900)
    assert best.converged
    assert seen[0] < 301


def test_the_bar_moves_on_to_the_end():
    seen = []
    epl.minimize(noisy(), rng=1, progress=lambda done, total, _: seen.append((done, total)))
    done = [step for step, _ in seen]
    assert done == sorted(done)
    assert seen[-1][0] == seen[-1][1]


def test_no_item_is_unsure():
    best = epl.minimize(np.tile(np.arange(900) % 4, (50, 1)), "binder", rng=1)
    assert best.expected_loss == 0.0
    assert best.converged
