"""A similarity matrix in place of draws: what is minimized, and the state of the search.

    binder   the sum over pairs of (2 - c)(1 - p_ij) for those together and c p_ij for those apart
    vi_lb    (c Z + (2 - c) A - 2 J) / N with Z = sum_i log2 r_i, A = sum_i log2 n_i and J = sum_i log2 s_i: the
             lower bound of Wade & Ghahramani (`losses.vi_lb`)

where n_i is the size of the cluster of item i, r_i the sum of p_ij over all items, and s_i over its cluster.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels import matrix as kernels
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws.expected import matrix_loss
from epluribus.losses.base import Loss
from epluribus.search.pair_costs import MOST_ITEMS, PairCosts
from epluribus.search.state import Bounds, State, Swept, open_slots, padded, slot_count

_DENSE = 16
"""For Binder's loss a matrix with one pair in 16 above 0, or more, is kept as a whole."""


class MatrixProblem:
    """The expected loss from a similarity matrix, with what `LocalSearch` asks a `Problem` for.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array of shape (n_items, n_items)
        Similarities above zero, symmetric, without the diagonal.
    loss : Loss
        `losses.binder` or `losses.vi_lb`, with any cost.
    """

    def __init__(self, matrix: Any, loss: Loss) -> None:
        self.matrix, self.loss, n = matrix, loss, matrix.shape[0]
        self.n_items, self.n_free, self.n_draws, self.total_weight = n, n, 0, 1.0
        self.first, self.near = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        self.share = matrix.data.astype(np.float64)
        self.form, self.logs = loss.linear_form(n), loss.family == "vi_lb"
        self.size = self.form.size * np.append(loss.tables(n)[1], 0.0)
        self.size_steps = np.append(np.diff(self.size), 0.0)
        # A cost is a sum over up to n items.
        largest = abs(self.form.joint) + float(np.abs(self.size_steps[:n]).max())
        self.tolerance = 8 * n * 2.0**-53 * largest

    @property
    def neighbors(self) -> tuple[IntArray, AnyArray, FloatArray, float, bool]:
        """The matrix, the factor of the sum of g(s_i), and whether g is the logarithm."""
        return self.first, self.near, self.share, self.form.joint, self.logs

    @property
    def cells(self) -> float:
        """Steps of a sweep; those for a neighbor are like four for a cell of a table."""
        return float(self.n_items) ** 2 if self.pairs is not None else 4.0 * len(self.near)

    @cached_property
    def pairs(self) -> PairCosts | None:
        """What pairs of items cost together, for Binder's loss if most of the matrix is above zero."""
        n, form = self.n_items, self.form
        few = n <= MOST_ITEMS and 8.0 * n**2 <= available_memory() / 4
        if self.logs or not few or _DENSE * len(self.near) < n**2:
            return None
        own = form.joint + float(self.size[1])
        together = self.matrix.toarray()
        return PairCosts.with_friends(
            together, 2 * float(self.size[1]), 2 * form.joint, own, self.tolerance
        )

    @cached_property
    def constant(self) -> float:
        """What is the same for all partitions."""
        rows = 1.0 + np.asarray(self.matrix.sum(axis=1)).ravel()
        total = np.log2(rows).sum() if self.logs else rows.sum()
        return float(self.form.constant + self.form.group * total)

    @cached_property
    def scale(self) -> float:
        """The largest expected loss that is of interest: one cluster, or all items apart."""
        return max(*map(abs, self.trivial_values), 1e-300)

    @cached_property
    def trivial_values(self) -> tuple[float, float]:
        """Expected loss of one cluster, and of all items apart."""
        apart = np.arange(self.n_items)
        return self.expected(0 * apart), self.expected(apart)

    def expected(self, labels: IntArray) -> float:
        """Expected loss of canonical labels, from scratch."""
        return matrix_loss(labels, self.matrix, self.loss)

    def row(self, i: int) -> FloatArray:
        """(n_items,) similarities with item i."""
        out, own = np.zeros(self.n_items), slice(self.first[i], self.first[i + 1])
        out[self.near[own]] = self.share[own]
        out[i] = 1.0
        return out

    def random_group(self, i: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """(n_items,) the items most similar to item i."""
        return similar_items(self.row(i), rng)


def similar_items(row: FloatArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """The items of the largest entries of a row: about as many as a draw has together, or above a level."""
    if rng.random() < 0.5:
        return row > rng.random()
    # As many as come up if each item does with its probability; all that are as similar as the last one.
    n = max(1, int((rng.random(len(row)) < row).sum()))
    return row >= np.partition(row, len(row) - n)[len(row) - n]


class MatrixState(State):
    """A partition, and for each item the sum of the similarities with its cluster (`_kernels/matrix.py`)."""

    def __init__(self, problem: MatrixProblem, labels: IntArray) -> None:
        self.problem, self.labels = problem, labels.astype(np.int64)
        k = int(labels.max(initial=-1)) + 1
        self._widen(np.bincount(labels[labels >= 0], minlength=k), slot_count(k, 1))
        self.inside, self.inverse = np.empty((2, len(labels)))
        kernels.fill_inside(*problem.neighbors[:3], self.labels, self.inside, self.inverse)

    def _widen(self, sizes: IntArray, width: int) -> None:
        """Have `width` slots, the first of them with these sizes."""
        self.sizes, self._slots = (
            padded(sizes, width),
            (np.empty(width), np.zeros(width), np.empty(width)),
        )

    @property
    def _partition(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        return self.labels, self.sizes, self.inside, self.inverse

    @property
    def work(self) -> float:
        """Steps of one sweep."""
        return self.problem.cells + float(len(self.labels)) * self.n_clusters

    def total(self) -> float:
        """Total loss without the constant."""
        p, inside = self.problem, self.inside[self.labels >= 0]
        joint = (np.log2(inside) if p.logs else inside).sum()
        return float(p.form.joint * joint + p.size[self.sizes].sum())

    def sweep(self, order: IntArray, bounds: Bounds, blocked: AnyArray | None = None) -> Swept:
        """Visit the items in `order`, and move each to the cluster where it costs least."""
        p, n_moves, change = self.problem, 0, 0.0
        while True:
            done, moves, by = kernels.sweep(
                order, *p.neighbors, p.size_steps, p.tolerance, *bounds,
                open_slots(self) if blocked is None else blocked, *self._partition, *self._slots,
            )  # fmt: skip
            n_moves, change, order = n_moves + moves, change + by, order[done:]
            if len(order) == 0 or bounds.stop[0]:
                return Swept(n_moves, change, len(order) == 0)
            self.make_room(self.n_clusters // 2 + 1)

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        p = self.problem
        return float(
            kernels.move_items(
                items, targets, *p.neighbors, p.size_steps, *self._partition, *self._slots
            )
        )

    def make_room(self, n: int) -> None:
        """Have at least n empty slots; the others keep their names."""
        old = len(self.sizes)
        if old - self.n_clusters < n:
            self._widen(self.sizes, slot_count(old, n))

    def compact(self) -> None:
        """Number the clusters 0..K-1 without gaps."""
        used = self.rename_slots()
        self._widen(self.sizes[used], slot_count(len(used), 1))

    def join_row(self, a: int) -> FloatArray:
        """(n_slots,) change of the total loss if slot a is joined with each other one."""
        p, row, n = self.problem, np.empty(len(self.sizes)), len(self.labels)
        kernels.join_row(
            a, *p.neighbors, p.size, self.labels, self.sizes, self.inverse,
            row, np.zeros(len(row)), np.zeros(n),
        )  # fmt: skip
        return row

    def join_changes(self) -> FloatArray:
        """Change of the total loss if two slots are joined."""
        return np.array([self.join_row(s) for s in range(len(self.sizes))])

    def merge(self, bounds: Bounds, like: State | None = None) -> float:  # noqa: ARG002
        """Join clusters, the best pair first, while that helps or there are too many."""
        p, k, n = self.problem, len(self.sizes), len(self.labels)
        change = kernels.merge(
            *p.neighbors, p.size, p.tolerance, *bounds, *self._partition,
            np.empty(k), np.zeros(k), np.zeros(n), np.empty(k, dtype=np.int64), np.empty(k),
        )  # fmt: skip
        return float(change)
