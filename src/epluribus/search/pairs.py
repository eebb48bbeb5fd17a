"""A partition with sums of similarities: Binder's loss, and the lower bound of VI for a similarity matrix."""

from __future__ import annotations

import numpy as np

from epluribus._kernels import pairs as kernels
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.search.pair_costs import PairCosts
from epluribus.search.state import Bounds, State, Visited, slot_count


class PairState(State):
    """A partition, and sums of the similarities of each item with clusters (`_kernels/pairs.py`)."""

    def __init__(self, pairs: PairCosts, labels: IntArray) -> None:
        super().__init__(labels)
        n, k = len(labels), int(labels.max(initial=-1)) + 1
        self._costs = pairs[: PairCosts._fields.index("size")]  # what all kernels read
        self.pairs, self.labels, self.inside = pairs, np.full(n, -1), np.full(n, pairs.one)
        # Whole units are at most 65,535 for each of at most 8,000 items.
        dtype = np.int32 if pairs.together.dtype == np.uint16 else np.float64
        self.sizes, self.sums = np.zeros(0, dtype=np.int64), np.zeros((0, n), dtype=dtype)
        self._resize(np.arange(0), slot_count(k, 1))
        placed = np.flatnonzero(labels >= 0)
        self.move(placed, labels[placed])

    @property
    def _partition(self) -> tuple[AnyArray, ...]:
        return self.labels, self.sizes, self.sums, self.inside

    def total(self) -> float:
        """Total loss without the constant."""
        p, at = self.pairs, np.flatnonzero(self.labels >= 0)
        inside = p.one + self.sums[self.labels[at], at] if len(self.sums) else self.inside[at]
        joint = (np.log2(inside) if p.logs else inside).sum()
        return float(p.scale * joint + p.size[self.sizes].sum())

    def _visit(self, order: IntArray, bounds: Bounds, blocked: AnyArray, quick: bool) -> Visited:  # noqa: ARG002
        p = self.pairs
        done: Visited = kernels.sweep(
            order,
            *self._costs,
            p.size_steps,
            p.tolerance,
            *bounds,
            blocked,
            *self._partition,
        )
        return done

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        known = *self._costs, self.pairs.size_steps, *self._partition
        return float(kernels.move_items(items, targets, *known))

    def _resize(self, slots: IntArray, width: int) -> None:
        """Keep these slots, and have `width` of them in all."""
        super()._resize(slots, width)
        if len(self.pairs.together):
            more = np.zeros((width - len(slots), len(self.labels)), dtype=self.sums.dtype)
            self.sums = np.concatenate([self.sums[slots], more])

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one."""
        p, row = self.pairs, np.empty(len(self.sizes))
        kernels.join_row(
            a, p.first, p.near, p.share, p.scale, p.logs, p.size, *self._partition,
            row, np.zeros(len(row)), np.empty(len(self.labels)),
        )  # fmt: skip
        return row

    def merge(self, bounds: Bounds, like: State | None = None) -> float:  # noqa: ARG002
        """Join clusters, the best pair first, while that helps or there are too many."""
        p, bounds = self.pairs, bounds._replace(k_min=max(bounds.k_min, 1))
        change = kernels.merge(*self._costs, p.size, p.tolerance, *bounds, *self._partition)
        return float(change)
