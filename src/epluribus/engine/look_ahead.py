"""Looks ahead of a sweep: many items at a time, in threads, with nothing moved.

A sweep visits one item after the other, because each of them may move. Most stay, and for these the same is
found in a fraction of the time by one look at many items: draws are taken block by block, so that what is
read stays in the cache, and threads share the items. What was found is remembered, and the sweep passes over
items that certainly stay (`_kernels/looks.py`). It makes the same moves as without looks ahead.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from epluribus._kernels.looks import CLOCK, OPENED, least_gaps, new_epoch
from epluribus._kernels.loops import move_checked
from epluribus._kernels.scan import add_costs, add_exact_costs, find_gaps
from epluribus._kernels.tables import Tables
from epluribus._kernels.vector import LANES
from epluribus._parallel import run_tasks
from epluribus._typing import FloatArray, IntArray
from epluribus.engine.settings import Settings

_FEWEST, _PARTS = 1024, 64
"""Items that are looked at and then visited, at least, and parts in which an order is visited, at most."""
_TASK = 256
"""Items that a task looks at."""
_MOST_MOVES = 1 / 16
"""Share of the items visited last that moved, above which a look ahead does not pay: too much has changed
before the sweep comes to the items."""

_CACHE = 2 << 20
"""Bytes of gains up to which a sweep reads all of them from the cache anyway."""
_FEW_MOVES = 1 / 100
"""Share of the items that moved up to which the others are left to sweeps."""


class LookAhead:
    """Looks ahead of a sweep, part by part of its order.

    Parameters
    ----------
    order : ndarray
        The items that are visited.
    settings : Settings
    state : Tables or other state
        Without tables, or with small ones, the order is one part, and no item is looked at.
    """

    def __init__(self, order: IntArray, settings: Settings, state: Any) -> None:
        self._order, self._settings = order, settings
        large = isinstance(state, Tables) and state.gain.nbytes > _CACHE
        self._looks = large and len(order) >= 2 * _FEWEST
        self._size = max(_FEWEST, len(order) // _PARTS) if self._looks else len(order)
        self._moved = 0

    def next(self, state: Any, begin: int, n_moves: int) -> int:
        """Look at the items from position `begin` on, if it pays; return the position up to which.

        `n_moves` is the number of moves of the sweep so far.
        """
        end = min(begin + self._size, len(self._order))
        # Without room for a new cluster nothing can be said about one: the sweep asks for it.
        room = state.n_clusters[0] < len(state.sizes)
        if self._looks and room and n_moves - self._moved <= _MOST_MOVES * self._size:
            self._look(state, self._order[begin:end])
        self._moved = n_moves
        return end

    def _look(self, state: Any, items: IntArray) -> None:
        new_epoch(state.looks)
        look(state, items[least_gaps(state, items) <= 0.0], self._settings)


def rush(state: Any, settings: Settings) -> float:
    """Move many items at a time while many want to; return the change of the total loss.

    All free items are looked at. Then those that would move do so, one after the other, if that still helps
    when it is their turn. That leaves fewer moves to the sweeps, which look at one item at a time.
    """
    change, n_items = np.zeros(1), len(state.draws)
    while not settings.stopper.stopped:
        new_epoch(state.looks)
        items, target, gap = look(state, np.arange(n_items), settings)
        wanted = np.flatnonzero(gap < 0.0)
        if move_checked(state, None, items[wanted], target[wanted], change) <= n_items * _FEW_MOVES:
            break
    return float(change[0])


def look(state: Any, items: IntArray, settings: Settings) -> tuple[IntArray, IntArray, FloatArray]:
    """Look at items with nothing moved, and remember what was found: items, best other cluster, gap."""
    # By cluster, so that items that read the same cells follow each other.
    items = items[state.labels[items] >= 0]
    items = items[np.argsort(state.labels[items], kind="stable")]
    target, gap = np.full(len(items), -1), np.full(len(items), np.inf)
    tasks = [
        partial(_look, state, items[some], target[some], gap[some])
        for some in (slice(begin, begin + _TASK) for begin in range(0, len(items), _TASK))
    ]
    if settings.n_jobs > 1 and len(tasks) > 1:
        run_tasks(tasks, n_jobs=settings.n_jobs, stopper=settings.stopper)
    else:
        for task in tasks:
            task()
    return items, target, gap


def _look(
    state: Any,
    items: IntArray,
    target: IntArray,  # OUT
    gap: FloatArray,  # OUT
) -> None:
    """Find the best other cluster of each item, and how much more it costs than its own."""
    k, width = int(state.n_clusters[0]), state.gain.shape[2]
    rows, labels = state.draws[items], state.labels[items]
    cost, own = np.zeros((len(items), width)), np.zeros(len(items))
    used, single = (k // LANES + 1) * LANES, np.empty(width, dtype=np.float32)
    add_costs(rows, state.gain, used, single, cost)
    add_exact_costs(rows, labels, state.counts, state.fold, state.price.joint, own)
    find_gaps(cost, own, labels, state.sizes, k, state.price.size, target, gap)
    # What its own cluster costs is exact; the others may be off by half the margin.
    least = gap - 0.5 * state.price.margin - state.price.tolerance
    looks, alone = state.looks, state.sizes[labels] == 1
    looks.opened[items] = np.where(alone, looks.clock[OPENED], -1.0)
    looks.until[items] = least + looks.own[labels] + looks.clock[CLOCK]
