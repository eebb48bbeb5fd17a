"""From row values to a bound: a table with a row for each item and a column for each bin of cluster sizes.

Entry (i, a) is at most what item i pays in any partition that has it in a cluster with a size of bin a. So the
sum over items of the smallest entries bounds every partition. Two facts make it stronger:

- *The number of clusters.* In a partition with K clusters sum_i 1 / n_i = K. For any number nu, adding nu / n_i
  to each share and subtracting nu K changes nothing; the bound for K is the largest over nu.
- *What a better partition cannot have.* A cluster of size k has k items of that size. If even the k smallest
  excesses over the items' minima lift the bound above a loss that was found, no better partition has a cluster
  of that size; the same with one of the items given. Rows without such sizes make a higher bound.

Arrays: N items, K bins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.uncertainty._bounds import SAFETY

_PRICES = np.concatenate([-np.geomspace(1000, 0.01, 40), [0.0], np.geomspace(0.01, 1000, 40)])
"""Values of nu that are tried first."""


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
    """Smallest and largest sizes of about `n_bins` bins for 1 to n_items, in a geometric progression.

    Examples
    --------
    >>> from epluribus.uncertainty._size_table import make_bins
    >>> make_bins(10, 6)
    (array([1, 2, 3, 4, 6, 8]), array([ 1,  2,  3,  5,  7, 10]))
    """
    if n_bins >= n_items:
        return np.arange(1, n_items + 1), np.arange(1, n_items + 1)
    # The smallest ratio with few enough bins: small sizes have bins of their own.
    ratio, low = 1.0, [1] * (n_bins + 2)
    while len(low) > n_bins + 1:
        ratio, low = ratio + 0.01, [1]
        while low[-1] <= n_items:
            low.append(max(low[-1] + 1, int(low[-1] * ratio) + 1))
    return np.array(low[:-1]), np.minimum(np.array(low[1:]) - 1, n_items)


def by_number(
    values: FloatArray, bins: Bins, constant: float, numbers: IntArray, n_refined: int
) -> tuple[FloatArray, FloatArray]:
    """For each number of clusters the bound, rounded outward, and its nu; better for the `n_refined` smallest.

    `values` is the table of row values, (N, K); `constant` is added to its sums.
    """

    def total(nu: float) -> float:
        return float(bins.with_price(values, nu).min(axis=1).sum())

    # For each K the best of the prices, all at once.
    each = np.array([total(nu) for nu in _PRICES]) - _PRICES * numbers[:, None]
    at = each.argmax(axis=1)
    bounds, prices = each[np.arange(len(numbers)), at], _PRICES[at].copy()
    for number in np.argsort(bounds, kind="stable")[:n_refined]:
        # The bound is concave in nu: shrinking steps to both sides find its top.
        width = max(0.01, 0.3 * abs(prices[number]))
        for _ in range(12):
            for nu in (prices[number] - width, prices[number] + width):
                value = total(nu) - nu * numbers[number]
                if value > bounds[number]:
                    bounds[number], prices[number] = value, nu
            width /= 2.0
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
    >>> from epluribus.uncertainty._size_table import group_draws
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
