"""The execution that walks through the members of the clusters of draws: for many small clusters.

The clusters of the draws (*groups*) are kept as sets of items, and for each item the list of sets it belongs
to; `_kernels/members.py` computes costs from these. Example: the draws 0 0 1 1 and 0 0 1 2 have the groups
{0, 1} and {2, 3}, and {0, 1}, {2} and {3}. For a linear loss two sets are stored: {0, 1} with the weight of
both draws, and {2, 3}; items that are alone contribute the same cost to every cluster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._kernels.looks import no_looks
from epluribus._kernels.members import Members
from epluribus._kernels.sets import (
    Sets,
    fill_members,
    fill_sets_of,
    fill_slots,
    homes_of_sets,
    reorder_sets,
    sort_groups,
    take_sets,
)
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import check_memory
from epluribus.engine.execution import Roomy
from epluribus.losses.base import Loss

_BLOCK = 16
"""Draws transposed from item-major to rows at a time: an item's labels lie in one or two cache lines."""


def collect_sets(
    table: NDArray[np.unsignedinteger[Any]],
    weights: FloatArray,
    *,
    distinct: bool,
    smallest: int = 2,
) -> Sets:
    """The groups of all draws as sets of items.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_draws)
        Canonical labels, item-major.
    weights : ndarray of shape (n_draws,)
        Weight of each draw; a distinct set gets the sum of the weights of the draws that have it.
    distinct : bool
        Whether each distinct set is stored once. If not, all groups of all draws are stored in turn, each
        with weight 1: item i then has one set for each draw, in the order of the draws.
    smallest : int, default 2
        Sets with fewer items are left out; only used if `distinct`.

    Returns
    -------
    Sets
        At most 8 bytes for each draw and item, besides 8 bytes for the offset and 8 for the weight of a set.
    """
    n_items, n_draws = table.shape
    groups = int(table.max()) + 1
    first, member = np.zeros(groups + 1, dtype=np.int64), np.empty(n_items, dtype=np.int32)
    # Room for the worst case: no two groups are equal. The operating system provides memory only when it is
    # first written to, so the unused rest costs nothing.
    set_weight = np.empty(n_draws * groups)
    set_first = np.empty(n_draws * groups + 1, dtype=np.int64)
    set_first[0] = 0
    set_member = np.empty(n_draws * n_items, dtype=np.int32)
    hashes = np.empty(n_draws * groups, dtype=np.uint64)
    # One fixed random number for each item: sets that differ almost surely have different hashes.
    number = np.random.default_rng(0).integers(0, 2**64, (n_items,), dtype=np.uint64)
    keys, found = np.empty(groups, dtype=np.uint64), np.empty(groups, dtype=np.uint64)
    slots = np.empty(0, dtype=np.int32)
    n_sets = 0
    for begin in range(0, n_draws, _BLOCK):
        rows = np.ascontiguousarray(table[:, begin : begin + _BLOCK].T)
        # What the next draws may add, then the copies and the lists of sets made at the end.
        check_memory(
            24.0 * rows.size + 12.0 * set_first[n_sets] + 32.0 * n_sets,
            f"The search, with {n_draws:,} draws of {n_items:,} items in up to {groups:,} clusters,",
            "Fewer draws need less (thin=).",
        )
        # At most half full even if all next groups are new: in a fuller table, looking up a set takes long
        # walks. The length is a power of two, and grows by more than is needed now, so as not to grow often.
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
                # Empty groups end where the group before ends: each end that occurs is one group.
                ends = np.unique(first[1:])
                used = set_first[n_sets]
                set_member[used : used + n_items] = member
                set_first[n_sets + 1 : n_sets + 1 + len(ends)] = used + ends
                set_weight[n_sets : n_sets + len(ends)] = 1.0
                n_sets += len(ends)
    # Copies of the parts in use, so that the room for the worst case is freed.
    set_first, set_weight = set_first[: n_sets + 1].copy(), set_weight[:n_sets].copy()
    set_member = set_member[: set_first[-1]].copy()
    if distinct:
        set_first, set_member, set_weight = _side_by_side(
            table[:, 0], set_first, set_member, set_weight
        )
    first_of = np.zeros(n_items + 1, dtype=np.int64)
    sets_of = np.empty_like(set_member)
    fill_sets_of(set_first, set_member, first_of, sets_of)
    return Sets(set_weight, set_first, set_member, first_of, sets_of)


def _side_by_side(
    labels: NDArray[np.unsignedinteger[Any]],
    first: IntArray,
    member: NDArray[np.int32],
    weight: FloatArray,
) -> tuple[IntArray, NDArray[np.int32], FloatArray]:
    """The sets ordered by the cluster that most of their members have in one of the draws.

    The sets of one item are then mostly side by side, and a walk through them waits less for memory. In each
    set those members come first, so that runs of one label are long.
    """
    home = np.empty(len(weight), dtype=np.uint32)
    homes_of_sets(first, member, labels, home)
    # Short integers are sorted much more quickly.
    order = np.argsort(home.astype(np.min_scalar_type(int(labels.max()))), kind="stable")
    new_first, new_member = np.zeros_like(first), np.empty_like(member)
    reorder_sets(order, first, member, labels, home, new_first, new_member)
    return new_first, new_member, weight[order]


class MemberExecution(Roomy):
    """Makes the states of `_kernels/members.py`."""

    grows_with_draws = True

    def __init__(self, table: NDArray[np.unsignedinteger[Any]], price: Price, loss: Loss) -> None:
        super().__init__(table, price)
        self.skips = loss.linear
        self._sets = collect_sets(table, price.weights, distinct=loss.linear)
        # Every member of a set is visited for each of its members; a visit takes five times as long as a step
        # in the other executions.
        self.steps = 5 * float((np.diff(self._sets.first).astype(np.float64) ** 2).sum())

    def start(self, labels: IntArray, *, room: int = 1, moves: bool = True) -> Members:  # noqa: ARG002
        """The state at `labels`, with its own work arrays because threads share the execution.

        Takes about 200 bytes per item, and a byte per set; the sets themselves are shared by all states.
        """
        # Entries for up to n_items clusters and a new one; rows for f0 also have one for each size in use.
        n, long = self._n_items + 1, 2 * self._n_items + 2
        # The last entry is never used. A single item has no other place than size 0. If f0 is not linear, a
        # size does not tell the least that a cluster may cost.
        size = self._price.size[:-1] if self.skips else np.array([-np.inf])

        def integers(size: int = n) -> IntArray:
            return np.zeros(size, dtype=np.int64)

        state = Members(
            price=self._price,
            sets=self._sets,
            labels=integers(self._n_items),
            sizes=integers(),
            n_clusters=integers(1),
            some_item=integers(),
            after=integers(self._n_items),
            before=integers(self._n_items),
            n_of_size=integers(),
            used_sizes=integers(),
            place=integers(),
            n_used=integers(1),
            joint_sums=np.zeros(self._n_draws),
            size_sum=np.zeros(1),
            by_size=np.zeros(n),
            extra=np.zeros(n),
            is_touched=np.zeros(n, dtype=np.uint8),
            touched=integers(),
            n_touched=integers(1),
            here=integers(long),
            is_here=np.zeros(n, dtype=np.uint8),
            tally=integers(),
            change=np.zeros(n),
            seen=np.zeros(len(self._sets.weight), dtype=np.uint8),
            now=np.zeros(1),
            first=integers(1),
            gain_row=np.zeros(long),
            size_row=np.zeros(long),
            value=np.zeros(long),
            least_size=np.array([size.min(), size[1:].min(initial=np.inf)]),
            looks=no_looks(self._n_items if self.skips and moves else 0),
        )
        fill_members(labels.astype(np.int64), int(labels.max()) + 1, state)
        return state
