"""Sweeps that pass over items which certainly stay make the moves that full sweeps make."""

import numpy as np
import pytest

import epluribus as epl
import strategies
from epluribus._kernels.looks import CLOCK, DRIFT, least_gaps
from epluribus.engine import Engine, Settings, look_ahead
from epluribus.engine.nudges import closest
from epluribus.losses.base import Loss
from epluribus.search._improve import Climber


def odd(n):
    return (n % 3) * 1.7 - 0.3 * n


def linear(joint, size, group, n_items):  # noqa: ARG001
    return 0.5 * size + group - 1.3 * joint


# A loss whose terms have both signs, so that nothing in the bounds is one-sided.
OWN = Loss(linear, odd, odd, odd, name="odd", linear=True)
CASES = [
    ("vi", "tables"),
    ("vi(cost=0.6)", "tables"),
    ("binder", "tables"),
    ("binder(cost=0.6)", "tables"),
    ("odd", "tables"),
    ("binder", "pairs"),
    ("binder(cost=0.6)", "pairs"),
    ("vi", "members"),
    ("vi(cost=0.6)", "members"),
    ("binder", "members"),
    ("odd", "members"),
    ("nid", "tables"),
    ("nid", "members"),
]
SKIPPING = CASES[:-2]
"""Those with a linear loss: sweeps under the others look at all items."""


def engine_of(seed, name, kind):
    """A small sample with anything from 2 to N clusters, whole or fractional weights."""
    rng = np.random.default_rng(seed)
    n_items, n_draws = int(rng.integers(3, 40)), int(rng.integers(1, 12))
    weights = rng.integers(1, 4, size=n_draws) if seed % 2 else rng.random(n_draws) + 0.1
    z = strategies.random_draws(rng, n_items, n_draws, int(rng.integers(2, n_items + 1)))
    draws = epl.Draws(z, weights=weights)
    loss = OWN if name == "odd" else epl.losses.get(name)
    return Engine(draws.item_major, draws.weights, loss, kind), rng


def blocks(n_items=600, n_draws=30, seed=0):
    """Six clear clusters; in each draw 3 % of the items are somewhere else."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_items) % 6
    z = np.where(rng.random((n_draws, n_items)) < 0.03, rng.integers(6, size=n_items), truth)
    return epl.Draws(z)


def start_of(engine, rng, k):
    return epl.partition.canonical(rng.integers(k, size=engine.n_items))


@pytest.fixture(params=[False, True], ids=["", "ahead"])
def ahead(request, monkeypatch):
    """Whether sweeps look ahead, which they do for many items."""
    if request.param:
        monkeypatch.setattr(look_ahead, "_FEWEST", 3)
        monkeypatch.setattr(look_ahead, "_TASK", 2)
        monkeypatch.setattr(look_ahead, "_CACHE", 0)
        monkeypatch.setattr(look_ahead, "_MOST_MOVES", 0.5)
    return request.param


@pytest.mark.usefixtures("ahead")
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_lazy_sweeps_make_the_same_moves(name, kind):
    for seed in range(20):
        engine, rng = engine_of(seed, name, kind)
        n = engine.n_items
        for high in (n, max(2, n // 3)):
            labels = start_of(engine, rng, high)
            settings = Settings(k_min=min(2, labels.max() + 1), k_max=high)
            plain, lazy = engine.start(labels), engine.start(labels)
            for _ in range(8):
                order = rng.permutation(n)
                full = engine.sweep(plain, order, settings)
                quick = engine.sweep(lazy, order, settings, lazy=True)
                plain, lazy = full.state, quick.state
                assert quick.n_moves == full.n_moves
                np.testing.assert_array_equal(lazy.labels, plain.labels)


@pytest.mark.parametrize(("name", "kind"), SKIPPING)
def test_where_a_climber_stops_no_item_moves(name, kind):
    """Also after nudges, kicks and joins, which change the partition outside of sweeps."""
    for seed in range(20):
        engine, rng = engine_of(seed, name, kind)
        n = engine.n_items
        for high in (None, max(2, n // 3)):
            settings = Settings(k_max=high)
            climber = Climber(engine, start_of(engine, rng, high or n), rng, settings)
            climber.settle()
            for _ in range(6):
                climber.kick()
            climber.pool()
            assert climber.sweep()
            assert engine.sweep(climber.state, np.arange(n), settings).n_moves == 0
            assert climber.value == pytest.approx(engine.value(climber.state), rel=1e-9, abs=1e-9)


def gaps(engine, state):
    """What each item would pay for leaving its cluster, by the exact cost of every cluster and a new one."""
    n, k = engine.n_items, int(state.n_clusters[0])
    out = np.empty(n)
    for i in range(n):
        own = int(state.labels[i])
        others = [s for s in range(k + (state.sizes[own] > 1)) if s != own]
        here, *costs = engine.exact(state, np.full(len(others) + 1, i), np.array([own, *others]))
        out[i] = min(costs, default=np.inf) - here
    return out


@pytest.mark.usefixtures("ahead")
@pytest.mark.parametrize(("name", "kind"), SKIPPING)
def test_no_gap_is_smaller_than_what_is_known_of_it(name, kind):
    """After any moves: those of a sweep, of pushes that are kept or taken back, and any others."""
    for seed in range(20):
        engine, rng = engine_of(seed, name, kind)
        n, known = engine.n_items, 0
        state = engine.start(start_of(engine, rng, n))
        for _ in range(6):
            state = engine.sweep(state, rng.permutation(n), lazy=True).state
            state = engine.nudge(state, min(n, 4)).state
            for i in rng.permutation(n)[:2]:
                target = rng.integers(state.n_clusters[0] + (state.sizes[state.labels[i]] > 1))
                if target != state.labels[i]:
                    state = engine.apply(state, np.array([i]), np.array([target]))
            least = least_gaps(state, np.arange(n))
            known += np.isfinite(least).sum()
            slack = 1e-9 * np.abs(engine.costs(state, np.arange(n))).max() + engine.tolerance
            assert (gaps(engine, state) >= least - slack).all()
        assert known > 0


@pytest.mark.parametrize(("name", "kind"), [case for case in SKIPPING if case[1] != "members"])
def test_a_move_announces_the_largest_change(name, kind):
    """What the clusters cost an item, before and after the move of another item."""
    for seed in range(15):
        engine, rng = engine_of(seed, name, kind)
        n, k = engine.n_items, 3
        labels = epl.partition.canonical(np.append(np.arange(k), rng.integers(k, size=n - k)))
        for j in range(min(n, 8)):
            state, target = engine.start(labels), int(rng.integers(k + 1))
            own = int(labels[j])
            if target == own or state.sizes[own] == 1:  # labels would change
                continue
            items = np.delete(np.arange(n), j)

            # A cluster that opens cost as much as any new one.
            before = {s: engine.exact(state, items, np.full(n - 1, s)) for s in (own, target)}
            state = engine.apply(state, np.array([j]), np.array([target]))
            inside, outside, largest = state.looks.own, state.looks.drift, state.looks.clock[DRIFT]
            assert largest == max(outside[own], outside[target])
            for s in (own, target):
                change = np.abs(engine.exact(state, items, np.full(n - 1, s)) - before[s])
                bound = np.where(labels[items] == s, inside[s], outside[s])
                assert (change <= bound + 8 * engine.tolerance).all()


def test_a_look_ahead_leaves_little_to_the_sweep(monkeypatch):
    """All items are looked at ahead, in threads or not, and only those that may move are visited."""
    monkeypatch.setattr(look_ahead, "_FEWEST", 200)
    monkeypatch.setattr(look_ahead, "_CACHE", 0)
    draws = blocks()
    engine = Engine(draws.item_major, draws.weights, epl.losses.get("vi"), "tables")
    labels = np.arange(600) % 6
    for n_jobs in (1, 2):
        state = engine.start(labels)
        order = look_ahead.LookAhead(np.arange(600), Settings(n_jobs=n_jobs), state)
        assert order.next(state, 0, 0) == 200
        known = least_gaps(state, np.arange(600)) > 0
        assert known[:200].mean() > 0.95
        assert not known[200:].any()
        assert order.next(state, 200, 20) == 400  # too many moves: the next part is not looked at
        assert not (least_gaps(state, np.arange(600)) > 0)[200:].any()


@pytest.mark.parametrize("name", ["vi", "binder(cost=0.6)", "odd"])
def test_a_rush_announces_its_change_and_never_raises_the_loss(name):
    for seed in range(20):
        engine, rng = engine_of(seed, name, "tables")
        labels = start_of(engine, rng, max(2, engine.n_items // 3))
        states = []
        for n_jobs in (1, 2):
            state, change = engine.rush(engine.start(labels), Settings(n_jobs=n_jobs))
            after = engine.value(engine.start(epl.partition.canonical(state.labels)))
            before = engine.value(engine.start(labels))
            assert change <= 0.0
            assert (after - before) * engine.total_weight == pytest.approx(change, abs=1e-8)
            states.append(state.labels)
        np.testing.assert_array_equal(*states)


@pytest.mark.parametrize(
    ("name", "kind"), [("nid", "tables"), ("vi", "members"), ("binder", "pairs")]
)
def test_no_rush_where_nothing_can_be_looked_up(name, kind):
    engine, rng = engine_of(1, name, kind)
    labels = start_of(engine, rng, 3)
    state, change = engine.rush(engine.start(labels))
    assert change == 0.0
    np.testing.assert_array_equal(state.labels, labels)


def test_a_sweep_passes_over_most_items():
    """With clear clusters, sweeps after the first look at next to nothing."""
    draws = blocks()
    for kind in ("tables", "pairs", "members"):
        engine = Engine(draws.item_major, draws.weights, epl.losses.get("binder"), kind)
        rng = np.random.default_rng(1)
        labels = np.arange(600) % 6
        labels[:10] = 0
        climber = Climber(engine, epl.partition.canonical(labels), rng, Settings())
        assert climber.sweep()
        assert (least_gaps(climber.state, np.arange(600)) > 0).mean() > 0.95
        # A sweep that looks at an item stores its gap anew: entries made useless show who was looked at.
        until = climber.state.looks.until
        until[:] = np.where(until > climber.state.looks.clock[CLOCK] + 1e3, 1e300, until)
        climber.sweep()
        assert (until == 1e300).mean() > 0.9


def test_the_items_to_nudge_are_those_closest_to_moving():
    """The same items, whether all are looked at or only those that may be close."""
    draws = blocks()
    engine = Engine(draws.item_major, draws.weights, epl.losses.get("vi"), "tables")
    climber = Climber(engine, np.arange(600) % 6, np.random.default_rng(1), Settings())
    assert climber.sweep()
    how = None, 8, 600, True, 1, 600, np.zeros(1, np.uint8)
    known, _ = closest(climber.state, *how)
    anew, _ = closest(engine.start(climber.state.labels), *how)
    np.testing.assert_array_equal(np.sort(known), np.sort(anew))


def test_joined_clusters_without_a_new_state():
    for seed in range(10):
        engine, rng = engine_of(seed, "vi", "tables")
        labels = start_of(engine, rng, engine.n_items)
        merged = engine.merge(labels, Settings(k_max=max(1, int(labels.max()))))
        state = engine.joined(engine.start(labels), merged)
        np.testing.assert_array_equal(epl.partition.canonical(state.labels), merged)
