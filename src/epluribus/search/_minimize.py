"""The front door of the search.

`search="recombine"`, the default:

1. a few starts, each swept twice over a random part of the draws (`starts`);
2. recombination: the best, in turn with each of the others (`_recombine`), on the same draws;
3. on all draws: the best of that, of the joined blocks on which all of them agree, and of that with
   all items that are alone in one cluster, swept until no single item can be moved to lower the
   expected loss.

`search="greedy"` is the paper's own procedure: Algorithm 1 from several starts, the best of them.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopper, resolve_jobs, run_tasks
from epluribus._progress import Progress, ProgressLike, make_progress
from epluribus._validate import check_choice, check_count, make_rng, quoted
from epluribus.draws import Draws, as_draws
from epluribus.engine import Engine, Settings
from epluribus.estimate import Comparison, Estimate, Run, Step, set_side_by_side
from epluribus.partition import as_labels
from epluribus.search._exact import best_of_all
from epluribus.search._greedy import check_k_max, descend
from epluribus.search._recombine import common_blocks, pool_singletons
from epluribus.search.starts import STARTS, few_draws, fit_clusters, make_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike, RngLike
    from epluribus.losses.base import Loss

__all__ = ["EXACT_ITEMS", "SEARCHES", "minimize"]

SEARCHES = ("recombine", "greedy")

EXACT_ITEMS = 7
"""Up to this many items all partitions (877) are tried: it takes milliseconds and proves the optimum."""

_DEFAULT_STARTS = {
    "recombine": ("draws", "draws", "sequential", "draws", "draws", "draws", "random", "noisy"),
    "greedy": ("random", "noisy", "draws"),
}
_DEFAULT_N_STARTS = {"recombine": 6, "greedy": 9}
_N_NEAR = 3
"""Starts added for a loss whose f0 is not linear."""
_SWEEPS_BEFORE = 2
"""Sweeps of a start before it is recombined: the first two bring nearly all that sweeps can bring."""


class _Start(NamedTuple):
    """A planned start: a kind to be made, or labels."""

    name: str
    labels: IntArray | None = None
    base: IntArray | None = None
    """What a noisy start disturbs."""


@overload
def minimize(
    draws: DrawsLike,
    loss: LossLike = ...,
    *,
    k: int | None = ...,
    k_max: int | None = ...,
    search: str = ...,
    starts: str | Sequence[str] | LabelsLike | None = ...,
    n_starts: int | None = ...,
    map_labels: LabelsLike | None = ...,
    n_jobs: int | None = ...,
    rng: RngLike = ...,
    progress: ProgressLike = ...,
    time_limit: float | None = ...,
) -> Estimate: ...
@overload
def minimize(
    draws: DrawsLike,
    loss: list[LossLike] | tuple[LossLike, ...],
    *,
    k: int | None = ...,
    k_max: int | None = ...,
    search: str = ...,
    starts: str | Sequence[str] | LabelsLike | None = ...,
    n_starts: int | None = ...,
    map_labels: LabelsLike | None = ...,
    n_jobs: int | None = ...,
    rng: RngLike = ...,
    progress: ProgressLike = ...,
    time_limit: float | None = ...,
) -> Comparison: ...
def minimize(
    draws: DrawsLike,
    loss: LossLike | list[LossLike] | tuple[LossLike, ...] = "vi",
    *,
    k: int | None = None,
    k_max: int | None = None,
    search: str = "recombine",
    starts: str | Sequence[str] | LabelsLike | None = None,
    n_starts: int | None = None,
    map_labels: LabelsLike | None = None,
    n_jobs: int | None = None,
    rng: RngLike = None,
    progress: ProgressLike = False,
    time_limit: float | None = None,
) -> Estimate | Comparison:
    """Find the partition with the smallest expected posterior loss, number of clusters included.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; anything `Draws` accepts.
    loss : str, Loss, or a list of them, default "vi"
        See `epluribus.losses.available`. With a list, one partition is found for each loss and all
        are compared.
    k : int, optional
        Exact number of clusters.
    k_max : int, optional
        Largest number of clusters. No bound by default; it costs nothing.
    search : {"recombine", "greedy"}, default "recombine"
        "greedy" is the paper's procedure: Algorithm 1 from each start, the best of them.
    starts : str, list of str, or labels, optional
        Kinds of starts, taken in turn: "draws", "sequential", "random", "noisy"; or the labels of
        one partition, or of several as rows. A start with too many or too few clusters is made to
        fit.
    n_starts : int, optional
        Number of starts: 6 by default, 9 for "greedy", all that are given for labels.
    map_labels : array_like of shape (n_items,), optional
        The partition that "noisy" starts disturb, such as the draw of highest posterior density. By
        default the best of ten random draws.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same gives the same answer.
    progress : bool or callable, default False
        True for a bar on a terminal, or a function ``(done, total, info)``.
    time_limit : float, optional
        Seconds after which the best partition so far is returned, marked ``converged=False``.
        Ctrl-C does the same at any time.

    Returns
    -------
    Estimate
        Labels, expected loss, number of clusters, and the runs of the search; a `Comparison` if
        `loss` is a list.

    Notes
    -----
    With at most 7 items all partitions are tried, unless `search` is "greedy".

    Time O(n_items n_draws K) for each sweep. Memory besides the draws: about 8 bytes (12 for a loss
    whose f0 is not linear) per draw, cluster of a draw and cluster of the estimate. Where clusters are
    many and small neither grows with K: time O(n_items n_draws S), S the mean size of an item's cluster,
    and less where draws share clusters; at most 8 bytes per draw and item.

    References
    ----------
    Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
    Statistics and Computing 28, 1169-1186. doi:10.1007/s11222-017-9786-y

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = epl.Draws([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    >>> best = epl.minimize(draws, loss="vi", rng=1)
    >>> best.labels
    array([0, 0, 0, 1, 1])
    """
    sample = as_draws(draws)
    check_choice(search, SEARCHES, "search")
    k_min, k_bound = _check_k(k, k_max, sample.n_items)
    plan = _check_starts(starts, n_starts, search, sample.n_items)
    if map_labels is not None:
        disturbed = as_labels(map_labels, sample.n_items, argument="map_labels")
        plan = [start._replace(base=disturbed) if start.name == "noisy" else start for start in plan]
    generator = make_rng(rng)
    several = isinstance(loss, list | tuple)
    chosen = [losses.get(one) for one in (loss if isinstance(loss, list | tuple) else [loss])]
    if not chosen:
        raise ValueError("'loss' must name at least one loss; the list is empty.")
    settings = Settings(k_min, k_bound, search, resolve_jobs(n_jobs), Stopper(time_limit))
    # One seed for all losses: they share the draws searched first and the starts. A SeedSequence
    # counts its children, so each loss gets a fresh copy.
    seed = generator.bit_generator.seed_seq.spawn(1)[0]  # type: ignore[attr-defined]
    found = [
        _solve(
            sample,
            one,
            plan,
            settings,
            progress,
            np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key),
        )
        for one in chosen
    ]
    return _compare(sample, found, settings, seed) if several else found[0]


def _check_k(k: int | None, k_max: int | None, n_items: int) -> tuple[int, int | None]:
    """Smallest and largest number of clusters allowed."""
    if k is None:
        bound = check_k_max(k_max)
        return 1, None if bound is None or bound >= n_items else bound
    if k_max is not None:
        raise ValueError(f"Give 'k' (exactly) or 'k_max' (at most), not both; got {k} and {k_max}.")
    k = check_count(k, "k")
    if k > n_items:
        raise ValueError(f"'k' must be at most the number of items, {n_items}; got {k}.")
    return k, k


def _check_starts(starts: Any, n_starts: int | None, search: str, n_items: int) -> list[_Start]:
    """The starts in turn, as many as asked for."""
    count = None if n_starts is None else check_count(n_starts, "n_starts")
    if starts is None:
        starts = _DEFAULT_STARTS[search]
    if isinstance(starts, str):
        starts = [check_choice(starts, STARTS, "starts")]
    if len(starts) == 0:
        raise ValueError(
            f"'starts' must be one or more of {quoted(STARTS)}, or labels; it is empty."
        )
    if all(isinstance(kind, str) and kind in STARTS for kind in starts):
        kinds = [_Start(kind) for kind in starts]
        return list(islice(cycle(kinds), count or _DEFAULT_N_STARTS[search]))
    rows = starts if np.ndim(starts[0]) else [starts]
    given = [_Start("given", as_labels(row, n_items, argument="starts")) for row in rows]
    return list(islice(cycle(given), count or len(given)))


def _solve(
    draws: Draws,
    loss: Loss,
    plan: list[_Start],
    settings: Settings,
    progress: ProgressLike,
    seed: np.random.SeedSequence,
) -> Estimate:
    """The answer for one loss."""
    began = time.perf_counter()
    recombine, stopper = settings.search == "recombine", settings.stopper
    runs: list[Run] = []
    if recombine and draws.n_items <= EXACT_ITEMS:
        labels, value = best_of_all(draws, loss, settings)
        converged = True
    else:
        n_starts = len(plan) + (0 if loss.linear else _N_NEAR)
        # Steps of the bar: the starts, their recombination, the last run.
        total = 2 * n_starts if recombine else n_starts
        bar = make_progress(progress, total, f"minimize {loss.name}", stopper)
        job = _Search(draws, Engine.of(draws, loss), plan, settings, bar, seed)
        try:
            # In a thread of its own, so that this one can wait for Ctrl-C.
            task = job.recombine if recombine else job.greedy
            [(runs, best)] = run_tasks([task], n_jobs=1, stopper=stopper)
        finally:
            bar.close()
        labels, value = best.labels, best.expected_loss
        converged = best.converged and not stopper.flag[0]
    return Estimate(
        labels=labels,
        expected_loss=value,
        loss=loss,
        n_draws=draws.n_draws,
        runs=tuple(runs),
        converged=converged,
        seconds=time.perf_counter() - began,
        items=draws.items,
        interrupted=stopper.interrupted,
        settings=settings,
    )


def _compare(
    draws: Draws, estimates: list[Estimate], settings: Settings, seed: np.random.SeedSequence
) -> Comparison:
    """Set the estimates side by side; one that beats another under the other's loss improves it."""
    rng = np.random.default_rng(seed)
    expected = set_side_by_side(draws, estimates).expected_losses
    improved = []
    for number, mine in enumerate(estimates):
        winner = int(np.argmin(expected[:, number]))
        if expected[winner, number] < mine.expected_loss * (1 - 1e-12):
            engine, labels = Engine.of(draws, mine.loss), estimates[winner].labels
            run = descend(engine, labels, rng, settings, start="other loss")
            better = {"labels": run.labels, "expected_loss": run.expected_loss}
            mine = replace(mine, runs=(*mine.runs, run), **better)
        improved.append(mine)
    return set_side_by_side(draws, improved)


class _Search:
    """One search for one loss: what its phases share."""

    def __init__(
        self,
        draws: Draws,
        full: Engine,
        plan: list[_Start],
        settings: Settings,
        bar: Progress,
        seed: np.random.SeedSequence,
    ) -> None:
        self.draws, self.full, self.plan = draws, full, plan
        self.settings, self.bar, self.seed = settings, bar, seed
        self.stopper = settings.stopper
        first, last, *rest = seed.spawn(2 + len(plan))
        self.subset_rng = np.random.default_rng(first)
        self.final_rng = np.random.default_rng(last)
        self.start_rngs = [np.random.default_rng(child) for child in rest]
        self.best_so_far, self.n_done = np.inf, 0

    def greedy(self) -> tuple[list[Run], Run]:
        """Algorithm 1 from every start."""
        runs = self._run_starts(self.full, max_sweeps=None)
        return runs, min(runs, key=_by_loss)

    def recombine(self) -> tuple[list[Run], Run]:
        """Starts on few draws, recombination, polish on all."""
        linear = self.full.loss.linear
        if not linear:
            self._add_near_starts()
        part = few_draws(self.draws, self.subset_rng, self.full)
        found = self._run_starts(None, max_sweeps=_SWEEPS_BEFORE if linear else None)
        # Each start has draws of its own; to be compared they are valued on the same ones.
        pool = sorted(
            [replace(run, expected_loss=part.value_of(run.labels)) for run in found], key=_by_loss
        )
        best = pool[0]
        for other in pool[1:]:
            merged = self._merge(part, [best, other])
            if merged is None:
                break
            run = self._descend(part, merged, max_sweeps=1 if linear else None)
            best = min(best, run, key=_by_loss)
            self._report(best)
        candidates = [best.labels]
        if not self.stopper.stopped:
            merged = self._merge(self.full, [best, *pool])
            if merged is not None:
                candidates.append(merged)
            if not linear:
                candidates += [run.labels for run in pool]
            pooled = pool_singletons(best.labels)
            if pooled.max() + 1 >= self.settings.k_min:
                candidates.append(pooled)
        final = self._polish(candidates, n=1 if linear else 2)
        self._report(final)
        return [*pool, final], final

    def _add_near_starts(self) -> None:
        """More starts for a loss whose f0 is not linear, where joining is less sure of its way.

        The minimizers of the two linear losses cost little and are near those of all others; the most
        frequent draw is there since a loss may be as rough as the 0-1 loss.
        """
        near = [
            _Start(f"best for {loss.name}", self._linear_minimizer(loss))
            for loss in (losses.vi(), losses.binder())
            if not self.stopper.stopped
        ]
        top = self.draws.distinct[int(self.draws.weights.argmax())].astype(np.int64)
        near.append(_Start("most frequent draw", top))
        self.plan = [*self.plan, *near]
        self.start_rngs += self.final_rng.spawn(len(near))

    def _linear_minimizer(self, loss: Loss) -> IntArray:
        """What this search gives for another, linear, loss."""
        engine = Engine.of(self.draws, loss)
        other = _Search(self.draws, engine, self.plan, self.settings, Progress(), self.seed)
        return other.recombine()[1].labels

    def _run_starts(self, engine: Engine | None, max_sweeps: int | None) -> list[Run]:
        """All starts, in threads; on the given engine, or each on a part of the draws of its own."""
        tasks = [
            partial(self._run_start, engine, start, rng, max_sweeps)
            for start, rng in zip(self.plan, self.start_rngs, strict=True)
        ]
        n_jobs = self.settings.n_jobs
        return run_tasks(tasks, n_jobs=n_jobs, stopper=self.stopper, on_done=self._report)

    def _run_start(
        self, engine: Engine | None, start: _Start, rng: np.random.Generator, max_sweeps: int | None
    ) -> Run:
        if engine is None:
            engine = few_draws(self.draws, rng, self.full)
        if start.labels is None:
            labels = make_start(start.name, self.draws, engine, rng, self.settings, start.base)
        else:
            labels = fit_clusters(start.labels, engine, rng, self.settings)
        return descend(
            engine, labels, rng, self.settings, start=start.name, max_sweeps=max_sweeps
        )

    def _merge(self, engine: Engine, runs: list[Run]) -> IntArray | None:
        """The blocks on which the runs agree, joined; None if stopped, perhaps with too many left."""
        if self.stopper.stopped:
            return None
        merged = engine.merge(common_blocks([run.labels for run in runs]), self.settings)
        return None if self.stopper.flag[0] else merged

    def _descend(self, engine: Engine, labels: IntArray, max_sweeps: int | None) -> Run:
        return descend(
            engine,
            labels,
            self.final_rng,
            self.settings,
            start="recombined",
            max_sweeps=max_sweeps,
        )

    def _polish(self, candidates: list[IntArray], n: int) -> Run:
        """To the end, on all draws, from the best n candidates; the best of these."""
        if self.stopper.stopped:
            value, k = self.full.value_of(candidates[0]), int(candidates[0].max()) + 1
            trace = (Step(value, k),)
            return Run(candidates[0], value, k, "recombined", trace, converged=False, seconds=0.0)
        ranked = sorted(candidates, key=self.full.value_of)
        runs = [self._descend(self.full, labels, max_sweeps=None) for labels in ranked[:n]]
        return min(runs, key=_by_loss)

    def _report(self, run: Run) -> None:
        """Move the bar on."""
        self.best_so_far = min(self.best_so_far, run.expected_loss)
        self.n_done += 1
        info = {"loss": f"{self.best_so_far:.6g}", "clusters": run.n_clusters}
        self.bar.show(self.n_done, info)


def _by_loss(run: Run) -> float:
    return run.expected_loss
