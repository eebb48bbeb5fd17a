"""The execution that keeps the contingency tables of all draws in memory, and when it is the quicker one.

The number of cells is draws x clusters of a draw x clusters of the estimate. A cell takes a
count of 2 bytes and a gain of 4; above 65,535 items counts take 4.
With many small clusters the tables are large and nearly empty, and it is quicker to walk through the members
of clusters (`members`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._kernels.looks import no_looks
from epluribus._kernels.partitions import count_dtype, count_tables, fill_gain, table_sums
from epluribus._kernels.tables import Tables
from epluribus._kernels.tangent import DRAWS, tilt
from epluribus._kernels.vector import LANES
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import available_memory, check_memory
from epluribus.engine.anchors import Anchors
from epluribus.losses.base import Loss
from epluribus.losses.values import groups_of

_WALK_LINEAR = (4.5, 0.0)
_WALK_RATIO = (0.8, 30.0)
"""(a, b): walking through members is quicker where a * members + b < clusters, with members the mean size of
an item's cluster in the draws, and clusters the mean number of clusters of a draw. Fitted to whole searches
with 12 to 200 clusters of 4 to 50 items. With 100 clusters, the two executions take the same time at 18
members for VI, at 40 for Binder and beyond 50 for NID. Rows of contingency tables are added eight clusters
at a time, so tables are better where clusters are few or large."""
_LARGEST = 4 << 30
"""Bytes of contingency tables above which members are walked through even where that is slower; the limit is
lower, a quarter of the free memory, where there is less."""


def tables_pay(table: NDArray[np.unsignedinteger[Any]], n_groups: IntArray, loss: Loss) -> bool:
    """Whether contingency tables cost less time than walking through members, and fit in memory.

    `n_groups` is the number of clusters of each draw. The estimate is assumed to have as many clusters as
    the draws have on average.
    """
    n_items, n_draws = table.shape
    groups, k = int(table.max()) + 1, float(n_groups.mean())
    needed = n_draws * groups * k * 6
    if needed > min(_LARGEST, available_memory() / 4):
        return False
    a, b = _WALK_LINEAR if loss.linear else _WALK_RATIO
    # The mean size of an item's cluster is at least N / K, with equality if all clusters have the same size:
    # often this settles the question without a pass over the labels.
    if a * n_items / k + b >= k:
        return True
    # Otherwise it is computed: n of the items are in a cluster of size n, so the mean size is sum n^2 / N.
    squares = groups_of(table, np.arange(n_items + 1.0) ** 2).sums
    return bool(a * squares.mean() / n_items + b >= k)


class TableExecution:
    """Makes and changes the states of `_kernels/tables.py`."""

    def __init__(
        self,
        table: NDArray[np.unsignedinteger[Any]],
        price: Price,
        loss: Loss,
        anchors: Anchors | None = None,
    ) -> None:
        self._table, self._price, self._loss, self._anchors = table, price, loss, anchors
        self._n_free, self._n_draws = table.shape
        self._n_items = len(price.f1) - 1
        self._groups = int(table.max()) + 1 if anchors is None else anchors.counts.shape[1]
        self.skips, self.grows_with_draws = loss.linear, True
        # The estimate is assumed to have as many clusters as the draws have.
        self.steps = float(table.size) * float(table.max(axis=0, initial=0).mean() + 1)

    def start(self, labels: IntArray, *, room: int = 1, moves: bool = True) -> Tables:
        """The state at `labels`, with room for `room` more clusters; only joins are possible if not `moves`.

        Takes one pass over all labels and one over all cells.
        """
        k = int(labels.max()) + 1
        state = self._empty(labels.astype(np.int64), k, k + room if moves else k, moves=moves)
        if k > 0:  # otherwise no item is in a cluster yet
            free = labels[: self._n_free]
            state.sizes[:k] = np.bincount(free[free >= 0], minlength=k)
            count_tables(self._table, 0, self._n_draws, state.labels, state.counts)
        if self._anchors is not None:
            self._anchors.add_to(state.counts, state.sizes, labels[self._n_free :])
        self._fill_gain(state)
        return state

    def _fill_gain(self, state: Tables) -> None:
        """The gains, if f0 is linear; otherwise the derivatives must come first (`tilt`)."""
        if self._loss.linear and state.gain.size:
            fill_gain(state.counts, state.fold, self._price.joint, 0, state.gain)

    def _empty(self, labels: IntArray, k: int, width: int, *, moves: bool = True) -> Tables:
        """A state without counts, for `width` clusters, rounded up to whole vectors."""
        linear, n = self._loss.linear, self._n_draws
        if moves:
            width = -(-width // LANES) * LANES
        shape = (n, self._groups, width)
        count = np.dtype(count_dtype(self._n_items))
        # Bytes per cell: a count and a gain; there are no gains if clusters only join.
        self._check_memory(width, count.itemsize + (4 if moves else 0))
        return Tables(
            price=self._price,
            draws=self._table,
            # If f0 is not linear, each state has derivatives of its own.
            fold=self._price.weights if linear else np.full(n, np.nan),
            slope=np.ones(1) if linear else np.full(1, np.nan),
            labels=labels,
            sizes=np.zeros(width, dtype=np.int64),
            n_clusters=np.array([k], dtype=np.int64),
            counts=np.zeros(shape, dtype=count),
            gain=np.empty(shape if moves else (0, 0, 0), dtype=np.float32),
            joint_sums=np.zeros(n),
            size_sum=np.zeros(1),
            total=np.full(1, np.nan),
            cost=np.empty(width),
            now=np.empty(n),
            rows=np.empty(0 if linear else max(n, DRAWS * width, 2)),
            steps=np.arange(n),
            strides=np.arange(DRAWS) * width,
            zeros=np.zeros(n, dtype=np.int64),
            single=np.empty(width, dtype=np.float32),
            double=np.empty(max(width, 2)),
            other=np.empty(max(width, 2)),
            looks=no_looks(len(labels) if linear else 0),
        )

    def _check_memory(self, width: int, n_bytes: int) -> None:
        """Refuse tables for `width` clusters, at `n_bytes` per cell, that do not fit in memory."""
        way_out = "Fewer draws need less (thin=), as do fewer clusters (k_max=)"
        if not self._loss.linear:
            way_out += ", and a linear loss, such as 'vi' or 'binder'"
        check_memory(
            float(n_bytes) * self._n_draws * self._groups * width,
            f"The search for the loss '{self._loss.name}', with {self._n_draws:,} draws of up to "
            f"{self._groups:,} clusters and {width:,} clusters of the estimate,",
            f"{way_out}.",
        )

    def widened(self, state: Tables) -> Tables:
        """The same state with room for more clusters."""
        # By half: if the width grows by a factor, opening many clusters copies the tables only a few times.
        k = int(state.n_clusters[0])
        new = self._empty(state.labels, k, k + max(2, k // 2))
        new.sizes[:k] = state.sizes[:k]
        new.counts[:, :, :k] = state.counts[:, :, :k]
        new.joint_sums[:] = state.joint_sums
        new.size_sum[:] = state.size_sum
        if not self._loss.linear:
            new.fold[:] = state.fold
        new.gain[:, :, :k] = state.gain[:, :, :k]
        new.gain[:, :, k:] = (new.fold * self._price.joint[0])[:, None, None]
        return new._replace(looks=state.looks)

    def narrowed(self, state: Tables) -> Tables:
        """The same partition in less memory, if many clusters have been closed."""
        # Worth a copy only if fewer than half of the columns are in use. Unused columns lie between the rows
        # that are read, and waste memory and cache.
        if state.n_clusters[0] >= len(state.sizes) // 2:
            return state
        new = self.start(state.labels)
        new.joint_sums[:] = state.joint_sums
        new.size_sum[:] = state.size_sum
        return new._replace(looks=state.looks)

    def tilt(self, state: Tables, row: Any) -> None:
        """Compute the derivatives of a loss that is not linear again, where they have changed."""
        if state.gain.size:
            tilt(row, state)

    def joint(self, state: Tables, f1: FloatArray) -> tuple[FloatArray, IntArray]:
        """Sum of f1 over the contingency table of each draw, and the number of its cells in use."""
        sums, used = np.empty((2, self._n_draws)), np.empty((2, self._n_draws), dtype=np.int64)
        table_sums(state.counts, int(state.n_clusters[0]), 0, f1, f1, sums, used)
        return sums[0], used[0]
