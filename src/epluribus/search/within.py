"""A search as one step of longer work: cut at a time limit, but never made longer by it."""

from __future__ import annotations

from typing import Any

from epluribus import losses
from epluribus._parallel import Stopper, resolve_jobs
from epluribus._typing import LossLike, RngLike
from epluribus._validate import make_rng
from epluribus.draws import Draws
from epluribus.draws.dask_store import DaskStore
from epluribus.engine import Settings
from epluribus.estimate import Estimate
from epluribus.search._greedy import check_bounds
from epluribus.search._minimize import solve
from epluribus.search.large import LARGE
from epluribus.search.plan import check_starts


def minimize_within(
    draws: Draws,
    loss: LossLike,
    seconds: float | None,
    *,
    rng: RngLike = None,
    n_jobs: int | None = None,
) -> Estimate:
    """What ``minimize(draws, loss, rng=rng)`` finds, or the best by the time limit.

    With a time limit `minimize` is more patient and uses the time, as someone who gives one expects. A step
    of a report or of the search for modes is not to take longer because it may not take forever.

    Parameters
    ----------
    draws, loss, rng, n_jobs
        As for `minimize`.
    seconds : float, optional
        The time limit.
    """
    if isinstance(draws.store, DaskStore) and draws.n_items <= LARGE:
        draws = draws.brought_here()  # as `minimize` does
    low, high = check_bounds(None, None, None, draws.n_items)
    plan = check_starts(None, None, "recombine", draws.n_items, None)
    stopper = Stopper(seconds, patient=False)
    settings = Settings(low, high, n_jobs=resolve_jobs(n_jobs), stopper=stopper)
    # `minimize` spawns one seed for all its losses.
    source: Any = make_rng(rng).bit_generator.seed_seq
    seed = source.spawn(1)[0]
    return solve(draws, losses.get(loss), plan, settings, None, seed).remember(draws)
