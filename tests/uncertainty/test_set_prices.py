"""The bound by prices for items, checked for all sets, against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import strategies
from epluribus._kernels.set_prices import search_sets
from epluribus._parallel import Stopper
from epluribus.draws.expected import draw_losses
from epluribus.uncertainty._bounds import set_bound

GO = np.zeros(1, dtype=np.uint8)


def x_log_x(n):
    return n * np.log2(np.maximum(1, n))


@pytest.mark.parametrize("cost", [0.4, 1.0, 1.7])
def test_the_search_finds_a_set_exactly_if_there_is_one(cost):
    rng = np.random.default_rng(1)
    answers = []
    for _ in range(60):
        mass = rng.integers(1, 5, 7)
        cells = np.ascontiguousarray((rng.integers(3, size=(5, 7)) + 3 * np.arange(5)[:, None]).T)
        shares = np.repeat(rng.dirichlet(np.ones(5)), 3)
        logs = x_log_x(np.arange(mass.sum() + 1))

        def excess(inside, prices, mass=mass, cells=cells, shares=shares):
            """Cost minus prices of a set, by its definition."""
            n = np.zeros(15, dtype=int)
            for b in np.flatnonzero(inside):
                n[cells[b]] += mass[b]
            own = (2.0 - cost) * x_log_x(mass[inside > 0].sum())
            return own - 2.0 * shares @ x_log_x(n) - prices @ inside

        sets = np.array(list(product([0.0, 1.0], repeat=7)))[1:]
        # Prices near the cost of an item in some set: about half of the sizes have a set that costs less.
        some = sets[rng.integers(len(sets))]
        each = excess(some, np.zeros(7)) / (mass @ some)
        prices = mass * (each + rng.uniform(-0.5, 0.1, 7))
        sizes = sets @ mass
        values = np.array([excess(each, prices) for each in sets])
        for size in (2, 5, 9, 14):
            right = bool((values[sizes == size] < -1e-9).any())
            given = (mass, cells, shares, logs, 2.0 - cost, prices, size, 1e-12)
            answer, n_nodes = search_sets(*given, 10**6, GO)
            assert answer == right
            # With fewer nodes it says that it does not know.
            assert n_nodes == 1 or search_sets(*given, n_nodes - 1, GO)[0] == 2
            answers.append(answer)
    assert 0.1 < np.mean(answers) < 0.9


@pytest.mark.parametrize("cost", [0.4, 1.0, 1.7])
@pytest.mark.parametrize("weighted", [False, True])
@given(z=strategies.draws(max_items=7, max_draws=10))
def test_never_above_the_minimum(cost, weighted, z):
    weights = np.random.default_rng(z.size).random(len(z)) + 0.05 if weighted else None
    draws, loss = epl.Draws(z, weights=weights), epl.losses.vi(cost)
    least = epl.search.exact(draws, loss)
    # Also for a partition that is not the best.
    for labels in (least.labels, draws.distinct[0].astype(np.int64)):
        value = draws.mean(draw_losses(labels, draws, loss))
        found = set_bound(draws, labels, value, cost, Stopper(), 1)
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


def test_the_proof_needs_the_best_partition_and_no_number_of_threads():
    draws = epl.Draws(in_doubt(np.random.default_rng(4), 60, 120, 14))
    best = epl.minimize(draws, rng=1)
    given = (draws, best.labels, best.expected_loss, 1.0)
    assert set_bound(*given, Stopper(), 1) == set_bound(*given, Stopper(), 2)
    other = np.where(np.arange(60) == 0, 1 - best.labels, best.labels)
    worse = epl.certificate(other, draws, time_limit=None)
    assert not worse.proved
    assert worse.lower_bound <= best.expected_loss * (1 + 1e-12)


def test_too_many_blocks_or_draws_give_no_bound():
    rng = np.random.default_rng(0)
    draws = epl.Draws(rng.integers(2, size=(50, 300)))
    best = epl.minimize(draws, rng=1)
    given = (draws, best.labels, best.expected_loss, 1.0)
    assert set_bound(*given, Stopper(), 1) == -np.inf
