"""Joining the clusters of a state, the best pair first.

Each cluster remembers its best partner (`_kernels/loops.py`). Finding the first partners takes most of the
time, and is done in threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.loops import Partners, merge
from epluribus._kernels.tables import Tables
from epluribus._parallel import run_tasks
from epluribus._typing import IntArray
from epluribus.engine.execution import changed_clusters, with_own_work
from epluribus.engine.settings import Settings

_STEPS = 10**7
"""Pairs of clusters, times draws, from which threads pay: they take about ten milliseconds."""
_TASKS = 4
"""Tasks for each thread, since clusters differ in size."""


def join_best(
    state: Any,
    row: Any,
    parents: Sequence[IntArray],
    settled: bool,
    settings: Settings,
    k_max: int,
) -> None:
    """Join clusters while the loss falls, or while there are more than `k_max`.

    Clusters that are also clusters of all `parents` are not tried with each other at the beginning; if it is
    `settled` that no item would move, nor are those of one item.
    """
    k = int(state.n_clusters[0])
    active = np.ones(k, dtype=np.bool_)
    if parents and k <= k_max:
        active[:] = np.any([changed_clusters(state.labels, one) for one in parents], axis=0)
    if settled:
        active &= state.sizes[:k] > 1
    partners, some, n_jobs = _none(k), np.flatnonzero(active), settings.n_jobs
    stop = settings.stopper.flag
    large = isinstance(state, Tables) and float(len(some)) * k * len(state.counts) >= _STEPS
    if large and n_jobs > 1:
        shares = np.array_split(some, min(len(some), _TASKS * n_jobs))
        tasks = [partial(_find, state, row, share, k_max, stop) for share in shares]
        found = run_tasks(tasks, n_jobs=n_jobs, stopper=settings.stopper)
        for share, one in zip(shares, found, strict=False):
            # Others that are active find their partners themselves.
            better = (one.change < partners.change) & (~active | _mask(share, k))
            partners.change[better] = one.change[better]
            partners.partner[better] = one.partner[better]
        some = some[:0]
    merge(state, row, _mask(some, k).view(np.uint8), partners, settings.k_min, k_max, stop)


def _none(k: int) -> Partners:
    """No partners yet: those that stand there cost infinitely much."""
    return Partners((np.arange(k) == 0).astype(np.int64), np.full(k, np.inf), np.ones(k, np.uint8))


def _mask(clusters: IntArray, k: int) -> NDArray[np.bool_]:
    """True for these clusters, of k."""
    return np.isin(np.arange(k), clusters)


def _find(
    state: Tables, row: Any, clusters: IntArray, k_max: int, stop: NDArray[np.uint8]
) -> Partners:
    """The best partners of some clusters, and what these are to the others."""
    k = int(state.n_clusters[0])
    partners = _none(k)
    # Threads share the counts, but not what is computed on the way.
    merge(with_own_work(state), row, _mask(clusters, k).view(np.uint8), partners, k, k_max, stop)
    return partners
