"""Sweeps and joins for losses that are sums over pairs of items, such as Binder's: draws enter once.

With P_ij the weight of the draws that have i and j together, in units (0 for i = j), and ``sums[s, i]`` the sum of
P_ij over the items j of cluster s, item i in cluster s costs ``base * n_s + unit * sums[s, i]``, itself not counted
in n_s. A look takes time O(K), a move O(n_items). Sums of whole units are exact.

An item that may also be alone, at a cost of 0, joins only clusters with an item that it is better off with. If these
*friends* are few, their lists lead to all clusters that matter, however many there are.
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._typing import AnyArray, FloatArray, IntArray


@kernel
def list_friends(
    together: AnyArray, base: float, unit: float, first: IntArray, friends: AnyArray
) -> None:
    """friends[first[i]] to friends[first[i + 1] - 1] are those with which item i costs less than 0 (OUT).

    The lists end where `friends` does: with a length of 0 they are only counted, in `first`.
    """
    n = 0
    for i in range(together.shape[0]):
        first[i] = n
        for j in range(together.shape[0]):
            if i != j and base + unit * together[i, j] < 0.0:
                if n < friends.shape[0]:
                    friends[n] = j
                n += 1
    first[together.shape[0]] = n


@kernel
def add_item(i: int, s: int, together: AnyArray, sums: AnyArray) -> None:
    """Add an item to the sums of a cluster (OUT)."""
    row, out = together[i], sums[s]
    for j in range(row.shape[0]):
        out[j] += row[j]


@kernel
def take_item(i: int, s: int, together: AnyArray, sums: AnyArray) -> None:
    """Subtract an item from the sums of a cluster (OUT)."""
    row, out = together[i], sums[s]
    for j in range(row.shape[0]):
        out[j] -= row[j]


@kernel
def fill_sums(together: AnyArray, labels: IntArray, sums: AnyArray) -> None:
    """Add all items to the sums of their clusters (OUT)."""
    for i in range(labels.shape[0]):
        if labels[i] >= 0:
            add_item(i, labels[i], together, sums)


@kernel
def move_items(
    items: IntArray, targets: IntArray, together: AnyArray, base: float, unit: float, own_cost: float,
    labels: IntArray, sizes: IntArray, sums: AnyArray,
) -> float:  # fmt: skip
    """Move items to slots, one by one; the change. `own_cost` counts for items from nowhere."""
    change = 0.0
    for x in range(items.shape[0]):
        i, target = items[x], targets[x]
        own = labels[i]
        if own == target:
            continue
        if own >= 0:
            change -= base * (sizes[own] - 1) + unit * sums[own, i]
            sizes[own] -= 1
            take_item(i, own, together, sums)
        else:
            change += own_cost
        change += base * sizes[target] + unit * sums[target, i]
        sizes[target] += 1
        add_item(i, target, together, sums)
        labels[i] = target
    return change


@kernel
def sweep(
    order: IntArray, together: AnyArray, base: float, unit: float, first: IntArray, friends: AnyArray,
    tolerance: float, k_min: int, k_max: int, stop: AnyArray, blocked: AnyArray,
    labels: IntArray, sizes: IntArray, sums: AnyArray,
) -> tuple[int, int, float]:  # fmt: skip
    """Visit the items in `order`, as `sweep.sweep` does; the number visited, of moves, and the change.

    Without lists of friends `first` has no entries for items.
    """
    moves, change, used, top, new = 0, 0.0, 0, sizes.shape[0], 0
    for s in range(top):
        used += sizes[s] > 0
    for x in range(order.shape[0]):
        i = order[x]
        own = labels[i]
        if used == top or stop[0] != 0:
            return x, moves, change
        while sizes[new] > 0:
            new = new + 1 if new + 1 < top else 0
        alone = own >= 0 and sizes[own] == 1
        if alone and used <= k_min:
            continue
        here, low, best = np.inf, np.inf, -1
        if own >= 0:
            here = base * (sizes[own] - 1) + unit * sums[own, i]
            low = here
        opens = used < k_max and not alone
        begin, end, listed = 0, top, False
        if first.shape[0] > 1 and (opens or alone) and first[i + 1] - first[i] < top:
            begin, end, listed = first[i], first[i + 1], True
        for q in range(begin, end):
            s = labels[friends[q]] if listed else q
            if s >= 0 and s != own and sizes[s] > 0 and blocked[s] == 0:
                cost = base * sizes[s] + unit * sums[s, i]
                if cost < low or (cost == low and s < best):
                    best, low = s, cost
        if opens and low > 0.0:
            best, low = new, 0.0
        if best < 0 or low >= here - tolerance:
            continue
        if own >= 0:
            change += low - here
            sizes[own] -= 1
            take_item(i, own, together, sums)
        used += int(sizes[best] == 0) - int(alone)
        sizes[best] += 1
        add_item(i, best, together, sums)
        labels[i] = best
        moves += 1
    return order.shape[0], moves, change


@kernel
def all_joins(
    base: float, unit: float, labels: IntArray, sizes: IntArray, sums: AnyArray, changes: FloatArray
) -> None:
    """changes[a, b] for every two of the slots (OUT), infinite for a = b and for empty ones."""
    k = changes.shape[0]
    for a in range(k):
        for b in range(k):
            changes[a, b] = base * sizes[a] * sizes[b]
        if sizes[a] > 0:
            for i in range(labels.shape[0]):
                if labels[i] >= 0:
                    changes[a, labels[i]] += unit * sums[a, i]
        for b in range(k):
            if a == b or sizes[a] == 0 or sizes[b] == 0:
                changes[a, b] = np.inf


@kernel
def least_entry(s: int, changes: FloatArray) -> int:
    """Where row s has its least entry."""
    at = 0
    for b in range(changes.shape[0]):
        if changes[s, b] < changes[s, at]:
            at = b
    return at


@kernel
def merge(
    tolerance: float, k_min: int, k_max: int, stop: AnyArray, sizes: IntArray, changes: FloatArray,
    partner: IntArray, into: IntArray,
) -> float:  # fmt: skip
    """Join the best pair while that helps or there are too many; the change.

    Changes `sizes`; ``into[s]`` is where slot s is now (OUT). Changes add up: joining a and b with s costs
    changes[a, s] + changes[b, s]. `partner` is scratch: the best partner of each slot.
    """
    k, left, total = changes.shape[0], 0, 0.0
    for s in range(k):
        into[s] = s
        partner[s] = least_entry(s, changes)
        left += sizes[s] > 0
    while left > k_min and stop[0] == 0:
        a = 0
        for s in range(k):
            if changes[s, partner[s]] < changes[a, partner[a]]:
                a = s
        b = partner[a]
        least = changes[a, b]
        if not (least < -tolerance or (left > k_max and least < np.inf)):
            break
        total += least
        left -= 1
        sizes[a] += sizes[b]
        sizes[b] = 0
        for s in range(k):
            if into[s] == b:
                into[s] = a
            changes[a, s] += changes[b, s]
            changes[s, a] = changes[a, s]
            changes[s, b] = np.inf
            changes[b, s] = np.inf
        for s in range(k):
            if sizes[s] > 0:
                if s == a or partner[s] == a or partner[s] == b:
                    partner[s] = least_entry(s, changes)
                elif changes[s, a] < changes[s, partner[s]]:
                    partner[s] = a
    return total
