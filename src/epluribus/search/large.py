"""The search for very many items: a few of them first, then all the others.

1. *Few items*: five thousand random items, and some of every group that is too small to be seen among these, are
   searched with all draws, as any sample is (`rounds.py`).
2. *Assign*: every other item goes where it costs least given these, in one pass over the draws.
3. *Refine*: items move, and clusters are joined, until no single item would move (`refine.py`).

Losses that are not linear are searched in this way only where the draws are not in memory: their few items are assigned
by VI, and stay there.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopped
from epluribus._progress import Progress
from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.draws.rows import Labels
from epluribus.estimate import Run, Step
from epluribus.losses.base import Loss
from epluribus.partition import relabel
from epluribus.search.pairs import MOST_ITEMS, counts_pairs
from epluribus.search.problem import Problem
from epluribus.search.refine import COLUMNS, LargeRefiner
from epluribus.search.rounds import Search
from epluribus.search.starts import Plan, few_clusters, fit_clusters
from epluribus.settings import Settings

LARGE = 50_000
"""Items of draws on a cluster up to which these are brought here, and searched as if they had been read here."""
_FEW = 5000
"""Random items searched first."""
_MOST = 30_000
"""Items searched first, at most: with more small groups, all items are searched at once."""
DRAWS = 16
"""Draws in which small groups are sought."""
_QUICK = 10**9
"""Labels in memory up to which the loss of a partition takes a second or two, even after the time limit."""


def searches_few_first(draws: Draws, loss: Loss, most: int, settings: Settings) -> bool:
    """Whether a few items are searched first: if it pays, or if nothing else is possible."""
    if draws.has_missing:  # one table in memory is needed
        return False
    groups, n = draws.store.groups, draws.n_items
    # With 30,000 items and 200 draws it takes half the time, 0.3 s.
    most = min(most, 30_000)
    if settings.most(n) > COLUMNS * groups and counts_pairs(loss, n):
        # With more items the matrix of all pairs would be large, and sweeps over many small clusters are slow. Of
        # groups of two items or so all would have to be seen.
        most = min(most, max(MOST_ITEMS, groups**2 // 2))
    # Losses that are not linear have partitions far apart that are nearly as good as each other: a few items
    # do not show them.
    return (n > most and loss.linear) or not draws.store.in_one_piece


def few_items(columns: Labels, rng: np.random.Generator) -> IntArray | None:
    """Items to be searched first, sorted, given some draws; None if there would be too many."""
    n = len(columns)
    order, chosen = rng.permutation(n), np.zeros(n, dtype=np.bool_)
    chosen[order[:_FEW]] = True
    for labels in columns.T:
        # The items by group, in random order within each, and their places there.
        items, sizes = order[np.argsort(labels[order], kind="stable")], np.bincount(labels)
        place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        chosen[items[place < 10]] = True  # so that small clusters are found
        if np.count_nonzero(chosen) > _MOST:
            return None
    return np.flatnonzero(chosen)


def search_large(
    draws: Draws, loss: Loss, plan: Plan, settings: Settings, seed: np.random.SeedSequence,
    bar: Progress,
) -> Run | None:  # fmt: skip
    """The best partition found by way of a few items; None if too many groups are small."""
    began, stopper = time.perf_counter(), settings.stopper
    rng, store = np.random.default_rng(seed.spawn(1)[0]), draws.store.hearing(stopper)
    n = min(DRAWS, int(np.count_nonzero(draws.shares)))
    some = np.sort(rng.choice(draws.n_distinct, n, False, draws.shares))
    try:
        few_draws = Problem(store.columns(some), np.ones(n), loss)
    except Stopped:  # there is no partition at all that could be returned
        stopper.check()
        raise TimeoutError(
            "'time_limit' was over before the workers of the Dask cluster had sent a single draw."
        ) from None
    items = few_items(few_draws.table, rng)
    if items is None or settings.k_min > len(items):
        return None
    # Costs that are no sums over draws cannot be added up: items are then assigned as under VI.
    linear = loss if loss.linear else losses.vi()
    refiner = LargeRefiner(draws, draws.weights, linear, rng, settings, bar)
    labels: IntArray | None
    value: float | None
    try:
        best, n_done = _search_few(items, refiner, loss, plan, seed, bar)
        labels, value, converged = refiner.assign(items, best, n_done), None, False
        if loss.linear:
            labels, value, converged = _refined(labels, refiner, plan)
    except Stopped:
        labels, value, converged = refiner.labels, refiner.value, False
    if labels is None:
        labels = fit_clusters(relabel(few_draws.draw(0)), few_draws, rng, settings)
    labels, n_draws, converged = relabel(labels), draws.n_draws, converged and not stopper.stopped
    quick = store.in_one_piece and store.n_items * store.n_distinct <= _QUICK
    if value is None and stopper.stopped and not quick:
        value, n_draws = few_draws.expected(labels), few_draws.n_draws
    elif value is None:
        value = draws.mean(draw_losses(labels, draws, loss))
    bar.grow(int(refiner.n_done))
    bar.show(int(refiner.n_done), {})
    k, seconds = int(labels.max()) + 1, time.perf_counter() - began
    return Run(labels, value, k, "few items", (Step(value, k),), converged, seconds, n_draws)


def _search_few(
    items: IntArray, refiner: LargeRefiner, loss: Loss, plan: Plan,
    seed: np.random.SeedSequence, bar: Progress,
) -> tuple[IntArray, int]:  # fmt: skip
    """The best partition of the few items in all draws, and the number of steps of the bar."""
    settings, weights = refiner.settings, refiner.weights
    problem = Problem(refiner.store.rows(items), weights, loss)

    def among(labels: IntArray | None) -> IntArray | None:
        return None if labels is None else relabel(labels[items])

    # Joining very many clusters until there are no more than allowed would take too long.
    starts = (
        start._replace(labels=among(start.labels))
        for start in plan.starts()
        if start.labels is None or refiner.has_tables(start.labels)
    )
    # The other items are assigned in the rest of the time.
    with settings.stopper.for_a_share(1 / 3) as stopper:
        settings = replace(settings, stopper=stopper)
        # Items that a loss wants alone are found when all are refined: large clusters are enough.
        own = few_clusters(settings, problem) if refiner.pairs else settings
        expensive = refiner.pairs or None
        search = Search(problem, starts, plan.n_starts, own, seed, bar, expensive=expensive)
        _, best = search.recombine()
    return best.labels, search.n_done


def _refined(
    labels: IntArray, refiner: LargeRefiner, plan: Plan
) -> tuple[IntArray, float | None, bool]:
    """The refined partition, its expected loss if it is known, and whether no item would move.

    It is never worse than partitions that anybody would try, within the bounds on K: given ones, the most frequent
    draw, one cluster, and all items apart.
    """
    draws, settings, n = refiner.draws, refiner.settings, len(labels)
    labels, converged = refiner.refine(labels)
    value = refiner.expected(labels) if refiner.value is None else refiner.value
    known = [relabel(one.labels) for one in plan.first if one.labels is not None]
    if np.ptp(draws.weights) > 0:
        frequent = refiner.store.columns(np.array([draws.weights.argmax()]))
        known.append(frequent[:, 0].astype(np.int64))
    allowed = [one for one in known if settings.k_min <= one.max() + 1 <= settings.most(n)]
    others = [(refiner.expected(one), one) for one in allowed]
    together, apart = refiner.trivial_values()
    others += [(together, np.zeros(n, dtype=np.int64))] * (settings.k_min == 1)
    others += [(apart, np.arange(n))] * (settings.most(n) == n)
    least, other = min(others, key=lambda one: one[0], default=(np.inf, labels))
    if least >= value * (1 - 1e-12):  # not clearly lower, only rounded otherwise
        return labels, value, converged
    if not (refiner.pairs or refiner.has_tables(other)):
        return other, least, False
    labels, converged = refiner.refine(other)
    return labels, refiner.value, converged
