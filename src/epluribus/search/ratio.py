"""The state of the search for a loss whose f0 is not linear, on contingency tables."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import cfunc, float64
from numpy.typing import NDArray

from epluribus._kernels import merge as linear
from epluribus._kernels import ratio
from epluribus._kernels.jit import JIT_ENABLED, OPTIONS
from epluribus._kernels.sweep import count_cells, fill_gains
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.losses.base import Loss
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds, State, Visited, resized, slot_count

_CODES = {
    "nvi": ratio.NVI,
    "nid": ratio.NID,
    "id": ratio.ID,
    "omari": ratio.OMARI,
    "zero_one": ratio.ZERO_ONE,
}
_EXACT_JOINS = 32
"""Clusters up to which joins are compared by their exact changes: these take time for every pair and draw."""
_SIGNATURE = float64(float64, float64, float64, float64)


def _unused(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
    return 0.0


@lru_cache(maxsize=64)
def _compiled(f0: Any, name: str) -> Any:
    """A function of four numbers, compiled for the kernels; a failure is explained in terms of the loss."""
    if not JIT_ENABLED:
        return f0
    try:
        return cfunc(_SIGNATURE, **{k: v for k, v in OPTIONS.items() if k != "nogil"})(f0)
    except Exception as error:
        raise TypeError(
            f"'f0' of the loss '{name}' could not be compiled. It may use arithmetic, 'if' and the "
            f"'math' module only, on four numbers (joint, size, group, n_items). Numba says: {error}"
        ) from error


def f0_of(loss: Loss) -> tuple[int, Any]:
    """The number of a built-in f0, and the compiled f0 of a user; the kernels use one of them."""
    code = _CODES.get(loss.family or "", ratio.OWN)
    return code, _compiled(loss.f0 if code == ratio.OWN else _unused, loss.name)


class RatioState(State):
    """A partition with the contingency tables of all draws, for a loss whose f0 is not linear.

    Parameters
    ----------
    problem : Problem
    labels : ndarray of shape (n_items,)
        Labels 0..K-1, or -1 for an item in no cluster.
    """

    def __init__(self, problem: Problem, labels: IntArray) -> None:
        super().__init__(len(labels))
        self.problem, self.labels = problem, labels.astype(np.int64)
        self.f0 = f0_of(problem.loss)
        width = slot_count(int(labels.max(initial=-1)) + 1, 1)
        self.sizes = np.bincount(labels[labels >= 0], minlength=width)
        self.counts = np.zeros((problem.n_groups, width), dtype=np.int32)
        count_cells(problem.rows, self.labels, self.counts)
        self.joint, self.size = np.empty(problem.n_draws), np.empty(1)
        self._tangent: tuple[FloatArray, float, NDArray[np.float32]] | None = None
        self._add_up()

    def _add_up(self) -> None:
        """The sums J_t and A from the counts."""
        p = self.problem
        ratio.joint_sums(self.counts, p.owner, p.f[0], self.joint)
        self.size[0] = p.size[self.sizes].sum()

    def total(self) -> float:
        """Total loss."""
        self._add_up()
        return self._total()

    def _total(self) -> float:
        p = self.problem
        sums = self.joint, self.size, p.group_sums
        return float(ratio.total_loss(*self.f0, p.weights, *sums, float(p.n_items)))

    def _visit(self, order: IntArray, bounds: Bounds, blocked: AnyArray, quick: bool) -> Visited:
        p, width = self.problem, len(self.sizes)
        # A tangent of some time ago is good enough for some of the items.
        if quick and len(order) == p.n_items:
            self._tangent = None
        work = np.empty(width), np.empty(width, dtype=np.float32), np.empty(width)
        known = p.rows, p.weights, p.steps[0], p.size_steps, p.group_sums, p.tolerance
        done: Visited = ratio.sweep(
            *self.f0, order, *known, *bounds, blocked, quick, self.joint, self.size, self.labels,
            self.sizes, self.counts, *self.tangent, *work, self.gap, self.second,
        )  # fmt: skip
        return done

    @property
    def tangent(self) -> tuple[FloatArray, float, NDArray[np.float32]]:
        """Derivatives of the total loss by the sums J_t and by A, and the gains of that linear loss."""
        if self._tangent is None:
            by_joint, by_size = self.slopes()
            gains = np.empty(self.counts.shape, dtype=np.float32)
            own = by_joint[self.problem.owner], self.problem.kinds, self.problem.steps
            fill_gains(self.counts, *own, gains)
            self._tangent = by_joint, by_size, gains
        return self._tangent

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        p, before = self.problem, self._total()
        ratio.move_items(
            items, targets, p.rows, p.steps[0], p.size_steps, self.joint, self.size,
            self.labels, self.sizes, self.counts, self.tangent[0], self.tangent[2],
        )  # fmt: skip
        return self._total() - before

    def _resize(self, slots: IntArray, width: int) -> None:
        self.counts, self.sizes = (resized(one, slots, width) for one in (self.counts, self.sizes))
        self._tangent = None

    def join_changes(self) -> FloatArray:
        """(K, K) change of the total loss if two clusters are joined."""
        p, k = self.problem, int(np.flatnonzero(self.sizes)[-1]) + 1
        changes, more = np.empty((2, k, k))
        ratio.all_joins(
            *self.f0, self.counts, p.first, p.weights, p.f[0], p.size, self.joint, self.size,
            p.group_sums, float(p.n_items), self.sizes[:k], np.empty(k + 1, np.int64), more, changes,
        )  # fmt: skip
        return changes

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one."""
        row = np.full(len(self.sizes), np.inf)
        changes = self.join_changes()
        row[: len(changes)] = changes[a]
        return row

    def slopes(self) -> tuple[FloatArray, float]:
        """Derivatives of the total loss by the sums J_t, and by A."""
        p, by_joint = self.problem, np.empty(self.problem.n_draws)
        sums = self.joint, self.size, p.group_sums
        return by_joint, float(ratio.slopes(*self.f0, p.weights, *sums, float(p.n_items), by_joint))

    def merge(self, bounds: Bounds, like: State | None = None) -> float:
        """Join clusters, the best pair first, while that helps or there are too many; the change.

        Exact changes are compared where clusters are few. Of more, those are joined first whose join lowers the
        tangent of the loss at a partition `like` this one, which is linear.
        """
        before = self._total()
        if isinstance(like, RatioState):
            self._merge_linear(bounds, *like.slopes())
        while self.n_clusters > max(bounds.k_min, 1) and not bounds.stop[0]:
            if self.n_clusters > max(_EXACT_JOINS, 1) and self.n_clusters > bounds.k_max:
                k_max, own = max(_EXACT_JOINS, bounds.k_max), self.slopes()
                self._merge_linear(Bounds(k_max, k_max, bounds.stop), *own)
                continue
            if self.n_clusters > _EXACT_JOINS:
                break
            changes = self.join_changes()
            a, b = divmod(int(changes.argmin()), len(changes))
            if changes[a, b] >= -self.problem.tolerance and self.n_clusters <= bounds.k_max:
                break
            members = np.flatnonzero(self.labels == b)
            self.move(members, np.full(len(members), a))
        return self._total() - before

    def _merge_linear(self, bounds: Bounds, by_joint: FloatArray, by_size: float) -> None:
        """Join clusters as the linear loss with these derivatives wants."""
        p, k = self.problem, int(np.flatnonzero(self.sizes)[-1]) + 1
        changes, into, sizes = np.empty((k, k)), np.empty(k, dtype=np.int64), self.sizes[:k]
        given = by_joint[p.owner], p.kinds, p.f, by_size * p.size
        linear.all_joins(self.counts, *given, sizes, np.empty(k + 1, np.int64), changes)
        linear.merge(self.counts, *given, 0.0, *bounds, changes, sizes, into)
        self._rename(np.append(into, np.full(len(self.sizes) - k + 1, -1)))
        self._tangent = None
        self._add_up()
