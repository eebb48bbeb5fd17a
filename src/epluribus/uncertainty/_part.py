"""Large samples: searches on some of the items, and all other items placed afterwards.

What a few thousand random items say about modes, losses and halves of the sample is what all items say. A
partition of these items becomes one of all items: every other item goes to the cluster where it costs least
given the items chosen, and then one sweep looks at all items once more.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus import losses
from epluribus._parallel import Stopper, run_all
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import Engine, Settings
from epluribus.losses.base import Loss
from epluribus.partition import relabel

LARGE = 2 * 10**7
"""Above this many labels (items times distinct draws) searches look at some of the items only."""
_LABELS = 5 * 10**6
"""Labels of the items chosen: a search takes about a second ..."""
_FEWEST = 2000
"""... but there are at least this many items."""
_CELLS = 1 << 19
"""Costs (items times clusters) computed at a time: Ctrl-C is heard in between."""


def n_looked_at(draws: Draws) -> int:
    """Number of items that searches look at: all, or some if the sample is large."""
    n, n_draws = draws.n_items, draws.n_distinct
    return n if n * n_draws <= LARGE else min(n, max(_FEWEST, _LABELS // n_draws))


def choose_items(draws: Draws, rng: Generator) -> IntArray | None:
    """Numbers of the items to look at, ascending; None for all of them."""
    n, size = draws.n_items, n_looked_at(draws)
    return None if size == n else np.asarray(np.sort(rng.choice(n, size, replace=False)))


def weights_of(draws: Draws, rows: NDArray[np.bool_]) -> FloatArray:
    """(n_distinct,) the weights of the distinct draws if only those in `rows` are meant."""
    own = draws.draw_weights[rows]
    sums = np.bincount(draws.index[rows], weights=own, minlength=draws.n_distinct)
    return sums.astype(np.float64)


def only_items(draws: Draws, items: IntArray) -> Draws:
    """All draws, with their weights, of some of the items; as one chain."""
    rows = np.ascontiguousarray(draws.item_major[items].T)
    return Draws(rows[draws.index], weights=draws.draw_weights)


def place_others(
    draws: Draws,
    loss: Loss,
    items: IntArray,
    labels: IntArray,
    rng: Generator,
    stopper: Stopper,
    weights: FloatArray | None = None,
) -> IntArray:
    """Canonical labels of all items, from those of some `items`, given the draws.

    `weights`, one for each distinct draw, take the place of their own if some of the draws are meant. Ctrl-C
    raises an exception. Stopped by the time limit, items that had no turn go to the first cluster.
    """

    def work() -> IntArray:
        table, mass = draws.item_major, draws.weights if weights is None else weights
        if not mass.all():
            table, mass = np.ascontiguousarray(table[:, mass > 0]), mass[mass > 0]
            table.flags.writeable = (
                False  # as those of `Draws` are, for which the kernels are compiled
            )
        engine = Engine(table, mass, loss)
        # Costs under a loss whose f0 is not linear take long; where items belong, VI tells as well.
        quick = engine if loss.linear else Engine(table, mass, losses.vi())
        found, k = np.full(draws.n_items, -1, dtype=np.int64), int(labels.max()) + 1
        found[items] = labels
        state, others = quick.start(found), np.flatnonzero(found < 0)
        for begin in range(0, len(others), max(1, _CELLS // (k + 1))):
            if stopper.stopped:
                break
            some = others[begin : begin + max(1, _CELLS // (k + 1))]
            found[some] = quick.costs(state, some)[:, :k].argmin(axis=1)
        found, settings = relabel(np.maximum(found, 0)), Settings(stopper=stopper)
        order = rng.permutation(draws.n_items)
        return relabel(
            engine.sweep(engine.start(found), order, settings, thorough=False).state.labels
        )

    return run_all([work], 1, stopper)[0]
