"""One search for one loss: rounds of starts, recombined, kicked and confirmed.

1. *A round* makes three starts, sweeps each twice, combines the best with the others in turn, and settles the result
   (`local.py`). Rounds know nothing of each other.
2. A round that ends at the best partition known confirms it. The result of another one is stirred, as the draws leave
   open where items belong, so that distant partitions are improved before they are given up; then it is combined
   with the best one. The best of these is kicked: groups of items that draws have together are tried as clusters,
   until several kicks in a row have led back.
3. The search ends when the best partition has been confirmed, once or a few times, or after several rounds in a row
   that found nothing better: 5 where rounds are cheap, 4 for losses with an f0, 2 with bounds, 1 where they are
   expensive. With a time limit these numbers are ten times larger. In the end the best partition is stirred.

Rounds look at all draws, or at some of many (`starts.few_draws`); the best partition is then settled on all draws.
In the end it is compared with partitions that anybody would try: one cluster, all items apart, the given starts,
and the draw with the largest weight.

`Search.greedy` is the paper's procedure: Algorithm 1 from several starts, and the best of the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, cycle, islice
from operator import attrgetter

import numpy as np

from epluribus._parallel import run_tasks
from epluribus._progress import Progress
from epluribus.estimate import Run
from epluribus.search.constrained import begin
from epluribus.search.local import LocalSearch
from epluribus.search.problem import Problem
from epluribus.search.starts import EXPENSIVE, Plan, Start, completed, few_clusters, few_draws
from epluribus.settings import Settings

_ROUND = 3
"""Starts in a round: fewer would leave little to combine, more would confirm less often."""
_KICKS, _MORE_KICKS, _MOST_KICKS = 16, 64, 400
"""Kicks in a round, at most; the second number where sweeps are quick; elsewhere two for each cluster, up to the third
number, if there are many: a kick is then much quicker than a sweep."""
_STIRS = 4
"""Times in a row that stirring leads nowhere, after which there is little more to find."""
_QUICK, _TINY = 3e6, 1e5
"""Cells of a sweep up to which there are more kicks, and up to which one more confirmation is asked for."""
_PATIENCE, _LONGER = (4, 5), 10
"""Rounds in a row without success that end a search, for losses that are not linear and for others, one where sweeps
are expensive, two of linear losses with bounds; and how many times more rounds a search with a time limit makes."""
_BY_VALUE = attrgetter("value")


class Search:
    """One search for one loss.

    Parameters
    ----------
    problem : Problem
        The expected loss over all draws.
    plan : Plan
        The starts, and their number, at least.
    settings : Settings
        Bounds on the number of clusters, threads, and what ends the search early.
    seed : SeedSequence
        Source of all randomness.
    bar : Progress
        Shows how far it is.
    n_draws : int, optional
        Number of draws, equal ones counted as often as they occur: for the record.
    expensive : bool, optional
        Whether rounds do the least, and moves of several items wait for the end; by default if sweeps take long.
    """

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        settings: Settings,
        seed: np.random.SeedSequence,
        bar: Progress,
        n_draws: int | None = None,
        expensive: bool | None = None,
    ) -> None:
        self.problem, self.plan = problem, plan
        self.starts = chain(plan.first, cycle(plan.kinds))
        self.settings, self.seed, self.stopper, self.bar = settings, seed, settings.stopper, bar
        self.n_draws = problem.n_draws if n_draws is None else n_draws
        self.rng = np.random.default_rng(seed.spawn(1)[0])
        self.expensive = problem.cells > EXPENSIVE if expensive is None else expensive
        self.bounded = settings.k_min > 1 or settings.k_max is not None
        self.runs: list[Run] = []
        self.best_so_far, self.n_done = np.inf, 0
        self.known = [np.zeros(problem.n_items, dtype=np.int64), np.arange(problem.n_items)]
        """Partitions that the answer is never worse than: one cluster, all items apart, given ones."""
        self.known += [one.labels for one in plan.first if one.labels is not None]
        self.values = list(map(problem.expected, self.known))
        # Losses that are closer are equal: running sums are rounded in proportion to the largest of them.
        self.tolerance = 1e-12 * max(1e-300, *map(abs, self.values))

    def greedy(self) -> tuple[list[Run], Run]:
        """Algorithm 1 from every start; return all runs and the best of them."""
        n, problem, settings = self.plan.n_starts, self.problem, self.settings
        tasks = [
            partial(self._descend, problem, settings, start, child)
            for start, child in zip(islice(self.starts, n), self.seed.spawn(n), strict=True)
        ]
        found = run_tasks(
            tasks, n_jobs=settings.n_jobs, stopper=self.stopper, on_done=lambda one: self._report(one[1])
        )  # fmt: skip
        self.runs = [run for _, run in found]  # in the order of the starts
        return self.runs, min(self.runs, key=lambda run: run.expected_loss)

    def recombine(self) -> tuple[list[Run], Run]:
        """Rounds of starts on some or all draws, then the best on all draws; all runs and the last."""
        problem, settings = few_draws(self.problem, self.rng), self.settings
        if problem is not self.problem and settings.free:
            # Few draws may not tell which items belong together, and Binder's loss then leaves thousands of
            # them alone. These can wait for the other draws.
            settings = few_clusters(settings, self.problem)
        # A longer search has the answer of the default one as well: it is never worse.
        best = min(map(self._finish, self._rounds(problem, settings)), key=_BY_VALUE)
        best.start = "recombined"
        last = best.run(self.n_draws)
        self._report(last, self.n_done + 1)
        return self.runs, last

    def _finish(self, best: LocalSearch) -> LocalSearch:
        """The best partition of the rounds, improved on all draws."""
        few = best.problem is not self.problem
        if few:
            self.runs.append(best.run(round(best.problem.total_weight)))
            best = begin(self.problem, Start("few draws", best.labels), self.rng, self.settings)
        if self.expensive or few:  # the rounds have left these steps out
            best.settle()
        # Where clusters are many, kicks find more with all draws than with some of them.
        if self.expensive and (not few or best.n_clusters > 32):
            self._kick(best)
            best = self._stir(best)
        best = self._not_beaten(best)
        if not self.problem.loss.linear:  # until here moves may have been overlooked
            best.settle(thorough=True)
        return best

    def _rounds(self, problem: Problem, settings: Settings) -> Iterator[LocalSearch]:
        """The best partition of several rounds of starts; that of a usual search first, if more is asked for."""
        asked = self.bounded or not settings.free  # harder than a free search
        needed = 1 + (problem.cells <= _TINY) + 2 * (not problem.loss.linear) + asked
        patience = 1 if self.expensive else _PATIENCE[problem.loss.linear]
        # With bounds kicks find more than rounds.
        if self.bounded and settings.free and problem.loss.linear:
            patience = min(patience, 2)
        plan, rounds = self.plan, self._in_turn(problem, settings)
        limits = [(min(plan.usual, plan.n_starts), needed, patience)]
        if self.stopper.patient or plan.n_starts > plan.usual:
            longer = _LONGER if self.stopper.patient else 1
            limits.append((plan.n_starts, longer * needed, longer * patience))
        best, tolerance = next(rounds), self.tolerance
        confirmed, failed = 0, 0
        for n_starts, needed, patience in limits:
            while not self.stopper.stopped:
                before = best.value
                if not self.expensive:
                    self._kick(best)
                if len(self.runs) >= n_starts and (confirmed >= needed or failed >= patience):
                    break
                other = next(rounds)
                if abs(other.value - best.value) <= tolerance:
                    confirmed += 1
                elif not self.stopper.stopped:
                    other = other if self.expensive else self._stir(other)
                    child = best.combined_with(self.rng, other.labels)
                    if not self.expensive:
                        child.settle()
                    best = min(best, other, child, key=_BY_VALUE)
                failed += 1
                if best.value < before - tolerance:
                    confirmed, failed = 0, 0
            yield best if self.expensive else self._stir(best)
            if self.stopper.stopped:
                return

    def _in_turn(self, problem: Problem, settings: Settings) -> Iterator[LocalSearch]:
        """The partitions of one round after the other, without end.

        With several threads some rounds are made at a time, perhaps more than are asked for.
        """
        n_jobs = self.settings.n_jobs
        while True:
            tasks = []
            for _ in range(min(n_jobs, 4)):  # usually no more rounds are needed
                starts, seeds = list(islice(self.starts, _ROUND)), self.seed.spawn(_ROUND + 1)
                tasks.append(partial(self._round, problem, settings, starts, seeds))
            # How many rounds there will be is not known: after these, at least the last run.
            total = max(self.n_done + _ROUND * len(tasks), self.plan.n_starts) + 1
            for best, runs in run_tasks(tasks, n_jobs=n_jobs, stopper=self.stopper):
                for run in runs:
                    self._report(run, total)
                yield best

    def _descend(
        self,
        problem: Problem,
        settings: Settings,
        start: Start,
        seed: np.random.SeedSequence,
        most: int | None = None,
    ) -> tuple[LocalSearch, Run]:
        """The start after `most` sweeps, or as many as lower the loss, and the record of them."""
        search = begin(problem, start, np.random.default_rng(seed), settings)
        search.sweep(most, thorough=most is None)
        n_draws = self.n_draws if problem is self.problem else round(problem.total_weight)
        return search, search.run(n_draws)

    def _round(
        self,
        problem: Problem,
        settings: Settings,
        starts: list[Start],
        seeds: list[np.random.SeedSequence],
    ) -> tuple[LocalSearch, list[Run]]:
        """One partition out of several starts, the best combined with the others in turn; and the runs."""
        found: list[LocalSearch] = []
        runs: list[Run] = []
        for start, seed in zip(starts, seeds, strict=False):
            if not (found and self.stopper.stopped):
                # The first two sweeps achieve nearly all that sweeps can achieve.
                search, run = self._descend(problem, settings, start, seed, 2)
                found.append(search)
                runs.append(run)
        rng = np.random.default_rng(seeds[-1])
        best, *others = sorted(found, key=_BY_VALUE)
        for other in others:
            if not self.stopper.stopped:
                best = min(best, best.combined_with(rng, other.labels), key=_BY_VALUE)
        if not (self.expensive or self.stopper.stopped):
            best.settle()
        return best, runs

    def _kick(self, best: LocalSearch) -> None:
        """Kick the best partition until kicks lead back, and settle it if one helped."""
        before, returned = best.value, 0.0
        most = _KICKS
        if best.problem.loss.linear:
            many = max(_KICKS, min(2 * best.n_clusters, _MOST_KICKS))
            most = _MORE_KICKS if best.problem.cells <= _QUICK else many
        # Where many items fit nowhere, joining two of them raises the loss, but joining all may lower it.
        best.attempt(np.flatnonzero(best.state.sizes[best.state.labels] == 1))
        for _ in range(most):
            # Several that led back: there is little more to find. With bounds most kicks lead elsewhere, and up.
            if self.stopper.stopped or returned >= max(8, most // 8):
                break
            led_back = abs(best.kick()) <= 8 * best.tolerance
            returned += 1.0 if led_back else 0.25 * self.bounded
        if best.value < before:
            best.settle()

    def _stir(self, best: LocalSearch) -> LocalSearch:
        """The partition, stirred until several times in a row that led nowhere."""
        failed, problem = 0, best.problem
        # Pairs of items know no draws; and for a linear loss kicks take much less time than a sweep that is expensive.
        if problem.pairs is not None or (problem.loss.linear and self.expensive):
            return best
        while failed < _STIRS and not self.stopper.stopped:
            before, best = best, best.stirred(expensive=self.expensive)
            failed = failed + 1 if best is before else 0
        return best

    def _not_beaten(self, best: LocalSearch) -> LocalSearch:
        """The best partition, or a better one from a partition that anybody would try."""
        problem, settings = self.problem, self.settings
        if self.stopper.stopped:
            return best
        known = list(zip(self.values, self.known, strict=True))
        if np.ptp(problem.weights) > 0:
            frequent = problem.draw(int(problem.weights.argmax()))
            frequent = completed(problem, frequent, self.rng)
            known.append((problem.expected(frequent), frequent))
        for value, labels in known:
            if value < best.value - self.tolerance and settings.allow(labels):
                best = begin(problem, Start("known", labels), self.rng, settings)
                best.settle()
        return best

    def _report(self, run: Run, total: int | None = None) -> None:
        """Keep the record of a run, and advance the progress bar."""
        self.runs.append(run)
        self.best_so_far = min(self.best_so_far, run.expected_loss)
        self.n_done += 1
        info = {"loss": f"{self.best_so_far:.6g}", "clusters": run.n_clusters}
        self.bar.show(self.n_done, info, total)
