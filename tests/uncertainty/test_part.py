"""Items that a search has left out are placed, whatever time is left."""

import numpy as np
import pytest

import epluribus as epl
from epluribus import losses
from epluribus._parallel import Stopper
from epluribus.search import refine
from epluribus.uncertainty._part import place_others


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("time_limit", [None, 1e-9])
def test_all_items_are_placed_though_the_time_is_up(loss, time_limit, monkeypatch):
    monkeypatch.setattr(refine, "_TASK", 64)  # a pass has several parts
    rng = np.random.default_rng(1)
    truth = rng.integers(4, size=800)
    z = np.where(rng.random((100, 800)) < 0.2, rng.integers(4, size=(100, 800)), truth)
    draws, items = epl.Draws(z), np.arange(100)
    stopper = Stopper(time_limit)
    labels = place_others(draws, losses.get(loss), items, truth[items], rng, stopper)
    best = epl.minimize(draws, loss, rng=1)
    assert epl.expected_loss(labels, draws, loss) < 1.01 * best.expected_loss
