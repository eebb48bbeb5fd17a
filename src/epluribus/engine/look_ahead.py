"""Looks ahead of a sweep: many items at a time, in threads, with nothing moved.

A sweep visits one item after the other, because each of them may move. Most stay, and for these the same is
found in a fraction of the time by one look at many items: draws are taken block by block, so that what is
read stays in the cache, and threads share the items. What was found is remembered, and the sweep passes over
items that certainly stay (`_kernels/looks.py`). It makes the same moves as without looks ahead.

Where there are thousands of clusters, nearly all of them are small, and came last. A small cluster cannot
cost an item much less than nothing, whatever its items are, while its own large cluster does: most items are
known to stay when they have been compared with the *front* alone, the first clusters with all large ones. Of
the others most are alone, and are compared with the clusters that have changed since they were looked at.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._kernels.looks import CLOCK, MOVES, OPENED, least_gaps, new_epoch
from epluribus._kernels.loops import look_again, move_checked
from epluribus._kernels.scan import add_costs, add_exact_costs
from epluribus._kernels.tables import Tables
from epluribus._kernels.vector import LANES
from epluribus._parallel import run_tasks
from epluribus._typing import FloatArray, IntArray
from epluribus.engine.settings import Settings

_FEWEST, _PARTS = 1024, 64
"""Items that are looked at and then visited, at least, and parts in which an order is visited, at most."""
_TASK = 16, 256
"""Items that a task looks at, at least and at most: the more of them, the less is read for each."""
_MOST_MOVES = 1 / 16
"""Share of the items visited last that moved, above which a look ahead does not pay: too much has changed
before the sweep comes to the items."""

_CACHE = 2 << 20
"""Bytes of gains up to which a sweep reads all of them from the cache anyway."""
_SHORT = 1 / 4
"""Share of the clusters up to which a front pays, and however many items move, a look at it alone."""
_COPY = 64
"""Copying the gains of a cluster takes as long as a look at it for this many items, times the groups."""
_TIMES = 4
"""An item is expected to stay after a look at the front if its cluster is so many times as large as any
other than those of the front."""
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
        Without tables the order is one part, and no item is looked at; nor is one while tables are small.
    """

    def __init__(self, order: IntArray, settings: Settings, state: Any) -> None:
        self._order, self._settings = order, settings
        self._looks = isinstance(state, Tables) and len(order) >= 2 * _FEWEST
        self._size = max(_FEWEST, len(order) // _PARTS) if self._looks else len(order)
        self._moved = 0

    def next(self, state: Any, begin: int, n_moves: int) -> int:
        """Look at the items from position `begin` on, if it pays; return the position up to which.

        `n_moves` is the number of moves of the sweep so far.
        """
        end = min(begin + self._size, len(self._order))
        k = int(state.n_clusters[0])
        # Without room for a new cluster nothing can be said about one: the sweep asks for it.
        if self._looks and k < len(state.sizes) and state.gain.nbytes > _CACHE:
            short = front_of(state) < k
            if short and begin == 0:
                self._look(state, self._order[unchanged(state, self._order)])
            if short or n_moves - self._moved <= _MOST_MOVES * self._size:
                self._look(state, self._order[begin:end])
        self._moved = n_moves
        return end

    def _look(self, state: Any, items: IntArray) -> None:
        new_epoch(state.looks)
        settings = self._settings
        look(state, items[known_gaps(state, None, items, settings) <= 0.0], settings)


def unchanged(state: Any, items: IntArray) -> NDArray[np.bool_]:
    """Which of the items preferred their own cluster, and it is as it was: only others may have changed."""
    looks = state.looks
    known = (looks.until[items] > -np.inf) & (looks.gap[items] > 0.0)
    return known & (looks.changed[state.labels[items]] <= looks.seen[items])


def known_gaps(state: Any, row: Any, items: IntArray, settings: Settings) -> FloatArray:
    """A lower bound on the gap of each of the items; minus infinity where nothing is known."""
    look_again(state, row, items, settings.stopper.flag)
    return least_gaps(state, items)


def rush(state: Any, settings: Settings) -> float:
    """Move many items at a time while many want to; return the change of the total loss.

    All free items are looked at. Then those that would move do so, one after the other, if that still helps
    when it is their turn. That leaves fewer moves to the sweeps, which look at one item at a time.
    """
    change, n_items = np.zeros(1), len(state.draws)
    while not settings.stopper.stopped:
        new_epoch(state.looks)
        items, target, gap = look(state, np.arange(n_items), settings)
        wanted = np.flatnonzero((gap < 0.0) & (target >= 0))
        if move_checked(state, None, items[wanted], target[wanted], change) <= n_items * _FEW_MOVES:
            break
    return float(change[0])


def front_of(state: Any) -> int:
    """The number of clusters in the front: all of them, unless a few are enough for most items."""
    k, n_items = int(state.n_clusters[0]), len(state.labels)
    sizes = state.sizes[:k]
    # For every number of whole vectors: the largest cluster behind, and the items then looked at twice.
    ends = np.arange(LANES, k, LANES)
    behind = np.maximum.accumulate(sizes[::-1])[::-1][ends]
    in_order = np.sort(sizes)
    below = np.append(0, np.cumsum(in_order))
    twice = below[np.searchsorted(in_order, _TIMES * behind, side="right")]
    steps = n_items * ends + twice * k
    best = int(np.argmin(steps)) if len(ends) else 0
    pays = len(ends) > 0 and steps[best] <= _SHORT * k * n_items
    return int(ends[best]) if pays else k


def look(state: Any, items: IntArray, settings: Settings) -> tuple[IntArray, IntArray, FloatArray]:
    """Look at items with nothing moved, and remember what was found: items, best other cluster, gap.

    Gaps are lower bounds; of an item that stays, the best other cluster may be unknown.
    """
    # By cluster, so that items that read the same cells follow each other.
    items = items[state.labels[items] >= 0]
    items = items[np.argsort(state.labels[items], kind="stable")]
    labels, price, looks = state.labels[items], state.price, state.looks
    target, gap = np.full(len(items), -1), np.full(len(items), -np.inf)
    k, front, alone = int(state.n_clusters[0]), front_of(state), state.sizes[labels] == 1
    if front < k:
        # Those whose own cluster is as it was are compared with the clusters that have changed.
        same = np.flatnonzero(unchanged(state, items))
        changed = np.flatnonzero(looks.changed[:k] > looks.seen[items[same]].min(initial=np.inf))
        if len(changed) * _COPY * state.gain.shape[1] <= len(same) * k:
            gap[same] = looks.gap[items[same]]
            if len(changed) > 0:
                none = np.full(len(same), np.inf)
                _, now = _in_threads(state, changed, none, items[same], settings)
                gap[same] = np.minimum(now, gap[same])
        # Others may be far from all clusters behind the front, and from a new one.
        some = np.flatnonzero((gap <= 0.0) & ~alone)
        least = np.full(len(some), _least_cost(price, int(state.sizes[front:k].max())))
        _, gap[some] = _in_threads(state, np.arange(front), least, items[some], settings)
    rest = np.flatnonzero(gap <= 0.0)
    new = np.where(alone[rest], np.inf, _least_cost(price, 0))
    target[rest], gap[rest] = _in_threads(state, np.arange(k), new, items[rest], settings)
    looks.opened[items] = np.where(alone, looks.clock[OPENED], -1.0)
    looks.until[items] = gap + looks.own[labels] + looks.clock[CLOCK]
    looks.gap[items] = gap
    looks.seen[items] = looks.clock[MOVES]
    return items, target, gap


def _in_threads(
    state: Any, columns: IntArray, least: FloatArray, items: IntArray, settings: Settings
) -> tuple[IntArray, FloatArray]:
    """The best of some clusters for each item, and how much more it costs than the item's own, at least.

    The clusters are in order. What any other cluster costs each item at least is given.
    """
    # What the tasks would find that are left out when the search is ended: nothing.
    target, gap, gain = np.full(len(items), -1), np.full(len(items), -np.inf), state.gain
    if len(items) > 0 and columns[-1] >= len(columns):
        # Only the first clusters can be read where they are.
        gain = np.zeros((*gain.shape[:2], -(-len(columns) // LANES) * LANES), dtype=gain.dtype)
        gain[:, :, : len(columns)] = state.gain[:, :, columns]
    size = int(np.clip(-(-len(items) // settings.n_jobs), *_TASK))
    tasks = [
        partial(_look, state, gain, columns, least[some], items[some], target[some], gap[some])
        for some in (slice(begin, begin + size) for begin in range(0, len(items), size))
    ]
    if settings.n_jobs > 1 and len(tasks) > 1:
        run_tasks(tasks, n_jobs=settings.n_jobs, stopper=settings.stopper)
    else:
        for task in tasks:
            task()
    return target, gap


def _look(
    state: Any,
    gain: NDArray[np.float32],
    columns: IntArray,
    least: FloatArray,
    items: IntArray,
    target: IntArray,  # OUT
    gap: FloatArray,  # OUT
) -> None:
    """What `_in_threads` finds, for some of the items."""
    price, rows, labels, n = state.price, state.draws[items], state.labels[items], len(columns)
    own, used = np.zeros(len(items)), -(-n // LANES) * LANES
    cost = np.zeros((len(items), used))
    add_costs(rows, gain, used, np.empty(used, dtype=np.float32), cost)
    add_exact_costs(rows, labels, state.counts, state.fold, price.joint, own)
    # Lower bounds. If all terms have one sign, the error of a sum is known as a share of it; else it is at
    # most half the margin.
    if price.rounding > 0.0:
        cost *= 1.0 + price.rounding if cost.min() < 0.0 else 1.0 - price.rounding
    else:
        cost -= 0.5 * price.margin
    cost[:, :n] += price.size[state.sizes[columns]]
    cost[:, n:] = np.inf
    mine = np.searchsorted(columns, labels)
    here = np.flatnonzero(np.append(columns, -1)[mine] == labels)
    cost[here, mine[here]] = np.inf  # no other cluster
    best = cost.argmin(axis=1)
    low = cost[np.arange(len(items)), best]
    target[:] = np.where(low <= least, columns[np.minimum(best, n - 1)], state.n_clusters[0])
    now = own + price.size[state.sizes[labels] - 1]
    gap[:] = np.minimum(low, least) - now - price.tolerance


def _least_cost(price: Price, most: int) -> float:
    """What a cluster of at most `most` items, perhaps a new one, costs any item at least."""
    # In each draw it has between none and all of its items in the group of the item.
    joint = np.minimum.accumulate(price.joint[: most + 1])
    return float((price.size[: most + 1] + price.weights.sum() * joint).min())
