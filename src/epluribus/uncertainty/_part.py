"""Large samples: searches on some of the items, and all other items placed afterwards.

What a few thousand random items say about modes, losses and halves of the sample is what all items say. A
partition of these items becomes one of all items as in a search for very many items (`search/refine.py`):
every other item goes to the cluster where it costs least, and then single items move until no move helps.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus import losses
from epluribus._parallel import Stopped, Stopper, resolve_jobs, run_all
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.losses.base import Loss
from epluribus.partition import relabel
from epluribus.search.refine import LargeRefiner
from epluribus.settings import Settings

LARGE = 2 * 10**7
"""Above this many labels (items times distinct draws) searches look at some of the items only."""
_LABELS = 5 * 10**6
"""Labels of the items chosen: a search takes about a second ..."""
_FEWEST = 2000
"""... but there are at least this many items."""


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
    raises an exception. After the time limit all items are still placed, in one pass, but none is moved.
    """
    weights = draws.weights if weights is None else weights
    # Costs that are no sums over draws cannot be added up: items are then placed as under VI.
    linear = loss if loss.linear else losses.vi()

    def refiner(stopper: Stopper) -> LargeRefiner:
        settings = Settings(n_jobs=resolve_jobs(None), stopper=stopper)
        return LargeRefiner(draws, weights, linear, rng, settings)

    def refine() -> IntArray:
        job = refiner(stopper)
        with suppress(Stopped):
            job.refine(assigned)
        return assigned if job.labels is None else job.labels

    unlimited = Stopper()
    try:
        [assigned] = run_all([partial(refiner(unlimited).assign, items, labels)], 1, unlimited)
    except Stopped:  # it has no limit
        raise KeyboardInterrupt from None
    return relabel(run_all([refine], 1, stopper)[0] if loss.linear else assigned)
