"""Bounds on what clusters cost after moves, from their counts before and after."""

from types import SimpleNamespace

import numpy as np
import pytest

from engine_cases import make, random_partition, random_sample
from epluribus.engine.anchors import Anchors
from epluribus.search._settle import Settler


@pytest.mark.parametrize("name", ["vi", "binder", "odd"])
def test_shifts_bound_by_how_much_costs_have_changed(name):
    """For every item, clusters cost no more and no less than before, but for the bound."""
    tight = 0
    for seed in range(20):
        draws, rng = random_sample(seed)
        engine, labels = make(draws, name, "tables"), random_partition(rng, draws.n_items)
        k = int(labels.max()) + 1
        moved = np.where(rng.random(draws.n_items) < 0.2, rng.integers(k, size=len(labels)), labels)
        names = rng.permutation(k)
        stayed = np.intersect1d(labels, moved)
        if len(np.unique(moved)) < k:  # labels of the engine have no gaps
            continue
        before, now = engine.start(labels), engine.start(names[moved])
        old, new = (
            Anchors(state.counts[:, :, :k].astype(np.int32), state.sizes[:k])
            for state in (before, now)
        )
        settler = SimpleNamespace(weights=draws.weights)
        bounds = Settler._shifts(settler, old, stayed, new, names[stayed], before.price)
        for place, s in enumerate(stayed):
            items = np.arange(len(labels))
            change = np.abs(
                engine.exact(now, items, np.full_like(items, names[s]))
                - engine.exact(before, items, np.full_like(items, s))
            )
            for of, own in zip(bounds, (True, False), strict=True):
                those = ((labels == s) == own) & ((moved == s) == own)
                assert (change[those] <= of[place] + 4 * engine.tolerance).all()
                tight += bool((change[those] > 0.5 * of[place] + 1e-9).any())
    assert tight > 5
