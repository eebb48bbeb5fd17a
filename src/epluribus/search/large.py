"""The search for very many items: a few of them first, then all the others.

1. *Few items*: ten thousand random items, and some of every group that is too small to be seen among these, are
   searched with all draws, as any sample is (`rounds.py`).
2. *Place*: every other item goes where it costs least given these, in one pass over the draws.
3. *Settle*: items move, and clusters are joined, until no single item would move (`settle.py`).

Losses that are not linear are searched in this way only where the draws are not in memory: their few items are placed
by VI, and stay there.
"""

from __future__ import annotations

import time
from typing import Any

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
from epluribus.search.rounds import Search
from epluribus.search.settle import COLUMNS, Settled, Settler
from epluribus.search.starts import Plan, few_clusters, fit_clusters, systematic_resample
from epluribus.settings import Settings

LARGE, _MANY = 50_000, 15_000
"""Items above which a few are searched first; the second number for sums over pairs, with many small clusters."""
_FEW, _SEEN, _MOST = 10_000, 10, 30_000
"""Random items searched first; of a smaller group of a draw so many that it is seen; but no more items than this in
all: with more small groups, all items are searched at once."""
DRAWS = 16
"""Draws in which small groups are sought."""
_LABELS, _FEW_DRAWS = 40_000_000, 500
"""Labels of the few items up to which all draws are searched, and draws that are searched at least."""
_SHARE = 1 / 3
"""Share of the time, if it is limited, after which the others are placed."""
_QUICK = 10**9
"""Labels in memory up to which the loss of a partition takes a second or two."""
_LOWER = 1 - 1e-12
"""Factor below which a loss is lower than another, and not only rounded otherwise."""
_STEPS, _PASSES = 10, 4
"""Steps of the progress bar for a pass over all items, and passes that are foreseen."""


def searches_few_first(draws: Draws, loss: Loss, most: int, settings: Settings) -> bool:
    """Whether a few items are searched first: if it pays, or if nothing else is possible."""
    if draws.has_missing:  # one table in memory is needed
        return False
    groups, n = draws.store.groups, draws.n_items
    if settings.most(n) > COLUMNS * groups and counts_pairs(loss, n):
        # Groups of two items or so: they all would have to be seen.
        most = min(most, max(_MANY, groups**2 // 2))
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


class _Ahead(Progress):
    """The bar of a search over few items, with passes over all of them ahead."""

    def __init__(self, bar: Progress) -> None:
        self._bar, self._done, self._total, self._passed, self._ahead = bar, 0, 0, 0.0, _PASSES

    def grow(self, total: int) -> None:
        """Change the number of steps of the search over few items."""
        self._total = total
        self._bar.grow(total + _STEPS * self._ahead)

    def show(self, done: int, info: dict[str, Any]) -> None:
        """Show that `done` of these steps are done."""
        self._done = done
        self._bar.show(done, info)

    def passed(self, share: float) -> None:
        """A share of a pass is done."""
        self._passed += share
        if self._passed > self._ahead:  # one more than was foreseen
            self._ahead += 1
            self.grow(self._total)
        self._bar.show(self._done + int(_STEPS * self._passed), {})

    def finish(self) -> None:
        """Nothing is ahead any more."""
        done = self._done + int(_STEPS * self._passed)
        self._bar.grow(done)
        self._bar.show(done, {})


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
        self,
        draws: Draws,
        loss: Loss,
        columns: Labels,
        items: IntArray,
        settings: Settings,
        seed: np.random.SeedSequence,
        bar: Progress,
    ) -> None:
        self.began, self.bar = time.perf_counter(), _Ahead(bar)
        self.draws, self.loss, self.columns, self.items = draws, loss, columns, items
        self.settings, self.seed = settings, seed
        self.rng = np.random.default_rng(seed.spawn(1)[0])
        # Costs that are no sums over draws cannot be added up: items are then placed as under VI.
        linear = loss if loss.linear else losses.vi()
        self.settler = Settler(draws, draws.weights, linear, self.rng, settings, self.bar.passed)

    @classmethod
    def of(
        cls,
        draws: Draws,
        loss: Loss,
        settings: Settings,
        seed: np.random.SeedSequence,
        bar: Progress,
    ) -> LargeSearch | None:
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
        found: list[tuple[float, Settled]] = []
        settler = self.settler
        try:
            placed = settler.place(self.items, self._search_few(plan))
            if not self.loss.linear:
                return self._unsettled(placed)
            found.append(self._valued(settler.settle(placed)))
            first = found[0][0]
            for value, labels in self._others(plan):
                if value < first * _LOWER:
                    found.append((value, Settled(labels)))
                    if settler.pairs or self._has_tables(labels):
                        found.append(self._valued(settler.settle(labels)))
        except Stopped:
            if settler.latest is None or (settler.latest.value is None and not found):
                return self._unsettled(None if settler.latest is None else settler.latest.labels)
            if settler.latest.value is not None:
                found.append((settler.latest.value, settler.latest))
        value, best = min(found, key=lambda one: one[0])
        converged = best.converged and not self.settings.stopper.stopped
        return self._record(best.labels, value, converged, self.draws.n_draws)

    def _search_few(self, plan: Plan) -> IntArray:
        """The best partition of the few items, in all draws or as many as are searched with ease."""
        rows, weights = self.settler.store.rows(self.items), self.draws.weights
        if rows.size > _LABELS:
            n = max(_FEW_DRAWS, _LABELS // len(self.items))
            rng = np.random.default_rng(self.seed.spawn(1)[0])
            at, weights = systematic_resample(weights, n, rng)
            rows = np.ascontiguousarray(rows.take(at, axis=1))
        problem = Problem(rows, weights, self.loss)
        # Items that a loss wants alone are found when all of them are settled: large clusters are enough.
        pairs = self.settler.pairs
        settings = few_clusters(self.settings, problem) if pairs else self.settings
        # Joining very many clusters until there are no more than allowed would take too long.
        starts = (
            start._replace(
                labels=None if start.labels is None else relabel(start.labels[self.items]),
                base=None if start.base is None else relabel(start.base[self.items]),
            )
            for start in plan.starts()
            if start.labels is None or self._has_tables(start.labels)
        )
        search = Search(
            problem, starts, plan.n_starts, settings, self.seed, self.bar, expensive=pairs or None
        )
        with self.settings.stopper.for_a_share(_SHARE):
            _, best = search.recombine()
        return best.labels

    def _others(self, plan: Plan) -> list[tuple[float, IntArray]]:
        """Partitions within the bounds that anybody would try, with their losses."""
        n, low, high = (
            self.draws.n_items,
            self.settings.k_min,
            self.settings.most(self.draws.n_items),
        )
        given = [relabel(one.labels) for one in plan.first if one.labels is not None]
        found = [(self._value_of(one), one) for one in given if low <= one.max() + 1 <= high]
        together, apart = self.settler.trivial_values()
        if low == 1:
            found.append((together, np.zeros(n, dtype=np.int64)))
        if high == n:
            found.append((apart, np.arange(n)))
        return found

    def _has_tables(self, labels: IntArray) -> bool:
        """Whether there is room for tables of a partition: they have a column for each of its clusters."""
        return bool(labels.max() < COLUMNS * self.draws.store.groups)

    def _valued(self, settled: Settled) -> tuple[float, Settled]:
        """A partition with its expected loss."""
        value = settled.value
        return self._value_of(relabel(settled.labels)) if value is None else value, settled

    def _value_of(self, labels: IntArray) -> float:
        """Expected loss of canonical labels."""
        if self._has_tables(labels) and self.loss.linear:  # a pass in threads, which hears Ctrl-C
            return self.settler.value(self.settler.passes.count(labels))
        return self.draws.mean(draw_losses(labels, self.draws, self.loss))

    def _unsettled(self, labels: IntArray | None) -> Run:
        """Items placed, and perhaps not all settled; a draw, if the search was ended before that.

        Where a pass over all draws would take too long, the loss is that against a few of them.
        """
        store = self.draws.store
        few = Problem(self.columns, np.ones(self.columns.shape[1]), self.loss)
        if labels is None:
            labels = fit_clusters(relabel(few.draw(0)), few, self.rng, self.settings)
        labels = relabel(labels)
        quick = store.in_one_piece and store.n_items * store.n_distinct <= _QUICK
        if quick or not self.settings.stopper.stopped:
            value = self.draws.mean(draw_losses(labels, self.draws, self.loss))
            return self._record(labels, value, False, self.draws.n_draws)
        return self._record(labels, few.expected(labels), False, few.n_draws)

    def _record(self, labels: IntArray, value: float, converged: bool, n_draws: int) -> Run:
        self.bar.finish()
        labels, k = relabel(labels), int(labels.max()) + 1
        seconds = time.perf_counter() - self.began
        return Run(labels, value, k, "few items", (Step(value, k),), converged, seconds, n_draws)
