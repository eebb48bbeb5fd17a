"""The expected loss over a sample of partitions, as a state that changes item by item.

The total loss of a partition a is the sum over draws z_t of w_t f0(joint_t, size, group_t, N), where joint_t
is the sum of f1 over the contingency table of a and z_t, size that of f2 over the clusters of a, and group_t
that of f3 over the clusters of z_t; divided by the total weight it is the expected loss.

Costs add over draws, so it does not matter where the sample is stored: an *execution* holds it and says what
moves cost. Its contract is that of `_kernels/engine.py`, here for many items at a time:

    start(labels)               tables, or lists of members, for a partition
    costs(state, items)         cost of each cluster, and of a new one, for each item; nothing is moved
    exact(state, items, ...)    the same for chosen targets in double precision, which settles near ties
    apply(state, items, ...)    moves, in the given order
    join_changes(state, a)      change of the loss if cluster a is joined with each other one
    join(state, a, b)           clusters b and a become one
    sums(state)                 integer counts behind the exact value

Sweeps, sequential allocation and merging are written once on this contract (`_kernels/loops.py`), for every
loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._kernels.escapes import follow, lift
from epluribus._kernels.looks import new_epoch
from epluribus._kernels.loops import (
    block_costs,
    exact_costs,
    join_pair,
    move_items,
    row_of_joins,
    sweep,
)
from epluribus._kernels.tables import Tables
from epluribus._kernels.tangent import set_slope
from epluribus._typing import FloatArray, IntArray
from epluribus.engine.anchors import Anchors
from epluribus.engine.execution import Execution, Swept
from epluribus.engine.joins import join_best
from epluribus.engine.look_ahead import LookAhead, rush
from epluribus.engine.nudges import nudge_closest
from epluribus.engine.prices import make_price
from epluribus.engine.quickest import make_execution
from epluribus.engine.settings import NO_BOUNDS, Settings
from epluribus.losses.base import Loss
from epluribus.losses.values import GroupSums, groups_of, loss_values, values_from_sums
from epluribus.partition import read_only, relabel

_FEW = 16
"""Up to one in this many items is moved to join clusters; if there are more, the state is made anew."""


class Engine:
    """Expected loss over a sample of partitions.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_draws)
        Canonical labels, item-major, unsigned.
    weights : ndarray of shape (n_draws,)
        Weight of each draw.
    loss : Loss
        The loss whose expectation is wanted.
    kind : {"tables", "members", "pairs"}, optional
        The execution; by default the one that is quicker for this sample.
    anchors : Anchors, optional
        Items that are not in the table, and stay together as they are; with tables or pairs.
    settings : Settings, optional
        Threads for a matrix of pairs with anchors, and what ends that early.
    like : Engine, optional
        One over the same draws for the same loss, if it has the same items: only others are free.

    Attributes
    ----------
    execution : Execution
        What holds the sample; several threads may share it, each with a state of its own.
    tolerance : float
        Costs closer than this count as equal.

    Notes
    -----
    With tables, `costs` takes time O(n_draws K) per item, and a state takes memory O(n_draws K_z K), where
    K_z is the largest number of clusters of a draw. With members, the time is O(n_draws S) per item, S being
    the mean size of an item's cluster, and the memory O(n_draws n_items), shared by all states. With pairs,
    the time is O(n_items) per item, and the memory O(n_items^2), shared as well; anchors count as one item.

    Examples
    --------
    Item 1 of the partition 0 0 1 may stay, go to cluster 1, or open a new cluster: the total loss is then
    2, 4 or 3. Only differences between costs are meaningful.

    >>> import numpy as np
    >>> import epluribus as epl
    >>> from epluribus.engine import Engine
    >>> draws = epl.Draws([[0, 0, 1], [0, 1, 1], [0, 0, 1]])
    >>> engine = Engine(draws.item_major, draws.weights, epl.losses.get("binder"))
    >>> state = engine.start(np.array([0, 0, 1]))
    >>> costs = engine.costs(state, np.array([1]))[0]
    >>> (costs - costs[0]).tolist()
    [0.0, 2.0, 1.0]
    >>> state = engine.apply(state, np.array([1]), np.array([1]))
    >>> state.labels.tolist(), engine.value(state)
    ([0, 1, 1], 1.3333333333333333)
    """

    _groups: GroupSums
    _price: Price
    missing = False  # whether labels of 0 in the table are missing ones: see `PartialEngine`

    def __init__(
        self,
        table: NDArray[np.unsignedinteger[Any]],
        weights: FloatArray,
        loss: Loss,
        kind: str | None = None,
        anchors: Anchors | None = None,
        settings: Settings = NO_BOUNDS,
        like: Engine | None = None,
    ) -> None:
        self.loss, self.table = loss, read_only(table)
        self.n_free, self.n_draws = table.shape
        self.n_items = self.n_free + (0 if anchors is None else int(anchors.sizes.sum()))
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.total_weight = float(weights.sum())
        self._f1, self._f2, f3 = loss.tables(self.n_items)
        # The part of the loss that depends on the draws alone is computed once.
        self._anchors = anchors
        self._row = None if loss.linear else loss.compiled_row()
        if like is not None and like.n_items == self.n_items:
            self._groups, self._price = like._groups, like._price
        else:
            self._groups = self._groups_of(f3)
            self._price = make_price(loss, self.n_items, self.weights, self._groups.sums)
        self.tolerance = self._price.tolerance
        self.execution: Execution = make_execution(
            kind, self.table, self._price, loss, self._groups.n_groups, anchors, settings
        )

    def with_loss(self, loss: Loss) -> Engine:
        """The engine over the same draws for another loss."""
        return type(self)(self.table, self.weights, loss)

    def over(self, columns: IntArray, weights: FloatArray) -> Engine:
        """The engine over some of the draws, with other weights."""
        return type(self)(self.table.take(columns, axis=1), weights, self.loss)

    # --- the contract ---

    def start(self, labels: IntArray) -> Any:
        """The state at `labels`, 0..K-1 without gaps; a label of -1 is an item in no cluster."""
        return self._started(self.execution.start(labels))

    def _started(self, state: Any) -> Any:
        """Fill the running sums, which the loops keep up to date if f0 is not linear."""
        # With a linear f0 nothing reads these sums: costs are sums of differences.
        if not self.loss.linear:
            joint, _ = self.execution.joint(state, self._f1)
            state.joint_sums[:] = joint
            state.size_sum[0] = self._f2[state.sizes].sum()
            self.execution.tilt(state, self._row)
        return state

    def costs(self, state: Any, items: IntArray) -> FloatArray:
        """(len(items), K + 1) cost of each cluster, and of a new one, for each item; nothing is moved."""
        out = np.empty((len(items), int(state.n_clusters[0]) + 1))
        block_costs(self._with_room(state), self._row, _integers(items), out)
        return out

    def _with_room(self, state: Any, n: int = 1) -> Any:
        """The state itself, or a wider one if there is no room for n more clusters, one or two."""
        full = state.n_clusters[0] + n > len(state.sizes)
        return self.execution.widened(state) if full else state

    def exact(self, state: Any, items: IntArray, targets: IntArray) -> FloatArray:
        """(len(items),) cost of each item in its target, in double precision; nothing is moved."""
        out = np.empty(len(items))
        state = self._with_room(state)
        exact_costs(state, self._row, _integers(items), _integers(targets), out)
        return out

    def apply(self, state: Any, items: IntArray, targets: IntArray) -> Any:
        """Move items to their targets, in the given order; return the state, perhaps a wider one.

        A target is a label at the time of its move: K opens a new cluster, and when a cluster is left empty,
        the last one takes its label.
        """
        items, targets, begin = _integers(items), _integers(targets), 0
        # The kernel returns where the tables are full. With wider ones it goes on from there.
        while True:
            begin = move_items(state, self._row, items, targets, begin)
            if begin == len(items):
                return state
            state = self.execution.widened(state)

    def join_changes(self, state: Any, a: int) -> FloatArray:
        """(K,) change of the total loss if cluster a is joined with each other one; infinite for itself."""
        out = np.empty(int(state.n_clusters[0]))
        row_of_joins(state, self._row, a, out)
        return out

    def join(self, state: Any, a: int, b: int) -> None:
        """Join two clusters under the smaller label; the last cluster takes the other label."""
        join_pair(state, self._row, min(a, b), max(a, b))

    def sums(self, state: Any) -> tuple[FloatArray, float, IntArray]:
        """Joint sums of all draws, the size sum, and the cells in use, all from integer counts."""
        joint, n_cells = self.execution.joint(state, self._f1)
        return joint, float(self._f2[state.sizes].sum()), n_cells

    # --- the loops ---

    def sweep(
        self,
        state: Any,
        order: IntArray,
        settings: Settings = NO_BOUNDS,
        *,
        thorough: bool = True,
        lazy: bool = False,
    ) -> Swept:
        """Visit the items in `order` and move each to its best cluster.

        If the sweep is not `thorough`, it is several times quicker for a loss whose f0 is not linear, but may
        overlook moves. If it is `lazy`, it passes over items that certainly stay, where that is known: the
        moves are the same.
        """
        if not (self.loss.linear or thorough):
            self.execution.tilt(state, self._row)
        lazy = lazy and self.execution.skips
        if lazy:
            new_epoch(state.looks)
        n_moves, change = np.zeros(1, dtype=np.int64), np.zeros(1)
        k_max = settings.most(self.n_items)
        stop, begin, end = settings.stopper.flag, 0, 0
        ahead = LookAhead(order, settings, state if lazy else None)
        while True:
            if begin == end:
                end = ahead.next(state, begin, int(n_moves[0]))
            begin = sweep(
                state, self._row, order[:end], begin, settings.k_min, k_max, thorough, lazy, stop,
                n_moves, change,
            )  # fmt: skip
            if begin == len(order) or stop[0]:
                return Swept(state, int(n_moves[0]), begin == len(order), float(change[0]))
            if begin < end:  # clusters fill the tables
                state = self.execution.widened(state)

    def rush(self, state: Any, settings: Settings = NO_BOUNDS) -> tuple[Any, float]:
        """Move many items at a time while many want to; return the state and the change of the total loss."""
        if not (self.loss.linear and isinstance(state, Tables)):
            return state, 0.0
        state = self._with_room(state)
        return state, rush(state, settings)

    def allocate(self, order: IntArray, k_max: int | None = None) -> IntArray:
        """Labels made by putting the items, in `order`, one by one where they cost least.

        This is a sweep over items that are in no cluster yet. It cannot be stopped, because half of the
        items are not a partition of all.
        """
        state = self.start(np.full(self.n_free, -1, dtype=np.int64))
        return self._allocated(state, order, k_max)

    def _allocated(self, state: Any, order: IntArray, k_max: int | None = None) -> IntArray:
        """Canonical labels after items that are in no cluster were put where they cost least."""
        return relabel(self.sweep(state, order, Settings(k_max=k_max)).state.labels)

    def nudge(self, state: Any, n: int, settings: Settings = NO_BOUNDS) -> Swept:
        """Push the n items that come closest to moving, one by one, and keep what pays.

        `n_moves` of the result is the number of pushes that lowered the loss.
        """
        # A push may open a cluster, and rows of costs have an entry for one more.
        state, n = self._with_room(state, 2), min(n, self.n_free)
        if n == 0:
            return Swept(state, 0, True, 0.0)
        # Thorough sweeps do not update the derivatives, and narrower tables have none.
        if not self.loss.linear:
            self.execution.tilt(state, self._row)
        # Pushes are made aside, and only those kept are counted: drift must not be under way.
        new_epoch(state.looks)
        k_max, skips = settings.most(self.n_items), self.execution.skips
        found = nudge_closest(state, self._row, n, self.n_free, skips, settings, k_max)
        return Swept(state, found[0], not settings.stopper.flag[0], found[1])

    def lift(self, state: Any, items: IntArray) -> tuple[Any, float]:
        """Make one cluster out of the items; return the state and the change of the total loss."""
        state, change = self._with_room(state, 2), np.zeros(1)
        lift(state, self._row, _integers(items), change)
        return state, float(change[0])

    def joined(self, state: Any, labels: IntArray) -> Any:
        """The state at `labels`, whose clusters are clusters of the state, some of them joined."""
        # Each cluster goes to the largest of those with which it is joined, item by item.
        sizes, old, n = state.sizes, state.labels, len(state.labels)
        by_size = np.argsort(sizes[old], kind="stable")
        leader = np.empty(int(labels.max()) + 1, dtype=np.int64)
        leader[labels[by_size]] = by_size  # the last one counts: an item of the largest
        leaders = leader[labels]
        items = np.flatnonzero(old != old[leaders])
        if len(items) > n // _FEW or self.n_free < n:
            return self.start(labels)
        follow(state, self._row, items, leaders[items])
        return state

    def merge(
        self,
        labels: IntArray,
        settings: Settings = NO_BOUNDS,
        parents: Sequence[IntArray] = (),
        *,
        settled: bool = False,
    ) -> IntArray:
        """Join clusters, the best pair first, while the loss falls or there are more than `k_max`.

        Returns canonical labels. Costs one row of changes for each cluster, then at least one for each join:
        up to K squared times the number of draws. Clusters that are also clusters of all `parents` are not
        tried with each other: where the parents are similar, this saves most of the time. If it is `settled`
        that no item would move, two items that are alone need not be tried with each other either.
        """
        # Joins need no gains, which take most of the memory. That matters here: the blocks of several
        # partitions may be eight times as many as the clusters of one (`search._recombine`).
        state = self._started(self.execution.start(labels, moves=False))
        join_best(state, self._row, parents, settled, settings, settings.most(self.n_items))
        return relabel(state.labels)

    def random_group(self, rng: np.random.Generator) -> tuple[int, NDArray[np.bool_]]:
        """A random item, one that a random draw has seen, and the items that it has together with it."""
        draw = rng.choice(len(self.weights), p=self.weights / self.weights.sum())
        column = self.table[:, draw]
        i = int(rng.choice(np.flatnonzero(column) if self.missing else self.n_free))
        return i, column == column[i]

    def slope(self, state: Any) -> float:
        """The factor of the size term in the costs of a state with tables."""
        if np.isnan(state.slope[0]):
            set_slope(self._row, state)
        return float(state.slope[0])

    # --- values ---

    def _groups_of(self, f: FloatArray) -> GroupSums:
        """Sum of f over the clusters of each draw, and their number."""
        if self._anchors is None:
            return groups_of(self.table, f)
        return self._anchors.group_sums(self.table, f)

    def value(self, state: Any) -> float:
        """Expected loss of the state, from its counts."""
        joint, size, n_cells = self.sums(state)
        sums, n_groups = self._groups
        # As many cells in use as there are clusters on either side: the draw is the same partition.
        equal = (n_cells == n_groups) & (n_cells == state.n_clusters[0])
        values = values_from_sums(self.loss, self.n_items, joint, size, sums, equal)
        return float(values @ self.weights / self.total_weight)

    def trivial_values(self) -> tuple[float, float]:
        """Expected loss of one cluster of all items, and of all items apart."""
        n, n_groups = self.n_items, self._groups.n_groups
        # One cluster has the clusters of the draw as its cells; apart, every cell has one item.
        same = self.loss.f1 is self.loss.f3
        joint = self._groups.sums if same else self._groups_of(self._f1).sums
        single, weights = np.full(len(joint), n * self._f1[1]), self.weights / self.total_weight
        sums = (joint, self._f2[n], n_groups == 1), (single, n * self._f2[1], n_groups == n)
        together, apart = (
            values_from_sums(self.loss, n, j, float(size), self._groups.sums, equal)
            for j, size, equal in sums
        )
        return float(together @ weights), float(apart @ weights)

    def value_of(self, labels: IntArray) -> float:
        """Expected loss of canonical labels, for which no state is needed."""
        values = loss_values(labels, self.table, self.loss)
        return float(values @ self.weights / self.total_weight)


def _integers(values: Any) -> IntArray:
    """The array type for which the kernels are compiled."""
    return np.ascontiguousarray(values, dtype=np.int64)
