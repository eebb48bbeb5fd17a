"""A partition with lists of the members of groups, for thousands of small clusters."""

from __future__ import annotations

import numpy as np

from epluribus._kernels import small_clusters, small_merge
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds, State, Swept, open_slots, padded, slot_count

_STEP = 4.0
"""Nanoseconds for each member looked at in a sweep."""
_FEW = 32
"""Clusters up to which tables are always quicker."""


def members_pay(problem: Problem, k: int) -> bool:
    """Whether lists are quicker than tables with k clusters, or tables do not fit in memory.

    Where draws have more clusters than that, more are to be expected: a start may have but one.
    """
    k = max(k, int(problem.n_clusters.mean()))
    if problem.missing or k <= _FEW:
        return False
    if _STEP * problem.members_seen < 0.3 * problem.rows.size * (k + 4):
        return True
    return 8.0 * problem.n_groups * 1.25 * k > available_memory() / 4


class MemberState(State):
    """A partition without tables: a sweep takes time in proportion to the squared sizes of groups.

    Parameters
    ----------
    problem : Problem
        A linear loss, without missing labels.
    labels : ndarray of shape (n_items,)
        Labels 0..K-1, or -1 for an item in no cluster.
    """

    def __init__(self, problem: Problem, labels: IntArray) -> None:
        self.problem, self.lists, self.labels = problem, problem.members, labels.astype(np.int64)
        k = int(labels.max(initial=-1)) + 1
        self.sizes = np.zeros(slot_count(k, 1), dtype=np.int64)
        self.sizes[:k] = np.bincount(labels[labels >= 0], minlength=k)
        n, f2 = problem.n_items, problem.size_steps
        self._least_step = float(f2[1:n].min(initial=np.inf))
        # Joining clusters never lowers the sum of a convex f2 with f2(0) = 0.
        self._convex = bool((np.diff(f2[:n]) >= -problem.tolerance).all())
        self._visited = np.full(len(self.lists.weights), -1)
        self._fill()

    def _fill(self) -> None:
        """Work arrays: costs, the clusters touched, counts, marks."""
        n = len(self.sizes)
        self._work = (
            np.zeros(n),
            np.zeros(n, np.int64),
            np.zeros(n, np.int64),
            np.zeros(n, np.uint8),
        )

    @property
    def work(self) -> float:
        """Steps of one sweep."""
        return _STEP * self.lists.steps

    def total(self) -> float:
        """Total loss without the constant."""
        p, lists = self.problem, self.lists
        placed = np.flatnonzero(self.labels >= 0)
        # An item costs w f(1) in each of its groups that has no one else.
        alone = p.total_weight * len(placed)
        alone -= float(lists.weights @ np.add.reduceat(
            np.append(self.labels[lists.member] >= 0, 0).astype(np.int64), lists.start[:-1]
        )) if len(lists.weights) else 0.0  # fmt: skip
        shared = small_clusters.set_sum(
            lists.start, lists.member, lists.weights, p.f[0], self.labels, self._work[2]
        )
        return float(p.f[0, 1] * alone + shared + p.size[self.sizes].sum())

    def sweep(self, order: IntArray, bounds: Bounds, blocked: AnyArray | None = None) -> Swept:
        """Visit the items in `order`, and move each to the cluster where it costs least."""
        p, n_moves, change = self.problem, 0, 0.0
        while True:
            done, moves, by = small_clusters.sweep(
                order, *self.lists, p.steps[0], p.size_steps, self._least_step, p.tolerance,
                *bounds, open_slots(self) if blocked is None else blocked,
                self.labels, self.sizes, *self._work,
            )  # fmt: skip
            n_moves, change, order = n_moves + moves, change + by, order[done:]
            if len(order) == 0 or bounds.stop[0]:
                return Swept(n_moves, change, len(order) == 0)
            self.make_room(self.n_clusters // 2 + 1)

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        p = self.problem
        change = small_clusters.move_items(
            items, targets, *self.lists, p.steps[0], p.size_steps, p.total_weight * p.f[0, 1],
            self.labels, self.sizes,
        )  # fmt: skip
        return float(change)

    def make_room(self, n: int) -> None:
        """Have at least n empty slots; the others keep their names."""
        old = len(self.sizes)
        if old - self.n_clusters < n:
            self.sizes = padded(self.sizes, slot_count(old, n))
            self._fill()

    def compact(self) -> None:
        """Number the clusters 0..K-1 without gaps."""
        used = self.rename_slots()
        self.sizes = padded(self.sizes[used], slot_count(len(used), 1))
        self._fill()

    def join_changes(self) -> FloatArray:
        """(K, K) change of the total loss if two clusters are joined."""
        self.compact()
        k = self.n_clusters
        return np.array([self.join_row(a)[:k] for a in range(k)])

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one."""
        p, sizes, items = self.problem, self.sizes, np.flatnonzero(self.labels == a)
        # The items as a chain: the first one, and the next one after each.
        head, after = np.full(len(sizes), -1), np.full(len(self.labels), -1)
        head[a], after[items[:-1]] = items[0], items[1:]
        row, touched, tally, seen = self._work
        n = small_merge.join_row(
            a, head, after, *self.lists, p.f[0], self.labels,
            row, touched, tally, seen, self._visited,
        )  # fmt: skip
        changes = p.size[np.minimum(sizes[a] + sizes, p.n_items)] - p.size[sizes[a]] - p.size[sizes]
        changes += row
        row[touched[:n]], seen[touched[:n]] = 0.0, 0
        changes[sizes == 0] = changes[a] = np.inf
        return changes

    def merge(self, bounds: Bounds, like: State | None = None) -> float:  # noqa: ARG002
        """Join clusters, the best pair first, while that helps or there are too many."""
        self.compact()
        p, k = self.problem, self.n_clusters
        if k <= max(bounds.k_min, 1):
            return 0.0
        change = small_merge.merge(
            *self.lists, p.f[0], p.size, self._convex, p.tolerance, *bounds,
            self.labels, self.sizes[:k], *self._work,
        )  # fmt: skip
        self.compact()
        return float(change)
