"""One partition, improved by moves of single items and of several items at a time.

- `sweep`: single items, until no move helps (Algorithm 1 of Rastelli & Friel 2018);
- `nudge`: a few items that must move together;
- `settle`: all of these, and joins of clusters, until nothing helps;
- `stirred`: a sweep over random draws, or a combination with some of them;
- `kick`: a random group of items becomes a cluster of its own, the clusters concerned are swept, and the result is
  kept if it is better: few other steps lead to a distant partition that the draws find plausible.
"""

from __future__ import annotations

import time

import numpy as np

from epluribus._typing import IntArray
from epluribus.estimate import Run, Step
from epluribus.partition import meet_labels, relabel
from epluribus.search.members import MemberState, members_pay
from epluribus.search.pairs import PairState
from epluribus.search.problem import Problem
from epluribus.search.state import Bounds, RatioState, State, TableState
from epluribus.settings import Settings

_BLOCKS = 8, 32
"""A partition with K clusters is combined with another one in at most min(8 K, 32 + 2 K) blocks: joining B blocks
costs up to B squared."""
_NUDGED = 8, 32, 100
"""Items that are nudged: one in 8 of a few items, and at least 8; one in 200 of many, and at least 32; at most 100."""
_PAIRED = 500
"""Items of which two move at a time, at most: the time grows with their square."""


def make_state(problem: Problem, labels: IntArray, *, pairs: bool = True) -> State:
    """The state that is quickest for this loss and as many clusters as `labels` has; perhaps on `pairs` of items."""
    if not problem.loss.linear:
        return RatioState(problem, labels)
    if pairs and problem.pairs is not None:
        return PairState(problem.pairs, labels)
    if members_pay(problem, int(labels.max(initial=0)) + 1):
        return MemberState(problem, labels)
    return TableState(problem, labels)


class LocalSearch:
    """A partition under change, which only ever becomes better.

    Parameters
    ----------
    problem : Problem
        The expected loss.
    labels : ndarray of shape (n_items,)
        Where it starts, within the bounds of the settings.
    rng : Generator
        Source of randomness.
    settings : Settings
        Bounds on the number of clusters, and what ends the search early.
    start : str
        Name of the start, for the record.
    state : State, optional
        The partition, if it is known already.
    """

    apart = False
    """Whether some items must be apart."""

    def __init__(
        self,
        problem: Problem,
        labels: IntArray,
        rng: np.random.Generator,
        settings: Settings,
        start: str = "recombined",
        state: State | None = None,
    ) -> None:
        self.problem, self.rng, self.settings, self.start = problem, rng, settings, start
        self.bounds = Bounds(settings.k_min, settings.most(problem.n_items), settings.stopper.flag)
        self.tolerance = problem.tolerance
        """Changes of the total loss that are smaller are none."""
        self.began = time.perf_counter()
        self.state = make_state(problem, labels) if state is None else state
        self._total = self._count()
        self.trace = [Step(self.value, self.n_clusters)]
        self.converged = False

    def _count(self) -> float:
        """Total loss from the counts, free of the rounding errors of many changes."""
        return self.state.total()

    @property
    def value(self) -> float:
        """Expected loss."""
        constant = self.problem.constant
        total = constant + self._total
        # What is left of zero after rounding is zero.
        if abs(total) <= 1e-14 * (abs(constant) + abs(self._total)):
            return 0.0
        return total / self.problem.total_weight

    @property
    def labels(self) -> IntArray:
        """Canonical labels."""
        return relabel(self.state.labels)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.state.n_clusters

    def combined_with(self, rng: np.random.Generator, *others: IntArray) -> LocalSearch:
        """A partition out of several: the blocks on which all agree, joined, and swept once.

        Two items that are together in good partitions probably belong together. A cluster that wrongly combines
        two groups of items is divided again in this way, which would take many single moves, the first ones uphill.
        """
        blocks = common_blocks(self.labels, *others)
        child = LocalSearch(self.problem, blocks, rng, self.settings)
        child.merge(self.state)
        # Stopped halfway, there may be more clusters left than are allowed: then it leads nowhere.
        if self.settings.stopper.flag[0]:
            return self
        child.sweep(1)
        return child

    def elsewhere(self, labels: IntArray, problem: Problem) -> LocalSearch:
        """Another search at these labels, perhaps on other draws."""
        return LocalSearch(problem, labels, self.rng, self.settings)

    def stirred(self, *, expensive: bool = False) -> LocalSearch:
        """The partition as it is, or a better one to which random draws lead.

        It is swept once over a sample of the draws, another one each time, and then over all: items that the draws
        leave open move, several at a time. The sample is small for a linear loss, whose sweeps seldom miss single
        moves. With an f0, where distant partitions are nearly as good as each other, it is now and then combined with
        one to three draws instead. Where sweeps are `expensive`, sweeps are all.
        """
        p, rng, linear = self.problem, self.rng, self.problem.loss.linear
        thorough = not (linear or expensive)
        if thorough and rng.integers(2):
            child = self.combined_with(rng, *(self._draw() for _ in range(rng.integers(1, 4))))
        else:
            n = int(np.ceil(p.n_draws * 2.0 ** (rng.integers(3) - (5 if linear else 1))))
            chosen = np.searchsorted(p.weights_up_to, rng.random(n) * p.weights_up_to[-1], "right")
            child = self.elsewhere(self.labels, p.of_draws(chosen))
            child.sweep(1)
            child = self.elsewhere(child.labels, p)
            child.sweep()
        if thorough:
            child.settle()
        return child if child._total < self._total - 8 * self.tolerance else self

    def _draw(self) -> IntArray:
        """Labels of a random draw; items that it has not seen are apart."""
        draw = self.problem.random_draw(self.rng)
        return np.where(draw < 0, draw.max() + 1 + np.arange(len(draw)), draw)

    def run(self, n_draws: int) -> Run:
        """What was done on `n_draws` draws, with the expected loss computed from the counts."""
        self._total = self._count()
        self.trace[-1] = Step(self.value, self.n_clusters)
        seconds, labels = time.perf_counter() - self.began, self.labels
        record = labels, self.value, self.n_clusters, self.start, tuple(self.trace)
        return Run(*record, self.converged, seconds, n_draws)

    def sweep(self, most: int | None = None, *, thorough: bool = False) -> bool:
        """Sweep until no move of a single item helps, or `most` times; whether none helps.

        Unless it is `thorough`, moves may be overlooked if f0 is not linear.
        """
        self.converged, done, n_moves = False, 0, self.problem.n_free
        while not self.converged and done != most and not self.settings.stopper.stopped:
            # The tangent at a partition is good enough for a few moves.
            if isinstance(self.state, RatioState) and 8 * n_moves > self.problem.n_free:
                self.state.relinearize()
            n_moves = self._visit_all(quick=not thorough)
            # A sweep cut short proves nothing, even if it moved no item.
            self.converged = n_moves == 0 and not self.bounds.stop[0]
            self.trace.append(Step(self.value, self.n_clusters))
            self._suit()
            done += 1
        return self.converged

    def _visit_all(self, *, quick: bool) -> int:
        """Move each item to its best cluster, in random order; the number of moves."""
        order = self.rng.permutation(self.problem.n_free)
        n_moves, change = self.state.sweep(order, self.bounds, quick=quick)
        self._total += change
        return n_moves

    def _suit(self) -> None:
        """Go on with smaller tables if most clusters are gone, or with tables if few are left."""
        state = self.state
        if isinstance(state, MemberState) and not members_pay(self.problem, self.n_clusters):
            self.state = TableState(self.problem, self.labels)
        elif len(state.sizes) > 2 * self.n_clusters + 16:
            state.compact()

    def merge(self, like: State | None = None) -> bool:
        """Join clusters, those that suit each other best first, while that lowers the loss; whether any were joined."""
        k = self.n_clusters
        self._total += self.state.merge(self.bounds, like)
        self._suit()
        return self.n_clusters < k

    def settle(self, *, thorough: bool = False) -> None:
        """Sweep, nudge and join clusters until nothing helps."""
        while self.sweep(thorough=thorough) and (self.nudge() or self.merge()):
            pass

    def nudge(self) -> bool:
        """Push items that nearly prefer another cluster there, let others follow, and keep what lowers the loss.

        This finds a few items that must move together. With an f0, where A must not change much, two items move at a
        time instead. Returns whether there were any.
        """
        n, state, before = self.problem.n_free, self.state, self._total
        if isinstance(state, RatioState):
            self._total += state.move_pairs(self.rng.permutation(n)[:_PAIRED], self.bounds).change
            return self._total < before
        state.make_room(2)
        few, more, most = _NUDGED
        gap = state.gap[:n]
        near = np.argsort(gap, kind="stable")[: max(min(n // 200, most), min(n // 8, more), few)]
        near = near[np.isfinite(gap[near])]
        second = state.second[near]
        for i, target in zip(near, second, strict=True):
            own, k = state.labels[i], state.n_clusters
            closes, opens = state.sizes[own] == 1, state.sizes[target] == 0
            if self.settings.stopper.stopped or target in (own, -1) or (closes and opens):
                continue
            if (closes and k <= self.bounds.k_min) or (opens and k >= self.bounds.k_max):
                continue
            labels = state.labels[near]
            pair = (labels == own) | (labels == target) | (second == own) | (second == target)
            others = near[pair & (near != i)]
            change, n_moves = state.move(np.array([i]), np.array([target])), 1
            while n_moves > 0 and not self.bounds.stop[0]:
                n_moves, by = state.sweep(others, self.bounds, quick=True)
                change += by
            if change < -4 * self.tolerance:
                self._total += change
            else:
                state.move(near, labels)
        return self._total < before

    def kick(self) -> float:
        """Change the partition as a random draw suggests, sweep, and keep the result if it is better.

        One of six ways is taken, with a random item, its cluster, and its group in the draw: the group becomes a
        cluster; the cluster is split by the group; the clusters that have most of their items in the group are
        joined; the cluster falls apart, along the groups of the draw or into single items; it takes all singletons.
        Returns the change of the total loss, as `attempt` does.
        """
        labels, sizes, rng = self.state.labels, self.state.sizes, self.rng
        i, draw = int(rng.integers(self.problem.n_free)), self._draw()
        if rng.integers(2):  # of a small cluster as often as of a large one
            free = labels[: self.problem.n_free]
            i = int(rng.choice(np.flatnonzero(free == rng.choice(np.unique(free)))))
        group, own = draw == draw[i], labels == labels[i]
        kind = rng.integers(6)
        # With as many clusters as are allowed, or as few, mostly one item opens a cluster and two others are joined.
        if self._tight and self.settings.free:
            if rng.integers(5) < 4:
                return self.attempt(np.array([i]))
        # Where items must be apart, one that comes makes another one go. Then an item is also tried alone; or it goes,
        # with the items of its cluster that the draw has with it or without, to a cluster of other items of the group.
        elif (self._tight or self.apart) and rng.integers(5) < 3:
            mates = np.flatnonzero(group & ~own)
            if len(mates) == 0 or rng.integers(3) == 0:
                return self.attempt(np.array([i]))
            items = np.flatnonzero(group & own) if rng.integers(2) else np.array([i])
            return self.attempt(items, target=int(labels[rng.choice(mates)]))
        if kind == 0:
            group &= own
        elif kind == 1:
            placed = labels >= 0
            share = np.bincount(labels[placed], group[placed], len(sizes)) / np.maximum(sizes, 1)
            group = (share > 0.5)[labels]
        elif kind == 2:
            group = own | (sizes[labels] == 1)
        # The sweep that follows takes time in proportion to the number of single items.
        elif kind == 3 and sizes[labels[i]] <= max(32, self.n_clusters):
            return self.attempt(np.flatnonzero(own), np.arange(np.count_nonzero(own)))
        elif kind == 4:
            return self.attempt(np.flatnonzero(own), relabel(draw[own]))
        return self.attempt(np.flatnonzero(group))

    @property
    def _tight(self) -> bool:
        """Whether there are as many clusters as are allowed, or as few."""
        return self.n_clusters in (self.bounds.k_max, self.bounds.k_min) and self.n_clusters > 1

    def attempt(
        self, items: IntArray, parts: IntArray | None = None, target: int | None = None
    ) -> float:
        """Make a cluster of the items, or of each of their `parts`, sweep the clusters they were in, keep the better.

        With a `target`, the items go to that cluster.

        Returns the change of the total loss, 0 if the sweeps led back; infinite if there was nothing to try.
        """
        state = self.state
        parts = np.zeros(len(items), dtype=np.int64) if parts is None else parts
        n_new = int(parts.max(initial=0)) + 1
        # Two slots to spare, so that sweeps seldom run out of them.
        state.make_room(n_new + 2)
        before = state.labels.copy()
        touched = np.zeros(len(state.sizes), dtype=np.bool_)
        touched[before[items]] = True
        if target is not None:
            touched[target] = True
        near = np.flatnonzero(touched[before])
        # None at all, or a cluster already: nothing to try.
        if len(items) == 0 or (len(near) == len(items) and touched.sum() == n_new == 1):
            return np.inf
        new = np.flatnonzero(state.sizes == 0)[:n_new] if target is None else np.array([target])
        k, tight = state.n_clusters, self._tight
        change = state.move(items, new[parts])
        if tight and k < state.n_clusters and n_new == 1:
            change += self._join_two(int(new[0]))
        while self.bounds.k_min <= state.n_clusters <= self.bounds.k_max:
            order = self.rng.permutation(near)
            swept = state.sweep(order, self.bounds, quick=True)
            change += swept.change
            if swept.n_moves == 0 and isinstance(state, RatioState):
                swept = state.move_pairs(order[:_PAIRED], self.bounds)
                change += swept.change
            if swept.n_moves == 0 or self.bounds.stop[0]:
                break
        else:
            change = np.inf  # too many clusters, or too few
        if change < -8 * self.tolerance:
            self._total += change
            self.sweep()
        else:
            moved = np.flatnonzero(state.labels != before)
            state.move(moved, before[moved])
        return change

    def _join_two(self, new: int) -> float:
        """Join the two clusters, not the new one, whose join is best; the change."""
        state = self.state
        closed = np.zeros((len(state.sizes), len(state.sizes)), dtype=np.bool_)
        closed[new] = closed[:, new] = True
        partner, least = state.best_joins(closed)
        a = int(least.argmin())
        if least[a] == np.inf:
            return 0.0
        members = np.flatnonzero(state.labels == a)
        return state.move(members, np.full(len(members), partner[a]))


def common_blocks(first: IntArray, *others: IntArray) -> IntArray:
    """The meet of canonical partitions, with a bound on the number of blocks.

    If there are too many, the smallest are added to the largest block of their cluster in the first
    partition: their few items can still be moved one by one later.
    """
    blocks = first
    for other in others:
        blocks = meet_labels(blocks, other)
    k = int(first.max()) + 1
    limit = min(_BLOCKS[0] * k, _BLOCKS[1] + 2 * k)
    sizes = np.bincount(blocks)
    if len(sizes) <= limit:
        return blocks
    # Every block lies within one cluster of the first partition, since the meet refines it.
    cluster = np.empty(len(sizes), dtype=np.int64)
    cluster[blocks] = first
    # Going through the blocks by size, the first one found in each cluster is its largest.
    largest_first = np.argsort(-sizes, kind="stable")
    _, at = np.unique(cluster[largest_first], return_index=True)
    main = largest_first[at]
    kept = np.union1d(main, largest_first[:limit])
    target = main[cluster]
    target[kept] = kept
    return relabel(target[blocks])
