"""Partitions of very many items, improved: passes over the draws, and moves of the items that may move.

A pass over the draws is a function of a slice of draws and of some items, and adds up whole numbers: the result depends
neither on the number of threads, nor on the machines the draws lie on. To refine a partition, the costs of all items
are computed with nothing moved. Those that would move, or come close, are *free*: they are swept, and clusters joined,
with all other items only counted. This is repeated until no item would move.

Binder's loss makes singletons of items that fit no cluster. Contingency tables for thousands of small clusters would
be large and nearly empty: all items of small clusters are free then, and a matrix has what every two of them cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from epluribus._kernels import large as kernels
from epluribus._kernels import sweep
from epluribus._kernels.labels import count_tables
from epluribus._parallel import Stopped, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws import Draws
from epluribus.draws.store import Labels, Slice
from epluribus.losses.base import Loss
from epluribus.partition import read_only, relabel
from epluribus.search.local import LocalSearch
from epluribus.search.pair_costs import PairCosts, counts_pairs
from epluribus.search.problem import Problem
from epluribus.search.state import TableState
from epluribus.settings import Settings

_TASK = 4096
"""Items of a task of a pass: their costs stay in the cache. On a cluster, where they travel, 16 times as many."""
_DRAWS = 64
"""Draws of a task that counts: one line of the cache for each item."""
_FREE = 0.05
"""Share of the items that are free: those that would move or come closest, so that few passes are needed."""
_PASSES = 8
"""Passes over all items in which free ones are sought, at most."""
COLUMNS = 10
"""Clusters of a partition for each cluster of a draw, up to which contingency tables are made."""
_SMALL = 8
"""Items of a cluster from which on it has a table where pairs are counted."""


class _Counted(NamedTuple):
    """A partition of all items, and its contingency tables."""

    labels: IntArray
    """(n_items,) 0..K-1; -1 for an item in no cluster."""
    counts: AnyArray
    """(n_groups, K) items of each group in each cluster."""
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
    on_done : callable
        Called with the share of a pass that is done.

    Attributes
    ----------
    labels : ndarray of shape (n_items,) or None
        The latest partition, also after an early end.
    value : float or None
        Its expected loss, if it is known.
    """

    def __init__(
        self, draws: Draws, weights: FloatArray, loss: Loss, rng: np.random.Generator,
        settings: Settings, on_done: Callable[[float], Any] = lambda _: None,
    ) -> None:  # fmt: skip
        self.draws, self.weights, self.loss, self.rng = draws, weights, loss, rng
        self.settings, self._on_done = settings, on_done
        self.store = draws.store.hearing(settings.stopper)
        self.problem = self._with_items(np.empty((0, draws.n_distinct), dtype=np.uint8))
        most = settings.most(draws.n_items)
        self.limit = min(most, COLUMNS * draws.store.groups)
        """Clusters that have tables, at most."""
        self.pairs = most > self.limit and counts_pairs(loss, draws.n_items)
        self.labels: IntArray | None = None
        self.value: float | None = None
        self._groups: Any = None
        """(n_groups,) items of each group, once they are counted."""

    def _with_items(self, table: Labels) -> Problem:
        """The problem with some of the items."""
        n, n_clusters = self.draws.n_items, self.draws.distinct_n_clusters
        return Problem(table, self.weights, self.loss, n_items=n, n_clusters=n_clusters)

    def has_tables(self, labels: IntArray) -> bool:
        """Whether a partition has no more clusters than have tables."""
        return bool(labels.max() < COLUMNS * self.store.groups)

    def assign(self, items: IntArray, labels: IntArray) -> IntArray:
        """Labels of all items, given those of a few."""
        out = np.full(self.draws.n_items, -1, dtype=np.int64)
        out[items] = labels
        target = self._look(self._count(out), np.full_like(out, -1))[0]
        self.labels = np.where(out < 0, target, out)
        return self.labels

    def refine(self, labels: IntArray) -> tuple[IntArray, bool]:
        """The partition improved until no single item would move, and whether that was reached."""
        self.labels, self.value = labels, None
        converged = self._refine_pairs(labels) if self.pairs else self._refine_tables(labels)
        return self.labels, converged

    def _refine_tables(self, labels: IntArray) -> bool:
        n, now = len(labels), self._count(labels)
        limit = max(self.limit, len(now.sizes))
        settings = replace(self.settings, k_max=limit)
        # Free items stay by their exact costs, as long as nothing moves.
        stay = np.zeros(n, dtype=np.bool_)
        for _ in range(_PASSES):
            _, gap, margin = self._look(now, now.labels, may_open=len(now.sizes) < limit)
            gap[stay] = np.inf
            if not (gap <= margin).any():
                self.labels, self.value = now.labels, self._expected(now)
                return len(now.sizes) < limit or limit == self.settings.most(n)
            size = int(np.ceil(_FREE * n))
            free = np.sort(np.argpartition(gap, size - 1)[:size])
            now, moved = self._sweep_free(now, free, settings)
            stay &= not moved
            stay[free] = True
        return False

    def _sweep_free(
        self, now: _Counted, free: IntArray, settings: Settings
    ) -> tuple[_Counted, bool]:
        """The partition after a local search over the free items, and whether any of them moved."""
        problem, mine = self._with_items(self.store.rows(free)), now.labels[free]
        counts = np.zeros_like(now.counts)
        sweep.count_cells(problem.rows, mine, counts)
        fixed = now.counts - counts, now.sizes - np.bincount(mine, minlength=len(now.sizes))
        state = TableState(problem, mine, fixed)
        search = LocalSearch(problem, mine, self.rng, settings, state=state)
        search.settle()
        state.compact()
        labels, k = state.fixed_slots[now.labels], state.n_clusters
        labels[free] = state.labels
        found = _Counted(labels, state.counts[:, :k], state.sizes[:k])
        self.labels, self.value = labels, self._expected(found)
        self._check()
        # After a sweep without moves there is one more only if clusters were joined.
        return found, len(search.trace) > 2

    def _expected(self, now: _Counted) -> float:
        """Expected loss."""
        p = self.problem
        cells = sweep.cell_sum(now.counts, p.group_weights, p.kinds, p.f)
        return (self._constant() + cells + float(p.size[now.sizes].sum())) / p.total_weight

    def _constant(self) -> float:
        """What the loss adds to the total loss of every partition."""
        p, form = self.problem, self.loss.linear_form(self.draws.n_items)
        groups = self.loss.tables(p.n_items)[2][self._groups]
        return p.total_weight * form.constant + form.group * float(p.group_weights @ groups)

    def trivial_values(self) -> tuple[float, float]:
        """Expected loss of one cluster, and of all items apart."""
        p, together = self.problem, np.zeros(self.draws.n_items, dtype=np.int64)
        if self._groups is None:
            self._count(together)
        now = _Counted(together, self._groups[:, None], np.array([p.n_items]))
        apart = p.n_items * (p.total_weight * float(p.f[0, 1]) + float(p.size[1]))
        return self._expected(now), (self._constant() + apart) / p.total_weight

    def _refine_pairs(self, labels: IntArray) -> bool:
        free = np.zeros(len(labels), dtype=np.bool_)
        p, most = self.problem, self.settings.most(len(labels))
        for _ in range(_PASSES):
            sizes = np.bincount(labels)
            has_table = sizes >= _SMALL
            has_table[np.argmax(sizes)] = True
            # As long as there are small clusters, a new one stands for these.
            may_open = not has_table.all() or len(sizes) < most
            now = self._count(np.where(has_table, np.cumsum(has_table) - 1, -1)[labels])
            _, gap, margin = self._look(now, now.labels, may_open=may_open)
            # A small cluster may cost an item less than a new one, but not by more than this.
            pair = 2 * p.size[1] + 2 * p.f[0, 1] * p.total_weight
            margin -= _SMALL * pair if may_open else 0.0
            freed = ~free & ((now.labels < 0) | (gap <= margin))
            if not freed.any():
                return True
            free |= freed
            n_bytes = 8.0 if np.ptp(self.weights) else 2.0
            if n_bytes * np.count_nonzero(free) ** 2 > available_memory() / 4:
                return self._refine_tables(labels)
            labels = self._sweep_pairs(labels, np.flatnonzero(free), now, np.flatnonzero(has_table))
            self.labels = labels
            self._check()
        return False

    def _sweep_pairs(
        self, labels: IntArray, free: IntArray, now: _Counted, large: IntArray
    ) -> IntArray:
        """The partition after a local search over the free items; `now` has the tables of `large` clusters."""
        problem, mine, settings = (
            self._with_items(self.store.rows(free)),
            now.labels[free],
            self.settings,
        )
        try:
            pairs = PairCosts.of(problem, settings.n_jobs, settings.stopper)
        except KeyboardInterrupt:
            raise Stopped from None
        self._check()
        counts = np.zeros_like(now.counts)
        sweep.count_cells(problem.rows, mine, counts)
        sizes = now.sizes - np.bincount(mine[mine >= 0], minlength=len(now.sizes))
        held = np.flatnonzero(sizes)
        stay = (now.counts - counts)[:, held]
        units = problem.weights * (2 * problem.f[0, 1] / pairs.unit)
        fixed = sum(u * stay[rows] for u, rows in zip(units, problem.rows.T, strict=True))
        # Clusters in which items stay come first; there is a slot for each of the other items, and one more.
        slots = np.full(int(labels.max()) + 1, -1)
        slots[large[held]] = np.arange(len(held))
        slots[slots < 0] = np.arange(len(held), len(slots))
        labels = slots[labels]
        entries = labels[free]
        width, moved = len(held) + len(free) + 1, 1
        sizes, sums = np.bincount(labels, minlength=width), np.empty(width)
        bounds = settings.k_min, settings.most(len(labels)), settings.stopper.flag
        while moved and not settings.stopper.stopped:
            moved = kernels.sweep_pairs(
                self.rng.permutation(len(free)), pairs.together, fixed, pairs.base, pairs.unit,
                pairs.tolerance, *bounds, entries, sizes, sums,
            )  # fmt: skip
        labels[free] = entries
        return relabel(labels)

    # --- passes over the draws ---

    def _count(self, labels: IntArray) -> _Counted:
        """The partition with the contingency tables of all draws."""
        k, n = int(labels.max()) + 1, self.store.n_distinct
        given = self.store.share((labels, self.problem.n_clusters))
        step = _DRAWS if self.store.in_one_piece else n
        tasks = [
            partial(self.store.map, _count_groups, begin, begin + step, k, given)
            for begin in range(0, n, step)
        ]
        counts = np.concatenate([one for found in self._run(tasks) for one in found])
        if labels.min() >= 0:
            self._groups = counts.sum(axis=1)
        return _Counted(labels, counts, np.bincount(labels[labels >= 0], minlength=k))

    def _look(
        self, now: _Counted, labels: IntArray, *, may_open: bool = False
    ) -> tuple[IntArray, FloatArray, float]:
        """What items with these labels would do, given the tables of `now`, if nothing else moved.

        Returns their best clusters other than their own, how much more these, or a new one, cost than their own, and
        by how much that may be wrong.
        """
        p, steps = self.problem, self.problem.steps[0]
        # An item has one group in each draw: sums of the largest gains must not overflow.
        scale = 2.0**30 / (p.total_weight * np.abs(steps[: now.counts.max() + 1]).max())
        w = scale * p.group_weights[:, None]
        # Whole vectors of eight clusters.
        counts = np.pad(now.counts, ((0, 0), (0, -len(now.sizes) % 8)))
        # Without items in a cell the second entry is of no use: it is the last step, which is 0.
        gains, inside = (np.rint(w * steps[counts - x]).astype(np.int32) for x in (0, 1))
        opens = p.total_weight * steps[0] + p.size_steps[0] if may_open else np.inf
        size_costs = scale, now.sizes, p.size_steps, opens
        given = self.store.share((labels, p.first, gains, inside, size_costs))
        step = _TASK if self.store.in_one_piece else 16 * _TASK
        tasks = [
            partial(self.store.reduce, _add_costs, _best_moves, slice(begin, begin + step), given)
            for begin in range(0, len(labels), step)
        ]
        target, gap = map(np.concatenate, zip(*self._run(tasks), strict=True))
        return target, gap, p.n_draws / scale

    def _run(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        def done(_: Any) -> None:
            self._on_done(1 / len(tasks))

        n_jobs, stopper = self.settings.n_jobs, self.settings.stopper
        found = run_tasks(tasks, n_jobs=n_jobs, stopper=stopper, on_done=done)
        self._check()
        return found

    def _check(self) -> None:
        """End the work after Ctrl-C and after the time limit."""
        if self.settings.stopper.stopped:
            raise Stopped


# --- what is done with a slice of the draws, perhaps on another machine ---


def _count_groups(
    part: Slice, begin: int, end: int, k: int, given: tuple[IntArray, IntArray]
) -> IntArray:
    """(n_groups, k) tables of those of the draws begin..end-1 that are in the slice."""
    labels, n_clusters = given
    low, high = max(begin - part.begin, 0), min(end - part.begin, part.table.shape[1])
    groups = n_clusters[part.columns][low:high]
    counts = np.zeros((high - low, groups.max(), k), dtype=np.int32)
    count_tables(read_only(part.table), low, high, read_only(labels), counts)
    return counts[np.arange(counts.shape[1]) < groups[:, None]]


def _add_costs(part: Slice, some: slice, given: tuple[Any, ...]) -> tuple[AnyArray, IntArray]:
    """What the draws of the slice say about some items: costs of all clusters, and of their own."""
    labels, first, gains, inside, _ = given
    # A copy: read in one go, labels come from memory faster than block by block of draws.
    table, labels = part.table[some].copy(), read_only(labels[some])
    costs = np.zeros((len(labels), gains.shape[1]), dtype=np.int32)
    own = np.zeros(len(labels), dtype=np.int64)
    arrays = map(read_only, (first[part.columns], labels, gains, inside))
    kernels.add_costs(table, *arrays, costs, own)
    return costs, own


def _best_moves(
    parts: list[tuple[AnyArray, IntArray]], some: slice, given: tuple[Any, ...]
) -> tuple[IntArray, FloatArray]:
    """The best moves of some items, from what all slices say; see `LargeRefiner._look`."""
    costs, own = (sum(found[1:], found[0]) for found in zip(*parts, strict=True))
    labels, (scale, sizes, size_steps, opens) = given[0][some], given[-1]
    values = costs[:, : len(sizes)] / scale + size_steps[sizes]
    placed = np.flatnonzero(labels >= 0)
    at = labels[placed]
    values[placed, at] = np.inf
    target = values.argmin(axis=1)
    gap = values[np.arange(len(target)), target]
    gap[placed] = np.minimum(gap[placed], np.where(sizes[at] > 1, opens, np.inf))
    gap[placed] -= own[placed] / scale + size_steps[sizes[at] - 1]
    return target, gap
