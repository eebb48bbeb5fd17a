"""The central test: what a move or a join is said to change is the expected loss after minus before."""

import numpy as np
import pytest

import epluribus as epl
import oracles
import strategies
from engine_cases import (
    CASES,
    check_state,
    get,
    make,
    random_bounds,
    random_partition,
    random_sample,
)
from epluribus._kernels._jit import kernel
from epluribus._kernels.engine import choose, cost_of, costs, exclude
from epluribus._parallel import Stopper
from epluribus.engine import Settings

pytestmark = pytest.mark.parametrize(("name", "kind"), CASES)


def check_moves(engine, draws, labels, items):
    """Costs and exact costs of every target, as changes, against the loss recomputed."""
    state = engine.start(np.asarray(labels))
    before = epl.expected_loss(labels, draws, engine.loss)
    scale = max(1.0, abs(before))
    k = max(labels) + 1
    targets = np.arange(k + 1)
    for i in items:
        rough = engine.costs(state, [i])[0]
        exact = engine.exact(state, np.full(k + 1, i), targets)
        for s in targets:
            moved = np.array(labels)
            moved[i] = s
            ref = epl.expected_loss(moved, draws, engine.loss) - before
            # A linear loss in tables sums costs in single precision; near ties are settled by `exact`.
            comp = (rough[s] - rough[labels[i]]) / engine.total_weight
            assert comp == pytest.approx(ref, abs=2e-6 * scale)
            comp = (exact[s] - exact[labels[i]]) / engine.total_weight
            assert comp == pytest.approx(ref, abs=1e-9 * scale)
    np.testing.assert_array_equal(state.labels, labels)  # nothing was moved


@pytest.mark.parametrize("n_items", [1, 2, 5, 7])
def test_every_partition_item_and_target(name, kind, n_items):
    rng = np.random.default_rng(n_items)
    draws = epl.Draws(
        strategies.random_draws(rng, n_items, 9, 3), weights=rng.integers(1, 4, size=9)
    )
    engine = make(draws, name, kind)
    partitions = oracles.all_partitions(n_items)
    for labels in partitions[::41] if n_items == 7 else partitions:
        check_moves(engine, draws, labels, range(n_items))


def test_larger_samples(name, kind):
    rng = np.random.default_rng(2)
    draws = epl.Draws(strategies.random_draws(rng, 40, 150, 6))
    labels = epl.partition.canonical(rng.integers(9, size=40)).tolist()
    check_moves(make(draws, name, kind), draws, labels, [0, 7, 39])


def test_items_in_no_cluster_yet(name, kind):
    """Costs of an item that is nowhere, as in sequential allocation: against the loss of what is there."""
    draws, rng = random_sample(3)
    n = draws.n_items
    engine = make(draws, name, kind)
    state = engine.start(np.full(n, -1))
    here = []
    for i in rng.permutation(n):
        costs = engine.costs(state, [i])[0]
        part = np.sort([*here, i])
        labels = state.labels.copy()
        values = []
        for s in range(len(costs)):
            labels[i] = s
            values.append(partial_loss(get(name), labels[part], draws, part))
        changes = (costs - costs[0]) / engine.total_weight
        np.testing.assert_allclose(changes, np.subtract(values, values[0]), atol=2e-6 * n * n)
        state = engine.apply(state, [i], [int(np.argmin(values))])
        here.append(i)


def partial_loss(loss, labels, draws, part):
    """f0 of the sums over the items `part` of the estimate, and over all items of the draws."""
    n = draws.n_items
    f1, f2, f3 = loss.tables(n)
    total = 0.0
    for row, weight in zip(draws.distinct, draws.weights, strict=True):
        cells = np.unique(np.stack([labels, row[part]]), axis=1, return_counts=True)[1]
        sums = f1[cells].sum(), f2[np.bincount(labels)].sum(), f3[np.bincount(row)].sum()
        total += weight * loss.f0(*map(float, sums), float(n))
    return total / draws.total_weight


def test_moves_leave_the_state_as_if_started_there(name, kind):
    for seed in range(4):
        draws, rng = random_sample(seed)
        n = draws.n_items
        engine = make(draws, name, kind)
        state = engine.start(epl.partition.canonical(rng.integers(n, size=n)))
        for _ in range(30):
            i, k = int(rng.integers(n)), int(state.n_clusters[0])
            alone = (state.labels == state.labels[i]).sum() == 1
            state = engine.apply(state, [i], [int(rng.integers(k if alone else k + 1))])
        check_state(engine, draws, state)


def test_sweeps_leave_the_state_as_if_started_there(name, kind):
    draws, rng = random_sample(7)
    n = draws.n_items
    engine = make(draws, name, kind)
    state = engine.start(epl.partition.canonical(rng.integers(n, size=n)))
    for _ in range(3):
        swept = engine.sweep(state, rng.permutation(n))
        state = swept.state
        assert swept.complete
        check_state(engine, draws, state)


@kernel
def look(e, row, i, own, opens, out):
    """The cluster chosen for item i, its cost and that of `own`; then the same for the best of the others."""
    for q in range(2):
        costs(e, row, i)
        if q == 1:
            exclude(e, own)
        out[q, 0] = choose(e, i, own if q == 0 else -1, opens)
        out[q, 1] = cost_of(e, int(out[q, 0]))
        out[q, 2] = cost_of(e, own)


@pytest.mark.parametrize("opens", [False, True])
def test_the_cluster_chosen_is_the_best_and_its_cost_exact(name, kind, opens):
    """With 150 draws, sums in single precision would be off by more than is allowed here."""
    rng = np.random.default_rng(4)
    z = strategies.random_draws(rng, 30, 150, 4)
    draws = epl.Draws(z, weights=rng.random(150) + 0.1)
    engine, labels = make(draws, name, kind), epl.partition.canonical(np.arange(30) % 4)
    state, out = engine.start(labels), np.empty((2, 3))
    for i in range(0, 30, 3):
        values = np.empty(4 + opens)
        for s in range(4 + opens):
            moved = labels.copy()
            moved[i] = s
            values[s] = epl.expected_loss(moved, draws, engine.loss) * engine.total_weight
        changes = values - values[labels[i]]
        close = {"abs": 1e-9 * max(1.0, np.abs(values).max())}
        look(state, engine._row, i, labels[i], opens, out)
        (best, cost, here), (second, second_cost, excluded) = out
        assert changes[int(best)] == pytest.approx(changes.min(), **close)
        assert cost - here == pytest.approx(changes[int(best)], **close)
        assert excluded == np.inf
        others = np.delete(changes, labels[i])
        assert second != labels[i]
        assert changes[int(second)] == pytest.approx(others.min(), **close)
        assert second_cost - here == pytest.approx(others.min(), **close)


@pytest.mark.parametrize("thorough", [False, True])
def test_a_sweep_changes_what_it_says(name, kind, thorough):
    """It never raises the loss, keeps the bounds, and moves nothing that it does not count."""
    n_moves = 0
    for seed in range(12):
        draws, rng = random_sample(seed)
        engine, n = make(draws, name, kind), draws.n_items
        state = engine.start(random_partition(rng, n))
        settings = random_bounds(rng, int(state.n_clusters[0]))
        for _ in range(3):
            before, labels = engine.value(state), state.labels.copy()
            swept = engine.sweep(state, rng.permutation(n), settings, thorough=thorough)
            state, after = swept.state, engine.value(swept.state)
            change = (after - before) * engine.total_weight
            assert swept.change == pytest.approx(change, abs=1e-9 * max(1.0, abs(before)))
            assert swept.change <= 0.0
            assert (swept.change < 0.0) == (swept.n_moves > 0)
            if swept.n_moves == 0:
                np.testing.assert_array_equal(state.labels, labels)
            assert settings.k_min <= state.n_clusters[0] <= settings.k_max
            n_moves += swept.n_moves
        check_state(engine, draws, state)
    assert n_moves > 0 or name == "zero_one"  # which says nothing about the way


def test_joins_change_what_they_say(name, kind):
    for seed in range(4):
        draws, rng = random_sample(seed)
        n = draws.n_items
        engine = make(draws, name, kind)
        state = engine.start(epl.partition.canonical(rng.integers(min(n, 7), size=n)))
        while state.n_clusters[0] > 1:
            k = int(state.n_clusters[0])
            before = epl.expected_loss(state.labels, draws, engine.loss)
            a = int(rng.integers(k))
            changes = engine.join_changes(state, a) / engine.total_weight
            assert changes[a] == np.inf
            for s in range(k):
                if s != a:
                    joined = np.where(state.labels == s, a, state.labels)
                    ref = epl.expected_loss(joined, draws, engine.loss) - before
                    assert changes[s] == pytest.approx(ref, abs=1e-9 * max(1.0, abs(before)))
            b = int(rng.choice([s for s in range(k) if s != a]))
            joined = epl.partition.canonical(np.where(state.labels == b, a, state.labels))
            engine.join(state, a, b)
            np.testing.assert_array_equal(epl.partition.canonical(state.labels), joined)
            check_state(engine, draws, state)


def test_merging_ends_where_no_pair_helps(name, kind):
    for seed in range(4):
        draws, rng = random_sample(seed)
        engine = make(draws, name, kind)
        n = draws.n_items
        labels = epl.partition.canonical(rng.integers(n, size=n))
        merged = engine.merge(labels)
        value = epl.expected_loss(merged, draws, engine.loss)
        assert value <= epl.expected_loss(labels, draws, engine.loss) + 1e-12
        for a in range(merged.max() + 1):
            for b in range(a):
                joined = np.where(merged == a, b, merged)
                assert epl.expected_loss(joined, draws, engine.loss) >= value - 1e-9
        assert engine.merge(labels, Settings(k_max=2)).max() + 1 <= 2
        k = min(3, labels.max() + 1)
        assert engine.merge(labels, Settings(k_min=k, k_max=k)).max() + 1 == k


def test_the_stop_flag_is_heard(name, kind):
    draws, rng = random_sample(5)
    stopper = Stopper()
    stopper.interrupt()
    engine = make(draws, name, kind)
    labels = epl.partition.canonical(rng.integers(draws.n_items, size=draws.n_items))
    swept = engine.sweep(engine.start(labels), np.arange(draws.n_items), Settings(stopper=stopper))
    assert (swept.n_moves, swept.complete, swept.change) == (0, False, 0.0)
    np.testing.assert_array_equal(engine.merge(labels, Settings(stopper=stopper)), labels)


def test_one_cluster_and_all_apart(name, kind):
    """Also against draws that are the same partition, where many losses are exactly 0."""
    for seed in range(3):
        draws, rng = random_sample(seed)
        n = draws.n_items
        trivial = np.stack([np.zeros(n, int), np.arange(n)])
        mixed = epl.Draws(
            np.concatenate([draws.distinct, trivial]), weights=rng.random(draws.n_distinct + 2)
        )
        for sample in (draws, mixed, epl.Draws(trivial[:1]), epl.Draws(trivial[1:])):
            engine = make(sample, name, kind)
            ref = [engine.value_of(labels) for labels in trivial]
            assert engine.trivial_values() == pytest.approx(ref, rel=1e-12, abs=1e-12)


def test_merging_blocks_of_parents(name, kind):
    """Where all clusters of the parents were split, the joins are the same as without parents."""
    for seed in range(4):
        draws, rng = random_sample(seed)
        engine, n = make(draws, name, kind), draws.n_items
        blocks = random_partition(rng, n)
        k = blocks.max() + 1
        # One parent joins blocks 0 and 1, 2 and 3, ..., the other one 1 and 2, 3 and 4, ..., last and 0.
        parents = [epl.partition.canonical((blocks + shift) % max(k, 2) // 2) for shift in (0, 1)]
        for settings in (Settings(), Settings(k_min=min(2, k), k_max=max(2, k // 2))):
            np.testing.assert_array_equal(
                engine.merge(blocks, settings, parents if k > 1 else ()),
                engine.merge(blocks, settings),
            )


def test_clusters_of_all_parents_are_not_tried_with_each_other(name, kind):
    """Blocks 0 and 1 are clusters of both parents, 2 and 3 of one of them only."""
    blocks, parent = np.repeat([0, 1, 2, 3], 3), np.repeat([0, 1, 2], [3, 3, 6])
    for joined, found in (([0, 0, 1, 2], False), ([0, 1, 2, 2], True), ([0, 1, 0, 2], True)):
        draws = epl.Draws([np.array(joined)[blocks]])
        engine = make(draws, name, kind)
        alone = engine.merge(blocks)
        comp = engine.merge(blocks, parents=[parent, blocks])
        if found:
            np.testing.assert_array_equal(comp, alone)
        elif (alone == draws.distinct[0]).all():  # the loss asks for this one join
            np.testing.assert_array_equal(comp, blocks)
        # Too many clusters: all are tried.
        bound = Settings(k_max=3)
        np.testing.assert_array_equal(
            engine.merge(blocks, bound, [parent, blocks]), engine.merge(blocks, bound)
        )
