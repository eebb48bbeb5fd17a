"""Partitions of very many items: passes over the draws, wherever they lie, and moves of the few items that may move.

A pass over the draws is a function of a slice of draws and of some items, and what it adds up are whole numbers: the
result depends neither on the number of threads, nor on the machines the draws lie on.

To *settle* a partition, all items are looked at with nothing moved. Those that would move, or come close, are
*free*: they are swept, and clusters joined, with all others only counted. Then items are looked at again, until none
would move.

Binder's loss leaves thousands of items alone or in small clusters, for which tables would be large, and nearly empty.
All items of small clusters are free then, and what every two free items cost together is written into a matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from epluribus._kernels import scan, sweep
from epluribus._kernels.free_pairs import sweep_sets
from epluribus._parallel import Stopped, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws import Draws
from epluribus.draws.store import Labels, Slice, Store
from epluribus.losses.base import Loss
from epluribus.partition import read_only, relabel
from epluribus.search.local import LocalSearch
from epluribus.search.pair_costs import PairCosts, counts_pairs
from epluribus.search.problem import Problem
from epluribus.search.state import TableState
from epluribus.settings import Settings

_ITEMS, _RANGE, _AT_ONCE = 4096, 1 << 16, 4
"""Items that a task of a pass looks at: their costs stay in the cache. On a cluster they travel, megabytes each, and
so many tasks are asked for at a time."""
_FREE, _MOST_FREE = (0.01, 3000), 0.1
"""Items that are free at least: this share of them, or this many if that is less; and share that is free at most."""
_CLOSE = 0.05
"""Share of the items, those closest to moving, that are looked at until none of them moves, before all are again."""
_LOOKS = 8
"""Looks at all items, at most."""
COLUMNS = 10
"""Clusters of a partition for each cluster of a draw, up to which tables are made for it."""
_TABLE, _SMALL = 16, 8
"""Sums over pairs: items of a cluster that has a table; items of one without that are reckoned with at least."""


class Counted(NamedTuple):
    """A partition of all items, and its contingency tables."""

    labels: IntArray
    """(n_items,) 0..K-1; -1 for an item in no cluster."""
    counts: AnyArray
    """(n_groups, K) items of each group in each cluster."""
    sizes: IntArray
    """(K,) items of each cluster."""


class _Frozen(NamedTuple):
    """What a look needs to know; the arguments of the kernels of `_kernels/scan.py`."""

    labels: IntArray
    first: IntArray
    gains: AnyArray
    inside: AnyArray
    rest: tuple[float, IntArray, FloatArray, bool]


class Passes:
    """Passes over a sample, wherever it is: they count tables, and look at items.

    `Stopped` is raised if a pass is ended early. `on_done` is told the share of a pass that is done.
    """

    def __init__(
        self, store: Store, problem: Problem, settings: Settings, on_done: Callable[[float], Any]
    ) -> None:
        self._store, self._problem, self._on_done = store, problem, on_done
        self._stopper, here = settings.stopper, store.in_one_piece
        self._n_jobs, self._items = (settings.n_jobs, _ITEMS) if here else (_AT_ONCE, _RANGE)
        self._draws = scan.BLOCK if here else store.n_distinct

    def count(self, labels: IntArray) -> Counted:
        """The partition with the contingency tables of all draws."""
        k, own = int(labels.max()) + 1, self._store.share((labels, self._problem.first))
        tasks = [
            partial(self._store.map, _count, begin, end, k, own)
            for begin, end in _blocks(self._store.n_distinct, self._draws)
        ]
        counts = np.concatenate([one for found in self._run(tasks) for one in found])
        return Counted(labels, counts, np.bincount(labels[labels >= 0], minlength=k))

    def look(
        self,
        now: Counted,
        labels: IntArray,
        items: IntArray | None = None,
        *,
        may_open: bool = False,
    ) -> tuple[IntArray, FloatArray, float]:
        """What items with these labels would do, given the tables of `now`: all of them, or some.

        Returns their best clusters, how much more these cost than their own, and by how much that may be wrong.
        """
        p, store, k = self._problem, self._store, len(now.sizes)
        # An item has one group in each draw: sums of the largest gains must not overflow.
        steps = np.maximum.accumulate(np.abs(p.steps[0]))[now.counts.max(axis=1)]
        largest = float(np.maximum.reduceat(p.group_weights * steps, p.first[:-1]).sum())
        scale = 2.0**30 / largest
        counts = np.zeros((len(now.counts), -(-(k + 1) // 8) * 8), dtype=np.int32)
        counts[:, :k] = now.counts
        gains, inside = np.empty((2, *counts.shape), dtype=np.int32)
        scan.fill_gains(counts, p.group_weights, p.steps[0], scale, gains, inside)
        rest = scale, now.sizes, p.size_steps, may_open
        frozen = store.share(_Frozen(labels, p.first, gains, inside, rest))
        n = len(labels) if items is None else len(items)
        tasks = [
            partial(
                store.reduce,
                _costs,
                _moves,
                slice(*one) if items is None else items[slice(*one)],
                frozen,
            )
            for one in _blocks(n, self._items)
        ]
        target, gap = map(np.concatenate, zip(*self._run(tasks), strict=True))
        return target, gap, p.n_draws / scale

    def _run(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        def done(_: Any) -> None:
            self._on_done(1.0 / len(tasks))

        found = run_tasks(tasks, n_jobs=self._n_jobs, stopper=self._stopper, on_done=done)
        if len(found) < len(tasks) or self._stopper.stopped:
            raise Stopped
        return found


def _blocks(n: int, size: int) -> list[tuple[int, int]]:
    """Pieces of range(n), each of `size` but the last."""
    return [(begin, min(begin + size, n)) for begin in range(0, n, size)]


def _count(part: Slice, begin: int, end: int, k: int, given: tuple[IntArray, IntArray]) -> IntArray:
    """Tables of those of the draws begin..end-1 that are in the slice."""
    own, labels, first = part.columns, given[0], given[1][part.begin :]
    low, high = max(begin, own.start) - own.start, min(end, own.stop) - own.start
    counts = np.zeros((first[max(low, high)] - first[low], k), dtype=np.int32)
    scan.count_groups(read_only(part.table), low, high, first, read_only(labels), counts)
    return counts


def _costs(part: Slice, some: slice | IntArray, frozen: _Frozen) -> tuple[AnyArray, IntArray]:
    """What the draws of the slice say about some items: costs of all clusters, and of their own."""
    # A copy: read in one go, labels come from memory faster than block by block of draws.
    table, labels = part.table[some].copy(), frozen.labels[some]
    costs = np.zeros((len(labels), frozen.gains.shape[1]), dtype=np.int32)
    own = np.zeros(len(labels), dtype=np.int64)
    first, gains, inside = map(read_only, (frozen.first[part.columns], frozen.gains, frozen.inside))
    scan.add_costs(table, first, read_only(labels), gains, inside, costs, own)
    return costs, own


def _moves(
    parts: list[tuple[AnyArray, IntArray]], some: slice | IntArray, frozen: _Frozen
) -> tuple[IntArray, FloatArray]:
    """The best moves of some items, from what all slices say."""
    costs, own = (sum(found[1:], found[0]) for found in zip(*parts, strict=True))
    target, gap = np.empty(len(own), dtype=np.int64), np.empty(len(own))
    scale, sizes, size_steps, may_open = frozen.rest
    labels = read_only(frozen.labels[some])
    rest = scale, read_only(sizes), read_only(size_steps), may_open
    scan.best_moves(costs, own, labels, *rest, target, gap)
    return target, gap


# --- a partition of all items ---


class Settled(NamedTuple):
    """A partition of all items, its expected loss if it is known, and whether no single item would move."""

    labels: IntArray
    value: float | None = None
    converged: bool = False


class Settler:
    """Places items, and improves partitions of very many items.

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
        Told the share of a pass that is done.
    """

    def __init__(
        self,
        draws: Draws,
        weights: FloatArray,
        loss: Loss,
        rng: np.random.Generator,
        settings: Settings,
        on_done: Callable[[float], Any] = lambda _: None,
    ) -> None:
        self.draws, self.weights, self.loss, self.rng, self.settings = (
            draws,
            weights,
            loss,
            rng,
            settings,
        )
        self.problem = self._over(np.empty((0, draws.n_distinct), dtype=np.uint8))
        self.store = draws.store.hearing(settings.stopper)
        self.passes = Passes(self.store, self.problem, settings, on_done)
        groups, most = draws.store.groups, settings.most(draws.n_items)
        self.pairs = most > COLUMNS * groups and counts_pairs(loss, draws.n_items)
        self.limit = min(most, COLUMNS * groups)
        """Clusters that have tables, at most."""
        self._groups: IntArray | None = None
        """(n_groups,) items of each group, once they are known."""
        self.latest: Settled | None = None
        """What there is if the work is ended early."""

    def _over(self, table: Labels) -> Problem:
        """The problem with some of the items."""
        n, n_clusters = self.draws.n_items, self.draws.distinct_n_clusters
        return Problem(table, self.weights, self.loss, n_items=n, n_clusters=n_clusters)

    def place(self, items: IntArray, labels: IntArray) -> IntArray:
        """Labels of all items, given those of a few."""
        out = np.full(self.draws.n_items, -1, dtype=np.int64)
        out[items] = labels
        target = self.passes.look(self.passes.count(out), np.full_like(out, -1))[0]
        out = np.where(out < 0, target, out)
        self.latest = Settled(out)
        return out

    def settle(self, labels: IntArray) -> Settled:
        """The partition improved until no single item would move."""
        return self._with_pairs(labels) if self.pairs else self._with_tables(labels)

    def _with_tables(self, labels: IntArray) -> Settled:
        n, now, close = len(labels), self.passes.count(labels), None
        # Free items stay by their exact costs, as long as nothing moves.
        stays, looks = np.zeros(n, dtype=np.bool_), 0
        limit = max(self.limit, len(now.sizes))
        settings = replace(self.settings, k_max=limit)
        while True:
            may_open = len(now.sizes) < limit
            _, gap, margin = self.passes.look(now, now.labels, close, may_open=may_open)
            at = np.arange(n) if close is None else close
            next_close = at[_smallest(gap, int(_CLOSE * n))] if close is None else close
            gap[stays[at]] = np.inf
            near = int(np.count_nonzero(gap <= margin))
            looks += close is None
            if near == 0 and close is None:
                bound = len(now.sizes) < limit or limit == self.settings.most(n)
                return Settled(now.labels, self.value(now), bound)
            if looks == _LOOKS:
                return Settled(now.labels, self.value(now))
            if near == 0:  # to be sure, all items are looked at again
                close = None
                continue
            free = at[
                _smallest(gap, int(np.clip(near, min(_FREE[0] * n, _FREE[1]), _MOST_FREE * n)))
            ]
            now, moved = self._swept(now, free, settings)
            close = next_close
            stays &= not moved
            stays[free] = True

    def _swept(self, now: Counted, free: IntArray, settings: Settings) -> tuple[Counted, bool]:
        """The partition after a local search over the free items, and whether any of them moved."""
        problem, mine = self._over(self.store.rows(free)), now.labels[free]
        counts = np.zeros_like(now.counts)
        sweep.count_cells(problem.rows, mine, counts)
        fixed = now.counts - counts, now.sizes - np.bincount(mine, minlength=len(now.sizes))
        state = TableState(problem, mine, fixed)
        search = LocalSearch(problem, mine, self.rng, settings, state=state)
        search.settle()
        state.compact()
        labels, k = state.fixed_slots[now.labels], state.n_clusters
        labels[free] = state.labels
        found = Counted(labels, state.counts[:, :k], state.sizes[:k])
        self.latest = Settled(labels, self.value(found))
        if self.settings.stopper.stopped:
            raise Stopped
        # After a sweep without moves there is one more only if clusters were joined.
        return found, len(search.trace) > 2

    def _with_pairs(self, labels: IntArray) -> Settled:
        free, most = np.zeros(len(labels), dtype=np.bool_), self.settings.most(len(labels))
        p = self.problem
        for _ in range(_LOOKS):
            sizes = np.bincount(labels)
            large = sizes >= _TABLE
            large[np.argmax(sizes)] = True
            # As long as there are small clusters, a new one stands for these.
            may_open = not large.all() or len(large) < most
            now = self.passes.count(np.where(large, np.cumsum(large) - 1, -1)[labels])
            _, gap, margin = self.passes.look(now, now.labels, may_open=may_open)
            # A small cluster of m items may cost an item less than a new one, but not by more than this.
            m = int(sizes[~large].max(initial=_SMALL))
            slack = -m * (2 * p.size[1] + 2 * p.f[0, 1] * p.total_weight) if may_open else 0.0
            freed = ~free & ((now.labels < 0) | (gap <= margin + slack))
            if not freed.any():
                return Settled(labels, None, True)
            free |= freed
            n_bytes = 8.0 if np.ptp(self.weights) else 2.0
            if n_bytes * np.count_nonzero(free) ** 2 > available_memory() / 4:
                return self._with_tables(labels)
            labels = self._swept_pairs(labels, np.flatnonzero(free), now, np.flatnonzero(large))
        return Settled(labels)

    def _swept_pairs(
        self, labels: IntArray, free: IntArray, now: Counted, large: IntArray
    ) -> IntArray:
        """The partition after a local search over the free items; `now` has the tables of `large` clusters."""
        problem, mine, settings = self._over(self.store.rows(free)), now.labels[free], self.settings
        try:
            pairs = PairCosts.of(problem, settings.n_jobs, settings.stopper)
        except KeyboardInterrupt:
            raise Stopped from None
        if settings.stopper.stopped:
            raise Stopped
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
        width = len(held) + len(free) + 1
        sizes = np.bincount(labels, minlength=width)
        bounds = settings.k_min, settings.most(len(labels)), settings.stopper.flag
        own = (
            pairs.together,
            fixed,
            pairs.base,
            pairs.unit,
            pairs.tolerance,
            *bounds,
            entries,
            sizes,
            np.empty(width),
        )
        n, moved = len(free), 1
        while moved and not settings.stopper.stopped:
            moved = sweep_sets(np.arange(n + 1), self.rng.permutation(n), *own)
            if not moved:  # clusters of free items alone join others
                member = np.argsort(entries, kind="stable")
                member = member[entries[member] >= len(held)]
                _, start = np.unique(entries[member], return_index=True)
                moved = sweep_sets(np.append(start, len(member)), member, *own)
        labels[free] = entries
        labels = relabel(labels)
        self.latest = Settled(labels)
        if settings.stopper.stopped:
            raise Stopped
        return labels

    def value(self, now: Counted) -> float:
        """Expected loss."""
        p = self.problem
        if self._groups is None:
            self._groups = now.counts.sum(axis=1)
        cells = sweep.cell_sum(now.counts, p.group_weights, p.kinds, p.f)
        return (self._constant + cells + float(p.size[now.sizes].sum())) / p.total_weight

    @property
    def _constant(self) -> float:
        """What the loss adds to the total loss of every partition."""
        p, form = self.problem, self.loss.linear_form(self.draws.n_items)
        groups = float(p.group_weights @ self.loss.tables(p.n_items)[2][self._groups])
        return p.total_weight * form.constant + form.group * groups

    def trivial_values(self) -> tuple[float, float]:
        """Expected loss of one cluster, and of all items apart."""
        p, n = self.problem, self.draws.n_items
        if self._groups is None:
            self._groups = self.passes.count(np.zeros(n, dtype=np.int64)).counts[:, 0]
        together = self.value(
            Counted(np.zeros(n, dtype=np.int64), self._groups[:, None], np.array([n]))
        )
        apart = n * (p.total_weight * p.f[0, 1] + p.size[1])
        return together, (self._constant + apart) / p.total_weight


def _smallest(values: FloatArray, n: int) -> IntArray:
    """Places of the n smallest values, or of all, ascending."""
    n = min(n, len(values))
    return np.sort(np.argpartition(values, n - 1)[:n]) if n > 0 else np.empty(0, dtype=np.int64)
