"""Where a unit may go, and sweeps that obey: constraints and undecided items, for linear losses on tables.

A *unit* is a set of items that must be together, most often a single one: unit u is
``items[first[u]:first[u + 1]]``. Rules are lists in the same form. The groups of item i, of which no two items may
be together, are ``groups[group_first[i]:group_first[i + 1]]``; the items of group g are
``members[member_first[g]:member_first[g + 1]]``; the neighbors of item i in the graph are
``near[near_first[i]:near_first[i + 1]]``. Without a graph `near_first` is empty. These six arrays, in this order,
are `lists`. A label of -1 is an undecided item.
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._kernels.sweep import item_costs, move_items, used_slots


@kernel
def reach(i, labels, near_first, near, mark, queue):
    """The number of items of its cluster that a path in the graph within the cluster leads to from item i.

    `mark` (n_items,) zeros, `queue` (n_items,): WORK.
    """
    queue[0], mark[i], filled, at = i, 1, 1, 0
    while at < filled:
        j = queue[at]
        at += 1
        for q in range(near_first[j], near_first[j + 1]):
            if labels[near[q]] == labels[i] and mark[near[q]] == 0:
                queue[filled], mark[near[q]] = near[q], 1
                filled += 1
    for q in range(filled):
        mark[queue[q]] = 0
    return filled


@kernel
def find_open(unit, labels, sizes, lists, min_size, blocked, mark, queue):
    """blocked[s] = 0 where the items of one cluster may go, 1 elsewhere (OUT); whether they may leave theirs.

    They may join a cluster without an item of their groups that is connected with them; an empty slot if they can
    be a cluster by themselves. Those that stay must be connected, and `min_size` of them, or none.
    """
    group_first, groups, member_first, members, near_first, near = lists
    n, own, graph, begin = unit.shape[0], labels[unit[0]], near_first.shape[0] > 0, -1
    left = sizes[own] - n if own >= 0 else 0
    for i in unit:
        labels[i] = sizes.shape[0]  # a cluster by themselves
    alone = not graph or reach(unit[0], labels, near_first, near, mark, queue) == n
    for s in range(sizes.shape[0]):
        blocked[s] = graph if sizes[s] > 0 else n < min_size or not alone
    for i in unit[: n * graph]:
        for q in range(near_first[i], near_first[i + 1]):
            s = labels[near[q]]
            begin = near[q] if s == own else begin
            if s >= 0 and s < sizes.shape[0]:
                blocked[s] = 0
    for s in range(sizes.shape[0]):
        if (
            graph and n > 1 and blocked[s] == 0 and sizes[s] > 0
        ):  # they may not be connected without it
            for i in unit:
                labels[i] = s
            whole = left + n if s == own else sizes[s] + n
            blocked[s] = reach(unit[0], labels, near_first, near, mark, queue) < whole
    for i in unit:
        labels[i] = -1
    for i in unit:
        for q in range(group_first[i], group_first[i + 1]):
            for x in range(member_first[groups[q]], member_first[groups[q] + 1]):
                if labels[members[x]] >= 0:
                    blocked[labels[members[x]]] = 1
    leaves = left == 0 or left >= min_size
    if leaves and graph and left > 0 and begin >= 0:
        leaves = reach(begin, labels, near_first, near, mark, queue) == left
    for i in unit:
        labels[i] = own
    return leaves


@kernel
def count_decided(unit, sign, rows, weights, sum_steps, decided):
    """Count the items (1), or no longer (-1), in `decided` (OUT); the change of sum_r w_r f3(decided[r])."""
    change = 0.0
    for i in unit:
        for r in rows[i]:
            decided[r] -= sign < 0
            change += sign * weights[r] * sum_steps[decided[r]]
            decided[r] += sign > 0
    return change


@kernel
def unit_costs(unit, rows, weights, kinds, steps, counts, gains, single, costs):
    """costs[s] = sum_r w_r [f_r(n_rs + m_r) - f_r(n_rs)], with m_r of the items in group r (OUT); `single`: WORK."""
    if unit.shape[0] == 1:
        item_costs(unit[0], costs.shape[0], rows, gains, single, costs)
        return
    costs[:] = 0.0
    for y in range(unit.shape[0]):
        for t in range(rows.shape[1]):
            r, ahead = rows[unit[y], t], 0
            for z in range(y):
                ahead += rows[unit[z], t] == r
            for s in range(costs.shape[0]):
                costs[s] += weights[r] * steps[kinds[r], counts[r, s] + ahead]


@kernel
def sweep(
    order, first, items, rows, weights, kinds, steps, size_steps, size, margin, tolerance,
    k_min, k_max, stop, lists, min_size, price, sum_steps,
    labels, sizes, counts, gains, decided, costs, single, blocked, mark, queue,
):  # fmt: skip
    """Visit the units in `order`; each goes to the open cluster where it costs least, or stays out.

    As `sweep.sweep`, with its arrays. A unit costs sum_r w_r [f_r(n_rs + m_r) - f_r(n_rs)] + W [f2(n_s + m) - f2(n_s)]
    in cluster s, with m_r of its m items in group r; ``size[n]`` is W f2(n). Where items may stay undecided (a finite
    `price` of each), all clusters cost sum_r w_r [f3(n_r + m_r) - f3(n_r)] - price m more, with the differences of f3
    in `sum_steps` and n_r = ``decided[r]`` the decided items of group r; staying out costs nothing.
    `costs`, `single`, `blocked` (n_slots,), `mark` and `queue` (n_items,): WORK.
    Returns the numbers of units visited and of moves, and the change of the total loss.
    """
    moves, change, used = 0, 0.0, used_slots(sizes)[0]
    for x in range(order.shape[0]):
        unit = items[first[order[x]] : first[order[x] + 1]]
        n, own = unit.shape[0], labels[unit[0]]
        if used == sizes.shape[0] or stop[0] != 0:
            return x, moves, change
        whole = own >= 0 and sizes[own] == n
        leaves = find_open(unit, labels, sizes, lists, min_size, blocked, mark, queue)
        if not leaves or (whole and used <= k_min):
            continue
        used -= whole
        here = -move_items(
            unit, np.full(n, -1), rows, weights, kinds, steps, size_steps,
            labels, sizes, counts, gains,
        )  # fmt: skip
        enter, new = 0.0, whole
        if price < np.inf:
            if own < 0:
                count_decided(unit, 1, rows, weights, sum_steps, decided)
            enter = -count_decided(unit, -1, rows, weights, sum_steps, decided) - n * price
            here += enter * (own >= 0)
        unit_costs(unit, rows, weights, kinds, steps, counts, gains, single, costs)
        best, low = own, here + margin
        if price < np.inf and here - tolerance > 0:
            best, low = -1, 0.0
        for s in range(sizes.shape[0]):
            if sizes[s] == 0:  # one empty slot is as good as another one
                blocked[s] |= new or used >= k_max
                new |= blocked[s] == 0
            cost = costs[s] + size[sizes[s] + n] - size[sizes[s]] + enter
            if blocked[s] == 0 and s != own and cost < low:
                best, low = s, cost
        there = enter * (best >= 0) + move_items(
            unit, np.full(n, best), rows, weights, kinds, steps, size_steps,
            labels, sizes, counts, gains,
        )  # fmt: skip
        if best != own and there >= here - tolerance:  # it seemed better in single precision
            best = own
            move_items(
                unit, np.full(n, own), rows, weights, kinds, steps, size_steps,
                labels, sizes, counts, gains,
            )  # fmt: skip
        elif best != own:
            moves, change = moves + 1, change + there - here
        if best >= 0 and price < np.inf:
            count_decided(unit, 1, rows, weights, sum_steps, decided)
        used += best >= 0 and sizes[best] == n
    return order.shape[0], moves, change


@kernel
def divide(order, first, items, labels, lists, part, taken):
    """Each unit goes to the first part of its cluster that has no item of its groups: `part` (OUT; -1 before).

    ``taken`` (n_items + 1,) -1: WORK.
    """
    group_first, groups, member_first, members = lists[:4]
    for u in order:
        unit = items[first[u] : first[u + 1]]
        for i in unit:
            for q in range(group_first[i], group_first[i + 1]):
                for x in range(member_first[groups[q]], member_first[groups[q] + 1]):
                    j = members[x]
                    if part[j] >= 0 and labels[j] == labels[i]:
                        taken[part[j]] = u
        p = 0
        while taken[p] == u:
            p += 1
        for i in unit:
            part[i] = p
