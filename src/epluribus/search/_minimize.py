"""The way into the search: it checks the arguments, chooses how to search, and makes the estimate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopper, resolve_jobs, run_tasks
from epluribus._progress import Progress, ProgressLike
from epluribus._typing import DrawsLike, LabelsLike, LossLike, RngLike
from epluribus._validate import check_choice, check_positive, make_rng, quoted, shown
from epluribus.constraints import Constraints, read_constraints
from epluribus.draws import Draws, as_draws
from epluribus.draws.expected import SimilarityMatrix, matrix_loss
from epluribus.estimate import Estimate, Run
from epluribus.losses.base import Loss
from epluribus.search._exact import MAX_ITEMS, best_of_all, estimate_of, solves
from epluribus.search.constrained import FAMILIES, loss_of_decided
from epluribus.search.large import LARGE, search_large, searches_few_first
from epluribus.search.pairs import MOST_ITEMS, MatrixProblem
from epluribus.search.problem import Problem
from epluribus.search.rounds import Search
from epluribus.search.starts import Plan, check_starts
from epluribus.settings import Settings, check_bounds

SEARCHES = ("recombine", "greedy")
"""What `search` may be."""


def minimize(
    draws: DrawsLike | None = None,
    loss: LossLike = "vi",
    *,
    k: int | None = None,
    k_min: int | None = None,
    k_max: int | None = None,
    constraints: Constraints | None = None,
    undecided: float | None = None,
    psm: Any = None,
    starts: str | Sequence[str] | LabelsLike | None = None,
    n_starts: int | None = None,
    search: str = "recombine",
    rng: RngLike = None,
    n_jobs: int | None = None,
    time_limit: float | Stopper | None = None,
    progress: ProgressLike = None,
) -> Estimate:
    """Find the partition with the smallest expected posterior loss, including the number of clusters.

    The expected loss is the mean loss over the draws, equation 2 of Rastelli & Friel (2018). With at most 12
    items the answer is exact; otherwise the search is heuristic, and `epluribus.certificate` says how much
    better a partition could be. `minimize_all` takes several losses.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; anything `Draws` accepts.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k, k_min, k_max : int, optional
        Exact, smallest and largest number of clusters; no bounds by default.
    constraints : Constraints, optional
        Items together or apart, connected clusters, a smallest size. Draws may break them.
    undecided : float, optional
        Cost of leaving an item out, with a label of -1: in bits for VI, in pairs of items for Binder's loss.
    psm : array_like, SciPy sparse matrix, or file of shape (n_items, n_items), optional
        In place of draws, the probability of every two items that they share a cluster. It is enough for
        "binder", and for "vi_lb", a lower bound of the expected VI, which takes the place of "vi".
    starts : str, list of str, or labels, optional
        Kinds of starts, taken in turn: "draws", "sequential", "random", "noisy", "together"; or the labels
        of one partition, or of several as rows: the answer is then never worse than these.
    n_starts : int, optional
        Number of starts, at least; exactly this many for "greedy". More never give a worse answer.
    search : {"recombine", "greedy"}, default "recombine"
        "recombine" combines the results of several starts into a better one. "greedy" is the paper's
        procedure: Algorithm 1 from each start, and the best of the results.
    rng : int, Generator or SeedSequence, optional
        Source of randomness: the same seed gives the same answer.
    n_jobs : int, optional
        Threads; all cores by default, or with -1. The answer does not depend on it.
    time_limit : float, optional
        Seconds after which the best partition so far is returned, marked ``converged=False``. The search
        uses the time: it goes on longer than without a limit. Ctrl-C ends it at any time.
    progress : bool or callable, optional
        By default a bar appears when the work has taken two seconds; True shows it at once, False never.
        A function is called as ``(done, total, info)``.

    Returns
    -------
    Estimate
        Labels, expected loss, number of clusters, and the runs of the search.

    Notes
    -----
    The search goes on in rounds of starts, until the best partition known was found again, or several rounds
    found nothing better. The answer is never worse than one cluster, all items apart, the most frequent draw,
    or a given start. A sweep takes time O(n_items n_draws K). Of more than 30,000 items (8,000 for Binder's
    loss) some are searched first, and the others are placed by them.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = epl.Draws([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    >>> best = epl.minimize(draws, rng=1)
    >>> best.labels
    array([0, 0, 0, 1, 1])
    >>> epl.minimize(draws, "binder", k=3, rng=1).n_clusters
    3
    """
    # Everything is checked before any work begins: a mistake is reported at once, not after minutes.
    if isinstance(loss, list | tuple):
        raise TypeError(
            f"'loss' must be one loss, by name or a Loss; got {shown(loss)}. minimize_all takes several."
        )
    source: Any = make_rng(rng).bit_generator.seed_seq
    seed = source.spawn(1)[0]
    sample: Draws | SimilarityMatrix
    if psm is not None:
        given = {"draws": draws, "constraints": constraints, "undecided": undecided}
        for name in [name for name, value in given.items() if value is not None]:
            raise ValueError(f"'{name}' cannot be given together with 'psm', which has no draws.")
        sample, chosen = SimilarityMatrix.of(psm), losses.for_matrix(loss)
    elif draws is not None:
        sample, chosen = as_draws(draws, LARGE), losses.get(loss)
    else:
        raise TypeError("'draws' must be given, or a similarity matrix as 'psm'.")
    check_choice(search, SEARCHES, "search")
    low, high = check_bounds(k, k_min, k_max, sample.n_items)
    plan, rules, cost = check_starts(starts, n_starts, search, sample), None, None
    if isinstance(sample, Draws):
        if constraints is not None:
            rules = read_constraints(
                constraints, sample, low, high, undecided=undecided is not None
            )
        if undecided is not None:
            cost = check_positive(undecided, "undecided")
            sample.check_complete("Leaving items undecided")
            if chosen.family not in FAMILIES:
                raise ValueError(
                    f"'undecided' must be used with {quoted(FAMILIES)}, sums over items or pairs; got "
                    f"'{chosen.name}', which may rise when an item is left out."
                )
    elif starts is not None and not plan.first:
        raise ValueError(
            f"'starts' must be labels, of one partition or of several, with 'psm'; got {shown(starts)}. "
            "By default starts are made from the matrix."
        )
    stopper = time_limit if isinstance(time_limit, Stopper) else Stopper(time_limit)
    settings = Settings(low, high, search, resolve_jobs(n_jobs), rules, cost, stopper)
    began, few = time.perf_counter(), sample.n_items <= MAX_ITEMS and search == "recombine"
    if isinstance(sample, Draws) and few and solves(sample, chosen):
        return estimate_of(sample, chosen, settings, best_of_all(sample, chosen, settings), began)
    bar = Progress(progress, plan.n_starts, f"minimize {chosen.name}", stopper)
    try:
        # In a worker thread, so that this one is free to receive Ctrl-C.
        task = partial(_search, sample, chosen, plan, settings, bar, seed)
        [(runs, best)] = run_tasks([task], n_jobs=1, stopper=stopper)
    finally:
        bar.close()
    value = best.expected_loss
    if isinstance(sample, SimilarityMatrix):
        value = matrix_loss(best.labels, sample.matrix, chosen)
    elif cost is not None:
        value = loss_of_decided(best.labels, sample, chosen)
    # The last run may have converged on a partition that earlier steps had no time to improve.
    converged = best.converged and not stopper.flag[0]
    return estimate_of(sample, chosen, settings, (best.labels, value), began, runs, converged)


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
    else:
        many = sample.n_items > min(LARGE, MOST_ITEMS) or not sample.store.in_one_piece
        if (
            many
            and recombine
            and settings.free
            and searches_few_first(sample, loss, LARGE, settings)
        ):
            run = search_large(sample, loss, plan, settings, seed, bar)
            if run is not None:
                return [run], run
        problem, n_draws = Problem.of(sample, loss), sample.n_draws
    search = Search(problem, plan, settings, seed, bar, n_draws)
    return search.recombine() if recombine else search.greedy()


def minimize_within(
    draws: Draws, loss: LossLike, seconds: float | None, *, rng: RngLike = None, n_jobs: int | None = None
) -> Estimate:  # fmt: skip
    """What ``minimize(draws, loss, rng=rng)`` finds, or the best by the time limit.

    With a time limit `minimize` is more patient and uses the time, as someone who gives one expects. A step
    of a report or of the search for modes is not to take longer because it may not take forever.
    """
    limit = Stopper(seconds, patient=False)
    return minimize(draws, loss, rng=rng, n_jobs=n_jobs, time_limit=limit, progress=False)
