"""Lower bounds on the smallest expected loss for metrics, and for the variation of information.

For a metric loss and any partition a, loss(a, s) + loss(a, t) >= loss(s, t). With weights p_t that
sum to 1 and a matching y_st >= 0 of the draws, sum_t y_st <= p_s,

    psi(a) >= sum over pairs of y_st loss(s, t),

so the draws are matched with distant ones, in blocks, by solving an assignment problem.

For VI with cost c, an item's part in the expected loss depends on its own cluster A only, and by
Jensen's inequality, with P the similarity matrix,

    N part_i(A) >= c E log2 n_i + (2 - c) log2 |A| - 2 log2 sum_{j in A} P_ij,

n_i the size of the item's cluster in a draw (Wade & Ghahramani 2018, section 3). For each size |A|
the sum is largest over the items most similar to i: the minimum over sizes bounds every partition.

Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible balls.
Bayesian Analysis 13, 559-626. doi:10.1214/17-BA1073
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._parallel import run_tasks
from epluribus.losses.values import loss_values
from epluribus.uncertainty.psm import Rows, map_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus._parallel import Stopper
    from epluribus.draws import Draws
    from epluribus.losses.base import Loss

__all__ = ["item_bound", "triangle_bound"]

_BLOCK = 256
"""Draws matched with each other at a time: a block takes so many evaluations of all its losses."""


def triangle_bound(draws: Draws, loss: Loss, stopper: Stopper, n_jobs: int) -> float:
    """A number not above the smallest expected value of a metric loss."""
    weights = draws.draw_weights
    if np.all(weights == weights[0]):  # each draw by itself: all have one weight
        columns, mass = draws.index, np.full(draws.n_draws, 1.0 / draws.n_draws)
    else:
        columns, mass = np.arange(draws.n_distinct), draws.shares
    n_blocks = -(-len(columns) // _BLOCK)
    # Draws of a block are far apart in the sample: neighbours of a chain are alike.
    blocks = [np.arange(first, len(columns), n_blocks) for first in range(n_blocks)]
    tasks: list[Callable[[], float]] = [
        partial(_match, draws.item_major[:, columns[block]], mass[block], loss, stopper)
        for block in blocks
    ]
    return sum(run_tasks(tasks, n_jobs=n_jobs, stopper=stopper))


def _match(table: NDArray[Any], mass: NDArray[np.float64], loss: Loss, stopper: Stopper) -> float:
    """Sum of y_st loss(s, t) of a good matching of the draws of a block."""
    table = np.ascontiguousarray(table)
    n = len(mass)
    distance = np.zeros((n, n))
    for s in range(n):
        if stopper.stopped:
            break  # rows left out count 0
        distance[s] = loss_values(table[:, s].astype(np.int64), table, loss)
    if np.all(mass == mass[0]):
        from scipy.optimize import linear_sum_assignment

        # s is matched with its successor and its predecessor, half of its mass each.
        rows, columns = linear_sum_assignment(distance, maximize=True)
        return float(mass[0] * distance[rows, columns].sum()) / 2.0
    return _greedy_matching(distance, mass.copy())


def _greedy_matching(distance: NDArray[np.float64], left: NDArray[np.float64]) -> float:
    """The most distant pair first, as much of it as both have left."""
    i, j = np.triu_indices(len(left), 1)
    total = 0.0
    for at in np.argsort(-distance[i, j], kind="stable"):
        s, t = i[at], j[at]
        y = min(left[s], left[t])
        if y > 0:
            total += y * distance[s, t]
            left[s] -= y
            left[t] -= y
    return float(total)


def item_bound(draws: Draws, cost: float, stopper: Stopper, n_jobs: int) -> float:
    """A number not above the smallest expected variation of information."""
    n = draws.n_items
    group = cost * _expected_log_size(draws)
    size = (2.0 - cost) * np.log2(np.arange(1, n + 1))

    def part(rows: Rows, begin: int, end: int) -> float:
        similarity = -np.sort(-rows(begin, end, n), axis=1)
        least = (size - 2.0 * np.log2(np.cumsum(similarity, axis=1))).min(axis=1)
        # No part of a partition is below 0, whatever the bound says.
        return float(np.maximum(0.0, group[begin:end] + least).sum())

    return sum(map_rows(draws, part, n_jobs, stopper)) / n


def _expected_log_size(draws: Draws) -> NDArray[np.float64]:
    """For each item the mean of log2 of the size of its cluster in a draw."""
    total = np.zeros(draws.n_items)
    for row, weight in zip(draws.distinct, draws.shares, strict=True):
        total += weight * np.log2(np.bincount(row))[row]
    return total
