"""The best partition of some of a few items, the others undecided, found with proof.

What a linear loss adds for a set of items as a cluster does not depend on the other clusters, so the best
partition of each set is found from those of its parts. What the draws themselves add depends on the decided
items alone.
"""

from __future__ import annotations

import numpy as np

from epluribus._kernels.subsets import subset_sums
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import Settings
from epluribus.losses.base import Loss
from epluribus.partition import tidy
from epluribus.search._divide import divide
from epluribus.search._exact import clusters_as_sets
from epluribus.search._parking import loss_of_decided, price_of
from epluribus.search._rules import nothing_obeys


def best_of_some(draws: Draws, loss: Loss, settings: Settings) -> tuple[IntArray, float]:
    """What minimizes the objective of `_parking.py`: labels, -1 for undecided items, and the expected loss.

    For a few items; the loss is that of the decided ones.
    """
    n, asked = draws.n_items, settings.constraints
    assert settings.undecided is not None
    form, (f1, f2, f3) = loss.linear_form(n), loss.tables(n)
    size = np.bitwise_count(np.arange(1 << n)).astype(np.int64)
    joint, group = _sums(draws, f1, size), _sums(draws, f3, size)
    cost = form.joint * joint + form.size * f2[size]
    if asked is not None:
        cost[~asked.allowed_sets()] = np.inf
    most = settings.most(n)
    divisions = divide(cost, n, most)
    # No cluster at all is allowed unless a number of clusters was asked for.
    low = 0 if settings.k_min == 1 else settings.k_min
    total = (
        divisions.least[low:]
        + form.group * group
        + price_of(loss, settings.undecided, n) * (n - size)
    )
    if np.isinf(total.min()):
        raise ValueError(nothing_obeys(settings))
    # Of equally good answers, the one with the most decided items.
    good = np.argwhere(total <= total.min() + 1e-12 * max(1.0, abs(total.min())))
    k, left = good[np.argmax(size[good[:, 1]])]
    labels = tidy(divisions.labels(int(k) + low, int(left), n))
    return labels, loss_of_decided(labels, draws, loss)


def _sums(draws: Draws, f: FloatArray, size: IntArray) -> FloatArray:
    """(2**N,) mean over the draws of the sum of f over the cells that each set has in common with a draw."""
    clusters = clusters_as_sets(draws)
    sums, kinds = np.zeros((1, len(size))), np.zeros(clusters.size, dtype=np.int64)
    shares = np.broadcast_to(draws.shares, clusters.shape)
    subset_sums(clusters.ravel(), np.ascontiguousarray(shares).ravel(), kinds, size, f, sums)
    return sums[0]
