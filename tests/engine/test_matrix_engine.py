"""The engine on a similarity matrix, against formulas written out item by item and against draws."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

import epluribus as epl
from epluribus import losses
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.engine.execution import copied
from epluribus.engine.matrix import MatrixEngine

LOSSES = ("binder", "binder(cost=0.7)", "vi_lb", "vi_lb(cost=1.3)")


def random_matrix(rng, n, share_of_zeros=0.3):
    half = np.triu(rng.random((n, n)) * (rng.random((n, n)) > share_of_zeros), 1)
    return half + half.T + np.eye(n)


def naive_value(name, matrix, labels):
    """The loss from the definitions of its terms."""
    n, loss = len(labels), losses.for_matrix(name)
    cost = loss.parameters["cost"]
    total = 0.0
    if loss.family == "binder":
        for i in range(n):
            for j in range(i):
                p = matrix[i, j]
                total += (2 - cost) * (1 - p) if labels[i] == labels[j] else cost * p
        return total
    for i in range(n):
        same = [j for j in range(n) if labels[j] == labels[i]]
        total += (2 - cost) * math.log2(len(same)) + cost * math.log2(sum(matrix[i]))
        total -= 2 * math.log2(sum(matrix[i, j] for j in same))
    return total / n


def engine_of(matrix, name):
    return MatrixEngine(SimilarityMatrix.of(matrix).matrix, losses.for_matrix(name))


@pytest.mark.parametrize("name", LOSSES)
def test_costs_moves_and_joins_are_differences_of_values(name):
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 7, 7):
        matrix = random_matrix(rng, n)
        engine = engine_of(matrix, name)
        labels = epl.partition.canonical(rng.integers(0, 4, n))
        value = naive_value(name, matrix, labels)
        assert engine.value_of(labels) == pytest.approx(value, abs=1e-12)
        for i in range(n):
            state = engine.start(labels)
            costs = engine.costs(state, np.array([i]))[0]
            for target in range(len(costs)):
                moved = labels.copy()
                moved[i] = target
                change = naive_value(name, matrix, moved) - value
                assert costs[target] - costs[labels[i]] == pytest.approx(change, abs=1e-10)
                exact = engine.exact(state, np.array([i]), np.array([target]))
                assert exact[0] == pytest.approx(costs[target], abs=1e-12)
                after = engine.apply(copied(state), np.array([i]), np.array([target]))
                assert epl.loss(after.labels, moved) == 0
                np.testing.assert_allclose(
                    after.inside, engine.execution.sums_inside(after.labels), atol=1e-12
                )
        for a in range(labels.max() + 1):
            changes = engine.join_changes(engine.start(labels), a)
            for b in range(labels.max() + 1):
                if a == b:
                    assert changes[b] == np.inf
                    continue
                joined = np.where(labels == b, a, labels)
                change = naive_value(name, matrix, joined) - value
                assert changes[b] == pytest.approx(change, abs=1e-10)
                state = engine.start(labels)
                engine.join(state, a, b)
                assert epl.loss(state.labels, joined) == 0
                np.testing.assert_allclose(
                    state.inside, engine.execution.sums_inside(state.labels), atol=1e-12
                )


@pytest.mark.parametrize("name", LOSSES)
def test_long_products_lose_nothing(name):
    """In a cluster of 3000 items the product of the factors would fall below the smallest number."""
    n = 3000
    matrix = csr_array((np.ones(2 * (n - 1)), (np.r_[np.zeros(n - 1, int), np.arange(1, n)],
                        np.r_[np.arange(1, n), np.zeros(n - 1, int)])), shape=(n, n))  # fmt: skip
    engine = MatrixEngine(matrix, losses.for_matrix(name))
    labels = np.r_[0, np.ones(n - 1, int)]
    costs = engine.costs(engine.start(labels), np.array([0]))[0]
    change = engine.value_of(np.zeros(n, int)) - engine.value_of(labels)
    assert costs[1] - costs[0] == pytest.approx(change, rel=1e-9)


def test_binder_is_the_expected_loss_over_the_draws(draws_of):
    z, weights = draws_of
    draws = epl.Draws(z, weights=weights)
    for cost in (0.6, 1.0, 1.5):
        loss = epl.losses.binder(cost)
        engine = MatrixEngine(SimilarityMatrix.of(epl.psm(draws)).matrix, loss)
        for labels in (z[0], z[1], np.zeros(z.shape[1]), np.arange(z.shape[1])):
            ref = epl.expected_loss(labels, draws, loss)
            assert engine.value_of(epl.partition.canonical(labels)) == pytest.approx(ref)


def test_vi_lb_of_one_draw_is_vi():
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.integers(0, 4, (2, 9))
        engine = engine_of(epl.psm([b]), "vi_lb")
        assert engine.value_of(epl.partition.canonical(a)) == pytest.approx(epl.loss(a, b, "vi"))


def test_vi_lb_is_below_the_expected_vi_but_for_a_constant(draws_of):
    """The bound of Wade & Ghahramani: their constant is E log2 of the size of an item's cluster."""
    z, _ = draws_of
    matrix = epl.psm(z)
    engine = engine_of(matrix, "vi_lb")
    sizes = np.array([[np.sum(row == row[i]) for i in range(len(row))] for row in z])
    constant = np.mean(np.log2(sizes)) - np.mean(np.log2(matrix.sum(axis=1)))
    for labels in (*z[:5], np.zeros(z.shape[1], int), np.arange(z.shape[1])):
        canonical = epl.partition.canonical(labels)
        assert engine.value_of(canonical) + constant <= epl.expected_loss(labels, z, "vi") + 1e-12


@pytest.fixture
def draws_of():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, 12)
    z = np.where(rng.random((40, 12)) < 0.3, rng.integers(0, 3, (40, 12)), truth)
    return z, rng.random(40)
