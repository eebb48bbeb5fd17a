"""The search for very many items, on samples small enough for an oracle."""

import numpy as np
import pytest

import epluribus as epl
from epluribus import losses
from epluribus._parallel import Stopped
from epluribus.engine import Engine, passes
from epluribus.engine.gpu_passes import GpuPasses
from epluribus.search import _minimize as entrance
from epluribus.search import _settle, _settle_pairs, large
from epluribus.search._settle import Settler
from epluribus.search.phases import Search
from numpy_device import NumpyDevice


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(entrance, "LARGE", 300)
    monkeypatch.setattr(large, "_FEW", 150)
    monkeypatch.setattr(large, "_MOST", 600)
    monkeypatch.setattr(_settle_pairs, "_CLOSEST", 20)


def noisy(n=1500, n_draws=150, k=6, seed=0, unsure=0.1):
    rng = np.random.default_rng(seed)
    truth = rng.choice(k, n, p=rng.dirichlet(np.ones(k)))
    z = np.tile(truth, (n_draws, 1))
    moved = rng.random(z.shape) < 0.1
    z[moved] = rng.integers(k, size=int(moved.sum()))
    between = rng.random(n) < unsure
    z[:, between] = np.where(rng.random((n_draws, int(between.sum()))) < 0.5, truth[between], 0)
    return z


def gaps(labels, draws, loss):
    """By how much the best move of each item would lower the total loss, from the exact costs."""
    engine = Engine(draws.item_major, draws.weights, losses.get(loss), "tables")
    costs = engine.costs(engine.start(labels), np.arange(draws.n_items))
    return costs.min(axis=1) - costs[np.arange(draws.n_items), labels]


LINEAR = ["vi", "vi(cost=0.6)", "binder", "binder(cost=1.3)"]


@pytest.mark.parametrize("loss", LINEAR)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_single_item_would_move(loss, seed):
    draws = epl.Draws(noisy(seed=seed))
    best = epl.minimize(draws, loss, rng=seed)
    assert best.runs[-1].start == "few items"
    assert best.converged
    assert best.expected_loss == pytest.approx(epl.expected_loss(best, draws, best.loss), rel=1e-12)
    assert gaps(best.labels, draws, best.loss).min() > -1e-5


@pytest.mark.parametrize("scale", [1e-50, 1e-42, 1e40])
@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_weights_that_single_precision_cannot_hold(loss, scale):
    z, weights = noisy(n=600, n_draws=40), np.arange(1.0, 41)
    best = epl.minimize(epl.Draws(z, weights=weights), loss, rng=1)
    same = epl.minimize(epl.Draws(z, weights=weights * scale), loss, rng=1, time_limit=60)
    assert (same.labels == best.labels).all()
    assert same.converged


def test_a_given_start_with_too_many_clusters_is_made_to_fit(monkeypatch):
    begun, labels_of = [], Search._labels_of

    def note(self, start, *rest):
        labels = labels_of(self, start, *rest)
        begun.append((start.name, labels.max() + 1))
        return labels

    monkeypatch.setattr(Search, "_labels_of", note)
    z = noisy()
    epl.minimize(z, k_max=4, starts=np.where(np.arange(1500) == 7, 6, z[0]), rng=1, n_jobs=1)
    assert begun[0] == ("given", 4)


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_clusters_are_looked_at_first(seed, monkeypatch):
    """Of the items that may move the same is found; of the others, that they stay."""
    monkeypatch.setattr(_settle, "_FRONT", (4, 6))
    draws, loss, pairs = epl.Draws(noisy(seed=seed)), losses.get("vi(cost=0.3)"), []
    look = Settler._look

    def both(self, labels, found, frozen, items=None):
        ours = look(self, labels, found, frozen, items)
        theirs = self.passes.look(labels, frozen, items)
        pairs.append((frozen, labels if items is None else labels[items], ours, theirs))
        return ours

    monkeypatch.setattr(Settler, "_look", both)
    best = epl.minimize(draws, loss, rng=seed)
    assert best.n_clusters > 12
    n_left = 0
    for frozen, own, ours, theirs in pairs:
        known = (ours.target == theirs.target) & (ours.gap == theirs.gap)
        assert (ours.gap <= theirs.gap + frozen.margin).all()
        # What is not the same is an item that stays, or one that has no cluster yet and gets the right one.
        assert (ours.gap[~known] > frozen.margin).all()
        assert (ours.target == theirs.target)[own < 0].all()
        n_left += (~known).sum()
    assert n_left > 1000
    assert gaps(best.labels, draws, loss).min() > -1e-5


def test_other_losses_are_searched_this_way_only_if_draws_are_not_in_memory():
    z = noisy()
    assert epl.minimize(z, "nvi", rng=1).runs[-1].start != "few items"
    best = epl.minimize(epl.Draws(z, memory_limit=len(z) * 700), "nvi", rng=1)
    assert best.runs[-1].start == "few items"
    assert best.expected_loss == pytest.approx(epl.expected_loss(best, z, "nvi"), rel=1e-12)


@pytest.mark.parametrize("loss", LINEAR)
def test_about_as_good_as_a_search_of_all_items(loss, monkeypatch):
    monkeypatch.setattr(large, "_FEW", 500)
    draws = epl.Draws(noisy())
    comp = epl.minimize(draws, loss, rng=1)
    monkeypatch.setattr(entrance, "LARGE", 10**9)
    ref = epl.minimize(draws, loss, rng=1)
    assert comp.expected_loss <= ref.expected_loss * (1 + 1e-4)


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_same_answer_for_threads_slices_and_engines(loss, monkeypatch):
    # Few items that are free under Binder's loss: their matrix must be within the memory limit as well.
    z = noisy(unsure=0.02 if loss == "binder" else 0.1)
    ref = epl.minimize(z, loss, rng=3, n_jobs=1)
    sliced = epl.Draws(z, memory_limit=len(z) * 700)
    assert not sliced.store.in_one_piece
    for comp in (epl.minimize(z, loss, rng=3, n_jobs=3), epl.minimize(sliced, loss, rng=3)):
        np.testing.assert_array_equal(comp.labels, ref.labels)

    def on_device(store, settings, on_done):
        return GpuPasses(store, NumpyDevice(), settings.stopper, on_done)

    monkeypatch.setattr(large, "passes_over", on_device)
    np.testing.assert_array_equal(epl.minimize(z, loss, rng=3).labels, ref.labels)


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_bounds_on_the_number_of_clusters(loss):
    draws = epl.Draws(noisy())
    assert epl.minimize(draws, loss, k=3, rng=1).n_clusters == 3
    assert epl.minimize(draws, loss, k_min=9, rng=1).n_clusters >= 9
    assert epl.minimize(draws, loss, k_max=2, rng=1).n_clusters <= 2


def test_never_worse_than_a_given_start_or_one_cluster():
    z = noisy(unsure=0.0)
    good = epl.minimize(z, rng=1)
    assert epl.minimize(z, starts=good.labels, rng=2).expected_loss <= good.expected_loss
    rng = np.random.default_rng(5)
    noise = epl.Draws(rng.integers(40, size=(60, 700)))
    one = epl.expected_loss(np.zeros(700, dtype=int), noise)
    assert epl.minimize(noise, rng=1).expected_loss <= one


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
    z = np.tile(np.arange(1400) // 2, (20, 1))
    best = epl.minimize(z, rng=1)
    assert best.runs[-1].start != "few items"
    assert best.n_clusters == 700


@pytest.mark.parametrize("quick", [True, False])
def test_ended_early_it_says_on_how_many_draws_the_loss_is(quick, monkeypatch):
    monkeypatch.setattr(passes, "_ITEMS", 64)
    monkeypatch.setattr(large, "_QUICK", large._QUICK if quick else 0)
    z = noisy()
    best = epl.minimize(z, rng=1, time_limit=1e-6)
    assert not best.converged
    assert best.n_draws == (len(z) if quick else large.DRAWS)
    assert "stopped early" in str(best)
    if quick:
        assert best.expected_loss == pytest.approx(epl.expected_loss(best, z), rel=1e-12)


@pytest.mark.parametrize("loss", ["vi", "binder", "nvi"])
@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
def test_ended_early_nothing_is_lost(loss, at, monkeypatch):
    """Ctrl-C in one of the passes: tables are counted, items placed, tables counted, items looked at, ..."""
    draws, calls = epl.Draws(noisy(), memory_limit=150 * 700), []
    monkeypatch.setattr(large, "_QUICK", 0)
    for name in ("count", "look"):
        whole = getattr(passes.LocalPasses, name)

        def work(self, *args, whole=whole):
            calls.append(1)
            if len(calls) >= at:
                self._stopper.interrupt()
                raise Stopped
            return whole(self, *args)

        monkeypatch.setattr(passes.LocalPasses, name, work)
    best = epl.minimize(draws, loss, rng=1)
    assert best.interrupted
    assert not best.converged
    assert best.labels.min() == 0
    # Until something has been settled the loss is that against a few draws.
    value = epl.expected_loss(best, draws, loss)
    rough = at <= (4 if loss == "binder" else 3)
    assert best.n_draws == (large.DRAWS if rough else draws.n_draws)
    assert rough or best.expected_loss == pytest.approx(value, rel=1e-12)
    # Before the items are placed there is only a draw.
    good = epl.expected_loss(epl.minimize(draws.thin(2), loss, rng=1), draws, loss)
    assert (value < 1.05 * good) == (at > 2)


def test_a_limit_leaves_time_to_place_the_items(monkeypatch):
    """Whatever the clock says, the search of the few items is told to end before the whole time is up."""
    seen = []
    whole = large.Search.recombine

    def search(self):
        seen.append(self.stopper.left)
        return whole(self)

    monkeypatch.setattr(large.Search, "recombine", search)
    best = epl.minimize(noisy(), rng=1, time_limit=900)
    assert best.converged
    assert seen[0] < 301


def test_the_bar_moves_on_to_the_end():
    seen = []
    epl.minimize(noisy(), rng=1, progress=lambda done, total, _: seen.append((done, total)))
    done = [step for step, _ in seen]
    assert done == sorted(done)
    assert seen[-1][0] == seen[-1][1]
