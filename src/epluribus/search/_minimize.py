"""The front door of the search: arguments checked, one search for each loss, estimates compared."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import Any, overload

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopper, resolve_jobs, run_tasks
from epluribus._progress import ProgressLike, make_progress
from epluribus._typing import DrawsLike, LabelsLike, LossLike, RngLike
from epluribus._validate import check_choice, check_count, make_rng, quoted
from epluribus.draws import Draws, as_draws
from epluribus.engine import Engine, Settings
from epluribus.estimate import Comparison, Estimate, Run, set_side_by_side
from epluribus.losses.base import Loss
from epluribus.partition import as_labels
from epluribus.search._exact import best_of_all
from epluribus.search._greedy import check_k_max, descend
from epluribus.search.phases import Search, Start
from epluribus.search.starts import STARTS

SEARCHES = ("recombine", "greedy")

EXACT_ITEMS = 7
"""Up to this many items all partitions (877) are tried: it takes milliseconds and proves the optimum."""

_DEFAULT_STARTS = {
    "recombine": ("draws", "draws", "sequential", "draws", "draws", "draws", "random", "noisy"),
    "greedy": ("random", "noisy", "draws"),
}
_DEFAULT_N_STARTS = {"recombine": 6, "greedy": 9}


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
        plan = [
            start._replace(base=disturbed) if start.name == "noisy" else start for start in plan
        ]
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


def _check_starts(starts: Any, n_starts: int | None, search: str, n_items: int) -> list[Start]:
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
        kinds = [Start(kind) for kind in starts]
        return list(islice(cycle(kinds), count or _DEFAULT_N_STARTS[search]))
    # Labels: those of one partition, or one partition per row.
    rows = starts if np.ndim(starts[0]) else [starts]
    given = [Start("given", as_labels(row, n_items, argument="starts")) for row in rows]
    return list(islice(cycle(given), count or len(given)))


def _solve(
    draws: Draws,
    loss: Loss,
    plan: list[Start],
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
        job = Search(draws, Engine.of(draws, loss), plan, settings, seed)
        job.bar = make_progress(progress, job.n_steps, f"minimize {loss.name}", stopper)
        try:
            # In a thread of its own, so that this one can wait for Ctrl-C.
            task = job.recombine if recombine else job.greedy
            [(runs, best)] = run_tasks([task], n_jobs=1, stopper=stopper)
        finally:
            job.bar.close()
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
        # The estimate that is best under this loss need not be the one that was searched for it.
        winner = int(np.argmin(expected[:, number]))
        if expected[winner, number] < mine.expected_loss * (1 - 1e-12):
            engine, labels = Engine.of(draws, mine.loss), estimates[winner].labels
            run = descend(engine, labels, rng, settings, start="other loss")
            runs, value = (*mine.runs, run), run.expected_loss
            mine = replace(mine, labels=run.labels, expected_loss=value, runs=runs)
        improved.append(mine)
    return set_side_by_side(draws, improved)
