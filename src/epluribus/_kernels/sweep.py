"""Sweeps of a linear loss on contingency tables: Algorithm 1 of Rastelli & Friel (2018), one pass at a time.

The groups of all draws are numbered through: ``rows[i, t]`` is the group of item i in column t. A partition is
`labels`, `sizes`, and ``counts[r, s]``, the items of group r in cluster s. With a weight w_r for each group the
total loss is, up to a constant,

    sum_r w_r sum_s f_r(counts[r, s])  +  W sum_s f2(sizes[s])

where f_r is one of the two functions in `f` (`kind` says which), and W is the total weight. ``steps[q, n]`` is
f_q(n + 1) - f_q(n), and ``gains[r, s]`` is w_r times the step of that cell, in single precision. Putting item i
into cluster s thus costs sum_t gains[rows[i, t], s] + W (f2(n_s + 1) - f2(n_s)). Who wants to move by this sum is
looked at again in double precision, from the counts. All groups of a column have one weight and one function, which
what looks at one item takes from there; groups from number `n_seen` on are of missing labels, and count for nothing.

Clusters have slots 0..width-1; a slot without items is an empty cluster, which costs what a new one costs.
"""

import numpy as np

from epluribus._kernels.jit import kernel


@kernel
def count_cells(rows, labels, counts, each):
    """Add `each` of the items to the counts (OUT): items with a label of -1 are in no cluster."""
    for i in range(rows.shape[0]):
        s = labels[i]
        if s >= 0:
            for t in range(rows.shape[1]):
                counts[rows[i, t], s] += each


@kernel
def fill_gains(counts, weights, kinds, steps, gains):
    """gains[r, s] = w_r (f_r(n + 1) - f_r(n)) for the n items of each cell (OUT)."""
    for r in range(counts.shape[0]):
        w, kind = weights[r], kinds[r]
        for s in range(counts.shape[1]):
            gains[r, s] = w * steps[kind, counts[r, s]]


@kernel
def cell_sum(counts, weights, kinds, f):
    """sum_r w_r sum_s f_r(counts[r, s])."""
    total = 0.0
    for r in range(counts.shape[0]):
        line, kind = 0.0, kinds[r]
        for s in range(counts.shape[1]):
            line += f[kind, counts[r, s]]
        total += weights[r] * line
    return total


@kernel
def move_item(
    i, own, target, rows, weights, kinds, n_seen, steps, labels, sizes, counts, gains, joint
):
    """Move item i from slot `own` to slot `target` (-1: nowhere): two cells of each of its groups change.

    ``joint[t]``, the sum of f over the cells of column t, follows (OUT): losses with an f0 need it. Returns the change
    of the total loss, without what depends on the sizes.
    """
    change = 0.0
    for t in range(rows.shape[1]):
        r = rows[i, t]
        w = weights[t] if r < n_seen else 0.0
        if own >= 0:
            counts[r, own] -= 1
            step = steps[kinds[t], counts[r, own]]
            joint[t] -= step
            change -= w * step
            gains[r, own] = w * step
        if target >= 0:
            step = steps[kinds[t], counts[r, target]]
            joint[t] += step
            change += w * step
            counts[r, target] += 1
            gains[r, target] = w * steps[kinds[t], counts[r, target]]
    if own >= 0:
        sizes[own] -= 1
    if target >= 0:
        sizes[target] += 1
    labels[i] = target
    return change


@kernel
def move_items(
    items, targets, rows, weights, kinds, n_seen, steps, size_steps,
    labels, sizes, counts, gains, joint,
):  # fmt: skip
    """Move items to slots, one by one; returns the change of the total loss."""
    change = 0.0
    for x in range(items.shape[0]):
        i, target = items[x], targets[x]
        own = labels[i]
        if own != target:
            if own >= 0:
                change -= size_steps[sizes[own] - 1]
            if target >= 0:
                change += size_steps[sizes[target]]
            change += move_item(
                i, own, target, rows, weights, kinds, n_seen, steps, labels, sizes, counts, gains,
                joint,
            )  # fmt: skip
    return change


@kernel
def item_costs(i, width, rows, gains, single, costs):
    """costs[s] = sum_t gains[rows[i, t], s] for the slots s < width (OUT); `single` is scratch.

    Eight lines are added at a time, and the sums are handed over to double precision every 64 of them: the
    relative error is then below 2e-6.
    """
    n = rows.shape[1]
    # Unsigned: a check for negative positions would keep the inner loop from being vectorized. Whole vectors of eight
    # slots take less time than what is left of them; the number of all slots is a multiple of eight.
    item, end = np.uint64(i), np.uint64((width + 7) // 8 * 8)
    for s in range(end):
        single[s] = 0.0
        costs[s] = 0.0
    t = 0
    while t + 8 <= n:
        a, b = np.uint64(rows[item, t]), np.uint64(rows[item, t + 1])
        c, d = np.uint64(rows[item, t + 2]), np.uint64(rows[item, t + 3])
        e, f = np.uint64(rows[item, t + 4]), np.uint64(rows[item, t + 5])
        g, h = np.uint64(rows[item, t + 6]), np.uint64(rows[item, t + 7])
        for s in range(end):
            single[s] += ((gains[a, s] + gains[b, s]) + (gains[c, s] + gains[d, s])) + (
                (gains[e, s] + gains[f, s]) + (gains[g, s] + gains[h, s])
            )
        t += 8
        if t & 63 == 0:
            for s in range(end):
                costs[s] += single[s]
                single[s] = 0.0
    while t < n:
        a = np.uint64(rows[item, t])
        for s in range(end):
            single[s] += gains[a, s]
        t += 1
    for s in range(end):
        costs[s] += single[s]


@kernel
def exact_cost(i, s, rows, weights, kinds, n_seen, steps, labels, counts):
    """The sum of `item_costs` for one slot in double precision, with the item itself not counted."""
    total, inside = 0.0, np.uint64(labels[i] == s)
    item, slot = np.uint64(i), np.uint64(s)  # unsigned, as above
    for t in range(np.uint64(rows.shape[1])):
        r = np.uint64(rows[item, t])
        if r < n_seen:
            total += weights[t] * steps[np.uint64(kinds[t]), np.uint64(counts[r, slot]) - inside]
    return total


@kernel
def used_slots(sizes):
    """The number of slots in use, and the number up to the last one of these."""
    used, top = 0, 0
    for s in range(sizes.shape[0]):
        if sizes[s] > 0:
            used, top = used + 1, s + 1
    return used, top


@kernel
def sweep(
    order, rows, weights, kinds, n_seen, steps, size_steps, margin, tolerance, k_min, k_max, stop,
    blocked, labels, sizes, counts, gains, joint, costs, single, gap, second,
):  # fmt: skip
    """Visit the items in `order`; each goes to the cluster where it costs least, perhaps a new one.

    It stays unless that lowers the loss by more than `tolerance`; `margin` bounds the error of single precision.
    ``size_steps[n]`` is W (f2(n + 1) - f2(n)). Clusters with ``blocked[s]`` take no item; `costs` and
    `single` are WORK. ``second[i]`` is the best slot other than its own for each item visited, -1 for none, and
    ``gap[i]`` how much more it costs (OUT). Returns the number of items visited, of moves, and the change of the total
    loss. It returns early if there is no empty slot left, or if ``stop[0]`` is set.
    """
    moves, change = 0, 0.0
    used, top = used_slots(sizes)
    for x in range(order.shape[0]):
        i = order[x]
        own, end = labels[i], min(top + 1, sizes.shape[0])
        if used == sizes.shape[0] or stop[0] != 0:
            return x, moves, change
        alone = own >= 0 and sizes[own] == 1
        gap[i] = np.inf
        if alone and used <= k_min:
            continue
        item_costs(i, end, rows, gains, single, costs)
        here = np.inf
        if own >= 0:
            here = exact_cost(i, own, rows, weights, kinds, n_seen, steps, labels, counts)
            here += size_steps[sizes[own] - 1]
        best, low, new = -1, np.inf, end
        for s in range(end):
            if sizes[s] == 0:
                new = min(new, s)
            elif s != own and costs[s] + size_steps[sizes[s]] < low and blocked[s] == 0:
                best, low = s, costs[s] + size_steps[sizes[s]]
        if used < k_max and not alone and costs[new] + size_steps[0] < low:
            best, low = new, costs[new] + size_steps[0]
        gap[i], second[i] = low - here, best
        if best < 0 or low >= here + margin:
            continue
        there = exact_cost(i, best, rows, weights, kinds, n_seen, steps, labels, counts)
        there += size_steps[sizes[best]]
        if there >= here - tolerance:
            continue
        if own >= 0:  # an item from nowhere has no cost before
            change += there - here
        used += (sizes[best] == 0) - int(alone)
        move_item(
            i, own, best, rows, weights, kinds, n_seen, steps, labels, sizes, counts, gains, joint
        )
        moves += 1
        top = max(top, best + 1)
        while top > 0 and sizes[top - 1] == 0:
            top -= 1
    return order.shape[0], moves, change
