"""Partitions of very many items, improved: passes over the draws, and moves of the items that may move.

A pass over the draws is a function of a slice of draws and of some items, and adds up whole numbers: the result depends
neither on the number of threads, nor on the machines the draws lie on. A pass says what each item would cost in each
cluster with nothing moved. Those that would move, or come close to it, are *free*: a local search moves these, with all
other items only counted. This is repeated until no item would move.

Binder's loss makes singletons of items that fit no cluster. Contingency tables for thousands of small clusters would
be large and nearly empty: all items of small clusters are free then, and a matrix has what every two of them cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels import large as kernels
from epluribus._kernels.labels import count_tables
from epluribus._kernels.sweep import count_cells
from epluribus._parallel import Stopped, run_tasks
from epluribus._progress import Progress
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.draws.rows import Labels
from epluribus.draws.store import Slice
from epluribus.losses.base import Loss
from epluribus.partition import read_only, relabel
from epluribus.search.local import LocalSearch
from epluribus.search.pairs import PairCosts, counts_pairs
from epluribus.search.problem import Problem
from epluribus.search.state import TableState
from epluribus.settings import Settings

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
    weights : ndarray of shape (n_distinct,)
        Weight of each distinct draw.
    loss : Loss
        A linear one.
    rng : Generator
    settings : Settings
    bar : Progress, optional
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
        self, draws: Draws, weights: FloatArray, loss: Loss, rng: np.random.Generator,
        settings: Settings, bar: Progress | None = None,
    ) -> None:  # fmt: skip
        self.draws, self.weights, self.loss, self.rng = draws, weights, loss, rng
        self.settings, self.n_done = settings, 0.0
        self._bar = Progress() if bar is None else bar
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
            n_bytes = (8.0 if np.ptp(self.weights) else 2.0) * np.count_nonzero(free) ** 2
            if self.pairs and n_bytes > available_memory() / 4:
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
        units = problem.weights * (2 * problem.f[0, 1] / pairs.unit)
        fixed = sum(u * stay[rows] for u, rows in zip(units, problem.rows.T, strict=True))
        # A slot for each free item, and one more: there is always an empty one.
        sizes = np.append(sizes, np.zeros(n + 1, dtype=np.int64))
        bounds, moved = (settings.k_min, self.most, settings.stopper.flag), 1
        while moved and not settings.stopper.stopped:
            moved = kernels.sweep_pairs(
                self.rng.permutation(n), pairs.together, fixed, pairs.base, pairs.unit, pairs.tolerance,
                *bounds, mine, sizes, np.empty(len(sizes)),
            )  # fmt: skip
        return mine

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
            self._bar.grow(int(self.n_done) + _STEPS)  # there is always one more pass to come
            self._bar.show(int(self.n_done), {})

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
    kernels.add_costs(
        table, *map(read_only, (first[part.columns], labels, gains, own_gains)), costs
    )
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
