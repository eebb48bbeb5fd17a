"""A lower bound on the expected variation of information, by prices for each cluster size.

**The bound.** Let x_ij = 1 if a partition has items i and j together, n_i the size of the cluster of i, and
n_it the number of items that share its cluster both in the partition and in draw t. With cost c,

    N E VI = sum_i [ c E log2 m_it + (2 - c) log2 n_i - 2 E log2 n_it ].

Take prices w^k for each size k with w^k_ij = -w^k_ji. The pairs that are together in clusters of size k are a
symmetric relation, so that over these pairs the prices add up to zero: adding w^k_ij x_ij to the share of each
item i in a cluster of size k changes nothing. Now let each item choose its row of x and its size on its own.
The sum of their minima is a lower bound, for any prices. Tangents to -log2 n_it make a row's share linear in x,
and its minimum over rows with k items is a sum of the k smallest coefficients. docs/about/certificates.md has the
proofs.

**The table.** Its entry (i, a) is at most what item i pays in any partition that has it in a cluster with a size of bin
a. So the sum over items of the smallest entries bounds every partition. Two facts make it stronger:

- *The number of clusters.* In a partition with K clusters sum_i 1 / n_i = K. For any number nu, adding nu / n_i
  to each share and subtracting nu K changes nothing; the bound for K is the largest over nu.
- *What a better partition cannot have.* A cluster of size k has k items of that size. If even the k smallest
  excesses over the items' minima lift the bound above a loss that was found, no better partition has a cluster
  of that size; the same with one of the items given. Rows without such sizes make a higher bound.

**The ascent.** Rows move towards their cheapest form, and prices rise where row i has j more than row j has
i, with momentum; steps are proportional to 1 / k, the scale of a row's coefficients. This is done in single
precision and only chooses the prices. From time to time the bound for these prices is computed again in double
precision, rounded outward. Sizes share bins, on which the concave log2 n_i is above its chord. Draws that look
alike from an item share a group: by Jensen's inequality the mean of -log2 n_it over the group is at least -log2
of the mean. Bins are split as sizes are left out, groups where the bound no longer rises.

Arrays: N items, K bins, G groups of draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from epluribus._kernels.size_prices import improve_rows
from epluribus._parallel import Stopper, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.uncertainty._bounds import SAFETY

MOST_ITEMS = 2000
"""Items above which this is not tried: a row for each item and bin would fill the memory."""
_BINS, _GROUPS = 96, 64
"""Bins of sizes, and groups of draws at first: all sizes of a hundred items, at a hundredth of the draws."""
_WORK, _BUDGET = 5e8, 3e10
"""Bins times groups times squared items in one sweep, and in all: a quarter of a second, and at most 15 s."""
_STEP, _GAIN = 0.15, 0.2
"""Longest step of the prices, and share of the way that rows move in a sweep at first: beyond, the bound falls."""
_SOFT = 0.05
"""Items whose coefficient is within this, over the size, of the last one chosen are in a row by a share."""
_SWEEPS = 40
"""Sweeps between two exact evaluations, each of which takes as long as three sweeps of all rows."""
_CLOSE = 1e-6
"""A gap, as a share of the loss, below which the work ends: it is reported as such."""

_PRICES = np.concatenate([-np.geomspace(1000, 0.01, 40), [0.0], np.geomspace(0.01, 1000, 40)])
"""Values of nu that are tried."""


class SizePrices:
    """Rows, prices and what is known so far; `run` gives the bound. Losses are sums over items here: N times the mean.

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
        When its time is up, the best bound so far is returned; minus infinity if there is none.
    n_jobs : int
        Threads.
    """

    def __init__(
        self,
        draws: Draws,
        labels: IntArray,
        loss: float,
        cost: float,
        numbers: IntArray,
        stopper: Stopper,
        n_jobs: int,
    ) -> None:
        n = draws.n_items
        self.n_items, self.numbers, self.upper = n, numbers, loss * n
        self.stopper, self.n_jobs = stopper, n_jobs
        keep = draws.shares > 0
        self.shares = np.ascontiguousarray(draws.shares[keep])
        self.labels = np.ascontiguousarray(draws.distinct[keep])
        # Sum over items of c E log2 m_it.
        sizes = (np.bincount(row) for row in self.labels)
        logs = [float(size @ np.log2(np.maximum(1, size))) for size in sizes]
        self.constant = cost * float(self.shares @ logs)
        # A sweep takes 4 n_bins n_groups n_items^2 operations: both numbers fall with the items.
        self.work = int(min(_BINS * _GROUPS, max(512, _WORK / n**2)))
        self.n_bins = int(min(n, _BINS, max(_BINS // 8, 0.88 * self.work**0.5)))
        low, high = make_bins(n, self.n_bins)
        self.bins = Bins(low, high, np.ones((len(low), n), dtype=bool), 2.0 - cost)
        # Draws are alike from an item if they agree on its own cluster, that with each other one, and on all.
        own = (labels == np.unique(labels)[:, None]).astype(np.float32)
        sets = [np.vstack([np.maximum(own, own[k]), np.ones(n)]) for k in labels]
        self._group(min(_GROUPS, self.work // self.n_bins, len(self.shares)), sets)
        similarity = np.einsum("ig,igj->ij", self.group_shares, self.groups)
        np.fill_diagonal(similarity, 2.0)
        # For each size the items that are most similar, and a little of all others.
        rank = np.argsort(np.argsort(-similarity, axis=1, kind="stable"), axis=1)
        x = 0.9 * (rank[:, None, :] < high[:, None]) + 0.1 * high[:, None] / n
        self.x = x.astype(np.float32)
        self.w, self.momentum = np.zeros_like(self.x), np.zeros_like(self.x)
        self.saved = (self.x, self.w, -np.inf)
        self.value, self.near = np.full(self.x.shape[:2], np.inf), np.ones(self.x.shape[:2], bool)
        self.step, self.gain, self.best = (0.1 if n <= 200 else 0.05), _GAIN, -np.inf
        self.sweeps, self.idle, self.spent = 0, 0, 0.0
        self.lowest: tuple[AnyArray, ...] = ()  # nu and number of clusters of the lowest bounds

    def _group(self, n_groups: int, sets: list[AnyArray]) -> None:
        """Put the draws into groups, for each item: alike in how many items of some sets are with it."""
        n = self.n_items
        self.groups = np.ones((n, n_groups, n), dtype=np.float32)
        self.group_shares = np.zeros((n, n_groups))

        def some(begin: int, end: int) -> None:
            for i in range(begin, end):
                if self.stopper.flag[0]:
                    return
                # Sparse, also because products of small dense tables would each start threads of their own.
                together = csr_array((self.labels == self.labels[:, i, None]).astype(np.float64))
                counts = together @ sets[i].T
                group = group_draws(np.log2(np.maximum(1.0, counts)), self.shares, n_groups)
                of_groups = csr_array((self.shares, (group, np.arange(len(group)))))
                sums = (of_groups @ together).toarray()
                total, g = sums[:, i], len(sums)
                # Rounded up, for single precision: with too many together a bound is only lower.
                self.groups[i, :g] = np.minimum(1.0, sums / total[:, None] * (1.0 + 2e-7))
                self.group_shares[i, :g] = total

        self._in_threads(some, len(self.shares) * n)

    def _in_threads(self, work: Callable[[int, int], Any], entries: int) -> None:
        """Call work(begin, end) for ranges of items; each item has so many entries of an array."""
        n = self.n_items
        # Tasks of some two megabytes stay in the cache.
        step = max(1, min((1 << 19) // entries, -(-n // self.n_jobs)))
        tasks = [partial(work, i, min(i + step, n)) for i in range(0, n, step)]
        run_tasks(tasks, n_jobs=self.n_jobs, stopper=self.stopper)

    def _rows(self, begin: int, end: int, gain: float, dtype: Any, size: FloatArray) -> None:
        """Values of the near rows of items begin..end-1, and a step of each towards its cheapest form.

        The values are bounds whatever x and w are. `size` is filled with the sums of their absolute terms.
        """
        bins, some = self.bins, slice(begin, end)
        improve_rows(
            begin, *(one[some].astype(dtype, copy=False) for one in (self.x, self.w, self.groups)),
            self.group_shares[some], bins.low, bins.high, *bins.chords, bins.alive, self.near[some],
            gain, _SOFT, self.stopper.flag, self.value[some], size[some],
        )  # fmt: skip

    def _sweep(self) -> None:
        """One step of all rows, then one of all prices."""
        # Most rows are far from the bound: they are looked at in every fifth sweep.
        again = self.sweeps % 5 == 0 or not self.lowest
        if again:
            self.near = np.ones(self.value.shape, dtype=bool)
        gain = max(2.0 / (self.sweeps + 2.0), self.gain)
        work = partial(self._rows, gain=gain, dtype=np.float32, size=np.empty_like(self.value))
        self._in_threads(work, max(self.x[0].size, self.groups[0].size))
        if self.stopper.flag[0]:
            return
        self.sweeps += 1
        self.spent += float(np.count_nonzero(self.near) * self.groups[0].size)
        if again:
            bounds, prices = by_number(self.value, self.bins, self.constant, self.numbers)
            order = np.argsort(bounds, kind="stable")[:3]
            self.lowest = prices[order], self.numbers[order]
        pulled = self._pull()[..., None] * self.x
        # Where row i has j more than row j has i, w_ij rises and w_ji falls by the same.
        excess = pulled - pulled.transpose(2, 1, 0)
        excess *= (self.step / self.bins.high).astype(np.float32)[:, None]
        self.momentum *= np.float32(0.9)
        self.momentum += excess
        self.w += self.momentum

    def _pull(self) -> FloatArray:
        """(N, K) how much each row counts: those that make the bound as low as it is."""
        # Soft minima over sizes and over numbers of clusters: the hard ones would jump.
        tau = float(np.clip((self.upper - self.best) / self.n_items, 1e-4, 0.02))
        prices, numbers = self.lowest
        tables = np.stack([self.bins.with_price(self.value, nu) for nu in prices])
        least = tables.min(axis=2, keepdims=True)
        pulls = np.exp((least - tables) / tau)
        pulls /= pulls.sum(axis=2, keepdims=True)
        sums = least.sum(axis=(1, 2)) - prices * numbers + self.constant
        weights = np.exp((sums.min() - sums) / (0.1 * tau * self.n_items))
        self._judge(float(sums.min()))
        mixed = np.tensordot(weights / weights.sum(), pulls, axes=1)
        self.near = mixed > 1e-6
        return mixed.astype(np.float32)

    def _judge(self, value: float) -> None:
        """Longer steps while the bound rises, shorter ones if not; back to good prices if it has fallen."""
        if value > self.best:
            self.best, self.idle = value, 0
            self.step = min(_STEP, 1.02 * self.step)
            if self.upper - value < 0.98 * (self.upper - self.saved[2]):
                self.saved = (self.x.copy(), self.w.copy(), value)
            return
        self.idle += 1
        if not self.upper - value < 1.5 * (self.upper - self.best) and self.sweeps > 20:
            self.step *= 0.5
            self.x[...], self.w[...] = self.saved[:2]
            self.momentum[...] = 0.0
            self.best, self.idle = self.saved[2], 0
        elif self.idle == 5:
            # Prices go around the best ones: rows that follow more slowly are better means.
            self.step, self.gain, self.idle = 0.8 * self.step, 0.9 * self.gain, 0

    def evaluate(self) -> FloatArray | None:
        """The table of row values in double precision, rounded outward; None if there was no time."""
        size = np.zeros(self.value.shape)
        work = partial(self._rows, gain=0.0, dtype=np.float64, size=size)
        self._in_threads(work, 2 * max(self.x[0].size, self.groups[0].size))
        if self.stopper.flag[0]:
            return None
        # The error of a sum is at most its length times the unit roundoff, as a share of its absolute terms;
        # a factor of 4 for the products and logarithms.
        length = len(self.shares) + self.groups.shape[1] + self.n_items
        table = self.value - 4.0 * length * np.finfo(np.float64).eps * size
        # What is not a number proves nothing.
        return np.where(np.isnan(table), -np.inf, table)

    def _narrow(self, table: FloatArray, alive: AnyArray) -> None:
        """Leave out what no better partition has, then split bins and draws more finely."""
        bins, source = self.bins.split(alive, self.n_bins)
        if len(source) == len(self.bins.low) and np.array_equal(alive, self.bins.alive):
            return
        self.bins = bins
        self.x, self.w, self.momentum = (
            np.ascontiguousarray(array[:, source]) for array in (self.x, self.w, self.momentum)
        )
        self.saved = (self.x.copy(), self.w.copy(), -np.inf)
        self.value = np.ascontiguousarray(table[:, source])
        self.lowest, self.best = (), -np.inf
        # Steps got short where they were: here they would take too long.
        self.step, self.gain = max(self.step, 0.1 * _STEP), max(self.gain, 0.5 * _GAIN)
        wanted = min(len(self.shares), self.work // len(source))
        if wanted >= 1.5 * self.groups.shape[1]:
            # Alike also in the cheapest rows of the item: the others are far from the bound.
            cheap = np.argsort(self.value, axis=1, kind="stable")[:, :6]
            self._group(wanted, [x[rows] for x, rows in zip(self.x, cheap, strict=True)])

    def run(self, report: Callable[[float, float], Any]) -> float:
        """A number not above the smallest expected variation of information.

        Sweeps and evaluations go on until the loss is reached, the bound no longer moves, or the work is done. After
        each evaluation `report` is called with the bound and the share of the work that is done.
        """
        best, idle = -np.inf, 0
        # Three evaluations in a row that close less than a hundredth of the gap: it moves no more.
        while idle < 3 and self.spent < _BUDGET and self.upper - best > _CLOSE * self.upper:
            for _ in range(_SWEEPS):
                if not self.stopper.stopped:
                    self._sweep()
            table = self.evaluate()
            if table is None:
                break
            bounds, prices = by_number(table, self.bins, self.constant, self.numbers)
            before = best
            best = max(best, min(float(bounds.min(initial=np.inf)), self.upper))
            report(best / self.n_items, min(1.0, self.spent / _BUDGET))
            if np.isfinite(best):
                left = bounds < self.upper
                self.numbers = self.numbers[left]
                alive = possible(table, self.bins, bounds[left], prices[left], self.upper)
                if not alive.any():
                    # No number of clusters, or no size, is left for a better partition.
                    return self.upper / self.n_items
                self._narrow(table, alive)
            idle = idle + 1 if best - before < 0.01 * (self.upper - best) else 0
        return float(best) / self.n_items


@dataclass(frozen=True)
class Bins:
    """Bins of cluster sizes; on each, (2 - cost) log2 of the size is at least base + slope times size."""

    low: IntArray
    """(K,) smallest size of each bin."""
    high: IntArray
    """(K,) largest size."""
    alive: AnyArray
    """(K, N) False where an item is known to be in no cluster of that size."""
    factor: float
    """2 - cost."""

    @property
    def chords(self) -> tuple[FloatArray, FloatArray]:
        """(K,) base and slope of the line from the smallest to the largest size; the logarithm is concave."""
        rise = self.factor * (np.log2(self.high) - np.log2(self.low))
        slope = rise / np.maximum(self.high - self.low, 1)
        return self.factor * np.log2(self.low) - slope * self.low, slope

    def with_price(self, values: FloatArray, nu: float) -> FloatArray:
        """Row values with nu / n_i added, where the size n_i in a bin is the one that makes it smallest."""
        return values + nu / (self.high if nu > 0 else self.low)

    def split(self, alive: AnyArray, most: int) -> tuple[Bins, IntArray]:
        """The bins that are alive, split in two while they are at most `most`; and which they were."""
        source = np.flatnonzero(alive.any(axis=1))
        low, high = self.low[source], self.high[source]
        while 0 < np.count_nonzero(high > low) <= most - len(low):
            # In the middle of the logarithm; a bin of one size stays.
            middle = np.clip(np.sqrt(low * high).astype(np.int64), low, np.maximum(low, high - 1))
            second = high > middle
            both = np.stack([np.ones_like(second), second], axis=1)
            low, high = (np.stack(e, axis=1)[both] for e in ((low, middle + 1), (middle, high)))
            source = np.repeat(source, 1 + second)
        return Bins(low, high, np.ascontiguousarray(alive[source]), self.factor), source


def make_bins(n_items: int, n_bins: int) -> tuple[IntArray, IntArray]:
    """Smallest and largest sizes of `n_bins` bins for 1 to n_items: single sizes, then a geometric progression.

    Examples
    --------
    >>> from epluribus.uncertainty._size_prices import make_bins
    >>> make_bins(10, 6)
    (array([1, 2, 3, 4, 5, 7]), array([ 1,  2,  3,  4,  6, 10]))
    """
    progression = np.geomspace(1, n_items + 1, n_bins + 1).astype(np.int64)[:-1]
    low = np.maximum(progression, np.arange(1, n_bins + 1))
    return low, np.append(low[1:] - 1, n_items)


def by_number(
    values: FloatArray, bins: Bins, constant: float, numbers: IntArray
) -> tuple[FloatArray, FloatArray]:
    """For each number of clusters the bound, rounded outward, and its nu.

    `values` is the table of row values, (N, K); `constant` is added to its sums.
    """
    totals = [bins.with_price(values, nu).min(axis=1).sum() for nu in _PRICES]
    # For each K the best of the prices.
    each = np.array(totals) - _PRICES * numbers[:, None]
    at = each.argmax(axis=1)
    bounds, prices = each[np.arange(len(numbers)), at], _PRICES[at]
    size = abs(constant) + np.abs(bounds) + 2.0 * np.abs(prices) * numbers
    return bounds + constant - SAFETY * size, prices


def possible(
    values: FloatArray, bins: Bins, bounds: FloatArray, prices: FloatArray, loss: float
) -> AnyArray:
    """(K, N) which items can be in clusters of which sizes in a partition better than `loss`."""
    alive = np.zeros(bins.alive.shape, dtype=bool)
    for bound, nu in zip(bounds, prices, strict=True):
        table = bins.with_price(values, nu)
        excess = table - table.min(axis=1, keepdims=True)
        # Items that are out of a bin have infinite excess there, and sums over too few others are infinite.
        ordered = np.sort(excess, axis=0)
        columns, need = np.arange(len(bins.low)), bins.low - 1
        sums = np.concatenate([np.zeros((1, len(need))), np.cumsum(ordered, axis=0)])
        # The item itself and the cheapest others; if it is among these, the next one takes its place.
        least = sums[need, columns] + np.maximum(excess, ordered[need, columns])
        alive |= (bound + least * (1 - SAFETY) < loss).T
    alive &= bins.alive
    # A size needs as many items.
    alive[alive.sum(axis=1) < bins.low] = False
    return alive


def group_draws(features: AnyArray, shares: FloatArray, n_groups: int) -> IntArray:
    """The group of each draw, 0, 1, ...: those whose features vary most are split at the mean, again and again.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.uncertainty._size_prices import group_draws
    >>> group_draws(np.array([[1.0], [5.0], [1.1], [9.0]]), np.full(4, 0.25), 3).tolist()
    [0, 1, 0, 2]
    """
    group, n = np.zeros(len(features), dtype=np.int64), 1
    while n < n_groups:
        total = np.bincount(group, shares, n)
        # (features, groups) means, and variances times the share of the group.
        means = np.array([np.bincount(group, shares * f, n) for f in features.T]) / total
        away = (features.T - means[:, group]) ** 2
        spread = np.array([np.bincount(group, shares * a, n) for a in away])
        axis, score = spread.argmax(axis=0), spread.max(axis=0)
        # A third of the groups at a time.
        split = np.argsort(-score, kind="stable")[: min(max(1, n // 3), n_groups - n)]
        split = split[score[split] > 1e-12]
        if not len(split):
            break
        new = np.full(n, -1)
        new[split] = n + np.arange(len(split))
        above = features[np.arange(len(group)), axis[group]] > means[axis[group], group]
        group = np.where(above & (new[group] >= 0), new[group], group)
        n += len(split)
    return group
