"""A lower bound on the expected variation of information, by prices for each cluster size.

**The bound.** Let x_ij = 1 if a partition has items i and j together, n_i the size of the cluster of i, and
n_it the number of items that share its cluster both in the partition and in draw t. With cost c,

    N E VI = sum_i [ c E log2 m_it + (2 - c) log2 n_i - 2 E log2 n_it ].

Take prices w^k for each size k with w^k_ij = -w^k_ji. The pairs that are together in clusters of size k are a
symmetric relation, so that over these pairs the prices add up to zero: adding w^k_ij x_ij to the part of each
item i in a cluster of size k changes nothing. Now let each item choose its row of x and its size on its own,
with no regard to the others. The sum of their minima is a lower bound, for any prices.
Tangents to -log2 n_it make a row's part linear in x, and its minimum over rows with k items is a sum of the k
smallest coefficients. `_size_table` combines the minima, and finds sizes that no better partition has;
without them the bound is stronger, and faster. docs/certificates.md has the proofs.

**The ascent.** Rows move towards their cheapest form, and prices rise where row i has j more than row j has
i, with momentum; steps are proportional to 1 / k, the scale of a row's coefficients. This is done in single
precision and only chooses the prices. From time to time the bound for these prices is computed anew in double
precision, rounded outward. Many sizes may share a bin, and draws that look alike from an item are a group:
both lower the bound, by concavity and by Jensen's inequality, and are refined as sizes are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from epluribus._kernels.size_prices import Bins, Room, improve_rows, move_prices
from epluribus._parallel import Stopper, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws import Draws
from epluribus.uncertainty._grouping import Grouping
from epluribus.uncertainty._profiles import by_profile
from epluribus.uncertainty._size_table import (
    ByNumber,
    by_number,
    log_chords,
    make_bins,
    possible,
    with_price,
)

_BINS = 96
"""Bins of sizes at a time; up to this many items every size has its own."""
_GROUPS = 128
"""Groups of draws in the first phase; when sizes are gone, there are more of them."""
_WORK = 5e8
"""Bins times groups times the square of the number of items in a sweep."""
_MEMORY = 1.5e9
"""Largest number of bytes used."""
_TILE = 16
"""Items in a tile of prices: a tile's rows and columns fit into the first cache."""
_KEEP = 0.9
"""Momentum of the prices."""
_GAIN = 0.2
"""Part of the way that a row goes towards its cheapest form in a sweep, at first."""
_LONGEST = 0.15
"""Longest step of the prices."""
_PATIENCE, _SHORTER, _SLOWER = 5, 0.8, 0.9
"""Sweeps in a row without a higher bound after which steps get shorter, and rows slower, and how much."""
_SOFT = 0.05
"""Items whose coefficient is within this, over the size, of the last one chosen are in a row by a part."""
_SWEEPS = 40
"""Sweeps between two exact evaluations."""


@dataclass(frozen=True)
class Found:
    """A bound and how it was reached."""

    bound: float
    """On the expected loss; minus infinity if not even one evaluation was completed."""
    why: str
    """"proved", "time" or "settled": what ended the work."""
    rising: float
    """By how much the bound rose per second between the last two evaluations."""


def vi_bound(
    draws: Draws,
    labels: IntArray,
    loss: float,
    cost: float,
    numbers: IntArray,
    stopper: Stopper,
    n_jobs: int,
    loss_of: Callable[[IntArray], float],
    report: Callable[[float], Any] = lambda _: None,
) -> Found:
    """A number not above the smallest expected variation of information.

    Parameters
    ----------
    draws : Draws
    labels : ndarray of shape (n_items,)
        A good partition.
    loss : float
        Its expected loss: only partitions that are better matter.
    cost : float
        The cost of the loss; 1 for the usual one.
    numbers : ndarray of int
        The numbers of clusters that are allowed.
    stopper : Stopper
        When its time is up, the best bound so far is returned.
    n_jobs : int
        Threads.
    loss_of : callable
        Gives the expected loss of a partition from its labels.
    report : callable
        Called with the bound after each evaluation.
    """
    room = room_for(draws.n_items)
    if room is None or not 0.0 < cost < 2.0:
        return Found(-np.inf, "settled", 0.0)
    return _Ascent(draws, labels, loss, cost, numbers, stopper, n_jobs, loss_of, room).run(report)


def room_for(n_items: int) -> tuple[int, int] | None:
    """Numbers of bins and groups that fit into memory; None if these are too few to be of use."""
    cells = min(_MEMORY, available_memory() / 3) / (4.0 * n_items**2)
    # A sweep takes 4 n_bins n_groups n_items^2 operations; beyond some 10^9 there are too few sweeps.
    work = min(_BINS * _GROUPS, max(512, int(_WORK / n_items**2)))
    # Five arrays of rows, prices and momentum, two of them copies, and one of groups.
    n_bins = int(min(n_items, _BINS, max(_BINS // 8, 0.88 * work**0.5), cells * 0.7 / 5))
    n_groups = int(min(_GROUPS, work / max(1, n_bins), cells * 0.3)) // 4 * 4
    return (n_bins, n_groups) if n_bins >= min(8, n_items) and n_groups >= 8 else None


class _Ascent:
    """Rows, prices and what is known so far. Losses are sums over items here: N times the expected loss."""

    def __init__(
        self,
        draws: Draws,
        labels: IntArray,
        loss: float,
        cost: float,
        numbers: IntArray,
        stopper: Stopper,
        n_jobs: int,
        loss_of: Callable[[IntArray], float],
        room: tuple[int, int],
    ) -> None:
        self.n_items, self.reference = draws.n_items, labels
        self.stopper, self.n_jobs, self.loss_of = stopper, n_jobs, loss_of
        self.numbers = numbers
        keep = draws.shares > 0
        self.shares = np.ascontiguousarray(draws.shares[keep])
        self.labels = np.ascontiguousarray(draws.distinct[keep])
        self.upper, self.factor = loss * self.n_items, 2.0 - cost
        self.constant = cost * self._draws_part()
        self.n_bins, self.n_groups = room
        self.work = self.n_bins * self.n_groups  # per sweep, over the number of items squared
        low, high = make_bins(self.n_items, self.n_bins)
        self._set_bins(low, high, np.ones((len(low), self.n_items), dtype=np.uint8))
        self._first_rows()
        self.value, self.size = np.full((2, self.n_items, len(low)), np.inf)
        self.step, self.best = (0.1 if self.n_items <= 200 else 0.05), -np.inf
        self.gain, self.sweeps, self.idle = _GAIN, 0, 0

    def _draws_part(self) -> float:
        """Sum over items of E log2 m_it."""
        total = 0.0
        for row, share in zip(self.labels, self.shares, strict=True):
            sizes = np.bincount(row)
            total += share * float(sizes @ np.log2(np.maximum(1, sizes)))
        return total

    def _set_bins(self, low: IntArray, high: IntArray, alive: Any) -> None:
        self.bins = Bins(low, high, *log_chords(low, high, self.factor), alive)

    def _first_rows(self) -> None:
        """Rows of the most similar items; prices of zero."""
        n, bins = self.n_items, self.bins
        self.groups = np.empty((n, self.n_groups, n), dtype=np.float32)
        self.group_shares = np.zeros((n, self.n_groups))
        self._group()
        self.x = np.empty((n, len(bins.low), n), dtype=np.float32)
        for i in range(n):
            similarity = np.einsum("g,gj->j", self.group_shares[i], self.groups[i])
            similarity[i] = 2.0
            rank = np.empty(n, dtype=np.int64)
            rank[np.argsort(-similarity, kind="stable")] = np.arange(n)
            self.x[i] = 0.9 * (rank < bins.high[:, None]) + 0.1 * bins.high[:, None] / n
        self.w, self.momentum = np.zeros_like(self.x), np.zeros_like(self.x)
        self.saved = (self.x.copy(), self.w.copy(), -np.inf)

    def _group(self, x: AnyArray | None = None, values: FloatArray | None = None) -> None:
        """Put the draws into groups, for each item: alike in the reference, and in its cheapest rows."""
        group = Grouping(self.labels, self.shares, self.reference, self.groups, self.group_shares)
        self._in_threads(partial(group, stop=self.stopper.flag, x=x, values=values))

    # --- sweeps ---

    def _in_threads(self, work: Callable[[int, int], Any], power: float = 1.0) -> None:
        """Call work(begin, end) for a range of items in each thread."""
        # With power 2 the first ranges are shorter: their items have more pairs j > i.
        share = 1.0 - (1.0 - np.arange(self.n_jobs + 1) / self.n_jobs) ** (1.0 / power)
        ends = (np.rint(share * self.n_items / _TILE) * _TILE).clip(0, self.n_items).astype(int)
        ends[-1] = self.n_items
        ranges = [(int(a), int(b)) for a, b in pairwise(ends) if a < b]
        tasks = [partial(work, *range_) for range_ in ranges]
        run_tasks(tasks, n_jobs=len(tasks), stopper=self.stopper)

    def _room(self, width: int, dtype: Any) -> Room:
        n, rows, columns = self.n_items, _padded(len(self.bins.low)), _padded(self.n_items)
        return Room(
            left=np.zeros((rows, columns), dtype=dtype),
            flat=np.zeros((columns, width), dtype=dtype),
            n=np.zeros((rows, width), dtype=dtype),
            h=np.zeros((rows, n), dtype=dtype),
            buffer=np.zeros(n, dtype=dtype),
            which=np.zeros(rows, dtype=np.int64),
        )

    def _rows(self, gain: float, dtype: Any, value: FloatArray, size: FloatArray) -> None:
        """Values of all rows, and a step of each."""

        def rows(begin: int, end: int) -> None:
            improve_rows(
                begin, end, self.x, self.w, self.groups, self.group_shares, self.bins, gain, _SOFT,
                self.stopper.flag, value, size, self._room(self.groups.shape[1], dtype),
            )  # fmt: skip

        self._in_threads(rows)

    def _sweep(self) -> None:
        """One step of all rows, then one of all prices."""
        self._rows(max(2.0 / (self.sweeps + 2.0), self.gain), np.float32, self.value, self.size)
        if self.stopper.flag[0]:
            return
        self.sweeps += 1
        if self.sweeps % 5 == 1 or self.driving is None:
            self.driving = by_number(self.value, self.bins, self.constant, self.numbers, 2)
        pull = self._pull()
        step = (self.step / self.bins.high).astype(np.float32)

        def prices(begin: int, end: int) -> None:
            move_prices(begin, end, _TILE, self.x, self.w, self.momentum, pull, step, _KEEP)

        self._in_threads(prices, power=2.0)

    driving: ByNumber | None = None
    """Bounds by number of clusters, a few sweeps old."""

    def _pull(self) -> FloatArray:
        """How much each row counts: those that make the bound as low as it is."""
        assert self.driving is not None
        order = np.argsort(self.driving.bounds, kind="stable")[:3]
        prices, numbers = self.driving.prices[order], self.driving.numbers[order]
        # Soft minima over sizes and over numbers of clusters: the hard ones would jump.
        tau = float(np.clip((self.upper - self.best) / self.n_items, 1e-4, 0.02))
        pulls, sums = [], []
        for nu, number in zip(prices, numbers, strict=True):
            table = with_price(self.value, self.bins, nu)
            least = table.min(axis=1, keepdims=True)
            pull = np.exp((least - table) / tau)
            pulls.append(pull / pull.sum(axis=1, keepdims=True))
            sums.append(float(least.sum()) - nu * number + self.constant)
        weights = np.exp((min(sums) - np.array(sums)) / (0.1 * tau * self.n_items))
        self._judge(min(sums))
        mixed = sum(w * p for w, p in zip(weights / weights.sum(), pulls, strict=True))
        return np.ascontiguousarray(mixed, dtype=np.float32)

    def _judge(self, value: float) -> None:
        """Longer steps while the bound rises, shorter ones if not; back to good prices if it has fallen."""
        if value > self.best:
            self.best, self.idle = value, 0
            self.step = min(_LONGEST, 1.02 * self.step)
            if self.upper - value < 0.98 * (self.upper - self.saved[2]):
                self.saved[0][...], self.saved[1][...] = self.x, self.w
                self.saved = (*self.saved[:2], value)
            return
        self.idle += 1
        if not self.upper - value < 1.5 * (self.upper - self.best) and self.sweeps > 20:
            self.step *= 0.5
            self.x[...], self.w[...] = self.saved[:2]
            self.momentum[...] = 0.0
            self.best, self.idle = self.saved[2], 0
        elif self.idle == _PATIENCE:
            # Prices go around the best ones: rows that follow more slowly are better means.
            self.step, self.gain, self.idle = _SHORTER * self.step, _SLOWER * self.gain, 0

    # --- exact evaluations ---

    def _evaluate(self) -> FloatArray | None:
        """The table in double precision, rounded outward; None if there was no time."""
        value, size = np.full((2, *self.value.shape), np.inf)
        self._rows(0.0, np.float64, value, size)
        if self.stopper.flag[0]:
            return None
        # The error of a sum is at most its length times the unit roundoff, as a share of its absolute terms;
        # a factor of 4 for the products and logarithms.
        length = len(self.shares) + self.groups.shape[1] + self.n_items
        table = value - 4.0 * length * np.finfo(np.float64).eps * size
        # What is not a number proves nothing.
        return np.where(np.isnan(table), -np.inf, table)

    def _narrow(self, table: FloatArray, found: ByNumber, known: AnyArray | None) -> None:
        """Leave out what no better partition has, then split bins and draws more finely."""
        self.numbers = found.numbers
        alive = possible(table, self.bins, found, self.upper)
        if known is not None:
            alive &= known
        low, high = self.bins.low, self.bins.high
        kept = np.flatnonzero(alive.any(axis=1))
        parts = [(a, int(low[a]), int(high[a])) for a in kept.tolist()]
        # Split in the middle of the logarithm, all at once, as long as there are not more bins than before.
        while 0 < sum(h > s for _, s, h in parts) <= self.n_bins - len(parts):
            parts = [piece for a, s, h in parts for piece in _split(a, s, h)]
        source = np.array([a for a, _, _ in parts], dtype=np.int64)
        if len(parts) == len(low) and np.array_equal(alive, self.bins.alive):
            return
        ends = np.array([(s, h) for _, s, h in parts], dtype=np.int64).reshape(-1, 2)
        self._set_bins(ends[:, 0].copy(), ends[:, 1].copy(), np.ascontiguousarray(alive[source]))
        self.x, self.w = (np.ascontiguousarray(array[:, source]) for array in (self.x, self.w))
        self.momentum = np.ascontiguousarray(self.momentum[:, source])
        self.saved = (self.x.copy(), self.w.copy(), -np.inf)
        self.value = np.ascontiguousarray(table[:, source])
        self.size = np.zeros_like(self.value)
        self.driving, self.best = None, -np.inf
        wanted = min(len(self.shares), self.work // max(1, len(parts))) // 4 * 4
        if len(parts) and wanted >= 1.5 * self.groups.shape[1]:
            shape = (self.n_items, wanted, self.n_items)
            if 4.0 * np.prod(shape) < 0.3 * _MEMORY:
                self.groups = np.empty(shape, dtype=np.float32)
                self.group_shares = np.zeros(shape[:2])
                self._group(self.x, self.value)

    def run(self, report: Callable[[float], Any]) -> Found:
        """Sweep and evaluate until the time is up, the loss is reached, or the bound no longer moves."""
        best, why, seen = -np.inf, "time", [(time.perf_counter(), 0.0)]
        spent, idle = 0.0, 0
        while True:
            began, done = time.perf_counter(), 0
            while not self.stopper.stopped and done < _SWEEPS:
                self._sweep()
                done += 1
                left, now = self.stopper.left, time.perf_counter()
                if left is not None and left < 1.3 * self._cost(spent, now - began, done):
                    break
            began = time.perf_counter()
            table = self._evaluate()
            if table is None:
                break
            spent = time.perf_counter() - began
            found = by_number(table, self.bins, self.constant, self.numbers, n_refined=12)
            found = found.below(self.upper)
            before, best = best, max(best, min(found.least, self.upper))
            seen.append((time.perf_counter(), best))
            report(best / self.n_items)
            if not len(found.numbers):
                why = "proved"
                break
            # Few partitions are left: the best of them is the optimum, or the partition given is.
            profiles = None
            if np.isfinite(found.least):
                profiles = by_profile(table, self.bins, self.constant, found.numbers, self.upper)
            if profiles is not None:
                best = max(best, min(profiles.least, self.upper))
                seen[-1] = (seen[-1][0], best)
                if profiles.partitions is not None:
                    losses = [self.n_items * self.loss_of(each) for each in profiles.partitions]
                    best, why = min([self.upper, *losses]), "proved"
                    break
            self._narrow(table, found, None if profiles is None else profiles.alive)
            if not len(self.bins.low):
                best, why = self.upper, "proved"
                break
            # Three evaluations in a row that close less than a hundredth of the gap: it moves no more.
            idle = idle + 1 if best - before < 0.01 * (self.upper - best) else 0
            if idle == 3:
                why = "settled"
                break
        (t0, v0), (t1, v1) = seen[-2:] if len(seen) > 2 else ((0.0, 0.0), (1.0, 0.0))
        return Found(
            float(best) / self.n_items, why, float(max(0.0, v1 - v0)) / (t1 - t0) / self.n_items
        )

    def _cost(self, spent: float, taken: float, sweeps: int) -> float:
        """Seconds that an evaluation will take: as the last one, or judged by the sweeps."""
        guess = 3.0 * taken / sweeps  # doubles take twice as long as floats, at least
        return 0.1 + (spent if spent else guess)


def _padded(n: int) -> int:
    """The next multiple of four."""
    return (n + 3) // 4 * 4


def _split(a: int, low: int, high: int) -> list[tuple[int, int, int]]:
    """A bin in two, with the number of the bin that they come from."""
    if low == high:
        return [(a, low, high)]
    middle = min(max(low, int((low * high) ** 0.5)), high - 1)
    return [(a, low, middle), (a, middle + 1, high)]
