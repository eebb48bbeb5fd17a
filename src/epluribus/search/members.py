"""The expected loss for samples of many small clusters: no contingency tables.

`Objective` keeps a table of counts for every draw: draws x clusters of a draw x clusters of the
estimate. With many clusters these are large and nearly empty. Here the counts needed for an item are
found by walking through the members of its groups (`_kernels/members.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._kernels.members import (
    fill_clusters,
    members_allocate,
    members_costs,
    members_merge,
    members_sweep,
    members_take,
)
from epluribus._kernels.sets import fill_of, fill_slots, sort_groups, take_sets
from epluribus._kernels.structs import Clusters, Met, Partners, Sets
from epluribus._memory import check_memory
from epluribus.draws import as_labels
from epluribus.losses.expected import sparse_sums
from epluribus.search.objective import NEVER, Objective

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import IntArray
    from epluribus.losses.base import Loss

__all__ = ["MembersObjective", "collect_sets"]

_BLOCK = 16
"""Draws turned from item-major to rows at a time: their labels of an item lie in one or two cache lines."""


def collect_sets(
    table: NDArray[np.unsignedinteger[Any]],
    weights: NDArray[np.float64],
    *,
    distinct: bool,
    smallest: int = 2,
) -> Sets:
    """The groups of all draws: each distinct set of `smallest` items or more once, or all in turn."""
    n_items, n_draws = table.shape
    groups = int(table.max()) + 1
    first, member = np.zeros(groups + 1, dtype=np.int64), np.empty(n_items, dtype=np.int32)
    # Room for the worst case. Memory that is never written to is never taken.
    set_weight = np.empty(n_draws * groups)
    set_first = np.empty(n_draws * groups + 1, dtype=np.int64)
    set_first[0] = 0
    set_member = np.empty(n_draws * n_items, dtype=np.int32)
    hashes = np.empty(n_draws * groups, dtype=np.uint64)
    number = np.random.default_rng(0).integers(0, 2**64, (n_items,), dtype=np.uint64)
    keys, found = np.empty(groups, dtype=np.uint64), np.empty(groups, dtype=np.uint64)
    slots = np.empty(0, dtype=np.int32)
    n_sets = 0
    for begin in range(0, n_draws, _BLOCK):
        rows = np.ascontiguousarray(table[:, begin : begin + _BLOCK].T)
        # What the next draws may add, and the copy and the lists of sets made at the end.
        check_memory(
            24.0 * rows.size + 8.0 * (set_first[n_sets] + n_sets),
            f"The search, with {n_draws:,} draws of {n_items:,} items in up to {groups:,} clusters,",
            "Fewer draws need less (thin=).",
        )
        needed = 2 * (n_sets + len(rows) * groups)
        if distinct and len(slots) < needed:
            slots = np.full(1 << (2 * needed - 1).bit_length(), -1, dtype=np.int32)
            fill_slots(hashes[:n_sets], slots)
        for row, weight in zip(rows, weights[begin : begin + _BLOCK], strict=True):
            sort_groups(row, first, member)
            if distinct:
                n_sets = take_sets(
                    first, member, weight, number, smallest, n_sets, keys, found, set_weight, hashes,
                    set_first, set_member, slots,
                )  # fmt: skip
            else:
                ends = np.unique(first[1:])  # groups that are not empty
                used = set_first[n_sets]
                set_member[used : used + n_items] = member
                set_first[n_sets + 1 : n_sets + 1 + len(ends)] = used + ends
                set_weight[n_sets : n_sets + len(ends)] = 1.0
                n_sets += len(ends)
    set_first = set_first[: n_sets + 1].copy()
    set_member = set_member[: set_first[-1]].copy()
    of_first = np.zeros(n_items + 1, dtype=np.int64)
    of = np.empty_like(set_member)
    fill_of(set_first, set_member, of_first, of)
    return Sets(set_weight[:n_sets].copy(), set_first, set_member, of_first, of)


class MembersObjective(Objective):
    """Expected loss over a sample of partitions of many small clusters; made by `Objective.of`."""

    def __init__(
        self, table: NDArray[np.unsignedinteger[Any]], weights: NDArray[np.float64], loss: Loss
    ) -> None:
        super().__init__(table, weights, loss)
        self._sets = collect_sets(self.sample.labels, self.sample.weights, distinct=loss.linear)

    # --- states ---

    def start(self, labels: IntArray, room: int = 1) -> Clusters:  # type: ignore[override]  # noqa: ARG002
        """The state at `labels` (0..K-1 without gaps); there is always room for more clusters."""
        n = self.n_items
        clusters = Clusters(
            labels=np.empty(n, dtype=np.int64),
            sizes=np.zeros(n + 1, dtype=np.int64),
            n_clusters=np.zeros(1, dtype=np.int64),
            one=np.zeros(n + 1, dtype=np.int64),
            after=np.zeros(n, dtype=np.int64),
            before=np.zeros(n, dtype=np.int64),
            n_of_size=np.zeros(n + 1, dtype=np.int64),
            kinds=np.zeros(n + 1, dtype=np.int64),
            kind_at=np.zeros(n + 1, dtype=np.int64),
            n_kinds=np.zeros(1, dtype=np.int64),
        )
        fill_clusters(labels.astype(np.int64), int(labels.max()) + 1, clusters)
        return clusters

    def _met(self) -> Met:
        """Work arrays, one set for each call: objectives are shared by threads."""
        n, long = self.n_items + 1, 2 * self.n_items + 2
        return Met(
            by_size=np.zeros(n),
            extra=np.zeros(n),
            is_met=np.zeros(n, dtype=np.uint8),
            clusters=np.zeros(n, dtype=np.int64),
            n_met=np.zeros(1, dtype=np.int64),
            near=np.zeros(long, dtype=np.int64),
            is_near=np.zeros(n, dtype=np.uint8),
            counts=np.zeros(n, dtype=np.int64),
            change=np.zeros(n),
            seen=np.zeros(len(self._sets.weight), dtype=np.uint8),
            gain=np.zeros(long),
            size=np.zeros(long),
            value=np.zeros(long),
        )

    def sums(self, state: Clusters) -> tuple[NDArray[np.float64], float]:  # type: ignore[override]
        """Joint sums of all draws and the size sum, from integer counts."""
        joint, _ = self._joint(state)
        return joint, float(self.f2[state.sizes].sum())

    def _joint(self, state: Clusters) -> tuple[NDArray[np.float64], IntArray]:  # type: ignore[override]
        return sparse_sums(state.labels, self.sample.labels, self.groups, self.f1)

    def _sums(self, state: Clusters) -> tuple[NDArray[np.float64], float]:
        """The sums if f0 is not linear; the kernels need none if it is."""
        return (np.zeros(self.n_draws), 0.0) if self.loss.linear else self.sums(state)

    def value_of(self, labels: IntArray) -> float:
        """Expected loss of canonical labels."""
        return self.value(self.start(labels))  # type: ignore[arg-type]

    # --- moves ---

    def changes(self, state: Clusters, i: int) -> NDArray[np.float64]:  # type: ignore[override]
        """Change of the expected loss if item i goes to each cluster, or to a new one (last entry)."""
        own, k = int(state.labels[i]), int(state.n_clusters[0])
        joint, size = self._sums(state)
        copy, met = Clusters._make(array.copy() for array in state), self._met()
        members_take(copy, i)
        members_costs(
            self._row, self._sets, self.sample.weights, copy, i, own, self.tables, joint, self.group_sums,
            size, met,
        )  # fmt: skip
        cost = np.append(met.by_size[copy.sizes[:k]] + met.extra[:k], met.by_size[0])
        return (cost - cost[own]) / self.total_weight

    def sweep(  # type: ignore[override]
        self,
        state: Clusters,
        order: IntArray,
        *,
        k_min: int = 1,
        k_max: int | None = None,
        stop: NDArray[np.uint8] = NEVER,
    ) -> tuple[Clusters, int, bool]:
        """Visit the items in `order`, each moved to its best cluster.

        Returns the state, the number of moves, and whether all items were visited.
        """
        n_moves = np.zeros(1, dtype=np.int64)
        joint, size = self._sums(state)
        end = members_sweep(
            self._row, self._sets, self.sample.weights, state, self.tables, order, k_min,
            self.n_items if k_max is None else k_max, stop, joint, self.group_sums,
            np.array([size]), self._met(), n_moves,
        )  # fmt: skip
        return state, int(n_moves[0]), end == len(order)

    def allocate(self, order: IntArray, *, k_max: int) -> IntArray:
        """Labels made by putting the items, in `order`, one by one where they cost least."""
        state = self.start(np.full(self.n_items, -1, dtype=np.int64))
        members_allocate(
            self._row, self._sets, self.sample.weights, state, self.tables, order, k_max,
            np.zeros(self.n_draws), self.group_sums, np.zeros(1), self._met(),
        )  # fmt: skip
        return as_labels(state.labels)

    def merge(
        self,
        labels: IntArray,
        *,
        k_min: int = 1,
        k_max: int | None = None,
        stop: NDArray[np.uint8] = NEVER,
    ) -> IntArray:
        """Join clusters, the best pair first, while the loss falls or there are more than `k_max`."""
        state = self.start(labels)
        k = int(state.n_clusters[0])
        joint, size = self._sums(state)
        partners = Partners(
            joint,
            np.array([size]),
            np.zeros(k, dtype=np.int64),
            np.zeros(k),
            np.zeros(k, dtype=np.uint8),
        )
        members_merge(
            self._row, self._sets, state, self._merge_tables(), partners, k_min,
            self.n_items if k_max is None else k_max, self.tables.tolerance, stop, self._met(),
        )  # fmt: skip
        return as_labels(state.labels)
