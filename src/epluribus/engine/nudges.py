"""Pushing items that come closest to moving, so that others may follow (`_kernels/escapes.py`).

Nearly all pushes are taken back. With large tables all of them are therefore tried first, in threads, each
from the same partition; then only those that lower the loss are made, one after the other.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.escapes import Moves, nudge, runners_up
from epluribus._kernels.looks import least_gaps
from epluribus._kernels.tables import Tables
from epluribus._parallel import run_tasks
from epluribus._typing import IntArray
from epluribus.engine.execution import copied, with_own_work
from epluribus.engine.settings import Settings

_STEPS = 10**8
"""Pushes, times those who are asked to follow, draws and clusters, from which threads pay."""
_LARGEST = 64 << 20
"""Bytes of the tables up to which every thread may have a copy."""
_TASK = 32
"""Pushes that a task tries: few enough for many threads, and enough to be worth a copy of the tables."""


def nudge_closest(
    state: Any, row: Any, n: int, n_free: int, skips: bool, settings: Settings, k_max: int
) -> tuple[int, float]:
    """Push the n items that come closest to moving; return how many pushes paid, and the change of the loss.

    Items from number `n_free` on never move. `skips` is whether it is known which items certainly stay.
    """
    bounds, stop = (settings.k_min, k_max), settings.stopper.flag
    items, target = closest(state, row, n, n_free, skips, *bounds, stop)
    patience, pushes, change = max(4, n // 8), np.ones(len(items), dtype=np.uint8), np.zeros(1)

    def push(own: Any, pushes: NDArray[np.uint8], keep: bool) -> int:
        moves = Moves(*np.empty((3, 4 * n), dtype=np.int64))
        how = pushes, keep, *bounds, patience, stop, moves, change if keep else np.zeros(1)
        return int(nudge(own, row, items, target, *how))

    def attempt(first: int) -> NDArray[np.uint8]:
        some = np.zeros_like(pushes)
        some[first : first + _TASK] = 1
        push(with_own_work(copied(state)), some, False)
        return some

    if _tried_first(state, n * patience):
        tasks = [partial(attempt, first) for first in range(0, len(items), _TASK)]
        found = run_tasks(tasks, n_jobs=settings.n_jobs, stopper=settings.stopper)
        pushes = np.bitwise_or.reduce(found)
    return push(state, pushes, True), float(change[0])


def _tried_first(state: Any, n: int) -> bool:
    """Whether all pushes are tried first, where n items in all are asked whether they follow."""
    if not isinstance(state, Tables):
        return False
    steps = float(n) * state.counts[:, 0].size
    return steps >= _STEPS and state.counts.nbytes + state.gain.nbytes <= _LARGEST


def closest(
    state: Any,
    row: Any,
    n: int,
    n_free: int,
    skips: bool,
    k_min: int,
    k_max: int,
    stop: NDArray[np.uint8],
) -> tuple[IntArray, IntArray]:
    """The n items that come closest to moving, and for these the best cluster other than their own."""
    target, gap = np.full(n_free, -1), np.full(n_free, np.inf)
    # Those first that may be closest, for all that is known, until no other can be closer.
    least = least_gaps(state, np.arange(n_free)) if skips else np.full(n_free, -np.inf)
    order, begin, unknown = np.argsort(least, kind="stable"), 0, int((least == -np.inf).sum())
    while begin < n_free:
        end = max(begin + 4 * n, unknown)
        runners_up(state, row, order[begin:end], k_min, k_max, skips, stop, target, gap)
        begin = end
        nth = np.partition(gap, n - 1)[n - 1]
        if begin < n_free and nth <= least[order[begin]]:
            break
    return np.argsort(gap, kind="stable")[:n], target
