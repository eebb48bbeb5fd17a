"""A partition with lists of the members of groups, for thousands of small clusters."""

from __future__ import annotations

import numpy as np

from epluribus._kernels import members as kernels
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds, State, Visited

_STEP = 4.0
"""Nanoseconds for each member looked at in a sweep: it tells when lists are quicker than tables."""
_FEW = 32
"""Clusters up to which tables are always quicker: saves counting the members."""


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
        super().__init__(labels)
        self.problem, self.lists = problem, problem.members
        self._least_step = float(problem.size_steps[1 : problem.n_items].min(initial=np.inf))

    def total(self) -> float:
        """Total loss without the constant."""
        p, tally = self.problem, np.zeros(len(self.sizes) + 1, dtype=np.int64)
        cells = kernels.cell_sum(*self.lists, p.f[0], p.total_weight, self.labels, tally)
        return float(cells + p.size[self.sizes].sum())

    def _visit(self, order: IntArray, bounds: Bounds, blocked: AnyArray, quick: bool) -> Visited:  # noqa: ARG002
        p = self.problem
        done: Visited = kernels.sweep(
            order, *self.lists, p.steps[0], p.size_steps, self._least_step, p.tolerance, *bounds, blocked,
            self.labels, self.sizes,
        )  # fmt: skip
        return done

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        p = self.problem
        known = *self.lists, p.steps[0], p.size_steps, p.total_weight * p.f[0, 1]
        return float(kernels.move_items(items, targets, *known, self.labels, self.sizes))

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one."""
        p, sizes, width = self.problem, self.sizes, len(self.sizes)
        head, after = np.empty(width, dtype=np.int64), np.empty_like(self.labels)
        kernels.link_members(self.labels, head, after)
        row, touched = np.full(width + 1, np.inf), np.empty(width + 1, dtype=np.int64)
        kernels.join_row(
            a, head, after, *self.lists, p.f[0], p.size, self.labels, sizes,
            row, touched, np.zeros(width + 1, dtype=np.int64),
        )  # fmt: skip
        apart = p.size[np.minimum(sizes[a] + sizes, p.n_items)] - p.size[sizes[a]] - p.size[sizes]
        row = np.where(row[:-1] < np.inf, row[:-1], apart)
        row[(sizes == 0) | (sizes[a] == 0)] = row[a] = np.inf
        return row

    def merge(self, bounds: Bounds, like: State | None = None) -> float:  # noqa: ARG002
        """Join clusters, the best pair first, while that helps or there are too many."""
        p = self.problem
        bounds = bounds._replace(k_min=max(bounds.k_min, 1))
        known = *self.lists, p.f[0], p.size, p.tolerance, *bounds
        change = float(kernels.merge(*known, self.labels, self.sizes))
        # The clusters left share no set: the smallest are joined, two by two.
        while self.n_clusters > bounds.k_max and not bounds.stop[0]:
            k, into = self.n_clusters, np.append(np.arange(len(self.sizes)), -1)
            smallest = np.argsort(self.sizes, kind="stable")[len(self.sizes) - k :]
            n = min(k - bounds.k_max, k // 2)
            into[smallest[1 : 2 * n : 2]] = smallest[: 2 * n : 2]
            moved = np.flatnonzero(into[self.labels] != self.labels)
            change += self.move(moved, into[self.labels[moved]])
        return change
