"""The central test: what a move or a join is said to change is the expected loss after minus before."""

import numpy as np
import pytest

import epluribus as epl
import oracles
import strategies
from engine_cases import KINDS, LOSSES, get, make, random_sample
from epluribus._parallel import Stopper
from epluribus.engine import Settings

pytestmark = [pytest.mark.parametrize("kind", KINDS), pytest.mark.parametrize("name", LOSSES)]


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
        state, _, complete = engine.sweep(state, rng.permutation(n))
        assert complete
        check_state(engine, draws, state)


def check_state(engine, draws, state):
    """Everything the state says of itself is what a fresh one at the same labels says."""
    k = int(state.n_clusters[0])
    fresh = engine.start(state.labels)
    assert sorted(set(state.labels)) == list(range(k))
    np.testing.assert_array_equal(state.sizes[:k], np.bincount(state.labels))
    assert not state.sizes[k:].any()
    if not engine.loss.linear:
        np.testing.assert_allclose(state.joint_sums, fresh.joint_sums, atol=1e-9)
        np.testing.assert_allclose(state.size_sum, fresh.size_sum, atol=1e-9)
    items = np.arange(engine.n_items)
    np.testing.assert_allclose(
        engine.costs(state, items), engine.costs(fresh, items), rtol=1e-12, atol=1e-9
    )
    ref = epl.expected_loss(state.labels, draws, engine.loss)
    assert engine.value(state) == pytest.approx(ref, abs=1e-12, rel=1e-12)


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
    _, n_moves, complete = engine.sweep(
        engine.start(labels), np.arange(draws.n_items), Settings(stopper=stopper)
    )
    assert (n_moves, complete) == (0, False)
    np.testing.assert_array_equal(engine.merge(labels, Settings(stopper=stopper)), labels)
