"""Large samples: searches on some of the items, and all other items placed afterwards.

What a few thousand random items say about modes, losses and halves of the sample is what all items say. A
partition of these items becomes one of all items as in a search for very many items (`search/_settle.py`):
every other item goes to the cluster where it costs least, and then single items move until no move helps.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus._parallel import Stopper, resolve_jobs, run_all
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.draws.store import LocalStore
from epluribus.engine import Settings
from epluribus.engine.passes import LocalPasses, Stopped
from epluribus.losses.base import Loss
from epluribus.partition import relabel
from epluribus.search._settle import Settler
from epluribus.search._settle_pairs import TooManyFree, settler_for

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
    raises an exception. Stopped by the time limit, items that had no turn go to the first cluster.
    """
    store = draws.store
    assert isinstance(store, LocalStore)
    settings = Settings(n_jobs=resolve_jobs(None), stopper=stopper)
    passes = LocalPasses(store, settings.n_jobs, stopper, lambda _: None)
    mass = draws.weights if weights is None else weights
    settler = settler_for(passes, mass, loss, rng, settings)

    def work() -> IntArray:
        found = np.zeros(draws.n_items, dtype=np.int64)
        found[items] = labels
        try:
            found = settler.placed(items, labels)
            try:
                found = settler.settled(found).labels
            except TooManyFree:
                found = Settler(passes, mass, loss, rng, settings).settled(found).labels
        except Stopped:
            found = np.maximum(found, 0)
        return relabel(found)

    return run_all([work], 1, stopper)[0]
