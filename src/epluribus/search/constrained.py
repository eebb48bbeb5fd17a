"""The search for a partition that obeys constraints, or that may leave items undecided.

Rounds of starts, as without constraints (`phases.py`): each start is divided and joined until it obeys
(`_rules.py`, `_trades.py`), goes down by moves that obey (`_walk.py`), and is combined with the best so far.
Then the best is *kicked*: a group of items that a draw has together is made a cluster, as far as it is
allowed. The search ends when rounds confirm the best partition, or find nothing better.

It is written in plain Python on the contract of the engine: the kernels of the search without constraints
stay as they are, and as quick.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from epluribus._parallel import Stopper
from epluribus._progress import Progress
from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.engine import NO_BOUNDS, Engine, Settings
from epluribus.engine.execution import changed_clusters
from epluribus.estimate import Run, Step
from epluribus.partition import meet_labels, relabel, tidy
from epluribus.search._rules import Rules, nothing_obeys
from epluribus.search._trades import fit, trade
from epluribus.search._walk import Walker
from epluribus.search.floors import better_floors
from epluribus.search.phases import Start
from epluribus.search.sample import Sample
from epluribus.search.starts import few_draws, make_start

FEW_STARTS = 3
"""Starts, at least, if no number was asked for: each takes longer than without constraints."""
_KICKS = 40
"""Kicks of the best partition in a round, at most ..."""
_RETURNS = 12
"""... and in a row without success, after which no more are tried."""
_SMALL = 2e6
"""Items times draws above which there are fewer kicks, and one confirmation is enough."""
_CLOSE = 1e-4
"""Losses of large samples that differ by less than this share count as equal."""
_PATIENCE = 6
"""Rounds in a row without success that end a search."""
_TRIES = 60
"""Starts that may fail to be made to obey before the search gives up."""


class ConstrainedSearch:
    """One search for one loss.

    Parameters
    ----------
    sample : Sample
        All draws.
    full : Engine
        The engine over all draws, for this loss.
    plan : iterator of Start
        The starts, without end.
    n_starts : int
        Number of starts, at least.
    settings : Settings
        Bounds, constraints with items as they were given, and what ends the search early.
    seed : SeedSequence
        Source of all randomness.
    bar : Progress
        Shows how far it is.
    """

    def __init__(
        self,
        sample: Sample,
        full: Engine,
        plan: Iterator[Start],
        n_starts: int,
        settings: Settings,
        seed: np.random.SeedSequence,
        bar: Progress,
    ) -> None:
        self.sample, self.full, self.plan, self.n_starts = sample, full, plan, n_starts
        self.settings, self.bar = settings, bar
        asked = settings.constraints
        own = None if asked is None else asked.taken(sample.items)
        self.rules = Rules(own, sample.n_items)
        self.rng = np.random.default_rng(seed)
        self.small = full.n_items * full.n_draws <= _SMALL
        self.recombines = settings.search == "recombine"
        self.runs: list[Run] = []

    def run(self) -> tuple[list[Run], Run]:
        """All runs, and the last of them, which is the best."""
        part = few_draws(self.sample, self.rng, self.full) if self.recombines else self.full
        best = self._rounds(part)
        if part is not self.full:
            best = Walker(self.full, self.rules, best.labels, self.rng, self.settings)
            self._settle(best)
        if self.recombines:
            best = self._not_beaten(best)
        last = self._record(best, "recombined" if self.recombines else "best", time.perf_counter())
        assert best.lawful()
        return [*self.runs, last], last

    def _rounds(self, part: Engine) -> Walker:
        """The best of several starts, each combined with the best before it."""
        best, confirmed, failed, n_failed_starts = None, 0, 0, 0
        needed = 2 if self.small else 1
        # Where much remains to be done anyway, two ends that are nearly as good confirm each other.
        stopper, tolerance = self.settings.stopper, 1e-9 if self.small else _CLOSE
        self.bar.grow(self.n_starts + 1)
        while True:
            began = time.perf_counter()
            start = next(self.plan)
            walker = self._begin(part, start, first=best is None)
            if walker is None:
                n_failed_starts += 1
                # A time limit does not end this: without a first partition there is no answer.
                stopper.check()
                if best is None and n_failed_starts >= _TRIES:
                    raise ValueError(nothing_obeys(self.settings, n_failed_starts))
                if n_failed_starts < _TRIES:
                    continue
            else:
                self._settle(walker)
                self.runs.append(self._record(walker, start.name, began))
                self.bar.show(len(self.runs), {"loss": f"{walker.value:.6g}", "clusters": walker.k})
            if best is None:
                assert walker is not None
                best = walker
                if self.recombines:
                    self._kick(best)
            elif walker is not None:
                before = best.value
                equal = abs(walker.value - best.value) <= tolerance * max(1.0, abs(best.value))
                confirmed += equal
                if walker.value < best.value:
                    best, walker = walker, best
                same = abs(walker.value - best.value) <= 1e-9 * max(1.0, abs(best.value))
                if self.recombines and not same and not stopper.stopped:
                    child = self._combined(best, walker)
                    if child is not None and child.value < best.value:
                        best = child
                if self.recombines and not stopper.stopped:
                    self._kick(best)
                failed += 1
                if best.value < before - tolerance * max(1.0, abs(before)):
                    confirmed, failed = 0, 0
            enough = len(self.runs) >= self.n_starts
            done = confirmed >= needed or failed >= _PATIENCE or not self.recombines
            if stopper.stopped or (enough and done) or n_failed_starts >= _TRIES:
                return best

    def _begin(self, part: Engine, start: Start, *, first: bool = True) -> Walker | None:
        """A walker at a start that was made to obey; None if that failed.

        The first one is made even if the search is stopped, because there must be an answer.
        """
        if start.labels is not None:
            labels = start.labels
        else:
            labels = make_start(start.name, self.sample, part, self.rng, NO_BOUNDS, start.base)
        patient = replace(self.settings, stopper=Stopper()) if first else self.settings
        labels = self.rules.fitted(labels, self.rng)
        walker = Walker(part, self.rules, labels, self.rng, patient)
        if not fit(walker):
            return None
        walker.settings = self.settings
        return walker

    def _settle(self, walker: Walker, units: IntArray | None = None) -> None:
        """Moves, joins and trades until nothing helps; of some units only, if these are given."""
        stopper = self.settings.stopper
        every = np.arange(len(self.rules.units)) if units is None else units
        while not stopper.stopped:
            if self._swept(walker, units):
                continue
            if not self.recombines:
                return
            if walker.join() or walker.give_up():
                continue
            if self.settings.constraints is None or not trade(walker, every):
                return

    def _swept(self, walker: Walker, units: IntArray | None) -> bool:
        """Sweep once, and then the clusters that have changed until they change no more; whether any did."""
        before = walker.state.labels.copy()
        n_moves = walker.sweep(units)
        moved = n_moves > 0
        while n_moves and self.recombines and not self.settings.stopper.stopped:
            now = walker.state.labels
            items = changed_clusters(now, before).astype(np.bool_)[now]
            before = now.copy()
            n_moves = walker.sweep(np.unique(self.rules.blocks[items]))
        return moved

    def _combined(self, one: Walker, other: Walker) -> Walker | None:
        """A partition out of two: the blocks on which both agree, joined as far as is allowed."""
        a, b = one.labels, other.labels
        blocks = meet_labels(a + 1, b + 1)
        blocks[(a < 0) & (b < 0)] = -1
        # An item that only one of them leaves out takes part, and may be left out again.
        labels = self.rules.fitted(tidy(blocks), self.rng)
        free = Walker(one.engine, self.rules, labels, self.rng, self.settings)
        free.tried = one.tried
        free.join()
        if not fit(free):
            return None
        self._settle(free)
        return free

    def _kick(self, best: Walker) -> None:
        """Make clusters of random groups, as far as is allowed, and keep what is better."""
        failed, n_kicks = 0, _KICKS if self.small else _RETURNS // 2
        for _ in range(n_kicks):
            if self.settings.stopper.stopped or failed >= _RETURNS:
                return
            labels, group = best.labels, self._group(best)
            new = labels.copy()
            new[group] = int(labels.max()) + 1
            if best.parking is not None and self.rng.integers(3) == 0:
                new[group] = -1  # all of them stay out, and may come back one by one
            new = self.rules.fitted(tidy(new), self.rng)
            if np.array_equal(new, labels):
                failed += 1
                continue
            trial = Walker(best.engine, self.rules, new, self.rng, self.settings)
            trial.tried, trial.traded = best.tried, best.traded
            touched = np.isin(labels, np.unique(labels[group]))
            units = np.unique(self.rules.blocks[touched])
            if fit(trial):
                self._settle(trial, units)
                if trial.value < best.value - 1e-12 * max(1.0, abs(best.value)) and trial.lawful():
                    self._settle(trial)
                    best.take_over(trial)
                    failed = 0
                    continue
            failed += 1

    def _group(self, best: Walker) -> IntArray:
        """Items to make a cluster of: what a random draw has together, or its part in a cluster, or a few."""
        labels, engine, rng = best.labels, best.engine, self.rng
        i = int(rng.integers(engine.n_items))
        draw = int(rng.choice(engine.n_draws, p=engine.weights / engine.total_weight))
        group = engine.table[:, draw] == engine.table[i, draw]
        kind = int(rng.integers(4))
        if kind == 0:  # that cluster is split
            group &= labels == labels[i]
        elif kind == 1 and labels.max() >= 0:  # clusters mostly in the group are joined
            inside = labels >= 0
            share = np.bincount(labels[inside], group[inside]) / np.bincount(labels[inside])
            group = np.where(inside, (share > 0.5)[np.maximum(labels, 0)], False)
        elif kind == 2:  # one unit, or two that come together
            group = self.rules.blocks == self.rules.blocks[i]
            if rng.integers(2):
                group |= self.rules.blocks == self.rules.blocks[rng.integers(engine.n_items)]
        return np.flatnonzero(group) if group.any() else np.array([i])

    def _not_beaten(self, best: Walker) -> Walker:
        """The walker, or a better one from a partition that anybody would try and that obeys."""
        if self.settings.stopper.stopped or np.any(best.out):
            return best
        for labels in better_floors(self.sample, self.full, best.labels, self.settings, self.rng):
            if (
                not self.rules.constraints.broken(labels)
                and self.full.value_of(labels) < best.value
            ):
                best = Walker(self.full, self.rules, relabel(labels), self.rng, self.settings)
                self._settle(best)
        return best

    def _record(self, walker: Walker, name: str, began: float) -> Run:
        value = walker.recount()
        n_draws = (
            self.sample.n_draws if walker.engine is self.full else round(walker.engine.total_weight)
        )
        seconds, done = time.perf_counter() - began, not self.settings.stopper.flag[0]
        step = Step(value, walker.k)
        return Run(walker.labels, value, walker.k, name, (step,), done, seconds, n_draws)


def polished(
    draws: Draws, engine: Engine, labels: IntArray, settings: Settings, rng: np.random.Generator
) -> Run:
    """A partition that obeys the constraints, improved by moves that obey."""
    known = draws.item_major, draws.weights, draws.distinct_n_clusters, draws.n_draws
    sample = Sample(*known, missing=draws.has_missing)
    seed = np.random.SeedSequence(int(rng.integers(2**63)))
    search = ConstrainedSearch(sample, engine, iter(()), 1, settings, seed, Progress())
    walker = search._begin(engine, Start("other loss", labels))
    assert walker is not None
    search._settle(walker)
    return search._record(walker, "other loss", time.perf_counter())
