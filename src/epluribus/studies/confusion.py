"""Tables of known groups against clusters: made, compared, and undone.

Clusters have no names, so two tables are compared after the matching of columns that leaves the
fewest items in different cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epluribus.draws import Draws
from epluribus.partition import as_labels
from epluribus.engine import expected_loss
from epluribus.partition import contingency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from epluribus._typing import IntArray, LabelsLike

__all__ = [
    "confusion",
    "items_moved",
    "match_columns",
    "number_as_printed",
    "number_clusters",
    "rebuild",
    "table_distance",
    "together",
]


def confusion(
    group: Sequence[str] | NDArray[np.str_], labels: LabelsLike, rows: Sequence[str]
) -> IntArray:
    """Number of items of each group (in the order of `rows`) in each cluster (by label)."""
    names = np.asarray(group)
    clusters = np.unique(labels)
    columns = [[int(np.sum((names == row) & (labels == g))) for g in clusters] for row in rows]
    return np.array(columns, dtype=np.int64)


def match_columns(a: IntArray, b: IntArray) -> tuple[list[tuple[int, int]], int]:
    """Pairs of columns (of `a`, of `b`) that share most items, and how many items they share."""
    from scipy.optimize import linear_sum_assignment

    shared = np.minimum(a[:, :, None], b[:, None, :]).sum(axis=0)
    first, second = linear_sum_assignment(shared, maximize=True)
    return list(zip(first.tolist(), second.tolist(), strict=True)), int(shared[first, second].sum())


def table_distance(a: IntArray, b: IntArray) -> int:
    """Items that are in different cells of two tables, after the best matching of columns."""
    return int(a.sum()) - match_columns(a, b)[1]


def items_moved(a: LabelsLike, b: LabelsLike) -> int:
    """Items that two partitions place differently, after the best matching of clusters."""
    from scipy.optimize import linear_sum_assignment

    table = contingency(a, b)
    return int(table.sum() - table[linear_sum_assignment(table, maximize=True)].sum())


def number_clusters(labels: LabelsLike, rank: Sequence[float] | NDArray[np.float64]) -> IntArray:
    """Clusters numbered 1, 2, ... by the median of `rank` over their items, larger ones first in ties."""
    own, values = as_labels(labels), np.asarray(rank, dtype=np.float64)
    keys = [
        (float(np.median(values[own == g])), -int(np.sum(own == g))) for g in range(own.max() + 1)
    ]
    number = np.empty(len(keys), dtype=np.int64)
    number[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(1, len(keys) + 1)
    return number[own]


def number_as_printed(
    labels: LabelsLike,
    group: Sequence[str] | NDArray[np.str_],
    rows: Sequence[str],
    table: IntArray,
) -> IntArray:
    """Clusters numbered 1, 2, ... in the order of the columns of a printed table that match them."""
    own = as_labels(labels)
    mine = confusion(group, own, rows)
    rank = np.full(mine.shape[1], table.shape[1], dtype=np.float64)  # unmatched ones come last
    for cluster, column in match_columns(mine, table)[0]:
        rank[cluster] = column
    return number_clusters(own, rank[own])


# --- the partition behind a printed table ---

_DRAWS_READ = 2_000
"""Draws from which co-clustering probabilities are read: a standard error of 0.011 at most."""


def together(draws: Draws) -> NDArray[np.float64]:
    """Probability that two items share a cluster, from evenly spread draws."""
    step = max(1, draws.n_draws // _DRAWS_READ)
    table = np.asarray(draws)[::step]
    total = np.zeros((draws.n_items, draws.n_items))
    for row in table:
        total += row[:, None] == row
    return np.asarray(total / len(table))


def rebuild(
    table: IntArray,
    group: Sequence[str] | NDArray[np.str_],
    rows: Sequence[str],
    labels: LabelsLike,
    draws: Draws,
) -> IntArray:
    """A partition that has exactly the printed `table`, as close to `labels` as can be.

    The table tells how many items of each group are in each cluster, not which. The clusters of `labels`
    are matched to the columns, and the items of each group are assigned to the places that the table
    has for the group (a linear assignment): as few as possible leave their cluster, and those that do
    leave go where they share a cluster with most in the draws. Then each of these changes places with
    another item of its group wherever that lowers the expected VI.
    """
    from scipy.optimize import linear_sum_assignment

    names, own = np.asarray(group), as_labels(labels)
    current = np.full(own.size, -1)
    for mine, printed in match_columns(confusion(names, own, rows), table)[0]:
        current[own == mine] = printed
    member = (current[:, None] == np.arange(table.shape[1])).astype(np.float64)
    # The mean probability of sharing a cluster with its members, at most 1, and the reward for staying.
    fit = together(draws) @ member / np.maximum(member.sum(axis=0), 1.0) + own.size * member
    out = np.empty_like(own)
    for row, name in enumerate(rows):
        items = np.flatnonzero(names == name)
        places = np.repeat(np.arange(table.shape[1]), table[row])
        chosen, place = linear_sum_assignment(fit[np.ix_(items, places)], maximize=True)
        out[items[chosen]] = places[place]
    return as_labels(_exchange(out, np.flatnonzero(out != current), names, draws))


def _exchange(labels: IntArray, moved: IntArray, names: NDArray[np.str_], draws: Draws) -> IntArray:
    """Each moved item in turn changes places with the item of its group that lowers the loss most."""
    few = draws[:: max(1, draws.n_draws // _DRAWS_READ)]
    value = expected_loss(labels, few, "vi")
    for i in moved:
        best = labels
        for j in np.flatnonzero((names == names[i]) & (labels != labels[i])):
            trial = labels.copy()
            trial[[i, j]] = trial[[j, i]]
            found = expected_loss(trial, few, "vi")
            if found < value:
                best, value = trial, found
        labels = best
    return labels
