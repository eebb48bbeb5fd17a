"""The phases of one search for one loss.

`recombine`, the default, goes on in rounds while they pay:

1. *A round* makes three starts, sweeps each twice, combines the best with the others in turn (`_recombine`),
   and settles the result (`_improve`). Rounds know nothing of each other.
2. The result is combined with the best partition known, and the better of the two is kicked: groups of items
   that draws have together are tried as clusters, until several kicks in a row have led back.
3. A round that ends at the best partition known confirms it. The search ends when the best partition has been
   confirmed, once or a few times, or after several rounds in a row that found nothing better: 8 where rounds
   are cheap, 1 where they are dear. With a time limit to be used these numbers are ten times larger.

Rounds look at all draws, or at 500 of more than 1000 (2000 of more than 4000 if f0 is not linear), or at
fewer where a sweep over all is dear; the best partition is then settled on all draws. In the end it is
compared with what anybody would try: one cluster, all items apart, the draws, the given starts.

`greedy` is the paper's procedure: Algorithm 1 from several starts, and the best of the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, islice, repeat
from typing import NamedTuple

import numpy as np

from epluribus import losses
from epluribus._parallel import run_tasks
from epluribus._progress import Progress
from epluribus._typing import IntArray
from epluribus.engine import Engine, Settings
from epluribus.estimate import Run
from epluribus.partition import relabel
from epluribus.search._greedy import descend
from epluribus.search._improve import Climber, all_combined, best_of, combined
from epluribus.search.floors import better_floors
from epluribus.search.sample import Sample
from epluribus.search.starts import DEAR, few_clusters, few_draws, fit_clusters, make_start

ROUND = 3
"""Starts in a round: fewer would leave little to combine, more would confirm less often."""
_SWEEPS_BEFORE = 2
"""Sweeps of a start before it is combined: the first two achieve nearly all that sweeps can achieve."""
_KICKS = 16
"""Kicks in a round, at most ..."""
_SMALL, _MORE = 3e6, 4
"""... or four times as many if a sweep has at most so few steps ..."""
_RETURNS = 6
"""... and kicks that lead back to where they started, after which no more are tried."""
_TINY = 1e5
"""Steps of a sweep up to which the best partition must be confirmed once more."""
_PATIENCE = 8
"""Rounds in a row without success that end a search ..."""
_DEAR = 1
"""... or this many where sweeps over all draws are dear."""
_AT_ONCE = 4
"""Rounds that are made at a time, at most: usually no more are needed."""
_LONGER = 10
"""How many times longer a search goes on if it has a time limit."""


class Start(NamedTuple):
    """A planned start: a kind to be made, or labels."""

    name: str
    """One of `starts.STARTS`, or a description of the labels."""
    labels: IntArray | None = None
    """The labels, if they are given."""
    base: IntArray | None = None
    """The partition that a noisy start disturbs; None for the best of ten draws."""

    def taken(self, sample: Sample, items: IntArray | slice = slice(None)) -> Start:
        """The start with its labels in the order of the sample, which has these items."""
        labels, base = (
            None if x is None else sample.take(relabel(x[items])) for x in (self.labels, self.base)
        )
        return self._replace(labels=labels, base=base)


class Search:
    """One search for one loss, and what its phases share.

    Parameters
    ----------
    sample : Sample
        All draws.
    full : Engine
        The engine over all draws, for this loss.
    plan : iterator of Start
        The starts, in the order in which they are to be made, without end.
    n_starts : int
        Number of starts, at least.
    settings : Settings
        Bounds on the number of clusters, threads, and what ends the search early.
    seed : SeedSequence
        Source of all randomness.
    """

    def __init__(
        self,
        sample: Sample,
        full: Engine,
        plan: Iterator[Start],
        n_starts: int,
        settings: Settings,
        seed: np.random.SeedSequence,
    ) -> None:
        self.sample, self.full, self.plan, self.n_starts = sample, full, plan, n_starts
        self.settings, self.seed = settings, seed
        self.stopper, self.bar = settings.stopper, Progress()
        self.rng = np.random.default_rng(seed.spawn(1)[0])
        self.runs: list[Run] = []
        self.given: list[IntArray] = []  # the labels that were given as starts
        self.best_so_far, self.n_done = np.inf, 0
        self.bounded = settings.k_min > 1 or settings.k_max is not None
        # Where sweeps take long, rounds do the least, and the moves of several items wait for the last phase.
        self.dear = full.execution.steps > DEAR

    def greedy(self) -> tuple[list[Run], Run]:
        """Algorithm 1 from every start; return all runs and the best of them."""
        tasks = [
            partial(self._greedy_run, start, np.random.default_rng(child))
            for start, child in zip(
                islice(self.plan, self.n_starts), self.seed.spawn(self.n_starts), strict=True
            )
        ]
        n_jobs = self.settings.n_jobs
        self.runs = run_tasks(tasks, n_jobs=n_jobs, stopper=self.stopper, on_done=self._report)
        return self.runs, min(self.runs, key=lambda run: run.expected_loss)

    def _greedy_run(self, start: Start, rng: np.random.Generator) -> Run:
        labels = self._labels_of(start, self.full, rng)
        n_draws = self.sample.n_draws
        return descend(self.full, labels, rng, self.settings, n_draws=n_draws, start=start.name)

    def recombine(self) -> tuple[list[Run], Run]:
        """Rounds of starts on some or all draws, then the best on all draws; return all runs and the last."""
        part, asked = few_draws(self.sample, self.rng, self.full), self.settings
        if part is not self.full:
            # Few draws may not tell which items belong together, and Binder's loss then leaves thousands of
            # them alone. These can wait for the other draws.
            self.settings = few_clusters(asked, self.sample)
        best = self._rounds(part)
        self.settings = asked
        if part is not self.full:
            self.runs.append(best.run(self._n_draws(part)))
            best = Climber(self.full, best.labels, self.rng, self.settings)
        if self.dear or part is not self.full:  # the rounds have left these steps out
            best.settle()
        if self.dear and not (self.full.loss.linear and self.full.execution.grows_with_draws):
            self._kick(best)
        best = self._not_beaten(best)
        # Until here moves may have been overlooked if f0 is not linear.
        if not self.full.loss.linear:
            best.settle(thorough=True)
        best.start = "recombined"
        last = best.run(self.sample.n_draws)
        self.bar.grow(self.n_done + 1)
        self._report(last)
        return [*self.runs, last], last

    def _rounds(self, part: Engine) -> Climber:
        """The best partition of several rounds of starts."""
        needed = 1 + (part.execution.steps <= _TINY) + (not part.loss.linear) + self.bounded
        patience = _DEAR if self.dear else _PATIENCE
        if self.stopper.patient:
            needed, patience = _LONGER * needed, _LONGER * patience
        # Losses closer than this are equal: running sums are rounded in proportion to the largest of them.
        tolerance = 1e-12 * max(abs(value) for value in part.trivial_values())
        near = [] if part.loss.linear else self._near_starts(part)
        rounds = self._in_turn(part, near)
        best = next(rounds)
        confirmed, failed = 0, 0
        while not self.stopper.stopped:
            before = best.value
            if not self.dear:
                self._kick(best)
            if len(self.runs) >= self.n_starts and (confirmed >= needed or failed >= patience):
                break
            other = next(rounds)
            if abs(other.value - best.value) <= tolerance:
                confirmed += 1
            elif not self.stopper.stopped:
                child = combined(best, other, self.rng)
                if not self.dear:
                    child.settle()
                best = best_of([best, other, child])
            failed = failed + 1
            if best.value < before - tolerance:
                confirmed, failed = 0, 0
        return best

    def _in_turn(self, part: Engine, near: list[Start]) -> Iterator[Climber]:
        """The partitions of one round after the other, without end; `near` starts are in the first.

        With several threads some rounds are made at a time, perhaps more than are asked for.
        """
        n_jobs = self.settings.n_jobs
        n_rounds = 1 if n_jobs == 1 else min(max(2, n_jobs // ROUND), _AT_ONCE)
        while True:
            plans = []
            for _ in range(n_rounds):
                plans.append([*near, *islice(self.plan, ROUND)])
                near = []
            seeds = [self.seed.spawn(len(starts) + 1) for starts in plans]
            # How many rounds there will be is not known: after these, at least the last run.
            self.bar.grow(max(self.n_done + sum(map(len, plans)), self.n_starts) + 1)
            climbs = [
                partial(self._climb, part, start, np.random.default_rng(seed))
                for starts, own in zip(plans, seeds, strict=True)
                for start, seed in zip(starts, own[:-1], strict=True)
            ]
            climbed = iter(run_tasks(climbs, n_jobs=n_jobs, stopper=self.stopper))
            # Stopped early, the last of them are missing, and perhaps all of the second round.
            found = [list(islice(climbed, len(starts))) for starts in plans]
            rounds = [
                partial(self._round, [one for one, _ in some], np.random.default_rng(own[-1]))
                for some, own in zip(found, seeds, strict=True)
                if some
            ]
            bests = run_tasks(rounds, n_jobs=n_jobs, stopper=self.stopper)
            for starts, some, best in zip(plans, found, bests, strict=False):
                for _, run in some:
                    self.runs.append(run)
                    self._report(run)
                self.given += [
                    start.labels
                    for start in starts
                    if start.labels is not None and start.name == "given"
                ]
                yield best

    def _round(self, climbers: list[Climber], rng: np.random.Generator) -> Climber:
        """One partition out of all those of a round."""
        best = all_combined(climbers, rng)
        if not (self.dear or self.stopper.stopped):
            best.settle()
        return best

    def _climb(self, part: Engine, start: Start, rng: np.random.Generator) -> tuple[Climber, Run]:
        """The start after a few sweeps, and the record of them."""
        labels = self._labels_of(start, part, rng)
        climber = Climber(part, labels, rng, self.settings, start.name)
        climber.sweep(_SWEEPS_BEFORE)
        return climber, climber.run(self._n_draws(part))

    def _labels_of(self, start: Start, engine: Engine, rng: np.random.Generator) -> IntArray:
        """The labels of a start, made to fit the bounds on the number of clusters."""
        if start.labels is not None:
            return fit_clusters(start.labels, engine, rng, self.settings)
        return make_start(start.name, self.sample, engine, rng, self.settings, start.base)

    def _kick(self, best: Climber) -> None:
        """Kick the best partition until kicks lead back, and settle it if one helped."""
        before, returned = best.value, 0
        best.pool()
        for _ in range(_KICKS * (_MORE if best.engine.execution.steps <= _SMALL else 1)):
            if self.stopper.stopped or returned == _RETURNS:
                break
            returned += abs(best.kick()) <= 8 * best.engine.tolerance
        if best.value < before:
            best.settle()

    def _near_starts(self, part: Engine) -> list[Start]:
        """More starts for a loss whose f0 is not linear, for which greedy joining is less reliable.

        The minimizers of the two linear losses cost little to find and are usually close to those of other
        losses. The most frequent draw is the minimizer of the 0-1 loss, which gives a search no direction.
        """
        near = []
        for loss in (losses.vi(), losses.binder()):
            if not self.stopper.stopped:
                engine = part.with_loss(loss)
                # Starts that were given are for this loss; the others make do with draws.
                plan = repeat(Start("draws"))
                seed = self.seed.spawn(1)[0]
                other = Search(self.sample, engine, plan, 0, self.settings, seed)
                best = next(other._in_turn(engine, []))
                near.append(Start(f"best for {loss.name}", best.labels))
        top = int(self.sample.weights.argmax())
        return [*near, Start("most frequent draw", self.sample.draw(top, part, self.rng))]

    def _not_beaten(self, best: Climber) -> Climber:
        """The climber, or a better one from a partition that anybody would try."""
        if self.stopper.stopped:
            return best
        floors = better_floors(self.sample, self.full, best.labels, self.settings, self.rng)
        low, high = self.settings.k_min, self.settings.most(self.sample.n_items)
        given = (labels for labels in self.given if low <= labels.max() + 1 <= high)
        for labels in chain(floors, given):
            if self.full.value_of(labels) < best.value:
                best = Climber(self.full, labels, self.rng, self.settings)
                best.settle()
        return best

    def _n_draws(self, engine: Engine) -> int:
        """Number of draws behind an engine: all, or those that were chosen, each with weight 1."""
        return self.sample.n_draws if engine is self.full else round(engine.total_weight)

    def _report(self, run: Run) -> None:
        """Advance the progress bar."""
        self.best_so_far = min(self.best_so_far, run.expected_loss)
        self.n_done += 1
        info = {"loss": f"{self.best_so_far:.6g}", "clusters": run.n_clusters}
        self.bar.show(self.n_done, info)
