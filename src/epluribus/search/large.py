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

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopped
from epluribus._progress import Progress
from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.draws.store import Labels
from epluribus.estimate import Run, Step
from epluribus.losses.base import Loss
from epluribus.partition import relabel
from epluribus.search.pair_costs import counts_pairs
from epluribus.search.problem import Problem
from epluribus.search.refine import COLUMNS, LargeRefiner
from epluribus.search.rounds import Search
from epluribus.search.starts import Plan, few_clusters, fit_clusters
from epluribus.settings import Settings

LARGE = 50_000
"""Items above which a few are searched first."""
_LARGE_PAIRS = 15_000
"""The same for losses that count pairs, whose many small clusters make sweeps over all items slow."""
_FEW = 5000
"""Random items searched first."""
_SEEN = 10
"""Items of each group that are searched first, or all of a smaller one, so that small clusters are found."""
_MOST = 30_000
"""Items searched first, at most: with more small groups, all items are searched at once."""
DRAWS = 16
"""Draws in which small groups are sought."""
_SHARE = 1 / 3
"""Share of a time limit after which the other items are assigned."""
_QUICK = 10**9
"""Labels in memory up to which the loss of a partition takes a second or two, even after the time limit."""
_STEPS = 10
"""Steps of the progress bar for a pass over all items."""


def searches_few_first(draws: Draws, loss: Loss, most: int, settings: Settings) -> bool:
    """Whether a few items are searched first: if it pays, or if nothing else is possible."""
    if draws.has_missing:  # one table in memory is needed
        return False
    groups, n = draws.store.groups, draws.n_items
    if settings.most(n) > COLUMNS * groups and counts_pairs(loss, n):
        # Groups of two items or so: they all would have to be seen.
        most = min(most, max(_LARGE_PAIRS, groups**2 // 2))
    # Losses that are not linear have partitions far apart that are nearly as good as each other: a few items
    # do not show them.
    return (n > most and loss.linear) or not draws.store.in_one_piece


def few_items(columns: Labels, rng: np.random.Generator) -> IntArray | None:
    """Items to be searched first, sorted, given some draws; None if there would be too many."""
    n = len(columns)
    chosen = np.zeros(n, dtype=np.bool_)
    chosen[rng.choice(n, min(_FEW, n), replace=False)] = True
    for labels in columns.T:
        sizes, seen = np.bincount(labels), np.bincount(labels[chosen], minlength=labels.max() + 1)
        missing = np.maximum(np.minimum(sizes, _SEEN) - seen, 0)
        if missing.sum() + chosen.sum() > _MOST:
            return None
        # In random order, the first `missing` items of each group that are not chosen yet.
        order = rng.permutation(np.flatnonzero((missing > 0)[labels] & ~chosen))
        order = order[np.argsort(labels[order], kind="stable")]
        own = labels[order]
        rank = np.arange(len(own)) - np.searchsorted(own, own)
        chosen[order[rank < missing[own]]] = True
    return np.flatnonzero(chosen)


class LargeSearch:
    """One search for one loss over very many items.

    Parameters
    ----------
    draws : Draws
    loss : Loss
    columns : ndarray of shape (n_items, DRAWS)
        Some draws.
    items : ndarray
        The items that are searched first, see `few_items`.
    settings : Settings
    seed : SeedSequence
    bar : Progress
    """

    def __init__(
        self, draws: Draws, loss: Loss, columns: Labels, items: IntArray, settings: Settings,
        seed: np.random.SeedSequence, bar: Progress,
    ) -> None:  # fmt: skip
        self.began, self.draws, self.loss, self.items = time.perf_counter(), draws, loss, items
        self.settings, self.seed, self.bar, self.done = settings, seed, bar, 0.0
        self.rng = np.random.default_rng(seed.spawn(1)[0])
        self.few = Problem(columns, np.ones(columns.shape[1]), loss)
        # Costs that are no sums over draws cannot be added up: items are then assigned as under VI.
        linear = loss if loss.linear else losses.vi()
        self.refiner = LargeRefiner(draws, draws.weights, linear, self.rng, settings, self._passed)

    @classmethod
    def of(
        cls, draws: Draws, loss: Loss, settings: Settings,
        seed: np.random.SeedSequence, bar: Progress,
    ) -> LargeSearch | None:  # fmt: skip
        """The search over the draws; None if too many of their groups are small."""
        rng = np.random.default_rng(seed.spawn(1)[0])
        n = min(DRAWS, int(np.count_nonzero(draws.shares)))
        some = np.sort(rng.choice(draws.n_distinct, n, False, draws.shares))
        try:
            columns = draws.store.hearing(settings.stopper).columns(some)
        except Stopped:  # there is no partition at all that could be returned
            settings.stopper.check()
            raise TimeoutError(
                "'time_limit' was over before the workers of the Dask cluster had sent a single draw."
            ) from None
        items = few_items(columns, rng)
        if items is None or settings.k_min > len(items):
            return None
        return cls(draws, loss, columns, items, settings, seed, bar)

    def run(self, plan: Plan) -> Run:
        """The best partition that was found; never worse than those that are given to start from."""
        refiner, converged = self.refiner, False
        try:
            labels = refiner.assign(self.items, self._search_few(plan))
            if self.loss.linear:
                labels, converged = refiner.refine(labels)
                value = self._value(labels) if refiner.value is None else refiner.value
                others = self._others(plan)
                least, other = min(others, key=lambda one: one[0], default=(np.inf, labels))
                if least < value * (1 - 1e-12):  # clearly lower, and not only rounded otherwise
                    if not (refiner.pairs or refiner.has_tables(other)):
                        return self._record(other, least, False)
                    _, converged = refiner.refine(other)
        except Stopped:
            converged = False
        return self._record(refiner.labels, refiner.value, converged)

    def _search_few(self, plan: Plan) -> IntArray:
        """The best partition of the few items in all draws."""
        problem = Problem(self.refiner.store.rows(self.items), self.draws.weights, self.loss)
        # Items that a loss wants alone are found when all are refined: large clusters are enough.
        pairs, settings = self.refiner.pairs, self.settings
        settings = few_clusters(settings, problem) if pairs else settings
        # Joining very many clusters until there are no more than allowed would take too long.
        starts = (
            start._replace(
                labels=None if start.labels is None else relabel(start.labels[self.items]),
                base=None if start.base is None else relabel(start.base[self.items]),
            )
            for start in plan.starts()
            if start.labels is None or self.refiner.has_tables(start.labels)
        )
        search = Search(
            problem, starts, plan.n_starts, settings, self.seed, self.bar, expensive=pairs or None
        )
        with self.settings.stopper.for_a_share(_SHARE):
            _, best = search.recombine()
        self.done = float(search.n_done)
        return best.labels

    def _others(self, plan: Plan) -> list[tuple[float, IntArray]]:
        """Other partitions that anybody would try, within the bounds on K, with their expected losses."""
        n, low, high = (
            self.draws.n_items,
            self.settings.k_min,
            self.settings.most(self.draws.n_items),
        )
        found = [relabel(one.labels) for one in plan.first if one.labels is not None]
        if np.ptp(self.draws.weights) > 0:
            frequent = np.array([self.draws.weights.argmax()])
            found.append(self.refiner.store.columns(frequent)[:, 0].astype(np.int64))
        together, apart = self.refiner.trivial_values()
        others = [(self._value(one), one) for one in found if low <= one.max() + 1 <= high]
        others += [(together, np.zeros(n, dtype=np.int64))] * (low == 1)
        return others + [(apart, np.arange(n))] * (high == n)

    def _value(self, labels: IntArray) -> float:
        """Expected loss."""
        values = draw_losses(relabel(labels), self.draws, self.loss, self.settings.stopper)
        return self.draws.mean(values)

    def _passed(self, share: float) -> None:
        """Show that a share of a pass is done; there is always one more to come."""
        self.done += _STEPS * share
        self.bar.grow(int(self.done) + _STEPS)
        self.bar.show(int(self.done), {})

    def _record(self, labels: IntArray | None, value: float | None, converged: bool) -> Run:
        """The partition; after an early end it may be a draw, and its loss that against few draws."""
        store = self.refiner.store
        if labels is None:
            labels = fit_clusters(relabel(self.few.draw(0)), self.few, self.rng, self.settings)
        labels, n_draws, stopped = (
            relabel(labels),
            self.draws.n_draws,
            self.settings.stopper.stopped,
        )
        quick = store.in_one_piece and store.n_items * store.n_distinct <= _QUICK
        if value is None and stopped and not quick:
            value, n_draws = self.few.expected(labels), self.few.n_draws
        elif value is None:
            value = self.draws.mean(draw_losses(labels, self.draws, self.loss))
        k, seconds = int(labels.max()) + 1, time.perf_counter() - self.began
        self.bar.grow(int(self.done))
        self.bar.show(int(self.done), {})
        trace = (Step(value, k),)
        return Run(
            labels, value, k, "few items", trace, converged and not stopped, seconds, n_draws
        )
