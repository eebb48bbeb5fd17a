"""A partition with sums of the costs of pairs, for Binder's loss."""

from __future__ import annotations

import numpy as np

from epluribus._kernels import pair_costs
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.search.pair_costs import PairCosts
from epluribus.search.state import Bounds, State, Swept, open_slots, padded, slot_count


class PairState(State):
    """A partition, and for each cluster the sums of `pairs.together` over its items."""

    def __init__(self, pairs: PairCosts, labels: IntArray) -> None:
        self.pairs, self.labels = pairs, labels.astype(np.int64)
        k = int(labels.max(initial=-1)) + 1
        self.sizes = padded(np.bincount(labels[labels >= 0], minlength=k), slot_count(k, 1))
        self.sums = self._zeros(len(self.sizes))
        pair_costs.fill_sums(pairs.together, self.labels, self.sums)

    def _zeros(self, width: int) -> AnyArray:
        """Sums of nothing; whole units are at most 65,535 for each of at most 8,000 items."""
        dtype = np.int32 if self.pairs.together.dtype == np.uint16 else np.float64
        return np.zeros((width, len(self.labels)), dtype=dtype)

    @property
    def work(self) -> float:
        """Steps of one sweep."""
        return float(len(self.labels)) * (self.n_clusters + 0.1 * len(self.labels))

    def total(self) -> float:
        """Total loss without the constant."""
        p, at = self.pairs, np.flatnonzero(self.labels >= 0)
        sizes = self.sizes.astype(np.float64)
        inside = self.sums[self.labels[at], at].sum(dtype=np.float64)
        pairs = p.unit * inside + p.base * (sizes * (sizes - 1)).sum()
        return float(p.own_cost * len(at) + pairs / 2)

    def sweep(self, order: IntArray, bounds: Bounds, blocked: AnyArray | None = None) -> Swept:
        """Visit the items in `order`, and move each to the cluster where it costs least."""
        p, n_moves, change = self.pairs, 0, 0.0
        while True:
            done, moves, by = pair_costs.sweep(
                order, p.together, p.base, p.unit, p.first, p.friends, p.tolerance, *bounds,
                open_slots(self) if blocked is None else blocked, self.labels, self.sizes, self.sums,
            )  # fmt: skip
            n_moves, change, order = n_moves + moves, change + by, order[done:]
            if len(order) == 0 or bounds.stop[0]:
                return Swept(n_moves, change, len(order) == 0)
            self.make_room(self.n_clusters // 2 + 1)

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        p = self.pairs
        change = pair_costs.move_items(
            items,
            targets,
            p.together,
            p.base,
            p.unit,
            p.own_cost,
            self.labels,
            self.sizes,
            self.sums,
        )
        return float(change)

    def make_room(self, n: int) -> None:
        """Have at least n empty slots; the others keep their names."""
        old = len(self.sizes)
        if old - self.n_clusters < n:
            self._resize(np.arange(old), slot_count(old, n))

    def compact(self) -> None:
        """Number the clusters 0..K-1 without gaps."""
        used = self.rename_slots()
        self._resize(used, slot_count(len(used), 1))

    def _resize(self, slots: IntArray, width: int) -> None:
        sums = self._zeros(width)
        sums[: len(slots)] = self.sums[slots]
        self.sums, self.sizes = sums, padded(self.sizes[slots], width)

    def join_changes(self) -> FloatArray:
        """Change of the total loss if two slots are joined."""
        p, top = self.pairs, int(np.flatnonzero(self.sizes)[-1]) + 1
        changes = np.empty((top, top))
        pair_costs.all_joins(p.base, p.unit, self.labels, self.sizes, self.sums, changes)
        return changes

    def merge(self, bounds: Bounds, like: State | None = None) -> float:  # noqa: ARG002
        """Join clusters, the best pair first, while that helps or there are too many."""
        if self.n_clusters <= max(bounds.k_min, 1):
            return 0.0
        changes = self.join_changes()
        k = len(changes)
        into = np.empty(k, dtype=np.int64)
        change = pair_costs.merge(
            self.pairs.tolerance, *bounds, self.sizes, changes, np.empty_like(into), into
        )
        for s in np.flatnonzero(into != np.arange(k)):
            self.sums[into[s]] += self.sums[s]
            self.sums[s] = 0
        self.labels = np.append(into, -1)[self.labels]
        return float(change)
