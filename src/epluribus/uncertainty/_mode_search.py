"""The search for several partitions that together are near every draw.

As in k-means, draws are assigned to their nearest mode, and each mode is replaced by a minimizer of the
expected loss over its draws, until nothing changes; neither step can raise

    V = sum_t p_t min_m loss(a_m, z_t).

The starts are draws chosen far apart (k-means++), and the central draws of the groups of a Ward linkage.
Numbers of modes are tried on a part of the draws; the modes themselves are then found on all draws.

Arthur, D., Vassilvitskii, S. (2007). k-means++: the advantages of careful seeding. Proceedings of the
18th ACM-SIAM Symposium on Discrete Algorithms, 1027-1035.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus._parallel import Stopper, run_all
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import Settings, draw_losses, engine_for
from epluribus.estimate import Estimate, raise_if_interrupted
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.search import minimize
from epluribus.search._greedy import descend
from epluribus.uncertainty._part import choose_items, only_items, place_others, weights_of

SILHOUETTE = 0.25
"""Smallest mean silhouette: below it Kaufman & Rousseeuw see no structure."""
DROP = 0.2
"""Share of V(1) by which each added mode must lower V; noise around one mode of 10 items reaches 0.17."""
WEIGHT = 0.05
"""Smallest weight of a mode: a handful of odd draws is not a mode."""

_DRAWS = 400
"""Number of draws on which numbers of modes are tried: silhouettes are then known to about 0.02."""
_STARTS = 2
"""Starts by k-means++ for each number of modes, besides the one by linkage."""
_LINKED = 200
"""Number of draws in the linkage, for which all pairwise losses are computed."""
_ROUNDS = 20
"""Largest number of rounds of assignment and minimization; most searches end after a few."""


class Assignment:
    """Some modes, and each distinct draw assigned to the nearest of them, to the first in a tie.

    Parameters
    ----------
    draws : Draws
    loss : Loss
    labels : ndarray of shape (n_modes, n_items)
        The modes.
    """

    def __init__(self, draws: Draws, loss: Loss, labels: IntArray) -> None:
        self.labels = labels
        self.losses = np.stack([draw_losses(mode, draws, loss) for mode in labels])
        """(n_modes, n_distinct) loss between each mode and each distinct draw."""
        self.nearest: IntArray = self.losses.argmin(axis=0)
        """(n_distinct,) number of the nearest mode."""
        self._least, self._shares = self.losses.min(axis=0), draws.shares

    @property
    def expected_loss(self) -> float:
        """V: the mean loss between a draw and its nearest mode."""
        return float(self._least @ self._shares)

    @property
    def weights(self) -> FloatArray:
        """(n_modes,) probability of the draws nearest to each mode."""
        return self._sum(self._shares)

    @property
    def expected_losses(self) -> FloatArray:
        """(n_modes,) mean loss between each mode and its own draws; 0 for a mode without any."""
        total, weights = self._sum(self._least * self._shares), self.weights
        return np.divide(total, weights, out=np.zeros_like(weights), where=weights > 0)

    @property
    def silhouette(self) -> float:
        """Mean of (b - a) / max(a, b), where a is the loss to the nearest mode and b to the next."""
        # The two smallest losses of each draw: a <= b, so that max(a, b) is b.
        a, b = np.partition(self.losses, 1, axis=0)[:2]
        each = np.divide(b - a, b, out=np.zeros_like(b), where=b > 0)
        return float(each @ self._shares)

    @property
    def groups(self) -> list[IntArray]:
        """For each mode, the numbers of its distinct draws; those without weight are left out."""
        counts = self._shares > 0
        return [np.flatnonzero((self.nearest == m) & counts) for m in range(len(self.labels))]

    def _sum(self, values: FloatArray) -> FloatArray:
        """Sums over the draws of each mode."""
        total = np.bincount(self.nearest, weights=values, minlength=len(self.labels))
        return total.astype(np.float64)


class ModeSearch:
    """The search for the modes of one sample.

    Parameters
    ----------
    draws : Draws
    loss : Loss
    rngs : list of Generator
        One for the part of the draws, one for the single partition, then one for each number of modes from
        1 on, so that the result for one number does not depend on which others were tried.
    n_jobs : int
        Threads.
    stopper : Stopper
        What ends the search early. The result is then the best found so far, and `converged` is False.
    step : callable
        Called without arguments when the single partition is found, after each number of modes tried, and
        when the modes are found.
    """

    def __init__(
        self,
        draws: Draws,
        loss: Loss,
        rngs: list[Generator],
        n_jobs: int,
        stopper: Stopper,
        step: Callable[[], Any],
    ) -> None:
        self.loss, self.n_jobs, self.stopper, self.step = loss, n_jobs, stopper, step
        part_rng, *self.rngs = rngs
        # Of many items only some are looked at; `placed` adds the others in the end.
        self.whole, self.items = draws, choose_items(draws, part_rng)
        if self.items is not None:
            draws = only_items(draws, self.items)
        self.draws, self.converged = draws, True
        # Numbers of modes are tried on a random part of the draws, in their order; a part without any weight
        # would say nothing, and all draws are taken instead.
        self.part = draws
        if draws.n_draws > _DRAWS:
            rows = np.sort(part_rng.choice(draws.n_draws, _DRAWS, replace=False))
            if draws.draw_weights[rows].any():
                self.part = draws[rows]
        self.silhouettes: dict[int, float] = {}
        self.drops: dict[int, float] = {}
        self._fits: dict[int, Assignment] = {}
        self.single = self._minimize(draws, self.rngs[0])
        step()

    def choose(self, highest: int) -> int:
        """The number of modes by the rule that the head of `_modes.py` explains."""
        # V(1) on the part, from which the drops are measured: the single partition, moved downhill there.
        alone = partial(self._alternate, self.part, self.single.labels[None], self.rngs[0])
        single = self._best_of([alone]).expected_loss
        admitted: set[int] = set()
        # If V(1) is 0, every draw is the single partition, and there is nothing to try.
        for m in range(2, min(highest, self.part.n_distinct) + 1 if single != 0 else 2):
            found = self._fit(m)
            self.step()
            if not self.converged:  # half done, it proves nothing
                break
            self._fits[m] = found
            if len(found.labels) < m:  # a mode has lost all its draws to the others
                self.silhouettes[m] = self.drops[m] = 0.0
                break
            self.silhouettes[m] = found.silhouette
            self.drops[m] = 1.0 - found.expected_loss / single
            # V(M) <= (1 - 0.2 (M - 1)) V(1), as a drop.
            nearer = self.drops[m] >= DROP * (m - 1)
            if nearer and self.silhouettes[m] >= SILHOUETTE and found.weights.min() >= WEIGHT:
                admitted.add(m)
            if m > 2 and not {m - 1, m} & admitted:  # two in a row have failed
                break
        # The largest silhouette; in a tie, the smaller number of modes.
        return max(admitted, key=lambda m: (self.silhouettes[m], -m), default=1)

    def solve(self, m: int) -> IntArray:
        """(n_modes, n_items) `m` modes on all draws, or fewer if there are fewer distinct draws."""
        m = min(m, self.part.n_distinct)
        if m == 1:
            return self.single.labels[None]
        # The modes found on the part are the start: a thorough search for each, on all draws nearest to it.
        late = self.stopper.stopped and m in self._fits
        fit = self._fits[m] if late else self._fit(m)
        found = Assignment(self.draws, self.loss, fit.labels)
        modes = zip(found.labels, found.groups, strict=True)
        labels = np.stack([self._improve(mode, group) for mode, group in modes])
        # The modes have moved, and with them the nearest mode of some draws.
        last = partial(self._alternate, self.draws, labels, self.rngs[m])
        return self._best_of([last]).labels

    def placed(self, labels: IntArray) -> IntArray:
        """(n_modes, n_items) the modes of the items looked at as partitions of all items."""
        if self.items is None:
            return labels
        # Each mode with the draws nearest to it.
        nearest = Assignment(self.draws, self.loss, labels).nearest[self.draws.index]
        return np.stack([self._place(mode, nearest == m) for m, mode in enumerate(labels)])

    def placed_single(self) -> IntArray:
        """(n_items,) the single partition, of all items."""
        labels = self.single.labels
        return labels if self.items is None else self._place(labels, np.ones(len(self.draws), bool))

    def _place(self, mode: IntArray, rows: NDArray[np.bool_]) -> IntArray:
        """One partition of the items looked at as one of all items, given some of the draws."""
        weights, rng = weights_of(self.whole, rows), self.rngs[0]
        if not weights.any():  # a mode without draws of its own
            weights = self.whole.weights
        items, stopper = np.asarray(self.items), self.stopper
        return place_others(self.whole, self.loss, items, mode, rng, stopper, weights)

    def _improve(self, mode: IntArray, group: IntArray) -> IntArray:
        """The best partition for some of the distinct draws; at least as good as `mode`."""
        if len(group) == 0 or self.stopper.stopped:
            return mode
        draws = self.draws[np.flatnonzero(np.isin(self.draws.index, group))]
        # The part may have found a better mode than a fresh search does: keep the better of the two.
        found = self._minimize(draws, self.rngs[-1])
        before = float(loss_values(mode, draws.item_major, self.loss) @ draws.shares)
        return found.labels if found.expected_loss <= before else mode

    def _minimize(self, draws: Draws, rng: Generator) -> Estimate:
        """The best partition for all or some draws."""
        left = self.stopper.left
        # Half of the time, so that some is left for what follows. A limit must be positive, even if no time
        # is left: the search then ends at once, unconverged.
        limit = None if left is None else max(1e-3, left / 2)
        found = minimize(draws, self.loss, rng=rng, n_jobs=self.n_jobs, time_limit=limit)
        raise_if_interrupted(found)
        self.converged = self.converged and found.converged
        return found

    def _fit(self, m: int) -> Assignment:
        """`m` modes on the part, from several starts."""
        # One generator per start, so that threads may run them in any order.
        *rngs, last = self.rngs[m].spawn(_STARTS + 1)
        tasks = [partial(self._from_far_apart, m, rng) for rng in rngs]
        tasks.append(partial(self._alternate, self.part, self._central_draws(m), last))
        return self._best_of(tasks)

    def _best_of(self, tasks: list[partial[Assignment]]) -> Assignment:
        """The result with the smallest V; if time is up, the tasks have ended half done."""
        found = run_all(tasks, self.n_jobs, self.stopper)
        self.converged = self.converged and not self.stopper.stopped
        return min(found, key=lambda result: result.expected_loss)

    def _from_far_apart(self, m: int, rng: Generator) -> Assignment:
        """Modes from draws chosen in turn, with probability proportional to their loss (k-means++).

        The loss is that to the nearest draw chosen before. It is not squared, as distances are in k-means,
        because V is a sum of losses.
        """
        draws, chance = self.part, self.part.shares
        chosen: list[IntArray] = []
        nearest = np.full(draws.n_distinct, np.inf)
        for _ in range(m):
            if not chance.sum() > 0:  # every draw is one of the chosen
                break
            at = int(rng.choice(draws.n_distinct, p=chance / chance.sum()))
            chosen.append(draws.distinct[at].astype(np.int64))
            # A user's own loss, or rounding, may give negative values; a probability must not be negative.
            values = np.maximum(0.0, loss_values(chosen[-1], draws.item_major, self.loss))
            nearest = np.minimum(nearest, values)
            chance = draws.weights * nearest  # 0 for a draw that was chosen before
        return self._alternate(draws, np.stack(chosen), rng)

    def _central_draws(self, m: int) -> IntArray:
        """(m, n_items) the central draw of each of `m` groups of the linkage."""
        from scipy.cluster.hierarchy import fcluster

        tree, distance, columns = self._linkage
        # In each group the medoid: the draw with the smallest sum of losses to the others.
        groups = fcluster(tree, m, criterion="maxclust")
        centers = []
        for group in np.unique(groups):
            mine = np.flatnonzero(groups == group)
            centers.append(mine[distance[np.ix_(mine, mine)].sum(axis=1).argmin()])
        return self.part.distinct[columns[centers]].astype(np.int64)

    @cached_property
    def _linkage(self) -> tuple[Any, FloatArray, IntArray]:
        """Ward linkage of draws spread evenly over the part, their pairwise losses, and their numbers."""
        from scipy.cluster.hierarchy import linkage
        from scipy.spatial.distance import squareform

        last, size = self.part.n_draws - 1, min(_LINKED, self.part.n_draws)
        columns = self.part.index[np.linspace(0, last, size).astype(int)]
        table = np.ascontiguousarray(self.part.item_major[:, columns])
        rows = (column.astype(np.int64) for column in table.T)
        distance = np.stack([loss_values(row, table, self.loss) for row in rows])
        # A loss with a cost other than 1 is not symmetric, but a linkage needs symmetric distances.
        distance = np.maximum(0.0, distance + distance.T) / 2.0
        np.fill_diagonal(distance, 0.0)
        return linkage(squareform(distance, checks=False), "ward"), distance, columns

    def _alternate(self, draws: Draws, labels: IntArray, rng: Generator) -> Assignment:
        """Assign draws and move each mode downhill on its own draws, until the assignments stay the same.

        Ended by the stopper, the result is where it has got to.
        """
        settings = Settings(stopper=self.stopper)
        found = Assignment(draws, self.loss, labels)
        for _ in range(_ROUNDS):
            if self.stopper.stopped:
                break
            modes = zip(found.labels, found.groups, strict=True)
            # A mode that has lost all its draws is dropped: the result may have fewer modes.
            before = [(mode, group) for mode, group in modes if len(group)]
            # By Algorithm 1 (greedy descent) from where the mode is: a full search in each round would take
            # too long.
            downhill = [
                descend(
                    engine_for(draws, self.loss, group), mode, rng, settings, n_draws=len(group)
                ).labels
                for mode, group in before
            ]
            found = Assignment(draws, self.loss, np.stack(downhill))
            # The same draws in every group as before: the next round would change nothing.
            if all(np.array_equal(a, b) for (_, a), b in zip(before, found.groups, strict=True)):
                break
        return found
