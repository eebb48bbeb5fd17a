"""The search for very many items: a few of them first, then all the others.

1. *Few items*: five thousand random items, and some of every group that is too small to be seen among these, are
   searched with all draws, as any sample is (`rounds.py`).
2. *Assign*: every other item goes where it costs least given these, in one pass over the draws.
3. *Refine*: items move, and clusters are joined, until no single item would move.

A pass over the draws is a function of a slice of draws and of some items, and adds up whole numbers: the result depends
neither on the number of threads, nor on the machines the draws lie on. A pass says what each item would cost in each
cluster with nothing moved. Those that would move, or come close to it, are *free*: a local search moves these, with all
other items only counted. This is repeated until no item would move.

Binder's loss makes singletons of items that fit no cluster. Contingency tables for thousands of small clusters would
be large and nearly empty: all items of small clusters are free then, and a matrix has what every two of them cost.

Losses that are not linear are searched in this way only where the draws are not in memory: their few items are assigned
by VI, and stay there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus import losses
from epluribus._kernels.labels import count_tables
from epluribus._kernels.tables import add_costs, count_cells
from epluribus._parallel import Stopped, run_tasks
from epluribus._progress import Progress
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.draws.rows import Labels
from epluribus.draws.store import Slice
from epluribus.estimate import Run, Step
from epluribus.losses.base import Loss
from epluribus.partition import read_only, relabel
from epluribus.search.local import LocalSearch
from epluribus.search.pairs import MOST_ITEMS, PairCosts, PairState, counts_pairs
from epluribus.search.problem import Problem
from epluribus.search.rounds import Search
from epluribus.search.starts import Plan, few_clusters, fit_clusters
from epluribus.search.state import Bounds, TableState
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
_TASK = 4096
"""Items of a task of a pass: their costs stay in the cache. On a cluster, where they travel, 16 times as many."""
_STEPS = 10
"""Steps of the progress bar for a pass over all items."""
_FREE, _PASSES = 0.05, 8
"""Share of the items that are free, those that would move or come closest; and passes in which they are sought, at
most: few are needed."""
COLUMNS, _SMALL = 10, 8
"""Clusters of a partition for each cluster of a draw, up to which contingency tables are made; where pairs are counted,
items of a cluster from which on it has a table."""


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
    refiner = LargeRefiner(draws, linear, rng, settings, bar)
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
    bar.show(int(refiner.n_done), {}, int(refiner.n_done))
    k, seconds = int(labels.max()) + 1, time.perf_counter() - began
    return Run(labels, value, k, "few items", (Step(value, k),), converged, seconds, n_draws)


def _search_few(
    items: IntArray, refiner: LargeRefiner, loss: Loss, plan: Plan,
    seed: np.random.SeedSequence, bar: Progress,
) -> tuple[IntArray, int]:  # fmt: skip
    """The best partition of the few items in all draws, and the number of steps of the bar."""
    settings, weights = refiner.settings, refiner.weights
    problem = Problem(refiner.store.rows(items), weights, loss)

    # Joining very many clusters until there are no more than allowed would take too long.
    plan = plan._replace(
        first=tuple(
            start._replace(labels=relabel(start.labels[items]))
            for start in plan.first
            if start.labels is not None and refiner.has_tables(start.labels)
        )
    )
    # The other items are assigned in the rest of the time.
    with settings.stopper.for_a_share(1 / 3) as stopper:
        settings = replace(settings, stopper=stopper)
        # Items that a loss wants alone are found when all are refined: large clusters are enough.
        own = few_clusters(settings, problem) if refiner.pairs else settings
        expensive = refiner.pairs or None
        search = Search(problem, plan, own, seed, bar, expensive=expensive)
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


class _Counted(NamedTuple):
    """A partition of all items, and its contingency tables."""

    labels: IntArray
    """(n_items,) 0..K-1; -1 for an item in no cluster."""
    counts: AnyArray
    """(n_groups, H) items of each group in the first H clusters: the others are small, and have no tables."""
    sizes: IntArray
    """(K,) items of each cluster."""


class LargeRefiner:
    """Assigns items to clusters, and improves partitions of very many items.

    `Stopped` is raised if the work is ended early.

    Parameters
    ----------
    draws : Draws
    loss : Loss
        A linear one.
    rng : Generator
    settings : Settings
    bar : Progress
        Shows how far it is.

    Attributes
    ----------
    labels : ndarray of shape (n_items,) or None
        The latest partition, also after an early end.
    value : float or None
        Its expected loss, if it is known.
    n_done : float
        Steps of the bar that are done.
    """

    def __init__(
        self, draws: Draws, loss: Loss, rng: np.random.Generator, settings: Settings, bar: Progress
    ) -> None:
        self.draws, self.weights, self.loss, self.rng = draws, draws.weights, loss, rng
        self.settings, self.n_done, self._bar = settings, 0.0, bar
        self.store = draws.store.hearing(settings.stopper)
        self.problem = self._with_items(np.empty((0, draws.n_distinct), dtype=np.uint8))
        self.most, tables = settings.most(draws.n_items), COLUMNS * draws.store.groups
        self.pairs = self.most > tables and counts_pairs(loss, draws.n_items)
        self.limit = self.most if self.pairs else min(self.most, tables)
        """Clusters, at most; a partition that has more to begin with never gets more."""
        self.labels: IntArray | None = None
        self.value: float | None = None
        self._free = np.zeros(draws.n_items, dtype=np.bool_)
        """The items that are free first."""

    def _with_items(self, table: Labels) -> Problem:
        """The problem with some of the items."""
        n, n_clusters = self.draws.n_items, self.draws.distinct_n_clusters
        return Problem(table, self.weights, self.loss, n_items=n, n_clusters=n_clusters)

    def has_tables(self, labels: IntArray) -> bool:
        """Whether a partition has no more clusters than have tables."""
        return bool(labels.max() < COLUMNS * self.store.groups)

    def assign(self, items: IntArray, labels: IntArray, n_done: float = 0.0) -> IntArray:
        """Labels of all items, given those of a few, which took `n_done` steps of the bar."""
        self.n_done = n_done
        out = np.full(self.draws.n_items, -1, dtype=np.int64)
        out[items] = labels
        self.labels, gap, _ = self._look(self._count(out), may_open=False)
        if not self.pairs:
            self._free = _closest(gap)
        return self.labels

    def refine(self, labels: IntArray) -> tuple[IntArray, bool]:
        """The partition improved until no single item would move, and whether that was reached."""
        p, free = self.problem, self._free
        self.labels, self.value, now = labels, None, self._count(labels)
        for _ in range(_PASSES):
            if free.any():
                now = self._sweep(now, np.flatnonzero(free))
            k, h = len(now.sizes), now.counts.shape[1]
            limit = max(self.limit, k)
            # As long as there are small clusters, a new one stands for these.
            _, gap, margin = self._look(now, may_open=h < k or k < limit)
            if self.pairs:
                # An item costs less in a small cluster than in a new one, but not by more than this.
                margin -= 2 * _SMALL * (p.size[1] + p.f[0, 1] * p.total_weight)
            moving = (gap <= margin) | (now.labels >= h)
            # Those that were free stay, by their exact costs.
            if not (moving & ~free).any():
                return now.labels, k < limit or limit == self.most
            free = moving | free if self.pairs else _closest(gap)
            n_free, each = float(np.count_nonzero(free)), 8.0 if np.ptp(self.weights) else 2.0
            if self.pairs and each * n_free * (n_free + 2.5 * k) > available_memory() / 4:
                self.pairs, self.limit = False, COLUMNS * self.store.groups
                free = _closest(gap)
                now = self._count(now.labels)
        return now.labels, False

    def _sweep(self, now: _Counted, items: IntArray) -> _Counted:
        """The partition after a local search over the free items."""
        problem, h = self._with_items(self.store.rows(items)), now.counts.shape[1]
        labels, mine = now.labels.copy(), now.labels[items]
        if self.pairs:
            stay = now.counts.copy()
            count_cells(problem.rows, np.where(mine < h, mine, -1), stay, -1)
            labels[items] = self._sweep_pairs(problem, mine, stay, now.sizes)
            self.labels, self.value = relabel(labels), None
            self._check()
            return self._count(self.labels)
        # One label more for each cluster says where its other items are.
        state = TableState(problem, np.append(mine, np.arange(h)), (now.counts, now.sizes))
        settings = replace(self.settings, k_max=max(self.limit, h))
        search = LocalSearch(problem, mine, self.rng, settings, state=state)
        search.settle()
        state.compact()
        labels, k = state.labels[len(mine) :][now.labels], state.n_clusters
        labels[items] = state.labels[: len(mine)]
        found = _Counted(labels, state.counts[:, :k], state.sizes[:k])
        f1, f2, _ = self.loss.tables(len(labels))
        cells, size = f1[found.counts].sum(axis=1), float(f2[found.sizes].sum())
        self.labels, self.value = labels, self._expected(cells, size, found.counts.sum(axis=1))
        self._check()
        return found

    def _sweep_pairs(
        self, problem: Problem, mine: IntArray, stay: IntArray, sizes: IntArray
    ) -> IntArray:
        """The labels of the free items after sweeps; `stay` has the tables of the others."""
        settings, n = self.settings, len(mine)
        try:
            pairs = PairCosts.of(problem, settings.n_jobs, settings.stopper)
        except KeyboardInterrupt:
            raise Stopped from None
        self._check()
        units = problem.weights * (problem.f[0, 1] / pairs.scale)
        sums = pairs.no_sums(len(sizes), self.draws.n_items)
        sums[: stay.shape[1]] = sum(
            u * stay[rows] for u, rows in zip(units, problem.rows.T, strict=True)
        ).T
        state = PairState(pairs, mine, (sums, sizes - np.bincount(mine, minlength=len(sizes))))
        bounds = Bounds(settings.k_min, self.most, settings.stopper.flag)
        while state.sweep(self.rng.permutation(n), bounds).n_moves and not settings.stopper.stopped:
            pass
        return state.labels

    def _expected(self, cells: AnyArray, size: float, groups: IntArray) -> float:
        """Expected loss from the sums of f1 over the cells of groups, of f2 over clusters, and the sizes of groups."""
        shares, n = self.problem.group_weights / self.problem.total_weight, self.draws.n_items
        group = self.loss.tables(n)[2][groups]
        return float(self.loss.f0(shares @ cells, size, shares @ group, n))

    def expected(self, labels: IntArray) -> float:
        """Expected loss of any partition."""
        stopper = self.settings.stopper
        return self.draws.mean(draw_losses(relabel(labels), self.draws, self.loss, stopper))

    def trivial_values(self) -> tuple[float, float]:
        """Expected loss of one cluster, and of all items apart."""
        n, (f1, f2, _) = self.draws.n_items, self.loss.tables(self.draws.n_items)
        groups = self._count(np.zeros(n, dtype=np.int64)).counts[:, 0]
        together = self._expected(f1[groups], float(f2[n]), groups)
        return together, self._expected(f1[1] * groups, float(n * f2[1]), groups)

    # --- passes over the draws ---

    def _count(self, labels: IntArray) -> _Counted:
        """The partition with its tables in all draws; where pairs are counted, large clusters come first."""
        sizes = np.bincount(labels[labels >= 0])
        h, n = len(sizes), self.store.n_distinct
        if self.pairs and labels.min() >= 0:
            order = np.argsort(-sizes, kind="stable")
            labels, sizes = np.argsort(order)[labels], sizes[order]
            h = max(1, int(np.sum(sizes >= _SMALL)))
        given = self.store.share((np.where(labels < h, labels, -1), self.problem.n_clusters))
        step = 64 if self.store.in_one_piece else n  # one line of the cache for each item
        tasks = [
            partial(self.store.map, _count_groups, begin, begin + step, h, given)
            for begin in range(0, n, step)
        ]
        counts = np.concatenate([one for found in self._run(tasks) for one in found])
        return _Counted(labels, counts, sizes)

    def _look(self, now: _Counted, *, may_open: bool) -> tuple[IntArray, FloatArray, float]:
        """What the items would do, given the tables of `now`, if nothing else moved.

        Returns the clusters of the items, of one that has none the best; how much more the next best, or a new one,
        costs; and by how much that may be wrong.
        """
        p, steps, h = self.problem, self.problem.steps[0], now.counts.shape[1]
        # An item has one group in each draw: sums of the largest gains must not overflow.
        scale = 2.0**30 / (p.total_weight * np.abs(steps[: now.counts.max() + 1]).max())
        w = scale * p.group_weights[:, None]
        counts = np.pad(now.counts, ((0, 0), (0, -h % 8)))  # whole vectors of eight clusters
        # An item costs its own cluster the step before. Without items that is the last step, which is 0.
        gains, own_gains = (np.rint(w * steps[counts - x]).astype(np.int32) for x in (0, 1))
        gains = np.pad(gains, ((0, 1), (0, 0)))  # a last group that costs nothing
        labels = np.where(now.labels < h, now.labels, -1)
        opens = p.total_weight * steps[0] + p.size_steps[0] if may_open else np.inf
        size_costs = scale, now.sizes[:h], p.size_steps, opens
        given = self.store.share((labels, p.first, gains, own_gains, size_costs))
        step = _TASK if self.store.in_one_piece else 16 * _TASK
        tasks = [
            partial(self.store.reduce, _add_costs, _next_best, slice(begin, begin + step), given)
            for begin in range(0, len(labels), step)
        ]
        own, gap = map(np.concatenate, zip(*self._run(tasks), strict=True))
        return own, gap, p.n_draws / scale

    def _run(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        """What the tasks of a pass return."""
        n_jobs, stopper = self.settings.n_jobs, self.settings.stopper

        def done(_: Any) -> None:
            self.n_done += _STEPS / len(tasks)
            n = int(self.n_done)
            self._bar.show(n, {}, n + _STEPS)  # there is always one more pass to come

        found = run_tasks(tasks, n_jobs=n_jobs, stopper=stopper, on_done=done)
        self._check()
        return found

    def _check(self) -> None:
        """End the work after Ctrl-C and after the time limit."""
        if self.settings.stopper.stopped:
            raise Stopped


def _closest(gap: FloatArray) -> NDArray[np.bool_]:
    """Which items are free: those with the smallest gaps."""
    size, free = int(np.ceil(_FREE * len(gap))), np.zeros(len(gap), dtype=np.bool_)
    free[np.argpartition(gap, size - 1)[:size]] = True
    return free


# --- what is done with a slice of the draws, perhaps on another machine ---


def _count_groups(
    part: Slice, begin: int, end: int, h: int, given: tuple[IntArray, IntArray]
) -> IntArray:
    """(n_groups, h) tables of those of the draws begin..end-1 that are in the slice."""
    labels, n_clusters = given
    low, high = max(begin - part.begin, 0), min(end - part.begin, part.table.shape[1])
    groups = n_clusters[part.columns][low:high]
    counts = np.zeros((high - low, groups.max(), h), dtype=np.int32)
    count_tables(read_only(part.table), low, high, read_only(labels), counts)
    return counts[np.arange(counts.shape[1]) < groups[:, None]]


def _add_costs(part: Slice, some: slice, given: tuple[Any, ...]) -> AnyArray:
    """What the draws of the slice say about the costs of some items in all clusters."""
    labels, first, gains, own_gains, _ = given
    # A copy: read in one go, labels come from memory faster than block by block of draws.
    table, labels = part.table[some].copy(), labels[some]
    costs = np.zeros((len(labels), gains.shape[1]), dtype=np.int32)
    add_costs(table, *map(read_only, (first[part.columns], labels, gains, own_gains)), costs)
    return costs


def _next_best(
    parts: list[AnyArray], some: slice, given: tuple[Any, ...]
) -> tuple[IntArray, FloatArray]:
    """The clusters of some items and their gaps, from what all slices say; see `LargeRefiner._look`."""
    labels, (scale, sizes, size_steps, opens) = given[0][some], given[-1]
    costs = sum(parts[1:], parts[0])[:, : len(sizes)] / scale
    values, every, placed = costs + size_steps[sizes], np.arange(len(labels)), labels >= 0
    own = np.where(placed, labels, values.argmin(axis=1))
    here = costs[every, own] + size_steps[sizes[own] - placed]
    values[every, own] = np.inf
    new = np.where(placed & (sizes[own] == 1), np.inf, opens)
    return own, np.minimum(values.min(axis=1), new) - here
