"""The best of all partitions of a few items where labels are missing, for a linear loss.

The expected loss is then a constant plus a sum over the clusters C of the estimate:

    cost(C) = sum_t w_t [ joint_t sum_h f1(|C n h|) + size_t f2(|C n O_t|) ]

where h runs through the clusters of draw t and O_t is the set of items it has seen. What is left is the
cheapest way to divide the items into sets.
"""

from __future__ import annotations

import numpy as np

from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import Settings
from epluribus.losses.base import Loss
from epluribus.losses.partial import linear_forms
from epluribus.partition import relabel
from epluribus.search._divide import divide
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
    divisions = divide(cost, n, settings.most(n))
    totals = divisions.least[settings.k_min :, -1]
    # The fewest clusters among those that only rounding separates.
    if np.isinf(totals.min()):
        raise ValueError(nothing_obeys(settings))
    close = totals <= totals.min() + _ROUNDING * scale
    k = settings.k_min + int(np.flatnonzero(close)[0])
    return relabel(divisions.labels(k, (1 << n) - 1, n))


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
