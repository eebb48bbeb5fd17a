"""The phases of one search for one loss.

`recombine`, the default:

1. A few starts, each swept twice over a random part of the draws (`starts`).
2. Recombination, on one part of the draws: the best partition so far is combined with each of the others
   in turn (`_recombine`).
3. On all draws, the best of three candidates is swept until no move of a single item lowers the expected
   loss: the result of step 2; the blocks on which all partitions agree, joined; and the result of step 2
   with all items that are alone put into one cluster.

For a loss whose f0 is not linear there are more starts, more sweeps and more candidates.

`greedy` is the paper's procedure: Algorithm 1 from several starts, and the best of the results.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from epluribus import losses
from epluribus._parallel import run_tasks
from epluribus._progress import Progress
from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.engine import Engine, Settings
from epluribus.estimate import Run, Step
from epluribus.losses.base import Loss
from epluribus.search._greedy import descend
from epluribus.search._recombine import common_blocks, pool_singletons
from epluribus.search.starts import few_draws, fit_clusters, make_start

_N_NEAR = 3
"""Starts added for a loss whose f0 is not linear: the minimizers of VI and Binder, and the top draw."""
_SWEEPS_BEFORE = 2
"""Sweeps of a start before it is recombined: the first two achieve nearly all that sweeps can achieve."""


class Start(NamedTuple):
    """A planned start: a kind to be made, or labels."""

    name: str
    """One of `starts.STARTS`, or a description of the labels."""
    labels: IntArray | None = None
    """The labels, if they are given."""
    base: IntArray | None = None
    """The partition that a noisy start disturbs; None for the best of ten draws."""


class Search:
    """One search for one loss, and what its phases share.

    Parameters
    ----------
    draws : Draws
        The whole sample.
    full : Engine
        The engine over all draws, for this loss.
    plan : list of Start
        The starts to be made.
    settings : Settings
        Bounds on the number of clusters, threads, and what ends the search early.
    seed : SeedSequence
        Source of all randomness.
    """

    def __init__(
        self,
        draws: Draws,
        full: Engine,
        plan: list[Start],
        settings: Settings,
        seed: np.random.SeedSequence,
    ) -> None:
        self.draws, self.full, self.plan = draws, full, plan
        self.settings, self.seed = settings, seed
        self.stopper, self.bar = settings.stopper, Progress()
        # A generator for each start, found by its number: neither the order in which threads run nor other
        # phases change what a start does.
        first, last, *rest = seed.spawn(2 + len(plan))
        self.subset_rng = np.random.default_rng(first)
        self.final_rng = np.random.default_rng(last)
        self.start_rngs = [np.random.default_rng(child) for child in rest]
        self.best_so_far, self.n_done = np.inf, 0

    @property
    def n_steps(self) -> int:
        """Steps of the progress bar: the starts, their recombination, and the last run."""
        if self.settings.search == "greedy":
            return len(self.plan)
        # n starts, n - 1 recombinations of the best with another, and one run on all draws.
        return 2 * (len(self.plan) + (0 if self.full.loss.linear else _N_NEAR))

    def greedy(self) -> tuple[list[Run], Run]:
        """Algorithm 1 from every start; return all runs and the best of them."""
        runs = self._run_starts(self.full, max_sweeps=None)
        return runs, min(runs, key=_by_loss)

    def recombine(self) -> tuple[list[Run], Run]:
        """Starts on few draws, recombination, and a polish on all draws; return all runs and the last."""
        linear = self.full.loss.linear
        if not linear:
            self._add_near_starts()
        part = few_draws(self.draws, self.subset_rng, self.full)
        found = self._run_starts(None, max_sweeps=_SWEEPS_BEFORE if linear else None)
        # Each start has seen different draws. To be compared, all are evaluated on the same ones.
        pool = sorted(
            [replace(run, expected_loss=part.value_of(run.labels)) for run in found], key=_by_loss
        )
        # One better partition out of two good ones: the blocks on which both agree are joined again.
        best = pool[0]
        for other in pool[1:]:
            merged = self._merge(part, [best, other])
            if merged is None:
                break
            run = self._descend(part, merged, max_sweeps=1 if linear else None)
            best = min(best, run, key=_by_loss)
            self._report(best)
        # The best partition on few draws need not be the best on all: there are several candidates.
        candidates = [best.labels]
        if not self.stopper.stopped:
            merged = self._merge(self.full, [best, *pool])
            if merged is not None:
                candidates.append(merged)
            if not linear:
                candidates += [run.labels for run in pool]
            # Pooling may leave fewer clusters than are required.
            pooled = pool_singletons(best.labels)
            if pooled.max() + 1 >= self.settings.k_min:
                candidates.append(pooled)
        final = self._polish(candidates, n=1 if linear else 2)
        self._report(final)
        return [*pool, final], final

    def _add_near_starts(self) -> None:
        """More starts for a loss whose f0 is not linear, for which greedy joining is less reliable.

        The minimizers of the two linear losses cost little to find and are usually close to those of other
        losses. The most frequent draw is the minimizer of the 0-1 loss, which gives a search no direction.
        """
        near = [
            Start(f"best for {loss.name}", self._linear_minimizer(loss))
            for loss in (losses.vi(), losses.binder())
            if not self.stopper.stopped
        ]
        top = self.draws.distinct[int(self.draws.weights.argmax())].astype(np.int64)
        near.append(Start("most frequent draw", top))
        self.plan = [*self.plan, *near]
        self.start_rngs += self.final_rng.spawn(len(near))

    def _linear_minimizer(self, loss: Loss) -> IntArray:
        """The result of the same search for another loss, which is linear."""
        engine = Engine.of(self.draws, loss)
        return Search(self.draws, engine, self.plan, self.settings, self.seed).recombine()[1].labels

    def _run_starts(self, engine: Engine | None, max_sweeps: int | None) -> list[Run]:
        """All starts, in threads: on the given engine, or each on a different part of the draws."""
        tasks = [
            partial(self._run_start, engine, start, rng, max_sweeps)
            for start, rng in zip(self.plan, self.start_rngs, strict=True)
        ]
        n_jobs = self.settings.n_jobs
        return run_tasks(tasks, n_jobs=n_jobs, stopper=self.stopper, on_done=self._report)

    def _run_start(
        self, engine: Engine | None, start: Start, rng: np.random.Generator, max_sweeps: int | None
    ) -> Run:
        # Starts that see different draws end in different local optima, from which recombination escapes.
        if engine is None:
            engine = few_draws(self.draws, rng, self.full)
        if start.labels is None:
            labels = make_start(start.name, self.draws, engine, rng, self.settings, start.base)
        else:
            labels = fit_clusters(start.labels, engine, rng, self.settings)
        return descend(engine, labels, rng, self.settings, start=start.name, max_sweeps=max_sweeps)

    def _merge(self, engine: Engine, runs: list[Run]) -> IntArray | None:
        """The blocks on which the runs agree, joined; None if the search was stopped."""
        if self.stopper.stopped:
            return None
        # Stopped halfway, there may be more clusters left than are allowed: that is no candidate.
        merged = engine.merge(common_blocks([run.labels for run in runs]), self.settings)
        return None if self.stopper.flag[0] else merged

    def _descend(self, engine: Engine, labels: IntArray, max_sweeps: int | None) -> Run:
        return descend(
            engine, labels, self.final_rng, self.settings, start="recombined", max_sweeps=max_sweeps
        )

    def _polish(self, candidates: list[IntArray], n: int) -> Run:
        """Sweep the best n candidates on all draws until nothing changes; return the best result."""
        # No time left to sweep: the first candidate is the answer, with its loss on all draws.
        if self.stopper.stopped:
            value, k = self.full.value_of(candidates[0]), int(candidates[0].max()) + 1
            trace = (Step(value, k),)
            return Run(candidates[0], value, k, "recombined", trace, converged=False, seconds=0.0)
        ranked = sorted(candidates, key=self.full.value_of)
        runs = [self._descend(self.full, labels, max_sweeps=None) for labels in ranked[:n]]
        return min(runs, key=_by_loss)

    def _report(self, run: Run) -> None:
        """Advance the progress bar."""
        self.best_so_far = min(self.best_so_far, run.expected_loss)
        self.n_done += 1
        info = {"loss": f"{self.best_so_far:.6g}", "clusters": run.n_clusters}
        self.bar.show(self.n_done, info)


def _by_loss(run: Run) -> float:
    return run.expected_loss
