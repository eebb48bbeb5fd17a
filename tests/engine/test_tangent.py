"""Quick looks at a loss whose f0 is not linear: its tangent, and sweeps that rely on it."""

import numpy as np
import pytest

import epluribus as epl
import strategies
from engine_cases import LOSSES, get, make, random_partition, random_sample
from epluribus._kernels._jit import kernel
from epluribus._kernels.engine import cost_of, glance
from epluribus.engine import Settings

RATIOS = [name for name in LOSSES if not get(name).linear]
SMOOTH = ["nvi", "omari", "ratio"]
"""Neither the larger of two entropies, nor a jump, nor a root at 0."""


def total_loss(loss, joint, size, group, weights, n_items):
    """The total loss as a function of the sums, in plain Python."""
    pairs = zip(joint, group, strict=True)
    values = [loss.f0(float(j), float(size), float(g), float(n_items)) for j, g in pairs]
    return float(np.dot(values, weights))


@kernel
def glances(e, row, items, out):
    """What a glance says of every cluster, and of a new one, for each item."""
    for q in range(items.shape[0]):
        glance(e, row, items[q])
        for s in range(out.shape[1]):
            out[q, s] = cost_of(e, s)


def sums_of(engine, state):
    joint, size, _ = engine.sums(state)
    group = [
        engine.loss.tables(engine.n_items)[2][np.bincount(row)].sum() for row in engine.table.T
    ]
    return joint, size, np.array(group)


def quick_look(engine, state):
    out = np.empty((engine.n_items, int(state.n_clusters[0]) + 1))
    glances(state, engine._row, np.arange(engine.n_items), out)
    return out


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_against_finite_differences(name):
    """A small step: the step that the kernel takes, as large as one item, changes them by little."""
    rng = np.random.default_rng(3)
    draws = epl.Draws(strategies.random_draws(rng, 200, 8, 5), weights=rng.random(8) + 0.1)
    engine = make(draws, name, "tables")
    state = engine.start(epl.partition.canonical(rng.integers(6, size=200)))
    quick_look(engine, state)  # the slope is computed when it is first needed
    joint, size, group = sums_of(engine, state)
    known = group, engine.weights, 200
    step = 1e-4
    slope = [total_loss(engine.loss, joint, size + d, *known) for d in (-step, step)]
    assert state.slope[0] == pytest.approx((slope[1] - slope[0]) / (2 * step), rel=1e-3)
    for t in range(8):
        apart = step * (np.arange(8) == t)
        fold = [total_loss(engine.loss, joint + d, size, *known) for d in (-apart, apart)]
        assert state.fold[t] == pytest.approx((fold[1] - fold[0]) / (2 * step), rel=1e-3)


@pytest.mark.parametrize("name", RATIOS)
def test_a_glance_is_the_tangent(name):
    """Costs are linear in what an item adds to the sums, whether or not the tangent says much of the loss."""
    draws, rng = random_sample(5)
    engine, n = make(draws, name, "tables"), draws.n_items
    labels = random_partition(rng, n)
    state = engine.start(labels)
    comp = quick_look(engine, state)
    f1, f2, _ = engine.loss.tables(n)
    for i in range(n):
        others = np.arange(n) != i
        for s in range(labels.max() + 2):
            size = (labels[others] == s).sum()
            ref = state.slope[0] * (f2[size + 1] - f2[size])
            for t, row in enumerate(draws.distinct):
                cell = ((labels == s) & (row == row[i]) & others).sum()
                ref += state.fold[t] * (f1[cell + 1] - f1[cell])
            assert comp[i, s] == pytest.approx(ref, rel=1e-4, abs=1e-5 * draws.total_weight)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_glance_says_nearly_what_a_move_changes(name):
    rng = np.random.default_rng(0)
    draws = epl.Draws(strategies.random_draws(rng, 150, 40, 4))
    engine = make(draws, name, "tables")
    labels = epl.partition.canonical(rng.integers(4, size=150))
    state, items = engine.start(labels), np.arange(150)
    here = items, labels
    comp, ref = quick_look(engine, state), engine.costs(state, items)
    comp, ref = comp - comp[here][:, None], ref - ref[here][:, None]
    assert np.abs(comp - ref).max() < 0.05 * np.abs(ref).max()


@pytest.mark.parametrize("name", SMOOTH)
def test_the_tangent_follows_the_partition(name):
    """After a sweep the derivatives are those of the new partition, up to a few percent."""
    rng = np.random.default_rng(1)
    draws = epl.Draws(strategies.random_draws(rng, 60, 30, 4))
    engine = make(draws, name, "tables")
    state = engine.start(epl.partition.canonical(rng.integers(8, size=60)))
    first = state.fold.copy()
    for _ in range(3):
        state = engine.sweep(state, rng.permutation(60), thorough=False).state
    state = engine.sweep(state, np.empty(0, np.int64), thorough=False).state  # looks once more
    fresh = engine.start(state.labels)
    assert np.abs(state.fold - fresh.fold).sum() <= 0.02 * np.abs(fresh.fold).sum()
    assert np.abs(first - fresh.fold).sum() > 0.1 * np.abs(fresh.fold).sum()
    quick_look(engine, state), quick_look(engine, fresh)
    assert state.slope[0] == pytest.approx(fresh.slope[0], rel=1e-9)


@pytest.mark.parametrize("name", [name for name in RATIOS if name != "zero_one"])
def test_quick_sweeps_overlook_little(name):
    """From random partitions to where no glance finds a move: nearly as low as thorough sweeps lead."""
    gained = np.zeros(2)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        draws = epl.Draws(strategies.random_draws(rng, 40, 30, 4))
        engine = make(draws, name, "tables")
        labels = random_partition(rng, 40)
        for way in range(2):
            state, n_moves = engine.start(labels), 1
            order = np.random.default_rng(seed)
            while n_moves:
                swept = engine.sweep(state, order.permutation(40), thorough=bool(way))
                state, n_moves = swept.state, swept.n_moves
                gained[way] -= swept.change
    assert gained[0] > 0.9 * gained[1]


@pytest.mark.parametrize("name", SMOOTH)
def test_a_state_made_narrower_can_be_nudged(name):
    """Fewer columns, the same tangent: the nudges are the same."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        draws = epl.Draws(strategies.random_draws(rng, 30, 10, 3))
        engine = make(draws, name, "tables")
        labels = epl.partition.canonical(rng.integers(4, size=30))
        wide = engine.apply(engine.start(np.arange(30)), np.arange(30), np.arange(30))
        for s in range(4):
            wide, _ = engine.lift(wide, np.flatnonzero(labels == s))
        narrow = engine.execution.narrowed(wide)
        assert narrow.sizes.size < wide.sizes.size
        fresh = engine.start(narrow.labels)
        comp, ref = (engine.nudge(state, 30, Settings(k_max=6)) for state in (narrow, fresh))
        assert comp.n_moves == ref.n_moves
        assert comp.change == pytest.approx(ref.change, rel=1e-9, abs=1e-9)
        np.testing.assert_array_equal(comp.state.labels, ref.state.labels)
