"""The way into the search: it checks the arguments, runs one search per loss and compares the estimates."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopper, resolve_jobs, run_tasks
from epluribus._progress import Progress, ProgressLike, make_progress
from epluribus._typing import DrawsLike, LabelsLike, LossLike, RngLike
from epluribus._validate import check_choice, check_positive, make_rng, quoted, shown
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import matrix_loss
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.estimate import Estimate, Run
from epluribus.losses.base import Loss
from epluribus.partition import by_size, matched
from epluribus.search._exact import MAX_ITEMS, best_of_all, estimate_of, solves
from epluribus.search._greedy import check_bounds, descend
from epluribus.search.comparison import Comparison, set_side_by_side
from epluribus.search.constraints import read_constraints
from epluribus.search.large import LARGE, search_large, searches_few_first
from epluribus.search.pairs import MatrixProblem
from epluribus.search.problem import Problem
from epluribus.search.rounds import Search
from epluribus.search.rules import FAMILIES, loss_of_decided
from epluribus.search.starts import Plan, check_starts, matrix_starts
from epluribus.settings import Settings

SEARCHES = ("recombine", "greedy")
"""What `search` may be."""


def minimize(
    draws: DrawsLike | None = None,
    loss: LossLike | list[LossLike] | tuple[LossLike, ...] | None = None,
    *,
    psm: Any = None,
    k: int | None = None,
    k_min: int | None = None,
    k_max: int | None = None,
    search: str = "recombine",
    starts: str | Sequence[str] | LabelsLike | None = None,
    n_starts: int | None = None,
    map_labels: LabelsLike | None = None,
    must_link: Any = None,
    cannot_link: Any = None,
    sources: Any = None,
    contiguity: Any = None,
    min_size: int | None = None,
    undecided: float | None = None,
    n_jobs: int | None = None,
    rng: RngLike = None,
    progress: ProgressLike = None,
    time_limit: float | None = None,
    client: Any = None,
) -> Any:
    """Find the partition with the smallest expected posterior loss, including the number of clusters.

    The expected loss of a partition is its mean loss over the draws, equation 2 of Rastelli & Friel (2018):
    psi(a) = sum_t w_t loss(a, z_t) / sum_t w_t. Except for a few items the search is heuristic: it does not
    prove that there is no better partition. `epluribus.certificate` says how much better one could be.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; anything `Draws` accepts.
    loss : str, Loss, or a list of them, default "vi" ("vi_lb" for a matrix)
        See `epluribus.losses.available`. With a list, one partition is found for each loss and all
        are compared.
    psm : array_like or SciPy sparse matrix of shape (n_items, n_items), optional
        In place of draws, the probability of every two items that they share a cluster. The loss is then
        "vi_lb", a lower bound of the expected VI (see `losses.vi_lb`), or "binder", for which it is enough.
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
    must_link, cannot_link : list of pairs or groups of items, optional
        Items that must be in one cluster, and items of which no two may be in one. Items are named by
        number, from 0, or by name.
    sources : array_like of shape (n_items,) or mapping, optional
        Where each item comes from: a cluster may have at most one item of each source, as in record linkage.
        None, NaN or "" for an item that may go anywhere.
    contiguity : list of pairs of items, sparse matrix or networkx graph, optional
        Neighbors: every cluster must be connected in this graph.
    min_size : int, optional
        Smallest number of items in a cluster.
    undecided : float, optional
        Cost of leaving an item out, with a label of -1: in bits for VI, in pairs of items for Binder's loss;
        for others it is not defined (see Notes). `undecided_costs` shows what each cost means.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same seed gives the same answer.
    progress : bool or callable, optional
        By default a bar appears, on a terminal or in a notebook, when the work has taken two seconds; True
        shows it at once, False never. A function is called as ``(done, total, info)``.
    time_limit : float, optional
        Seconds after which the best partition so far is returned, marked ``converged=False``. With a time
        limit the search is more patient, and uses the time. Ctrl-C ends it at any time.
    client : distributed.Client, optional
        A Dask cluster whose workers read the draws and hold them, if `draws` is not a `Draws` yet.

    Returns
    -------
    Estimate
        Labels, expected loss, number of clusters, and the runs of the search; a `Comparison` if
        `loss` is a list.

    Notes
    -----
    With at most 12 items the answer is exact (see `exact`), unless `search` is "greedy".

    The search goes on in rounds. Each makes three starts and one partition out of them, without a look at the
    rounds before. It ends when a round ends at the best partition known, which confirms it (three rounds for
    a loss whose f0 is not linear, one more for a small sample), or after 8 rounds in a row that found nothing
    better (6 for a loss whose f0 is not linear, 1 where a sweep over the draws takes longer than some ten
    milliseconds). With a time limit these numbers are ten times larger. The answer is never worse than one
    cluster, all items apart, the most frequent draw, or a given start.

    For VI and other linear losses, five thousand of more than 30,000 items are searched first, and some of
    every group that is too small to be seen among these; for losses that count pairs, such as Binder's, of
    more than 8,000. The others are placed in one pass over the draws, and then single items move until no
    move helps. For losses that are not linear this finds worse partitions: it is done only with draws that
    are not in memory. Such draws are searched in this way whatever their number, so that the answer may
    differ from that for the same draws in memory.

    Constraints are obeyed by every partition that is looked at; draws may break them.

    With `undecided`, the expected loss is that of the n decided items, with the draws restricted to them, and
    what is minimized is (n / N) VI + cost (N - n) / N, or Binder + cost (N - n): an item is left out if it
    would add more than the cost. A higher cost never leaves more items out of the best answer.

    Each sweep takes time O(n_items n_draws K). Memory besides the draws: 8 bytes per draw, cluster of a draw
    and cluster of the estimate. Where clusters are many and small, neither grows with K: the time is
    O(n_items n_draws S), with S the mean size of an item's cluster.

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
    if draws is None and psm is None:
        raise TypeError("'draws' must be given, or a similarity matrix as 'psm'.")
    rules: dict[str, Any] = {
        "must_link": must_link, "cannot_link": cannot_link, "sources": sources,
        "contiguity": contiguity, "min_size": min_size,
    }  # fmt: skip
    sample: Draws | SimilarityMatrix
    if psm is None:
        sample = _local(as_draws(draws, client, progress))
    else:
        others = {
            "draws": draws,
            "client": client,
            "map_labels": map_labels,
            "undecided": undecided,
        }
        for name in [name for name, value in {**others, **rules}.items() if value is not None]:
            raise ValueError(f"'{name}' cannot be given together with 'psm', which has no draws.")
        sample = SimilarityMatrix.of(psm)
    check_choice(search, SEARCHES, "search")
    low, high = check_bounds(k, k_min, k_max, sample.n_items)
    disturbed = None if map_labels is None else matched(map_labels, sample, "map_labels")
    plan = check_starts(starts, n_starts, search, sample, disturbed)
    seed = _child_seed(rng)
    several = isinstance(loss, list | tuple)
    loss = loss if loss is not None else "vi" if psm is None else "vi_lb"
    find = losses.get if psm is None else losses.for_matrix
    chosen = [find(one) for one in (loss if isinstance(loss, list | tuple) else [loss])]
    if not chosen:
        raise ValueError("'loss' must name at least one loss; the list is empty.")
    asked, cost = None, None
    if isinstance(sample, Draws):
        leaves = undecided is not None
        asked = read_constraints(sample, rules, low, high, undecided=leaves)
        cost = check_positive(undecided, "undecided") if leaves else None
        if leaves:
            _check_families(chosen)
            sample.check_complete("Leaving items undecided")
    elif starts is not None and not plan.first:
        raise ValueError(
            f"'starts' must be labels, of one partition or of several, with 'psm'; got {shown(starts)}. "
            "By default starts are made from the matrix."
        )
    settings = Settings(low, high, search, resolve_jobs(n_jobs), asked, cost, Stopper(time_limit))
    # One seed for all losses, so that they share the draws searched first and the starts. A SeedSequence
    # counts the children it has spawned, so each loss gets a fresh copy.
    fresh = partial(np.random.SeedSequence, seed.entropy, spawn_key=seed.spawn_key)
    found = [solve(sample, one, plan, settings, progress, fresh()) for one in chosen]
    return _compared(sample, found, settings, seed) if several else found[0]


def _local(draws: Draws) -> Draws:
    """Draws of not very many items are searched here, as if they had been read here."""
    apart = not draws.store.in_one_piece and draws.n_items <= LARGE
    return draws.to_local() if apart else draws


def _child_seed(rng: RngLike) -> np.random.SeedSequence:
    """The seed of all losses of one search."""
    source: Any = make_rng(rng).bit_generator.seed_seq
    seed: np.random.SeedSequence = source.spawn(1)[0]
    return seed


def _check_families(chosen: list[Loss]) -> None:
    """Raise an error if the cost of an undecided item is not defined for the losses."""
    if len(chosen) > 1:
        raise ValueError(
            "'loss' must be one loss with 'undecided', since estimates that leave out different "
            f"items cannot be compared; got {len(chosen)}. Call minimize once for each."
        )
    if chosen[0].family not in FAMILIES:
        raise ValueError(
            f"'undecided' must be used with {quoted(FAMILIES)}, sums over items or pairs; got "
            f"'{chosen[0].name}', which may rise when an item is left out."
        )


def solve(
    sample: Draws | SimilarityMatrix,
    loss: Loss,
    plan: Plan,
    settings: Settings,
    progress: ProgressLike,
    seed: np.random.SeedSequence,
) -> Estimate:
    """The estimate for one loss: by enumeration for a few items, otherwise by a search."""
    began, stopper, few = time.perf_counter(), settings.stopper, sample.n_items <= MAX_ITEMS
    if (
        isinstance(sample, Draws)
        and few
        and settings.search == "recombine"
        and solves(sample, loss)
    ):
        return estimate_of(sample, loss, settings, best_of_all(sample, loss, settings), began)
    bar = make_progress(progress, plan.n_starts, f"minimize {loss.name}", stopper)
    try:
        # In a worker thread, so that this one is free to receive Ctrl-C.
        task = partial(_search, sample, loss, plan, settings, bar, seed)
        [(runs, best)] = run_tasks([task], n_jobs=1, stopper=stopper)
    finally:
        bar.close()
    value = best.expected_loss
    if isinstance(sample, SimilarityMatrix):
        value = matrix_loss(best.labels, sample.matrix, loss)
    elif settings.undecided is not None:
        value = loss_of_decided(best.labels, sample, loss)
    # The last run may have converged on a partition that earlier steps had no time to improve.
    converged = best.converged and not stopper.flag[0]
    return estimate_of(sample, loss, settings, (best.labels, value), began, runs, converged)


def _search(
    sample: Draws | SimilarityMatrix,
    loss: Loss,
    plan: Plan,
    settings: Settings,
    bar: Progress,
    seed: np.random.SeedSequence,
) -> tuple[list[Run], Run]:
    """The runs of a search, and the last or the best of them."""
    recombine, n_draws = settings.search == "recombine", 0
    if isinstance(sample, SimilarityMatrix):
        problem: Any = MatrixProblem(sample.matrix, loss)
        starts = matrix_starts(problem, plan.first, np.random.default_rng(seed.spawn(1)[0]))
    else:
        whole = recombine and settings.free
        if whole and searches_few_first(sample, loss, LARGE, settings):
            run = search_large(sample, loss, plan, settings, seed, bar)
            if run is not None:
                return [run], run
        problem, starts, n_draws = Problem.of(sample, loss), plan.starts(), sample.n_draws
    search = Search(problem, starts, plan.n_starts, settings, seed, bar, n_draws)
    return search.recombine() if recombine else search.greedy()


def minimize_within(
    draws: Draws,
    loss: LossLike,
    seconds: float | None,
    *,
    rng: RngLike = None,
    n_jobs: int | None = None,
) -> Estimate:
    """What ``minimize(draws, loss, rng=rng)`` finds, or the best by the time limit.

    With a time limit `minimize` is more patient and uses the time, as someone who gives one expects. A step
    of a report or of the search for modes is not to take longer because it may not take forever.
    """
    plan = check_starts(None, None, "recombine", draws, None)
    settings = Settings(n_jobs=resolve_jobs(n_jobs), stopper=Stopper(seconds, patient=False))
    return solve(_local(draws), losses.get(loss), plan, settings, None, _child_seed(rng))


def _compared(
    sample: Draws | SimilarityMatrix,
    estimates: list[Estimate],
    settings: Settings,
    seed: np.random.SeedSequence,
) -> Comparison:
    """Set the estimates side by side; where one is better under another's loss, it replaces that one.

    No estimate is then worse, under its own loss, than that for any other loss.
    """
    now, improved, found = set_side_by_side(sample, estimates), [], False
    if isinstance(sample, SimilarityMatrix):
        return now
    expected, rng = now.expected_losses, np.random.default_rng(seed)
    for number, mine in enumerate(estimates):
        # expected[a, b] is the expected loss of estimate a under loss b. The best one in a column need not
        # be the one that was searched for under this loss.
        winner = int(np.argmin(expected[:, number]))
        # Both from the same table: the loss that the search reports is summed in another order.
        if expected[winner, number] < expected[number, number] * (1 - 1e-9):
            # It is polished for this loss before it takes the place.
            problem, labels = Problem.of(sample, mine.loss), estimates[winner].labels
            run = descend(problem, labels, rng, settings, sample.n_draws, "other loss")
            runs, value = (*mine.runs, run), run.expected_loss
            mine = replace(mine, labels=by_size(run.labels), expected_loss=value, runs=runs)
            found = True
        improved.append(mine)
    # What was found for one loss may help another: until nothing changes.
    return _compared(sample, improved, settings, seed) if found else now
