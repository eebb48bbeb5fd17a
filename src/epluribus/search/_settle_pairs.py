"""A partition of very many items for a loss that is a sum over pairs of items, such as Binder's.

Such a loss wants items alone that do not fit anywhere: thousands of small clusters, for which tables would be
large, and nearly empty. Nearly all items are far from leaving their own large cluster, though, whatever the
small ones are. They are summed up as anchors; the others are *free*, and what every two of them cost together
is written into a matrix (`engine/pairs.py`). Then everything that a search does with them takes next to no
time. In the end all items are looked at; those that no longer certainly stay are freed as well.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from epluribus._parallel import Stopped, run_tasks
from epluribus._typing import FloatArray, IntArray
from epluribus.engine import Engine, Settings
from epluribus.engine.anchors import Anchors
from epluribus.engine.pairs import counts_pairs, pairs_fit, units_of
from epluribus.engine.passes import Frozen, Passes
from epluribus.engine.prices import least_cost
from epluribus.losses.base import Loss
from epluribus.search._improve import Climber, all_combined
from epluribus.search._settle import Found, Settler, smallest

_LARGE = 16
"""Items of a cluster of which some may be summed up."""
_SMALL = 8
"""Items that may leave a large cluster together: those close to leaving it with so many others are free."""
_CLOSEST = 1000
"""Items that are free in any case: those closest to moving."""
_SEEN = 5
"""Items of a cluster, of a few, from which on others are placed there: smaller ones are mostly chance."""
_WAYS = 3
"""Ways down that are combined: they differ in the order in which items are visited."""
_SWEEPS = 2
"""Sweeps of each before that: the first two achieve nearly all that sweeps can achieve."""
_LOOKS = 8
"""Looks at all items, at most."""
_LARGEST = 6 << 30
"""Bytes of the matrix, at most: 55,000 free items."""


class TooManyFree(Exception):  # noqa: N818 - not an error: there is another way
    """The matrix of pairs of free items does not fit in memory."""


class PairSettler(Settler):
    """Improves partitions of very many items, for a loss that is a sum over pairs."""

    def placed(self, items: IntArray, labels: IntArray) -> IntArray:
        """Labels of all items, given those of a few; -1 where single precision cannot decide."""
        if self.settings.k_min == 1:
            # What is left of small clusters will be found among the free items.
            large = np.bincount(labels) >= _SEEN
            large[np.argmax(np.bincount(labels))] = True
            items, labels = items[large[labels]], (np.cumsum(large) - 1)[labels[large[labels]]]
        return super().placed(items, labels)

    def settled(self, labels: IntArray) -> Found:
        """The partition improved until no single item would move, as far as can be seen.

        Raises `TooManyFree` if too many items are close to leaving their clusters.
        """
        found: Found | None = None
        free = np.zeros(len(labels), dtype=np.bool_)
        itemsize = units_of(self.weights)[1].itemsize
        for _ in range(_LOOKS):
            sizes = np.bincount(labels[labels >= 0])
            large = sizes >= _LARGE
            large[np.argmax(sizes)] = True
            names = np.append(np.where(large, np.cumsum(large) - 1, -1), -1)
            seen = self.counted(names[labels])
            # As long as there are small clusters, a new one stands for these.
            closed = bool(large.all()) and len(large) >= self.settings.most(len(labels))
            frozen = Frozen.of(seen.engine, seen.state, closed=closed)
            gap = self.passes.look(seen.labels, frozen).gap
            # A small cluster may cost an item less than a new one, but not by more than this.
            price, most = seen.state.price, int(sizes[~large].max(initial=_SMALL))
            slack = 0.0 if closed else least_cost(price, 0) - least_cost(price, most)
            freed = ~free & ((seen.labels < 0) | (gap <= frozen.margin + slack))
            if found is None:
                freed[smallest(gap, _CLOSEST)] = True
            elif not freed.any():
                return found
            free |= freed
            if not pairs_fit(int(free.sum()), itemsize, self._room):
                raise TooManyFree
            found = self._searched(labels, np.flatnonzero(free), seen)
            labels = found.labels
            if free.all():
                return found
        assert found is not None
        return replace(found, converged=False)

    @property
    def _room(self) -> float:
        """Bytes that the matrix may take."""
        limit = getattr(self.passes.store, "limit", None)
        return _LARGEST if limit is None else min(_LARGEST, limit / 2)

    def _searched(self, labels: IntArray, free: IntArray, seen: Found) -> Found:
        """The partition after a search over the free items; `seen` has the tables of its large clusters."""
        rows, front = self._fetch(free), seen.labels[free]
        inside = front >= 0
        stay = seen.whole.without(np.ascontiguousarray(rows[inside]), front[inside])
        held = np.flatnonzero(stay.sizes > 0)
        anchors = Anchors(np.ascontiguousarray(stay.counts[:, :, held]), stay.sizes[held])
        try:
            engine = Engine(rows, self.weights, self.loss, "pairs", anchors, self.settings)
        except KeyboardInterrupt:  # while the matrix was made
            raise Stopped from None
        if self.settings.stopper.stopped:
            raise Stopped
        # What clusters with anchors are called among all.
        called = np.full(len(stay.sizes), -1)
        called[seen.labels[seen.labels >= 0]] = labels[seen.labels >= 0]
        start = np.concatenate([labels[free], called[held]])
        climber = self._climbed(engine, start)
        climber.settle()
        entries = climber.state.labels
        names = np.full(len(stay.sizes), -1)
        names[held] = entries[len(free) :]
        labels = names[seen.labels]
        labels[free] = entries[: len(free)]
        return self._kept(Found(labels, engine, climber.state, names, climber.converged))

    def _climbed(self, engine: Engine, labels: IntArray) -> Climber:
        """The best of several ways down from the same labels, combined with the others."""

        def climb(rng: np.random.Generator) -> Climber:
            climber = Climber(engine, labels, rng, self.settings)
            climber.sweep(_SWEEPS)
            return climber

        tasks = [partial(climb, rng) for rng in self.rng.spawn(_WAYS)]
        settings = self.settings
        climbers = run_tasks(tasks, n_jobs=settings.n_jobs, stopper=settings.stopper)
        return all_combined(climbers, self.rng)


def settler_for(
    passes: Passes,
    weights: FloatArray,
    loss: Loss,
    rng: np.random.Generator,
    settings: Settings,
) -> Settler:
    """What improves partitions of very many items under this loss."""
    kind = PairSettler if counts_pairs(loss, passes.store.n_items) else Settler
    return kind(passes, weights, loss, rng, settings)
