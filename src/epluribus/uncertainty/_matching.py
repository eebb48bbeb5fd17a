"""Draws matched with distant ones: a lower bound on the expected value of any loss that is a metric.

For any partition a, loss(a, s) + loss(a, t) >= loss(s, t). With probabilities p_t of the draws and a matching
y_st = y_ts >= 0, sum_t y_st <= p_s,

    psi(a) >= sum over pairs s < t of y_st loss(s, t),

so draws are matched with distant ones, in blocks, by solving an assignment problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from epluribus._parallel import Stopper, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.draws.rows import all_equal
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values

_BLOCK = 512
"""Draws that are matched with each other: the time of a matching grows with the cube."""
_MANY_ITEMS = 5000
"""With more items there are half as many, since the losses between the draws take longest."""


@dataclass(frozen=True)
class Matched:
    """A block of draws, and a good matching of them."""

    columns: IntArray
    """Which of the distinct draws."""
    mass: FloatArray
    """Their probabilities."""
    distance: FloatArray
    """The losses between them."""
    pairs: list[tuple[int, int, float]]
    """Numbers of two draws of the block, and how much of their mass is matched."""

    @property
    def value(self) -> float:
        """The part of the block in the bound."""
        return float(sum(y * self.distance[s, t] for s, t, y in self.pairs))


def triangle_bound(draws: Draws, loss: Loss, stopper: Stopper, n_jobs: int) -> float:
    """A number not above the smallest expected value of a metric loss."""
    return sum(block.value for block in match_draws(draws, loss, stopper, n_jobs))


def match_draws(draws: Draws, loss: Loss, stopper: Stopper, n_jobs: int) -> list[Matched]:
    """Match the draws in blocks. Time O(n_draws _BLOCK (n_items + _BLOCK))."""
    if all_equal(draws.draw_weights):  # draw by draw, so that all have the same mass
        columns, mass = draws.index, np.full(draws.n_draws, 1.0 / draws.n_draws)
    else:
        columns, mass = np.arange(draws.n_distinct), draws.shares
    size = _BLOCK if draws.n_items <= _MANY_ITEMS else _BLOCK // 2
    n_blocks = -(-len(columns) // size)
    # Draws of a block are far apart in the sample: neighbors in a chain are alike.
    blocks = [np.arange(first, len(columns), n_blocks) for first in range(n_blocks)]
    tasks = [partial(_match, draws, columns[block], mass[block], loss, stopper) for block in blocks]
    return run_tasks(tasks, n_jobs=n_jobs, stopper=stopper)


def _match(
    draws: Draws, columns: IntArray, mass: FloatArray, loss: Loss, stopper: Stopper
) -> Matched:
    """A good matching of the draws in a block."""
    table = draws.item_major.take(columns, axis=1)
    distance = np.zeros((len(mass), len(mass)))
    for s in range(len(mass)):
        if stopper.stopped:
            break  # rows left out count as 0, which is a valid bound on a distance
        distance[s] = loss_values(table[:, s].astype(np.int64), table, loss)
    pairs = _by_assignment(distance, mass[0]) if all_equal(mass) else _greedily(distance, mass)
    return Matched(columns, mass, distance, pairs)


def _by_assignment(distance: FloatArray, mass: float) -> list[tuple[int, int, float]]:
    """The best permutation: each draw has a successor. A cycle is cut into pairs of neighbors."""
    from scipy.optimize import linear_sum_assignment

    successor = linear_sum_assignment(distance, maximize=True)[1]
    left, pairs = np.ones(len(distance), dtype=bool), []
    for first in range(len(distance)):
        cycle = []
        at = first
        while left[at]:
            left[at] = False
            cycle.append(at)
            at = successor[at]
        steps = list(zip(cycle, cycle[1:] + cycle[:1], strict=True))
        if len(cycle) % 2:  # every step, with half of the mass of both
            pairs += [(s, t, mass / 2.0) for s, t in steps]
        elif cycle:  # every second step, with all of it: the larger of the two ways
            ways = [[(s, t, mass) for s, t in steps[begin::2]] for begin in (0, 1)]
            pairs += max(ways, key=lambda way: sum(distance[s, t] for s, t, _ in way))
    return pairs


def _greedily(distance: AnyArray, mass: FloatArray) -> list[tuple[int, int, float]]:
    """The most distant pair first, with as much mass as both have left."""
    left, pairs = mass.copy(), []
    i, j = np.triu_indices(len(mass), 1)
    for at in np.argsort(-distance[i, j], kind="stable"):
        s, t = int(i[at]), int(j[at])
        y = min(left[s], left[t])
        if y > 0:
            pairs.append((s, t, float(y)))
            left[s] -= y
            left[t] -= y
    return pairs
