"""Few draws first: a random part of the sample on which the search is cheap.

The best partition of a few hundred draws is nearly that of all of them; what remains is a handful
of items that one or two sweeps over the whole sample put right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epluribus.search.objective import Objective

if TYPE_CHECKING:
    from epluribus.draws import Draws
    from epluribus.losses.base import Loss

__all__ = ["subset_objective"]

_DRAWS = 200
"""Draws that tell clusters apart well: the losses of two partitions differ by many standard errors."""
_LABELS = 2_000_000
"""With many items fewer draws do, since each holds more: this many labels in all ..."""
_FEWEST = 32
"""... but never fewer draws than this."""


def subset_objective(
    draws: Draws, loss: Loss, rng: np.random.Generator, full: Objective
) -> Objective:
    """The objective over some of the draws, or `full` itself where that is small."""
    n = min(_DRAWS, max(_FEWEST, _LABELS // draws.n_items))
    if n >= draws.n_distinct:
        return full
    weights = draws.draw_weights
    if np.all(weights == weights[0]):
        rows = rng.choice(draws.n_draws, size=n, replace=False)
    else:  # draws are taken with their weights as probabilities, so each counts 1
        rows = rng.choice(draws.n_draws, size=n, p=weights / weights.sum())
    columns, counts = np.unique(draws.index[rows], return_counts=True)
    table = np.ascontiguousarray(draws.item_major[:, columns])
    return Objective.over(table, counts.astype(np.float64), loss)
