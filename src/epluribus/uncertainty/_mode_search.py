"""The search for several partitions that together are near every draw.

As in k-means, draws are assigned to their nearest mode, and each mode is replaced by a minimizer of the
expected loss over its draws, until nothing changes; neither step can raise

    V = sum_t p_t min_m loss(a_m, z_t).

The starts are the central draws of groups of draws, from two linkages and from draws chosen far apart
(k-means++), and the best modes of the number before with one draw more. All numbers of modes are tried
on a part of the draws, and the largest that passes the conditions of `_mode_rule.py` is taken; the modes
themselves are then found on all draws.

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
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, raise_if_interrupted
from epluribus.losses.base import Loss
from epluribus.search._greedy import descend
from epluribus.search._minimize import minimize_within
from epluribus.search.problem import Problem
from epluribus.settings import Settings
from epluribus.uncertainty._medoids import (
    as_modes,
    centers_of,
    distances,
    far_apart,
    settle,
    some_draws,
)
from epluribus.uncertainty._mode_rule import WEIGHT, Sample
from epluribus.uncertainty._part import choose_items, place_others, weights_of

_DRAWS = 400
"""Number of draws on which numbers of modes are tried."""
_JUDGED = 2000
"""Number of draws on which modes are judged: 5 % of them are 100, enough to see a gap."""
_STARTS = 2
"""Starts for each number of modes, the best of those below by their V, besides one mode more than before."""
_FAR_APART = 6
"""Sets of draws chosen far apart, besides the groups of the linkages, from which starts are taken."""
_LINKED = 200
"""Number of draws for which all pairwise losses are computed, and from which starts are chosen."""
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
            draws = draws.select_items(self.items)
        self.draws, self.converged = draws, True
        # Numbers of modes are tried on a random part of the draws, in their order.
        self.part = some_draws(draws, _DRAWS, part_rng)
        self.judge = Sample(some_draws(draws, _JUDGED, part_rng), loss, part_rng)
        self.silhouettes: dict[int, float] = {}
        self.drops: dict[int, float] = {}
        self._fits: dict[int, list[Assignment]] = {}
        self.single = self._minimize(draws, self.rngs[0])
        step()

    def choose(self, highest: int) -> int:
        """The number of modes by the rule that the head of `_mode_rule.py` explains."""
        # V(1) on the part, from which the drops are measured: the single partition, moved downhill there.
        alone = partial(self._alternate, self.part, self.single.labels[None], self.rngs[0])
        best = self._all_of([alone])[0]
        single = best.expected_loss
        # If V(1) is 0, every draw is the single partition, and there is nothing to try.
        for m in range(2, min(highest, self.part.n_distinct) + 1 if single != 0 else 2):
            found = self._fit(m, best)
            self.step()
            if not self.converged:  # half done, it proves nothing
                return 1
            best = min(found, key=lambda fit: fit.expected_loss)
            self.silhouettes[m] = best.silhouette if len(best.labels) > 1 else 0.0
            self.drops[m] = 1.0 - best.expected_loss / single
            for one in found:
                self._fits.setdefault(len(one.labels), []).append(one)
        for m in sorted(self._fits, reverse=True):
            fits = sorted(_different(self._fits[m]), key=lambda fit: fit.expected_loss)
            fit = next((fit for fit in fits if m > 1 and self.judge.admits(fit.labels)), None)
            if fit is not None:
                self._fits[m] = [fit]
                return m
        return 1

    def solve(self, m: int) -> IntArray:
        """(n_modes, n_items) `m` modes on all draws, or fewer if there are fewer distinct draws."""
        m = min(m, self.part.n_distinct)
        if m == 1:
            return self.single.labels[None]
        # The modes found on the part are the start: a thorough search for each, on all draws nearest to it.
        fits = self._fits[m] if m in self._fits else self._fit(m, None)
        fit = min(fits, key=lambda fit: (-len(fit.labels), fit.expected_loss))
        found = Assignment(self.draws, self.loss, fit.labels)
        modes = zip(found.labels, found.groups, strict=True)
        labels = np.stack([self._improve(mode, group) for mode, group in modes])
        # The modes have moved, and with them the nearest mode of some draws.
        last = partial(self._alternate, self.draws, labels, self.rngs[m])
        return self._all_of([last])[0].labels

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
        before = draws.mean(draw_losses(mode, draws, self.loss))
        return found.labels if found.expected_loss <= before else mode

    def _minimize(self, draws: Draws, rng: Generator) -> Estimate:
        """The best partition for all or some draws."""
        left = self.stopper.left
        # Half of the time, so that some is left for what follows. A limit must be positive, even if no time
        # is left: the search then ends at once, unconverged.
        limit = None if left is None else max(1e-3, left / 2)
        found = minimize_within(draws, self.loss, limit, rng=rng, n_jobs=self.n_jobs)
        raise_if_interrupted(found)
        self.converged = self.converged and found.converged
        return found

    def _fit(self, m: int, before: Assignment | None) -> list[Assignment]:
        """Fits of `m` modes on the part, from several starts; `before` is the best with one mode less."""
        # One generator per start, so that threads may run them in any order.
        *rngs, last, again_rng = self.rngs[m].spawn(_STARTS + 2)
        starts = self._medoids(m, rngs[0])
        tasks = [
            partial(self._alternate, self.part, start, rng)
            for start, rng in zip(starts, rngs, strict=False)
        ]
        if before is not None:
            tasks.append(partial(self._one_more, before, last))
        found = self._all_of(tasks)
        # Groups too small to be modes spoil a fit that would pass without them.
        small = [fit for fit in found if fit.weights.min() < WEIGHT <= fit.weights.max()]
        again = [
            partial(self._alternate, self.part, fit.labels[fit.weights >= WEIGHT], again_rng)
            for fit in small
        ]
        return found + (self._all_of(again, 1) if again and before is not None else [])

    def _all_of(
        self, tasks: list[partial[Assignment]], n_jobs: int | None = None
    ) -> list[Assignment]:
        """The results of all tasks; if time is up, they have ended half done."""
        found = run_all(tasks, n_jobs or self.n_jobs, self.stopper)
        self.converged = self.converged and not self.stopper.stopped
        return found

    def _one_more(self, before: Assignment, rng: Generator) -> Assignment:
        """The modes `before` and one draw, chosen with probability proportional to its loss (k-means++).

        The loss is not squared, as distances are in k-means, because V is a sum of losses.
        """
        # A user's own loss, or rounding, may give negative values; a probability must not be negative.
        chance = self.part.weights * np.maximum(0.0, before.losses.min(axis=0))
        if not chance.sum() > 0:  # every draw is a mode
            return before
        at = int(rng.choice(self.part.n_distinct, p=chance / chance.sum()))
        labels = np.concatenate([before.labels, as_modes(self.part, np.array([at]), self.loss)])
        return self._alternate(self.part, labels, rng)

    def _medoids(self, m: int, rng: Generator) -> list[IntArray]:
        """Starts of (m, n_items): the best central draws of `m` groups, by their distances alone."""
        from scipy.cluster.hierarchy import fcluster

        trees, distance, columns = self._distances
        mass = self.part.weights[columns]
        # Groups of two linkages, and those around draws chosen far apart.
        groups = [fcluster(tree, m, criterion="maxclust") for tree in trees]
        starts = [centers_of(distance, mass, group) for group in groups]
        starts += [far_apart(distance, mass, m, rng) for _ in range(_FAR_APART)]
        found: dict[tuple[int, ...], float] = {}
        for start in starts:
            centers, value = settle(distance, mass, start)
            found[tuple(sorted(centers.tolist()))] = value
        best = sorted(found, key=lambda centers: (-len(centers), found[centers]))[:_STARTS]
        return [as_modes(self.part, columns[list(centers)], self.loss) for centers in best]

    @cached_property
    def _distances(self) -> tuple[list[FloatArray], FloatArray, IntArray]:
        return distances(self.part, self.loss, _LINKED)

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
                    _problem_of(draws, self.loss, group), mode, rng, settings, len(group)
                ).labels
                for mode, group in before
            ]
            found = Assignment(draws, self.loss, np.stack(downhill))
            # The same draws in every group as before: the next round would change nothing.
            if all(np.array_equal(a, b) for (_, a), b in zip(before, found.groups, strict=True)):
                break
        return found


def _problem_of(draws: Draws, loss: Loss, group: IntArray) -> Problem:
    """The problem of some of the distinct draws."""
    return Problem.of(draws, loss).with_draws(group, draws.weights[group])


def _different(fits: list[Assignment]) -> list[Assignment]:
    """The fits without those that have the same modes as one before."""
    return list(
        {tuple(sorted(mode.tobytes() for mode in fit.labels)): fit for fit in fits}.values()
    )
