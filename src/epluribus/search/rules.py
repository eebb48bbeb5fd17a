"""Constraints as a search asks about them: where a unit may go, and how any partition is made to obey.

A *unit* is a set of items that must be together, most often a single one: it moves as a whole.

Items may also stay undecided, for a price. With D the decided items, n of N, the search minimizes

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

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus._kernels import rules as kernels
from epluribus._parallel import Stopper
from epluribus._text import sentence_list
from epluribus._typing import FloatArray, IntArray
from epluribus.constraints import Constraints, components
from epluribus.draws import Draws
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import relabel, tidy
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds, State, TableState
from epluribus.settings import Settings

FAMILIES = ("vi", "binder")
"""Losses for which items may stay undecided: sums over items or pairs."""


class Rules:
    """What constraints mean for the moves of a search.

    Parameters
    ----------
    constraints : Constraints or None
        The constraints; None for none.
    n_items : int
        Number of items.
    """

    def __init__(self, constraints: Constraints | None, n_items: int) -> None:
        asked = Constraints(np.arange(n_items)) if constraints is None else constraints
        self.constraints, self.blocks, self.min_size = asked, asked.blocks, asked.min_size
        group, item = asked.membership
        graph, none = asked.graph, np.empty(0, np.int64)
        near = (none, none) if graph is None else (graph.indptr, graph.indices)
        lists = *_lists(item, n_items, group), *_lists(group, len(asked.groups), item), *near
        self.lists = tuple(one.astype(np.int64) for one in lists)
        """Groups of items, members of groups and neighbors, as in `_kernels/rules.py`."""
        self.units = _lists(self.blocks, asked.n_blocks, np.arange(n_items))
        """Where the items of each unit begin, and the items of one unit after the other."""

    def unit(self, u: int) -> IntArray:
        """The items of a unit."""
        return self.units[1][self.units[0][u] : self.units[0][u + 1]]

    def find_open(self, items: IntArray, state: State) -> tuple[bool, NDArray[np.uint8]]:
        """Whether some items of one cluster may leave it, and (n_slots,) 0 where they may go, or go back to."""
        blocked, n = np.empty(len(state.sizes), np.uint8), len(state.labels)
        work = blocked, np.zeros(n, np.uint8), np.empty(n, np.int64)
        known = state.labels, state.sizes, self.lists, self.min_size
        return bool(kernels.find_open(items, *known, *work)), blocked

    def closed(self, state: State) -> NDArray[np.bool_]:
        """(n_slots, n_slots) whether two clusters may not be joined."""
        labels, graph = state.labels, self.constraints.graph
        closed = np.full((len(state.sizes),) * 2, graph is not None)
        if graph is not None:
            i, j = (labels[items] for items in graph.nonzero())
            both = (i >= 0) & (j >= 0)
            closed[i[both], j[both]] = False
        for group in self.constraints.groups:
            slots = labels[group][labels[group] >= 0]
            closed[np.ix_(slots, slots)] = True
        return closed

    def fitted(self, labels: IntArray, rng: Generator, lead: int | None = None) -> IntArray:
        """The partition with units made whole and clusters divided until all are allowed, sizes aside.

        Items with a label of -1 stay out, with all of their unit. Where items must be apart, that of item `lead`
        stays where it is.
        """
        n, cores, graph = len(labels), self.blocks, self.constraints.graph
        while True:
            first = np.unique(cores, return_index=True)[1]
            rank = rng.permutation(len(first))
            if lead is not None:
                rank[cores[lead]] = -1
            new = labels[first][cores]
            # Of the units of a cluster that cannot be together the first in this order stays where it is, the second
            # goes to a second part of the cluster, and so on; where they are in several groups, step by step.
            far = int(new.max(initial=0)) + 1
            for _ in range(n):
                _, _, later, place = self.constraints.clashes(new, rank[cores])
                if len(later) == 0:
                    break
                part = np.zeros(len(first), dtype=np.int64)
                np.maximum.at(part, cores[later], place)
                new += far * part[cores]
            if graph is None:
                return tidy(new)
            new = components(graph, new)
            torn = np.unique(self.blocks[new != new[first][cores]])
            if len(torn) == 0 or cores is not self.blocks:
                return new
            # Once more, with units that fall apart together with items that connect them.
            cores = self._connected(torn, graph, rng)

    def _connected(self, torn: IntArray, graph: Any, rng: Generator) -> IntArray:
        """The units, some of them together with the items on random shortest paths between their items."""
        from scipy.sparse.csgraph import breadth_first_order

        cores, (group, item) = self.blocks.copy(), self.constraints.membership
        for unit in map(self.unit, torn):
            free = np.ones(len(cores), np.bool_)
            free[item[np.isin(group, group[np.isin(item, unit)])]] = False
            free[unit] = True
            order, at = rng.permutation(np.flatnonzero(free)), np.empty(len(cores), np.int64)
            at[order] = np.arange(len(order))
            before = breadth_first_order(graph[order][:, order], at[unit[0]], directed=False)[1]
            for i in unit[1:]:
                while i != unit[0]:
                    if before[at[i]] < 0:
                        raise ValueError(
                            "'must_link' puts items together that no path in 'contiguity' connects without "
                            "items that must be apart from them. Leave out one of these constraints, or add edges."
                        )
                    i = order[before[at[i]]]
                    cores[cores == cores[i]] = cores[unit[0]]
        return relabel(cores)


def _lists(keys: IntArray, n: int, values: IntArray) -> tuple[IntArray, IntArray]:
    """Where the values of each of the keys 0..n-1 begin, and the values of one key after the other."""
    first = np.append(0, np.cumsum(np.bincount(keys, minlength=n)))
    return first, values[np.argsort(keys, kind="stable")]


def nothing_obeys(settings: Settings, n_tried: int = 0) -> str:
    """The message if there is no partition that obeys, or after this many starts none was found."""
    names = [] if settings.constraints is None else list(settings.constraints.names)
    names += ["k_min"] * (settings.k_min > 1) + ["k_max"] * (settings.k_max is not None)
    asked = sentence_list([f"'{name}'" for name in names])
    if n_tried == 0:
        return f"No partition obeys {asked} together. Relax one of them."
    return (
        f"No partition was found that obeys {asked} together, from {n_tried} starts. There may be none: "
        "relax one of them."
    )


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
        change = kernels.count_decided(items, sign, p.rows, p.weights, self.steps, self.decided)
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
