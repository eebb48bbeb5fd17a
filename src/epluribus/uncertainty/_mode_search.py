"""The search for several partitions that together are near every draw.

As in k-means, draws are assigned to their nearest mode and each mode is replaced by the minimizer of
the expected loss over its draws, until nothing changes. The starts are draws chosen far apart (k-means++),
and the groups of a Ward linkage of the draws. Numbers of modes are tried on a part of the draws; the
modes themselves are then found on all.

Arthur, D., Vassilvitskii, S. (2007). k-means++: the advantages of careful seeding. Proceedings of the
18th ACM-SIAM Symposium on Discrete Algorithms, 1027-1035.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from epluribus._parallel import run_all
from epluribus.engine import Engine, Settings, draw_losses
from epluribus.losses.values import loss_values
from epluribus.search import minimize
from epluribus.search._greedy import descend

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus._parallel import Stopper
    from epluribus._typing import IntArray
    from epluribus.draws import Draws
    from epluribus.estimate import Estimate
    from epluribus.losses.base import Loss

__all__ = ["DROP", "SILHOUETTE", "WEIGHT", "Assignment", "ModeSearch"]

T = TypeVar("T")

SILHOUETTE = 0.25
"""Smallest mean silhouette: below it Kaufman & Rousseeuw see no structure."""
DROP = 0.2
"""Share of V(1) that each added mode must take off; noise around one mode of 10 items reaches 0.17."""
WEIGHT = 0.05
"""Smallest weight of a mode: a handful of odd draws is not a mode."""

_DRAWS = 400
"""Draws on which numbers of modes are tried: silhouettes are then known to about 0.02."""
_STARTS = 2
"""Starts of k-means++ for each number of modes, besides the one by linkage."""
_LINKED = 200
"""Draws that are linked: all their losses to each other are computed."""
_ROUNDS = 20
"""Largest number of rounds of assignment and minimization; they end after a few."""
_TOO_LATE = "'time_limit' was reached before the modes were found."


class Assignment:
    """The distinct draws assigned to the nearest of some modes, the first of a tie."""

    def __init__(self, draws: Draws, loss: Loss, labels: IntArray) -> None:
        self.losses = np.stack([draw_losses(mode, draws, loss) for mode in labels])
        """(n_modes, n_distinct) loss between each mode and each distinct draw."""
        self.nearest: IntArray = self.losses.argmin(axis=0)
        self._shares = draws.shares

    @property
    def expected_loss(self) -> float:
        """V: the mean loss between a draw and its nearest mode."""
        return float(self.losses.min(axis=0) @ self._shares)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Probability of the draws nearest to each mode."""
        return self._sum(self._shares)

    @property
    def expected_losses(self) -> NDArray[np.float64]:
        """Mean loss between each mode and its own draws; 0 for a mode without any."""
        total, weights = self._sum(self.losses.min(axis=0) * self._shares), self.weights
        return np.divide(total, weights, out=np.zeros_like(weights), where=weights > 0)

    @property
    def silhouette(self) -> float:
        """Mean of (b - a) / max(a, b), a the loss to the nearest mode and b to the next."""
        a, b = np.partition(self.losses, 1, axis=0)[:2]
        each = np.divide(b - a, b, out=np.zeros_like(b), where=b > 0)
        return float(each @ self._shares)

    @property
    def groups(self) -> list[IntArray]:
        """Distinct draws of each mode, those without weight left out."""
        counts = self._shares > 0
        return [np.flatnonzero((self.nearest == m) & counts) for m in range(len(self.losses))]

    def _sum(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.bincount(self.nearest, weights=values, minlength=len(self.losses))
        return total.astype(np.float64)


class ModeSearch:
    """Modes of one sample.

    Parameters
    ----------
    draws : Draws
    loss : Loss
    highest : int
        Largest number of modes that will be asked for.
    rng : Generator
        Each number of modes has a child of its own, so that one does not depend on the others.
    n_jobs : int
    stopper : Stopper
        A search that it stops raises TimeoutError.
    """

    def __init__(
        self,
        draws: Draws,
        loss: Loss,
        highest: int,
        rng: np.random.Generator,
        n_jobs: int,
        stopper: Stopper,
    ) -> None:
        self.draws, self.loss, self.n_jobs, self.stopper = draws, loss, n_jobs, stopper
        part_rng, *self.rngs = rng.spawn(2 + highest)
        self.part = draws
        if draws.n_draws > _DRAWS:
            rows = np.sort(part_rng.choice(draws.n_draws, _DRAWS, replace=False))
            if draws.draw_weights[rows].any():
                self.part = draws[rows]
        self.silhouettes: dict[int, float] = {}
        self.drops: dict[int, float] = {}
        self._tree: tuple[Any, NDArray[np.float64], IntArray] | None = None
        self.single = self._minimize(draws, self.rngs[0])

    def choose(self, highest: int) -> int:
        """The number of modes by the rule that the head of `_modes.py` explains."""
        alone = self._alternate(self.part, self.single.labels[None], self.rngs[0])
        single = Assignment(self.part, self.loss, alone).expected_loss
        admitted: set[int] = set()
        for m in range(2, min(highest, self.part.n_distinct) + 1):
            if single == 0:
                break
            found = Assignment(self.part, self.loss, self._fit(m))
            if len(found.losses) < m:  # a mode has lost all its draws to the others: no more are needed
                self.silhouettes[m] = self.drops[m] = 0.0
                break
            self.silhouettes[m] = found.silhouette
            self.drops[m] = 1.0 - found.expected_loss / single
            if (
                self.silhouettes[m] >= SILHOUETTE
                and self.drops[m] >= DROP * (m - 1)
                and found.weights.min() >= WEIGHT
            ):
                admitted.add(m)
            if m > 2 and not {m - 1, m} & admitted:  # two in a row have failed
                break
        return max(admitted, key=lambda m: (self.silhouettes[m], -m), default=1)

    def solve(self, m: int) -> IntArray:
        """`m` modes on all draws, or fewer if there are not as many distinct draws."""
        m = min(m, self.part.n_distinct)
        if m == 1:
            return self.single.labels[None]
        labels = self._fit(m)
        groups = Assignment(self.draws, self.loss, labels).groups
        labels = np.stack(
            [self._improve(mode, group) for mode, group in zip(labels, groups, strict=True)]
        )
        return self._alternate(self.draws, labels, self.rngs[m])

    def _improve(self, mode: IntArray, group: IntArray) -> IntArray:
        """The best partition for some of the distinct draws; at least as good as `mode`."""
        if len(group) == 0:
            return mode
        draws = self.draws[np.flatnonzero(np.isin(self.draws.index, group))]
        found = self._minimize(draws, self.rngs[-1])
        before = draws.mean(loss_values(mode, draws.item_major, self.loss))
        return found.labels if found.expected_loss <= before else mode

    def _minimize(self, draws: Draws, rng: np.random.Generator) -> Estimate:
        """The best partition for all or some draws."""
        left = self.stopper.left
        limit = None if left is None else max(1e-3, left)
        found = minimize(draws, self.loss, rng=rng, n_jobs=self.n_jobs, time_limit=limit)
        if found.interrupted:
            raise KeyboardInterrupt
        if not found.converged:
            raise TimeoutError(_TOO_LATE)
        return found

    def _run(self, tasks: list[Callable[[], T]]) -> list[T]:
        """Results of tasks that look at the stopper; an error if time is up."""
        found = run_all(tasks, self.n_jobs, self.stopper)
        if self.stopper.stopped:
            raise TimeoutError(_TOO_LATE)
        return found

    def _alternate(self, draws: Draws, labels: IntArray, rng: np.random.Generator) -> IntArray:
        [(found, _)] = self._run([partial(_alternate, draws, self.loss, labels, rng, self.stopper)])
        return found

    def _fit(self, m: int) -> IntArray:
        """The best of several starts on the part."""
        *rngs, last = self.rngs[m].spawn(_STARTS + 1)
        part, loss, stopper = self.part, self.loss, self.stopper
        tasks = [partial(_far_apart, part, loss, m, rng, stopper) for rng in rngs]
        tasks.append(partial(_alternate, part, loss, self._central_draws(m), last, stopper))
        return min(self._run(tasks), key=lambda one: one[1])[0]

    def _central_draws(self, m: int) -> IntArray:
        """The central draws of `m` groups of a Ward linkage."""
        from scipy.cluster.hierarchy import fcluster

        if self._tree is None:
            self._tree = _link(self.part, self.loss)
        tree, distance, columns = self._tree
        groups = fcluster(tree, m, criterion="maxclust")
        centers = []
        for group in np.unique(groups):
            mine = np.flatnonzero(groups == group)
            centers.append(mine[distance[np.ix_(mine, mine)].sum(axis=1).argmin()])
        return self.part.distinct[columns[centers]].astype(np.int64)


def _far_apart(
    draws: Draws, loss: Loss, m: int, rng: np.random.Generator, stopper: Stopper
) -> tuple[IntArray, float]:
    """Modes from draws chosen in turn, each with probability in proportion to its loss (k-means++)."""
    chance = draws.shares
    chosen: list[IntArray] = []
    nearest = np.full(draws.n_distinct, np.inf)
    for _ in range(m):
        if not chance.sum() > 0:  # every draw is one of the chosen
            break
        at = int(rng.choice(draws.n_distinct, p=chance / chance.sum()))
        chosen.append(draws.distinct[at].astype(np.int64))
        # A user's loss may be negative, or rounding may make it so; a probability may not.
        nearest = np.minimum(nearest, np.maximum(0.0, loss_values(chosen[-1], draws.item_major, loss)))
        chance = draws.weights * nearest
    return _alternate(draws, loss, np.stack(chosen), rng, stopper)


def _link(draws: Draws, loss: Loss) -> tuple[Any, NDArray[np.float64], IntArray]:
    """Ward linkage of draws spread over the sample, their losses to each other, and which they are."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    spread = np.linspace(0, draws.n_draws - 1, min(_LINKED, draws.n_draws)).astype(int)
    columns = draws.index[spread]
    table = np.ascontiguousarray(draws.item_major[:, columns])
    distance = np.stack([loss_values(column.astype(np.int64), table, loss) for column in table.T])
    distance = np.maximum(0.0, distance + distance.T) / 2.0  # not symmetric for a cost other than 1
    np.fill_diagonal(distance, 0.0)
    return linkage(squareform(distance, checks=False), "ward"), distance, columns


def _alternate(
    draws: Draws, loss: Loss, labels: IntArray, rng: np.random.Generator, stopper: Stopper
) -> tuple[IntArray, float]:
    """Assign draws, move each mode downhill on its own draws, until assignments stay; modes and V.

    Of no use if stopped.
    """
    found = Assignment(draws, loss, labels)
    for _ in range(_ROUNDS):
        if stopper.stopped:
            break
        before = [(mode, group) for mode, group in zip(labels, found.groups, strict=True) if len(group)]
        settings = Settings(stopper=stopper)
        labels = np.stack(
            [
                descend(Engine.of(draws, loss, group), mode, rng, settings).labels
                for mode, group in before
            ]
        )
        found = Assignment(draws, loss, labels)
        if all(np.array_equal(a, b) for (_, a), b in zip(before, found.groups, strict=True)):
            break
    return labels, found.expected_loss
