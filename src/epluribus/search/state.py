"""What the search knows of the partition it is at: the contract that all states share, and the two on tables.

There are four states, one for each way to know what a move costs:

    TableState   contingency tables of all draws; linear losses (this file)
    RatioState   the same for losses whose f0 is not linear (this file)
    MemberState  lists of the members of groups, for thousands of small clusters; linear losses (`members.py`)
    PairState    similarities of pairs of items, for Binder's loss and for similarity matrices (`pairs.py`)

`LocalSearch` (`local.py`) is written once on what they have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels import ratio, tables
from epluribus._kernels.jit import no_f0
from epluribus._typing import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from epluribus.search.problem import Problem

_CODES = {
    "nvi": ratio.NVI, "nid": ratio.NID, "id": ratio.ID, "omari": ratio.OMARI, "zero_one": ratio.ZERO_ONE,
}  # fmt: skip
_EXACT_JOINS = 32
"""Clusters up to which joins are compared by their exact changes: these take time for every pair and draw."""


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


Visited: TypeAlias = tuple[int, int, float]
"""The number of items visited, the number of moves, and the change of the total loss."""


Closed: TypeAlias = Callable[[], NDArray[np.bool_]] | None
"""What says which two slots may not be joined, (n_slots, n_slots); None if all may."""


class State(ABC):
    """A partition, and what moves and joins would cost.

    Clusters have slots, some of which may be empty. An item with a label of -1 is in no cluster.

    Attributes
    ----------
    labels : ndarray of shape (n_items,)
        Slot of each item.
    sizes : ndarray of shape (n_slots,)
        Number of items in each slot.
    tolerance : float
        Changes of the total loss that are smaller are none.
    gap, second : ndarray of shape (n_items,)
        How much more the best other slot costs than the item's own, and that slot, when the item was visited last; not
        known for losses with an f0.
    additive : bool
        Whether the changes of joins of different pairs of clusters add up.
    """

    additive = True

    def __init__(self, labels: IntArray, tolerance: float) -> None:
        self.tolerance = tolerance
        self.labels = labels.astype(np.int64)
        width = slot_count(int(labels.max(initial=-1)) + 1, 1)
        self.sizes = np.bincount(labels[labels >= 0], minlength=width)
        self.gap, self.second = np.full(len(labels), np.inf), np.full(len(labels), -1)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that have items."""
        return int(np.count_nonzero(self.sizes))

    @abstractmethod
    def total(self) -> float:
        """Total loss without the constant, from the counts."""

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
        n_moves, change = 0, 0.0
        while True:
            closed = np.zeros(len(self.sizes), dtype=np.uint8) if blocked is None else blocked
            done, moves, by = self._visit(order, bounds, closed, quick)
            n_moves, change, order = n_moves + moves, change + by, order[done:]
            if len(order) == 0 or bounds.stop[0]:
                return Swept(n_moves, change)
            self.make_room(self.n_clusters + 1)

    @abstractmethod
    def _visit(self, order: IntArray, bounds: Bounds, blocked: AnyArray, quick: bool) -> Visited:
        """The same until no slot is empty."""

    @abstractmethod
    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots, which may be empty; the change of the total loss."""

    def make_room(self, n: int) -> None:
        """Have at least n empty slots; the others keep their names."""
        old = len(self.sizes)
        if old - self.n_clusters < n:
            self._resize(np.arange(old), slot_count(old, n))

    def compact(self) -> None:
        """Number the clusters 0..K-1 without gaps, in as little memory as they need."""
        used, names = np.flatnonzero(self.sizes), np.full(len(self.sizes) + 1, -1)
        names[used] = np.arange(len(used))
        self.labels, self.second = names[self.labels], names[self.second]
        self._resize(used, slot_count(len(used), 1))

    def _resize(self, slots: IntArray, width: int) -> None:
        """Keep these slots, and have `width` of them in all."""
        self.sizes = resized(self.sizes, slots, width)

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one; infinite for empty ones."""
        row = np.full(len(self.sizes), np.inf)
        row[: self.top] = self.join_changes()[a]
        return row

    @property
    def top(self) -> int:
        """Number of slots up to the last one in use."""
        return int(np.flatnonzero(self.sizes)[-1]) + 1

    def join_changes(self) -> FloatArray:
        """The same for every two slots up to the last one in use. Each state has this method, or the one above."""
        return np.array([self.join_row(s)[: self.top] for s in range(self.top)])

    def best_joins(self, closed: NDArray[np.bool_] | None) -> tuple[IntArray, FloatArray]:
        """For each slot the one with which it is best joined, and the change, infinite if there is none.

        No two slots are joined for which `closed`, (n_slots, n_slots), is true.
        """
        changes = self.join_changes()
        if closed is not None:
            changes[closed[: len(changes), : len(changes)]] = np.inf
        return changes.argmin(axis=1), changes.min(axis=1)

    def merge(
        self,
        bounds: Bounds,
        like: State | None = None,  # noqa: ARG002
        closed: Closed = None,
    ) -> float:
        """Join clusters while that helps or there are too many; the change.

        In each round those pairs are joined of which each is best joined with the other: in a linear loss, a sum over
        clusters, their changes add up. `like` is a partition that the result may be similar to; only `RatioState`
        looks at it; `closed` says which joins are not allowed.
        """
        total = 0.0
        while self.n_clusters > max(bounds.k_min, 1) and not bounds.stop[0]:
            k, shut = self.n_clusters, None if closed is None else closed()
            partner, least = self.best_joins(shut)
            every = np.arange(len(partner))
            a = np.flatnonzero((partner[partner] == every) & (every < partner) & (least < np.inf))
            a = a[np.argsort(least[a], kind="stable")]
            n = int(np.count_nonzero(least[a] < -self.tolerance))
            if n == 0 and k > bounds.k_max:  # some at a time: afterwards others may be better
                n = min(1 + k // 8, k - bounds.k_max)
            a = a[: min(n, k - max(bounds.k_min, 1)) if self.additive else min(n, 1)]
            if len(a) == 0:
                break
            total += float(least[a].sum())
            self._join(a, partner[a])
        return total

    def _join(self, into: IntArray, others: IntArray) -> None:
        """Bring the items of some slots into others."""
        names = np.append(np.arange(len(self.sizes)), -1)
        names[others] = into
        self.labels = names[self.labels]
        self.sizes[into] += self.sizes[others]
        self.sizes[others] = 0


class TableState(State):
    """A partition with the contingency tables of all draws.

    A sweep takes time O(n_items n_draws K), and the tables take 8 bytes for each group and slot.

    Parameters
    ----------
    problem : Problem
        A linear loss.
    labels : ndarray of shape (n_items,)
        Labels 0..K-1, or -1 for an item in no cluster. There may be more than the problem has items: the others stay.
    known : tuple of ndarray, optional
        The tables, of shape (n_groups, K), and the sizes of clusters, if there are items that are not in `labels`.
    """

    def __init__(
        self, problem: Problem, labels: IntArray, known: tuple[AnyArray, IntArray] | None = None
    ) -> None:
        super().__init__(labels, problem.tolerance)
        p, width, self.problem = problem, len(self.sizes), problem
        if known is None:
            self.counts = np.zeros((p.n_groups, width), dtype=np.int32)
            tables.count_cells(p.rows, self.labels, self.counts, 1)
        else:
            self.counts, self.sizes = (resized(x, np.arange(x.shape[-1]), width) for x in known)
        self._gains: NDArray[np.float32] | None = None
        self.joint = np.zeros(len(p.column_weights))
        self.groups, self.size = (p.group_weights, p.kinds), p.size
        """What kernels read of groups, and the costs of sizes."""
        self.columns = p.rows, p.column_weights, p.column_kinds, p.n_seen_groups, p.steps
        self._work = np.empty(width), np.empty(width, dtype=np.float32)

    @property
    def now(self) -> tuple[AnyArray, ...]:
        """What kernels change: the gains, what one more item adds in each cell, are made when first asked for."""
        if self._gains is None:
            self._gains = np.empty(self.counts.shape, dtype=np.float32)
            tables.fill_gains(self.counts, *self.groups, self.problem.steps, self._gains)
        return self.labels, self.sizes, self.counts, self._gains, self.joint

    def total(self) -> float:
        """Total loss without the constant."""
        cells = tables.cell_sum(self.counts, *self.groups, self.problem.f)
        return float(cells + self.size[self.sizes].sum())

    def _visit(self, order: IntArray, bounds: Bounds, blocked: AnyArray, quick: bool) -> Visited:  # noqa: ARG002
        p = self.problem
        done: Visited = tables.sweep(
            order, *self.columns, p.size_steps, p.margin, p.tolerance, *bounds, blocked,
            *self.now, *self._work, self.gap, self.second,
        )  # fmt: skip
        return done

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        known = *self.columns, self.problem.size_steps
        return float(tables.move_items(items, targets, *known, *self.now))

    def _resize(self, slots: IntArray, width: int) -> None:
        super()._resize(slots, width)
        self.counts = resized(self.counts, slots, width)
        self._gains, self._work = None, (np.empty(width), np.empty(width, dtype=np.float32))

    def join_changes(self) -> FloatArray:
        """Change of the total loss for every two slots up to the last one in use."""
        top = self.top
        changes, used = np.empty((top, top)), np.empty(top + 1, dtype=np.int64)
        known = *self.groups, self.problem.f, self.size, self.sizes[:top]
        tables.all_joins(self.counts, *known, used, changes)
        return changes

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one."""
        row = np.empty(len(self.sizes))
        known = *self.groups, self.problem.f, self.size, self.sizes
        tables.join_row(a, self.counts, *known, row)
        return row

    def _join(self, into: IntArray, others: IntArray) -> None:
        super()._join(into, others)
        self.counts[:, into] += self.counts[:, others]
        self.counts[:, others] = 0
        self._gains = None


class RatioState(TableState):
    """A partition with the contingency tables of all draws, for a loss whose f0 is not linear.

    Its tables are those of a linear loss, the tangent: the derivatives of the total loss by the sums J_t and by A, at
    some partition of a while ago, take the place of weights (`_kernels/ratio.py`). Sweeps look at a curve in A.

    Parameters
    ----------
    problem : Problem
    labels : ndarray of shape (n_items,)
        Labels 0..K-1, or -1 for an item in no cluster.
    """

    additive = False

    def __init__(self, problem: Problem, labels: IntArray) -> None:
        super().__init__(problem, labels)
        code = _CODES.get(problem.loss.family or "", ratio.OWN)
        self.f0 = code, no_f0() if code != ratio.OWN else problem.loss.compiled_f0()
        """The number of a built-in f0, and the compiled f0 of a user; the kernels use one of them."""
        self.area = np.empty(1)
        self._start_over()

    def _start_over(self) -> None:
        """The sums J_t and A from the counts, and the tangent at this partition."""
        p = self.problem
        ratio.joint_sums(self.counts, p.owner, p.f[0], self.joint)
        self.area[0] = p.size[self.sizes].sum()
        self._set_slopes(*self.slopes())

    def slopes(self) -> tuple[FloatArray, FloatArray, float, float]:
        """Derivatives of the total loss by the sums J_t, and a curve in A: values, where it begins, and its step."""
        p, by_joint, curve = self.problem, np.empty(self.problem.n_draws), np.empty(33)
        # The curve reaches as far as four items that move out of the largest cluster, or into it.
        unit = float(p.size_steps[min(self.sizes.max(initial=1), p.n_items - 1)]) / 4 or 1.0
        ratio.slopes(*self.f0, *self._sums, unit, by_joint, curve)
        # omARI has no kinks, and among items all alike its tangent leads further.
        if self.f0[0] == ratio.OMARI:
            curve = np.linspace(curve[12], curve[20], 9)
        return by_joint, curve, self.area[0] - len(curve) // 2 * unit, unit

    def _set_slopes(
        self, by_joint: FloatArray, values: FloatArray, start: float, unit: float
    ) -> None:
        """Let the tables be those of the linear loss with these derivatives."""
        p, middle = self.problem, len(values) // 2
        by_size = (values[middle + 4] - values[middle - 4]) / (8 * unit)
        self.groups, self.size = (by_joint[p.owner], p.kinds), by_size * p.size
        self.columns = p.rows, by_joint, p.column_kinds, p.n_seen_groups, p.steps
        self.curve, self._gains = (values, start, unit), None

    def relinearize(self) -> None:
        """Let the tables be those of the tangent at this partition."""
        self._set_slopes(*self.slopes())

    @property
    def _sums(self) -> tuple[Any, ...]:
        p = self.problem
        return p.weights, self.joint, self.area, p.group_sums, float(p.n_items)

    def _total(self) -> float:
        return float(ratio.total_loss(*self.f0, *self._sums))

    def total(self) -> float:
        """Total loss."""
        self._start_over()
        return self._total()

    def _visit(self, order: IntArray, bounds: Bounds, blocked: AnyArray, quick: bool) -> Visited:
        p = self.problem
        done: Visited = ratio.sweep(
            *self.f0, order, *self.columns, p.size_steps, p.weights, *self.curve, p.group_sums, p.tolerance,
            *bounds, blocked, quick, self.area, *self.now, *self._work, np.empty(len(self.sizes)),
        )  # fmt: skip
        return done

    def move_pairs(self, items: IntArray, bounds: Bounds) -> Swept:
        """Move two of the items at a time where that lowers the loss."""
        self.make_room(3)
        self.relinearize()
        p, costs = self.problem, np.empty((len(self.labels), len(self.sizes)))
        done: tuple[int, float] = ratio.move_pairs(
            *self.f0, items, *self.columns, p.size_steps, p.weights, *self.curve, p.group_sums, p.tolerance,
            *bounds, self.area, *self.now, self._work[1], costs, self.second,
        )  # fmt: skip
        return Swept(*done)

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        before = self._total()
        super().move(items, targets)
        self.area[0] = self.problem.size[self.sizes].sum()
        return self._total() - before

    def join_changes(self) -> FloatArray:
        """(K, K) change of the total loss, or of the tangent, if two clusters are joined."""
        if self.additive:
            return super().join_changes()
        p, k = self.problem, self.top
        changes, more = np.empty((2, k, k))
        ratio.all_joins(
            *self.f0, self.counts, p.kinds, p.first, p.weights, p.f, p.size, *self._sums[1:],
            self.sizes[:k], np.empty(k + 1, dtype=np.int64), more, changes,
        )  # fmt: skip
        return changes

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one; of many, of its tangent."""
        many = self.additive or self.n_clusters > _EXACT_JOINS
        return super().join_row(a) if many else State.join_row(self, a)

    def merge(self, bounds: Bounds, like: State | None = None, closed: Closed = None) -> float:
        """Join clusters while that helps or there are too many; the change.

        Exact changes are compared where clusters are few. Of more, those are joined first whose join lowers the
        tangent of the loss at a partition `like` this one, which is linear.
        """
        before, k_max = self._total(), max(_EXACT_JOINS, bounds.k_max)
        if isinstance(like, RatioState):
            self._merge_linear(bounds, closed, *like.slopes())
        if self.n_clusters > k_max:
            self._merge_linear(Bounds(k_max, k_max, bounds.stop), closed, *self.slopes())
        if self.n_clusters <= _EXACT_JOINS:
            super().merge(bounds, None, closed)
            self._start_over()
        return self._total() - before

    def _merge_linear(
        self, bounds: Bounds, closed: Closed, by_joint: FloatArray, *curve: Any
    ) -> None:
        """Join clusters as the linear loss with these derivatives wants."""
        self._set_slopes(by_joint, *curve)
        self.additive = True
        super().merge(bounds, None, closed)
        self.additive = False
        self._start_over()

    def _join(self, into: IntArray, others: IntArray) -> None:
        super()._join(into, others)
        if not self.additive:
            self._start_over()


def resized(array: AnyArray, slots: IntArray, width: int) -> AnyArray:
    """These entries of the last dimension, followed by zeros."""
    out = np.zeros((*array.shape[:-1], width), dtype=array.dtype)
    # To choose columns takes longer than to copy all.
    out[..., : len(slots)] = array if len(slots) == array.shape[-1] else array[..., slots]
    return out


def slot_count(k: int, n: int) -> int:
    """Slots for k clusters and n more: a quarter to spare, in whole vectors of eight numbers."""
    return -(-(k + max(n, 2, k // 4)) // 8) * 8
