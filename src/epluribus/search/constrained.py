"""One partition that obeys constraints, or that may leave items undecided: `LocalSearch` with rules.

A *unit* is a set of items that must be together, most often a single one. It moves as a whole, to a cluster that
is open to it, if its own can let it go (`constraints.py`); an undecided item is in no cluster, with a label of -1. Any
labels can be made to obey: units are made whole and clusters divided (`Rules.fitted`), then clusters are joined,
enlarged or divided until their sizes and their number are as asked for (`ConstrainedSearch.obey`). So a kick is a
change of the labels, made to obey and swept, and kept if it is better.

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

from functools import reduce

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus._kernels import rules as kernels
from epluribus._parallel import Stopper
from epluribus._typing import FloatArray, IntArray
from epluribus.constraints import Rules
from epluribus.draws import Draws
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import meet_labels, tidy
from epluribus.search.local import LocalSearch, make_state
from epluribus.search.problem import Problem
from epluribus.search.starts import Start, make_start
from epluribus.search.state import Bounds, State, TableState
from epluribus.settings import NO_BOUNDS, Settings

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


class ConstrainedSearch(LocalSearch):
    """A partition under change that obeys the rules once `obey` has returned True.

    Parameters as for `LocalSearch`; `labels` may have -1 for undecided items, and obey all rules but the bounds on
    the number and the sizes of clusters.
    """

    def __init__(
        self,
        problem: Problem,
        labels: IntArray,
        rng: Generator,
        settings: Settings,
        rules: Rules,
        start: str = "recombined",
    ) -> None:
        self.rules, self.out = rules, StayingOut(problem, labels, settings.undecided)
        self.apart = len(rules.groups) > 0
        self.decides_all = settings.undecided is None
        state = make_state(problem, labels, pairs=False)
        super().__init__(problem, labels, rng, settings, start, state)
        if not self.decides_all:
            # All items may be undecided. Sums with a high price are less exact.
            self.bounds = self.bounds._replace(k_min=settings.k_min if settings.k_min > 1 else 0)
            self.tolerance = max(problem.tolerance, 1e-14 * self.out.price)

    @property
    def labels(self) -> IntArray:
        """Canonical labels, -1 for undecided items."""
        return tidy(self.state.labels)

    def _count(self) -> float:
        labels = self.state.labels
        return self.state.total() + StayingOut(self.problem, labels, self.settings.undecided).total

    def spawn(self, labels: IntArray, rng: Generator, lead: int | None = None) -> ConstrainedSearch:
        """Another search, at other labels; it may not obey yet. See `Rules.fitted` for `lead`."""
        fitted = self.rules.fitted(labels, rng, lead)
        return ConstrainedSearch(self.problem, fitted, rng, self.settings, self.rules)

    def elsewhere(self, labels: IntArray, problem: Problem) -> LocalSearch:
        """Another search at these labels, which obey, perhaps on other draws."""
        return ConstrainedSearch(problem, labels, self.rng, self.settings, self.rules)

    def combined_with(self, rng: Generator, *others: IntArray) -> LocalSearch:
        """As `LocalSearch.combined_with`; an item that not all leave out takes part."""
        rows = np.stack([self.labels, *others])
        blocks = np.where((rows < 0).all(axis=0), -1, reduce(meet_labels, rows + 1))
        child = self.spawn(tidy(blocks), rng)
        child.merge(self.state)
        if self.settings.stopper.flag[0] or not child.obey():
            return self
        child.sweep(1)
        return child

    def members(self, slot: int) -> IntArray:
        """The items of a cluster."""
        return np.flatnonzero(self.state.labels == slot)

    # --- moves ---

    def _visit_all(self, *, quick: bool) -> int:  # noqa: ARG002
        return self._visit(np.arange(len(self.rules.first)))

    def _visit(self, units: IntArray) -> int:
        """Move each of the units to its best place, in random order; the number of moves."""
        state, rules, moves, order = self.state, self.rules, 0, self.rng.permutation(units)
        if not isinstance(state, TableState) or not self.problem.loss.linear:
            for u in order.tolist():
                moves += not self.bounds.stop[0] and self._place(rules.unit(u))
            return moves
        p, out = self.problem, self.out
        known = *state.columns, p.size_steps
        while len(order) and not self.bounds.stop[0]:
            state.make_room(1)
            done, moved, change = kernels.sweep(
                order, *rules.units, known, state.groups, p.f, p.size, p.margin, self.tolerance, *self.bounds,
                rules.lists, rules.min_size, out.price, out.steps, state.now, out.decided, state.gap, state.second,
            )  # fmt: skip
            moves, order = moves + moved, order[done:]
            self._total += change
        return moves

    def _put(self, items: IntArray, slot: int) -> None:
        """Bring the items of one cluster to a slot, or out (-1), allowed or not."""
        was = self.state.labels[items[0]] >= 0
        self._total += self.state.move(items, np.full(len(items), slot))
        if was != (slot >= 0):
            self._total += self.out.move(items, -1 if was else 1)

    def _place(self, items: IntArray, *, must: bool = False) -> bool:
        """Move the items, a unit or a cluster, to their best place; whether they have moved.

        If they `must` go, it is the best of the other places, whatever that costs.
        """
        state, before = self.state, self._total
        state.make_room(1)
        own = int(state.labels[items[0]])
        whole = own >= 0 and int(state.sizes[own]) == len(items)
        leaves, blocked = self.rules.find_open(items, state.labels, state.sizes)
        if not must and (not leaves or (whole and self.n_clusters <= self.bounds.k_min)):
            return False
        alone = own if whole else int(np.argmin(state.sizes > 0))
        if must or (not whole and self.n_clusters >= self.bounds.k_max):
            blocked[state.sizes == 0] = 1
        if len(items) == 1 and self.decides_all and not must:  # the same, quicker
            k_max = self.n_clusters + (not blocked[alone])
            swept = state.sweep(items, self.bounds._replace(k_max=k_max), blocked)
            self._total += swept.change
            return swept.n_moves > 0
        # As a cluster by themselves they are joined with each other one.
        blocked[alone] = must or (not whole and blocked[alone])
        if must and own >= 0:
            blocked[own] = 1
        self._put(items, alone)
        value, row = self._total, state.join_row(alone)
        row[alone] = 0.0
        row[blocked > 0] = np.inf
        best, low = int(row.argmin()), value + float(row.min())
        if not self.decides_all:
            self._put(items, -1)
            best, low = (-1, self._total) if self._total < low else (best, low)
        self._put(items, best if low < np.inf else own)
        if low < np.inf and (must or self._total < before - 8 * self.tolerance):
            return True
        self._put(items, own)
        self._total = before
        return False

    def merge(self, like: State | None = None) -> bool:
        """Join clusters, or leave them undecided, while that helps or there are too many; whether any were."""
        k = self.n_clusters
        self._total += self.state.merge(self.bounds, like, self._closed)
        if not self.decides_all:
            for a in np.flatnonzero(self.state.sizes).tolist():
                if self.state.sizes[a] > 0 and not self.bounds.stop[0]:
                    self._place(self.members(a))
        self._suit()
        return self.n_clusters < k

    def _closed(self) -> NDArray[np.bool_]:
        return self.rules.closed(self.state.labels, len(self.state.sizes))

    # --- made to obey ---

    def obey(self) -> bool:
        """Join or divide clusters until their sizes and their number are as asked for; whether they are."""
        rules, state = self.rules, self.state
        if self.n_clusters > self.bounds.k_max:
            self._total += state.merge(self.bounds, None, self._closed)
        while self.n_clusters > 0:
            a = int(np.where(state.sizes > 0, state.sizes, self.problem.n_items + 1).argmin())
            small = state.sizes[a] < rules.min_size
            if not small and self.n_clusters <= self.bounds.k_max:
                break
            # It is enlarged by a unit, or joined with another one, or its units go one by one. Kicks find other
            # partitions if it is now one of these and now another.
            if small and self.rng.integers(2) and self._enlarge(a):
                continue
            items = self.members(a)
            if self._place(items, must=True) or (small and self._enlarge(a)):
                continue
            if not all(
                self._place(rules.unit(u), must=True) for u in np.unique(rules.blocks[items])
            ):
                return False
        while self.n_clusters < self.bounds.k_min:
            if not self._divide():
                return False
        within = self.bounds.k_min <= self.n_clusters <= self.bounds.k_max
        return within and rules.allow(self.labels)

    def _enlarge(self, a: int) -> bool:
        """Bring a unit of another cluster into this one; whether there was one."""
        for unit in map(self.rules.unit, self.rng.permutation(len(self.rules.first))):
            leaves, blocked = self.rules.find_open(unit, self.state.labels, self.state.sizes)
            if leaves and not blocked[a] and self.state.labels[unit[0]] not in (a, -1):
                self._put(unit, a)
                return True
        return False

    def _divide(self) -> bool:
        """Take a part of a cluster out of it so that both are allowed; whether there was one."""
        state, rules = self.state, self.rules
        state.make_room(1)
        new = int(np.argmin(state.sizes > 0))
        for part in map(rules.unit, self.rng.permutation(len(rules.first))):
            own = int(state.labels[part[0]])
            while own >= 0 and len(part) < state.sizes[own]:
                leaves, blocked = rules.find_open(part, state.labels, state.sizes)
                if leaves and not blocked[new]:
                    self._put(part, new)
                    return True
                left = np.setdiff1d(self.members(own), part)
                if rules.graph is not None:
                    left = np.intersect1d(left, rules.graph[part].indices)
                if len(left) == 0:
                    break
                part = np.append(part, rules.unit(rules.blocks[self.rng.choice(left)]))
        return False

    # --- several units at a time ---

    def nudge(self) -> bool:
        """No items are pushed, as others may not be allowed to follow."""
        return False

    def attempt(
        self, items: IntArray, parts: IntArray | None = None, target: int | None = None
    ) -> float:
        """As `LocalSearch.attempt`, as far as it is allowed; or all stay out, and may come back one by one."""
        labels, out = self.state.labels.copy(), not self.decides_all and self.rng.integers(3) == 0
        new = len(self.state.sizes) if target is None else target
        labels[items] = -1 if out else new + (0 if parts is None else parts)
        return np.inf if len(items) == 0 else self._go_to(labels, int(items[0]))

    def _go_to(self, labels: IntArray, lead: int) -> float:
        """Go to these labels, made to obey; sweep the clusters that have changed; keep what is better."""
        child = self.spawn(labels, self.rng, lead)
        if not child.obey():
            return np.inf
        # An item's cluster is as it was if it has as many items before, after, and both before and after.
        now, before = child.labels + 1, self.labels + 1
        n, *others = (np.bincount(one)[one] for one in (meet_labels(now, before), now, before))
        units = np.unique(self.rules.blocks[(n < others[0]) | (n < others[1])])
        while len(units) and child._visit(units) and not self.settings.stopper.stopped:
            pass
        change = child._total - self._total
        if change < -8 * self.tolerance:
            self.state, self.out, self._total = child.state, child.out, child._total
            self.sweep()
        return change


def begin(problem: Problem, start: Start, rng: Generator, settings: Settings) -> LocalSearch:
    """A search at a start; with rules, at one that was made to obey."""
    if settings.free:
        labels = make_start(start, problem, rng, settings)
        return LocalSearch(problem, labels, rng, settings, start.name)
    rules = settings.constraints or Rules(np.arange(problem.n_items))
    for number in range(60):
        # A start that cannot be made to obey is followed by draws, and by all items apart.
        now = start if number == 0 else Start("draws")
        if number % 4 == 3:
            now = Start("apart", np.arange(problem.n_items))
        labels = rules.fitted(make_start(now, problem, rng, NO_BOUNDS), rng)
        search = ConstrainedSearch(problem, labels, rng, settings, rules, start.name)
        if search.obey():
            return search
        settings.stopper.check()
    raise ValueError(settings.nothing_obeys(60))
