"""From row values to a bound: a table with a row for each item and a column for each bin of cluster sizes.

Entry (i, a) is at most what item i pays in any partition that has it in a cluster with a size of bin a. So
the sum over items of the smallest entries bounds every partition. Two facts make it stronger:

- *The number of clusters.* In a partition with K clusters the sizes n_i satisfy sum_i 1 / n_i = K. For any
  number nu, adding nu / n_i to each entry and subtracting nu K changes nothing for these partitions, and the
  bound for K is the largest over nu. The smallest over all K bounds every partition.
- *What a better partition cannot have.* A cluster of size k has k items in its column. If even the k smallest
  excesses over the items' minima lift the bound above a loss that was found, no better partition has a
  cluster of that size; the same with one of the items given.
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
    """(n_bins,) smallest size of each bin."""
    high: IntArray
    """(n_bins,) largest size."""
    base: FloatArray
    """(n_bins,)"""
    slope: FloatArray
    """(n_bins,) 0 where the bin is a single size."""
    alive: AnyArray
    """(n_bins, n_items) False where an item is known to be in no cluster of that size."""


@dataclass(frozen=True)
class ByNumber:
    """Bounds for partitions with given numbers of clusters."""

    numbers: IntArray
    """Numbers of clusters."""
    bounds: FloatArray
    """The bound for each."""
    prices: FloatArray
    """The nu that gave it."""

    @property
    def least(self) -> float:
        """The bound for all of them; infinite if there are none."""
        return float(self.bounds.min(initial=np.inf))

    def below(self, loss: float) -> ByNumber:
        """Those whose bound is below a loss."""
        keep = self.bounds < loss
        return ByNumber(self.numbers[keep], self.bounds[keep], self.prices[keep])


def by_number(
    values: FloatArray, bins: Bins, constant: float, numbers: IntArray, n_refined: int = 4
) -> ByNumber:
    """The bound for each number of clusters, outward rounded; the `n_refined` smallest with a better nu.

    `values` is the table, (n_items, n_bins); `constant` is added to its sums.
    """
    sums = np.array([_least_sum(values, bins, nu) for nu in _PRICES])
    # For each K the best of the prices, all at once.
    each = sums - _PRICES * numbers[:, None]
    at = each.argmax(axis=1)
    bounds, prices = each[np.arange(len(numbers)), at], _PRICES[at].copy()
    for number in np.argsort(bounds, kind="stable")[:n_refined]:
        # The bound is concave in nu: shrinking steps to both sides find its top.
        width = max(0.01, 0.3 * abs(prices[number]))
        for _ in range(12):
            for nu in (prices[number] - width, prices[number] + width):
                value = _least_sum(values, bins, nu) - nu * numbers[number]
                if value > bounds[number]:
                    bounds[number], prices[number] = value, nu
            width /= 2.0
    size = abs(constant) + np.abs(bounds) + 2.0 * np.abs(prices) * numbers
    return ByNumber(numbers, bounds + constant - SAFETY * size, prices)


def _least_sum(values: FloatArray, bins: Bins, nu: float) -> float:
    """Sum over items of the smallest entry with nu / n_i added."""
    return float(with_price(values, bins, nu).min(axis=1).sum())


def with_price(values: FloatArray, bins: Bins, nu: float) -> FloatArray:
    """The table with nu / n_i added, where the size n_i in a bin is the one that makes it smallest."""
    return values + nu / (bins.high if nu > 0 else bins.low)


def possible(values: FloatArray, bins: Bins, found: ByNumber, loss: float) -> AnyArray:
    """(n_bins, n_items) which items can be in clusters of which sizes in a partition better than `loss`."""
    alive = np.zeros(bins.alive.shape, dtype=bool)
    for bound, nu in zip(found.bounds, found.prices, strict=True):
        table = with_price(values, bins, nu)
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
    ratio = 1.0
    while True:
        low = [1]
        while low[-1] <= n_items:
            low.append(max(low[-1] + 1, int(low[-1] * ratio) + 1))
        if len(low) - 1 <= n_bins:
            return np.array(low[:-1]), np.minimum(np.array(low[1:]) - 1, n_items)
        ratio += 0.01


def log_chords(low: IntArray, high: IntArray, factor: float) -> tuple[FloatArray, FloatArray]:
    """Base and slope of lines below factor log2(size) from low to high: the logarithm is concave."""
    slope = factor * (np.log2(high) - np.log2(low)) / np.maximum(high - low, 1)
    return factor * np.log2(low) - slope * low, slope
