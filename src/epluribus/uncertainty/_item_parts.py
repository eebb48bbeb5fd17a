"""A lower bound on the expected variation of information: parts of the items, each on its own.

**The bound.** Divide the items into two parts; B says which part an item is in. With cost c the loss between
a partition A and a draw Z is c H(A | Z) + (2 - c) H(Z | A). By the chain rule
H(A | Z) = H(A | Z, B) + I(A; B | Z), and the same holds with A and Z exchanged. So, for all N items,

    N loss(A, Z) = sum over parts of n loss(A, Z) within the part
                   + N [c I(A; B | Z) + (2 - c) I(Z; B | A)].

Losses within a part are not below the part's own optimum: a smaller problem, with a bound of its own. And as
H(B | A, Z) is neither above x = H(B | Z) nor above u = H(B | A), the rest in brackets,
c x + (2 - c) u - 2 H(B | A, Z), is at least c (x - u) where x > u, and (2 - c) (u - x) where not. Only u
depends on the partition, and it is the same for all draws: the expectation of the rest is not below its
minimum over all numbers u.

Parts are divided again, each by its own B, down to parts of a size that the other bounds can deal with. They
are made of clusters of a good partition A, for which u = 0: what is lost is c E x minus that minimum. It is
little if few draws connect the parts, and if these do so strongly.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from epluribus import losses
from epluribus._parallel import Stopper
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.partition import relabel
from epluribus.uncertainty._bounds import SAFETY

_LABELS, _CLUSTERS = 2 * 10**7, 1000
"""Labels (items times distinct draws) and clusters above which items are not divided: it takes too long."""
_CELLS = 2 * 10**7
"""Entries of the table of clusters and draws' clusters; with more, some of the draws are looked at."""
_PAIRS, _FEWEST = 2 * 10**6, 20
"""Pairs of clusters times draws that choose the parts, and the fewest draws that do."""
_LARGEST = (100, 140, 180)
"""Items that a part may have; the first number that loses little is taken."""
_LITTLE = 0.03
"""Share of the loss that may be lost: with more, bounds for all items at once are better."""


@dataclass(frozen=True)
class Division:
    """Parts of the items."""

    parts: list[IntArray]
    """The items of each part."""
    between: float
    """What the parts add to the sum of their bounds: this much of the expected loss is between them."""
    lost: float
    """By how much the bound is at least below the loss of the partition that the parts are made of."""


def divide(
    draws: Draws, labels: IntArray, loss: float, cost: float, stopper: Stopper
) -> Division | None:
    """Put clusters together to parts, so that little of the loss is lost between them.

    None if much is lost, if all items are one part, if there are too many items or clusters, or no time.

    Parameters
    ----------
    draws : Draws
    labels : ndarray of shape (n_items,)
        A good partition. A cluster with very many items is a part of its own.
    loss : float
        Its expected loss.
    cost : float
        The cost of the loss; 1 for the usual one.
    stopper : Stopper
    """
    n_clusters = int(labels.max()) + 1
    if draws.n_items * draws.n_distinct > _LABELS or n_clusters > _CLUSTERS:
        return None
    # Some of the draws say which clusters belong together.
    n_draws = max(_FEWEST, _PAIRS // n_clusters**2)
    clusters = _Merging(draws, labels, cost, n_draws, stopper)
    for largest in _LARGEST:
        some = clusters.copy()
        while some.merge(some.lost, largest) is not None:
            pass
        where = relabel(some.numbers[labels])
        lost = (some.whole - some.merge_all()) / some.shares.sum()
        if stopper.stopped or lost <= _LITTLE * loss * draws.n_items:
            break
    else:
        return None
    if where.max() == 0:
        return None
    # All draws say what is between the parts.
    parts = _Merging(draws, where, cost, draws.n_distinct, stopper)
    whole, n_parts = parts.whole, len(parts.sizes)
    # Rounding: these are sums of terms n log2 n, which are at most those of all items.
    between = parts.merge_all() - SAFETY * n_parts * 4.0 * float(parts.logs[-1])
    if stopper.stopped:
        return None
    items = [np.flatnonzero(where == part) for part in range(n_parts)]
    return Division(items, between / draws.n_items, (whole - between) / draws.n_items)


class _Merging:
    """Groups of items that are put together, two at a time.

    Parameters
    ----------
    draws : Draws
    labels : ndarray of shape (n_items,)
        The first groups.
    cost : float
    n_draws : int
        How many of the distinct draws are looked at: the others count as if nothing were between groups.
    stopper : Stopper
        When the time is up, what is known so far is of no use.

    Attributes
    ----------
    kept, lost : ndarray of shape (n_groups, n_groups)
        What a division of two groups keeps of the loss between them at least, and what it loses; N times the
        loss. Only below the diagonal: minus infinity elsewhere, and for groups that are gone.
    """

    def __init__(
        self, draws: Draws, labels: IntArray, cost: float, n_draws: int, stopper: Stopper
    ) -> None:
        self.cost, self.stopper, self.sizes = cost, stopper, np.bincount(labels)
        self.numbers = np.arange(len(self.sizes))
        self.logs = losses.get("vi").tables(draws.n_items)[0]  # n log2 n
        used = draws.n_distinct
        per_draw = len(self.sizes) * (int(draws.distinct.max()) + 1)
        n_draws = min(n_draws, used, max(1, _CELLS // per_draw))
        chosen = np.unique(np.linspace(0, used - 1, n_draws).astype(np.int64))
        rows, self.shares = draws.distinct[chosen], draws.shares[chosen]
        width = rows.max(axis=1).astype(np.int64) + 1
        ends = np.cumsum(width)
        self.draw = np.repeat(np.arange(len(rows)), width)
        # How many items of a group are in each cluster of each draw.
        shape = (len(self.sizes), int(ends[-1]))
        self.table = np.zeros(shape, dtype=np.int32)
        for row, start, end in zip(rows, ends - width, ends, strict=True):
            counts = np.bincount(labels * (end - start) + row, minlength=shape[0] * (end - start))
            self.table[:, start:end] = counts.reshape(shape[0], -1)
        self.kept, self.lost = np.full((2, len(self.sizes), len(self.sizes)), -np.inf)
        for g in range(1, len(self.sizes)):
            if stopper.stopped:
                return
            self.kept[g, :g], self.lost[g, :g] = self._between(g, np.arange(g))

    def copy(self) -> _Merging:
        """The same groups, to be put together in another way."""
        made = copy(self)
        made.table, made.sizes, made.numbers = (
            self.table.copy(), self.sizes.copy(), self.numbers.copy(),
        )  # fmt: skip
        made.kept, made.lost = self.kept.copy(), self.lost.copy()
        return made

    def _between(self, g: int, others: IntArray) -> FloatArray:
        """What is kept and lost between group g and others, as two rows."""
        # Only clusters of draws with items of g matter.
        columns = np.flatnonzero(self.table[g])
        own, theirs = self.table[g, columns], self.table[np.ix_(others, columns)]
        x = self.logs[own + theirs] - self.logs[own] - self.logs[theirs]  # N H(B | Z), by cluster
        starts = np.flatnonzero(np.diff(self.draw[columns], prepend=-1))
        by_draw = np.zeros((len(others), len(self.shares)))
        by_draw[:, self.draw[columns[starts]]] = np.add.reduceat(x, starts, axis=1)
        whole = self.cost * by_draw @ self.shares
        kept = least_rest(by_draw, self.shares, self.cost)
        return np.stack([kept, whole - kept])

    @property
    def whole(self) -> float:
        """The loss between all groups."""
        groups = self.table[np.unique(self.numbers)]
        inside, all_items = self.logs[groups].sum(axis=0), self.logs[groups.sum(axis=0)]
        return self.cost * float(self.shares[self.draw] @ (all_items - inside))

    def merge_all(self) -> float:
        """Put all groups together; what a division into these groups keeps."""
        kept, n_items = 0.0, int(self.sizes.sum())
        while (found := self.merge(self.kept, n_items)) is not None:
            kept += found
        return kept

    def merge(self, score: FloatArray, largest: int) -> float | None:
        """Put the two groups with the highest score together; what their division would keep.

        None if no pair with a score above 0 has at most `largest` items in all, or if the time is up.
        """
        score = np.where(self.sizes[:, None] + self.sizes <= largest, score, -np.inf)
        g, h = (int(each) for each in np.unravel_index(score.argmax(), score.shape))
        if score[g, h] <= 0.0 or self.stopper.stopped:
            return None
        kept = float(self.kept[g, h])
        self.table[g] += self.table[h]
        self.sizes[g] += self.sizes[h]
        self.numbers[self.numbers == h] = g
        for table in (self.kept, self.lost):
            table[h], table[:, h] = -np.inf, -np.inf
        others = np.setdiff1d(self.numbers, [g])
        low, high = np.minimum(g, others), np.maximum(g, others)
        self.kept[high, low], self.lost[high, low] = self._between(g, others)
        return kept


def least_rest(x: FloatArray, shares: FloatArray, cost: float) -> FloatArray:
    """For each row of x the smallest mean over draws of c (x - u) where x > u and (2 - c) (u - x) where not.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.uncertainty._item_parts import least_rest
    >>> least_rest(np.array([[0.0, 0.0, 6.0]]), np.full(3, 1 / 3), cost=1.0)
    array([2.])
    """
    order = np.argsort(x, axis=1, kind="stable")
    values, weights = np.take_along_axis(x, order, axis=1), shares[order]
    # It is smallest where a share of c / 2 of the draws is below u.
    below = np.cumsum(weights, axis=1)
    at = (below < 0.5 * cost * below[:, -1:]).sum(axis=1, keepdims=True)
    above = values - np.take_along_axis(values, np.minimum(at, x.shape[1] - 1), axis=1)
    rest = np.where(above > 0.0, cost * above, (cost - 2.0) * above)
    return np.asarray((weights * rest).sum(axis=1))
