"""The best of all partitions of a few items, against plain enumeration."""

import math

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import epluribus as epl
import oracles
import strategies
from epluribus._kernels.few_items import add_sums, divide
from oracles import xlogx
from strategies import sample

LOSSES = epl.losses.available()


def square(n):
    return float(n * n)


def own(f0, f1=xlogx, f2=xlogx, **options):
    return epl.Loss(f0, f1, f2, f1, name=f0.__name__, **options)


def vi(joint, size, group, n_items):
    return (size + group - 2.0 * joint) / n_items


def squared(joint, size, group, n_items):
    return ((size + group - 2.0 * joint) / n_items) ** 2


def root(joint, size, group, n_items):
    return math.sqrt(max(size + group - 2.0 * joint, 0.0) / n_items)


def jaccard(joint, size, group, n_items):
    union = size + group - joint - n_items
    return 1.0 - (joint - n_items) / union if union > 0 else 0.0


def wild(joint, size, group, n_items):
    return math.sin(3.0 * joint + size) + math.cos(group + joint * size) * n_items


def tiny(joint, size, group, n_items):
    """Far from any line, with differences around the one below which losses count as equal, 1e-12."""
    large = math.floor(2.0 * math.sin(3.0 * joint + size))
    return large + 1e-12 * math.sin(5.0 * joint + group * n_items)


def constant(joint, size, group, n_items):  # noqa: ARG001
    return 1.0


def forbidden(joint, size, group, n_items):
    """Infinite for estimates with a cluster of more than three items."""
    return math.inf if size >= 1e6 else (size + group - 2.0 * joint) / n_items


def huge(joint, size, group, n_items):
    """Terms of 1e9 and more, whose sum is often 0."""
    return 1e9 * ((size + group) / 2.0 - joint) + 0.0 * n_items


def with_price(n):
    return xlogx(n) + 0.3 * (n > 0)


OWN = [
    own(vi, f2=with_price, linear=True),
    # Linear, but equal partitions are declared to have loss 0, which is not what f0 says.
    own(vi, f2=with_price, linear=True, zero_if_equal=True),
    # f1 that is not the function of any usual loss: it rises and falls.
    own(vi, f1=lambda n: float(n * (5 - n)), linear=True),
    own(vi, f1=lambda n: 0.0 * n, linear=True),
    own(huge, f1=square, f2=square, linear=True),
    own(squared),
    own(root),
    own(jaccard, f1=square, f2=square),
    own(wild, f1=square),
    own(tiny, f1=square),
    own(constant),
    own(forbidden, f2=lambda n: xlogx(n) + 1e6 * (n > 3)),
]
COSTS = [make(cost) for make in (epl.losses.vi, epl.losses.binder) for cost in (0.4, 0.8, 1.3, 1.7)]
EVERY = [*map(epl.losses.get, LOSSES), *COSTS, *OWN]


def noise(seed, n_items, n_draws, k):
    return np.random.default_rng(seed).integers(k, size=(n_draws, n_items))


def check(z, loss, weights=None, **bounds):
    """A partition within the bounds with the smallest value found by enumeration; which of equals does not matter."""
    best = epl.search.exact(epl.Draws(z, weights=weights), loss, **bounds)
    if "k" in bounds:
        bounds = {"k_min": bounds["k"], "k_max": bounds["k"]}
    labels, value = oracles.best_partition(loss, z, weights, **bounds)
    assert best.expected_loss == pytest.approx(value, rel=1e-9, abs=1e-9)
    again = epl.expected_loss(best.labels, epl.Draws(z, weights=weights), loss)
    assert best.expected_loss == pytest.approx(again, rel=1e-12, abs=1e-12)
    assert bounds.get("k_min", 1) <= best.n_clusters <= bounds.get("k_max", len(labels))
    assert best.converged
    assert best.runs == ()


@pytest.mark.parametrize("loss", EVERY, ids=repr)
def test_exact_against_enumeration(loss):
    check(sample(1, n_items=7, n_draws=30, k=3), loss)
    check(noise(1, 8, 6, 4), loss)
    check(noise(2, 7, 3, 7), loss)


# "forbidden" leaves nothing with one cluster
@pytest.mark.parametrize("loss", EVERY[:-1], ids=repr)
def test_exact_with_weights_and_bounds(loss):
    z, weights = sample(2, n_items=7, n_draws=6, k=3), [3, 1, 0, 2, 0.5, 0.1]
    check(z, loss, weights)
    for k in (1, 3, 7):
        check(z, loss, weights, k=k)
    for bounds in ({"k_min": 4}, {"k_max": 2}, {"k_min": 2, "k_max": 5}):
        check(z, loss, weights, **bounds)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(z=strategies.draws(max_items=7), loss=st.sampled_from(EVERY))
def test_exact_for_any_draws(z, loss):
    check(z.tolist(), loss)


@pytest.mark.parametrize("name", LOSSES)
def test_equally_good_partitions(name):
    """Two or three draws of equal weight: many partitions tie, up to rounding errors."""
    loss = epl.losses.get(name)
    check([[0, 0, 1, 1], [0, 1, 0, 1]], loss)
    for seed in range(6):
        check(noise(seed, 7, 2, 3), loss)
        check(noise(seed, 6, 3, 3), loss)


def test_nearly_equal_losses():
    """The smallest loss falls by next to nothing while the search goes on: no tie may be forgotten."""
    for seed in range(30, 40):  # 35 needs the second search
        check(noise(seed, 7, 2, 3), own(tiny, f1=square), k=4)


def test_all_partitions_tie():
    z = noise(0, 9, 4, 3)
    assert epl.search.exact(z, own(constant)).labels.tolist() == [0] * 9
    assert epl.search.exact(z, own(constant), k=3).n_clusters == 3
    assert epl.search.exact(z, "zero_one", k=5).n_clusters == 5  # no draw has five clusters
    assert epl.search.exact([[0, 0, 1, 1], [0, 1, 0, 1]], "binder").n_clusters == 2


@pytest.mark.parametrize("loss", ["vi", "binder", "nvi", "nid", "omari", "zero_one", own(squared)])
def test_the_most_items(loss):
    """As good as what the search finds, and as any draw; the optimum of fewer clusters is no better."""
    n_items = 12 if loss in ("vi", "binder") else 9
    z = epl.Draws(sample(3, n_items=n_items, n_draws=80, k=4))
    best = epl.search.exact(z, loss)
    assert best.expected_loss == epl.expected_loss(best.labels, z, loss)
    for labels in [epl.minimize(z, loss, rng=1).labels, *z.distinct]:
        assert best.expected_loss <= epl.expected_loss(labels, z, loss) + 1e-12
    few = epl.search.exact(z, loss, k_max=best.n_clusters - 1)
    assert few.n_clusters < best.n_clusters
    assert few.expected_loss >= best.expected_loss
    assert epl.search.exact(z, loss, k=best.n_clusters).labels.tolist() == best.labels.tolist()


# --- the kernels ---


def test_sums_over_all_sets():
    groups, weights, kinds = np.array([0b011, 0b110]), np.array([2.0, 3.0]), np.array([0, 1])
    f, sizes = (
        np.array([[0.0, 1.0, 4.0], [0.0, 5.0, 7.0]]),
        np.bitwise_count(np.arange(8)).astype(np.int64),
    )
    cost = np.zeros(8)
    add_sums(groups, weights, kinds, sizes, f, cost)
    assert cost.tolist() == [0.0, 2.0, 17.0, 23.0, 15.0, 17.0, 23.0, 29.0]


def test_best_divisions_against_enumeration():
    cost = np.random.default_rng(0).random(32)
    least, first = np.empty((32, 6)), np.zeros((32, 6), dtype=np.int64)
    divide(cost, 1e-12, least, first)
    by_number = {}
    for labels in oracles.all_partitions(5):
        clusters = [sum(1 << i for i in range(5) if labels[i] == g) for g in set(labels)]
        by_number.setdefault(len(clusters), []).append(sum(cost[c] for c in clusters))
    for k, values in by_number.items():
        assert least[31, k] == pytest.approx(min(values))
        assert cost[first[31, k]] <= least[31, k] + 1e-12
    divide(np.zeros(32), 1e-12, least, first)  # all of them tie
    assert first[31, 1] == 31
    assert first[31, 2] == 29  # the largest number that leaves an item
