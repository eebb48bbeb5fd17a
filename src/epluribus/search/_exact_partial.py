"""The best of all partitions of a few items where labels are missing, for a linear loss.

The expected loss is then a constant plus a sum over the clusters C of the estimate:

    cost(C) = sum_t w_t [ joint_t sum_h f1(|C n h|) + size_t f2(|C n O_t|) ]

where h runs through the clusters of draw t and O_t is the set of items it has seen. What is left is the
cheapest way to divide the items into sets: a recursion over all 2^N sets of items, which takes the cluster of
the first item out of each of them.
"""

from __future__ import annotations

import numpy as np

from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import Settings
from epluribus.losses.base import Loss
from epluribus.losses.partial import linear_forms
from epluribus.partition import relabel
from epluribus.search._rules import nothing_obeys

_ROUNDING = 1e-12
"""Costs closer than this, relative to the largest, count as equal."""


def best_of_partial(draws: Draws, loss: Loss, settings: Settings) -> IntArray:
    """Canonical labels of the best partition within the bounds of the settings."""
    n = draws.n_items
    cost = _set_costs(draws, loss)
    scale = max(1.0, float(np.abs(cost).max()))
    if settings.constraints is not None:
        cost[~settings.constraints.allowed_sets()] = np.inf
    most = settings.most(n)
    # least[k, S]: the least cost of dividing the set S into k clusters; choice[k, S] the first of these.
    least = np.full((most + 1, 1 << n), np.inf)
    choice = np.zeros((most + 1, 1 << n), dtype=np.int64)
    least[0, 0] = 0.0
    for whole in range(1, 1 << n):
        first = whole & -whole
        parts = first | _subsets(whole ^ first)
        # (k, parts): this part is one cluster, the rest is divided into k - 1.
        sums = cost[parts] + least[:-1, whole ^ parts]
        at = sums.argmin(axis=1)
        least[1:, whole] = sums[np.arange(most), at]
        choice[1:, whole] = parts[at]
    totals = least[settings.k_min :, -1]
    # The fewest clusters among those that only rounding separates.
    if np.isinf(totals.min()):
        raise ValueError(nothing_obeys(settings))
    close = totals <= totals.min() + _ROUNDING * scale
    k, left = settings.k_min + int(np.flatnonzero(close)[0]), (1 << n) - 1
    labels = np.zeros(n, dtype=np.int64)
    while left:
        part = int(choice[k, left])
        labels[(part >> np.arange(n)) & 1 == 1] = k
        k, left = k - 1, left ^ part
    return relabel(labels)


def _set_costs(draws: Draws, loss: Loss) -> FloatArray:
    """(2**n_items,) what each set of items adds to the expected loss as a cluster."""
    n, table = draws.n_items, draws.item_major.astype(np.int64)
    f1, f2, _ = loss.tables(n)
    form = linear_forms(loss, np.count_nonzero(table, axis=0))
    shares, sets, items = draws.shares, np.arange(1 << n), 1 << np.arange(n)
    cost = np.zeros(1 << n)
    for t in range(table.shape[1]):
        labels = table[:, t]
        for h in range(1, int(labels.max()) + 1):
            members = int(items[labels == h].sum())
            cost += shares[t] * form.joint[t] * f1[np.bitwise_count(sets & members)]
        seen = int(items[labels > 0].sum())
        cost += shares[t] * form.size[t] * f2[np.bitwise_count(sets & seen)]
    return cost


def _subsets(whole: int) -> IntArray:
    """All subsets of a set, as numbers whose bit i is item i.

    >>> _subsets(0b101).tolist()
    [0, 1, 4, 5]
    """
    found = np.zeros(1, dtype=np.int64)
    for i in range(whole.bit_length()):
        if whole >> i & 1:
            found = np.concatenate([found, found | 1 << i])
    return found
