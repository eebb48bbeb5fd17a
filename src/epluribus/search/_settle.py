"""A partition of very many items, improved until no single item would move.

All items are looked at with nothing moved. Those that would move, and those that come close, are *free*; the
others are summed up as anchors (`engine/anchors.py`). Sweeps, nudges and joins over the free items cost next
to nothing. What they have changed bounds how much closer any other item can have come to moving. Those for
which that may be enough are looked at again, and freed if they would move, until there are none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._kernels.scan import largest_shifts
from epluribus._parallel import Stopped
from epluribus._typing import FloatArray, IntArray
from epluribus.engine import Engine, Settings
from epluribus.engine.anchors import Anchors
from epluribus.engine.execution import changed_clusters
from epluribus.engine.passes import Frozen, Looked, Passes
from epluribus.losses.base import Loss
from epluribus.search._improve import Climber

_FREE = 0.01, 10_000
"""Items that are free at first: this share of them, or this many if that is less, at least ..."""
_MOST_FREE = 0.1
"""... and at most: of more that would move, those first that gain most."""
_MOST_NEAR = 0.2
"""Share of the items that may have come closer to moving: with more, all are looked at again."""
_AT_ONCE = 2000
"""Items that are free after that, at least: those closest to moving."""
_FRONT, _SMALL = (62, 254), 8
"""Clusters that are looked at first if there are more than twice as many: those of more than 8 items, or at
least and at most so many, the largest ..."""
_UNSURE = 0.05
"""... and share of the items, those closest to moving, that are then looked at again."""
_LOOKS = 8
"""Looks at all items, at most."""
LOWER = 1 - 1e-12
"""Factor below which a loss is lower than another, and not only rounded otherwise."""


@dataclass(frozen=True)
class Found:
    """A partition of all items, and its tables."""

    labels: IntArray
    """(n_items,) 0..K-1; -1 for an item in no cluster yet."""
    engine: Engine
    state: Any
    """Its state in the engine, which has the free items and anchors for the others."""
    names: IntArray
    """What the clusters of the partition before are called now; -1 for one of which no item stayed."""
    converged: bool

    @cached_property
    def whole(self) -> Anchors:
        """All items as anchors."""
        k = int(self.state.n_clusters[0])
        return Anchors(self.state.counts[:, :, :k].astype(np.int32), self.state.sizes[:k].copy())

    @cached_property
    def value(self) -> float:
        """Expected loss."""
        return self.engine.value(self.state)


class Settler:
    """Improves partitions of very many items.

    Parameters
    ----------
    passes : Passes
        The draws, wherever they are.
    weights : ndarray of shape (n_draws,)
        Weight of each distinct draw.
    loss : Loss
    rng : Generator
    settings : Settings
    """

    def __init__(
        self,
        passes: Passes,
        weights: FloatArray,
        loss: Loss,
        rng: np.random.Generator,
        settings: Settings,
    ) -> None:
        self.passes, self.weights, self.loss = passes, weights, loss
        self.rng, self.settings = rng, settings
        # What there is if the work is ended early: all items placed, and the last partition.
        self.rough: IntArray | None = None
        self.latest: Found | None = None
        self._items = np.empty(0, dtype=np.int64)  # items whose labels are at hand, sorted
        self._rows: Any = None  # and these labels

    def counted(self, labels: IntArray) -> Found:
        """The partition with its tables, with no free items."""
        k = int(labels.max()) + 1
        whole = Anchors(self.passes.count(labels, k), np.bincount(labels[labels >= 0], minlength=k))
        none = self.passes.store.rows(np.empty(0, dtype=np.int64))
        engine = Engine(none, self.weights, self.loss, anchors=whole)
        names = np.arange(k)
        return Found(labels, engine, engine.start(names), names, converged=False)

    def placed(self, items: IntArray, labels: IntArray) -> IntArray:
        """Labels of all items, given those of a few; -1 where single precision cannot decide."""
        out = np.full(self.passes.store.n_items, -1, dtype=np.int64)
        out[items] = labels
        few = self.counted(out)
        frozen = self._frozen(few)
        looked = self._look(np.full_like(out, -1), few, frozen)
        self.rough = np.where(out < 0, looked.target, out)
        clear = (looked.gap > frozen.margin) & (out < 0)
        out[clear] = looked.target[clear]
        return out

    def settled(self, labels: IntArray) -> Found:
        """The partition improved until no single item would move, as far as can be seen."""
        found, nudged = self._swept(self.counted(labels), np.flatnonzero(labels < 0)), False
        for _ in range(_LOOKS):
            seen, frozen = found, self._frozen(found)
            looked = self._look(seen.labels, seen, frozen)
            free = moved = settled = self._closest(seen, looked, frozen.margin)
            found = self._swept(seen, free)
            while True:
                near = self._nearer(seen, found, looked, frozen.margin)
                if near is None or len(near) > _MOST_NEAR * len(labels):
                    break
                # The look back then says nothing about items that have been free since.
                near = np.union1d(near, moved)
                now = self._frozen(found)
                gap = self._look(found.labels, found, now, near).gap
                # Those that were free since anything moved have been settled, by exact costs.
                moving = near[(gap <= now.margin) & ~np.isin(near, settled, assume_unique=True)]
                if len(moving) == 0 and nudged:
                    return found
                # Nudges take long: once, when nothing else helps. What they change is swept again.
                last, before = len(moving) == 0, found.value
                closest = near[smallest(gap, max(len(moving), _AT_ONCE))]
                free = np.union1d(closest, moving)
                found = self._swept(found, free, seen, nudges=last)
                if last and found.value >= before:
                    return found
                settled = free if found.value < before * LOWER else np.union1d(settled, free)
                moved, nudged = np.union1d(moved, free), nudged or last
        return replace(found, converged=False)

    def _frozen(self, found: Found) -> Frozen:
        """The partition for a look at all items."""
        most = self.settings.most(self.passes.store.n_items)
        closed = int(found.state.n_clusters[0]) >= most
        return Frozen.of(found.engine, found.state, closed=closed)

    def _look(
        self, labels: IntArray, found: Found, frozen: Frozen, items: IntArray | None = None
    ) -> Looked:
        """Look at all items, or at some of them; with many clusters, at the largest first.

        Where these are enough to say that an item stays, its gap may in truth be larger, and the target is -1
        if it may be one of the others.
        """
        k = frozen.rest.n_clusters
        n = int(np.clip((frozen.rest.sizes[:k] > _SMALL).sum(), *_FRONT))
        if not self.loss.linear or k <= 2 * n:
            return self.passes.look(labels, frozen, items)
        front, chosen = frozen.front(n, found.state.price)
        names = np.full(k + 1, -1)
        names[chosen] = np.arange(n)
        target, gap = self.passes.look(names[labels], front, items)
        own = labels if items is None else labels[items]
        # Entry n stands for all others, the next one for a new cluster.
        lost = np.where(own >= 0, names[own] < 0, target == n)
        unsure = lost | (gap <= frozen.margin)
        unsure[smallest(gap, int(_UNSURE * len(gap)))] = True
        target = np.append(chosen, [-1, k])[target]
        again = np.flatnonzero(unsure)
        those = again if items is None else items[again]
        target[again], gap[again] = self.passes.look(labels, frozen, those)
        return Looked(target, gap)

    def _closest(self, seen: Found, looked: Looked, margin: float) -> IntArray:
        """The items that would move, those that come closest to it, and those that are alone."""
        gap, n = looked.gap.copy(), len(looked.gap)
        alone = seen.state.sizes[seen.labels] == 1
        # After those that gain from a move, should these be too many.
        gap[alone] = np.minimum(gap[alone], margin)
        least = min(_FREE[0] * n, _FREE[1])
        return smallest(gap, int(np.clip((gap <= margin).sum(), least, _MOST_FREE * n)))

    def _swept(
        self, now: Found, free: IntArray, seen: Found | None = None, *, nudges: bool = False
    ) -> Found:
        """The partition `now` with the free items settled; names lead from those of `seen`, or of `now`."""
        rows, whole, mine = self._fetch(free), now.whole, now.labels[free]
        k, placed = len(whole.sizes), mine >= 0
        stay = whole.without(np.ascontiguousarray(rows[placed]), mine[placed])
        # A cluster whose items are all free has no anchor.
        held = np.flatnonzero(stay.sizes > 0)
        anchors = Anchors(np.ascontiguousarray(stay.counts[:, :, held]), stay.sizes[held])
        engine = Engine(rows, self.weights, self.loss, anchors=anchors, like=now.engine)
        climber = Climber(engine, np.concatenate([mine, held]), self.rng, self.settings)
        # Nudges and joins take long, and come last.
        thorough = not self.loss.linear
        if nudges:
            climber.settle(thorough=thorough)
        else:
            climber.rush()
            climber.sweep(thorough=thorough)
        entries = climber.state.labels
        names = np.full(k, -1, dtype=np.int64)
        names[held] = entries[len(free) :]
        same = len(held) == k and (names == np.arange(k)).all()
        labels = now.labels.copy() if same else names[now.labels]
        labels[free] = entries[: len(free)]
        if len(held) < k and placed.all():
            # A cluster without anchor keeps its name if it has the same items as before.
            some = np.empty(k, dtype=np.int64)
            some[now.labels] = labels
            same = changed_clusters(now.labels, labels) == 0
            names[same] = some[same]
        if seen is not None and seen is not now:
            names = np.where(now.names >= 0, names[now.names], -1)
        return self._kept(Found(labels, engine, climber.state, names, climber.converged))

    def _kept(self, found: Found) -> Found:
        """The partition, which is the latest from now on."""
        if found.labels.min() >= 0:  # not ended before all items were placed
            self.latest = found
        if self.settings.stopper.stopped:
            raise Stopped
        return found

    def _fetch(self, free: IntArray) -> NDArray[np.unsignedinteger[Any]]:
        """Labels of the free items in all draws; of those at hand, none is fetched again."""
        new = np.setdiff1d(free, self._items, assume_unique=True)
        rows = self.passes.store.rows(new)
        if len(new) < len(free):
            items, rows = np.concatenate([self._items, new]), np.concatenate([self._rows, rows])
            order = np.argsort(items)
            rows = rows[order[np.searchsorted(items[order], free)]]
        self._items, self._rows = free, np.ascontiguousarray(rows)
        return self._rows

    def _nearer(self, seen: Found, found: Found, looked: Looked, margin: float) -> IntArray | None:
        """Items that may have come to prefer another cluster since they were looked at; None if unknown."""
        names, old, now = found.names, seen.whole, found.whole
        if len(names) == len(now.sizes) and (found.labels == names[seen.labels]).all():
            # Those that would move, and may not have been free.
            return np.flatnonzero(looked.gap <= margin)
        if not self.loss.linear:  # costs that are not sums over cells shift as a whole
            return None
        # By how much each cluster of then has changed, for its own items and for others. A cluster that is
        # joined has changed little for the items of the larger part, and much for those of the smaller.
        inside, outside = np.full((2, len(names)), np.inf)
        stayed = np.flatnonzero(names >= 0)
        price = found.state.price
        inside[stayed], outside[stayed] = self._shifts(old, stayed, now, names[stayed], price)
        # Of the parts of a cluster the one that says most; one that was opened had no items then.
        dearer = np.full(len(now.sizes), np.inf)
        np.minimum.at(dearer, names[stayed], outside[stayed])
        new = np.flatnonzero(np.isinf(dearer))
        none = Anchors(np.zeros((*now.counts.shape[:2], 1), np.int32), np.zeros(1, np.int64))
        dearer[new] = self._shifts(none, np.zeros_like(new), now, new, price)[1]
        near = looked.gap <= inside[seen.labels] + dearer.max() + margin
        return np.flatnonzero(near)

    def _shifts(
        self, old: Anchors, then: IntArray, now: Anchors, names: IntArray, price: Price
    ) -> tuple[FloatArray, FloatArray]:
        """Bounds on the change of what clusters cost: for their own items, and for others.

        They were clusters `then` of the old ones, and have these names now.
        """
        before, many = old.sizes[then], now.sizes[names]
        outside = np.abs(price.size[many] - price.size[before])
        inside = np.abs(price.size[np.maximum(many, 1) - 1] - price.size[np.maximum(before, 1) - 1])
        counts = old.counts, then, now.counts, names
        most = np.empty((2, len(then)))
        largest_shifts(*counts, self.weights, price.joint, most, inside, outside)
        return inside, outside


def smallest(values: FloatArray, n: int) -> IntArray:
    """Places of the n smallest values, or of all, ascending."""
    n = min(n, len(values))
    return np.sort(np.argpartition(values, n - 1)[:n]) if n > 0 else np.empty(0, dtype=np.int64)
