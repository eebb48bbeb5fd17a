"""One partition on its way down, every step of which obeys constraints or may leave items undecided.

A *walker* is what a `Climber` is without constraints, in plain Python on the contract of the engine:

- `sweep`: each unit (`_rules.py`) goes to the best cluster that may take it, if its own can let it go;
- `join`: two clusters become one, the best allowed pair first.

`_trades.py` has the steps of several units at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import FloatArray, IntArray
from epluribus.engine import Engine, Settings
from epluribus.engine.execution import changed_clusters, copied
from epluribus.partition import tidy
from epluribus.search._parking import Parking
from epluribus.search._rules import Rules

_DOUBTFUL = 10
"""Clusters of more items than this are not left undecided as a whole."""


class Walker:
    """A partition that obeys the rules, or will after `fit`.

    Parameters
    ----------
    engine : Engine
        The expected loss.
    rules : Rules
        The constraints, for the items in the order of the engine.
    labels : ndarray of shape (n_items,)
        Where it starts: clusters that are allowed, sizes aside; -1 for undecided items.
    rng : Generator
        Source of randomness.
    settings : Settings
        Bounds on the number of clusters, the cost of undecided items, and what ends the search early.
    """

    def __init__(
        self,
        engine: Engine,
        rules: Rules,
        labels: IntArray,
        rng: np.random.Generator,
        settings: Settings,
    ) -> None:
        self.engine, self.rules, self.rng, self.settings = engine, rules, rng, settings
        self.out: NDArray[np.bool_] = labels < 0
        # In the engine, an undecided item is a cluster by itself.
        own = labels.copy()
        own[self.out] = int(labels.max()) + 1 + np.arange(int(self.out.sum()))
        self.state: Any = engine.start(tidy(own))
        self.parking: Parking | None = None
        if settings.undecided is not None:
            self.parking = Parking(engine, settings.undecided)
            self.parking.drop(np.flatnonzero(self.out))
        self.tried: IntArray | None = None
        """A partition no two clusters of which are worth joining."""
        self.traded: IntArray | None = None
        """A partition within which no trade of units was found (`_trades.py`)."""
        self._start = self._total()
        self.change = 0.0
        """Change of the total loss, the price of undecided items included, since the start."""

    # --- where it is ---

    @property
    def labels(self) -> IntArray:
        """Canonical labels, -1 for undecided items."""
        return tidy(np.where(self.out, -1, self.state.labels))

    @property
    def k(self) -> int:
        """Number of clusters, undecided items not counted."""
        k = int(self.state.n_clusters[0])
        return k if self.parking is None else k - int(self.out.sum())

    @property
    def k_min(self) -> int:
        """Smallest number of clusters; all items may be undecided unless a number was asked for."""
        low = self.settings.k_min
        return 0 if self.parking is not None and low == 1 else low

    @property
    def value(self) -> float:
        """What is minimized: the expected loss, and the price of undecided items."""
        return (self._start + self.change) / self.engine.total_weight

    def recount(self) -> float:
        """The value from the counts, free of the rounding errors of many changes."""
        self._start, self.change = self._total(), 0.0
        return self.value

    def _total(self) -> float:
        total = self.engine.value(self.state) * self.engine.total_weight
        return total + (self.parking.correction(int(self.out.sum())) if self.parking else 0.0)

    def lawful(self) -> bool:
        """Whether the partition obeys all constraints and bounds."""
        within = self.k_min <= self.k <= self.settings.most(self.engine.n_items)
        return within and not self.rules.constraints.broken(self.labels)

    def twin(self) -> Walker:
        """Another walker at the same place."""
        other = object.__new__(Walker)
        other.__dict__.update(self.__dict__)
        other.state, other.out = copied(self.state), self.out.copy()
        other.parking = None if self.parking is None else self.parking.twin()
        return other

    def take_over(self, other: Walker) -> None:
        """Go where the other walker is."""
        self.__dict__.update(other.__dict__)

    # --- single units ---

    def sweep(self, units: IntArray | None = None) -> int:
        """Move each unit to its best place, in random order; return the number of moves."""
        n_moves = 0
        chosen = np.arange(len(self.rules.units)) if units is None else units
        for unit in self.rng.permutation(chosen).tolist():
            if self.settings.stopper.flag[0]:
                break
            items = self.rules.units[unit]
            n_moves += self._move_item(items) if len(items) == 1 else self._move_block(items)
        return n_moves

    def targets(self, items: IntArray) -> NDArray[np.bool_]:
        """(K + 1,) which clusters may take the items, and whether they may be a new one."""
        labels, k = self.state.labels, int(self.state.n_clusters[0])
        found = np.empty(k + 1, dtype=np.bool_)
        found[:k] = self.rules.open(labels, k, items)
        found[k] = (
            len(items) >= self.rules.min_size
            and self.k < self.settings.most(self.engine.n_items)
            and not self.rules.falls_apart(items)
        )
        if self.parking is not None:
            found[labels[self.out]] = False
        return found

    def may_leave(self, items: IntArray) -> bool:
        """Whether the cluster of the items can do without them."""
        size = int(self.state.sizes[self.state.labels[items[0]]])
        if size == len(items) and self.k <= self.k_min:
            return False
        return self.rules.may_leave(self.state.labels, items, size)

    def _move_item(self, items: IntArray) -> bool:
        """Move one item to its best place; return whether it moved."""
        engine, state, i = self.engine, self.state, int(items[0])
        own, k, parked = int(state.labels[i]), int(state.n_clusters[0]), bool(self.out[i])
        alone = state.sizes[own] == 1
        row = engine.costs(state, items)[0]
        here, tolerance, margin = float(row[own]), engine.tolerance, state.price.margin
        row[own] = np.inf
        extra, rise, leaving = 0.0, 0.0, np.inf
        if self.parking is not None:
            rise = self.parking.look(int(items[0]), out=parked)
            if parked:  # what it costs to take part, wherever it goes
                extra = self.parking.alone + rise - self.parking.price
            else:
                apart = 0.0 if alone else float(row[k]) - here
                leaving = apart - self.parking.alone - rise + self.parking.price
        # An item that is alone does not move to a new cluster; an undecided one opens it where it is.
        row[k] = np.inf if alone and not parked else row[k]
        if parked:
            row[k] = here
        hopeful = np.flatnonzero(row < here - extra - tolerance + margin)
        if len(hopeful) == 0 and leaving >= -tolerance:
            return False
        hopeful = hopeful[self.targets(items)[hopeful]]
        if (len(hopeful) == 0 and leaving >= -tolerance) or not (parked or self.may_leave(items)):
            return False
        gained, best = np.inf, -1
        if len(hopeful):
            # Rows are in single precision: those near the lowest are computed again.
            near = hopeful[row[hopeful] <= row[hopeful].min() + margin]
            exact = engine.exact(state, np.full(len(near) + 1, i), np.append(near, own))
            if parked:
                exact[:-1][near == k] = exact[-1]
            gained, best = (
                float(exact[:-1].min() - exact[-1]) + extra,
                int(near[exact[:-1].argmin()]),
            )
        if min(gained, leaving) >= -tolerance:
            return False
        if leaving < gained:
            self._set_out(items, leaving + rise)
            best = k if not alone else own
        elif parked:
            self._set_in(items, gained)
            best = own if best == k else best
        else:
            self.change += gained
        if best != own:
            self.state = engine.apply(self.state, items, np.array([best]))
        return True

    def _set_out(self, items: IntArray, change: float) -> None:
        """Take note that the items are undecided; `change` is that of all but the draws' own sums."""
        assert self.parking is not None
        self.change += change - self.parking.drop(items)
        self.out[items] = True

    def _set_in(self, items: IntArray, change: float) -> None:
        assert self.parking is not None
        self.parking.rise(items)
        self.out[items] = False
        self.change += change

    def _move_block(self, items: IntArray) -> bool:
        """Move several items that must be together; return whether they moved."""
        parked = bool(self.out[items[0]])
        if not parked and not self.may_leave(items):
            return False
        trial = self.twin()
        whole = not parked and int(trial.state.sizes[trial.state.labels[items[0]]]) == len(items)
        if parked:
            assert trial.parking is not None
            rise = trial.parking.rise(items)
            trial.out[items] = False
            trial.change += rise + len(items) * (trial.parking.alone - trial.parking.price)
        # Taken out as a cluster by itself, it can be joined with each other cluster.
        if not whole:
            trial.state, change = self.engine.lift(trial.state, items)
            trial.change += change
        new = int(trial.state.labels[items[0]])
        row = self.engine.join_changes(trial.state, new)
        found = trial.targets(items)[:-1]
        found[new] = False
        row[~found] = np.inf
        best = int(row.argmin())
        may_stay = whole or (
            trial.k <= self.settings.most(self.engine.n_items)
            and len(items) >= self.rules.min_size
            and not self.rules.falls_apart(items)
        )
        if row[best] < 0 or not may_stay:
            trial.change += float(row[best])
            if np.isfinite(row[best]):
                self.engine.join(trial.state, new, best)
        other = None if self.parking is None or parked else self._block_left_out(items)
        best_trial = trial if other is None or trial.change <= other.change else other
        if not best_trial.change < self.change - 8 * self.engine.tolerance:
            return False
        self.take_over(best_trial)
        return True

    def _block_left_out(self, items: IntArray) -> Walker:
        """A walker that leaves the items undecided."""
        other = self.twin()
        other.leave(items)
        return other

    def leave(self, items: IntArray) -> None:
        """Leave the items undecided."""
        assert self.parking is not None
        for i in items:
            self.lift(np.array([i]))
        self._set_out(items, len(items) * (self.parking.price - self.parking.alone))

    def give_up(self) -> bool:
        """Leave whole clusters undecided where that is better; return whether any were."""
        gave_up = False
        if self.parking is None:
            return False
        labels = self.labels
        for a in range(int(labels.max()) + 1):
            items = np.flatnonzero(labels == a)
            if self.settings.stopper.flag[0] or self.k <= self.k_min or len(items) > _DOUBTFUL:
                continue
            other = self._block_left_out(items)
            if other.change < self.change - 8 * self.engine.tolerance:
                self.take_over(other)
                gave_up = True
        return gave_up

    # --- clusters ---

    def join_row(self, a: int, enough: float = np.inf) -> FloatArray:
        """(K,) change of the total loss if cluster a is joined with each other one; infinite if not allowed.

        If all changes are above `enough`, nobody looks at them: what is not allowed is then not sorted out.
        """
        row = self.engine.join_changes(self.state, a)
        if row.min(initial=np.inf) > enough:
            return row
        row[~self.targets(self.members(a))[:-1]] = np.inf
        row[a] = np.inf
        return row

    def join(self, most: int | None = None) -> bool:
        """Join the best allowed pair while that lowers the loss; return whether any were joined.

        While there are more than `most` clusters they are joined even if the loss rises.
        """
        state, engine, joined = self.state, self.engine, False
        k, low = int(state.n_clusters[0]), self.settings.k_min
        most = engine.n_items if most is None else most
        active = np.ones(k, dtype=np.bool_)
        # If f0 is linear, two clusters that were tried and have not changed need not be tried again.
        if self.tried is not None and engine.loss.linear and low == 1 and self.k <= most:
            active = changed_clusters(state.labels, self.tried).astype(np.bool_)
        active[state.labels[self.out]] = False
        partner: IntArray = np.zeros(k, dtype=np.int64)
        change: FloatArray = np.full(k, np.inf)
        fresh: NDArray[np.bool_] = np.ones(k, dtype=np.bool_)
        enough = np.inf if self.k > most else -engine.tolerance
        for a in np.flatnonzero(active).tolist():
            if self.settings.stopper.flag[0]:
                return joined
            row = self.join_row(a, enough)
            partner[a], change[a] = int(row.argmin()), row.min()
            fresh[a] = True
            lower = ~active & (row < change)
            partner[lower], change[lower] = a, row[lower]
        while self.k > max(low, 1) and not self.settings.stopper.flag[0]:
            a = int(change.argmin())
            if not np.isfinite(change[a]):
                break
            if not fresh[a]:
                row = self.join_row(a)
                partner[a], change[a], fresh[a] = int(row.argmin()), row.min(), True
                continue
            if change[a] > -engine.tolerance and self.k <= most:
                break
            first, second = min(a, int(partner[a])), max(a, int(partner[a]))
            self.change += float(change[a])
            engine.join(self.state, first, second)
            joined = True
            # The last cluster is called `second` now.
            last = int(self.state.n_clusters[0])
            lost = (partner == first) | (partner == second)
            partner[partner == last] = second
            for values in (partner, change, fresh, lost):
                values[second] = values[last]
            partner, change = partner[:last], change[:last]
            fresh, lost = fresh[:last], lost[:last]
            row = self.join_row(first)
            fresh[lost | (not engine.loss.linear)] = False
            better = row <= change
            partner[better], change[better], fresh[better] = first, row[better], True
            partner[first], change[first], fresh[first] = int(row.argmin()), row.min(), True
        self.tried = self.state.labels.copy()
        return joined

    def members(self, a: int) -> IntArray:
        """The items of a cluster."""
        return np.flatnonzero(self.state.labels == a)

    def lift(self, items: IntArray) -> float:
        """Make one cluster of the items, allowed or not; return the change of the total loss."""
        self.state, change = self.engine.lift(self.state, items)
        self.change += change
        return change

    def bring(self, items: IntArray, leader: int) -> None:
        """Bring the items to the cluster of another item, allowed or not."""
        self.lift(items)
        a, b = int(self.state.labels[items[0]]), int(self.state.labels[leader])
        if a != b:
            self.change += float(self.engine.join_changes(self.state, a)[b])
            self.engine.join(self.state, a, b)
