"""The way into the search: it checks the arguments, runs one search per loss and compares the estimates."""

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
"""What `search` may be: the procedures of `phases`."""

EXACT_ITEMS = 7
"""Up to this many items all partitions (877) are tried: it takes milliseconds and proves the optimum."""

# Kinds of starts in the order in which they are used, repeated if more are asked for. Recombination needs
# starts that are good and different, hence mostly draws; the greedy search takes the kinds of the paper.
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
    """Find the partition with the smallest expected posterior loss, including the number of clusters.

    The expected loss of a partition is its mean loss over the draws, equation 2 of Rastelli & Friel (2018):
    psi(a) = sum_t w_t loss(a, z_t) / sum_t w_t. Except for a few items the search is heuristic: it does not
    prove that there is no better partition. `epluribus.certificate` says how much better one could be.

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
        Largest number of clusters. There is no bound by default, which costs no time.
    search : {"recombine", "greedy"}, default "recombine"
        "recombine" combines the results of several starts into a better one. "greedy" is the paper's
        procedure: Algorithm 1 from each start, and the best of the results.
    starts : str, list of str, or labels, optional
        Kinds of starts, taken in turn: "draws", "sequential", "random", "noisy"; or the labels of
        one partition, or of several as rows. A start with too many or too few clusters is made to
        fit.
    n_starts : int, optional
        Number of starts. By default 6, or 9 for "greedy"; if labels are given, as many as there are.
    map_labels : array_like of shape (n_items,), optional
        The partition that "noisy" starts disturb, such as the draw with the highest posterior density.
        By default the best of ten random draws.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same seed gives the same answer.
    progress : bool or callable, default False
        True for a progress bar on a terminal, or a function called as ``(done, total, info)``.
    time_limit : float, optional
        Seconds after which the best partition so far is returned, marked ``converged=False``.
        Ctrl-C has the same effect at any time.

    Returns
    -------
    Estimate
        Labels, expected loss, number of clusters, and the runs of the search; a `Comparison` if
        `loss` is a list.

    Notes
    -----
    With at most 7 items all partitions are tried, unless `search` is "greedy".

    Each sweep takes time O(n_items n_draws K). Memory besides the draws: 6 bytes (10 for a loss whose
    f0 is not linear) per draw, cluster of a draw and cluster of the estimate. Where clusters are many and
    small, neither grows with K: the time is O(n_items n_draws S), with S the mean size of an item's cluster,
    and less where draws share clusters; the memory is at most 8 bytes per draw and item.

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
    >>> epl.minimize(draws, loss="binder", k=3, rng=1).n_clusters
    3
    """
    # Everything is checked before any work begins: a mistake is reported at once, not after minutes.
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
    # One seed for all losses, so that they share the draws searched first and the starts. A SeedSequence
    # counts the children it has spawned, so each loss gets a fresh copy.
    source: Any = generator.bit_generator.seed_seq
    seed = source.spawn(1)[0]
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
    """Smallest and largest number of clusters allowed; None for no bound."""
    # There can never be more clusters than items: a bound that large has no effect.
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
    """The starts to be made, as many as asked for: those given, repeated in turn."""
    count = None if n_starts is None else check_count(n_starts, "n_starts")
    if starts is None:
        starts = _DEFAULT_STARTS[search]
    if isinstance(starts, str):
        starts = [check_choice(starts, STARTS, "starts")]
    if len(starts) == 0:
        raise ValueError(
            f"'starts' must be one or more of {quoted(STARTS)}, or labels; it is empty."
        )
    # Strings may also be the labels of one partition: only names of kinds are taken as kinds.
    if all(isinstance(kind, str) and kind in STARTS for kind in starts):
        kinds = [Start(kind) for kind in starts]
        return list(islice(cycle(kinds), count or _DEFAULT_N_STARTS[search]))
    # Labels of one partition, or of one partition per row.
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
    """The estimate for one loss: by enumeration for a few items, otherwise by a search."""
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
            # In a worker thread, so that this one is free to receive Ctrl-C.
            task = job.recombine if recombine else job.greedy
            [(runs, best)] = run_tasks([task], n_jobs=1, stopper=stopper)
        finally:
            job.bar.close()
        labels, value = best.labels, best.expected_loss
        # The last run may have converged on a partition that earlier phases had no time to improve.
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
    """Set the estimates side by side; where one is better under another's loss, it replaces that one.

    No estimate is then worse, under its own loss, than what was first found for any other loss.
    """
    rng = np.random.default_rng(seed)
    expected = set_side_by_side(draws, estimates).expected_losses
    improved = []
    for number, mine in enumerate(estimates):
        # expected[a, b] is the expected loss of estimate a under loss b. The best one in a column need not
        # be the one that was searched for under this loss.
        winner = int(np.argmin(expected[:, number]))
        if expected[winner, number] < mine.expected_loss * (1 - 1e-12):
            # It is polished for this loss before it takes the place.
            engine, labels = Engine.of(draws, mine.loss), estimates[winner].labels
            run = descend(engine, labels, rng, settings, start="other loss")
            runs, value = (*mine.runs, run), run.expected_loss
            mine = replace(mine, labels=run.labels, expected_loss=value, runs=runs)
        improved.append(mine)
    return set_side_by_side(draws, improved)
