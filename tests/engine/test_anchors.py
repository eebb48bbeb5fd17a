"""Items that are only counted: the engine says about the others what it says with all items."""

import numpy as np
import pytest

from engine_cases import OF_PAIRS, get, random_partition, random_sample
from epluribus.engine import Engine
from epluribus.engine.anchors import Anchors

CASES = [(name, "tables") for name in ("vi", "nvi", "odd", *OF_PAIRS)]
CASES += [(name, "pairs") for name in OF_PAIRS]
pytestmark = pytest.mark.parametrize(("name", "kind"), CASES)


def both(name, kind, seed):
    """The engine over all items and one with anchors, each with a state at the same partition."""
    draws, rng = random_sample(seed)
    table, labels = draws.item_major, random_partition(rng, draws.n_items)
    free = rng.random(draws.n_items) < rng.choice([0.2, 0.7, 1.0])
    free[rng.integers(draws.n_items)] = True
    # A cluster may have two anchors, and one whose items are all free has none.
    part = 2 * labels + rng.integers(2, size=len(labels))
    held, part = np.unique(part[~free], return_inverse=True)
    counts = np.zeros((table.shape[1], int(table.max()) + 1, len(held)), dtype=np.int32)
    for row, anchor in zip(table[~free], part, strict=True):
        counts[np.arange(len(row)), row, anchor] += 1
    anchors = Anchors(counts, np.bincount(part, minlength=len(held)))
    whole = Engine(table, draws.weights, get(name), "tables")
    some = Engine(np.ascontiguousarray(table[free]), draws.weights, get(name), kind, anchors)
    entries = np.concatenate([labels[free], held // 2])
    return (whole, whole.start(labels)), (some, some.start(entries)), free, part, rng


def spread(entries, free, part):
    """Labels of all items, given those of the free ones and of the anchors."""
    labels = np.empty(len(free), dtype=np.int64)
    labels[free], labels[~free] = entries[: free.sum()], entries[free.sum() :][part]
    return labels


@pytest.mark.parametrize("seed", range(8))
def test_the_same_values_costs_and_changes(name, kind, seed):
    (whole, ref), (some, comp), free, part, rng = both(name, kind, seed)
    items = np.flatnonzero(free)
    for _ in range(6):
        tolerance = 10 * whole.tolerance
        np.testing.assert_array_equal(spread(comp.labels, free, part), ref.labels)
        np.testing.assert_array_equal(comp.sizes[: len(set(ref.labels))], np.bincount(ref.labels))
        assert some.value(comp) == pytest.approx(whole.value(ref), rel=1e-11, abs=1e-11)
        for place, i in enumerate(items):
            targets = np.arange(int(ref.n_clusters[0]) + 1)
            theirs = whole.exact(ref, np.full(len(targets), i), targets)
            ours = some.exact(comp, np.full(len(targets), place), targets)
            np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=tolerance)
        if ref.n_clusters[0] > 1:
            a = int(rng.integers(ref.n_clusters[0]))
            np.testing.assert_allclose(
                some.join_changes(comp, a), whole.join_changes(ref, a), atol=tolerance
            )
        place, target = int(rng.integers(len(items))), int(rng.integers(ref.n_clusters[0] + 1))
        if ref.sizes[ref.labels[items[place]]] > 1:
            ref = whole.apply(ref, items[[place]], np.array([target]))
            comp = some.apply(comp, np.array([place]), np.array([target]))


@pytest.mark.parametrize("seed", range(6))
def test_the_same_joins(name, kind, seed):
    (whole, ref), (some, comp), free, part, _ = both(name, kind, seed)
    theirs = whole.merge(ref.labels)
    ours = spread(some.merge(comp.labels), free, part)
    assert whole.value_of(ours) == pytest.approx(whole.value_of(theirs), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_where_sweeps_end_no_free_item_would_move(name, kind, seed):
    (whole, _), (some, comp), free, part, rng = both(name, kind, seed)
    for _ in range(50):
        swept = some.sweep(comp, rng.permutation(some.n_free), lazy=True)
        comp = swept.state
        if swept.n_moves == 0:
            break
    ref = whole.start(spread(comp.labels, free, part))
    for i in np.flatnonzero(free):
        alone = ref.sizes[ref.labels[i]] == 1
        targets = np.arange(int(ref.n_clusters[0]) + (not alone))
        costs = whole.exact(ref, np.full(len(targets), i), targets)
        assert costs[ref.labels[i]] <= costs.min() + 10 * whole.tolerance
