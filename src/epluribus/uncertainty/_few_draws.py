"""A lower bound on the expected variation of information: the exact optima of a few draws at a time.

**The bound.** Put the draws into groups. No partition is better for a group than the group's own optimum, so
the sum of these optima bounds every partition from below. With two draws in a group this is the triangle
inequality. A group that takes in another can only raise the bound; one group of all draws gives the optimum.

**A group is a small problem.** With sizes m of the draw's clusters, n of the partition's, and q of what they
have in common, N VI = c sum m log2 m + (2 - c) sum n log2 n - 2 sum q log2 q.

- *Blocks.* Items that are together in each draw of the group are together in an optimum. Take s such items, y
  of them in cluster A and the rest in B, with a and b other items there, a_t and b_t of them in the block's
  cluster of draw t, and h(x) = x log2 x. What depends on y is
  (2 - c) [h(a + y) + h(b + s - y)] - 2 E [h(a_t + y) + h(b_t + s - y)].
  As h''(x) falls with x, a_t <= a and b_t <= b, its second derivative is not above -c times that of the first
  bracket: it is concave, and smallest if the block is in one of the clusters as a whole.
- *Components.* Items that are together in no draw are apart in an optimum: dividing a cluster lowers
  sum n log2 n and leaves all q. So sets of blocks that no draw connects are solved one by one.

So the number of items does not matter, only how much the draws of a group differ. Where clusters are clear
and some items are in doubt, groups of four to eight draws have 10 to 15 blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from epluribus._kernels.few_draws import Sets, least_cost
from epluribus._parallel import Stopper, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine.expected import draw_losses
from epluribus.losses.base import Loss
from epluribus.uncertainty._bounds import SAFETY
from epluribus.uncertainty._matching import Matched
from epluribus.uncertainty._set_ranges import alike_in

FEW, MORE = (11, 13), (15, 17)
"""Blocks that a group may have, in rounds: each further one takes three times as long."""
_MOST = 60
"""Blocks above which a group is not even looked at."""
_PARTNERS = 4
"""Other groups that a group is put together with, for a trial."""
_PATIENCE = 50
"""Groups in a row that may be found too different from all others to be tried; then a round ends."""
_TINY = 1e-9
"""Part of the loss that is not worth a round."""


@dataclass(frozen=True)
class Group:
    """Draws, and a bound on the loss that any partition has to them."""

    shares: FloatArray
    """(n_draws,) how much each draw of the block counts in this group; 0 for most."""
    value: float
    """No partition has a smaller sum of shares times losses."""


class FewDrawsBound:
    """A number not above the smallest expected variation of information, which rises as it is given time.

    Parameters
    ----------
    draws : Draws
    blocks : list of Matched
        Draws are put together within these.
    labels : ndarray of shape (n_items,)
        A good partition.
    loss : Loss
        The variation of information, with any cost.
    stopper : Stopper
    n_jobs : int
        Threads.
    report : callable
        Called with the bound when it has risen.
    """

    def __init__(
        self,
        draws: Draws,
        blocks: list[Matched],
        labels: IntArray,
        loss: Loss,
        stopper: Stopper,
        n_jobs: int,
        report: Callable[[float], Any],
    ) -> None:
        self.stopper, self.n_jobs, self.report = stopper, n_jobs, report
        to_best = draw_losses(labels, draws, loss)
        self.work = [
            FewDraws(draws, block, to_best[block.columns], loss, self._stopped) for block in blocks
        ]
        self.deadline = np.inf

    @property
    def value(self) -> float:
        """The bound."""
        return sum(each.value for each in self.work)

    def _stopped(self) -> bool:
        return self.stopper.stopped or time.perf_counter() > self.deadline

    def grow(self, limits: Sequence[int], share: float = 1.0) -> float:
        """Let groups have up to these numbers of blocks, within a share of the time left; the bound."""
        left = self.stopper.left
        self.deadline = np.inf if left is None else time.perf_counter() + share * left
        for limit in limits:
            tasks = [partial(each.grow, limit) for each in self.work]
            run_tasks(tasks, n_jobs=self.n_jobs, stopper=self.stopper)
            self.report(self.value)
            if self._stopped():
                break
        return self.value


class FewDraws:
    """Puts groups of draws of a block together, as long as this raises the bound.

    Parameters
    ----------
    draws : Draws
    block : Matched
        Its pairs are the first groups.
    to_best : ndarray
        The losses between a good partition and each draw of the block.
    loss : Loss
    stopped : callable
        Says whether the time is up.
    """

    def __init__(
        self,
        draws: Draws,
        block: Matched,
        to_best: FloatArray,
        loss: Loss,
        stopped: Callable[[], bool],
    ) -> None:
        self.labels, self.distance = draws.distinct[block.columns], block.distance
        self.to_best, self.cost, self.stopped = to_best, loss.parameters["cost"], stopped
        self.logs = loss.tables(draws.n_items)[0]  # n log2 n
        # With another cost the loss is no metric: nothing is known about a pair yet.
        known = 1.0 - SAFETY if loss.metric else 0.0
        self.groups = []
        for s, t, share in block.pairs:
            shares = np.zeros(len(block.mass))
            np.add.at(shares, [s, t], share)  # also for a draw that is its own partner
            self.groups.append(Group(shares, known * share * float(block.distance[s, t])))

    @property
    def value(self) -> float:
        """The bound so far: the sum over groups."""
        return sum(group.value for group in self.groups)

    def grow(self, limit: int) -> None:
        """Put groups together until no trial raises the bound, with at most `limit` blocks in each."""
        sets = Sets(*(np.zeros(1 << limit, dtype=dtype) for dtype in (np.int64, float, float)))
        gained = True
        while gained and not self.stopped():
            gained = self._round(limit, sets)

    def _round(self, limit: int, sets: Sets) -> bool:
        """Every group is tried with a few others once; whether some were put together."""
        groups = self.groups
        shares = np.array([group.shares for group in groups])
        weights = shares / shares.sum(axis=1, keepdims=True)
        near = weights @ self.to_best
        # Groups on opposite sides of the good partition: far from each other, compared with their way to it.
        score = weights @ self.distance @ weights.T - near[:, None] - near
        loss = shares @ self.to_best
        slack = loss - [group.value for group in groups]
        left = np.ones(len(groups), dtype=bool)
        made: list[Group] = []
        untried = 0
        for g in np.argsort(-slack, kind="stable"):
            if not left[g] or slack[g] <= _TINY * loss[g] or self.stopped():
                continue
            left[g] = False
            tried = list(self._trials(g, np.flatnonzero(left), score[g], limit, sets))
            gain, other, group = max(
                tried, key=lambda trial: trial[0], default=(0.0, -1, groups[g])
            )
            untried = 0 if tried else untried + 1
            if untried > _PATIENCE:
                left[g] = True
                break
            if gain > _TINY * loss[g]:
                left[other] = False
                made.append(group)
            else:
                left[g] = True
        # Those that found no partner stay as they are.
        self.groups = made + [group for group, alone in zip(groups, left, strict=True) if alone]
        return len(made) > 0

    def _trials(
        self, g: int, others: IntArray, score: FloatArray, limit: int, sets: Sets
    ) -> Iterator[tuple[float, int, Group]]:
        """What is gained by putting group g together with some of the others."""
        n_tried = 0
        for other in others[np.argsort(-score[others], kind="stable")][: 4 * _PARTNERS]:
            shares = self.groups[g].shares + self.groups[other].shares
            used = shares > 0
            parts = self._parts(self.labels[used])
            if parts is None or max(len(mass) for mass, _ in parts) > limit:
                continue
            value = self._solve(parts, shares[used], sets)
            before = self.groups[g].value + self.groups[other].value
            yield value - before, int(other), Group(shares, value)
            n_tried += 1
            if n_tried == _PARTNERS:
                return

    def _parts(self, rows: AnyArray) -> list[tuple[IntArray, AnyArray]] | None:
        """The blocks of these draws by component: their numbers of items, and their labels in each draw.

        None if there are far too many.
        """
        _, first, mass = np.unique(alike_in(rows), return_index=True, return_counts=True)
        if len(mass) > _MOST:
            return None
        labels = rows[:, first]
        return [(mass[part], labels[:, part]) for part in components(labels)]

    def _solve(
        self, parts: list[tuple[IntArray, AnyArray]], shares: FloatArray, sets: Sets
    ) -> float:
        """The smallest sum over draws of shares times losses, rounded down."""
        value = size = 0.0
        for mass, labels in parts:
            bits = 1 << np.arange(len(mass))
            mates = (labels[:, :, None] == labels[:, None, :]) @ bits
            # The draws' own part, c times sum m log2 m.
            own = [
                self.logs[np.bincount(row, weights=mass).astype(np.int64)].sum() for row in labels
            ]
            constant = self.cost * float(shares @ own)
            value += constant + least_cost(mass, mates, shares, 2.0 - self.cost, self.logs, sets)
            size += constant + 4.0 * float(shares.sum()) * self.logs[mass.sum()]
        return (value - SAFETY * size) / self.labels.shape[1]


def components(labels: AnyArray) -> list[IntArray]:
    """Blocks in sets that no draw connects; `labels` has a row for each draw.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.uncertainty._few_draws import components
    >>> components(np.array([[0, 1, 0, 2], [0, 1, 1, 2]]))
    [array([0, 1, 2]), array([3])]
    """
    together = (labels[:, :, None] == labels[:, None, :]).any(axis=0)
    left, found = np.ones(labels.shape[1], dtype=bool), []
    while left.any():
        part = together[left.argmax()]
        # Neighbors of neighbors, until there are no more.
        while (more := together[part].any(axis=0)).sum() > part.sum():
            part = more
        found.append(np.flatnonzero(part))
        left &= ~part
    return found
