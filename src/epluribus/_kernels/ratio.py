"""Losses whose f0 is not linear, on contingency tables: sweeps, moves and joins.

With the sums J_t of f1 over the cells of draw t, A of f2 over the clusters, and Z_t of f3 over the groups of the
draw, the total loss is sum_t w_t f0(J_t, A, Z_t, N). An item that goes from nowhere to cluster s adds
f1(n + 1) - f1(n) to J_t, for the n items in the cell of its group and s, and f2(n_s + 1) - f2(n_s) to A.

The f0 of the built-in losses are told apart by a number, so that one compiled kernel serves all of them and is kept
on disk. The f0 of a user is passed as a compiled function, which is called by its address.
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._kernels.sweep import item_costs as linear_costs
from epluribus._kernels.sweep import used_slots

NVI, NID, ID, OMARI, ZERO_ONE, OWN = range(6)
"""Numbers of the built-in losses, and of a user's own."""
_NO_ENTROPY = 1e-12
"""An entropy below this share of log2 N counts as zero (`losses.information`)."""


@kernel
def f0_value(code, own, joint, size, group, n):
    """The value of f0; `losses.information` and `losses.pairs` have the formulas."""
    if code == ID:
        return (max(size, group) - joint) / n
    if code <= NID:
        most = n * np.log2(n)
        if code == NVI:
            entropy, above = most - joint, size + group - 2.0 * joint
        else:
            entropy, above = most - min(size, group), max(size, group) - joint
        return above / entropy if entropy > _NO_ENTROPY * most else 0.0
    if code == OMARI:
        pairs = n * (n - 1.0) / 2.0
        if pairs == 0.0:
            return 0.0
        expected = size * group / pairs
        room = (size + group) / 2.0 - expected
        return 1.0 - (joint - expected) / room if room != 0.0 else 0.0
    if code == ZERO_ONE:
        return 1.0 if size + group - 2.0 * joint > 0.5 else 0.0
    return own(joint, size, group, n)


@kernel
def total_loss(code, own, weights, joint, size, group, n):
    """sum_t w_t f0(J_t, A, Z_t, N)."""
    total = 0.0
    for t in range(weights.shape[0]):
        total += weights[t] * f0_value(code, own, joint[t], size[0], group[t], n)
    return total


@kernel
def joint_sums(counts, owner, f1, joint):
    """J_t = sum of f1 over the cells of each draw (OUT)."""
    for t in range(joint.shape[0]):
        joint[t] = 0.0
    for r in range(counts.shape[0]):
        line = 0.0
        for s in range(counts.shape[1]):
            line += f1[counts[r, s]]
        joint[owner[r]] += line


@kernel
def move_item(
    i, target, rows, steps, size_steps, joint, size, labels, sizes, counts, by_joint, gains
):
    """Move item i to slot `target`; the sums, and the gains of the tangent, follow. It may come from nowhere (-1)."""
    own = labels[i]
    for t in range(rows.shape[1]):
        r = rows[i, t]
        if own >= 0:
            counts[r, own] -= 1
            joint[t] -= steps[counts[r, own]]
            gains[r, own] = by_joint[t] * steps[counts[r, own]]
        joint[t] += steps[counts[r, target]]
        counts[r, target] += 1
        gains[r, target] = by_joint[t] * steps[counts[r, target]]
    if own >= 0:
        sizes[own] -= 1
        size[0] -= size_steps[sizes[own]]
    size[0] += size_steps[sizes[target]]
    sizes[target] += 1
    labels[i] = target


@kernel
def move_items(
    items, targets, rows, steps, size_steps, joint, size, labels, sizes, counts, by_joint, gains
):
    """Move items to slots, one by one."""
    for x in range(items.shape[0]):
        if labels[items[x]] != targets[x]:
            move_item(
                items[x], targets[x], rows, steps, size_steps, joint, size, labels, sizes, counts,
                by_joint, gains,
            )  # fmt: skip


@kernel
def item_costs(
    code, f0, i, width, n, rows, weights, steps, joint, group, own, areas, counts, costs
):
    """costs[s] = sum_t w_t f0(J_t with item i in s, areas[s], Z_t, N) for the slots s < width (OUT).

    `areas[s]` is A with the item in s; the item is counted in slot `own`, or nowhere (-1).
    """
    for s in range(width):
        costs[s] = 0.0
    most, pairs = n * np.log2(n), n * (n - 1.0) / 2.0
    for t in range(rows.shape[1]):
        r, w, z = rows[i, t], weights[t], group[t]
        line, j = counts[r], joint[t]
        if own >= 0:
            line[own] -= 1
            j -= steps[line[own]]
        # The loops over the clusters have no branch that depends on the loss, so that they are quick.
        if code == NVI and most - j > 2.0:
            for s in range(width):
                now = j + steps[line[s]]
                costs[s] += w * (areas[s] + z - 2.0 * now) / (most - now)
        elif code == NID:
            for s in range(width):
                entropy = most - min(areas[s], z)
                above = max(areas[s], z) - j - steps[line[s]]
                costs[s] += w * above / entropy if entropy > _NO_ENTROPY * most else 0.0
        elif code == OMARI and pairs > 0.0:
            for s in range(width):
                expected = areas[s] * z / pairs
                room = (areas[s] + z) / 2.0 - expected
                now = j + steps[line[s]]
                costs[s] += w * (1.0 - (now - expected) / room) if room != 0.0 else 0.0
        else:
            for s in range(width):
                costs[s] += w * f0_value(code, f0, j + steps[line[s]], areas[s], z, n)
        if own >= 0:
            line[own] += 1


@kernel
def exact_cost(code, f0, i, s, n, rows, weights, steps, joint, group, own, area, counts):
    """One entry of `item_costs`: the total loss with item i, now in slot `own`, in slot s; A is then `area`."""
    total = 0.0
    for t in range(rows.shape[1]):
        r = rows[i, t]
        j = joint[t]
        if s != own:
            j += steps[counts[r, s]] - steps[counts[r, own] - 1]
        total += weights[t] * f0_value(code, f0, j, area, group[t], n)
    return total


@kernel
def sweep(
    code, f0, order, rows, weights, steps, size_steps, group, tolerance, k_min, k_max, stop,
    blocked, quick, joint, size, labels, sizes, counts, by_joint, by_size, gains, areas, single, costs,
    gap, second,
):  # fmt: skip
    """Visit the items in `order`, as `sweep.sweep` does; returns the number visited, of moves, and the change.

    If it is `quick`, only the cluster that looks best is looked at, so that moves may be overlooked: it is the one
    where the tangent of the loss is lowest, the linear loss with the derivatives `by_joint` and `by_size` (`slopes`),
    whose ``gains[r, s]`` are those of `sweep.py`. No move is made that does not lower the loss.
    """
    moves, change, n = 0, 0.0, float(labels.shape[0])
    used, top = used_slots(sizes)
    now = total_loss(code, f0, weights, joint, size, group, n)
    for x in range(order.shape[0]):
        i = order[x]
        own, end = labels[i], min(top + 1, sizes.shape[0])
        if used == sizes.shape[0] or stop[0] != 0:
            return x, moves, change
        alone, exact = own >= 0 and sizes[own] == 1, own < 0 or not quick
        gap[i] = np.inf
        if alone and used <= k_min:
            continue
        without = size[0] - (size_steps[sizes[own] - 1] if own >= 0 else 0.0)
        for s in range(end):
            areas[s] = without + size_steps[sizes[s] - (s == own)]
        if exact:
            item_costs(
                code, f0, i, end, n, rows, weights, steps, joint, group, own, areas, counts,
                costs,
            )  # fmt: skip
            now = costs[own] if own >= 0 else np.inf
            here = now
        else:
            linear_costs(i, end, rows, gains, single, costs)
            here = by_size * areas[own]
            for t in range(rows.shape[1]):
                here += by_joint[t] * steps[counts[rows[i, t], own] - 1]
        best, low = -1, np.inf
        for s in range(end):
            allowed = blocked[s] == 0 if sizes[s] > 0 else used < k_max and not alone
            cost = costs[s] if exact else costs[s] + by_size * areas[s]
            if s != own and allowed and cost < low:
                best, low = s, cost
        gap[i], second[i] = low - here, best
        if best < 0 or low >= here:
            continue
        then = low
        if not exact:
            then = exact_cost(
                code, f0, i, best, n, rows, weights, steps, joint, group, own, areas[best], counts
            )
        if then >= now - tolerance:
            continue
        if own >= 0:
            change += then - now
        now = then
        used += (sizes[best] == 0) - int(alone)
        move_item(
            i, best, rows, steps, size_steps, joint, size, labels, sizes, counts, by_joint, gains
        )
        moves += 1
        top = max(top, best + 1)
        while top > 0 and sizes[top - 1] == 0:
            top -= 1
    return order.shape[0], moves, change


@kernel
def all_joins(
    code, f0, counts, first, weights, f1, f2, joint, size, group, n, sizes, used, more, changes
):
    """changes[a, b] of the total loss if two clusters are joined (OUT), infinite for a = b.

    Groups of draw t are first[t]..first[t + 1] - 1. `used` and `more`, (k,) and (k, k), are scratch.
    """
    k = sizes.shape[0]
    for a in range(k):
        for b in range(k):
            changes[a, b] = 0.0
    for t in range(weights.shape[0]):
        for a in range(k):
            for b in range(k):
                more[a, b] = 0.0
        for r in range(first[t], first[t + 1]):
            n_used = 0
            for s in range(k):
                used[n_used] = s
                n_used += counts[r, s] > 0
            for x in range(1, n_used):
                a = used[x]
                for y in range(x):
                    b = used[y]
                    p, q = counts[r, a], counts[r, b]
                    more[a, b] += f1[p + q] - f1[p] - f1[q]
        before = f0_value(code, f0, joint[t], size[0], group[t], n)
        for a in range(k):
            for b in range(a):
                area = size[0] + f2[sizes[a] + sizes[b]] - f2[sizes[a]] - f2[sizes[b]]
                after = f0_value(code, f0, joint[t] + more[a, b], area, group[t], n)
                changes[a, b] += weights[t] * (after - before)
    for a in range(k):
        changes[a, a] = np.inf
        for b in range(a):
            if sizes[a] == 0 or sizes[b] == 0:
                changes[a, b] = np.inf
            changes[b, a] = changes[a, b]


@kernel
def slopes(code, f0, weights, joint, size, group, n, by_joint):
    """Derivatives of the total loss: by J_t for each draw (OUT), and by A, which is returned.

    They are differences over one step of a size that moves of single items have.
    """
    step, by_size = np.log2(n) + 1.0, 0.0
    for t in range(weights.shape[0]):
        j, a, z = joint[t], size[0], group[t]
        below = f0_value(code, f0, j - step, a, z, n)
        by_joint[t] = weights[t] * (f0_value(code, f0, j, a, z, n) - below) / step
        above = f0_value(code, f0, j, a + step, z, n) - f0_value(code, f0, j, a - step, z, n)
        by_size += weights[t] * above / (2.0 * step)
    return by_size
