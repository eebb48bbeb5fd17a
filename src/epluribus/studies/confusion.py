"""Tables of known groups against clusters: made, compared, and undone.

Clusters have no names, so two tables are compared after the matching of columns that leaves the
fewest items in different cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epluribus.draws import Draws, as_labels
from epluribus.losses.expected import expected_loss
from epluribus.partition import contingency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from epluribus._typing import IntArray, LabelsLike

__all__ = [
    "confusion",
    "items_moved",
    "match_columns",
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


# --- the partition behind a printed table ---

_DRAWS_READ = 2_000
"""Draws from which co-clustering probabilities are read: a standard error of 0.011 at most."""
_ROUNDS = 20
"""Rounds of reassignment; in practice nothing changes after three to six."""


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
    """A partition that has exactly the printed `table`, as close to the posterior as we can find.

    The table tells how many items of each group are in each cluster, not which. Starting from `labels`
    with their clusters matched to the columns, the items of each group are assigned to the cells that
    are open to the group (a linear assignment) so as to sit with the items they share a cluster with in
    the draws; this is repeated until nothing changes. Of all rounds the one with the smallest expected
    VI is returned.
    """
    from scipy.optimize import linear_sum_assignment

    names, own = np.asarray(group), as_labels(labels)
    probability = together(draws) - 0.5  # positive where sharing a cluster lowers Binder's loss
    np.fill_diagonal(probability, 0.0)
    pairs, _ = match_columns(confusion(names, own, rows), table)
    current = np.full(own.size, -1)
    for mine, printed in pairs:
        current[own == mine] = printed
    best, best_value = own, np.inf
    for _ in range(_ROUNDS):
        member = (current[:, None] == np.arange(table.shape[1])).astype(np.float64)
        # Per member of the cluster, so that large clusters do not swallow all; an unmatched one is neutral.
        gain = probability @ member / np.maximum(member.sum(axis=0), 1.0)
        new = np.empty_like(current)
        for row, name in enumerate(rows):
            items = np.flatnonzero(names == name)
            seats = np.repeat(np.arange(table.shape[1]), table[row])
            chosen, seat = linear_sum_assignment(gain[np.ix_(items, seats)], maximize=True)
            new[items[chosen]] = seats[seat]
        value = expected_loss(new, draws, "vi")
        if value < best_value:
            best, best_value = as_labels(new), value
        if np.array_equal(new, current):
            break
        current = new
    return best
