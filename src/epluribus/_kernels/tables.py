"""Linear losses on contingency tables: sweeps (Algorithm 1 of Rastelli & Friel 2018), and joins of clusters.

The groups of all draws are numbered through: ``rows[i, t]`` is the group of item i in column t. A partition is
`labels`, `sizes`, and ``counts[r, s]``, the items of group r in cluster s. With a weight w_r for each group the
total loss is, up to a constant,

    sum_r w_r sum_s f_r(counts[r, s])  +  W sum_s f2(sizes[s])

where f_r is one of the two functions in `f` (`kind` says which), and W is the total weight. ``steps[q, n]`` is
f_q(n + 1) - f_q(n), and ``gains[r, s]`` is w_r times the step of that cell, in single precision. Putting item i
into cluster s thus costs sum_t gains[rows[i, t], s] + W (f2(n_s + 1) - f2(n_s)). Who wants to move by this sum is
looked at again in double precision, from the counts. All groups of a column have one weight and one function, which
what looks at one item takes from there; groups from number `n_seen` on are of missing labels, and count for nothing.

Joining clusters a and b changes the total loss by

    sum_r w_r [f_r(n_ra + n_rb) - f_r(n_ra) - f_r(n_rb)]  +  W [f2(n_a + n_b) - f2(n_a) - f2(n_b)]

Only cells in use count, since f_r(0) = 0. The change for two clusters depends on these two alone.

Clusters have slots 0..width-1; a slot without items is an empty cluster, which costs what a new one costs.
"""

import numpy as np

from epluribus._kernels.jit import kernel

BLOCK = 32
"""Draws that are added up before the next item: their gains stay in the cache."""


# --- counts, and moves of items ---


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


@kernel
def add_costs(table, first, labels, gains, own_gains, costs):
    """costs[i, s] += sum_t gains[r_it, s] (OUT); for the cluster of item i itself the sum of `own_gains`.

    `table` has the labels of the items in the draws, (n_items, n_draws), and r_it = first[t] + table[i, t]. An item
    with a label of -1 is in no cluster. The last line of `gains` is 0: it fills up the last eight draws.
    """
    n_draws, width, n_items = table.shape[1], np.uint64(gains.shape[1]), np.uint64(table.shape[0])
    at = np.empty(BLOCK, dtype=np.uint64)
    for begin in range(0, n_draws, BLOCK):
        n = min(BLOCK, n_draws - begin)
        at[n:] = gains.shape[0] - 1
        for i in range(n_items):
            for t in range(n):
                at[t] = first[begin + t] + table[i, begin + t]
            for t in range(0, n, 8):
                a, b, c, d = at[t], at[t + 1], at[t + 2], at[t + 3]
                e, f, g, h = at[t + 4], at[t + 5], at[t + 6], at[t + 7]
                for s in range(width):
                    costs[i, s] += ((gains[a, s] + gains[b, s]) + (gains[c, s] + gains[d, s])) + (
                        (gains[e, s] + gains[f, s]) + (gains[g, s] + gains[h, s])
                    )
            if labels[i] >= 0:
                own = np.uint64(labels[i])
                for t in range(n):
                    costs[i, own] += own_gains[at[t], own] - gains[at[t], own]


# --- joins of clusters ---


@kernel
def all_joins(counts, weights, kinds, f, size, sizes, used, changes):
    """changes[a, b] for every two of the clusters (OUT), infinite for a = b and for empty ones.

    ``size[n]`` is W f2(n).
    `used` is scratch: the clusters with items in a group.
    """
    k = sizes.shape[0]
    for a in range(k):
        for b in range(k):
            changes[a, b] = 0.0
    for r in range(counts.shape[0]):
        w, kind, n_used = weights[r], kinds[r], 0
        for s in range(k):
            used[n_used] = s
            n_used += counts[r, s] > 0
        for x in range(1, n_used):
            a = used[x]
            n = counts[r, a]
            own = f[kind, n]
            for y in range(x):
                m = counts[r, used[y]]
                changes[a, used[y]] += w * (f[kind, n + m] - own - f[kind, m])
    for a in range(k):
        changes[a, a] = np.inf
        for b in range(a):
            if sizes[a] == 0 or sizes[b] == 0:
                changes[a, b] = np.inf
            changes[a, b] += size[sizes[a] + sizes[b]] - size[sizes[a]] - size[sizes[b]]
            changes[b, a] = changes[a, b]


@kernel
def join_row(a, counts, weights, kinds, f, size, sizes, row):
    """row[b] = change if clusters a and b are joined (OUT); infinite for a itself and for empty ones."""
    k = sizes.shape[0]
    for b in range(k):
        row[b] = 0.0
    for r in range(counts.shape[0]):
        n = counts[r, a]
        if n == 0:
            continue
        w, kind, own = weights[r], kinds[r], f[kinds[r], n]
        for b in range(k):
            m = counts[r, b]
            if m > 0 and b != a:
                row[b] += w * (f[kind, n + m] - own - f[kind, m])
    for b in range(k):
        if b == a or sizes[b] == 0:
            row[b] = np.inf
        else:
            row[b] += size[sizes[a] + sizes[b]] - size[sizes[a]] - size[sizes[b]]
