"""What a search minimizes: draws, weights and a loss, in the form in which the kernels read them.

The groups of all draws are numbered through, and ``rows[i, t]`` is the group of item i in draw t. For a linear
loss the total loss of a partition, which is its expected loss times the total weight, is

    constant  +  sum_r w_r sum_s f_r(n_rs)  +  W sum_s f2(n_s)

where n_rs is the number of items of group r in cluster s (`_kernels/tables.py`).

Where labels are missing, the loss of a draw is that on the items it has seen. All of these form one more group,
over which f2 is summed, and its row is one more column of `rows`; items that the draw has not seen are in a last
group whose weight is 0. So the same kernels serve.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.tables import count_cells
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws import Draws
from epluribus.losses.base import Loss
from epluribus.losses.values import linear_forms, loss_values
from epluribus.search.members import MemberLists
from epluribus.search.pairs import MOST_ITEMS, PairCosts, counts_pairs

_ITEMS_PER_CLUSTER, _CELLS = 400, 2.5e5
"""Pairs pay up to this many items for each cluster, or for each item of a usual group; tables are quick enough, and
nothing more has to be compiled, up to this many cells of a sweep."""


class Problem:
    """The expected loss over a sample of partitions.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_draws)
        Labels 0..K-1 of each draw, item-major, unsigned; with `missing` from 1 on, and 0 for a missing one.
    weights : ndarray of shape (n_draws,)
        Weight of each draw.
    loss : Loss
        The loss whose expectation is wanted.
    missing : bool, default False
        Whether labels are missing; the loss must then be linear.
    n_items : int, optional
        Number of items with those that are not in the table: they stay where they are (`large.py`).
    n_clusters : ndarray of shape (n_draws,), optional
        Number of clusters of each draw, where the items of the table do not show all of them.

    Attributes
    ----------
    rows : ndarray of shape (n_items, n_columns)
        Group of each item in each column.
    column_weights, column_kinds : ndarray of shape (n_columns,)
        Weight of the groups of each column, and which of the two functions f_r is.
    group_weights, kinds : ndarray of shape (n_groups,)
        The same for each group.
    n_seen_groups : int
        Groups from this number on are of missing labels: they count for nothing.
    f, steps : ndarray of shape (2, n_items + 2)
        The two functions, and their differences f(n + 1) - f(n).
    size, size_steps : ndarray of shape (n_items + 2,)
        W f2, and its differences.
    tolerance, margin : float
        Total losses closer than the tolerance count as equal; the margin bounds the error of single precision.
    """

    def __init__(
        self,
        table: NDArray[np.unsignedinteger[Any]],
        weights: FloatArray,
        loss: Loss,
        *,
        missing: bool = False,
        n_items: int | None = None,
        n_clusters: IntArray | None = None,
    ) -> None:
        if missing and not loss.linear:
            raise ValueError(
                f'\'loss\' must be linear where labels are missing, such as "vi" or "binder"; got '
                f"'{loss.name}'. Or leave out the draws, or the items, with missing labels."
            )
        self.table, self.loss, self.missing = table, loss, missing
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.n_free, self.n_draws = table.shape
        self.n_items = n = self.n_free if n_items is None else n_items
        self.total_weight, self.weights_up_to = float(self.weights.sum()), np.cumsum(self.weights)
        tops = table.max(axis=0, initial=0).astype(np.int64)
        self.n_clusters = tops + (not missing) if n_clusters is None else n_clusters
        """(n_draws,) number of clusters of each draw."""
        self.first = np.append(0, np.cumsum(self.n_clusters))
        """Groups of draw t are first[t]..first[t + 1] - 1."""
        self.owner = np.repeat(np.arange(self.n_draws), self.n_clusters)
        """(first[n_draws],) draw of each group."""
        self.form: Any = None
        """Coefficients of a linear f0: one of each, or one for each draw if labels are missing."""
        f1, f2, self.f3 = (np.append(values, 0.0) for values in loss.tables(n))
        if missing:
            self._with_missing(f1, f2)
        else:
            joint = size = 1.0
            if loss.linear:
                self.form = loss.linear_form(n)
                joint, size = self.form.joint, self.form.size * self.total_weight
            self.rows = np.add(table, self.first[:-1].astype(np.int32), dtype=np.int32)
            self.column_weights = self.weights
            self.group_weights = self.weights[self.owner]
            self.f, self.size = np.stack([joint * f1, joint * f1]), size * f2
        self.n_groups = len(self.group_weights)
        self.n_seen_groups = self.n_groups - 2 * self.n_draws * missing
        # In each column but those of all that a draw has seen the function is the first one.
        self.column_kinds = (np.arange(len(self.column_weights)) >= self.n_draws).astype(np.uint8)
        self.kinds = (np.arange(self.n_groups) >= self.first[-1]).astype(np.uint8)
        self.steps = np.append(np.diff(self.f, axis=1), np.zeros((2, 1)), axis=1)
        self.size_steps = np.append(np.diff(self.size), 0.0)
        # Of the last two entries of the tables one is beyond the number of items, and its step is never used.
        self.steps[:, n:] = self.size_steps[n:] = 0.0
        # No item can cost more than this in any cluster.
        scale = float(np.abs(self.steps).max() * np.abs(self.column_weights).sum())
        # The relative error of a sum in single precision is below 2e-6 (`_kernels/tables.py`).
        self.margin = 2 * 2e-6 * scale
        rounding = 8 * self.n_draws * 2.0**-53
        self.tolerance = float(rounding * (scale + np.abs(self.size_steps).max()))
        if not loss.linear:
            self.tolerance = 1e-11 * self.total_weight
        sizes = np.zeros((self.n_groups, 1), dtype=np.int32)
        count_cells(self.rows, np.zeros(self.n_free, dtype=np.int64), sizes, 1)
        sizes[self.n_seen_groups :] = 0
        self.group_sizes = sizes[:, 0].astype(np.int64)
        """(n_groups,) items of each group, 0 for missing labels."""
        self.members_seen = float((self.group_sizes.astype(np.float64) ** 2).sum())
        """Members that a sweep without tables looks at, at most."""
        values = self.f3[self.group_sizes[: len(self.owner)]]
        sums = np.bincount(self.owner, values, minlength=self.n_draws)
        self.group_sums = sums.astype(np.float64)
        """(n_draws,) sum of f3 over the groups of each draw: the part of the loss that no search changes."""
        self.constant = 0.0
        """What the total loss has besides the sums over cells and clusters; 0 for a loss that is not linear."""
        if self.form is not None:
            each = self.form.constant + self.form.group * self.group_sums
            self.constant = float(self.weights @ each)
        shares = self.weights / max(self.total_weight, 1e-300)
        self.table_cells = self.rows.size * float(shares @ self.n_clusters)
        """Cells of tables that a sweep looks at: items, draws and clusters."""

    def _with_missing(self, f1: FloatArray, f2: FloatArray) -> None:
        """Rows, weights and functions where labels of 0 are missing."""
        seen = self.table > 0
        self.form = linear_forms(self.loss, np.count_nonzero(seen, axis=0))
        n_groups, n_draws = int(self.first[-1]), self.n_draws
        last = n_groups + n_draws
        # Each column has a group of its own for missing labels: none has more than n_items items.
        column = np.arange(n_draws)
        joint = np.where(seen, self.table + self.first[:-1] - 1, last + column)
        whole = np.where(seen, n_groups + column, last + n_draws + column)
        self.rows = np.ascontiguousarray(np.concatenate([joint, whole], axis=1), dtype=np.int32)
        joint, size = self.weights * self.form.joint, self.weights * self.form.size
        self.column_weights = np.concatenate([joint, size])
        self.group_weights = np.concatenate([joint[self.owner], size, np.zeros(2 * n_draws)])
        self.f, self.size = np.stack([f1, f2]), np.zeros(len(f2))

    @classmethod
    def of(cls, draws: Draws, loss: Loss) -> Problem:
        """The problem of all draws."""
        return cls(draws.store.whole(), draws.weights, loss, missing=draws.has_missing)

    def of_draws(self, chosen: IntArray) -> Problem:
        """The problem of these draws, in which one may be several times; they have equal weights."""
        some, counts = np.unique(chosen, return_counts=True)
        table = np.ascontiguousarray(self.table.take(some, axis=1))
        return Problem(table, counts.astype(np.float64), self.loss, missing=self.missing)

    @property
    def cells(self) -> float:
        """Steps of a sweep: cells of tables, or pairs of items."""
        return self.table_cells if self.pairs is None else float(self.n_items) ** 2

    @cached_property
    def members(self) -> MemberLists:
        """The groups as lists of their members, for `MemberState`."""
        return MemberLists.of(self)

    @cached_property
    def pairs(self) -> PairCosts | None:
        """What pairs of items cost together, if the loss is a sum over pairs, and their matrix is small and quick."""
        n, rows = self.n_items, self.rows
        if n > MOST_ITEMS or self.missing or self.n_free < n or not counts_pairs(self.loss, n):
            return None
        # Mean numbers of clusters of a draw, and of items in the group of an item.
        k, group = float(self.n_clusters.mean()), self.members_seen / rows.size
        few = rows.size * k < _CELLS or n > _ITEMS_PER_CLUSTER * min(k, group)
        return None if few or 8.0 * n**2 > available_memory() / 4 else PairCosts.of(self)

    def draw(self, t: int) -> IntArray:
        """Labels of draw t; -1 where they are missing."""
        return self.table[:, t].astype(np.int64) - self.missing

    def random_draw(self, rng: np.random.Generator) -> IntArray:
        """Labels of a draw, chosen with probability proportional to its weight; -1 where they are missing."""
        sums = self.weights_up_to
        return self.draw(int(np.searchsorted(sums, rng.random() * sums[-1], "right")))

    def expected(self, labels: IntArray) -> float:
        """Expected loss of canonical labels, from scratch."""
        values = loss_values(labels, self.table, self.loss, missing=self.missing)
        return float(self.weights @ values) / self.total_weight
