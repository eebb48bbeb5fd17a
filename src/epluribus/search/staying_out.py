"""Items that stay undecided, for a price: what the expected loss of the others is without them.

With D the decided items, n of N, the search minimizes

    VI:      (n / N) E[ VI(a, z) on D ]  +  cost (N - n) / N       cost in bits for an item
    Binder:  E[ Binder(a, z) on D ]      +  cost (N - n)           cost in pairs for an item

that is, the loss of the decided items in the units of all N, and a price for each of the others. In these
units leaving an item out never raises the loss of the others: N VI is the sum over the items of
log2(n_g / n_gh) + log2(n_h / n_gh), and Binder's loss a sum over pairs, and the sums over the items that stay
do not grow when one goes. So an item is left out if and only if it adds more than the cost, and with a higher
cost the best answer leaves out no more items than before.

A state leaves an undecided item out of its counts. Only the sums over the groups of the draws, which no search
changes otherwise, are kept here.
"""

from __future__ import annotations

import numpy as np

from epluribus._kernels.rules import count_decided
from epluribus._parallel import Stopper
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds, TableState

FAMILIES = ("vi", "binder")
"""Losses for which items may stay undecided: sums over items or pairs."""


def price_of(loss: Loss, cost: float, n_items: int) -> float:
    """What an undecided item adds to the expected loss of all items."""
    return cost / n_items if loss.family == "vi" else cost


class StayingOut:
    """What changes if items are left out, in units of the total loss: times the total weight.

    Parameters
    ----------
    problem : Problem
        The expected loss, without missing labels; of a family in `FAMILIES`, unless the cost is None.
    labels : ndarray of shape (n_items,)
        The partition; -1 for undecided items.
    cost : float or None
        Cost of an undecided item, as in `minimize`; None if all items must be placed.

    Attributes
    ----------
    price : float
        What an undecided item adds.
    total : float
        What is added to the total loss of the decided items by those that `labels` leaves out.
    """

    def __init__(self, problem: Problem, labels: IntArray, cost: float | None) -> None:
        self.problem, self.price, self.total, n = problem, np.inf, 0.0, problem.n_items
        self.steps, self.decided = np.zeros(n), np.zeros(problem.n_groups, dtype=np.int64)
        if cost is None:
            return
        self.price = price_of(problem.loss, cost, n) * problem.total_weight
        self.steps = np.diff(problem.loss.linear_form(n).group * problem.loss.tables(n)[2])
        self.decided = problem.group_sizes.copy()
        self.total = self.move(np.flatnonzero(labels < 0), -1)

    def move(self, items: IntArray, sign: int) -> float:
        """The items come back (1) or leave (-1): the change of the total loss, with their price."""
        p = self.problem
        change = count_decided(items, sign, p.rows, p.weights, self.steps, self.decided)
        return float(change) - sign * len(items) * self.price


def added_by_each(problem: Problem, labels: IntArray, items: IntArray) -> FloatArray:
    """(len(items),) what each of the items adds to the total loss in its cluster, or would add in the best one.

    Items with a label of -1 are out; each of them is placed where it costs least.
    """
    state, out = TableState(problem, labels), StayingOut(problem, labels, 0.0)
    added = np.empty(len(items))
    for q, one in enumerate(items[:, None]):
        own = state.labels[one].copy()
        if own[0] < 0:
            state.make_room(1)
            state.sweep(one, Bounds(1, problem.n_items, Stopper().flag))
            out.move(one, 1)
        added[q] = -state.move(one, np.array([-1])) - out.move(one, -1)
        if own[0] >= 0:
            state.move(one, own)
            out.move(one, 1)
    return added


def loss_of_decided(labels: IntArray, draws: Draws, loss: Loss) -> float:
    """Expected loss of the decided items alone, with the draws restricted to them; 0 if there are none."""
    inside = np.flatnonzero(labels >= 0)
    if len(inside) == 0:
        return 0.0
    # A draw restricted to some items may skip labels: they need not be canonical here.
    table = np.ascontiguousarray(draws.store.rows(inside))
    return draws.mean(loss_values(labels[inside], table, loss))
