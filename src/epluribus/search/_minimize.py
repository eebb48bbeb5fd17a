"""The way into the search: it checks the arguments, runs one search per loss and compares the estimates."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, cycle
from typing import Any, NamedTuple, overload

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopper, resolve_jobs, run_tasks
from epluribus._progress import Progress, ProgressLike, make_progress
from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike, RngLike
from epluribus._validate import check_choice, check_count, make_rng, quoted
from epluribus.draws import Draws, as_draws
from epluribus.draws.dask_store import DaskStore
from epluribus.engine import Engine, Settings
from epluribus.engine.gpu_passes import CupyDevice
from epluribus.estimate import Estimate, Run
from epluribus.losses.base import Loss
from epluribus.partition import as_labels, is_estimate
from epluribus.search._exact import MAX_ITEMS, best_of_all
from epluribus.search._greedy import check_bounds, descend
from epluribus.search.comparison import Comparison, set_side_by_side
from epluribus.search.large import LARGE, LargeSearch, searches_few_first
from epluribus.search.phases import Search, Start
from epluribus.search.sample import Sample
from epluribus.search.starts import STARTS

SEARCHES = ("recombine", "greedy")
"""What `search` may be: the procedures of `phases`."""

ENGINES = ("cpu", "gpu")
"""What `engine` may be."""

EXACT_ITEMS = MAX_ITEMS
"""Up to this many items the optimum is found with proof, in milliseconds."""

# Kinds of starts in the order in which they are used, repeated if more are asked for. Recombination needs
# starts that are good and different, hence mostly draws; the greedy search takes the kinds of the paper.
_DEFAULT_STARTS = {
    "recombine": (
        "draws",
        "draws",
        "together",
        "draws",
        "draws",
        "sequential",
        "draws",
        "random",
        "noisy",
    ),
    "greedy": ("random", "noisy", "draws"),
}
_DEFAULT_N_STARTS = {"recombine": 6, "greedy": 9}


@overload
def minimize(
    draws: DrawsLike,
    loss: LossLike = ...,
    *,
    k: int | None = ...,
    k_min: int | None = ...,
    k_max: int | None = ...,
    search: str = ...,
    starts: str | Sequence[str] | LabelsLike | None = ...,
    n_starts: int | None = ...,
    map_labels: LabelsLike | None = ...,
    n_jobs: int | None = ...,
    rng: RngLike = ...,
    progress: ProgressLike = ...,
    time_limit: float | None = ...,
    client: Any = ...,
    engine: str = ...,
) -> Estimate: ...
@overload
def minimize(
    draws: DrawsLike,
    loss: list[LossLike] | tuple[LossLike, ...],
    *,
    k: int | None = ...,
    k_min: int | None = ...,
    k_max: int | None = ...,
    search: str = ...,
    starts: str | Sequence[str] | LabelsLike | None = ...,
    n_starts: int | None = ...,
    map_labels: LabelsLike | None = ...,
    n_jobs: int | None = ...,
    rng: RngLike = ...,
    progress: ProgressLike = ...,
    time_limit: float | None = ...,
    client: Any = ...,
    engine: str = ...,
) -> Comparison: ...
def minimize(
    draws: DrawsLike,
    loss: LossLike | list[LossLike] | tuple[LossLike, ...] = "vi",
    *,
    k: int | None = None,
    k_min: int | None = None,
    k_max: int | None = None,
    search: str = "recombine",
    starts: str | Sequence[str] | LabelsLike | None = None,
    n_starts: int | None = None,
    map_labels: LabelsLike | None = None,
    n_jobs: int | None = None,
    rng: RngLike = None,
    progress: ProgressLike = False,
    time_limit: float | None = None,
    client: Any = None,
    engine: str = "cpu",
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
    k_min : int, optional
        Smallest number of clusters.
    k_max : int, optional
        Largest number of clusters. There is no bound by default, which costs no time.
    search : {"recombine", "greedy"}, default "recombine"
        "recombine" combines the results of several starts into a better one. "greedy" is the paper's
        procedure: Algorithm 1 from each start, and the best of the results.
    starts : str, list of str, or labels, optional
        Kinds of starts, taken in turn: "draws", "sequential", "random", "noisy", "together"; or the
        labels of one partition, or of several as rows, with which the search then begins. A start with
        too many or too few clusters is made to fit.
    n_starts : int, optional
        Number of starts, at least: the search goes on while it finds better partitions. More starts never
        give a worse answer. By default 6; for "greedy" exactly this many, by default 9. If labels are
        given, as many as there are.
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
        Seconds after which the best partition so far is returned, marked ``converged=False``. With a time
        limit the search is more patient, and uses the time. Ctrl-C ends it at any time.
    client : distributed.Client, optional
        A Dask cluster whose workers read the draws and hold them, if `draws` is not a `Draws` yet.
    engine : {"cpu", "gpu"}, default "cpu"
        What makes the passes over more than 50,000 items (see Notes): threads, or a GPU. The answer is the
        same.

    Returns
    -------
    Estimate
        Labels, expected loss, number of clusters, and the runs of the search; a `Comparison` if
        `loss` is a list.

    Notes
    -----
    With at most 12 items the answer is exact (see `exact`), unless `search` is "greedy".

    The search goes on in rounds. Each makes three starts and one partition out of them, without a look at
    the rounds before. It ends when a round ends at the best partition known, which confirms it (two rounds
    for a loss whose f0 is not linear, one more for a small sample), or after 8 rounds in a row that found
    nothing better, or 1 where a sweep over the draws takes longer than some ten milliseconds. With a time
    limit these numbers are ten times larger. The answer is never worse than one cluster, all items apart, or
    a given start; nor than a draw, as far as a comparison of each with a few others can tell. It does not
    depend on the order of items and draws (up to 20 million labels).

    For VI and other linear losses, ten thousand of more than 50,000 items are searched first, and some of
    every group that is too small to be seen among these. The others are placed in one pass over the draws,
    and then single items move until no move helps. For losses that count pairs, such as Binder's, and for
    those that are not linear, this finds worse partitions: it is done only with draws that are not in memory.

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
    check_choice(engine, ENGINES, "engine")
    if engine == "gpu":
        CupyDevice()  # an error now, not after the draws have been read
    sample = as_draws(draws, client)
    if isinstance(sample.store, DaskStore):
        if engine == "gpu":
            raise ValueError('\'engine\' must be "cpu" with draws on a Dask cluster; got "gpu".')
        if sample.n_items <= LARGE:  # searched here, as if they had been read here
            sample = sample.brought_here()
    check_choice(search, SEARCHES, "search")
    low, high = check_bounds(k, k_min, k_max, sample.n_items)
    disturbed = None
    if map_labels is not None:
        disturbed = as_labels(map_labels, sample.n_items, argument="map_labels")
    plan = _check_starts(starts, n_starts, search, sample.n_items, disturbed)
    generator = make_rng(rng)
    several = isinstance(loss, list | tuple)
    chosen = [losses.get(one) for one in (loss if isinstance(loss, list | tuple) else [loss])]
    if not chosen:
        raise ValueError("'loss' must name at least one loss; the list is empty.")
    settings = Settings(low, high, search, resolve_jobs(n_jobs), engine, Stopper(time_limit))
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
    if several:
        compared = _compare(sample, found, settings, seed)
        for estimate in compared:
            estimate.remember(sample)
        return compared
    return found[0].remember(sample)


class Plan(NamedTuple):
    """The starts of a search."""

    first: tuple[Start, ...]
    """Starts made once, at the beginning: labels that were given."""
    kinds: tuple[Start, ...]
    """Kinds of starts made after them, in turn, as long as the search goes on."""
    n_starts: int
    """Number of starts, at least."""

    def starts(self) -> Iterator[Start]:
        """The starts, without end."""
        return chain(self.first, cycle(self.kinds))


def _check_starts(
    starts: Any, n_starts: int | None, search: str, n_items: int, disturbed: IntArray | None
) -> Plan:
    """The starts that are asked for."""
    wanted = None if n_starts is None else check_count(n_starts, "n_starts")
    first: tuple[Start, ...] = ()
    kinds: Sequence[str] = _DEFAULT_STARTS[search]
    if isinstance(starts, str):
        kinds = [check_choice(starts, STARTS, "starts")]
    elif starts is not None:
        rows = list(starts) if not is_estimate(starts) else [starts]
        if not rows:
            raise ValueError(
                f"'starts' must be one or more of {quoted(STARTS)}, or labels; it is empty."
            )
        # Strings may also be the labels of one partition: only names of kinds are taken as kinds.
        if all(isinstance(kind, str) and kind in STARTS for kind in rows):
            kinds = rows
        else:
            first = _given(starts, rows, n_items)
            # The paper's procedure starts from the given labels alone; they are repeated if need be.
            kinds = () if search == "greedy" else kinds
    made = tuple(Start(kind, base=disturbed if kind == "noisy" else None) for kind in kinds)
    n = len(first) or _DEFAULT_N_STARTS[search]
    return Plan(first, made or first, wanted or n)


def _given(starts: Any, rows: list[Any], n_items: int) -> tuple[Start, ...]:
    """The labels of one partition, or of one partition per row."""
    if hasattr(starts, "to_numpy"):  # a data frame iterates over its columns, not over its rows
        starts = starts.to_numpy()
        rows = list(starts)
    several = all(is_estimate(one) or np.ndim(one) > 0 for one in rows) and not is_estimate(starts)
    column = getattr(starts, "ndim", 1) == 2 and starts.shape[1] == 1 and n_items > 1
    partitions = rows if several and not column else [starts]
    return tuple(Start("given", as_labels(one, n_items, argument="starts")) for one in partitions)


def _solve(
    draws: Draws,
    loss: Loss,
    plan: Plan,
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
        bar = make_progress(progress, plan.n_starts, f"minimize {loss.name}", stopper)
        try:
            # In a worker thread, so that this one is free to receive Ctrl-C.
            task = partial(_search, draws, loss, plan, settings, bar, seed)
            [(runs, best)] = run_tasks([task], n_jobs=1, stopper=stopper)
        finally:
            bar.close()
        labels, value = best.labels, best.expected_loss
        # The last run may have converged on a partition that earlier phases had no time to improve.
        converged = best.converged and not stopper.flag[0]
    return Estimate(
        labels=labels,
        expected_loss=value,
        loss=loss,
        n_draws=runs[-1].n_draws if runs else draws.n_draws,
        runs=tuple(runs),
        converged=converged,
        seconds=time.perf_counter() - began,
        items=draws.items,
        interrupted=stopper.interrupted,
        settings=settings,
    )


def _search(
    draws: Draws,
    loss: Loss,
    plan: Plan,
    settings: Settings,
    bar: Progress,
    seed: np.random.SeedSequence,
) -> tuple[list[Run], Run]:
    """The runs of a search, and the last or the best of them."""
    if settings.search == "recombine" and searches_few_first(draws, loss, LARGE):
        given = [start.labels for start in plan.first if start.labels is not None]
        job = LargeSearch.of(draws, loss, settings, seed, bar)
        if job is not None:
            run = job.run(plan.starts(), plan.n_starts, given)
            return [run], run
    # The random choices of a search do not depend on the order of items and draws.
    sample = Sample.of(draws)
    starts = (start.taken(sample) for start in plan.starts())
    search = Search(sample, sample.engine(loss), starts, plan.n_starts, settings, seed)
    search.bar = bar
    runs, best = search.recombine() if settings.search == "recombine" else search.greedy()

    def given_back(run: Run) -> Run:
        return replace(run, labels=sample.give_back(run.labels))

    return [given_back(run) for run in runs], given_back(best)


def _compare(
    draws: Draws, estimates: list[Estimate], settings: Settings, seed: np.random.SeedSequence
) -> Comparison:
    """Set the estimates side by side; where one is better under another's loss, it replaces that one.

    No estimate is then worse, under its own loss, than that for any other loss.
    """
    rng = np.random.default_rng(seed)
    expected = set_side_by_side(draws, estimates).expected_losses
    improved, found = [], False
    for number, mine in enumerate(estimates):
        # expected[a, b] is the expected loss of estimate a under loss b. The best one in a column need not
        # be the one that was searched for under this loss.
        winner = int(np.argmin(expected[:, number]))
        if expected[winner, number] < mine.expected_loss * (1 - 1e-12):
            # It is polished for this loss before it takes the place.
            engine, labels = Engine.of(draws, mine.loss), estimates[winner].labels
            n_draws = draws.n_draws
            run = descend(engine, labels, rng, settings, n_draws=n_draws, start="other loss")
            runs, value = (*mine.runs, run), run.expected_loss
            mine = replace(mine, labels=run.labels, expected_loss=value, runs=runs)
            found = True
        improved.append(mine)
    # What was found for one loss may help another: until nothing changes.
    return _compare(draws, improved, settings, seed) if found else set_side_by_side(draws, improved)
