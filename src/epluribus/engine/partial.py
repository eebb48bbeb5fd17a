"""The engine for draws with missing labels, and which engine a sample needs.

The loss of a draw counts the items that it has seen (`losses/partial.py`), so that both the joint sum and the
size sum differ from draw to draw. The execution keeps contingency tables of what each draw has seen
(`_kernels/partial.py`); for a loss that is a sum over pairs of items, a matrix of all pairs serves as well as
for complete draws, with how often two items were seen together in the place of the number of draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._kernels.looks import no_looks
from epluribus._kernels.partial import PartialTables
from epluribus._kernels.partial_joins import fill_partial_gain
from epluribus._kernels.partitions import count_dtype, count_tables
from epluribus._kernels.vector import LANES
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import check_memory
from epluribus.draws import Draws
from epluribus.draws.together import seen_together, together_where_seen
from epluribus.engine.engine import Engine
from epluribus.engine.pairs import PairExecution, pairs_pay
from epluribus.engine.prices import ROUNDING
from epluribus.losses.base import Loss
from epluribus.losses.partial import LinearForms, PartialSums, linear_forms, partial_sums
from epluribus.losses.values import groups_of
from epluribus.partition import read_only

Labels = NDArray[np.unsignedinteger[Any]]


def engine_for(draws: Draws, loss: Loss, columns: IntArray | None = None) -> Engine:
    """The engine over all distinct draws, or over those with the numbers `columns`."""
    table, weights = draws.item_major, draws.weights
    if columns is not None:
        table, weights = np.ascontiguousarray(table[:, columns]), weights[columns]
    return make_engine(table, weights, loss, missing=draws.has_missing)


def make_engine(table: Labels, weights: FloatArray, loss: Loss, *, missing: bool = False) -> Engine:
    """The engine over an item-major table of draws, in which labels of 0 are `missing` or not."""
    return PartialEngine(table, weights, loss) if missing else Engine(table, weights, loss)


class PartialEngine(Engine):
    """Expected loss over draws with missing labels; see `Engine`.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_draws)
        Labels, item-major, unsigned: 0 is a missing label, clusters are 1, 2, ...
    weights, loss
        As in `Engine`.
    kind : {"partial", "pairs"}, optional
        The execution; by default the one that is quicker for this sample.
    """

    missing = True

    def __init__(
        self, table: Labels, weights: FloatArray, loss: Loss, kind: str | None = None
    ) -> None:
        table = read_only(table)
        self.loss, self.table = loss, table
        self.n_items, self.n_draws = table.shape
        self.n_free = self.n_items
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.total_weight = float(weights.sum())
        self._row = None if loss.linear else loss.compiled_row()
        n_missing = self.n_items - np.count_nonzero(table, axis=0)
        self.n_seen: IntArray = self.n_items - n_missing
        # Group 0 is no cluster: what it adds to the sums of f3 is taken away.
        self._f1, self._f2, f3 = loss.tables(self.n_items)
        groups = groups_of(table, f3)
        self._n_groups = groups.n_groups - (n_missing > 0)
        self._group = groups.sums - f3[n_missing]
        form = linear_forms(loss, self.n_seen) if loss.linear else None
        price = _make_price(self, form)
        self.tolerance = price.tolerance
        kind = kind or ("pairs" if pairs_pay(table, self._n_groups, loss, 8) else "partial")
        self.execution = (
            _pair_execution(table, price, loss, form)
            if kind == "pairs" and form is not None
            else PartialExecution(table, price, loss, form, self.n_seen)
        )

    def _started(self, state: Any) -> Any:
        if not self.loss.linear:
            sums = partial_sums(state.labels, self.table, self.loss)
            state.joint_sums[:], state.size_sums[:] = sums.joint, sums.size
        return state

    def value(self, state: Any) -> float:
        """Expected loss of the state, from its counts."""
        return self.value_of(state.labels)

    def value_of(self, labels: IntArray) -> float:
        """Expected loss of labels 0..K-1."""
        return self._mean(partial_sums(labels, self.table, self.loss))

    def trivial_values(self) -> tuple[float, float]:
        """Expected loss of one cluster of all items, and of all items apart."""
        n, f1, f2 = self.n_seen, self._f1, self._f2
        # One cluster has the clusters of the draw as its cells; apart, every cell has one item.
        whole = groups_of(self.table, f1).sums - f1[self.n_items - n]
        together = PartialSums(whole, f2[n], self._group, n, self._n_groups == 1)
        apart = PartialSums(n * f1[1], n * f2[1], self._group, n, self._n_groups == n)
        return self._mean(together), self._mean(apart)

    def _mean(self, sums: PartialSums) -> float:
        return float(sums.values(self.loss) @ self.weights / self.total_weight)

    def completed(self, labels: IntArray, order: IntArray) -> IntArray:
        """Labels of all items: those with the label -1 are put, in `order`, where they cost least."""
        unseen = order[labels[order] < 0]
        return self._allocated(self.start(labels), unseen)


def _make_price(engine: PartialEngine, form: LinearForms | None) -> Price:
    """f1, f2 and their differences, without coefficients; margin and tolerance as in `make_price`."""
    f1, f2, weights = engine._f1, engine._f2, engine.weights
    joint, size = np.append(np.diff(f1), 0.0), np.append(np.diff(f2), 0.0)
    margin, tolerance = 0.0, 1e-11 * engine.total_weight
    if form is not None:
        # The terms of joint and size sums have opposite signs: what bounds the error is the sum of both.
        terms = np.abs(form.joint) * np.abs(joint).max() + np.abs(form.size) * np.abs(size).max()
        largest = float(weights @ terms)
        margin, tolerance = 2 * ROUNDING * largest, 16 * len(weights) * 2.0**-53 * largest
    return Price(f1, f2, joint, size, weights, engine._group, margin, 0.0, tolerance)


def _pair_execution(table: Labels, price: Price, loss: Loss, form: LinearForms) -> PairExecution:
    """The execution for a loss that counts pairs: f1 and f2 are squares, up to a factor."""
    # Two items in one cluster add 2 f1(1) in each draw that has them together, and 2 f2(1) in each draw that
    # has seen both, times the weights and the coefficients of f0.
    pull = together_where_seen(table, 2.0 * price.f1[1] * form.joint * price.weights)
    pull += seen_together(table, 2.0 * price.f2[1] * form.size * price.weights)
    return PairExecution(table, price, loss, pull=pull)


class PartialExecution:
    """Makes and changes the states of `_kernels/partial.py`."""

    grows_with_draws = True

    def __init__(
        self, table: Labels, price: Price, loss: Loss, form: LinearForms | None, n_seen: IntArray
    ) -> None:
        self._table, self._price, self._loss, self.skips = table, price, loss, loss.linear
        self._n_items, self._n_draws = table.shape
        self._groups = int(table.max()) + 1
        self._n_seen = n_seen.astype(np.float64)
        self._fold = price.weights * form.joint if form is not None else np.zeros(0)
        self._size_fold = price.weights * form.size if form is not None else np.zeros(0)
        # The estimate is assumed to have as many clusters as the draws have.
        self.steps = float(table.size) * float(table.max(axis=0, initial=0).mean() + 1)

    def start(self, labels: IntArray, *, room: int = 1, moves: bool = True) -> PartialTables:
        """The state at `labels`, with room for `room` more clusters; for joins only if not `moves`."""
        k = int(labels.max()) + 1
        state = self._empty(labels.astype(np.int64), k, k + room if moves else k, moves=moves)
        if k > 0:  # otherwise no item is in a cluster yet
            state.sizes[:k] = np.bincount(labels[labels >= 0], minlength=k)
            count_tables(self._table, 0, self._n_draws, state.labels, state.counts)
            # In the place of the items that a draw has not seen: those that it has seen.
            state.counts[:, 0] = state.sizes - state.counts[:, 0]
        if state.gain.size:
            fill_partial_gain(state)
        return state

    def _empty(self, labels: IntArray, k: int, width: int, *, moves: bool = True) -> PartialTables:
        """A state without counts, for `width` clusters, rounded up to whole vectors."""
        n, linear = self._n_draws, self._loss.linear
        if moves:
            width = -(-width // LANES) * LANES
        shape = (n, self._groups, width)
        count = np.dtype(count_dtype(self._n_items))
        check_memory(
            float(count.itemsize + 4 * (moves and linear)) * n * self._groups * width,
            f"The search for the loss '{self._loss.name}' with missing labels, with {n:,} draws of up to "
            f"{self._groups - 1:,} clusters and {width:,} clusters of the estimate,",
            "Fewer draws need less (thin=), as do fewer clusters (k_max=).",
        )
        return PartialTables(
            price=self._price,
            draws=self._table,
            fold=self._fold,
            size_fold=self._size_fold,
            n_seen=self._n_seen,
            labels=labels,
            sizes=np.zeros(width, dtype=np.int64),
            n_clusters=np.array([k], dtype=np.int64),
            counts=np.zeros(shape, dtype=count),
            gain=np.empty(shape if moves and linear else (0, 0, 0), dtype=np.float32),
            joint_sums=np.zeros(n),
            size_sums=np.zeros(n),
            cost=np.empty(width),
            single=np.empty(width, dtype=np.float32),
            joint_row=np.empty(max(width, 1)),
            size_row=np.empty(max(width, 1)),
            value=np.empty(1),
            zero=np.zeros(1),
            first=np.zeros(1, dtype=np.int64),
            looks=no_looks(len(labels) if linear else 0),
        )

    def widened(self, state: PartialTables) -> PartialTables:
        """The same state with room for more clusters."""
        k = int(state.n_clusters[0])
        return self._copied(state, self._empty(state.labels, k, k + max(2, k // 4)))

    def narrowed(self, state: PartialTables) -> PartialTables:
        """The same partition in less memory, if many clusters have been closed."""
        k = int(state.n_clusters[0])
        if k >= len(state.sizes) // 2:
            return state
        return self._copied(state, self._empty(state.labels, k, k + 1))

    def _copied(self, state: PartialTables, new: PartialTables) -> PartialTables:
        """What the state has counted, in another width."""
        k = int(state.n_clusters[0])
        new.sizes[:k] = state.sizes[:k]
        new.counts[:, :, :k] = state.counts[:, :, :k]
        new.joint_sums[:], new.size_sums[:] = state.joint_sums, state.size_sums
        if new.gain.size:
            fill_partial_gain(new)
        return new._replace(looks=state.looks)

    def tilt(self, state: Any, row: Any) -> None:
        """Nothing: all costs are exact if f0 is not linear."""

    def joint(self, state: PartialTables, f1: FloatArray) -> tuple[FloatArray, IntArray]:
        """Sum of f1 over the contingency table of each draw, and the number of its cells in use."""
        cells = state.counts[:, 1:]
        return f1[cells].sum(axis=(1, 2)), np.count_nonzero(cells, axis=(1, 2))
