"""Steps of several units at a time, for a partition that obeys constraints.

- `trade`: a unit goes where it is not allowed to go, and what is in its way makes room;
- `fit`: clusters are joined or divided until their sizes and their number are as asked for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import IntArray
from epluribus.engine.execution import changed_clusters
from epluribus.search._walk import Walker

_PARTNERS = 8
"""Units of another cluster that are tried in exchange for one, at most."""


def trade(walker: Walker, units: IntArray) -> int:
    """Let units go where they are not allowed to go, and make room for them; return the successes."""
    n_better, before = 0, walker.traded
    now = walker.state.labels.copy()
    # Where neither of two clusters has changed since the last time, nothing new is to be found.
    changed = np.ones(len(now), dtype=np.bool_)
    if before is not None and walker.engine.loss.linear:
        changed = changed_clusters(now, before).astype(np.bool_)[now]
    for unit in walker.rng.permutation(units).tolist():
        if walker.settings.stopper.flag[0]:
            return n_better
        n_better += _trade_one(walker, walker.rules.units[unit], changed)
    if len(units) == len(walker.rules.units):
        walker.traded = now
    return n_better


def _trade_one(walker: Walker, items: IntArray, changed: NDArray[np.bool_]) -> bool:
    labels, rules, k = walker.state.labels, walker.rules, int(walker.state.n_clusters[0])
    if walker.out[items[0]]:
        return False
    own = int(labels[items[0]])
    row = walker.engine.costs(walker.state, items[:1])[0]
    gain = row[own] - row[:k]
    gain[own] = -np.inf
    if walker.parking is not None:
        gain[labels[walker.out]] = -np.inf
    target = int(gain.argmax())
    if not gain[target] > walker.engine.tolerance:
        return False
    there = walker.members(target)
    if not (changed[items[0]] or changed[there[0]]):
        return False
    if rules.graph is not None and not np.any(labels[rules.near(items)] == target):
        return False
    clash = rules.in_the_way(there, items)
    if len(clash):
        return _push_out(walker, items, clash, there)
    if rules.graph is not None:
        # What would be cut off comes along.
        along = np.concatenate([items, *rules.pieces(labels, items)[1:]])
        if len(along) > len(items) and _attempt(walker, lambda trial: trial.bring(along, there[0])):
            return True
    if rules.min_size == 1 and rules.graph is None:
        return False
    # In exchange for one of the others.
    here = np.setdiff1d(walker.members(own), items)
    for unit in walker.rng.permutation(np.unique(rules.blocks[there]))[:_PARTNERS].tolist():
        others = rules.units[unit]
        staying = np.setdiff1d(there, others)
        if len(here) and len(staying) and _exchange(walker, items, staying[0], others, here[0]):
            return True
    return False


def _exchange(walker: Walker, items: IntArray, there: int, others: IntArray, here: int) -> bool:
    """Two units change places."""

    def swap(trial: Walker) -> None:
        trial.bring(items, there)
        trial.bring(others, here)

    return _attempt(walker, swap)


def _push_out(walker: Walker, items: IntArray, clash: IntArray, there: IntArray) -> bool:
    """A unit takes the place of those that it cannot be with, which look for the best place left."""
    rules, engine = walker.rules, walker.engine
    units = np.unique(rules.blocks[clash])
    if len(units) > 2:
        return False
    leaving = np.concatenate([rules.units[u] for u in units])
    rest = np.setdiff1d(there, leaving, assume_unique=True)
    if len(rest) == 0:
        return False
    # A look at what it may bring, without a copy: the first of them is taken out, and put back.
    if len(items) == len(leaving) == 1 and walker.parking is None:
        before, other = walker.change, leaving[:1]
        change = walker.lift(other)
        state = walker.state
        mine, its = engine.costs(state, np.append(items, other))
        change += float(mine[state.labels[rest[0]]] - mine[state.labels[items[0]]])
        change += float(its.min() - its[state.labels[other[0]]])
        walker.bring(other, int(rest[0]))
        walker.change = before
        # What it gains from the place that becomes free is not in this sum, but is seldom more than that.
        free = float(its[state.labels[other[0]]] - its.min())
        if change - free > -engine.tolerance:
            return False

    def push(trial: Walker) -> None:
        for u in units:
            trial.lift(rules.units[u])
        trial.bring(items, int(rest[0]))
        trial.sweep(units)

    return _attempt(walker, push)


def _attempt(walker: Walker, action: Callable[[Walker], None]) -> bool:
    """Try something on a twin, and keep it if it is better and obeys."""
    trial = walker.twin()
    action(trial)
    if trial.change < walker.change - 8 * walker.engine.tolerance and trial.lawful():
        walker.take_over(trial)
        return True
    return False


# --- sizes and numbers ---


def fit(walker: Walker) -> bool:
    """Join or divide clusters until sizes and numbers are as asked for; return whether they are."""
    settings, n = walker.settings, walker.engine.n_items
    for _ in range(4 * n):
        small = _small(walker)
        if len(small) == 0:
            break
        if not _grow(walker, int(small[0])):
            if walker.parking is None:
                return False
            walker.leave(walker.members(int(small[0])))
    if walker.k > settings.most(n):
        walker.join(settings.most(n))
        while walker.parking is not None and walker.k > settings.most(n):
            # Those that can join no other stay out, the smallest first.
            labels = walker.labels
            walker.leave(np.flatnonzero(labels == np.bincount(labels[labels >= 0]).argmin()))
    while walker.k < settings.k_min:
        if not _divide(walker):
            return False
    return walker.lawful()


def _small(walker: Walker) -> IntArray:
    """Clusters with too few items, the smallest first."""
    k = int(walker.state.n_clusters[0])
    sizes = walker.state.sizes[:k].copy()
    sizes[walker.state.labels[walker.out]] = walker.engine.n_items
    small = np.flatnonzero(sizes < walker.rules.min_size)
    return small[np.argsort(sizes[small], kind="stable")]


def _grow(walker: Walker, a: int) -> bool:
    """Join a small cluster with another one, or fill it up from others, or let its units go elsewhere."""
    row = walker.join_row(a)
    if np.isfinite(row.min()):
        walker.change += float(row.min())
        walker.engine.join(walker.state, a, int(row.argmin()))
        return True
    mine = walker.members(a)
    for unit in walker.rng.permutation(len(walker.rules.units)).tolist():
        items = walker.rules.units[unit]
        elsewhere = walker.state.labels[items[0]] != a and not walker.out[items[0]]
        if elsewhere and walker.targets(items)[a] and walker.may_leave(items):
            walker.bring(items, int(mine[0]))
            return True
    for unit in np.unique(walker.rules.blocks[mine]).tolist():
        items = walker.rules.units[unit]
        found = walker.targets(items)[:-1]
        found[walker.state.labels[items[0]]] = False
        if not found.any():
            return False
        walker.bring(items, int(walker.members(int(walker.rng.choice(np.flatnonzero(found))))[0]))
    return True


def _divide(walker: Walker) -> bool:
    """Take a part of a cluster out of it, so that both are allowed."""
    low, blocks = walker.rules.min_size, walker.rules.blocks
    for start in walker.rng.permutation(len(walker.rules.units)).tolist():
        own = int(walker.state.labels[walker.rules.units[start][0]])
        whole = walker.members(own)
        if walker.out[whole[0]] or len(whole) < 2 * low:
            continue
        part = walker.rules.units[start]
        while len(part) < low or not walker.rules.may_leave(walker.state.labels, part, len(whole)):
            left = np.setdiff1d(whole, part)
            if walker.rules.graph is not None:
                left = np.intersect1d(left, walker.rules.near(part))
            if len(left) == 0:
                break
            part = np.concatenate([part, walker.rules.units[blocks[walker.rng.choice(left)]]])
        # It has grown from neighbor to neighbor; `fit` looks whether all of it is connected.
        if low <= len(part) <= len(whole) - low and walker.rules.may_leave(
            walker.state.labels, part, len(whole)
        ):
            walker.lift(part)
            return True
    return False
