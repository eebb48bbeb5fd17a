"""The bound by exact optima of a few draws, against enumeration."""

import numpy as np
import pytest
from hypothesis import given

import epluribus as epl
import strategies
from epluribus._kernels.few_draws import Sets, least_cost
from epluribus._parallel import Stopper
from epluribus.engine.expected import draw_losses
from epluribus.uncertainty._few_draws import FEW, MORE, FewDraws, FewDrawsBound
from epluribus.uncertainty._matching import match_draws


def all_partitions(n):
    """Labels of all partitions of n items."""
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, k] for row in rows for k in range(max(row) + 2)]
    return rows


def x_log_x(counts):
    counts = np.asarray(counts)[np.asarray(counts) > 0]
    return float(counts @ np.log2(counts))


def bound(draws, labels, loss, n_jobs=1):
    blocks = match_draws(draws, loss, Stopper(), n_jobs)
    found = FewDrawsBound(draws, blocks, labels, loss, Stopper(), n_jobs, lambda _: None)
    return found.grow((*FEW, *MORE))


@pytest.mark.parametrize("cost", [0.3, 1.0, 1.8])
def test_least_cost_is_that_of_the_best_partition_of_the_blocks(cost):
    rng = np.random.default_rng(1)
    mass = np.array([3, 1, 7, 2, 1, 4])
    labels = rng.integers(3, size=(4, 6))
    shares = rng.random(4)
    logs = np.array([x_log_x([n]) for n in range(mass.sum() + 1)])
    mates = (labels[:, :, None] == labels[:, None, :]) @ (1 << np.arange(6))
    sets = Sets(np.zeros(64, dtype=np.int64), np.zeros(64), np.zeros(64))
    found = least_cost(mass, mates, shares, 2.0 - cost, logs, sets)
    costs = []
    for row in np.array(all_partitions(6)):
        own = x_log_x(np.bincount(row, weights=mass))
        inner = [x_log_x(np.bincount(row * 3 + draw, weights=mass)) for draw in labels]
        costs.append((2.0 - cost) * shares.sum() * own - 2.0 * float(shares @ inner))
    assert found == pytest.approx(min(costs), abs=1e-10)


@pytest.mark.parametrize("cost", [0.4, 1.0, 1.7])
@pytest.mark.parametrize("weighted", [False, True])
@given(z=strategies.draws(max_items=7, max_draws=12))
def test_never_above_the_minimum(cost, weighted, z):
    weights = np.random.default_rng(z.size).random(len(z)) + 0.05 if weighted else None
    draws, loss = epl.Draws(z, weights=weights), epl.losses.vi(cost)
    least = epl.exact(draws, loss).expected_loss
    assert bound(draws, epl.Draws(z[:1]).distinct[0].astype(np.int64), loss) <= least + 1e-12


def boundary(rng, n_items, n_draws, n_doubtful):
    """Three clear clusters, some items between two of them."""
    z = np.tile(
        np.repeat([0, 1, 2], [n_items // 2, n_items // 3, n_items - n_items // 2 - n_items // 3]),
        (n_draws, 1),
    )
    for i in rng.choice(n_items, n_doubtful, replace=False):
        z[rng.random(n_draws) < rng.beta(1, 2), i] = rng.integers(3)
    return z


def test_groups_only_raise_the_bound_and_may_reach_the_optimum():
    draws = epl.Draws(boundary(np.random.default_rng(0), 60, 40, 12))
    loss, best = epl.losses.get("vi"), epl.minimize(draws, rng=1)
    (block,) = match_draws(draws, loss, Stopper(), 1)
    to_best = draw_losses(best.labels, draws, loss)
    work = FewDraws(draws, block, to_best[block.columns], loss, lambda: False)
    values = [work.value]
    for limit in (3, 6, 9, 12):
        work.grow(limit)
        values.append(work.value)
    assert values == sorted(values)
    assert values[0] == pytest.approx(block.value)
    # Groups share out the draws: nothing is counted twice, nothing is lost.
    np.testing.assert_allclose(sum(group.shares for group in work.groups), block.mass)
    gaps = [best.expected_loss - value for value in values]
    assert gaps[-1] < 0.2 * gaps[0]
    assert gaps[-1] > -1e-12


def test_the_certificate_says_how_it_was_reached():
    draws = epl.Draws(boundary(np.random.default_rng(2), 6000, 60, 12))
    best = epl.minimize(draws, rng=1)
    found = epl.certificate(best, draws, time_limit=None)
    assert found.method == "the exact optima of a few draws at a time"
    assert found.gap < 0.03 * best.expected_loss


def test_same_bound_for_any_number_of_threads():
    draws = epl.Draws(boundary(np.random.default_rng(3), 50, 700, 6))
    best = epl.minimize(draws, rng=1)
    loss = epl.losses.get("vi")
    assert bound(draws, best.labels, loss, 1) == bound(draws, best.labels, loss, 2)
