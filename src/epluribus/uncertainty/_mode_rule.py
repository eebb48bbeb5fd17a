"""How many modes a sample has: three conditions that every two of them must pass.

For two modes a and b and the draws z nearest to either, let

    x(z) = (loss(a, z) - loss(b, z) - x_a) / (x_b - x_a),

on the items whose clusters differ between a and b: what happens elsewhere is noise. x_a and x_b are the
medians over the draws nearer to a, and to b: 0 at a's draws, 1 at b's.

1. *Weight*: each mode has at least 5 % of the draws.
2. *Valley*: with n(c) the number of draws within 1/6 of c, (n(1/2) + 1) / (min(n(0), n(1)) + 1) <= 0.3: the
   middle is at most 0.3 times as dense as the sparser mode. One hump cut in two gives about 1, and a
   boundary that moves along a line of items about 0.5.
3. *Joint*: the variance of x is at least twice what it would be if items moved independently of each
   other. For that, the labels of each draw are matched to those of its mode, and those of each item are
   shuffled over the draws. One wandering item, or independent noise, gives about 1; a merge of two
   clusters 10 to 60.

The draws say nothing about the partition (they are *diffuse*) if the mean loss between the estimate and a
draw is more than 0.8 times that between the estimate and draws whose items were shuffled.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import relabel
from epluribus.uncertainty._parameters import partners

WEIGHT = 0.05
"""Smallest weight of a mode: a handful of odd draws is not a mode."""
VALLEY = 0.3
"""Largest density between two modes, relative to the sparser one."""
JOINT = 2.0
"""Smallest variance along the line between two modes, relative to independent items."""
DIFFUSE = 0.8
"""Loss of a draw, relative to one with shuffled items, above which no partition is a fair summary; it was
0.92 to 1.04 on diffuse samples and at most 0.63 on nearly all others."""

_WINDOW = 1 / 6
"""Half width of the windows at a mode and in the middle: those of 0, 1/2 and 1 do not overlap."""
_SHUFFLED = 400
"""Draws whose labels are matched and shuffled: each takes an assignment problem."""
_FAIR = 0.7
"""Share of pairs together, or of items alone, in a draw if one cluster, or singletons, are a fair summary."""


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
        losses = np.stack([draw_losses(mode, self.draws, self.loss) for mode in labels])
        nearest = losses.argmin(axis=0)
        weights = np.bincount(nearest, weights=self.draws.shares, minlength=len(labels))
        if weights.min() < WEIGHT:
            return False
        couples = [(a, b) for b in range(len(labels)) for a in range(b)]
        # A mode that differs in one item is no mode.
        if any(_n_moved(labels[a], labels[b]) < 2 for a, b in couples):
            return False
        between = [
            self._between(labels[a], labels[b], (nearest == a) | (nearest == b)) for a, b in couples
        ]
        # The quick condition first, for all pairs.
        return all(pair.valley() for pair in between) and all(
            pair.joint(self.rng) for pair in between
        )

    def _between(self, a: IntArray, b: IntArray, draws: NDArray[np.bool_]) -> _Between:
        """Two modes, the draws nearest to either, and the items whose clusters differ."""
        cells = np.unique(np.stack([a, b]), axis=1, return_inverse=True, return_counts=True)
        shared = cells[2][cells[1].ravel()]
        # An item whose clusters are the same set of items in both modes says nothing.
        items = (shared < np.bincount(a)[a]) | (shared < np.bincount(b)[b])
        rows = np.flatnonzero(draws & (self.draws.weights > 0))
        if (
            self.draws.has_missing
        ):  # one item alone, or none, is as near to one mode as to the other
            seen = np.count_nonzero(self.draws.item_major[items][:, rows], axis=0)
            rows = rows[seen > 1]
        table = np.ascontiguousarray(self.draws.item_major[items][:, rows])
        return _Between(relabel(a[items]), relabel(b[items]), table, self.draws.weights[rows], self)

    def diffuse(self, best: IntArray) -> tuple[float, bool]:
        """Loss of a draw relative to one with shuffled items, and whether the draws are diffuse."""
        draws = self.draws
        shuffled = draws.item_major[self.rng.permutation(draws.n_items)]
        shuffled = np.ascontiguousarray(shuffled)
        values, chance = (
            float(loss_values(best, table, self.loss, missing=draws.has_missing) @ draws.shares)
            for table in (draws.item_major, shuffled)
        )
        ratio = values / chance if chance > 0 else 0.0
        if not ratio > DIFFUSE:
            return ratio, False
        n, k = draws.n_items, int(best.max()) + 1
        if 1 < k < n:
            return ratio, True
        # Shuffling changes nothing for one cluster, or singletons. Are most pairs of items together in a draw
        # or most items alone?
        sizes = np.stack([np.bincount(z[z >= 0], minlength=n) for z in draws.distinct]).astype(
            float
        )
        seen = draws.distinct_n_seen
        together = (sizes * (sizes - 1)).sum(axis=1) / np.maximum(1, seen * (seen - 1))
        alone = (sizes == 1).sum(axis=1) / seen
        return ratio, float((together if k == 1 else alone) @ draws.shares) < _FAIR


def _small(rows: AnyArray) -> AnyArray:
    """Rows of labels as an item-major table, in the smallest type."""
    return np.ascontiguousarray(rows.T.astype(np.min_scalar_type(int(rows.max()))))


class _Between:
    """The draws of two modes on the line between them."""

    def __init__(
        self, a: IntArray, b: IntArray, table: AnyArray, weights: FloatArray, sample: Sample
    ) -> None:
        self.a, self.b, self.table, self.loss = a, b, table, sample.loss
        self.missing = sample.draws.has_missing  # labels of 0 in the table are missing
        self.share = weights / weights.sum()
        # As numbers of draws, so that the 1 that is added in `valley` means one draw.
        self.mass = weights * sample.draws.n_draws / sample.draws.total_weight
        self.x = self._along(table)

    def _along(self, table: AnyArray) -> FloatArray:
        """loss(a, z) - loss(b, z) for each column z of the table."""
        first, second = (
            loss_values(mode, table, self.loss, missing=self.missing) for mode in (self.a, self.b)
        )
        return first - second

    def valley(self) -> bool:
        """Whether there is a gap between the draws of the modes."""
        x, near_a = self.x, self.x < 0
        if near_a.all() or not near_a.any():
            return False
        at_a, at_b = (_median(x[own], self.mass[own]) for own in (near_a, ~near_a))
        x = (x - at_a) / (at_b - at_a)
        n_a, middle, n_b = (
            float(self.mass[np.abs(x - c) <= _WINDOW].sum()) for c in (0.0, 0.5, 1.0)
        )
        return (middle + 1) / (min(n_a, n_b) + 1) <= VALLEY

    def joint(self, rng: Generator) -> bool:
        """Whether items move together from one mode to the other."""
        n = len(self.x)
        rows = np.arange(n) if n <= _SHUFFLED else np.sort(rng.choice(n, _SHUFFLED, replace=False))
        share = self.share[rows] / self.share[rows].sum()
        # The labels of both modes must mean the same before draws are matched to either.
        second = match(self.b, self.a)
        near_a = self.x[rows] < 0
        aligned = np.stack(
            [
                match(z, self.a if first else second)
                for z, first in zip(
                    self.table[:, rows].T.astype(np.int64) - self.missing, near_a, strict=True
                )
            ]
        )
        # Each item's labels in another order, draws drawn by their weights: what items share is gone.
        n_shuffled = max(_SHUFFLED // 2, len(rows))
        chosen = rng.choice(len(rows), (n_shuffled, aligned.shape[1]), p=share)
        shuffled = np.take_along_axis(aligned, chosen, axis=0)
        mixed = _small(shuffled + self.missing)
        x = self.x[rows]
        together = float((x - x @ share) ** 2 @ share)
        return together >= JOINT * float(self._along(mixed).var())


def _n_moved(a: IntArray, b: IntArray) -> int:
    """Number of items that must move to make one partition of the other."""
    return int((match(a, b) != b).sum())


def match(labels: IntArray, target: IntArray) -> IntArray:
    """Labels renamed so that as many items as possible have the label of `target`; new ones for the rest.

    Labels of -1 are missing, and stay so.
    """
    seen = np.asarray(labels) >= 0
    if not seen.all():
        out = np.full(len(seen), -1, dtype=np.int64)
        if seen.any():
            known = relabel(target[seen])
            # Back from the names of the clusters that were seen to those of the target.
            name = np.zeros(int(known.max()) + 1, dtype=np.int64)
            name[known] = target[seen]
            found = match(np.asarray(labels)[seen], known)
            single = found >= len(name)
            # A cluster without a partner is named after its first item, of all items.
            first = np.flatnonzero(seen)[np.where(single, found - len(name), 0)]
            other = name[np.where(single, 0, found)]
            out[seen] = np.where(single, int(target.max()) + 1 + first, other)
        return out
    own, k = relabel(np.asarray(labels, dtype=np.int64)), int(target.max()) + 1
    new = partners(own, target)
    # A cluster without a partner is named after its first item, so that its name means the same in each
    # draw: an item that is alone has a label of its own.
    return np.where(new < 0, k + np.unique(own, return_index=True)[1], new)[own]


def _median(values: FloatArray, weights: FloatArray) -> float:
    """The weighted median."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(mass, mass[-1] / 2)])
