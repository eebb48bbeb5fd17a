"""The executions are siblings: same sweeps, same joins; and one more can be registered."""

import re

import numpy as np
import pytest
from numba import typeof

import epluribus as epl
import strategies
from engine_cases import CASES, KINDS, LOSSES, OF_PAIRS, get, make, micro, random_sample
from epluribus import _validate
from epluribus._kernels.engine import implement_execution
from epluribus._kernels.loops import sweep
from epluribus.engine import Engine, Settings, engine_for, pairs, tables
from epluribus.engine.members import MemberExecution, collect_sets
from epluribus.engine.pairs import PairExecution
from epluribus.engine.tables import TableExecution
from naive_execution import Naive, plain


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case[1] != "tables"])
def test_same_sweeps(name, kind):
    """Same moves, same labels, for any bounds on the number of clusters."""
    for seed in range(15):
        draws, rng = random_sample(seed)
        n = draws.n_items
        first, second = make(draws, name, "tables"), make(draws, name, kind)
        for low, high in ((1, n), (1, max(1, n // 3)), (2, max(2, n // 2))):
            labels = epl.partition.canonical(rng.integers(high, size=n))
            if labels.max() + 1 < low:
                continue
            settings = Settings(k_min=low, k_max=high)
            ref, comp = first.start(labels), second.start(labels)
            for _ in range(3):
                order = rng.permutation(n)
                one, other = first.sweep(ref, order, settings), second.sweep(comp, order, settings)
                ref, comp = one.state, other.state
                assert other.complete
                assert other.n_moves == one.n_moves
                np.testing.assert_array_equal(comp.labels, ref.labels)
                assert second.value(comp) == pytest.approx(first.value(ref), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", ["members", "pairs"])
def test_same_joins_and_allocations(kind):
    """Binder with whole weights is exact, so that ties are ties."""
    for seed in range(1, 30, 2):
        draws, rng = random_sample(seed)
        n = draws.n_items
        first, second = make(draws, "binder", "tables"), make(draws, "binder", kind)
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


@pytest.mark.parametrize("name", epl.losses.available())
def test_a_plain_execution_runs_the_same_loop(name):
    """`sweep.py_func` on registered Python functions makes the moves that the compiled loop makes."""
    draws = epl.Draws(strategies.random_draws(np.random.default_rng(1), 9, 8, 3))
    labels = epl.partition.canonical(np.arange(9) % 4)
    naive = Naive.at(draws, get(name), labels)
    engine = engine_for(draws, get(name))
    state = engine.start(labels)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(9)
        n_moves, change = np.zeros(1, np.int64), np.zeros(1)
        stop, thorough = np.zeros(1, np.uint8), bool(seed % 2)
        assert (
            plain(sweep)(naive, None, order, 0, 1, 9, thorough, False, stop, n_moves, change) == 9
        )
        swept = engine.sweep(state, order)
        assert swept.n_moves == n_moves[0]
        assert swept.change == pytest.approx(change[0], abs=1e-9)
        np.testing.assert_array_equal(swept.state.labels, naive.labels)
        state = swept.state


def test_an_execution_must_implement_the_whole_contract():
    with pytest.raises(TypeError, match=r"'tuple' must implement exactly costs, glance.*missing"):
        implement_execution(tuple, costs=len)


# --- which one ---


def kind_of(draws, name, columns=None):
    return type(engine_for(draws, get(name), columns).execution)


def test_the_quicker_execution_is_chosen():
    few = epl.Draws(strategies.random_draws(np.random.default_rng(0), 2000, 20, 10))
    assert kind_of(few, "vi") is TableExecution
    many = epl.Draws(micro(2000, 20))
    assert kind_of(many, "vi") is MemberExecution
    assert kind_of(many, "nvi", np.arange(3)) is MemberExecution
    giant = np.concatenate([np.zeros(1500, int), 1 + np.arange(500)])
    assert kind_of(epl.Draws([giant, giant[::-1]]), "vi") is TableExecution
    # A sum over pairs of items: their matrix, unless there are very many items for each cluster.
    assert kind_of(few, "binder") is kind_of(many, "binder(cost=0.6)") is PairExecution
    two = epl.Draws(strategies.random_draws(np.random.default_rng(0), 1000, 20, 2))
    assert kind_of(two, "binder") is TableExecution


def test_where_memory_is_short_members_are_walked_through(monkeypatch):
    draws = epl.Draws(strategies.random_draws(np.random.default_rng(0), 2000, 20, 60))
    assert kind_of(draws, "vi") is TableExecution
    assert kind_of(draws, "binder") is PairExecution
    for module in (tables, pairs):
        monkeypatch.setattr(module, "available_memory", lambda: 1e5)
    assert kind_of(draws, "vi") is kind_of(draws, "binder") is MemberExecution


def test_tables_that_do_not_fit_are_refused_in_words(monkeypatch):
    monkeypatch.setattr(_validate, "_ALWAYS", 0)
    monkeypatch.setattr(_validate, "available_memory", lambda: 1e5)
    draws = epl.Draws(strategies.random_draws(np.random.default_rng(0), 200, 50, 20))
    with pytest.raises(
        MemoryError,
        match=r"the loss 'nvi', with 50 draws of up to 20 clusters and 208 .* and a linear loss",
    ):
        make(draws, "nvi", "tables").start(np.arange(200))
    with pytest.raises(
        MemoryError,
        match=r"0.1 MB are left. Fewer draws .* \(thin=\), as do fewer clusters \(k_max=\)\.$",
    ):
        epl.search.merge(draws, np.arange(200) * 7, "vi")
    monkeypatch.setattr(_validate, "available_memory", lambda: 1e4)
    with pytest.raises(
        MemoryError, match=r"50 draws of 200 items .* needs .*Fewer draws need less"
    ):
        make(draws, "vi", "members")


# --- the matrix of pairs ---


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in OF_PAIRS])
def test_a_loss_that_is_not_a_sum_over_pairs_is_refused(name):
    draws, _ = random_sample(1)
    with pytest.raises(ValueError, match=rf"'kind' must not be \"pairs\" for .*{re.escape(name)}"):
        make(draws, name, "pairs")


@pytest.mark.parametrize("weights", [None, [3, 1, 2, 1, 1, 2], [0.3, 1.7, 0.2, 1.1, 0.9, 0.4]])
def test_pulls_are_what_two_items_cost_together(weights):
    """More items than are counted at a time; equal, whole and fractional weights are counted differently."""
    z = strategies.random_draws(np.random.default_rng(2), 150, 6, 4)
    draws = epl.Draws(z, weights=weights)
    engine = make(draws, "binder(cost=0.6)", "pairs")
    state = engine.start(np.zeros(150, int))
    together = np.average(z[:, :, None] == z[:, None, :], axis=0, weights=weights)
    # Together in a draw and apart in the estimate costs 0.6, the other way round 1.4.
    ref = draws.total_weight * (1.4 * (1 - together) - 0.6 * together)
    pull = state.pull[0] + state.pull[1] * state.together
    np.testing.assert_allclose(pull, ref, atol=1e-12 * draws.total_weight)
    assert state.together.dtype == (float if weights is not None and weights[0] < 1 else np.uint16)


def test_only_the_matrix_does_not_grow_with_the_draws():
    draws, _ = random_sample(1)
    grows = [make(draws, "binder", kind).execution.grows_with_draws for kind in KINDS]
    assert grows == [True, True, False]


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
        tuple(sorted(sets.member[sets.first[b] : sets.first[b + 1]].tolist())): sets.weight[b]
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


@pytest.mark.parametrize("loss", ["vi", "nvi"])
def test_a_table_that_may_be_written_needs_no_kernels_of_its_own(loss):
    """Kernels are compiled for types, and an array that may be written has another type."""
    draws = epl.Draws([[0, 0, 1], [0, 1, 1]])
    assert not draws.item_major.flags.writeable
    protected, open_ = (
        Engine(table, draws.weights, epl.losses.get(loss), "tables").start(np.array([0, 0, 1]))
        for table in (draws.item_major, draws.item_major.copy())
    )
    assert typeof(protected) == typeof(open_)
