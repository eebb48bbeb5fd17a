"""The two executions are siblings: same sweeps, same joins; and a third one can be registered."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import epluribus as epl
import strategies
from engine_cases import LOSSES, get, make, micro, random_sample
from epluribus import _validate
from epluribus._kernels.engine import implement_execution
from epluribus._kernels.loops import sweep
from epluribus.engine import Engine, Settings, tables
from epluribus.engine.members import MemberExecution, collect_sets
from epluribus.engine.tables import TableExecution


@pytest.mark.parametrize("name", LOSSES)
def test_same_sweeps(name):
    """Same moves, same labels, for any bounds on the number of clusters."""
    for seed in range(15):
        draws, rng = random_sample(seed)
        n = draws.n_items
        first, second = make(draws, name, "tables"), make(draws, name, "members")
        for low, high in ((1, n), (1, max(1, n // 3)), (2, max(2, n // 2))):
            labels = epl.partition.canonical(rng.integers(high, size=n))
            if labels.max() + 1 < low:
                continue
            settings = Settings(k_min=low, k_max=high)
            ref, comp = first.start(labels), second.start(labels)
            for _ in range(3):
                order = rng.permutation(n)
                ref, ref_moves, _ = first.sweep(ref, order, settings)
                comp, moves, complete = second.sweep(comp, order, settings)
                assert complete
                assert moves == ref_moves
                np.testing.assert_array_equal(comp.labels, ref.labels)
                assert second.value(comp) == pytest.approx(first.value(ref), rel=1e-12, abs=1e-12)


def test_same_joins_and_allocations():
    """Binder with whole weights is exact, so that ties are ties."""
    for seed in range(1, 30, 2):
        draws, rng = random_sample(seed)
        n = draws.n_items
        first, second = make(draws, "binder", "tables"), make(draws, "binder", "members")
        labels = epl.partition.canonical(rng.integers(n, size=n))
        order = rng.permutation(n)
        np.testing.assert_array_equal(second.merge(labels), first.merge(labels))
        for bound in (2, n):
            settings = Settings(k_min=min(2, labels.max() + 1), k_max=bound)
            np.testing.assert_array_equal(
                second.merge(labels, settings), first.merge(labels, settings)
            )
            np.testing.assert_array_equal(
                second.allocate(order, bound), first.allocate(order, bound)
            )


def test_allocation_puts_each_item_where_it_costs_least():
    draws, rng = random_sample(9)
    n = draws.n_items
    order = rng.permutation(n)
    engine = make(draws, "binder", "tables")
    together = epl.psm(draws)
    labels = np.full(n, -1)
    for i in order:  # Binder: joining a pair costs 1 - 2 P, in pairs
        k = labels.max() + 1
        cost = [(1 - 2 * together[i, labels == s]).sum() for s in range(k)] + [0.0]
        labels[i] = int(np.argmin(np.round(cost, 9)))
    np.testing.assert_array_equal(engine.allocate(order), epl.partition.canonical(labels))


# --- an execution that is not compiled ---


class Naive(NamedTuple):
    """Every cost by recomputing the loss from scratch: as an execution elsewhere would be registered."""

    draws: Any
    loss: Any
    labels: Any
    sizes: Any
    n_clusters: Any
    row: Any


def naive_costs(e, row, i):  # noqa: ARG001
    for s in range(e.n_clusters[0] + 1):
        moved = e.labels.copy()
        moved[i] = s
        e.row[s] = epl.expected_loss(moved, e.draws, e.loss)


def naive_choose(e, i, own, opens):  # noqa: ARG001
    n = e.n_clusters[0] + opens
    low = min(e.row[:n]) + 1e-11
    return own if e.row[own] <= low else int(np.argmax(np.array(e.row[:n]) <= low))


def naive_apply(e, row, i, s):  # noqa: ARG001
    own, k = e.labels[i], e.n_clusters[0]
    e.labels[i] = s
    e.n_clusters[0] = max(k, s + 1)
    if not (e.labels == own).any():  # the last cluster takes the label that is free
        last = e.n_clusters[0] - 1
        e.labels[e.labels == last] = own
        e.n_clusters[0] = last
    e.sizes[:] = np.bincount(e.labels, minlength=len(e.sizes))


def no_joins(*_):
    raise NotImplementedError


implement_execution(
    Naive,
    costs=naive_costs,
    exact=no_joins,
    choose=naive_choose,
    cost_of=no_joins,
    apply=naive_apply,
    join_changes=no_joins,
    join=no_joins,
)


@pytest.mark.parametrize("name", epl.losses.available())
def test_a_plain_execution_runs_the_same_loop(name):
    """`sweep.py_func` on registered Python functions makes the moves that the compiled loop makes."""
    draws = epl.Draws(strategies.random_draws(np.random.default_rng(1), 9, 8, 3))
    labels = epl.partition.canonical(np.arange(9) % 4)
    sizes = np.bincount(labels, minlength=10)
    naive = Naive(draws, get(name), labels.copy(), sizes, np.array([4]), np.zeros(10))
    engine = Engine.of(draws, get(name))
    state = engine.start(labels)
    for seed in range(3):
        order, n_moves = np.random.default_rng(seed).permutation(9), np.zeros(1, np.int64)
        plain = getattr(sweep, "py_func", sweep)
        assert plain(naive, None, order, 0, 1, 9, np.zeros(1, np.uint8), n_moves) == 9
        state, moves, _ = engine.sweep(state, order)
        assert moves == n_moves[0]
        np.testing.assert_array_equal(state.labels, naive.labels)


def test_an_execution_must_implement_the_whole_contract():
    with pytest.raises(TypeError, match=r"'tuple' must implement exactly costs, exact.*missing"):
        implement_execution(tuple, costs=naive_costs)


# --- which one ---


def kind_of(draws, name, columns=None):
    return type(Engine.of(draws, get(name), columns).execution)


def test_the_quicker_execution_is_chosen():
    few = epl.Draws(strategies.random_draws(np.random.default_rng(0), 2000, 20, 10))
    assert kind_of(few, "vi") is TableExecution
    many = epl.Draws(micro(2000, 20))
    assert kind_of(many, "vi") is MemberExecution
    assert kind_of(many, "nvi", np.arange(3)) is MemberExecution
    giant = np.concatenate([np.zeros(1500, int), 1 + np.arange(500)])
    assert kind_of(epl.Draws([giant, giant[::-1]]), "vi") is TableExecution


def test_where_memory_is_short_members_are_walked_through(monkeypatch):
    draws = epl.Draws(strategies.random_draws(np.random.default_rng(0), 2000, 20, 60))
    assert kind_of(draws, "vi") is TableExecution
    monkeypatch.setattr(tables, "available_memory", lambda: 1e5)
    assert kind_of(draws, "vi") is MemberExecution


def test_tables_that_do_not_fit_are_refused_in_words(monkeypatch):
    monkeypatch.setattr(_validate, "_ALWAYS", 0)
    monkeypatch.setattr(_validate, "available_memory", lambda: 1e5)
    draws = epl.Draws(strategies.random_draws(np.random.default_rng(0), 200, 50, 20))
    with pytest.raises(
        MemoryError,
        match=r"the loss 'nvi', with 50 draws of up to 20 clusters and 201 .* and a linear loss",
    ):
        make(draws, "nvi", "tables").start(np.arange(200))
    with pytest.raises(
        MemoryError,
        match=r"0.0 GB are left. Fewer draws .* \(thin=\), as do fewer clusters \(k_max=\)\.$",
    ):
        epl.search.merge(draws, np.arange(200) * 7, "vi")
    monkeypatch.setattr(_validate, "available_memory", lambda: 1e4)
    with pytest.raises(
        MemoryError, match=r"50 draws of 200 items .* needs .*Fewer draws need less"
    ):
        make(draws, "vi", "members")


# --- the sets that are walked through ---


def test_sets_are_the_distinct_groups():
    draws, _ = random_sample(4)
    sets = collect_sets(draws.item_major, draws.weights, distinct=True)
    ref = {}
    for row, weight in zip(draws.distinct.tolist(), draws.weights, strict=True):
        for v in set(row):
            group = tuple(i for i, label in enumerate(row) if label == v)
            if len(group) > 1:
                ref[group] = ref.get(group, 0.0) + weight
    comp = {
        tuple(sets.member[sets.first[b] : sets.first[b + 1]].tolist()): sets.weight[b]
        for b in range(len(sets.weight))
    }
    assert comp == pytest.approx(ref)
    for i in range(draws.n_items):
        mine = sets.sets_of[sets.first_of[i] : sets.first_of[i + 1]]
        assert [b for b, group in enumerate(comp) if i in group] == mine.tolist()


def test_hash_table_grows_and_collisions_are_told_apart(monkeypatch):
    z = np.random.default_rng(0).integers(40, size=(80, 60))
    draws = epl.Draws(z)
    ref = collect_sets(draws.item_major, draws.weights, distinct=True)

    class Same:
        def integers(self, low, high, size, dtype):  # noqa: ARG002
            return np.full(size, 3, dtype)  # every set of even size has the hash 0

    monkeypatch.setattr(np.random, "default_rng", lambda _: Same())
    comp = collect_sets(draws.item_major, draws.weights, distinct=True)
    for mine, theirs in zip(comp, ref, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_bounds_in_words():
    assert Settings().bound == ""
    assert Settings(k_max=1).bound == "with exactly 1 cluster"
    assert Settings(k_min=3, k_max=3).bound == "with exactly 3 clusters"
    assert Settings(k_max=5).bound == "with at most 5 clusters"
