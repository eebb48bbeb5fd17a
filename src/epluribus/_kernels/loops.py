"""Sweeps over the items and joins of clusters, written once for every execution and every loss.

A sweep visits items in order and moves each to its best cluster: Algorithm 1 of Rastelli & Friel (2018).
Started with items that are in no cluster yet, the same loop is sequential allocation.

Joining merges the two clusters that lower the loss most, again and again. Each cluster remembers its best
partner, so that no table of all pairs is kept. After a join only the row of the new cluster is computed. A
row that may have changed is marked, and computed anew only if it would decide. If f0 is linear this loses
nothing: a cluster whose partner is gone has no better partner left than the one it lost. If not, all rows
change a little with every join, and what is remembered is an estimate.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part
from epluribus._kernels.engine import apply, choose, cost_of, costs, exact, join, join_changes
from epluribus._typing import FloatArray, IntArray


@kernel
def sweep(
    e: Any,
    row: Any,
    order: IntArray,
    begin: int,
    k_min: int,
    k_max: int,
    stop: NDArray[np.uint8],
    n_moves: IntArray,  # OUT (1,), counted on
) -> int:
    """Visit the items order[begin:], each put into its best cluster; return where it ended.

    It ends early when there is no room for one more cluster, or when `stop[0]` is set.
    """
    for position in range(begin, order.shape[0]):
        k = e.n_clusters[0]
        if stop[0] or k >= e.sizes.shape[0]:
            return position
        # Line 9 of Algorithm 1 tries all K_up clusters; the empty ones are all alike, so one will do.
        i = order[position]
        own = e.labels[i]
        alone = own >= 0 and e.sizes[own] == 1
        if alone and k <= k_min:  # its cluster may not close
            continue
        costs(e, row, i)
        best = choose(e, i, own, k < k_max and not alone)
        if best != own:
            apply(e, row, i, best)
            n_moves[0] += 1
    return order.shape[0]


class Partners(NamedTuple):
    """What is remembered while clusters are joined."""

    partner: IntArray
    """(K,) best partner of each cluster."""
    change: FloatArray
    """(K,) change of the total loss if they are joined."""
    fresh: NDArray[np.uint8]
    """(K,) whether `partner` and `change` are as they would be computed now."""


@part
def _find_partner(e: Any, row: Any, partners: Partners, a: int) -> None:
    """Find the best partner of cluster a; the whole row of changes stays where `cost_of` reads it."""
    join_changes(e, row, a)
    best = choose(e, -1, -1, False)
    partners.partner[a] = best
    partners.change[a] = cost_of(e, best)
    partners.fresh[a] = 1


@kernel
def _refresh(e: Any, row: Any, partners: Partners, a: int, b: int) -> None:
    """Mend the partners after b was joined into a, whose row is the last one, and the last became b."""
    k = e.n_clusters[0]
    for s in range(k):
        if s == a:
            continue
        lost = partners.partner[s] == a or partners.partner[s] == b
        if partners.partner[s] == k:  # the last cluster, which is called b now
            partners.partner[s] = b
        # Joining is symmetric: the row of a holds the change for s with a.
        change = cost_of(e, s)
        if change <= partners.change[s]:
            partners.change[s] = change
            partners.partner[s] = a
        elif lost or row is not None:
            partners.fresh[s] = 0


@kernel
def merge(
    e: Any,
    row: Any,
    partners: Partners,  # WORK
    k_min: int,
    k_max: int,
    stop: NDArray[np.uint8],
) -> None:
    """Join the best pair while the loss falls, or while there are more than k_max clusters."""
    if e.n_clusters[0] == 1:
        return
    for a in range(e.n_clusters[0]):
        if stop[0]:
            return
        _find_partner(e, row, partners, a)
    # What is remembered is never too high if f0 is linear: the lowest that is fresh is the best pair.
    while e.n_clusters[0] > k_min and not stop[0]:
        k = e.n_clusters[0]
        a = 0
        for s in range(1, k):
            if partners.change[s] < partners.change[a]:
                a = s
        if not partners.fresh[a]:
            _find_partner(e, row, partners, a)
            continue
        if partners.change[a] > -e.price.tolerance and k <= k_max:
            return
        b = max(a, partners.partner[a])
        a = min(a, partners.partner[a])
        join(e, row, a, b)
        # The last cluster is b now, and what was remembered of it moves along.
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
    """Cost of each cluster, and of a new one, for each of the items, nothing moved."""
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
    """Cost of each item in its target, in double precision, nothing moved."""
    for q in range(items.shape[0]):
        out[q] = exact(e, row, items[q], targets[q])


@kernel
def move_items(e: Any, row: Any, items: IntArray, targets: IntArray, begin: int) -> int:
    """Move the items from `begin` on, in order; return where there was no room for one more cluster."""
    for q in range(begin, items.shape[0]):
        if e.n_clusters[0] >= e.sizes.shape[0]:
            return q
        if e.labels[items[q]] != targets[q]:
            apply(e, row, items[q], targets[q])
    return items.shape[0]


@kernel
def row_of_joins(
    e: Any,
    row: Any,
    a: int,
    out: FloatArray,  # OUT (K,)
) -> None:
    """Change of the total loss if cluster a is joined with each other; infinite for itself."""
    join_changes(e, row, a)
    for s in range(out.shape[0]):
        out[s] = cost_of(e, s)


@kernel
def join_pair(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    join(e, row, a, b)
