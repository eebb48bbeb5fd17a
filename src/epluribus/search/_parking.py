"""Items that stay undecided, for a price: what the expected loss of the others is without them.

With D the decided items, n of N, the search minimizes

    VI:      (n / N) E[ VI(a, z) on D ]  +  cost (N - n) / N       cost in bits for an item
    Binder:  E[ Binder(a, z) on D ]      +  cost (N - n)           cost in pairs for an item

that is, the loss of the decided items in the units of all N, and a price for each of the others. In these
units leaving an item out never raises the loss of the others: N VI is the sum over the items of
log2(n_g / n_gh) + log2(n_h / n_gh), and Binder's loss a sum over pairs, and the sums over the items that stay
do not grow when one goes. So an item is left out if and only if it adds more than the cost, and with a higher
cost the best answer leaves out no more items than before.

In the engine an undecided item is a cluster by itself, which no other item may join: what that cluster adds
is a constant. Only the sums over the clusters of the draws, which no search changes otherwise, are kept here.
"""

from __future__ import annotations

import numpy as np

from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import Engine
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values

FAMILIES = ("vi", "binder")
"""Losses for which items may stay undecided: sums over items or pairs."""


def price_of(loss: Loss, cost: float, n_items: int) -> float:
    """What an undecided item adds to the expected loss of all items."""
    return cost / n_items if loss.family == "vi" else cost


class Parking:
    """What changes if items are left out, in units of the total loss: times the total weight.

    Parameters
    ----------
    engine : Engine
        The expected loss, of a family in `FAMILIES`.
    cost : float
        Cost of an undecided item, as in `minimize`.
    """

    def __init__(self, engine: Engine, cost: float) -> None:
        n = engine.n_items
        form = engine.loss.linear_form(n)
        f1, f2, f3 = engine.loss.tables(n)
        self.table, self.weights = engine.table, engine.weights
        self.price = price_of(engine.loss, cost, n) * engine.total_weight
        """Price of an undecided item."""
        self.alone = engine.total_weight * float(form.joint * f1[1] + form.size * f2[1])
        """What a cluster of one item adds."""
        self._f3 = form.group * f3
        self._step = np.diff(self._f3)
        self._draws = np.arange(engine.n_draws)
        # Decided items in each cluster of each draw; all of them at the beginning.
        groups = int(self.table.max()) + 1
        cells = self._draws[None] * groups + self.table
        shape = (engine.n_draws, groups)
        self._full = np.bincount(cells.ravel(), minlength=shape[0] * groups).reshape(shape)
        self.counts = self._full.copy()

    def twin(self) -> Parking:
        """An independent copy."""
        other = object.__new__(Parking)
        other.__dict__.update(self.__dict__)
        other.counts = self.counts.copy()
        return other

    def drop(self, items: IntArray) -> float:
        """How much the sums over the clusters of the draws fall when the items leave; they do leave."""
        fall = 0.0
        for i in items.tolist():
            at = self._draws, self.table[i]
            self.counts[at] -= 1
            fall += float(self.weights @ self._step[self.counts[at]])
        return fall

    def rise(self, items: IntArray) -> float:
        """How much they grow when the items come back; they do come back."""
        growth = 0.0
        for i in items.tolist():
            at = self._draws, self.table[i]
            growth += float(self.weights @ self._step[self.counts[at]])
            self.counts[at] += 1
        return growth

    def look(self, i: int, *, out: bool) -> float:
        """How much the sums would grow if item i came back (`out`), or fall if it left; nothing changes."""
        n = self.counts[self._draws, self.table[i]] - (not out)
        return float(self.weights @ self._step[n])

    def correction(self, n_out: int) -> float:
        """What the total loss of the engine must be changed by, with `n_out` items left out."""
        lost = self.weights @ (self._f3[self.counts] - self._f3[self._full]).sum(axis=1)
        return float(lost) + n_out * (self.price - self.alone)


def would_add(engine: Engine, labels: IntArray, items: IntArray) -> FloatArray:
    """(len(items),) what each undecided item would add to the total loss in its best cluster.

    `labels` are those of all items, with -1 for those left out.
    """
    parking = Parking(engine, 0.0)
    out = np.flatnonzero(labels < 0)
    parking.drop(out)
    own, k = labels.copy(), int(labels.max()) + 1
    own[out] = k + np.arange(len(out))
    state, added = engine.start(own), np.empty(len(items))
    for q, i in enumerate(items.tolist()):
        row = engine.costs(state, np.array([i]))[0]
        # Its own cluster, of one item, stands for a new one.
        least = min(float(row[:k].min(initial=np.inf)), float(row[own[i]])) - float(row[own[i]])
        added[q] = least + parking.alone + parking.look(i, out=True)
    return added


def loss_of_decided(labels: IntArray, draws: Draws, loss: Loss) -> float:
    """Expected loss of the decided items alone, with the draws restricted to them; 0 if there are none."""
    inside = np.flatnonzero(labels >= 0)
    if len(inside) == 0:
        return 0.0
    # A draw restricted to some items may skip labels: they need not be canonical here.
    table = np.ascontiguousarray(draws.store.rows(inside))
    return draws.mean(loss_values(labels[inside], table, loss))
