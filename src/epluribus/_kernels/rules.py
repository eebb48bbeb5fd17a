"""Where a unit may go, and sweeps that obey: constraints and undecided items, for linear losses on tables.

A *unit* is a set of items that must be together, most often a single one: unit u is
``items[first[u]:first[u + 1]]``.

Rules are lists. The groups of item i, of which no two items may be together, are
``groups[group_first[i]:group_first[i + 1]]``; the items of group g are
``members[member_first[g]:member_first[g + 1]]``; the neighbors of item i in the graph are
``near[near_first[i]:near_first[i + 1]]``. Without a graph `near_first` is empty. These six arrays, in this order,
are `lists`. A label of -1 is an undecided item.
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._kernels.tables import exact_cost, item_costs, join_row, move_items, used_slots
from epluribus._kernels.tables import sweep as tables_sweep


@kernel
def reach(i, a, b, labels, near_first, near, mark, queue):
    """The number of items that a path in the graph within the clusters a and b leads to from item i.

    `mark` (n_items,) zeros, `queue` (n_items,): WORK.
    """
    queue[0], mark[i], filled, at = i, 1, 1, 0
    while at < filled:
        j = queue[at]
        at += 1
        for q in range(near_first[j], near_first[j + 1]):
            s = labels[near[q]]
            if mark[near[q]] == 0 and s in (a, b):
                queue[filled], mark[near[q]] = near[q], 1
                filled += 1
    for q in range(filled):
        mark[queue[q]] = 0
    return filled


@kernel
def find_open(items, labels, sizes, lists, min_size, blocked, mark, queue):
    """blocked[s] = 0 where the items of one cluster may go, 1 elsewhere (OUT); whether they may leave theirs.

    They may join a cluster without an item of their groups that is connected with them; an empty slot if they can
    be a cluster by themselves. Those that stay must be connected, and `min_size` of them, or none.
    """
    group_first, groups, member_first, members, near_first, near = lists
    n, own, apart = items.shape[0], labels[items[0]], sizes.shape[0]
    graph, left = near_first.shape[0] > 0, sizes[own] - n if own >= 0 else 0
    leaves = left == 0 or left >= min_size
    for i in items:
        labels[i] = apart  # a cluster by themselves
    alone = n >= min_size
    if graph and n > 1:
        alone = alone and reach(items[0], apart, apart, labels, near_first, near, mark, queue) == n
    for s in range(sizes.shape[0]):
        blocked[s] = graph if sizes[s] > 0 else not alone
    for i in items[: n * graph]:
        for q in range(near_first[i], near_first[i + 1]):
            s = labels[near[q]]
            if s >= 0 and s != apart and blocked[s]:
                # A single item is connected to the whole cluster, several may not be.
                others = left if s == own else sizes[s]
                seen = reach(i, s, apart, labels, near_first, near, mark, queue) if n > 1 else 0
                blocked[s] = n > 1 and seen < n + others
                if s == own and leaves:
                    leaves = reach(near[q], s, s, labels, near_first, near, mark, queue) == left
    for i in items:
        for q in range(group_first[i], group_first[i + 1]):
            for x in range(member_first[groups[q]], member_first[groups[q] + 1]):
                s = labels[members[x]]
                if s >= 0 and s != apart:
                    blocked[s] = 1
    for i in items:
        labels[i] = own
    return leaves


@kernel
def count_decided(items, sign, rows, weights, sum_steps, decided):
    """Count the items (1), or no longer (-1), in `decided` (OUT); the change of sum_r w_r f3(decided[r]).

    There are no missing labels, so that each column is a draw.
    """
    change = 0.0
    for i in items:
        for t in range(rows.shape[1]):
            r = rows[i, t]
            decided[r] -= sign < 0
            change += sign * weights[t] * sum_steps[decided[r]]
            decided[r] += sign > 0
    return change


@kernel
def bring(items, slot, price, known, sum_steps, now, decided):
    """Bring the items of one cluster to a slot, or out (-1); the change of the total loss, with their price."""
    rows, weights, was, change = known[0], known[1], now[0][items[0]], 0.0
    if price < np.inf and (was < 0) != (slot < 0):
        sign = 1 if was < 0 else -1
        change = count_decided(items, sign, rows, weights, sum_steps, decided)
        change -= sign * items.shape[0] * price
    return change + move_items(items, np.full(items.shape[0], slot), *known, *now)


@kernel
def sweep(
    order, first, items, known, groups, f, size, margin, tolerance, k_min, k_max, stop, lists,
    min_size, price, sum_steps, now, decided, gap, second,
):  # fmt: skip
    """Visit the units in `order`; each goes to the open cluster where it costs least, or stays out.

    The arrays are those of `tables.sweep`: `known` are rows, weights, kinds, n_seen, steps and size_steps; `groups` are
    weights and kinds of groups; `now` are labels, sizes, counts, gains and joint. A single item that must be placed is
    left to `tables.sweep`. Each other unit is made a cluster first.
    A single item then costs in cluster s what it costs there and not alone; several cost what it changes to join them
    with s (`tables.py`). Where items may stay undecided (a finite `price` of each), leaving them out changes
    sum_r w_r f3(n_r) as well, with n_r = ``decided[r]`` the decided items of group r, and the differences of f3 in
    `sum_steps`.
    Returns the numbers of units visited and of moves, and the change of the total loss.
    """
    rows, weights, kinds, n_seen, steps, size_steps = known
    labels, sizes, counts, gains, joint = now
    moves, change, used, k = 0, 0.0, used_slots(sizes)[0], sizes.shape[0]
    costs, single, blocked = np.empty(k), np.empty(k, np.float32), np.empty(k, np.uint8)
    mark, queue = np.zeros(labels.shape[0], np.uint8), np.empty(labels.shape[0], np.int64)
    for x in range(order.shape[0]):
        unit = items[first[order[x]] : first[order[x] + 1]]
        n, own = unit.shape[0], labels[unit[0]]
        if used == k or stop[0] != 0:
            return x, moves, change
        whole = own >= 0 and sizes[own] == n
        leaves = find_open(unit, labels, sizes, lists, min_size, blocked, mark, queue)
        if not leaves or (whole and used <= k_min):
            continue
        alone = own if whole else np.argmin(sizes)
        if n == 1 and price == np.inf:
            most = used + int(used < k_max and not blocked[alone])
            _, moved, by = tables_sweep(
                unit, rows, weights, kinds, n_seen, steps, size_steps, margin, tolerance, k_min, most, stop,
                blocked, labels, sizes, counts, gains, joint, costs, single, gap, second,
            )  # fmt: skip
            used, moves, change = used_slots(sizes)[0], moves + moved, change + by
            continue
        used -= whole
        here = bring(unit, alone, price, known, sum_steps, now, decided)
        if n > 1:
            join_row(alone, counts, groups[0], groups[1], f, size, sizes, costs)
        else:
            item_costs(unit[0], k, rows, gains, single, costs)
            apart = exact_cost(unit[0], alone, rows, weights, kinds, n_seen, steps, labels, counts)
            for s in range(k):
                costs[s] += size_steps[sizes[s]] - apart - size_steps[0]
        costs[alone], blocked[alone] = 0.0, not whole and (blocked[alone] or used >= k_max)
        best, low = own, margin - here
        for s in range(k):
            if blocked[s] == 0 and sizes[s] > 0 and s != own and costs[s] < low:
                best, low = s, costs[s]
        there = here
        if price < np.inf:
            out = bring(unit, -1, price, known, sum_steps, now, decided)
            best = -1 if out < min(low, -here - tolerance) else best
            there += out
        there += bring(unit, best, price, known, sum_steps, now, decided)
        if best != own and there >= -tolerance:  # it seemed better in single precision
            best = own
            bring(unit, own, price, known, sum_steps, now, decided)
        elif best != own:
            moves, change = moves + 1, change + there
        used += best >= 0 and sizes[best] == n
    return order.shape[0], moves, change
