"""The state of the search for a loss whose f0 is not linear, on contingency tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._kernels import ratio
from epluribus._kernels.f0 import no_f0
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds, Closed, State, TableState, Visited

_CODES = {
    "nvi": ratio.NVI, "nid": ratio.NID, "id": ratio.ID, "omari": ratio.OMARI, "zero_one": ratio.ZERO_ONE,
}  # fmt: skip
_EXACT_JOINS = 32
"""Clusters up to which joins are compared by their exact changes: these take time for every pair and draw."""


class RatioState(TableState):
    """A partition with the contingency tables of all draws, for a loss whose f0 is not linear.

    Its tables are those of a linear loss, the tangent: the derivatives of the total loss by the sums J_t and by A, at
    some partition of a while ago, take the place of weights (`_kernels/ratio.py`).

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
        self.area, self.by_size = np.empty(1), 1.0
        self._start_over()

    def _start_over(self) -> None:
        """The sums J_t and A from the counts, and the tangent at this partition."""
        p = self.problem
        ratio.joint_sums(self.counts, p.owner, p.f[0], self.joint)
        self.area[0] = p.size[self.sizes].sum()
        self._set_slopes(*self.slopes())

    def slopes(self) -> tuple[FloatArray, float]:
        """Derivatives of the total loss by the sums J_t, and by A."""
        by_joint = np.empty(self.problem.n_draws)
        return by_joint, float(ratio.slopes(*self.f0, *self._sums, by_joint))

    def _set_slopes(self, by_joint: FloatArray, by_size: float) -> None:
        """Let the tables be those of the linear loss with these derivatives."""
        p = self.problem
        self.groups, self.size = (by_joint[p.owner], p.kinds), by_size * p.size
        self.columns = p.rows, by_joint, p.column_kinds, p.n_seen_groups, p.steps
        self.by_size, self._gains = by_size, None

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
            *self.f0, order, *self.columns, p.size_steps, p.weights, self.by_size, p.group_sums, p.tolerance,
            *bounds, blocked, quick, self.area, *self.now, *self._work, np.empty(len(self.sizes)),
        )  # fmt: skip
        return done

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

    def merge(
        self, bounds: Bounds, like: State | None = None, closed: Closed = lambda: None
    ) -> float:
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
        self, bounds: Bounds, closed: Closed, by_joint: FloatArray, by_size: float
    ) -> None:
        """Join clusters as the linear loss with these derivatives wants."""
        self._set_slopes(by_joint, by_size)
        self.additive = True
        super().merge(bounds, None, closed)
        self.additive = False
        self._start_over()

    def _join(self, into: IntArray, others: IntArray) -> None:
        super()._join(into, others)
        if not self.additive:
            self._start_over()
