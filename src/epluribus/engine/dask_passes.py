"""Passes over draws on the workers of a Dask cluster.

Each worker adds up what its draws say about a range of items; the sums of all slices meet on one worker,
which finds the gaps. Only these come back: 16 bytes for each item. The costs of a range go from worker to
worker once, and only in the two or three passes of a search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.partitions import count_tables
from epluribus._kernels.scan import find_gaps
from epluribus._parallel import Stopped, Stopper
from epluribus._typing import FloatArray, IntArray
from epluribus.draws.dask_store import DaskStore, results, same
from epluribus.draws.store import Labels, Slice
from epluribus.engine.passes import Frozen, Gains, Looked, Rest, blocks, nothing_yet
from epluribus.partition import read_only

_ITEMS = 1 << 16
"""Items in a range: some megabytes of costs."""


class DaskPasses:
    """Like `LocalPasses`, for a `DaskStore`."""

    def __init__(self, store: DaskStore, stopper: Stopper, on_done: Callable[[float], Any]) -> None:
        self.store, self._stopper, self._on_done = store.hearing(stopper), stopper, on_done

    def count(self, labels: IntArray, k: int) -> NDArray[np.int32]:
        """(n_draws, groups, k) contingency tables of all draws; a label of -1 is not counted."""
        counts = self.store.map(_count, _small(labels, k), k, self.store.groups)
        if self._stopper.stopped:
            raise Stopped
        self._on_done(1.0)
        return np.concatenate(counts)

    def look(self, labels: IntArray, frozen: Frozen, items: IntArray | None = None) -> Looked:
        """Look at all items, or at some of them."""
        store, submit = self.store, self.store.client.submit
        n = store.n_items if items is None else len(items)
        found = nothing_yet(n)
        own = submit(same, _small(labels, frozen.rest.n_clusters), pure=False)
        rest = submit(same, frozen.rest, pure=False)
        gains = [
            submit(same, frozen.part(slice(begin, begin + width)), pure=False)
            for begin, width in zip(store.begins, store.widths, strict=True)
        ]
        ranges = {}
        for begin, end in blocks(n, _ITEMS):
            some = slice(begin, end) if items is None else items[begin:end]
            costs = [
                submit(_costs, table, part, own, some, pure=False)
                for table, part in zip(store.parts, gains, strict=True)
            ]
            ranges[submit(_gaps, costs, own, some, rest, pure=False)] = begin, end
        for future, (begin, end) in ranges.items():
            [looked] = results(store.client, [future], self._stopper)
            if self._stopper.stopped:  # while they were waited for, or before
                raise Stopped
            for out, part in zip(found, looked, strict=True):
                out[begin:end] = part
            self._on_done((end - begin) / n)
        return found


def _small(labels: IntArray, k: int) -> NDArray[np.signedinteger[Any]]:
    """Labels -1..k-1 in few bytes, for the journey."""
    return labels.astype(np.int16 if k < 2**15 else np.int32)


def _count(
    part: Slice, labels: NDArray[np.signedinteger[Any]], k: int, groups: int
) -> NDArray[np.int32]:
    counts = np.zeros((part.table.shape[1], groups, k), dtype=np.int32)
    count_tables(read_only(part.table), 0, part.table.shape[1], labels.astype(np.int64), counts)
    return counts


def _costs(
    table: Labels,
    gains: Gains,
    labels: NDArray[np.signedinteger[Any]],
    some: slice | IntArray,
) -> tuple[FloatArray, FloatArray]:
    mine = labels[some].astype(np.int64)
    cost, own = np.zeros((len(mine), gains.gain.shape[2])), np.zeros(len(mine))
    gains.add(table[some], mine, cost, own)
    return cost, own


def _gaps(
    costs: list[tuple[FloatArray, FloatArray]],
    labels: NDArray[np.signedinteger[Any]],
    some: slice | IntArray,
    rest: Rest,
) -> Looked:
    # In the order of the slices, so that rounding does not depend on which worker was first.
    cost, own = (sum(part) for part in zip(*costs, strict=True))
    mine = labels[some].astype(np.int64)
    found = nothing_yet(len(mine))
    find_gaps(cost, own, mine, *rest, *found)
    return found
