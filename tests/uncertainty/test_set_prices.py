"""The bound by prices for items, checked for all sets, against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import strategies
from epluribus._kernels.set_prices import Blocks
from epluribus._parallel import Stopper
from epluribus.uncertainty._set_prices import SetPrices, set_bound
from epluribus.uncertainty._set_ranges import SizeRange, alike_items

GO = np.zeros(1, dtype=np.uint8)


def bound(draws, best, cost=1.0, n_jobs=1):
    value = draws.mean(epl.engine.draw_losses(best.labels, draws, epl.losses.vi(cost)))
    return set_bound(draws, best.labels, value, cost, best.settings, 1.0, Stopper(), n_jobs)


def x_log_x(n):
    return n * np.log2(np.maximum(1, n))


def random_blocks(rng, n, t, cost):
    rows = rng.integers(3, size=(t, n))
    mass = rng.integers(1, 5, n)
    return Blocks(
        mass,
        np.ascontiguousarray((rows + 3 * np.arange(t)[:, None]).T, dtype=np.int32),
        np.repeat(rng.dirichlet(np.ones(t)), 3),
        x_log_x(np.arange(mass.sum() + 1)),
        np.zeros((n, n), dtype=np.int8),
        2.0 - cost,
    )


def excess(blocks, prices, inside):
    """Cost minus prices of a set, by its definition."""
    n = np.zeros(len(blocks.shares), dtype=int)
    for b in np.flatnonzero(inside):
        n[blocks.cells[b]] += blocks.mass[b]
    own = blocks.factor * x_log_x(blocks.mass[inside > 0].sum())
    return own - 2.0 * blocks.shares @ x_log_x(n) - prices @ inside


@pytest.mark.parametrize("cost", [0.4, 1.0, 1.7])
def test_the_search_finds_a_set_exactly_if_there_is_one(cost):
    rng = np.random.default_rng(1)
    answers = []
    for _ in range(60):
        blocks = random_blocks(rng, 7, 5, cost)
        prices = -blocks.mass * rng.uniform(0.2, 3.5) * rng.uniform(0.7, 1.3, 7)
        sets = np.array(list(product([0.0, 1.0], repeat=7)))[1:]
        sizes = sets @ blocks.mass
        values = np.array([excess(blocks, prices, each) for each in sets])
        for low, high in [(1, 3), (4, 6), (7, 30)]:
            right = bool((values[(sizes >= low) & (sizes <= high)] < -1e-9).any())
            tree = SizeRange(blocks, low, high, 1e-12)
            # A few nodes at a time: the search goes on where it was.
            while (answer := tree.search(prices, 3, GO)) == 2:
                pass
            assert answer == right
            if answer:
                assert excess(blocks, prices, tree.inside) < 0.0
                assert low <= tree.inside @ blocks.mass <= high
            answers.append(answer)
    assert 0.1 < np.mean(answers) < 0.9


@pytest.mark.parametrize("cost", [0.4, 1.0, 1.7])
@pytest.mark.parametrize("weighted", [False, True])
@given(z=strategies.draws(max_items=7, max_draws=10))
def test_never_above_the_minimum(cost, weighted, z):
    weights = np.random.default_rng(z.size).random(len(z)) + 0.05 if weighted else None
    draws, loss = epl.Draws(z, weights=weights), epl.losses.vi(cost)
    least = epl.exact(draws, loss)
    # Also for a partition that is not the best.
    for labels in (least.labels, draws.distinct[0].astype(np.int64)):
        value = draws.mean(epl.engine.draw_losses(labels, draws, loss))
        settings = least.settings
        found = set_bound(draws, labels, value, cost, settings, 1.0, Stopper(), 1)
        assert found <= least.expected_loss + 1e-12


def in_doubt(rng, n_items, n_draws, n_doubtful):
    """Three clear clusters, and items that are in one of two of them."""
    truth = rng.choice(3, n_items, p=[1 / 6, 1 / 3, 1 / 2])
    z = np.tile(truth, (n_draws, 1))
    for i in rng.choice(n_items, n_doubtful, replace=False):
        z[rng.random(n_draws) < rng.beta(1, 2), i] = (truth[i] + 1) % 3
    merged = rng.random(n_draws) < 0.15
    z[merged] = np.where(z[merged] == 0, 1, z[merged])
    return z


@pytest.mark.parametrize("n_items", [60, 400])
def test_proves_samples_with_items_in_doubt(n_items):
    draws = epl.Draws(in_doubt(np.random.default_rng(4), n_items, 120, 14))
    best = epl.minimize(draws, rng=1)
    found = epl.certificate(best, draws, time_limit=None)
    assert found.verdict == "proved optimal"
    assert found.method == "prices of items, checked for all clusters"
    assert bound(draws, best) == bound(draws, best, n_jobs=2)


def test_a_partition_that_is_not_optimal_is_not_proved():
    draws = epl.Draws(in_doubt(np.random.default_rng(4), 40, 80, 8))
    best = epl.minimize(draws, rng=1)
    worse = best.labels.copy()
    worse[:3] = (worse[:3] + 1) % best.n_clusters
    found = epl.certificate(worse, draws, time_limit=None)
    assert not found.proved
    assert found.lower_bound <= best.expected_loss + 1e-12


def test_conditions_make_the_bound_stronger_and_keep_it_below_the_minimum():
    rng = np.random.default_rng(5)
    raised = 0
    for seed in range(12):
        truth = rng.integers(2, size=8)
        z = np.where(rng.random((20, 8)) < 0.25, rng.integers(3, size=(20, 8)), truth)
        draws = epl.Draws(z)
        asked = [
            {"must_link": [(0, 1), (1, 2)]},
            {"cannot_link": [(0, 1), (2, 3)]},
            {"must_link": [(0, 4)], "cannot_link": [(4, 5), (0, 6)]},
            {"min_size": 3},
        ][seed % 4]
        best = epl.minimize(draws, rng=1, **asked)
        free = epl.exact(draws).expected_loss
        # So few items are solved to optimality: the estimate is the best that is allowed.
        found = bound(draws, best)
        assert found <= best.expected_loss + 1e-12
        raised += found > free + 1e-6
    assert raised >= 4


def test_too_many_blocks_or_draws_give_no_bound():
    rng = np.random.default_rng(0)
    draws = epl.Draws(rng.integers(2, size=(50, 300)))
    best = epl.minimize(draws, rng=1)
    assert bound(draws, best) == -np.inf


def test_items_under_conditions_are_blocks_of_their_own():
    draws = epl.Draws([[0, 0, 0, 1, 1], [0, 0, 0, 1, 2]])
    assert len(np.unique(alike_items(draws, None))) == 3
    best = epl.minimize(draws, rng=1, cannot_link=[(0, 1)])
    alike = alike_items(draws, best.settings.constraints)
    assert len(np.unique(alike)) == 5
    sets = SetPrices(draws, best.labels, 1.0, 1.0, alike, best.settings.constraints, Stopper(), 1)
    assert sorted(sets.blocks.ties.sum(axis=0)) == [0, 0, 0, 2, 2]
