"""One partition that obeys constraints, or that may leave items undecided: `LocalSearch` with rules.

A *unit* is a set of items that must be together, most often a single one (`rules.py`). It moves as a whole, to a
cluster that may take it, if its own can let it go; an undecided item is in no cluster, with a label of -1. Kicks
have two more kinds: a unit goes where it is not allowed to go, and what is in its way makes room; and a unit
changes places with another one. Where items may stay undecided, a group becomes a cluster, or stays out, more often.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from epluribus._kernels import rules as kernels
from epluribus._typing import IntArray
from epluribus.estimate import Step
from epluribus.partition import meet_labels, tidy
from epluribus.search.local import LocalSearch, make_state
from epluribus.search.problem import Problem
from epluribus.search.rules import Rules, nothing_obeys
from epluribus.search.starts import Start, make_start
from epluribus.search.state import State, TableState
from epluribus.search.staying_out import StayingOut
from epluribus.settings import NO_BOUNDS, Settings

_TRIES = 60
"""Starts that may fail to be made to obey before the search gives up."""


class LawfulSearch(LocalSearch):
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
        self.decides_all = settings.undecided is None
        # Rules are kept by sweeps on tables, and by moves in the other states.
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
        return self.state.total() + self.out.total(int(np.count_nonzero(self.state.labels < 0)))

    def spawn(self, labels: IntArray, rng: Generator, lead: int | None = None) -> LawfulSearch:
        """Another search, at other labels; it may not obey yet. See `Rules.fitted` for `lead`."""
        fitted = self.rules.fitted(labels, rng, lead)
        return LawfulSearch(self.problem, fitted, rng, self.settings, self.rules)

    def blocks_with(self, other: LocalSearch) -> IntArray:
        """The blocks on which both agree; an item that only one of them leaves out takes part."""
        a, b = self.labels, other.labels
        return tidy(np.where((a < 0) & (b < 0), -1, meet_labels(a + 1, b + 1)))

    # --- moves ---

    def sweep(self, most: int | None = None, *, thorough: bool = False) -> bool:  # noqa: ARG002
        """Visit all units until no move of one helps, or `most` times; whether none helps."""
        every, self.converged, done = np.arange(len(self.rules.units[0]) - 1), False, 0
        while not self.converged and done != most and not self.settings.stopper.stopped:
            self.converged = self._visit(every) == 0 and not self.bounds.stop[0]
            self.trace.append(Step(self.value, self.n_clusters))
            self._suit()
            done += 1
        return self.converged

    def _visit(self, units: IntArray) -> int:
        """Move each of the units to its best place, in random order; the number of moves."""
        state, p, moves, order = self.state, self.problem, 0, self.rng.permutation(units)
        if not isinstance(state, TableState):
            for unit in order.tolist():
                if not self.bounds.stop[0]:
                    moves += self._place(self.rules.unit(unit))
            return moves
        while len(order) and not self.bounds.stop[0]:
            state.make_room(1)
            n, k = len(state.labels), len(state.sizes)
            done, moved, change = kernels.sweep(
                order, *self.rules.units, p.rows, p.group_weights, p.kinds, p.steps, p.size_steps, p.size,
                p.margin, self.tolerance, *self.bounds, self.rules.lists, self.rules.min_size, self.out.price,
                self.out.steps, state.labels, state.sizes, state.counts, state.gains, self.out.decided,
                np.empty(k), np.empty(k, np.float32), np.empty(k, np.uint8),
                np.zeros(n, np.uint8), np.empty(n, np.int64),
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

    def _place(
        self, items: IntArray, *, must: bool = False, out: bool = True, joins: Any = None
    ) -> bool:
        """Move the items, a unit or a cluster, to their best place, perhaps `out`; whether they have moved.

        If they `must` go, it is the best of the other places, whatever that costs. `joins` are changes if slots are
        joined, perhaps of some joins ago.
        """
        state, before = self.state, self._total
        state.make_room(1)
        own = int(state.labels[items[0]])
        whole = own >= 0 and int(state.sizes[own]) == len(items)
        leaves, places = self.rules.find_open(items, state)
        if not must and (not leaves or (whole and self.n_clusters <= self.bounds.k_min)):
            return False
        room = places[state.sizes == 0].any() and self.n_clusters < self.bounds.k_max
        if len(items) == 1 and self.decides_all and not must:  # the same, quicker
            bounds = self.bounds._replace(k_max=self.n_clusters + int(room))
            swept = state.sweep(items, bounds, (~places).view(np.uint8))
            self._total += swept.change
            return swept.n_moves > 0
        # As a cluster by themselves they are joined with each other one.
        alone = own if whole else int(np.argmin(state.sizes > 0))
        places &= state.sizes > 0
        places[[alone, own] if must and own >= 0 else [alone]] = False
        self._put(items, alone)
        value, row = self._total, np.full(len(places), np.inf)
        if self.problem.loss.linear:
            row = state.join_row(alone)
        elif joins is not None:
            row[: len(joins)] = joins[alone]
        else:
            for s in np.flatnonzero(places).tolist():
                self._put(items, s)
                row[s] = self._total - value
        row = np.where(places, row, np.inf)
        row[alone] = 0.0 if (whole or room) and not must else np.inf
        best, low = int(row.argmin()), value + float(row.min())
        if out and not self.decides_all:
            self._put(items, -1)
            best, low = (-1, self._total) if self._total < low else (best, low)
        self._put(items, best if low < np.inf else own)
        if low < np.inf and (must or self._total < before - 8 * self.tolerance):
            return True
        self._put(items, own)
        self._total = before
        return False

    def members(self, slot: int) -> IntArray:
        """The items of a cluster."""
        return np.flatnonzero(self.state.labels == slot)

    def merge(self, like: State | None = None) -> bool:  # noqa: ARG002
        """Join clusters, or leave them undecided, while that helps or there are too many; whether any were."""
        k = self.n_clusters
        for out in (False, True):
            while self._join_each(out=out):
                pass
        self._suit()
        return self.n_clusters < k

    def _join_each(self, *, out: bool) -> bool:
        """Join each cluster, the largest first, with its best partner if that helps; whether any were."""
        state, moved = self.state, False
        joins = None if self.problem.loss.linear else state.join_changes()
        for a in np.argsort(-state.sizes, kind="stable")[: self.n_clusters].tolist():
            if state.sizes[a] > 0 and not self.bounds.stop[0]:
                must = self.n_clusters > self.bounds.k_max
                moved |= self._place(self.members(a), must=must, out=out, joins=joins)
        return moved

    def obey(self) -> bool:
        """Join or divide clusters until their sizes and their number are as asked for; whether they are."""
        for _ in range(len(self.state.labels)):
            sizes = np.where(self.state.sizes > 0, self.state.sizes, self.problem.n_items + 1)
            enough = self.n_clusters <= self.bounds.k_max and sizes.min() >= self.rules.min_size
            if enough or self.n_clusters == 0:
                break
            if not self._remove(int(sizes.argmin())):
                return False
        while self.n_clusters < self.bounds.k_min:
            if not self._divide():
                return False
        within = self.bounds.k_min <= self.n_clusters <= self.bounds.k_max
        return within and not self.rules.constraints.broken(self.labels)

    def _remove(self, a: int) -> bool:
        """Join a small cluster with another one, or enlarge it by a unit, or place its units one by one."""
        state, rules, items = self.state, self.rules, self.members(a)
        if self._place(items, must=True, out=False):
            return True
        for unit in map(rules.unit, self.rng.permutation(len(rules.units[0]) - 1)):
            leaves, places = rules.find_open(unit, state)
            if leaves and places[a] and state.labels[unit[0]] not in (a, -1):
                self._put(unit, a)
                return True
        return all(self._place(rules.unit(u), must=True) for u in np.unique(rules.blocks[items]))

    def _divide(self) -> bool:
        """Take a part of a cluster out of it so that both are allowed; whether there was one."""
        state, rules = self.state, self.rules
        state.make_room(1)
        new = int(np.argmin(state.sizes > 0))
        for start in self.rng.permutation(len(rules.units[0]) - 1).tolist():
            part, own = rules.unit(start), int(state.labels[rules.unit(start)[0]])
            while own >= 0 and len(part) < state.sizes[own]:
                leaves, places = rules.find_open(part, state)
                if leaves and places[new]:
                    self._put(part, new)
                    return True
                left = np.setdiff1d(self.members(own), part)
                if rules.constraints.graph is not None:
                    left = np.intersect1d(left, rules.constraints.graph[part].indices)
                if len(left) == 0:
                    break
                part = np.append(part, rules.unit(rules.blocks[self.rng.choice(left)]))
        return False

    # --- several units at a time ---

    def kick(self) -> float:
        """As `LocalSearch.kick`; or a unit goes where it may not be, or changes places with another one."""
        rng, blocks, labels = self.rng, self.rules.blocks, self.state.labels.copy()
        kind, i = int(rng.integers(5)), int(rng.integers(len(labels)))
        if kind > 1:
            return super().kick()
        draw, here = self.problem.random_draw(rng), labels[i]
        if not self.decides_all:
            return self.attempt(np.flatnonzero(draw == draw[i]))
        mates = np.flatnonzero((draw == draw[i]) & (labels != here))
        if len(mates) == 0:
            return np.inf
        there = labels[rng.choice(mates)]
        if kind == 0:
            # It changes places with one of that cluster, or with one that a draw has together with one of its own.
            group = draw == draw[rng.choice(np.flatnonzero(labels == here))]
            others = np.flatnonzero((labels == there) | (group & (labels != here)))
            labels[blocks == blocks[rng.choice(others)]] = here
        labels[blocks == blocks[i]] = there
        return self._go_to(labels, i)

    def attempt(self, items: IntArray, parts: IntArray | None = None) -> float:
        """As `LocalSearch.attempt`, as far as it is allowed; or all stay out, and may come back one by one."""
        labels, out = self.state.labels.copy(), not self.decides_all and self.rng.integers(3) == 0
        labels[items] = -1 if out else len(self.state.sizes) + (0 if parts is None else parts)
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
    rules = Rules(settings.constraints, problem.n_items)
    for number in range(_TRIES):
        # A start that cannot be made to obey is followed by draws, and by all items apart.
        now = start if number == 0 else Start("draws")
        if number % 4 == 3:
            now = Start("apart", np.arange(problem.n_items))
        labels = rules.fitted(make_start(now, problem, rng, NO_BOUNDS), rng)
        search = LawfulSearch(problem, labels, rng, settings, rules, start.name)
        if search.obey():
            return search
        settings.stopper.check()
    raise ValueError(nothing_obeys(settings, _TRIES))
