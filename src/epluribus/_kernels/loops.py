"""Sweeps over the items and joins of clusters, written once for every execution and every loss.

A sweep visits items in order and moves each to its best cluster: Algorithm 1 of Rastelli & Friel (2018).
Started with items that are in no cluster yet, the same loop is sequential allocation.

Merging joins the two clusters that lower the loss most, again and again. Each cluster remembers its best
partner, so that no table of all pairs is kept. After a join only the row of the new cluster is computed. A
remembered partner that may be outdated is marked, and found again only when it would decide.

If f0 is linear this gives the same joins as computing all pairs every time: the change for two clusters
stays the same as long as both exist. A cluster whose partner is gone has no better partner left than the one
it lost, so what it remembers is a lower bound. If f0 is not linear, all changes shift a little with every
join, and what is remembered is an estimate.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import routine
from epluribus._kernels.engine import (
    apply,
    choose,
    cost_of,
    costs,
    exact,
    glance,
    join,
    join_changes,
    least_gap,
)
from epluribus._kernels.looks import may_skip, remember
from epluribus._kernels.reference import by_reference
from epluribus._typing import FloatArray, IntArray


@kernel
def sweep(
    e: Any,
    row: Any,
    order: IntArray,
    begin: int,
    k_min: int,
    k_max: int,
    thorough: bool,
    lazy: bool,
    stop: NDArray[np.uint8],
    n_moves: IntArray,  # OUT (1,), counted on
    change: FloatArray,  # OUT (1,), added to: the change of the total loss
) -> int:
    """Visit the items order[begin:] and put each into its best cluster; return the position reached.

    The sweep ends early when there is no room for one more cluster, or when `stop[0]` is set. Unless it is
    `thorough`, it may overlook moves if f0 is not linear, but it makes none that raises the loss. If it is
    `lazy`, it passes over items that certainly stay (`looks`): it makes the same moves in less time.
    """
    for position in range(begin, order.shape[0]):
        k = e.n_clusters[0]
        # Room for a new cluster is needed even if none opens: entry K of the row of costs belongs to it.
        if stop[0] or k >= e.sizes.shape[0]:
            return position
        i = order[position]
        own = e.labels[i]
        alone = own >= 0 and e.sizes[own] == 1
        if lazy and own >= 0 and may_skip(e.looks, i, own, alone):
            continue
        if alone and k <= k_min:  # its cluster must not close
            continue
        # Line 9 of Algorithm 1 tries all K_up clusters; the empty ones are all alike, so one is enough. An
        # item that is alone needs none: a new cluster would only rename its own.
        if thorough:
            costs(e, row, i)
        else:
            glance(e, row, i)
        best = choose(e, i, own, k < k_max and not alone)
        if best == own:
            if lazy:
                remember(e.looks, i, own, alone, least_gap(e, i, own, alone))
            continue
        if own >= 0:
            gained = cost_of(e, best) - cost_of(e, own)
            if row is not None:  # a glance may deceive
                gained = exact(e, row, i, best) - exact(e, row, i, own)
                if gained > -e.price.tolerance:
                    continue
            change[0] += gained
        apply(e, row, i, best)
        n_moves[0] += 1
    return order.shape[0]


@by_reference
class Partners(NamedTuple):
    """What is remembered while clusters are joined."""

    partner: IntArray
    """(K,) best partner of each cluster."""
    change: FloatArray
    """(K,) change of the total loss if the two are joined."""
    fresh: NDArray[np.uint8]
    """(K,) whether `partner` and `change` are what they would be if computed now."""


@routine
def _find_partner(e: Any, row: Any, partners: Partners, a: int) -> None:
    """Find the best partner of cluster a; afterwards `cost_of` reads the whole row of changes."""
    join_changes(e, row, a)
    # No item, no own cluster, no new cluster: the cluster with the lowest change.
    best = choose(e, -1, -1, False)
    partners.partner[a] = best
    partners.change[a] = cost_of(e, best)
    partners.fresh[a] = 1


@routine
def _refresh(e: Any, row: Any, partners: Partners, a: int, b: int) -> None:
    """Update the partners after b was joined into a and the last cluster was renamed b.

    The row of changes computed last must be that of a.
    """
    k = e.n_clusters[0]  # also the label that the last cluster had before the join
    for s in range(k):
        if s == a:
            continue
        lost = partners.partner[s] == a or partners.partner[s] == b
        if partners.partner[s] == k:  # the last cluster, which is called b now
            partners.partner[s] = b
        # Joining is symmetric: entry s in the row of a is also the change for s joined with a.
        change = cost_of(e, s)
        if change <= partners.change[s]:
            partners.change[s] = change
            partners.partner[s] = a
        # Only a lost partner can make a remembered change wrong, unless f0 mixes the sums of all clusters.
        elif lost or row is not None:
            partners.fresh[s] = 0


@kernel
def merge(
    e: Any,
    row: Any,
    active: NDArray[np.uint8],
    partners: Partners,  # IN and OUT
    k_min: int,
    k_max: int,
    stop: NDArray[np.uint8],
) -> None:
    """Join the best pair while the loss falls, or while there are more than k_max clusters.

    First the best partners of the `active` clusters are found. With `k_min` as large as the number of
    clusters, that is all.
    """
    if e.n_clusters[0] == 1:
        return
    for a in range(e.n_clusters[0]):
        if stop[0]:
            return
        if active[a] == 0:
            continue
        _find_partner(e, row, partners, a)
        # Joining is symmetric: the row of a also holds the changes for those without a row of their own.
        for s in range(e.n_clusters[0]):
            if active[s] == 0 and cost_of(e, s) < partners.change[s]:
                partners.change[s] = cost_of(e, s)
                partners.partner[s] = a
    while e.n_clusters[0] > k_min and not stop[0]:
        k = e.n_clusters[0]
        # The lowest remembered change. If f0 is linear, none is too high: where the lowest is fresh, it
        # belongs to the best pair of all.
        a = 0
        for s in range(1, k):
            if partners.change[s] < partners.change[a]:
                a = s
        if not partners.fresh[a]:
            _find_partner(e, row, partners, a)
            continue
        # Nothing lowers the loss any more. Too many clusters are joined at a loss all the same.
        if partners.change[a] > -e.price.tolerance and k <= k_max:
            return
        b = max(a, partners.partner[a])
        a = min(a, partners.partner[a])
        join(e, row, a, b)
        # The last cluster is called b now: what was remembered about it moves along.
        partners.partner[b] = partners.partner[k - 1]
        partners.change[b] = partners.change[k - 1]
        partners.fresh[b] = partners.fresh[k - 1]
        if k > 2:
            _find_partner(e, row, partners, a)
            _refresh(e, row, partners, a, b)


# --- the contract, for several items at a time ---


@kernel
def block_costs(
    e: Any,
    row: Any,
    items: IntArray,
    out: FloatArray,  # OUT (len(items), K + 1)
) -> None:
    """Cost of each cluster, and of a new one, for each of the items; nothing is moved."""
    for q in range(items.shape[0]):
        costs(e, row, items[q])
        for s in range(out.shape[1]):
            out[q, s] = cost_of(e, s)


@kernel
def exact_costs(
    e: Any,
    row: Any,
    items: IntArray,
    targets: IntArray,
    out: FloatArray,  # OUT (len(items),)
) -> None:
    """Cost of each item in its target, in double precision; nothing is moved."""
    for q in range(items.shape[0]):
        out[q] = exact(e, row, items[q], targets[q])


@kernel
def move_items(e: Any, row: Any, items: IntArray, targets: IntArray, begin: int) -> int:
    """Move the items from position `begin` on, in order; return the position reached.

    That is before the end if there was no room for one more cluster.
    """
    for q in range(begin, items.shape[0]):
        if e.n_clusters[0] >= e.sizes.shape[0]:
            return q
        if e.labels[items[q]] != targets[q]:
            apply(e, row, items[q], targets[q])
    return items.shape[0]


@kernel
def move_checked(
    e: Any,
    row: Any,
    items: IntArray,
    targets: IntArray,
    change: FloatArray,  # OUT (1,), added to: the change of the total loss
) -> int:
    """Move each item to its target if that still lowers the loss; return the number of moves.

    No item opens a cluster or closes one: targets stay what they are called.
    """
    n_moves = 0
    for q in range(items.shape[0]):
        i, s = items[q], targets[q]
        own = e.labels[i]
        if s >= e.n_clusters[0] or s == own or e.sizes[own] == 1:
            continue
        gained = exact(e, row, i, s) - exact(e, row, i, own)
        if gained < -e.price.tolerance:
            apply(e, row, i, s)
            change[0] += gained
            n_moves += 1
    return n_moves


@kernel
def row_of_joins(
    e: Any,
    row: Any,
    a: int,
    out: FloatArray,  # OUT (K,)
) -> None:
    """Change of the total loss if cluster a is joined with each other one; infinite for a itself."""
    join_changes(e, row, a)
    for s in range(out.shape[0]):
        out[s] = cost_of(e, s)


@kernel
def join_pair(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    join(e, row, a, b)
