"""Estimates for several losses: none may be worse, under its own loss, than that for another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from epluribus.draws import Draws
from epluribus.engine import Settings, engine_for
from epluribus.estimate import Estimate
from epluribus.search._greedy import descend
from epluribus.search.comparison import Comparison, set_side_by_side
from epluribus.search.constrained import polished


def compared_estimates(
    draws: Draws, estimates: list[Estimate], settings: Settings, seed: np.random.SeedSequence
) -> Comparison:
    """Set the estimates side by side; where one is better under another's loss, it replaces that one.

    No estimate is then worse, under its own loss, than that for any other loss.
    """
    rng = np.random.default_rng(seed)
    now = set_side_by_side(draws, estimates)
    expected = now.expected_losses
    improved, found = [], False
    for number, mine in enumerate(estimates):
        # expected[a, b] is the expected loss of estimate a under loss b. The best one in a column need not
        # be the one that was searched for under this loss.
        winner = int(np.argmin(expected[:, number]))
        if expected[winner, number] < mine.expected_loss * (1 - 1e-12):
            # It is polished for this loss before it takes the place.
            engine, labels = engine_for(draws, mine.loss), estimates[winner].labels
            n_draws = draws.n_draws
            if settings.constraints is None:
                run = descend(engine, labels, rng, settings, n_draws=n_draws, start="other loss")
            else:
                run = polished(draws, engine, labels, settings, rng)
            runs, value = (*mine.runs, run), run.expected_loss
            mine = replace(mine, labels=run.labels, expected_loss=value, runs=runs)
            found = True
        improved.append(mine)
    # What was found for one loss may help another: until nothing changes.
    return compared_estimates(draws, improved, settings, seed) if found else now
