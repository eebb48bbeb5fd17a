"""One partition that obeys constraints, or that may leave items undecided: `LocalSearch` with rules.

A *unit* is a set of items that must be together, most often a single one (`rules.py`). It moves as a whole, to a
cluster that may take it, if its own can let it go; an undecided item is in no cluster, with a label of -1. Kicks
have two more kinds: a unit goes where it is not allowed to go, and what is in its way makes room; and a unit
changes places with another one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._parallel import Stopper
from epluribus._typing import FloatArray, IntArray
from epluribus.estimate import Step
from epluribus.partition import meet_labels, tidy
from epluribus.search.local import LocalSearch
from epluribus.search.members import MemberState, members_pay
from epluribus.search.problem import Problem
from epluribus.search.ratio import RatioState
from epluribus.search.rules import Rules, nothing_obeys
from epluribus.search.starts import Start, make_start
from epluribus.search.state import Bounds, State, TableState
from epluribus.search.staying_out import StayingOut
from epluribus.settings import NO_BOUNDS, Settings

_TRIES = 60
"""Starts that may fail to be made to obey before the search gives up."""
_DOUBTFUL = 10
"""Clusters of more items than this are not left undecided as a whole."""


class LawfulSearch(LocalSearch):
    """A partition under change that obeys the rules; parameters as for `LocalSearch`."""

    def __init__(
        self,
        problem: Problem,
        labels: IntArray,
        rng: np.random.Generator,
        settings: Settings,
        start: str = "recombined",
    ) -> None:
        self.rules = Rules(settings.constraints, problem.n_items)
        labels = self.rules.fitted(labels, rng)
        self.out: StayingOut | None = None
        if settings.undecided is not None:
            self.out = StayingOut(problem, settings.undecided)
            self.out.drop(np.flatnonzero(labels < 0))
        super().__init__(problem, labels, rng, settings, start, _state(problem, labels))
        if self.out is not None and settings.k_min == 1:  # all items may be undecided
            self.bounds = self.bounds._replace(k_min=0)
        if self.out is not None:  # sums to which a high price is added are less exact
            self.tolerance = max(problem.tolerance, 1e-14 * self.out.price)

    @property
    def labels(self) -> IntArray:
        """Canonical labels, -1 for undecided items."""
        return tidy(self.state.labels)

    def _count(self) -> float:
        total = self.state.total()
        if self.out is not None:
            total += self.out.correction(int(np.count_nonzero(self.state.labels < 0)))
        return total

    @property
    def lawful(self) -> bool:
        """Whether the partition obeys all constraints and bounds."""
        within = self.bounds.k_min <= self.n_clusters <= self.bounds.k_max
        return within and not self.rules.constraints.broken(self.labels)

    # --- single units ---

    def sweep(self, most: int | None = None, *, thorough: bool = True) -> bool:  # noqa: ARG002
        """Visit all units until no move of one helps, or `most` times; whether none helps."""
        every = np.arange(len(self.rules.units))
        self.converged, done = False, 0
        while not self.converged and done != most and not self.settings.stopper.stopped:
            self.converged = self._visit(every) == 0 and not self.settings.stopper.flag[0]
            if len(self.state.sizes) > 2 * self.n_clusters + 16:
                self.state.compact()
            self.trace.append(Step(self.value, self.n_clusters))
            done += 1
        return self.converged

    def _visit(self, units: IntArray) -> int:
        """Move each of the units to its best place, in random order; the number of moves."""
        n_moves = 0
        for unit in self.rng.permutation(units).tolist():
            if self.settings.stopper.flag[0]:
                break
            items = self.rules.units[unit]
            if self._may_leave(items):
                single = len(items) == 1 and self.out is None
                n_moves += self._move_item(items) if single else self._move_unit(items)
        return n_moves

    def _may_leave(self, items: IntArray) -> bool:
        own = int(self.state.labels[items[0]])
        size = 0 if own < 0 else int(self.state.sizes[own])
        if size == len(items) and self.n_clusters <= self.bounds.k_min:
            return False
        return own < 0 or self.rules.may_leave(self.state.labels, items, size)

    def _room(self, items: IntArray) -> int:
        """The largest number of clusters where the items go, so that they open one only if they may."""
        alone = len(items) >= self.rules.min_size and not self.rules.falls_apart(items)
        return self.bounds.k_max if alone else min(self.bounds.k_max, self.n_clusters)

    def _move_item(self, items: IntArray) -> bool:
        state, bounds = self.state, self.bounds
        state.make_room(1)
        blocked = self.rules.blocked(state.labels, items, len(state.sizes))
        own = Bounds(bounds.k_min, self._room(items), bounds.stop)
        swept = state.sweep(items, own, blocked)
        self._total += swept.change
        return swept.n_moves > 0

    def _move_unit(self, items: IntArray) -> bool:
        """Try all places of several items, or of one that may stay out."""
        state, before = self.state, self._total
        state.make_room(1)
        own, size = int(state.labels[items[0]]), 0
        if own >= 0:
            size = int(state.sizes[own])
        blocked = self.rules.blocked(state.labels, items, len(state.sizes))
        places = np.flatnonzero((blocked == 0) & (state.sizes > 0)).tolist()
        # A unit that is a cluster by itself does not open a new one.
        if size != len(items) and self.n_clusters < self._room(items):
            places.append(int(np.argmin(state.sizes > 0)))
        if self.out is not None and len(places) > 2 and len(items) == 1:
            places = self._best_place(items, blocked)
        if self.out is not None:
            places.append(-1)
        best, low = own, before - 8 * self.tolerance
        for place in places:
            if place != own:
                self._put(items, place)
                if self._total < low:
                    best, low = place, self._total
        self._put(items, best)
        if best == own:
            self._total = before
        return best != own

    def _best_place(self, items: IntArray, blocked: Any) -> list[int]:
        """The best cluster for one item, found from outside."""
        room = self._room(items)
        self._put(items, -1)
        self.state.sweep(items, Bounds(0, room, Stopper().flag), blocked)
        place = int(self.state.labels[items[0]])
        if place >= 0:
            self.state.move(items, np.array([-1]))
        return [place] if place >= 0 else []

    def _put(self, items: IntArray, slot: int) -> None:
        """Bring the items to a slot, or out (-1), allowed or not."""
        was = self.state.labels[items] >= 0
        self._total += self.state.move(items, np.full(len(items), slot))
        if self.out is not None and slot < 0:
            self._total += self.out.drop(items[was])
        elif self.out is not None:
            self._total += self.out.take(items[~was])

    # --- clusters ---

    def members(self, slot: int) -> IntArray:
        """The items of a cluster."""
        return np.flatnonzero(self.state.labels == slot)

    def _join_row(self, a: int, changes: FloatArray | None) -> FloatArray:
        """(n_slots,) change if cluster a is joined with each other one; infinite if that is not allowed."""
        state = self.state
        row = state.join_row(a) if changes is None else changes[a].copy()
        if row.min() < np.inf:
            blocked = self.rules.blocked(state.labels, self.members(a), len(state.sizes))
            row[blocked[: len(row)] > 0] = np.inf
        row[a] = np.inf
        return row

    def merge(self, like: State | None = None) -> bool:  # noqa: ARG002
        """Join the best allowed pair while that lowers the loss, or there are too many; whether any were.

        What a join changes is looked at again before it is made: it may have been computed some joins ago.
        """
        state, linear, k = self.state, self.problem.loss.linear, self.n_clusters
        least: FloatArray = np.where(state.sizes > 0, -np.inf, np.inf)
        partner = np.zeros(len(least), dtype=np.int64)
        changes = None if linear else state.join_changes()
        while self.n_clusters > max(self.bounds.k_min, 1) and not self.bounds.stop[0]:
            a, tolerance = int(least.argmin()), self.tolerance
            wanted = least[a] < -tolerance or self.n_clusters > self.bounds.k_max
            if least[a] == np.inf or not wanted:
                break
            row = self._join_row(a, changes)
            known, least[a], partner[a] = least[a], row.min(), row.argmin()
            if least[a] > known + tolerance or not np.isfinite(least[a]):
                continue
            b = int(partner[a])
            self._put(self.members(b), a)
            least[b], least[a] = np.inf, -np.inf
            least[(partner == b) & (least < np.inf)] = -np.inf
            if not linear:
                changes = state.join_changes()
                least[state.sizes[: len(least)] > 0] = -np.inf
        return self.n_clusters < k or self._give_up()

    def _give_up(self) -> bool:
        """Leave whole clusters undecided where that is better; whether any were."""
        before = self._total
        for a in np.flatnonzero(self.state.sizes) if self.out is not None else ():
            items, known = self.members(int(a)), self._total
            if len(items) <= _DOUBTFUL and self.n_clusters > self.bounds.k_min:
                self._put(items, -1)
                if self._total > known - 8 * self.tolerance:
                    self._put(items, int(a))
                    self._total = known
        return self._total < before

    def obey(self) -> bool:
        """Join or divide clusters until their sizes and their number are as asked for; whether they are."""
        for _ in range(4 * len(self.state.labels)):
            small = np.flatnonzero(
                (self.state.sizes > 0) & (self.state.sizes < self.rules.min_size)
            )
            if len(small) == 0:
                break
            a = int(small[np.argmin(self.state.sizes[small])])
            if not self._grow(a):
                if self.out is None:
                    return False
                self._put(self.members(a), -1)
        if self.n_clusters > self.bounds.k_max:
            stop, self.bounds = self.bounds, self.bounds._replace(stop=Stopper().flag)
            self.merge()
            self.bounds = stop
            while self.out is not None and self.n_clusters > self.bounds.k_max:
                sizes = np.where(self.state.sizes > 0, self.state.sizes, self.problem.n_items + 1)
                self._put(self.members(int(sizes.argmin())), -1)
        while self.n_clusters < self.bounds.k_min:
            if not self._divide():
                return False
        return self.lawful

    def _grow(self, a: int) -> bool:
        """Join a small cluster with another one, or fill it up from others, or let its units go elsewhere."""
        state, rules = self.state, self.rules
        changes = None if self.problem.loss.linear else state.join_changes()
        row = self._join_row(a, changes)
        if np.isfinite(row.min()):
            self._put(self.members(a), int(row.argmin()))
            return True
        mine = self.members(a)
        for unit in self.rng.permutation(len(rules.units)).tolist():
            items = rules.units[unit]
            elsewhere = state.labels[items[0]] not in (a, -1) and self._may_leave(items)
            if elsewhere and rules.blocked(state.labels, items, len(state.sizes))[a] == 0:
                self._put(items, a)
                return True
        for unit in np.unique(rules.blocks[mine]).tolist():
            items = rules.units[unit]
            blocked = rules.blocked(state.labels, items, len(state.sizes))
            found = np.flatnonzero((blocked == 0) & (state.sizes > 0))
            found = found[found != a]
            if len(found) == 0:
                return False
            self._put(items, int(self.rng.choice(found)))
        return True

    def _divide(self) -> bool:
        """Take a part of a cluster out of it, so that both are allowed."""
        state, rules, low = self.state, self.rules, self.rules.min_size
        for start in self.rng.permutation(len(rules.units)).tolist():
            part = rules.units[start]
            own = int(state.labels[part[0]])
            whole = self.members(own)
            if own < 0 or len(whole) < 2 * low:
                continue
            while len(part) < low or not rules.may_leave(state.labels, part, len(whole)):
                left = np.setdiff1d(whole, part)
                if rules.graph is not None:
                    left = np.intersect1d(left, rules.near(part))
                if len(left) == 0:
                    break
                part = np.concatenate([part, rules.units[rules.blocks[self.rng.choice(left)]]])
            # It has grown from neighbor to neighbor; whether all of it is connected is looked at in the end.
            fits = low <= len(part) <= len(whole) - low
            if fits and rules.may_leave(state.labels, part, len(whole)):
                state.make_room(1)
                self._put(part, int(np.argmin(state.sizes > 0)))
                return True
        return False

    # --- several items at a time ---

    def kick(self) -> float:
        """Try one of several changes at random; the change of the total loss, undone unless negative."""
        kind = int(self.rng.integers(3 if self.settings.constraints is None else 5))
        if kind < 3 and self.out is None:
            return super().kick()
        labels, problem, rng = self.state.labels.copy(), self.problem, self.rng
        i = int(rng.integers(problem.n_items))
        column = problem.table[
            :, rng.choice(problem.n_draws, p=problem.weights / problem.total_weight)
        ]
        group = np.flatnonzero(column == column[i])
        new = len(self.state.sizes)
        if kind < 3:
            if kind == 0:
                group = group[labels[group] == labels[i]]
            elif kind == 1:
                group = self.rules.units[self.rules.blocks[i]]
            # They become a cluster, or all of them stay out and may come back one by one.
            labels[group] = -1 if rng.integers(3) == 0 else new
            return self._attempt(labels)
        unit, other = self.rules.units[self.rules.blocks[i]], int(rng.choice(group))
        there, here = labels[other], labels[i]
        if there < 0 or there == here:
            return np.inf
        labels[unit] = there
        if kind == 3:  # what is in its way leaves
            clash = np.setdiff1d(self.rules.clashing(unit), unit)
            clash = clash[labels[clash] == there]
            labels[clash] = new + self.rules.blocks[clash]
        else:  # they change places
            inside = np.flatnonzero(labels == there)
            labels[self.rules.units[self.rules.blocks[rng.choice(inside)]]] = here
        return self._attempt(labels)

    def make_cluster(self, items: IntArray) -> float:
        """Make a cluster of the items, as far as it is allowed, sweep, and keep the result if it is better."""
        labels = self.state.labels.copy()
        labels[items] = len(self.state.sizes)
        return np.inf if len(items) == 0 else self._attempt(labels)

    def _attempt(self, labels: IntArray) -> float:
        """Go to these labels, made lawful; sweep the clusters that have changed; keep what is better."""
        state, before, total = self.state, self.state.labels.copy(), self._total
        counts = None if self.out is None else self.out.counts.copy()
        renamed, change = state.renamed, np.inf
        self._go_to(self.rules.fitted(tidy(labels), self.rng))
        if self.obey():
            # Items of all clusters that have gained or lost some.
            moved = state.labels != before
            touched = np.isin(before, before[moved]) | np.isin(state.labels, state.labels[moved])
            units = np.unique(self.rules.blocks[touched])
            while len(units) and self._visit(units) and not self.settings.stopper.stopped:
                pass
            change = self._total - total
        if change < -8 * self.tolerance:
            self.sweep()
            return change
        if state.renamed == renamed:
            moved = np.flatnonzero(state.labels != before)
            state.move(moved, before[moved])
        else:
            self.state = _state(self.problem, before)
        if self.out is not None and counts is not None:
            self.out.counts = counts
        self._total = total
        return change

    def _go_to(self, labels: IntArray) -> None:
        """Move items until the partition is that of canonical labels, -1 for undecided items.

        A cluster takes the slot that most of its items are in, if no other has taken it.
        """
        state, k = self.state, int(labels.max(initial=-1)) + 1
        both = (labels >= 0) & (state.labels >= 0)
        width = len(state.sizes)
        cells, n = np.unique(labels[both] * width + state.labels[both], return_counts=True)
        slot, taken = np.full(k + 1, -1), np.zeros(width, dtype=np.bool_)
        for cell in cells[np.argsort(-n, kind="stable")].tolist():
            cluster, own = divmod(cell, width)
            if slot[cluster] < 0 and not taken[own]:
                slot[cluster], taken[own] = own, True
        left = np.flatnonzero(slot[:k] < 0)
        state.make_room(k + 1)
        free = np.flatnonzero(~np.append(taken, np.zeros(len(state.sizes) - width, dtype=np.bool_)))
        slot[left] = free[: len(left)]
        targets = slot[labels]
        for place in np.unique(targets[targets != state.labels]).tolist():
            self._put(np.flatnonzero((targets == place) & (state.labels != place)), int(place))

    def spawn(self, labels: IntArray, rng: np.random.Generator) -> LawfulSearch:
        """Another search, at other labels; it may not obey yet."""
        return LawfulSearch(self.problem, labels, rng, self.settings)

    def blocks_with(self, other: LocalSearch) -> IntArray:
        """The blocks on which both agree; an item that only one of them leaves out takes part."""
        a, b = self.labels, other.labels
        blocks = meet_labels(a + 1, b + 1)
        blocks[(a < 0) & (b < 0)] = -1
        return tidy(blocks)


def _state(problem: Problem, labels: IntArray) -> State:
    if not problem.loss.linear:
        return RatioState(problem, labels)
    if members_pay(problem, int(labels.max(initial=0)) + 1):
        return MemberState(problem, labels)
    return TableState(problem, labels)


def begin(
    problem: Problem, start: Start, rng: np.random.Generator, settings: Settings
) -> LocalSearch:
    """A search at a start; with rules, at one that was made to obey."""
    if settings.free:
        labels = make_start(start, problem, rng, settings)
        return LocalSearch(problem, labels, rng, settings, start.name)
    for number in range(_TRIES):
        # A start that cannot be made to obey is followed by draws, and by all items apart.
        now = start if number == 0 else Start("draws")
        if number % 4 == 3:
            now = Start("apart", np.arange(problem.n_items))
        labels = make_start(now, problem, rng, NO_BOUNDS)
        search = LawfulSearch(problem, labels, rng, settings, start.name)
        if search.obey():
            return search
        settings.stopper.check()
    raise ValueError(nothing_obeys(settings, _TRIES))
