"""How many modes a sample has: three conditions that every two of them must pass.

For two modes a and b and the draws z nearest to either, let

    x(z) = (loss(a, z) - loss(b, z) - x_a) / (x_b - x_a),

with x_a and x_b the medians over the draws of a and of b: 0 at a's draws, 1 at b's.

1. *Weight*: each mode has at least 5 % of the draws.
2. *Valley*: with n(c) the number of draws within 1/6 of c, (n(1/2) + 1) / (min(n(0), n(1)) + 1) <= 0.5: the
   middle is at most half as dense as the sparser mode. One hump cut in two gives about 1.
3. *Joint*: the variance of x is at least 1.5 times what it would be if items moved independently of each
   other. For that, the labels of each draw are matched to those of its mode, and those of each item are
   shuffled over the draws. One wandering item, or independent noise, gives about 1; a merge of two
   clusters 10 to 60.

The draws say nothing about the partition (they are *diffuse*) if the mean loss between the estimate and a
draw is more than 0.8 times that between the estimate and draws whose items were shuffled.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import canonical_table

WEIGHT = 0.05
"""Smallest weight of a mode: a handful of odd draws is not a mode."""
VALLEY = 0.5
"""Largest density between two modes, relative to the sparser one."""
JOINT = 1.5
"""Smallest variance along the line between two modes, relative to independent items."""
DIFFUSE = 0.8
"""Loss of a draw, relative to one with shuffled items, above which no partition is a fair summary; it was
0.92 to 1.04 on diffuse samples and at most 0.63 on nearly all others."""

_WINDOW = 1 / 6
"""Half width of the windows at a mode and in the middle: those of 0, 1/2 and 1 do not overlap."""
_SHUFFLED = 400
"""Draws whose labels are matched and shuffled: each takes an assignment problem."""
_FAIR = 0.7
"""Share of pairs of items in which a draw must agree with a trivial partition that is a fair summary."""


class Sample:
    """Draws on which modes are judged.

    Parameters
    ----------
    draws : Draws
    loss : Loss
    rng : Generator
        For the shuffled labels.
    """

    def __init__(self, draws: Draws, loss: Loss, rng: Generator) -> None:
        self.draws, self.loss, self.rng = draws, loss, rng

    def admits(self, labels: IntArray) -> bool:
        """Whether these modes, of shape (n_modes, n_items), pass the three conditions."""
        losses = np.stack([loss_values(mode, self.draws.item_major, self.loss) for mode in labels])
        nearest = losses.argmin(axis=0)
        weights = np.bincount(nearest, weights=self.draws.shares, minlength=len(labels))
        if weights.min() < WEIGHT:
            return False
        couples = [(a, b) for b in range(len(labels)) for a in range(b)]
        # The quick conditions first, for all pairs. A mode that differs in one item is no mode.
        if any(_n_moved(labels[a], labels[b]) < 2 for a, b in couples):
            return False
        return all(self._valley(losses, nearest, a, b) for a, b in couples) and all(
            self._joint(labels, nearest, a, b) for a, b in couples
        )

    def _valley(self, losses: FloatArray, nearest: IntArray, a: int, b: int) -> bool:
        """Whether there is a gap between the draws of two modes."""
        x = losses[a] - losses[b]
        centers = [_median(x[nearest == m], self.draws.weights[nearest == m]) for m in (a, b)]
        if not centers[1] > centers[0]:
            return False
        x = (x - centers[0]) / (centers[1] - centers[0])
        own = (nearest == a) | (nearest == b)
        # As numbers of draws, so that the 1 that is added means one draw.
        mass = self.draws.shares * self.draws.n_draws * own
        at_a, middle, at_b = (
            float(mass[np.abs(x - c) <= _WINDOW].sum()) for c in (0.0, 0.5, 1.0)
        )
        return (middle + 1) / (min(at_a, at_b) + 1) <= VALLEY

    def _joint(self, labels: IntArray, nearest: IntArray, a: int, b: int) -> bool:
        """Whether items move together from one mode to the other."""
        rows = np.flatnonzero((nearest == a) | (nearest == b))
        rows = rows[self.draws.weights[rows] > 0]
        weights = self.draws.weights[rows]
        if len(rows) > _SHUFFLED:
            chosen = np.sort(self.rng.choice(len(rows), _SHUFFLED, replace=False))
            rows, weights = rows[chosen], weights[chosen]
        table = self.draws.item_major[:, rows]
        # The labels of both modes must mean the same before draws are matched to either.
        second = match(labels[b], labels[a])
        where = nearest[rows] == a
        aligned = np.stack(
            [match(z, labels[a] if first else second) for z, first in zip(table.T, where, strict=True)]
        )
        # Each item's labels in another order, draws drawn by their weights: what items share is gone.
        share = weights / weights.sum()
        shuffled = np.stack(
            [column[self.rng.choice(len(rows), len(rows), p=share)] for column in aligned.T]
        )
        mixed = np.ascontiguousarray(canonical_table(shuffled.T)[0].T)
        mixed = mixed.astype(np.min_scalar_type(int(mixed.max())))

        def variance(values: IntArray, mass: FloatArray) -> float:
            x = loss_values(labels[a], values, self.loss) - loss_values(labels[b], values, self.loss)
            center = float(x @ mass)
            return float(((x - center) ** 2) @ mass)

        together = variance(np.ascontiguousarray(table), share)
        alone = variance(mixed, np.full(len(rows), 1 / len(rows)))
        return together >= JOINT * alone

    def diffuse(self, best: IntArray) -> tuple[float, bool]:
        """Loss of a draw relative to one with shuffled items, and whether the draws are diffuse."""
        draws = self.draws
        shuffled = draws.item_major[self.rng.permutation(draws.n_items)]
        shuffled = np.ascontiguousarray(shuffled)
        values, chance = (
            float(loss_values(best, table, self.loss) @ draws.shares)
            for table in (draws.item_major, shuffled)
        )
        ratio = values / chance if chance > 0 else 0.0
        if not ratio > DIFFUSE:
            return ratio, False
        n, k = draws.n_items, int(best.max()) + 1
        if 1 < k < n:
            return ratio, True
        # Shuffling changes nothing for one cluster, or singletons: does a draw agree with it in most pairs?
        sizes = np.stack([np.bincount(z, minlength=n) for z in draws.distinct]).astype(float)
        together = float((sizes * (sizes - 1)).sum(axis=1) @ draws.shares) / max(1, n * (n - 1))
        agreed = together if k == 1 else 1 - together
        return ratio, agreed < _FAIR


def _n_moved(a: IntArray, b: IntArray) -> int:
    """Number of items that must move to make one partition of the other."""
    return int((match(a, b) != b).sum())


def match(labels: IntArray, target: IntArray) -> IntArray:
    """Labels renamed so that as many items as possible have the label of `target`; new ones for the rest."""
    from scipy.optimize import linear_sum_assignment

    own, k = np.asarray(labels, dtype=np.int64), int(target.max()) + 1
    groups = int(own.max()) + 1
    overlap = np.bincount(own * k + target, minlength=groups * k).reshape(groups, k)
    mine, theirs = linear_sum_assignment(overlap, maximize=True)
    # A cluster without a partner is named after its first item, so that its name means the same in each
    # draw: an item that is alone has a label of its own.
    new = k + np.unique(own, return_index=True)[1]
    shared = overlap[mine, theirs] > 0
    new[mine[shared]] = theirs[shared]
    return new[own]


def _median(values: FloatArray, weights: FloatArray) -> float:
    """The weighted median."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(mass, mass[-1] / 2)])
