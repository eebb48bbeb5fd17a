"""What the search knows of the partition it is at: the contract that all states share, and the one on tables.

There are four states, one for each way to know what a move costs:

    TableState   contingency tables of all draws; linear losses (this file)
    RatioState   the same for losses whose f0 is not linear (`ratio.py`)
    MemberState  lists of the members of groups, for thousands of small clusters; linear losses (`members.py`)
    PairState    similarities of pairs of items, for Binder's loss and for similarity matrices (`pairs.py`)

`LocalSearch` (`local.py`) is written once on what they have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels import merge, sweep
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.search.problem import Problem


class Bounds(NamedTuple):
    """How many clusters there may be, and what ends a kernel early."""

    k_min: int
    k_max: int
    stop: Any
    """(1,) unsigned bytes: not 0 if the work is to end."""


class Swept(NamedTuple):
    """What one sweep has done."""

    n_moves: int
    change: float
    """Change of the total loss."""
    complete: bool
    """Whether all items were visited."""


Visited: TypeAlias = tuple[int, int, float]
"""The number of items visited, the number of moves, and the change of the total loss."""


class State(ABC):
    """A partition, and what moves and joins would cost.

    Clusters have slots, some of which may be empty. An item with a label of -1 is in no cluster.

    Attributes
    ----------
    labels : ndarray of shape (n_items,)
        Slot of each item.
    sizes : ndarray of shape (n_slots,)
        Number of items in each slot.
    renamed : int
        How often slots have been given other names.
    """

    labels: IntArray
    sizes: IntArray
    renamed: int = 0

    @property
    def n_clusters(self) -> int:
        """Number of clusters that have items."""
        return int(np.count_nonzero(self.sizes))

    @abstractmethod
    def total(self) -> float:
        """Total loss, from the counts."""

    def sweep(
        self,
        order: IntArray,
        bounds: Bounds,
        blocked: AnyArray | None = None,
        *,
        quick: bool = False,
    ) -> Swept:
        """Visit the items in `order`, and move each to the cluster where it costs least.

        Clusters that are not 0 in `blocked`, of length n_slots, take none; there must be an empty slot then. A
        `quick` sweep may overlook moves if f0 is not linear, where it is much quicker.
        """
        n_moves, change, visit = 0, 0.0, self._quick_sweep if quick else self._sweep
        while True:
            closed = np.zeros(len(self.sizes), dtype=np.uint8) if blocked is None else blocked
            done, moves, by = visit(order, bounds, closed)
            n_moves, change, order = n_moves + moves, change + by, order[done:]
            if len(order) == 0 or bounds.stop[0]:
                return Swept(n_moves, change, len(order) == 0)
            self.make_room(self.n_clusters + 1)

    @abstractmethod
    def _sweep(self, order: IntArray, bounds: Bounds, blocked: AnyArray) -> Visited:
        """The same until no slot is empty."""

    def _quick_sweep(self, order: IntArray, bounds: Bounds, blocked: AnyArray) -> Visited:
        """The same, in a way that may overlook moves, where there is a quicker one."""
        return self._sweep(order, bounds, blocked)

    @abstractmethod
    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots, which may be empty; the change of the total loss."""

    def make_room(self, n: int) -> None:
        """Have at least n empty slots, the last one among them; the others keep their names."""
        old = len(self.sizes)
        if old - self.n_clusters < n or self.sizes[-1] > 0:
            self._resize(np.arange(old), slot_count(old, n))

    def compact(self) -> None:
        """Number the clusters 0..K-1 without gaps, in as little memory as they need."""
        used, names = np.flatnonzero(self.sizes), np.full(len(self.sizes) + 1, -1)
        names[used] = np.arange(len(used))
        self._rename(names)
        self.renamed += 1
        self._resize(used, slot_count(len(used), 1))

    def _rename(self, names: IntArray) -> None:
        """Give slot s the name names[s]; the last name is that of nowhere, -1."""
        self.labels = names[self.labels]

    @abstractmethod
    def _resize(self, slots: IntArray, width: int) -> None:
        """Keep these slots, and have `width` of them in all."""

    @abstractmethod
    def join_changes(self) -> FloatArray:
        """Change of the total loss if two slots are joined, infinite on the diagonal and for empty ones."""

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one."""
        row = np.full(len(self.sizes), np.inf)
        changes = self.join_changes()
        row[: len(changes)] = changes[a]
        return row

    @abstractmethod
    def merge(self, bounds: Bounds, like: State | None = None) -> float:
        """Join clusters, the best pair first, while that helps or there are too many; the change.

        `like` is a partition that the result may be similar to; only `RatioState` looks at it.
        """


class TableState(State):
    """A partition with the contingency tables of all draws.

    A sweep takes time O(n_items n_draws K), and the tables take 8 bytes for each group and slot.

    Parameters
    ----------
    problem : Problem
        A linear loss.
    labels : ndarray of shape (n_items,)
        Labels 0..K-1, or -1 for an item in no cluster.
    fixed : tuple of ndarray, optional
        Items that stay: ``counts`` of shape (n_groups, K) and ``sizes`` of shape (K,).

    Attributes
    ----------
    fixed_slots : ndarray of shape (K + 1,)
        The slot in which the fixed items of each cluster are now; -1 at the end, and where there are none.
    """

    def __init__(
        self,
        problem: Problem,
        labels: IntArray,
        fixed: tuple[IntArray, IntArray] | None = None,
    ) -> None:
        self.problem, self.labels = problem, labels.astype(np.int64)
        k = int(labels.max(initial=-1)) + 1
        self.fixed_slots = np.full(1, -1)
        if fixed is not None:
            k = max(k, len(fixed[1]))
            self.fixed_slots = np.append(np.where(fixed[1] > 0, np.arange(len(fixed[1])), -1), -1)
        width = slot_count(k, 1)
        self.sizes = padded(np.bincount(labels[labels >= 0], minlength=k), width)
        self.counts = np.zeros((problem.n_groups, width), dtype=np.int32)
        if fixed is not None:
            self.counts[:, : len(fixed[1])] = fixed[0]
            self.sizes[: len(fixed[1])] += fixed[1]
        sweep.count_cells(problem.rows, self.labels, self.counts)
        self._gains: NDArray[np.float32] | None = None
        self._costs, self._single = np.empty(width), np.empty(width, dtype=np.float32)

    @property
    def gains(self) -> NDArray[np.float32]:
        """What one more item adds in each cell; made when it is first asked for."""
        if self._gains is None:
            self._gains = np.empty(self.counts.shape, dtype=np.float32)
            sweep.fill_gains(self.counts, *self._groups, self.problem.steps, self._gains)
        return self._gains

    @property
    def _groups(self) -> tuple[FloatArray, AnyArray]:
        return self.problem.group_weights, self.problem.kinds

    def total(self) -> float:
        """Total loss without the constant."""
        cells = sweep.cell_sum(self.counts, *self._groups, self.problem.f)
        return float(cells + self.problem.size[self.sizes].sum())

    def _sweep(self, order: IntArray, bounds: Bounds, blocked: AnyArray) -> Visited:
        p = self.problem
        done: Visited = sweep.sweep(
            order, p.rows, *self._groups, p.steps, p.size_steps, p.margin, p.tolerance, *bounds, blocked,
            self.labels, self.sizes, self.counts, self.gains, self._costs, self._single,
        )  # fmt: skip
        return done

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        p = self.problem
        change = sweep.move_items(
            items, targets, p.rows, *self._groups, p.steps, p.size_steps,
            self.labels, self.sizes, self.counts, self.gains,
        )  # fmt: skip
        return float(change)

    def _rename(self, names: IntArray) -> None:
        self.labels, self.fixed_slots = names[self.labels], names[self.fixed_slots]

    def _resize(self, slots: IntArray, width: int) -> None:
        """Keep these slots, and have `width` of them in all."""
        self.counts, self.sizes = (
            columns(self.counts, slots, width),
            padded(self.sizes[slots], width),
        )
        self._gains, self._costs = None, np.empty(width)
        self._single = np.empty(width, dtype=np.float32)

    def join_changes(self) -> FloatArray:
        """Change of the total loss if two slots are joined."""
        p, top = self.problem, int(np.flatnonzero(self.sizes)[-1]) + 1
        changes, used = np.empty((top, top)), np.empty(top + 1, dtype=np.int64)
        merge.all_joins(self.counts, *self._groups, p.f, p.size, self.sizes[:top], used, changes)
        return changes

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one."""
        p, row = self.problem, np.empty(len(self.sizes))
        merge.join_row(a, self.counts, *self._groups, p.f, p.size, self.sizes, row)
        return row

    def merge(self, bounds: Bounds, like: State | None = None) -> float:  # noqa: ARG002
        """Join clusters, the best pair first, while that helps or there are too many."""
        p, k = self.problem, self.n_clusters
        changes = self.join_changes()
        if k <= max(bounds.k_min, 1) or (k <= bounds.k_max and changes.min() >= -p.tolerance):
            return 0.0
        into = np.empty(len(changes), dtype=np.int64)
        change = merge.merge(
            self.counts, *self._groups, p.f, p.size, p.tolerance, *bounds, changes,
            np.empty_like(into), np.empty(len(into)), self.sizes[: len(into)], into,
        )  # fmt: skip
        self._rename(np.append(into, -1))
        self._gains = None
        return float(change)


def padded(sizes: IntArray, width: int) -> IntArray:
    """The sizes, followed by zeros."""
    out = np.zeros(width, dtype=np.int64)
    out[: len(sizes)] = sizes
    return out


def columns(counts: AnyArray, slots: IntArray, width: int) -> AnyArray:
    """These columns of the counts, followed by zeros."""
    out = np.zeros((len(counts), width), dtype=np.int32)
    # To choose columns takes longer than to copy all.
    out[:, : len(slots)] = counts if len(slots) == counts.shape[1] else counts[:, slots]
    return out


def slot_count(k: int, n: int) -> int:
    """Slots for k clusters and n more: a quarter to spare, in whole vectors of eight numbers."""
    return -(-(k + max(n, 2, k // 4)) // 8) * 8
