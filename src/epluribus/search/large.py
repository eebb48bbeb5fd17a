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
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._progress import Progress
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.draws.dask_store import DaskStore
from epluribus.draws.store import Labels, LocalStore, Slice, Store
from epluribus.engine import Settings
from epluribus.engine.dask_passes import DaskPasses
from epluribus.engine.gpu_passes import CupyDevice, GpuPasses
from epluribus.engine.pairs import counts_pairs
from epluribus.engine.passes import LocalPasses, Passes, Stopped
from epluribus.estimate import Run, Step
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import relabel
from epluribus.search._settle import Found
from epluribus.search._settle_pairs import PairSettler, settler_for
from epluribus.search.phases import Search, Start
from epluribus.search.sample import Sample
from epluribus.search.starts import comb, few_clusters

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
_LABELS, _FEW_DRAWS = 40_000_000, 500
"""Labels of the few items up to which all draws are searched, and draws that are searched at least."""


def searches_few_first(draws: Draws, loss: Loss, most: int) -> bool:
    """Whether a few items are searched first: if it pays, or if nothing else is possible."""
    if draws.has_missing:  # one table in memory is needed
        return False
    if counts_pairs(loss, draws.n_items):
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


def _passes(store: Store, settings: Settings, bar: _Ahead) -> Passes:
    """Passes over the draws, wherever they are."""
    if isinstance(store, DaskStore):
        return DaskPasses(store, settings.stopper, bar.passed)
    assert isinstance(store, LocalStore)
    if settings.engine == "gpu":
        return GpuPasses(store, CupyDevice(), settings.stopper, bar.passed)
    return LocalPasses(store, settings.n_jobs, settings.stopper, bar.passed)


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
        The draws, wherever they are.
    weights : ndarray of shape (n_distinct,)
        Weight of each distinct draw.
    n_draws : int
        Number of draws, equal ones included.
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
        weights: FloatArray,
        n_draws: int,
        loss: Loss,
        columns: NDArray[np.unsignedinteger[Any]],
        items: IntArray,
        settings: Settings,
        seed: np.random.SeedSequence,
        bar: Progress,
    ) -> None:
        self.passes, self.weights, self.n_draws, self.loss = passes, weights, n_draws, loss
        self.columns, self.items, self.settings, self.seed = columns, items, settings, seed
        rng = np.random.default_rng(seed.spawn(1)[0])
        self.settler = settler_for(passes, weights, loss, rng, settings)
        self.pairs = isinstance(self.settler, PairSettler)
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
        n = min(DRAWS, draws.n_distinct)
        columns = draws.store.columns(np.sort(rng.choice(draws.n_distinct, n, False, draws.shares)))
        items = few_items(columns, rng)
        if items is None:
            return None
        ahead = _Ahead(bar)
        passes = _passes(draws.store, settings, ahead)
        return cls(
            passes, draws.weights, draws.n_draws, loss, columns, items, settings, seed, ahead
        )

    def run(self, starts: Iterator[Start], n_starts: int, given: list[IntArray]) -> Run:
        """The best partition that was found; never worse than the `given` ones."""
        best: Found | None = None
        try:
            labels = self.settler.placed(self.items, self._search_few(starts, n_starts))
            best = self.settler.settled(labels)
            for other in self._floors(best, given):
                if self.settler.counted(other).value < best.value:
                    best = self.settler.settled(other)
        except Stopped:
            found = [one for one in (best, self.settler.latest) if one is not None]
            if not found:
                return self._unsettled()
            best = replace(min(found, key=lambda one: one.value), converged=False)
        return self._record(best.labels, best.value, best.converged, self.n_draws)

    def _search_few(self, starts: Iterator[Start], n_starts: int) -> IntArray:
        """The best partition of the few items."""
        # All draws, or as many as are searched with ease.
        weights, at, store = self.weights, None, self.passes.store
        if len(self.items) * len(weights) > _LABELS:
            n = max(_FEW_DRAWS, _LABELS // len(self.items))
            at, weights = comb(weights, n, np.random.default_rng(self.seed.spawn(1)[0]))
        rows = np.concatenate(store.map(_rows, self.items, at), axis=1)
        n_draws, n_jobs = self.n_draws if at is None else len(at), self.settings.n_jobs
        sample = Sample.of_table(rows, weights, n_draws, n_jobs=n_jobs)
        plan = (start.taken(sample, self.items) for start in starts)
        # Items that a loss wants alone are found when all of them are settled: large clusters are enough.
        settings = few_clusters(self.settings, sample) if self.pairs else self.settings
        search = Search(sample, sample.engine(self.loss), plan, n_starts, settings, self.seed)
        search.bar, search.dear = self.bar, search.dear or self.pairs
        with self.settings.stopper.for_a_share(_SHARE):
            _, best = search.recombine()
        return sample.give_back(best.labels)

    def _floors(self, best: Found, given: list[IntArray]) -> Iterator[IntArray]:
        """Partitions within the bounds that may be better than what was found."""
        n = len(best.labels)
        low, high = self.settings.k_min, self.settings.most(n)
        together, _ = best.engine.trivial_values()
        if low == 1 and together < best.value:
            yield np.zeros(n, dtype=np.int64)
        yield from (labels for labels in given if low <= labels.max() + 1 <= high)

    def _unsettled(self) -> Run:
        """What there is when the search is ended early: a draw, if the items have not been placed yet.

        Its loss is that against a few draws, since a pass over all would take too long.
        """
        labels = self.settler.rough
        if labels is None:
            labels = self.columns[:, 0].astype(np.int64)
        value = float(loss_values(relabel(labels), self.columns, self.loss).mean())
        return self._record(labels, value, False, self.columns.shape[1])

    def _record(self, labels: IntArray, value: float, converged: bool, n_draws: int) -> Run:
        labels, k = relabel(labels), int(labels.max()) + 1
        seconds = time.perf_counter() - self.began
        return Run(labels, value, k, "few items", (Step(value, k),), converged, seconds, n_draws)
