"""The expected loss as the search sees it: a state that changes item by item, and what changes cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._kernels.merge import merge_clusters
from epluribus._kernels.partitions import count_tables
from epluribus._kernels.structs import MergeTables, MergeWork, Sample, State, Tables, count_dtype
from epluribus._kernels.sweep import (
    BLOCK,
    fill_gain,
    linear_allocate,
    linear_costs,
    linear_own_cost,
    linear_sweep,
    ratio_allocate,
    ratio_costs,
    ratio_sweep,
    state_joint,
    take,
)
from epluribus._kernels.vector import LANES
from epluribus._memory import available, check_memory
from epluribus.draws import as_labels
from epluribus.losses.expected import loss_values, values_from_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import IntArray
    from epluribus.draws import Draws
    from epluribus.losses.base import Loss

__all__ = ["NEVER", "Objective", "walking_pays"]

NEVER = np.zeros(1, dtype=np.uint8)
"""A stop flag that is never set."""
NEVER.flags.writeable = False


_CELLS = 1 << 18
"""Group sizes worked on at a time: half a MB, and 2 MB of f3 of them."""
_WALK = 32.0
_STEP = 64.0
"""Cost of walking past a member of a group, and of finding the group, in entries of the contingency tables
added up. Measured: 5 to 30 ns a member, the more the draws scatter, and 0.2 to 0.35 ns an entry."""
_LARGEST = 4 << 30
"""Bytes of contingency tables from which on members are walked through even where that is slower; or a
quarter of the memory that is left."""


def _group_sizes(table: NDArray[np.unsignedinteger[Any]], groups: int) -> NDArray[np.integer[Any]]:
    """(n_draws, groups) sizes of the groups of each draw."""
    n_items, n_draws = table.shape
    sizes = np.zeros((n_draws, groups, 1), dtype=count_dtype(n_items))
    one = np.zeros(n_items, dtype=np.int64)
    block = max(16, _CELLS // groups)
    for begin in range(0, n_draws, block):
        end = min(begin + block, n_draws)
        count_tables(table, begin, end, one, sizes[begin:end])
    return sizes[:, :, 0]


def walking_pays(table: NDArray[np.unsignedinteger[Any]], loss: Loss) -> bool:
    """Whether walking through members costs less than contingency tables, or these are too large.

    The estimate is taken to have as many clusters as the draws have on average.
    """
    n_items, n_draws = table.shape
    groups = int(table.max()) + 1
    if groups <= _STEP:
        return False
    sizes = _group_sizes(table, groups)
    k = float((sizes > 0).sum()) / n_draws
    members = (
        sum(float(np.square(row, dtype=np.float64).sum()) for row in sizes) / n_draws / n_items
    )
    needed = n_draws * groups * k * (6 if loss.linear else 10)
    return _WALK * members + _STEP < k or needed > min(_LARGEST, available() / 4)


class Objective:
    """Expected loss over a sample of partitions.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_draws)
        Canonical labels, item-major, unsigned.
    weights : ndarray of shape (n_draws,)
    loss : Loss
    """

    def __init__(
        self,
        table: NDArray[np.unsignedinteger[Any]],
        weights: NDArray[np.float64],
        loss: Loss,
    ) -> None:
        self.loss = loss
        self.n_items, self.n_draws = table.shape
        self.groups = int(table.max()) + 1
        self.sample = Sample(table, np.ascontiguousarray(weights, dtype=np.float64))
        self.total_weight = float(weights.sum())
        self.f1, self.f2, f3 = loss.tables(self.n_items)
        sizes = _group_sizes(table, self.groups)
        rows = max(16, _CELLS // self.groups)  # at a time, since f3 of them all may be large
        parts = [f3[sizes[at : at + rows]].sum(axis=1) for at in range(0, self.n_draws, rows)]
        self.group_sums = np.concatenate(parts)
        self._n_groups = (sizes > 0).sum(axis=1)
        self.tables = self._make_tables()
        self._row = None if loss.linear else loss.compiled_row()

    @classmethod
    def of(cls, draws: Draws, loss: Loss, columns: IntArray | None = None) -> Objective:
        """The objective over all distinct draws, or over some of them."""
        if columns is None:
            return cls.over(draws.item_major, draws.weights, loss)
        table = np.ascontiguousarray(draws.item_major[:, columns])
        return cls.over(table, draws.weights[columns], loss)

    @staticmethod
    def over(
        table: NDArray[np.unsignedinteger[Any]], weights: NDArray[np.float64], loss: Loss
    ) -> Objective:
        """The objective with contingency tables, or without them where clusters are many and small."""
        from epluribus.search.members import MembersObjective

        kind = MembersObjective if walking_pays(table, loss) else Objective
        return kind(table, weights, loss)

    def _make_tables(self) -> Tables:
        """Differences of f1 and f2; for a linear f0 coefficients and weights are multiplied in."""
        joint = np.append(np.diff(self.f1), 0.0)
        size = np.append(np.diff(self.f2), 0.0)
        if not self.loss.linear:
            ones = np.ones(self.n_draws)
            return Tables(joint, size, ones, 0.0, 1e-11 * self.total_weight)
        form = self.loss.linear_form(self.n_items)
        joint *= form.joint
        size *= form.size * self.total_weight
        largest = np.abs(joint).max() * self.total_weight
        # A term is rounded once when stored; a block of them is added in BLOCK / 4 steps of two
        # roundings: relative errors of 2**-24 each.
        margin = 2 * (BLOCK / 4 + 4) * 2.0**-24 * largest
        tolerance = 8 * self.n_draws * 2.0**-53 * (largest + np.abs(size).max())
        return Tables(joint, size, self.sample.weights, float(margin), float(tolerance))

    def _merge_tables(self) -> MergeTables:
        f1, f2 = self.f1, self.f2
        if self.loss.linear:
            form = self.loss.linear_form(self.n_items)
            f1, f2 = form.joint * f1, form.size * self.total_weight * f2
        return MergeTables(f1, f2, self.sample.weights, self.group_sums, float(self.n_items))

    # --- states ---

    def start(self, labels: IntArray, room: int = 1) -> State:
        """The state at `labels` (0..K-1 without gaps), with room for at least `room` more clusters."""
        k = int(labels.max()) + 1
        state = self._allocated(labels.astype(np.int64), k, k + room)
        state.sizes[:k] = np.bincount(labels)
        count_tables(self.sample.labels, 0, self.n_draws, state.labels, state.counts)
        fill_gain(state.counts, self.tables, state.gain)
        return state

    def _allocated(self, labels: IntArray, k: int, width: int) -> State:
        """A state without counts, as wide as asked for; rounded up to whole vectors if f0 is linear."""
        if self.loss.linear:
            width = -(-width // LANES) * LANES
        shape = (self.n_draws, self.groups, width)
        self._check_memory(width, 6 if self.loss.linear else 10)
        return State(
            labels,
            np.zeros(width, dtype=np.int64),
            np.array([k], dtype=np.int64),
            np.zeros(shape, dtype=count_dtype(self.n_items)),
            np.empty(shape, dtype=np.float32 if self.loss.linear else np.float64),
        )

    def _check_memory(self, width: int, n_bytes: int) -> None:
        """Refuse tables for `width` clusters that do not fit in memory."""
        way_out = "Fewer draws need less (thin=), as do fewer clusters (k_max=)"
        if not self.loss.linear:
            way_out += ", and a linear loss, such as 'vi' or 'binder'"
        check_memory(
            float(n_bytes) * self.n_draws * self.groups * width,
            f"The search for the loss '{self.loss.name}', with {self.n_draws:,} draws of up to "
            f"{self.groups:,} clusters and {width:,} clusters of the estimate,",
            f"{way_out}.",
        )

    def _widened(self, state: State) -> State:
        """The same state with room for more clusters."""
        k = int(state.n_clusters[0])
        new = self._allocated(state.labels, k, k + max(2, k // 4))
        new.sizes[:k] = state.sizes[:k]
        new.counts[:, :, :k] = state.counts[:, :, :k]
        fill_gain(new.counts, self.tables, new.gain)
        return new

    def sums(self, state: State) -> tuple[NDArray[np.float64], float]:
        """Joint sums of all draws and the size sum, from the counts."""
        joint, _ = self._joint(state)
        return joint, float(self.f2[state.sizes].sum())

    def _joint(self, state: State) -> tuple[NDArray[np.float64], IntArray]:
        joint, n_cells = np.empty(self.n_draws), np.empty(self.n_draws, dtype=np.int64)
        state_joint(state.counts, int(state.n_clusters[0]), self.f1, joint, n_cells)
        return joint, n_cells

    def value(self, state: State) -> float:
        """Expected loss of the state, from its counts."""
        joint, n_cells = self._joint(state)
        size = float(self.f2[state.sizes].sum())
        values = values_from_sums(self.loss, self.n_items, joint, size, self.group_sums)
        if self.loss.zero_if_equal:
            values[(n_cells == self._n_groups) & (n_cells == state.n_clusters[0])] = 0.0
        return float(values @ self.sample.weights / self.total_weight)

    def value_of(self, labels: IntArray) -> float:
        """Expected loss of canonical labels."""
        values = loss_values(labels, self.sample.labels, self.loss)
        return float(values @ self.sample.weights / self.total_weight)

    # --- moves ---

    def changes(self, state: State, i: int) -> NDArray[np.float64]:
        """Change of the expected loss if item i goes to each cluster, or to a new one (last entry)."""
        k, width = int(state.n_clusters[0]), len(state.sizes)
        own = int(state.labels[i])
        cost = np.zeros(width)
        if self.loss.linear:
            part = np.zeros(width, dtype=np.float32)
            linear_costs(self.sample, state, i, self.tables, part, cost)
            cost[own] = linear_own_cost(self.sample, state, i, self.tables)
        else:
            copy = State._make(array.copy() for array in state)
            take(self.sample, copy, i, self.tables)
            joint, size = self.sums(copy)
            ratio_costs(
                self._row, self.sample, copy, i, self.tables, joint, self.group_sums, size, k + 1,
                np.zeros(width), cost,
            )  # fmt: skip
        return (cost[: k + 1] - cost[own]) / self.total_weight

    def sweep(
        self,
        state: State,
        order: IntArray,
        *,
        k_min: int = 1,
        k_max: int | None = None,
        stop: NDArray[np.uint8] = NEVER,
    ) -> tuple[State, int, bool]:
        """Visit the items in `order`, each moved to its best cluster.

        Returns the state (a new one if more room was needed), the number of moves, and whether all
        items were visited.
        """
        n_moves = np.zeros(1, dtype=np.int64)
        k_max = self.n_items if k_max is None else k_max
        begin = 0
        while True:
            begin = self._sweep(state, order, begin, k_min, k_max, stop, n_moves)
            if begin == len(order) or stop[0]:
                return state, int(n_moves[0]), begin == len(order)
            state = self._widened(state)

    def _sweep(
        self,
        state: State,
        order: IntArray,
        begin: int,
        k_min: int,
        k_max: int,
        stop: NDArray[np.uint8],
        n_moves: IntArray,
    ) -> int:
        width = len(state.sizes)
        cost = np.empty(width)
        if self.loss.linear:
            part = np.empty(width, dtype=np.float32)
            return linear_sweep(
                self.sample,
                state,
                self.tables,
                order,
                begin,
                k_min,
                k_max,
                stop,
                part,
                cost,
                n_moves,
            )
        joint, size = self.sums(state)
        return ratio_sweep(
            self._row, self.sample, state, self.tables, order, begin, k_min, k_max, stop,
            joint, self.group_sums, np.array([size]), np.empty(width), cost, n_moves,
        )  # fmt: skip

    def allocate(self, order: IntArray, *, k_max: int) -> IntArray:
        """Labels made by putting the items, in `order`, one by one where they cost least."""
        state = self._allocated(np.full(self.n_items, -1, dtype=np.int64), 0, 1)
        fill_gain(state.counts, self.tables, state.gain)
        joint, size = np.zeros(self.n_draws), np.zeros(1)
        begin = 0
        while True:
            width = len(state.sizes)
            if self.loss.linear:
                begin = linear_allocate(
                    self.sample, state, self.tables, order, begin, k_max,
                    np.empty(width, dtype=np.float32), np.empty(width),
                )  # fmt: skip
            else:
                begin = ratio_allocate(
                    self._row, self.sample, state, self.tables, order, begin, k_max,
                    joint, self.group_sums, size, np.empty(width), np.empty(width),
                )  # fmt: skip
            if begin == len(order):
                return as_labels(state.labels)
            state = self._widened(state)

    def merge(
        self,
        labels: IntArray,
        *,
        k_min: int = 1,
        k_max: int | None = None,
        stop: NDArray[np.uint8] = NEVER,
    ) -> IntArray:
        """Join clusters, the best pair first, while the loss falls or there are more than `k_max`."""
        k = int(labels.max()) + 1
        self._check_memory(k, 4)
        state = State(
            labels.astype(np.int64),
            np.bincount(labels).astype(np.int64),
            np.array([k], dtype=np.int64),
            np.zeros((self.n_draws, self.groups, k), dtype=count_dtype(self.n_items)),
            np.empty((0, 0, 0)),  # joining needs no gains
        )
        count_tables(self.sample.labels, 0, self.n_draws, state.labels, state.counts)
        joint, size = self.sums(state)
        merge_clusters(
            self._row,
            state,
            self._merge_tables(),
            MergeWork(
                joint,
                np.array([size]),
                np.zeros(k, dtype=np.int64),
                np.empty(k),
                np.zeros(k, dtype=np.uint8),
                np.empty(k),
                np.empty(k),
                np.empty(k),
            ),
            k_min,
            self.n_items if k_max is None else k_max,
            self.tables.tolerance,
            stop,
        )
        return as_labels(state.labels)
