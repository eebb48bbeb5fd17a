"""Tables of known groups against clusters: making them, comparing them, and going back to a partition.

A table has a row for each group and a column for each cluster. Clusters have no names, so two tables a and b
are compared after the one-to-one matching m of their columns that leaves the fewest items in different cells:

    distance(a, b) = sum a - max over m of sum over groups r and columns g of min(a[r, g], b[r, m(g)])

The best matching is a linear assignment problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from epluribus._typing import FloatArray, IntArray, LabelsLike
from epluribus.draws import Draws
from epluribus.draws.expected import expected_loss
from epluribus.partition import as_labels, contingency
from epluribus.uncertainty import psm

_DRAWS_READ = 2_000
"""Draws from which co-clustering probabilities are read.

The standard error of a probability is then at most 0.5 / sqrt(2000) = 0.011.
"""


def match_columns(a: IntArray, b: IntArray) -> tuple[list[tuple[int, int]], int]:
    """The matching of columns of `a` and `b` that shares most items, and how many items it shares.

    >>> match_columns(np.array([[3, 0], [1, 4]]), np.array([[0, 2], [4, 2]]))
    ([(0, 1), (1, 0)], 7)
    """
    # In each row two columns share the smaller of their counts.
    shared = np.minimum(a[:, :, None], b[:, None, :]).sum(axis=0)
    first, second = linear_sum_assignment(shared, maximize=True)
    return list(zip(first.tolist(), second.tolist(), strict=True)), int(shared[first, second].sum())


def table_distance(a: IntArray, b: IntArray) -> int:
    """Items that are in different cells of two tables, after the best matching of columns.

    >>> table_distance(np.array([[3, 0], [1, 4]]), np.array([[0, 2], [4, 2]]))
    1
    """
    return int(a.sum()) - match_columns(a, b)[1]


def items_moved(a: LabelsLike, b: LabelsLike) -> int:
    """Items that two partitions place differently, after the best matching of clusters.

    >>> items_moved([0, 0, 0, 1, 1], [5, 5, 7, 7, 7])
    1
    """
    table = contingency(a, b)
    # The items that stay are those in the cells of the best one-to-one matching.
    return int(table.sum() - table[linear_sum_assignment(table, maximize=True)].sum())


def number_clusters(labels: LabelsLike, rank: Sequence[float] | FloatArray) -> IntArray:
    """Clusters numbered 1, 2, ... by the median of `rank` over their items, larger ones first in ties.

    >>> number_clusters([0, 0, 1, 2], rank=[5.0, 7.0, 9.0, 1.0]).tolist()
    [2, 2, 3, 1]
    """
    own, values = as_labels(labels), np.asarray(rank, dtype=np.float64)
    medians = [np.median(values[own == g]) for g in range(own.max() + 1)]
    # By the last key first. The inverse of the order, argsort of argsort, is the rank of each cluster.
    order = np.lexsort((-np.bincount(own), medians))
    return np.argsort(order)[own] + 1


@dataclass(frozen=True, eq=False)
class Groups:
    """Known groups of the items, such as parties, and the order in which the paper lists them.

    Examples
    --------
    >>> parties = Groups(np.array(["left", "right", "right"]), ("left", "right"))
    >>> parties.table([0, 0, 1]).tolist()
    [[1, 0], [1, 1]]
    """

    group: NDArray[np.str_]
    """(n_items,) the group of each item."""
    rows: Sequence[str]
    """The groups, in the order of the rows of the tables."""

    def table(self, labels: LabelsLike) -> IntArray:
        """Number of items of each group (rows) in each cluster (columns, by label)."""
        own = np.asarray(labels)
        clusters = np.unique(own)
        counts = [[np.sum((self.group == row) & (own == g)) for g in clusters] for row in self.rows]
        return np.array(counts, dtype=np.int64)

    def distance(self, labels: LabelsLike, printed: IntArray) -> int:
        """Number of items in another cell than in a printed table, after the best matching of columns."""
        return table_distance(self.table(labels), printed)

    def number(self, labels: LabelsLike, printed: IntArray) -> IntArray:
        """Clusters numbered 1, 2, ... in the order of the columns of a printed table that they match."""
        own = as_labels(labels)
        mine = self.table(own)
        # Clusters that match no column come last.
        rank = np.full(mine.shape[1], printed.shape[1], dtype=np.float64)
        for cluster, column in match_columns(mine, printed)[0]:
            rank[cluster] = column
        return number_clusters(own, rank[own])

    def rebuild(self, printed: IntArray, labels: LabelsLike, draws: Draws) -> IntArray:
        """A partition that has exactly the `printed` table, as close to `labels` as possible.

        The table says how many items of each group are in each cluster, not which ones. The clusters of
        `labels` are matched to the columns, and the items of each group are assigned to the places that
        the table has for the group (a linear assignment): as few as possible leave their cluster, and
        those that leave go where they share a cluster with most items in the draws. Then each of
        these changes places with another item of its group wherever that lowers the expected VI.

        Parameters
        ----------
        printed : ndarray of shape (n_groups, n_columns)
            The table, with as many items in each row as the group has.
        labels : array_like of shape (n_items,)
            The partition to stay close to.
        draws : Draws
            The sample that says which items belong together.

        Returns
        -------
        ndarray of shape (n_items,)
        """
        # Evenly spaced draws, from all chains.
        few = draws[:: max(1, draws.n_draws // _DRAWS_READ)]
        own = as_labels(labels)
        current = np.full(own.size, -1)  # the column of each item; -1 if its cluster matches none
        for mine, column in match_columns(self.table(own), printed)[0]:
            current[own == mine] = column
        member = (current[:, None] == np.arange(printed.shape[1])).astype(np.float64)
        # fit[i, g]: the mean probability that item i shares a cluster with the members of column g, plus
        # n_items if i is one of them. No sum of probabilities, at most 1 each, outweighs one item that stays.
        fit = psm(few) @ member / np.maximum(member.sum(axis=0), 1.0) + own.size * member
        out = np.empty_like(own)
        for row, name in enumerate(self.rows):
            items = np.flatnonzero(self.group == name)
            # The table has one place for each item of the group: column g is repeated printed[row, g] times.
            places = np.repeat(np.arange(printed.shape[1]), printed[row])
            chosen, place = linear_sum_assignment(fit[np.ix_(items, places)], maximize=True)
            out[items[chosen]] = places[place]
        return as_labels(self._exchange(out, np.flatnonzero(out != current), few))

    def _exchange(self, labels: IntArray, moved: IntArray, draws: Draws) -> IntArray:
        """Each moved item in turn changes places with the item of its group that lowers the loss most."""
        # An exchange within a group does not change the table. Each trial costs one full expected loss, which
        # is affordable because only a few items have moved.
        value = expected_loss(labels, draws, "vi")
        for i in moved:
            best = labels
            # Partners of the same group in other clusters.
            for j in np.flatnonzero((self.group == self.group[i]) & (labels != labels[i])):
                trial = labels.copy()
                trial[[i, j]] = trial[[j, i]]
                found = expected_loss(trial, draws, "vi")
                if found < value:
                    best, value = trial, found
            labels = best
        return labels
