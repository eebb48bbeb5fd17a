"""Joins, the best pair first: the same with any number of threads, and with less to try."""

import numpy as np
import pytest

import epluribus as epl
import strategies
from epluribus.engine import Engine, Settings, joins
from epluribus.search._improve import Climber


def sample_of(seed):
    rng = np.random.default_rng(seed)
    n_items, n_draws = int(rng.integers(6, 40)), int(rng.integers(1, 12))
    z = strategies.random_draws(rng, n_items, n_draws, int(rng.integers(2, n_items + 1)))
    return epl.Draws(z, weights=rng.random(n_draws) + 0.1), rng


@pytest.mark.parametrize("name", ["vi", "binder", "vi(cost=0.6)", "nvi", "nid"])
def test_any_number_of_threads(name, monkeypatch):
    monkeypatch.setattr(joins, "_STEPS", 0)
    for seed in range(15):
        draws, rng = sample_of(seed)
        engine = Engine(draws.item_major, draws.weights, epl.losses.get(name), "tables")
        labels = epl.partition.canonical(rng.integers(engine.n_items, size=engine.n_items))
        parent = np.where(rng.random(engine.n_items) < 0.5, labels, 0)
        for parents in ([], [epl.partition.canonical(parent)]):
            for k_max in (None, 2):
                one, two, three = (
                    engine.merge(labels, Settings(k_max=k_max, n_jobs=n_jobs), parents)
                    for n_jobs in (1, 2, 3)
                )
                np.testing.assert_array_equal(two, one)
                np.testing.assert_array_equal(three, one)


@pytest.mark.parametrize("name", ["vi", "binder", "binder(cost=0.6)"])
def test_where_no_item_would_move_two_that_are_alone_do_not_join(name):
    """Leaving them out changes nothing, while without them there is less to try."""
    n_alone = 0
    for seed in range(30):
        draws, rng = sample_of(seed)
        engine = Engine(draws.item_major, draws.weights, epl.losses.get(name), "tables")
        labels = epl.partition.canonical(rng.integers(engine.n_items, size=engine.n_items))
        climber = Climber(engine, labels, rng, Settings())
        assert climber.sweep()
        n_alone += (np.bincount(climber.labels) == 1).sum()
        all_tried = engine.merge(climber.labels)
        np.testing.assert_array_equal(engine.merge(climber.labels, settled=True), all_tried)
    assert n_alone > 50
