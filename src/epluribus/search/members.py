"""A partition with lists of the members of groups, for thousands of small clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels import members as kernels
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.losses.values import sparse_sums
from epluribus.partition import relabel
from epluribus.search.state import Bounds, Closed, State, Visited

if TYPE_CHECKING:
    from epluribus.search.problem import Problem

_FEW, _STEP = 32, 13.0
"""Clusters up to which tables are always quicker; and how much longer a sweep looks at a member than at a cell."""


def members_pay(problem: Problem, k: int) -> bool:
    """Whether lists are quicker than tables with k clusters, or tables do not fit in memory.

    Where draws have more clusters than that, more are to be expected: a start may have but one.
    """
    k = max(k, int(problem.n_clusters.mean()))
    if problem.missing or k <= _FEW:
        return False
    if _STEP * problem.members_seen < problem.rows.size * (k + 4):
        return True
    return 8.0 * problem.n_groups * 1.25 * k > available_memory() / 4


class MemberLists(NamedTuple):
    """The distinct groups of two items or more (`_kernels/members.py`)."""

    start: IntArray
    """(n_sets + 1,) set b is member[start[b]:start[b + 1]]."""
    member: AnyArray
    """Items, ascending in each set."""
    weights: FloatArray
    """(n_sets,) sum of the weights of the draws that have it as a group."""
    first: IntArray
    """(n_items + 1,) the sets that hold item i are sets_of[first[i]:first[i + 1]]."""
    sets_of: AnyArray
    """Sets of each item."""

    @classmethod
    def of(cls, problem: Problem) -> MemberLists:
        """The lists for all draws of a problem without missing labels."""
        from scipy.sparse import csr_array, get_index_dtype

        rows, n = problem.rows, len(problem.rows)
        # One fixed random number for each item: groups with the same sum almost surely have the same items.
        number = np.random.default_rng(0).integers(0, 2**64, (n, 1), dtype=np.uint64)
        keys = np.zeros(problem.n_groups, dtype=np.uint64)
        np.add.at(keys, rows, number)
        several = np.flatnonzero(problem.group_sizes > 1)
        distinct, same = np.unique(keys[several], return_inverse=True)
        total = np.bincount(same, problem.group_weights[several], len(distinct))
        # One group of each set tells its members.
        group, set_of = np.empty(len(distinct), dtype=np.int64), np.full(len(keys), -1)
        group[same] = several
        set_of[group] = np.arange(len(group))
        found = set_of[rows]
        known = found >= 0
        # Numbered as they appear, item by item: sets that are looked at together are mostly close in memory.
        sets, weights = relabel(found[known]), np.empty(len(group))
        weights[sets] = total[found[known]]
        first, one = np.append(0, known.sum(axis=1).cumsum()), np.ones(len(sets), dtype=np.int8)
        kind = get_index_dtype(maxval=known.size)
        by_item = csr_array((one, sets.astype(kind), first.astype(kind)), (n, len(group)))
        by_set = by_item.tocsc()
        return cls(by_set.indptr, by_set.indices, weights, by_item.indptr, by_item.indices)


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
        super().__init__(labels, problem.tolerance)
        self.problem, self.lists = problem, problem.members
        self._least_step = float(problem.size_steps[1 : problem.n_items].min(initial=np.inf))

    def total(self) -> float:
        """Total loss without the constant."""
        p = self.problem
        cells, _ = sparse_sums(self.labels, p.table, int(p.n_clusters.max()), p.f[0])
        return float(p.weights @ cells + p.size[self.sizes].sum())

    def _visit(self, order: IntArray, bounds: Bounds, blocked: AnyArray, quick: bool) -> Visited:  # noqa: ARG002
        p = self.problem
        done: Visited = kernels.sweep(
            order, *self.lists, p.steps[0], p.size_steps, self._least_step, p.tolerance, *bounds, blocked,
            self.labels, self.sizes, self.gap, self.second,
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
        row, touched = np.full(width + 1, np.inf), np.empty(width + 1, dtype=np.int64)
        kernels.join_row(
            a, np.flatnonzero(self.labels == a), *self.lists, p.f[0], p.size, self.labels, sizes,
            row, touched, np.zeros(width + 1, dtype=np.int64),
        )  # fmt: skip
        apart = p.size[np.minimum(sizes[a] + sizes, p.n_items)] - p.size[sizes[a]] - p.size[sizes]
        row = np.where(row[:-1] < np.inf, row[:-1], apart)
        row[(sizes == 0) | (sizes[a] == 0)] = row[a] = np.inf
        return row

    def best_joins(self, closed: NDArray[np.bool_] | None) -> tuple[IntArray, FloatArray]:
        """For each slot the one that shares a set with it whose join is best, and the change."""
        p, width = self.problem, len(self.sizes)
        partner, least = np.arange(width), np.full(width, np.inf)
        order = np.argsort(self.labels, kind="stable")
        begin = np.searchsorted(self.labels[order], np.arange(width + 1))
        closed = np.zeros((0, 0), dtype=np.bool_) if closed is None else closed
        known = *self.lists, p.f[0], p.size, self.labels, self.sizes, closed
        kernels.best_joins(order, begin, *known, partner, least)
        return partner, least

    def merge(self, bounds: Bounds, like: State | None = None, closed: Closed = None) -> float:
        """Join clusters while that helps or there are too many; the change."""
        change = super().merge(bounds, like, closed)
        # The clusters left share no set: the smallest are joined, two by two.
        while closed is None and self.n_clusters > bounds.k_max and not bounds.stop[0]:
            k, before = self.n_clusters, self.total()
            smallest = np.argsort(self.sizes, kind="stable")[len(self.sizes) - k :]
            n = min(k - bounds.k_max, k // 2)
            self._join(smallest[: 2 * n : 2], smallest[1 : 2 * n : 2])
            change += self.total() - before
        return change
