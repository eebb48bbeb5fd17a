"""Draws with missing labels: losses, costs, moves, joins and searches against plain Python."""

import itertools

import numpy as np
import pytest

import epluribus as epl
from epluribus import losses
from epluribus.engine import PartialEngine, Settings, engine_for
from epluribus.partition import partitions, relabel
from epluribus.search import _minimize

LOSSES = [
    "vi",
    "vi(cost=0.6)",
    "binder",
    "binder(cost=1.4)",
    "nvi",
    "id",
    "nid",
    "omari",
    "zero_one",
]
OWN = epl.Loss(
    lambda joint, size, group, n: 0.1 + (2 * size + group - 3 * joint) / n,
    lambda n: float(n**1.5),
    lambda n: float(n * n),
    lambda n: float(n),
    name="own",
    linear=True,
)


def sample(seed, n_items=9, n_draws=14, holes=0.3, weights=False):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n_items)
    noise = rng.integers(0, 4, (n_draws, n_items))
    z = np.where(rng.random((n_draws, n_items)) < 0.3, noise, truth).astype(float)
    z[rng.random(z.shape) < holes] = np.nan
    z[0], z[:, 0] = np.nan_to_num(z[0]), np.nan_to_num(z[:, 0])
    return z, rng.random(n_draws) + 0.1 if weights else np.ones(n_draws)


def slow(labels, z, weights, loss):
    """Mean loss, draw by draw, on the items that the draw has seen."""
    values = [
        epl.loss(labels[seen], row[seen], loss) for row, seen in zip(z, ~np.isnan(z), strict=True)
    ]
    return np.average(values, weights=weights)


@pytest.mark.parametrize("loss", [*LOSSES, OWN], ids=str)
@pytest.mark.parametrize("holes", [0.0, 0.3, 0.8])
def test_expected_loss(loss, holes):
    rng = np.random.default_rng(1)
    for seed in range(4):
        z, weights = sample(seed, holes=holes, weights=seed % 2 == 1)
        labels = relabel(rng.integers(0, 4, 9))
        draws = epl.Draws(z, weights=weights)
        assert epl.expected_loss(labels, draws, loss) == pytest.approx(
            slow(labels, z, weights, loss), abs=1e-12
        )
        per_draw = epl.expected_loss(labels, draws, loss, per_draw=True)
        assert per_draw[3] == pytest.approx(slow(labels, z[3:4], None, loss), abs=1e-12)


def test_many_small_clusters():
    # Their contingency tables would be nearly empty: the cells in use are found in another way.
    rng = np.random.default_rng(2)
    z = rng.integers(0, 900, (3, 1000)).astype(float)
    z[rng.random(z.shape) < 0.4] = np.nan
    z[0] = np.nan_to_num(z[0])
    labels = relabel(rng.integers(0, 800, 1000))
    for loss in ("vi", "binder", "nvi"):
        assert epl.expected_loss(labels, z, loss) == pytest.approx(slow(labels, z, None, loss))


def kinds(loss):
    return ["partial", "pairs"] if losses.get(loss).family == "binder" else ["partial"]


@pytest.mark.parametrize("loss", [*LOSSES, OWN], ids=str)
def test_costs_moves_and_joins(loss):
    chosen = losses.get(loss)
    for seed, kind in itertools.product(range(2), kinds(loss)):
        z, weights = sample(seed, weights=seed % 2 == 1, holes=0.4)
        draws = epl.Draws(z, weights=weights)
        engine = PartialEngine(draws.item_major, draws.weights, chosen, kind)
        total = engine.total_weight
        rng = np.random.default_rng(seed)
        labels = relabel(np.arange(9) % 4)
        state = engine.start(labels)

        def value(labels, draws=draws):
            return epl.expected_loss(labels, draws, chosen)

        for _ in range(6):
            labels = state.labels.copy()
            k, now = int(labels.max()) + 1, value(labels)
            assert engine.value(state) == pytest.approx(now, abs=1e-12)
            costs = engine.costs(state, np.arange(9))
            for i, s in itertools.product(range(9), range(k + 1)):
                moved = labels.copy()
                moved[i] = s
                own = labels[i]
                exact = engine.exact(state, np.array([i, i]), np.array([s, own]))
                assert (exact[0] - exact[1]) / total == pytest.approx(value(moved) - now, abs=1e-11)
                assert (costs[i, s] - costs[i, own]) / total == pytest.approx(
                    value(moved) - now, abs=1e-5
                )
            for a in range(k):
                changes = engine.join_changes(state, a)
                for s in set(range(k)) - {a}:
                    joined = value(np.where(labels == s, a, labels))
                    assert changes[s] / total == pytest.approx(joined - now, abs=1e-11)
            # A random move, into a new cluster now and then, or a join.
            if k > 3:
                engine.join(state, *rng.choice(k, 2, replace=False))
            else:
                i = int(rng.integers(9))
                target = (labels[i] + 1 + rng.integers(k)) % (k + 1)
                state = engine.apply(state, np.array([i]), np.array([target]))


@pytest.mark.parametrize("loss", ["vi", "binder", "nvi", "omari", OWN], ids=str)
def test_no_partition_is_better(loss, monkeypatch):
    for seed in range(3):
        z, weights = sample(seed, n_items=6, weights=seed == 1, holes=0.2 + 0.3 * seed)
        draws = epl.Draws(z, weights=weights)
        every = [(epl.expected_loss(one, draws, loss), one) for one in partitions(6)]
        least = min(value for value, _ in every)
        if losses.get(loss).linear:
            assert epl.exact(draws, loss).expected_loss == pytest.approx(least)
            of_two = min(value for value, one in every if one.max() == 1)
            assert epl.exact(draws, loss, k=2).expected_loss == pytest.approx(of_two)
            assert epl.certificate(epl.minimize(draws, loss), draws).lower_bound == pytest.approx(
                least
            )
        else:
            with pytest.raises(ValueError, match="'loss' must be linear"):
                epl.exact(draws, loss)
        with monkeypatch.context() as patch:
            patch.setattr(_minimize, "EXACT_ITEMS", 0)
            best = epl.minimize(draws, loss, rng=seed)
        assert best.expected_loss == pytest.approx(least)
        assert epl.expected_loss(best.labels, draws, loss) == pytest.approx(least)


@pytest.mark.parametrize("loss", ["vi", "binder(cost=0.7)", OWN], ids=str)
def test_lazy_sweeps_make_the_same_moves(loss):
    for seed in range(4):
        z, weights = sample(seed, n_items=60, n_draws=30, holes=0.6, weights=seed % 2 == 1)
        draws = epl.Draws(z, weights=weights)
        engine = PartialEngine(draws.item_major, draws.weights, losses.get(loss), "partial")
        rng = np.random.default_rng(seed)
        labels = relabel(rng.integers(0, 6, 60))
        states = [engine.start(labels), engine.start(labels)]
        for _ in range(8):
            order = rng.permutation(60)
            swept = [
                engine.sweep(state, order, lazy=lazy)
                for state, lazy in zip(states, (True, False), strict=True)
            ]
            states = [one.state for one in swept]
            np.testing.assert_array_equal(states[0].labels, states[1].labels)
            assert swept[0].change == pytest.approx(swept[1].change)


def test_complete_draws_in_either_engine():
    z, _ = sample(3, n_items=40, n_draws=60, holes=0.0)
    draws = epl.Draws(z)
    labels = relabel(np.arange(40) % 3)
    for loss in ("vi", "binder", "nvi"):
        plain, chosen = engine_for(draws, losses.get(loss)), losses.get(loss)
        other = PartialEngine(draws.item_major + np.uint8(1), draws.weights, chosen, "partial")
        order = np.random.default_rng(1).permutation(40)
        found = [
            engine.sweep(engine.start(labels), order, Settings()).state for engine in (plain, other)
        ]
        np.testing.assert_array_equal(*(relabel(state.labels) for state in found))
        np.testing.assert_allclose(plain.trivial_values(), other.trivial_values())


def test_the_same_answer_for_any_order_and_threads():
    z, _ = sample(5, n_items=30, n_draws=40, holes=0.5)
    best = epl.minimize(epl.Draws(z), rng=1, n_jobs=1)
    assert epl.loss(best.labels, epl.minimize(epl.Draws(z), rng=1, n_jobs=2).labels) == 0
    rng = np.random.default_rng(1)
    items, draws = rng.permutation(30), rng.permutation(40)
    other = epl.minimize(epl.Draws(z[draws][:, items]), rng=1)
    assert epl.loss(best.labels[items], other.labels) == 0


def test_nearer_to_the_truth_than_other_codings():
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 6, 300)
    z = np.where(rng.random((60, 300)) < 0.2, rng.integers(0, 6, (60, 300)), truth)
    hole = rng.random(z.shape) < 0.8
    best = epl.minimize(np.ma.masked_array(z, hole), rng=1)
    assert epl.loss(best.labels, truth) < 0.2
    for coded in (np.where(hole, 6, z), np.where(hole, 6 + np.arange(300), z)):
        assert epl.loss(epl.minimize(coded, rng=1).labels, truth) > 1


def test_uncertainty_by_brute_force():
    for seed in range(3):
        z, weights = sample(seed, weights=seed == 1, holes=0.4)
        draws, seen = epl.Draws(z, weights=weights), ~np.isnan(z)
        labels = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
        matrix, counts = epl.psm(draws), epl.uncertainty.seen_together(draws)
        for i, j in itertools.product(range(9), repeat=2):
            both = seen[:, i] & seen[:, j]
            assert counts[i, j] == both.sum()
            share = (
                weights @ (both & (z[:, i] == z[:, j])) / (weights @ both) if both.any() else np.nan
            )
            assert matrix[i, j] == pytest.approx(share, nan_ok=True)
        table = epl.uncertainty.items(labels, draws)
        for i in range(9):
            others = np.flatnonzero((labels == labels[i]) & (np.arange(9) != i))
            pairs = [(seen[:, i] & seen[:, j], z[:, i] == z[:, j]) for j in others]
            share = sum(weights @ (a & b) for a, b in pairs) / sum(weights @ a for a, _ in pairs)
            assert table.support[i] == pytest.approx(share)
        for loss in ("vi", "binder", "nvi", "omari"):
            part = epl.uncertainty.items(labels, draws, loss=loss).contribution
            assert part.sum() == pytest.approx(epl.expected_loss(labels, draws, loss))
        found = epl.uncertainty.clusters(labels, draws)
        assert found.cohesion.shape == (3,)
        best = [
            max(_jaccard(set(np.flatnonzero((labels == 1) & s)), z[t], s) for t in [t])
            for t, s in enumerate(seen)
            if s[3:6].any()
        ]
        share = [w for w, s in zip(weights, seen, strict=True) if s[3:6].any()]
        assert found.stability[1] == pytest.approx(np.average(best, weights=share))
        ball = epl.credible_ball(labels, draws)
        assert set(np.flatnonzero(ball.horizontal[0] < 0)) <= set(range(9))


def _jaccard(mine, row, seen):
    """The largest Jaccard index of a set with a cluster of the draw, among the items it has seen."""
    groups = [set(np.flatnonzero(seen & (row == label))) for label in np.unique(row[seen])]
    return max(len(mine & group) / len(mine | group) for group in groups)
