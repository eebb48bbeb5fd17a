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

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._kernels.loops import (
    Partners,
    block_costs,
    exact_costs,
    join_pair,
    merge,
    move_items,
    row_of_joins,
    sweep,
)
from epluribus._kernels.tables import BLOCK
from epluribus._parallel import Stopper
from epluribus._text import count
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine.members import MemberExecution
from epluribus.engine.tables import TableExecution, tables_pay
from epluribus.losses.base import Loss
from epluribus.losses.values import GroupSums, groups_of, loss_values, values_from_sums
from epluribus.partition import relabel


@dataclass(frozen=True)
class Settings:
    """What a search was asked for: one object is passed from `minimize` down to the last sweep."""

    k_min: int = 1
    """Smallest number of clusters."""
    k_max: int | None = None
    """Largest number of clusters; None for no bound."""
    search: str = "recombine"
    """"recombine" or "greedy", as in `minimize`."""
    n_jobs: int = 1
    """Threads; the result does not depend on their number."""
    # Not compared: two searches with the same bounds are the same question, whatever ends them early.
    stopper: Stopper = field(default_factory=Stopper, repr=False, compare=False)

    def most(self, n_items: int) -> int:
        """Largest number of clusters of `n_items` items."""
        return n_items if self.k_max is None else self.k_max

    @property
    def bound(self) -> str:
        """The bound on the number of clusters in words, such as "with at most 5 clusters"; "" if none."""
        if self.k_max is None:
            return ""
        exactly = "exactly" if self.k_min == self.k_max else "at most"
        return f"with {exactly} {count(self.k_max, 'cluster')}"


NO_BOUNDS = Settings()
"""Any number of clusters, and nothing that ends the work early."""


class Execution(Protocol):
    """What holds the sample and makes states for the loops; see `_kernels/engine.py`."""

    def start(self, labels: IntArray, *, room: int = 1, moves: bool = True) -> Any:
        """The state at `labels`, with room for `room` more clusters; without `moves`, for joins only."""

    def widened(self, state: Any) -> Any:
        """The same state with room for more clusters."""

    def narrowed(self, state: Any) -> Any:
        """The same partition in less memory, if many clusters have been closed."""

    def joint(self, state: Any, f1: FloatArray) -> tuple[FloatArray, IntArray]:
        """Sum of f1 over the contingency table of each draw, and the number of its cells in use."""


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
    kind : {"tables", "members"}, optional
        The execution; by default the one that is quicker for this sample.

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
    the mean size of an item's cluster, and the memory O(n_draws n_items), shared by all states.

    Examples
    --------
    Item 1 of the partition 0 0 1 may stay, go to cluster 1, or open a new cluster: the total loss is then
    2, 4 or 3. Only differences between costs are meaningful.

    >>> import numpy as np
    >>> import epluribus as epl
    >>> from epluribus.engine import Engine
    >>> draws = epl.Draws([[0, 0, 1], [0, 1, 1], [0, 0, 1]])
    >>> engine = Engine.of(draws, epl.losses.get("binder"))
    >>> state = engine.start(np.array([0, 0, 1]))
    >>> costs = engine.costs(state, np.array([1]))[0]
    >>> (costs - costs[0]).tolist()
    [0.0, 2.0, 1.0]
    >>> state = engine.apply(state, np.array([1]), np.array([1]))
    >>> state.labels.tolist(), engine.value(state)
    ([0, 1, 1], 1.3333333333333333)
    """

    def __init__(
        self,
        table: NDArray[np.unsignedinteger[Any]],
        weights: FloatArray,
        loss: Loss,
        kind: str | None = None,
    ) -> None:
        self.loss, self.table = loss, table
        self.n_items, self.n_draws = table.shape
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.total_weight = float(weights.sum())
        self._f1, self._f2, f3 = loss.tables(self.n_items)
        # The part of the loss that depends on the draws alone is computed once.
        self._groups: GroupSums = groups_of(table, f3)
        self._row = None if loss.linear else loss.compiled_row()
        price = self._price()
        self.tolerance = price.tolerance
        if kind is None:
            kind = "tables" if tables_pay(table, self._groups.n_groups, loss) else "members"
        make = TableExecution if kind == "tables" else MemberExecution
        self.execution: Execution = make(table, price, loss)

    @classmethod
    def of(cls, draws: Draws, loss: Loss, columns: IntArray | None = None) -> Engine:
        """The engine over all distinct draws, or over those with the numbers `columns`."""
        if columns is None:
            return cls(draws.item_major, draws.weights, loss)
        table = np.ascontiguousarray(draws.item_major[:, columns])
        return cls(table, draws.weights[columns], loss)

    def _price(self) -> Price:
        """f1, f2 and their differences; if f0 is linear, its coefficients are multiplied in."""
        # If f0 is not linear, a cost is a sum of f0 over the draws. The usual ones are at most of order 1, so
        # rounding errors are far below this tolerance.
        f1, f2, margin = self._f1, self._f2, 0.0
        tolerance = 1e-11 * self.total_weight
        # Total loss = constant + sum_t w_t (form.joint sum f1 + form.size sum f2): the weights of the second
        # term add up here, those of the first differ by draw and are multiplied in by the execution.
        if self.loss.linear:
            form = self.loss.linear_form(self.n_items)
            f1, f2 = form.joint * f1, form.size * self.total_weight * f2
        # Differences f(n + 1) - f(n), with a last entry that is never used.
        joint, size = np.append(np.diff(f1), 0.0), np.append(np.diff(f2), 0.0)
        if self.loss.linear:
            largest = np.abs(joint).max() * self.total_weight
            # Twice the largest error of a sum in single precision, since two of them are compared. A term is
            # rounded when it is stored; a block of terms is added four at a time, in BLOCK / 4 steps. Each
            # rounding has a relative error of at most 2**-24.
            margin = float(2 * (BLOCK / 4 + 4) * 2.0**-24 * largest)
            # In double precision a cost is a sum of n_draws terms, with a rounding at each addition.
            tolerance = float(8 * self.n_draws * 2.0**-53 * (largest + np.abs(size).max()))
        return Price(f1, f2, joint, size, self.weights, self._groups.sums, margin, tolerance)

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
        return state

    def costs(self, state: Any, items: IntArray) -> FloatArray:
        """(len(items), K + 1) cost of each cluster, and of a new one, for each item; nothing is moved."""
        out = np.empty((len(items), int(state.n_clusters[0]) + 1))
        block_costs(self._with_room(state), self._row, _integers(items), out)
        return out

    def _with_room(self, state: Any) -> Any:
        """The state itself, or a wider one if there is no room for one more cluster."""
        full = state.n_clusters[0] >= len(state.sizes)
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
        self, state: Any, order: IntArray, settings: Settings = NO_BOUNDS
    ) -> tuple[Any, int, bool]:
        """Visit the items in `order` and move each to its best cluster.

        Returns the state (a new one if more room was needed), the number of moves, and whether all
        items were visited: a sweep ends early only if the stopper of the settings says so.
        """
        n_moves = np.zeros(1, dtype=np.int64)
        k_max = settings.most(self.n_items)
        stop, begin = settings.stopper.flag, 0
        # The kernel returns when clusters fill the tables; with wider ones it goes on from there.
        while True:
            begin = sweep(state, self._row, order, begin, settings.k_min, k_max, stop, n_moves)
            if begin == len(order) or stop[0]:
                return state, int(n_moves[0]), begin == len(order)
            state = self.execution.widened(state)

    def allocate(self, order: IntArray, k_max: int | None = None) -> IntArray:
        """Labels made by putting the items, in `order`, one by one where they cost least.

        This is a sweep over items that are in no cluster yet. It cannot be stopped, because half of the
        items are not a partition of all.
        """
        state = self.start(np.full(self.n_items, -1, dtype=np.int64))
        return relabel(self.sweep(state, order, Settings(k_max=k_max))[0].labels)

    def merge(self, labels: IntArray, settings: Settings = NO_BOUNDS) -> IntArray:
        """Join clusters, the best pair first, while the loss falls or there are more than `k_max`.

        Returns canonical labels. Costs one row of changes for each cluster, then at least one for each join:
        up to K squared times the number of draws.
        """
        # Joins need no gains, which take most of the memory. That matters here: the blocks of several
        # partitions may be eight times as many as the clusters of one (`search._recombine`).
        state = self._started(self.execution.start(labels, moves=False))
        k = int(state.n_clusters[0])
        partners = Partners(np.zeros(k, dtype=np.int64), np.empty(k), np.zeros(k, dtype=np.uint8))
        k_max = settings.most(self.n_items)
        merge(state, self._row, partners, settings.k_min, k_max, settings.stopper.flag)
        return relabel(state.labels)

    # --- values ---

    def value(self, state: Any) -> float:
        """Expected loss of the state, from its counts."""
        joint, size, n_cells = self.sums(state)
        sums, n_groups = self._groups
        # As many cells in use as there are clusters on either side: the draw is the same partition.
        equal = (n_cells == n_groups) & (n_cells == state.n_clusters[0])
        values = values_from_sums(self.loss, self.n_items, joint, size, sums, equal)
        return float(values @ self.weights / self.total_weight)

    def value_of(self, labels: IntArray) -> float:
        """Expected loss of canonical labels, for which no state is needed."""
        values = loss_values(labels, self.table, self.loss)
        return float(values @ self.weights / self.total_weight)


def _integers(values: Any) -> IntArray:
    """The array type for which the kernels are compiled."""
    return np.ascontiguousarray(values, dtype=np.int64)
