"""One partition, improved by moves of single items and of several items at a time.

A *climber* stands on a partition and only ever goes on to a better one:

- `sweep`: single items, until no move helps;
- `settle`: the same, and *nudges*, which find a few items that must move together (`_kernels/escapes.py`);
- `kick`: a group of items that a random draw has together becomes a cluster of its own; or only its part
  within one cluster, which is thereby split; or all clusters that are mostly in the group are joined. The
  clusters concerned are swept, and the result is kept if it is better: few other steps lead to a distant
  partition that the draws find plausible;
- `pool`: the same with all items that are alone. Where many items fit nowhere, joining two of them raises the
  loss, but joining all of them may lower it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from epluribus._typing import IntArray
from epluribus.engine import Engine, Settings
from epluribus.engine.execution import copied
from epluribus.estimate import Run, Step
from epluribus.partition import relabel
from epluribus.search._recombine import common_blocks

_NUDGED = (8, 32, 250)
"""Items that are nudged, those closest to moving anyway: one in 8 of a few items, and at least 8; one in 200
of many, and at least 32; never more than 250."""


class Climber:
    """A partition on its way down.

    Parameters
    ----------
    engine : Engine
        The expected loss.
    labels : ndarray of shape (n_items,)
        Where it starts, within the bounds of the settings.
    rng : Generator
        Source of randomness.
    settings : Settings
        Bounds on the number of clusters, and what ends the search early.
    start : str
        Name of the start, for the record.
    """

    def __init__(
        self,
        engine: Engine,
        labels: IntArray,
        rng: np.random.Generator,
        settings: Settings,
        start: str = "recombined",
    ) -> None:
        self.engine, self.rng, self.settings, self.start = engine, rng, settings, start
        self.began = time.perf_counter()
        self.state: Any = engine.start(labels)
        self.value = engine.value(self.state)
        """Expected loss."""
        self.trace = [Step(self.value, self.n_clusters)]
        self.converged = False
        self._spare: Any = None  # a second state, in which kicks are tried
        self._tried: list[IntArray] = []  # a partition no two clusters of which are worth joining

    @property
    def labels(self) -> IntArray:
        """Canonical labels."""
        return relabel(self.state.labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.state.n_clusters[0])

    def run(self, n_draws: int) -> Run:
        """What was done on `n_draws` draws, with the expected loss computed from the counts."""
        value = self.engine.value(self.state)
        self.trace[-1] = Step(value, self.n_clusters)
        seconds = time.perf_counter() - self.began
        record = self.labels, value, self.n_clusters, self.start, tuple(self.trace)
        return Run(*record, self.converged, seconds, n_draws)

    def twin(self) -> Climber:
        """Another climber at the same place, that knows what this one knows."""
        other = Climber.__new__(Climber)
        other.engine, other.rng, other.settings = self.engine, self.rng, self.settings
        other.start, other.began = "recombined", time.perf_counter()
        other.state, other.value, other.converged = copied(self.state), self.value, self.converged
        other.trace = [Step(self.value, self.n_clusters)]
        other._spare, other._tried = None, list(self._tried)
        return other

    def sweep(self, most: int | None = None, *, thorough: bool = False) -> bool:
        """Sweep until no move of a single item helps, or `most` times; return whether none helps."""
        self.converged, done = False, 0
        while not self.converged and done != most and not self.settings.stopper.stopped:
            # The first sweeps may close most clusters; smaller tables make the later ones quicker.
            self.state = self.engine.execution.narrowed(self.state)
            order = self.rng.permutation(self.engine.n_free)
            swept = self.engine.sweep(
                self.state, order, self.settings, thorough=thorough, lazy=True
            )
            self._go_on(swept.state, swept.change)
            self.trace.append(Step(self.value, self.n_clusters))
            # A sweep cut short proves nothing, even if it moved no item.
            self.converged = swept.complete and swept.n_moves == 0
            done += 1
        return self.converged

    def rush(self) -> None:
        """Move many items at a time while many want to: what sweeps would do, in less time."""
        self._go_on(*self.engine.rush(self.state, self.settings))

    def settle(self, *, thorough: bool = False) -> None:
        """Sweep, nudge and join clusters until nothing helps.

        Unless it is `thorough`, joins are left out for a loss whose f0 is not linear, where they take long,
        and moves may be overlooked.
        """
        n = self.engine.n_items
        n = max(min(n // 200, _NUDGED[2]), min(n // 8, _NUDGED[1]), min(n, _NUDGED[0]))
        while self.sweep(thorough=thorough):
            nudged = self.engine.nudge(self.state, n, self.settings)
            self._go_on(nudged.state, nudged.change)
            joins = thorough or self.engine.loss.linear
            if nudged.n_moves == 0 and not (joins and self._joined()):
                return

    def _joined(self) -> bool:
        """Join clusters while that lowers the loss; return whether any were joined."""
        # If f0 is linear, the change for two clusters depends on these two alone: those that have stayed the
        # same since all were tried with all need not be tried again.
        known = self._tried if self.engine.loss.linear and self.settings.k_min == 1 else []
        labels = self.engine.merge(self.labels, self.settings, known, settled=self.converged)
        # Stopped halfway, or nothing to join.
        if self.settings.stopper.flag[0]:
            return False
        self._tried = [labels]
        if labels.max() + 1 == self.n_clusters:
            return False
        self.state = self.engine.joined(self.state, labels)
        self.value = self.engine.value(self.state)
        return True

    def _go_on(self, state: Any, change: float) -> None:
        self.state = state
        self.value += change / self.engine.total_weight

    def kick(self) -> float:
        """Make a cluster of a random group; return the change of the total loss, undone unless negative."""
        labels = self.state.labels
        i, group = self.engine.random_group(self.rng)
        # With as many clusters as are allowed no item can open one, with as few none that is alone can leave
        # its own: then an item is also tried alone, which makes two others join, or lets one close.
        k, bounds = self.n_clusters, self.settings
        at_bound = k == bounds.k_max or k == bounds.k_min > 1
        kind = self.rng.integers(5 if at_bound else 3)
        if kind > 2:
            group = np.arange(len(labels)) == i
        elif kind == 0:  # only those in the cluster of item i: that cluster is split
            group &= labels == labels[i]
        elif kind == 1:  # the clusters that have most of their items in the group: they are joined
            share = np.bincount(labels, group) / self.state.sizes[: self.n_clusters]
            group = (share > 0.5)[labels]
        return self._lift(np.flatnonzero(group))

    def pool(self) -> float:
        """Make one cluster of all items that are alone; return the change, undone unless negative."""
        alone = np.flatnonzero(self.state.sizes[self.state.labels] == 1)
        return self._lift(alone)

    def _lift(self, items: IntArray) -> float:
        """Make a cluster of the items, sweep the clusters they were in, and keep the result if better."""
        engine, settings, labels = self.engine, self.settings, self.state.labels
        most = settings.most(engine.n_items)
        touched = np.zeros(self.n_clusters, dtype=np.bool_)
        touched[labels[items]] = True
        near = np.flatnonzero(touched[labels])
        # None at all, or a cluster already: nothing to try.
        if len(items) == 0 or (len(near) == len(items) and touched.sum() == 1):
            return np.inf
        self._spare = copied(self.state, self._spare)
        state, change = engine.lift(self._spare, items)
        if state.n_clusters[0] > most:
            change += self._join_two(state, int(state.labels[items[0]]))
        while settings.k_min <= state.n_clusters[0] <= most:
            order = self.rng.permutation(near)
            swept = engine.sweep(state, order, settings, thorough=False, lazy=True)
            state, change = swept.state, change + swept.change
            if swept.n_moves == 0 or not swept.complete:
                break
        else:
            return np.inf  # too many clusters, or too few
        self._spare = state
        if change < -8 * engine.tolerance:
            self._spare = self.state
            self._go_on(state, change)
            self.sweep()
        return change

    def _join_two(self, state: Any, new: int) -> float:
        """Join a random cluster, not the new one, with the best of the others; return the change."""
        k = int(state.n_clusters[0])
        # With two clusters there is only one way, and it leads back; the caller then sees no change.
        a = (new + 1 + int(self.rng.integers(k - 1))) % k
        changes = self.engine.join_changes(state, a)
        if k > 2:
            changes[new] = np.inf
        b = int(np.argmin(changes))
        self.engine.join(state, a, b)
        return float(changes[b])


def best_of(climbers: list[Climber]) -> Climber:
    """The one with the smallest loss; the first of several."""
    return min(climbers, key=lambda one: one.value)


def combined(one: Climber, other: Climber, rng: np.random.Generator) -> Climber:
    """A partition out of two: the blocks on which both agree, joined."""
    engine, settings, parents = one.engine, one.settings, [one.labels, other.labels]
    labels = engine.merge(common_blocks(parents), settings, parents)
    # Stopped halfway, there may be more clusters left than are allowed: then it leads nowhere.
    same = settings.stopper.flag[0] or np.array_equal(labels, parents[0])
    child = one.twin() if same else Climber(engine, labels, rng, settings)
    child.sweep(1)
    return child


def all_combined(climbers: list[Climber], rng: np.random.Generator) -> Climber:
    """The best of some partitions, combined with the others in turn while that helps."""
    best, *others = sorted(climbers, key=lambda one: one.value)
    for other in others:
        if best.settings.stopper.stopped:
            break
        best = best_of([best, combined(best, other, rng)])
    return best
