"""Losses, executions and samples on which the engine is tried, and what must be true of any state."""

import math

import numpy as np
import pytest

import epluribus as epl
import strategies
from epluribus.engine import Engine, Settings

KINDS = ("tables", "members", "pairs")


def odd(n):
    return (n % 3) * 1.7 - 0.3 * n


def square(n):
    return float(n * n)


def linear(joint, size, group, n_items):  # noqa: ARG001
    return 0.5 * size + group - 1.3 * joint


def ratio(joint, size, group, n_items):
    return (0.5 * size + group - 1.3 * joint) / (size + 0.1 * n_items * n_items)


def root(joint, size, group, n_items):  # noqa: ARG001
    """Steepest where a draw is the same partition: there the tangent says little."""
    return math.sqrt(max(size + group - 2.0 * joint, 0.0))


def own(name, f1, f2, f0=linear):
    return epl.Loss(f0, f1, f2, square, name=name, linear=f0 is linear)


# f1(1) other than 0, sizes that all cost the same, sizes of which the largest is cheapest; not linear
OWN = {
    "power": own("power", lambda n: n**1.5 + 0.7 * n, lambda n: n**1.3 + 3.0 * (n > 0)),
    "odd": own("odd", odd, odd),
    "flat": own("flat", square, lambda n: 3.0 * n),
    "concave": own("concave", square, lambda n: -2.0 * n * n),
    "ratio": own("ratio", square, square, ratio),
    "root": own("root", square, square, root),
}
LOSSES = [*epl.losses.available(), "vi(cost=0.6)", "binder(cost=0.6)", *OWN]
OF_PAIRS = ("binder", "binder(cost=0.6)", "concave")
"""Losses that are sums over pairs of items, for which there is a third execution."""
CASES = [(name, kind) for name in LOSSES for kind in KINDS if kind != "pairs" or name in OF_PAIRS]


def get(name):
    return OWN[name] if name in OWN else epl.losses.get(name)


def make(draws, name, kind):
    return Engine(draws.item_major, draws.weights, get(name), kind)


def random_sample(seed):
    """A small sample with anything from one to N clusters, whole or fractional weights."""
    rng = np.random.default_rng(seed)
    n_items, n_draws = int(rng.integers(2, 40)), int(rng.integers(1, 15))
    k = int(rng.integers(1, n_items + 1))
    weights = rng.integers(1, 4, size=n_draws) if seed % 2 else rng.random(n_draws) + 0.1
    return epl.Draws(strategies.random_draws(rng, n_items, n_draws, k), weights=weights), rng


def random_partition(rng, n_items):
    """Labels with anything from one to N clusters."""
    return epl.partition.canonical(rng.integers(rng.integers(1, n_items + 1), size=n_items))


def random_bounds(rng, n_clusters):
    """Bounds on the number of clusters, near to what it is and often equal to it."""
    low, high = rng.integers(3, size=2)
    return Settings(k_min=max(1, n_clusters - int(low)), k_max=n_clusters + int(high))


def micro(n_items, n_draws, seed=0):
    """Clusters of one to five items; a tenth of the items go over to a neighbouring cluster."""
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.integers(n_items // 3, size=n_items))
    z = np.where(rng.random((n_draws, n_items)) < 0.1, truth + 1, truth)
    return z[:, rng.permutation(n_items)]


def check_state(engine, draws, state):
    """Everything the state says of itself is what a fresh one at the same labels says."""
    k = int(state.n_clusters[0])
    fresh = engine.start(state.labels)
    assert np.unique(state.labels).tolist() == list(range(k))
    np.testing.assert_array_equal(state.sizes[:k], np.bincount(state.labels))
    assert not state.sizes[k:].any()
    if hasattr(state, "counts"):
        np.testing.assert_array_equal(state.counts[:, :, :k], fresh.counts[:, :, :k])
        assert not state.counts[:, :, k:].any()
        # Entry K, a new cluster, is read as well. If f0 is not linear, the factors may be those of an
        # earlier partition.
        gain = state.fold[:, None, None] * state.price.joint[state.counts]
        np.testing.assert_array_equal(state.gain[:, :, : k + 1], gain[:, :, : k + 1].astype("f4"))
    if hasattr(state, "after"):
        check_rings(state)
    if not engine.loss.linear:
        np.testing.assert_allclose(state.joint_sums, fresh.joint_sums, atol=1e-9)
        np.testing.assert_allclose(state.size_sum, fresh.size_sum, atol=1e-9)
    items = np.arange(engine.n_items)
    np.testing.assert_allclose(
        engine.costs(state, items), engine.costs(fresh, items), rtol=1e-12, atol=1e-9
    )
    ref = epl.expected_loss(state.labels, draws, engine.loss)
    assert engine.value(state) == pytest.approx(ref, abs=1e-12, rel=1e-12)


def check_rings(state):
    """A walk along `after` from an item of a cluster visits all of its items; `before` leads back."""
    for s in range(int(state.n_clusters[0])):
        i, ring = int(state.some_item[s]), []
        for _ in range(state.sizes[s]):
            ring.append(i)
            assert state.before[state.after[i]] == i
            i = int(state.after[i])
        assert i == ring[0]
        np.testing.assert_array_equal(np.sort(ring), np.flatnonzero(state.labels == s))
    sizes = np.bincount(state.sizes[: state.n_clusters[0]], minlength=len(state.sizes))
    np.testing.assert_array_equal(state.n_of_size[1:], sizes[1:])
    used = state.used_sizes[: state.n_used[0]]
    np.testing.assert_array_equal(np.sort(used), [0, *np.flatnonzero(sizes)])
    np.testing.assert_array_equal(state.place[used], np.arange(len(used)))
