"""The end of a proof: when few cluster sizes are left, all lists of sizes are looked at, one by one.

A profile is the list of the sizes of all clusters, such as 72, 7, 3. In a partition with that profile exactly
72 items are in a cluster of size 72: the smallest sum of table entries with these numbers, an assignment
problem, bounds it. Profiles whose bound reaches the loss are out. If no size occurs twice, a choice of a size
for each item is a partition, and the few choices that cost less than what is left up to the loss are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from epluribus._kernels.size_prices import Bins
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.uncertainty._bounds import SAFETY

_PROFILES = 60
"""Profiles that are looked at, at most."""
_SIZES = 40
"""Sizes from which profiles are made, at most."""
_CHOICES = 20_000
"""Choices of sizes for all items that are listed at most."""
_LISTED = 200
"""Partitions that are listed at most."""
_NEVER = 1e9
"""Cost of a size that an item cannot have."""


@dataclass(frozen=True)
class ByProfile:
    """What is known about partitions that are better than a given one."""

    least: float
    """Bound for all profiles that are left; infinite if there are none."""
    alive: AnyArray
    """(n_bins, n_items) which items can be in clusters of which sizes."""
    partitions: list[IntArray] | None
    """Labels of all partitions that can be better; None if they are not few."""


def by_profile(
    values: FloatArray, bins: Bins, constant: float, numbers: IntArray, loss: float
) -> ByProfile | None:
    """Bounds for all profiles with these numbers of clusters; None if sizes share bins or profiles are many.

    `values` is the table of `_size_table`, (n_items, n_bins).
    """
    if np.any(bins.low < bins.high) or len(bins.low) > _SIZES:
        return None
    room = bins.alive.sum(axis=1) // bins.low  # how often each size can occur
    found: list[IntArray] = []
    for number in numbers:
        found += islice(_profiles(bins.low, room, len(values), number), _PROFILES)
        if len(found) >= _PROFILES:
            return None
    table = np.where(bins.alive.T > 0, np.minimum(values, _NEVER), _NEVER)
    largest = float(np.abs(table[table < _NEVER]).max(initial=0.0))
    least, alive = np.inf, np.zeros_like(bins.alive)
    partitions: list[IntArray] | None = []
    for times in found:
        columns = np.flatnonzero(times)
        seats = bins.low[columns] * times[columns]
        total, excess = _assign(table[:, columns], seats)
        size = abs(constant) + abs(total) + largest * len(table)
        bound = constant + total - SAFETY * size
        if bound >= loss:
            continue
        least = min(least, bound)
        alive[columns] |= (excess < loss - bound).T
        if partitions is not None:
            more = _partitions(excess, loss - bound, seats, bins.low[columns])
            partitions = None if more is None else partitions + more
    return ByProfile(least, alive & bins.alive, partitions)


def _profiles(sizes: IntArray, room: IntArray, total: int, number: int) -> Iterator[IntArray]:
    """How often each size occurs, for all lists of `number` sizes with this total."""

    def extend(at: int, left: int, clusters: int, times: list[int]) -> Iterator[IntArray]:
        if at < 0:
            if left == 0 and clusters == 0:
                yield np.array(times[::-1], dtype=np.int64)
            return
        # With the sizes up to this one, `clusters` of them hold at most so many items, and at least so many.
        if not sizes[0] * clusters <= left <= sizes[at] * clusters:
            return
        for n in range(min(int(room[at]), clusters, left // int(sizes[at])), -1, -1):
            yield from extend(at - 1, left - n * int(sizes[at]), clusters - n, [*times, n])

    return extend(len(sizes) - 1, total, int(number), [])


def _assign(cost: FloatArray, seats: IntArray) -> tuple[float, FloatArray]:
    """A bound on the smallest sum with these numbers of items in each column, and each entry's excess.

    For any prices v of seats, sum_i min_a (cost_ia - v_a) + sum_a v_a seats_a is a bound, reached by
    the best prices; an assignment costs exactly the excesses cost_ia - v_a - min_b (cost_ib - v_b) more.
    """
    from scipy.optimize import linear_sum_assignment

    _, seat = linear_sum_assignment(np.repeat(cost, seats, axis=1))
    column = np.repeat(np.arange(len(seats)), seats)[seat]
    # An item in column a must not want to be in b: v_b - v_a <= min over its items of cost_ib - cost_ia.
    change = np.full((len(seats), len(seats)), np.inf)
    np.minimum.at(change, column, cost - cost[np.arange(len(cost)), column][:, None])
    price = np.zeros(len(seats))
    for _ in range(len(seats)):
        price = np.minimum(price, (price[:, None] + change).min(axis=0))
    reduced = cost - price
    least = reduced.min(axis=1)
    return float(least.sum() + price @ seats), reduced - least[:, None]


def _partitions(
    excess: FloatArray, budget: float, seats: IntArray, sizes: IntArray
) -> list[IntArray] | None:
    """All partitions that cost less than the budget, as labels; None if too many or not determined."""
    # Two clusters of the same size: who is in which is open. Clusters of one item are no such case.
    if np.any((seats > sizes) & (sizes > 1)):
        return None
    options = [np.flatnonzero(row < budget) for row in excess]
    if any(len(columns) == 0 for columns in options):
        return []
    # Items with a single option first: they only lower what is left. Then those with the dearest options.
    second = np.sort(excess, axis=1)[:, min(1, excess.shape[1] - 1)]
    several = np.array([len(columns) > 1 for columns in options])
    order = np.lexsort((-second, several))
    # Choices so far: what they cost, the seats they leave, and the column of each item.
    cost, left = np.zeros(1), seats[None, :].copy()
    chosen = np.zeros((1, len(excess)), dtype=np.int64)
    for i in order:
        grown = []
        for column in options[i]:
            keep = np.flatnonzero((cost + excess[i, column] < budget) & (left[:, column] > 0))
            rest, new = left[keep], chosen[keep]
            rest[:, column] -= 1
            new[:, i] = column
            grown.append((cost[keep] + excess[i, column], rest, new))
        cost, left, chosen = (np.concatenate(parts) for parts in zip(*grown, strict=True))
        if len(cost) > _CHOICES:
            return None
    if len(chosen) > _LISTED:
        return None
    labels = sizes[chosen]
    # Items that are alone get a label each, above any size.
    return [np.where(row == 1, len(row) + 1 + np.arange(len(row)), row) for row in labels]
