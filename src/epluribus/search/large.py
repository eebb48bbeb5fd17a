"""The search for very many items: a few of them first, then all the others.

1. *Few items*: ten thousand random items, and some of every group that is too small to be seen among these,
   are searched with all draws, as any sample is (`phases`).
2. *Place*: every other item goes where it costs least given these, in one pass. Items between two clusters
   that single precision cannot tell apart wait for the next step.
3. *Settle*: single items move, and clusters are joined, until nothing helps (`_settle`, `_settle_pairs`).

A pass needs no order and no memory of its own, so that the draws may lie in a file, on other machines, or on
a GPU (`engine/passes.py`); everything else works with tables and with few items.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._parallel import Stopped, Stopper
from epluribus._progress import Progress
from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.draws.dask_store import DaskStore
from epluribus.draws.store import Labels, LocalStore, Slice, Store
from epluribus.engine import Engine, Settings, draw_losses
from epluribus.engine.dask_passes import DaskPasses
from epluribus.engine.gpu_passes import CupyDevice, GpuPasses
from epluribus.engine.pairs import counts_pairs
from epluribus.engine.passes import LocalPasses, Passes
from epluribus.estimate import Run, Step
from epluribus.losses.base import Loss
from epluribus.partition import relabel
from epluribus.search._settle import LOWER, Found, Settler
from epluribus.search._settle_pairs import PairSettler, TooManyFree, settler_for
from epluribus.search.phases import Search
from epluribus.search.plan import Plan
from epluribus.search.sample import Sample
from epluribus.search.starts import comb, few_clusters, fit_clusters

_PASSES, _STEPS = 4, 10
"""Passes over all items that are foreseen, and steps of the progress bar for each of them."""
LARGE = 50_000
"""Items above which a few are searched first."""
_MANY, _CELLS = 15_000, 2
"""The same for losses that are sums over pairs, which want thousands of items alone (`_settle_pairs`); and
cells of a draw's table for each item, above which all items are searched at once."""
DRAWS = 16
"""Draws in which small groups are sought."""
_FEW = 10_000
"""Random items searched first ..."""
_SEEN = 10
"""... and of a smaller group of a draw so many that it is seen ..."""
_MOST = 30_000
"""... but no more items than this in all: with more small groups, all items are searched at once."""
_SHARE = 1 / 3
"""Share of the time, if it is limited, after which the others are placed."""
_COLUMNS = 10
"""Clusters of a partition for each cluster of a draw, up to which tables are made for it."""
_QUICK = 10**9
"""Labels up to which a pass over all draws in memory takes at most half a second."""
_LABELS, _FEW_DRAWS = 40_000_000, 500
"""Labels of the few items up to which all draws are searched, and draws that are searched at least."""


def searches_few_first(draws: Draws, loss: Loss, most: int, settings: Settings) -> bool:
    """Whether a few items are searched first: if it pays, or if nothing else is possible."""
    if draws.has_missing:  # one table in memory is needed
        return False
    many = settings.most(draws.n_items) > _COLUMNS * draws.store.groups
    if many and counts_pairs(loss, draws.n_items):
        most = min(most, max(_MANY, draws.store.groups**2 // _CELLS))
    # Losses that are not linear have partitions far apart that are nearly as good as each other: a few items
    # do not show them.
    return (draws.n_items > most and loss.linear) or not draws.store.in_one_piece


def few_items(
    columns: NDArray[np.unsignedinteger[Any]], rng: np.random.Generator
) -> IntArray | None:
    """Items to be searched first, sorted, given some draws; None if there would be too many."""
    n = len(columns)
    chosen = np.zeros(n, dtype=np.bool_)
    chosen[rng.choice(n, min(_FEW, n), replace=False)] = True
    for labels in columns.T:
        sizes, seen = np.bincount(labels), np.bincount(labels[chosen], minlength=labels.max() + 1)
        missing = np.maximum(np.minimum(sizes, _SEEN) - seen, 0)
        if not missing.any():
            continue
        if missing.sum() + chosen.sum() > _MOST:
            return None
        # In random order, the first `missing` items of each group that are not chosen yet.
        order = rng.permutation(np.flatnonzero((missing > 0)[labels] & ~chosen))
        order = order[np.argsort(labels[order], kind="stable")]
        own = labels[order]
        rank = np.arange(len(own)) - np.searchsorted(own, own)
        chosen[order[rank < missing[own]]] = True
    return np.flatnonzero(chosen)


def passes_over(
    store: Store, settings: Settings, on_done: Callable[[float], Any] = lambda _: None
) -> Passes:
    """Passes over the draws, wherever they are."""
    if isinstance(store, DaskStore):
        return DaskPasses(store, settings.stopper, on_done)
    assert isinstance(store, LocalStore)
    if settings.engine == "gpu":
        return GpuPasses(store, CupyDevice(), settings.stopper, on_done)
    return LocalPasses(store, settings.n_jobs, settings.stopper, on_done)


def _rows(part: Slice, items: IntArray, at: IntArray | None) -> Labels:
    """Labels of some items in the draws of a slice: in all of them, or those with the numbers `at`."""
    if at is None:
        return part.table[items]
    return part.table[items][:, at[part.own(at)] - part.begin]


class _Ahead(Progress):
    """The bar of a search over few items, with passes over all of them ahead."""

    def __init__(self, bar: Progress) -> None:
        self._bar, self._done, self._passed, self._ahead = bar, 0, 0.0, _PASSES
        self._total = 0

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


class LargeSearch:
    """One search for one loss over very many items.

    Parameters
    ----------
    passes : Passes
        Passes over the draws, wherever they are.
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
        passes: Passes,
        draws: Draws,
        loss: Loss,
        columns: NDArray[np.unsignedinteger[Any]],
        items: IntArray,
        settings: Settings,
        seed: np.random.SeedSequence,
        bar: Progress,
    ) -> None:
        self.passes, self.draws, self.loss = passes, draws, loss
        self.columns, self.items, self.settings, self.seed = columns, items, settings, seed
        self.rng = np.random.default_rng(seed.spawn(1)[0])
        self.settler = settler_for(passes, draws.weights, loss, self.rng, settings)
        self.began, self.bar = time.perf_counter(), bar

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
        ahead = _Ahead(bar)
        passes = passes_over(draws.store, settings, ahead.passed)
        chosen = np.sort(rng.choice(draws.n_distinct, n, False, draws.shares))
        try:
            columns = passes.store.columns(chosen)
        except Stopped:  # there is no partition at all that could be returned
            settings.stopper.check()
            raise TimeoutError(
                "'time_limit' was over before the workers of the Dask cluster had sent a single draw."
            ) from None
        items = few_items(columns, rng)
        if items is None or settings.k_min > len(items):
            return None
        return cls(passes, draws, loss, columns, items, settings, seed, ahead)

    def run(self, plan: Plan) -> Run | None:
        """The best partition that was found; never worse than those that are given to start from.

        None if all items should be searched at once: too many of them are far from any cluster.
        """
        best, floors = None, []
        try:
            labels = self._search_few(plan)
            best = self.settler.settled(self.settler.placed(self.items, labels))
            floors = self._floors(best, plan)
            for value, labels in floors:
                if value < best.value * LOWER and (self._pairs or self._has_tables(labels)):
                    with suppress(TooManyFree):
                        best = self.settler.settled(labels)
        except TooManyFree:
            if self.passes.store.in_one_piece and self.draws.n_items <= LARGE:
                return None
            own = self.draws.weights, self.loss, self.rng, self.settings
            rough, self.settler = self.settler.rough, Settler(self.passes, *own)
            self.settler.rough = rough
            return self.run(plan)
        except Stopped:
            found = [one for one in (best, self.settler.latest) if one is not None]
            if not found:
                return self._unsettled()
            best = replace(min(found, key=lambda one: one.value), converged=False)
        labels, value, converged = best.labels, best.value, best.converged
        for least, floor in floors:
            if least < value * LOWER:
                labels, value, converged = floor, least, False
        return self._record(labels, value, converged, self.draws.n_draws)

    @property
    def _pairs(self) -> bool:
        """Whether the search works with pairs of items."""
        return isinstance(self.settler, PairSettler)

    def _search_few(self, plan: Plan) -> IntArray:
        """The best partition of the few items."""
        # All draws, or as many as are searched with ease.
        weights, at, store = self.draws.weights, None, self.passes.store
        if len(self.items) * len(weights) > _LABELS:
            n = max(_FEW_DRAWS, _LABELS // len(self.items))
            at, weights = comb(weights, n, np.random.default_rng(self.seed.spawn(1)[0]))
        rows = np.concatenate(store.map(_rows, self.items, at), axis=1)
        n_draws, n_jobs = self.draws.n_draws if at is None else len(at), self.settings.n_jobs
        sample = Sample.of_table(rows, weights, n_draws, n_jobs=n_jobs)
        # Items that a loss wants alone are found when all of them are settled: large clusters are enough.
        settings = few_clusters(self.settings, sample) if self._pairs else self.settings
        most = settings.most(sample.n_items)
        taken = (start.taken(sample, self.items) for start in plan.starts())
        # Joining very many clusters until there are no more than allowed would take too long.
        starts = (
            one
            for one in taken
            if one.labels is None or one.labels.max() < most or self._has_tables(one.labels)
        )
        search = Search(
            sample, sample.engine(self.loss), starts, plan.n_starts, settings, self.seed
        )
        search.bar, search.dear = self.bar, search.dear or self._pairs
        with self.settings.stopper.for_a_share(_SHARE):
            _, best = search.recombine()
        return sample.give_back(best.labels)

    def _floors(self, best: Found, plan: Plan) -> list[tuple[float, IntArray]]:
        """Partitions within the bounds that anybody would try, with their losses."""
        n = self.draws.n_items
        low, high = self.settings.k_min, self.settings.most(n)
        given = (start.labels for start in plan.first if start.labels is not None)
        found = [
            (self._value_of(labels), labels)
            for labels in map(relabel, given)
            if low <= labels.max() + 1 <= high
        ]
        together, apart = best.engine.trivial_values()
        if low == 1:
            found.append((together, np.zeros(n, dtype=np.int64)))
        if high == n:
            found.append((apart, np.arange(n)))
        return found

    def _has_tables(self, labels: IntArray) -> bool:
        """Whether there is room for tables of a partition: they have a column for each of its clusters."""
        return bool(labels.max() < _COLUMNS * self.passes.store.groups)

    def _value_of(self, labels: IntArray) -> float:
        """Expected loss of canonical labels."""
        if self._has_tables(labels):  # a pass in threads, which hears Ctrl-C and the time limit
            return self.settler.counted(labels).value
        return self.draws.mean(draw_losses(labels, self.draws, self.loss))

    def _unsettled(self) -> Run:
        """What there is when the search is ended early: a draw, if the items have not been placed yet.

        Where a pass over all draws would take too long, its loss is that against a few of them.
        """
        engine = Engine(self.columns, np.ones(self.columns.shape[1]), self.loss)
        labels = self.settler.rough
        if labels is None:
            draw = relabel(self.columns[:, 0].astype(np.int64))
            labels = fit_clusters(draw, engine, self.rng, self.settings)
        labels, store = relabel(labels), self.draws.store
        quick = store.in_one_piece and store.n_items * store.n_distinct <= _QUICK
        if quick and self._has_tables(labels):
            settings = replace(self.settings, engine="cpu", stopper=Stopper())
            own = self.draws.weights, self.loss, self.rng, settings
            value = Settler(passes_over(store, settings), *own).counted(labels).value
            return self._record(labels, value, False, self.draws.n_draws)
        return self._record(labels, engine.value_of(labels), False, self.columns.shape[1])

    def _record(self, labels: IntArray, value: float, converged: bool, n_draws: int) -> Run:
        labels, k = relabel(labels), int(labels.max()) + 1
        seconds = time.perf_counter() - self.began
        return Run(labels, value, k, "few items", (Step(value, k),), converged, seconds, n_draws)
