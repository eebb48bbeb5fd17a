"""All states: what is announced is what happens, and they agree with each other."""

import numpy as np
import pytest

import epluribus as epl
from epluribus import losses
from epluribus._parallel import NEVER
from epluribus.draws.expected import SimilarityMatrix
from epluribus.partition import relabel
from epluribus.search.members import MemberState
from epluribus.search.pairs import MatrixProblem, PairCosts, PairState
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds, RatioState, TableState

MAKERS = {
    "tables": TableState,
    "members": MemberState,
    "pairs": lambda problem, labels: PairState(PairCosts.of(problem), labels),
}
CASES = [
    (s, n)
    for s in MAKERS
    for n in ("vi", "binder", "binder(cost=1.4)")
    if s != "pairs" or n != "vi"
]


def problem_of(seed, name, n=24, k=9):
    rng = np.random.default_rng(seed)
    draws = epl.Draws(rng.integers(0, k, (12, n)), weights=rng.integers(1, 4, 12) * 0.5)
    return Problem.of(draws, losses.get(name)), rng


@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("seed", range(3))
def test_announced_changes_are_differences_of_totals(kind, name, seed):
    problem, rng = problem_of(seed, name)
    labels = epl.partition.canonical(rng.integers(0, 8, 24))
    state, tables = MAKERS[kind](problem, labels), TableState(problem, labels)
    expected = problem.expected(labels) * problem.total_weight
    assert state.total() + problem.constant == pytest.approx(expected)
    for bounds in (Bounds(1, 24, NEVER), Bounds(3, 4, NEVER), Bounds(9, 9, NEVER)):
        items = rng.choice(24, 6, replace=False)
        targets = rng.integers(0, 8, 6)
        before = state.total()
        change = state.move(items, targets)
        assert state.total() - before == pytest.approx(change, abs=1e-9)
        again = TableState(problem, epl.partition.canonical(state.labels))
        assert again.total() == pytest.approx(state.total())
        state.compact()
        tables = TableState(problem, state.labels)
        joins = state.join_changes()
        k = state.n_clusters
        np.testing.assert_allclose(joins[:k, :k], tables.join_changes()[:k, :k], atol=1e-9)
        before = state.total()
        change = state.merge(bounds)
        assert state.total() - before == pytest.approx(change, abs=1e-9)
        assert state.n_clusters <= max(bounds.k_max, bounds.k_min)
        before = state.total()
        swept = state.sweep(rng.permutation(24), bounds)
        assert state.total() - before == pytest.approx(swept.change, abs=1e-9)
        assert state.n_clusters <= bounds.k_max
        state.make_room(8)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_items_in_no_cluster_are_placed(kind, name):
    problem, rng = problem_of(5, name)
    state = MAKERS[kind](problem, np.full(24, -1))
    tables = TableState(problem, np.full(24, -1))
    order = rng.permutation(24)
    state.sweep(order, Bounds(1, 24, NEVER))
    tables.sweep(order, Bounds(1, 24, NEVER))
    assert (state.labels >= 0).all()
    assert state.total() == pytest.approx(tables.total())


@pytest.mark.parametrize("name", ["vi", "binder"])
@pytest.mark.parametrize("k_max", [1, 4, 13, 40])
def test_clusters_that_share_no_group_are_joined_if_there_are_too_many(name, k_max):
    rng = np.random.default_rng(k_max)
    truth = np.sort(rng.integers(0, 25, 60))
    z = np.where(rng.random((8, 60)) < 0.1, 25 + np.arange(60), truth)
    problem = Problem.of(epl.Draws(z), losses.get(name))
    state = MemberState(problem, np.arange(60))
    before = TableState(problem, np.arange(60)).total()
    change = state.merge(Bounds(1, k_max, NEVER))
    after = TableState(problem, relabel(state.labels)).total()
    assert change == pytest.approx(after - before, abs=1e-9)
    assert state.total() == pytest.approx(after)
    assert state.n_clusters <= k_max
    # Items in no cluster find a place though they share no group with anyone there.
    state.move(np.flatnonzero(truth == truth[0]), np.full(np.sum(truth == truth[0]), -1))
    state.sweep(np.arange(60), Bounds(1, max(1, state.n_clusters), NEVER))
    assert (state.labels >= 0).all()


def matrix_problem(rng, name, n=9):
    """A random matrix with zeros, which is not the similarity of any draws."""
    half = np.triu(rng.random((n, n)) * (rng.random((n, n)) > 0.3), 1)
    return MatrixProblem(
        SimilarityMatrix.of(half + half.T + np.eye(n)).matrix, losses.for_matrix(name)
    )


def naive_value(problem, labels):
    """The loss of a similarity matrix, from the definitions of its terms."""
    n, cost = len(labels), problem.loss.parameters["cost"]
    matrix = problem.matrix.toarray() + np.eye(n)
    same = np.equal.outer(labels, labels)
    if problem.loss.family == "binder":
        pairs = np.where(same, (2 - cost) * (1 - matrix), cost * matrix)
        return float(np.triu(pairs, 1).sum())
    size, row, inside = same.sum(axis=1), matrix.sum(axis=1), (matrix * same).sum(axis=1)
    return float(((2 - cost) * np.log2(size) + cost * np.log2(row) - 2 * np.log2(inside)).mean())


@pytest.mark.parametrize("name", ["binder", "binder(cost=0.7)", "vi_lb", "vi_lb(cost=1.3)"])
@pytest.mark.parametrize("seed", range(4))
def test_moves_and_joins_on_a_matrix_are_differences_of_losses(name, seed):
    rng = np.random.default_rng(seed)
    problem = matrix_problem(rng, name)
    labels = relabel(rng.integers(0, 4, 9))
    value = naive_value(problem, labels)
    assert problem.expected(labels) == pytest.approx(value)
    assert PairState(problem.pairs, labels).total() + problem.constant == pytest.approx(value)
    for i in range(9):
        for target in range(labels.max() + 2):
            state = PairState(problem.pairs, labels)
            change = state.move(np.array([i]), np.array([target]))
            assert naive_value(problem, state.labels) - value == pytest.approx(change, abs=1e-10)
            again = PairState(problem.pairs, relabel(state.labels))
            np.testing.assert_allclose(state.inside, again.inside, atol=1e-12)
    changes = PairState(problem.pairs, labels).join_changes()
    for a in range(labels.max() + 1):
        for b in range(labels.max() + 1):
            joined = naive_value(problem, np.where(labels == b, a, labels)) - value
            assert changes[a, b] == (pytest.approx(joined, abs=1e-10) if a != b else np.inf)
    for bounds in (Bounds(1, 9, NEVER), Bounds(3, 3, NEVER), Bounds(4, 9, NEVER)):
        state = PairState(problem.pairs, np.arange(9))
        change = state.merge(bounds)
        now = naive_value(problem, state.labels)
        assert now - naive_value(problem, np.arange(9)) == pytest.approx(change, abs=1e-10)
        assert bounds.k_min <= state.n_clusters <= bounds.k_max
        swept = state.sweep(rng.permutation(9), bounds)
        assert naive_value(problem, state.labels) - now == pytest.approx(swept.change, abs=1e-10)


@pytest.mark.parametrize("name", ["binder", "vi_lb"])
def test_long_products_lose_nothing(name):
    """In a cluster of 3000 items the product of the factors would fall below the smallest number."""
    n = 3000
    star = np.zeros((n, n))
    star[0, 1:] = star[1:, 0] = 1
    problem = MatrixProblem(SimilarityMatrix.of(star + np.eye(n)).matrix, losses.for_matrix(name))
    labels = np.r_[0, np.ones(n - 1, int)]
    change = PairState(problem.pairs, labels).move(np.array([0]), np.array([1]))
    assert change == pytest.approx(
        problem.expected(0 * labels) - problem.expected(labels), rel=1e-9
    )


def test_no_cell_counts_more_items_than_there_are():
    """Tables of a loss end at the number of items: a kernel would read beyond them."""
    z = np.ma.masked_less(np.random.default_rng(1).integers(-2, 3, (40, 10)), 0)
    z[0] = 0
    problem = Problem.of(epl.Draws(z), losses.get("binder"))
    assert TableState(problem, np.zeros(10, dtype=np.int64)).counts.max() <= 10


@pytest.mark.parametrize("name", ["nvi", "nid", "id", "omari"])
@pytest.mark.parametrize(("k_min", "k_max"), [(1, 24), (3, 4), (8, 8)])
def test_two_items_move_where_that_lowers_the_loss(name, k_min, k_max):
    n_moves = 0
    for seed in range(5):
        problem, rng = problem_of(seed, name)
        labels = rng.permutation(np.arange(24) % (4 if k_max == 4 else 8))
        state, bounds = RatioState(problem, labels), Bounds(k_min, k_max, NEVER)
        before = state.total()
        done = state.move_pairs(rng.permutation(24), bounds)
        sums, area = state.joint.copy(), state.area.copy()
        assert state.total() - before == pytest.approx(done.change, abs=1e-9)
        np.testing.assert_allclose(state.joint, sums)
        np.testing.assert_allclose(state.area, area)
        assert list(state.sizes) == np.bincount(state.labels, minlength=len(state.sizes)).tolist()
        assert done.change <= 0
        assert k_min <= state.n_clusters <= k_max
        n_moves += done.n_moves
    assert n_moves > 0 or k_max < 24  # where few clusters are allowed, noise leaves little to move
