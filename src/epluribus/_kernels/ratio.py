"""Losses whose f0 is not linear, on contingency tables: sweeps, moves and joins.

With the sums J_t of f1 over the cells of draw t, A of f2 over the clusters, and Z_t of f3 over the groups of the
draw, the total loss is sum_t w_t f0(J_t, A, Z_t, N). An item that goes from nowhere to cluster s adds
f1(n + 1) - f1(n) to J_t, for the n items in the cell of its group and s, and f2(n_s + 1) - f2(n_s) to A.

The f0 of the built-in losses are told apart by a number, so that one compiled kernel serves all of them and is kept
on disk. The f0 of a user is passed as a compiled function, which is called by its address.
"""

import numpy as np

from epluribus._kernels.jit import kernel
from epluribus._kernels.tables import all_joins as linear_joins
from epluribus._kernels.tables import exact_cost, move_item, used_slots
from epluribus._kernels.tables import item_costs as linear_costs

NVI, NID, ID, OMARI, ZERO_ONE, OWN = range(6)
"""Numbers of the built-in losses, and of a user's own."""
_NO_ENTROPY = 1e-12
"""An entropy below this share of log2 N counts as zero (`losses.built_in`)."""


@kernel
def f0_value(code, own, joint, size, group, n, most):
    """The value of f0; `losses.built_in` has the formulas. `most` is N log2 N."""
    if code == ID:
        return (max(size, group) - joint) / n
    if code <= NID:
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
    total, most = 0.0, n * np.log2(n)
    for t in range(weights.shape[0]):
        total += weights[t] * f0_value(code, own, joint[t], size[0], group[t], n, most)
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
def item_costs(
    code, f0, i, begin, end, n, rows, weights, steps, joint, group, own, areas, counts, costs
):
    """costs[s] = sum_t w_t f0(J_t with item i in s, areas[s], Z_t, N) for the slots begin..end-1 (OUT).

    `areas[s]` is A with the item in s; the item is counted in slot `own`, or nowhere (-1).
    """
    for s in range(begin, end):
        costs[s] = 0.0
    most, pairs = n * np.log2(n), n * (n - 1.0) / 2.0
    for t in range(rows.shape[1]):
        w, z, j, line = weights[t], group[t], joint[t], counts[rows[i, t]]
        if own >= 0:
            line[own] -= 1
            j -= steps[0, line[own]]
        # The loops over the clusters have no branch that depends on the loss, so that they are quick.
        if code == NVI and most - j > 2.0:
            for s in range(begin, end):
                now = j + steps[0, line[s]]
                costs[s] += w * (areas[s] + z - 2.0 * now) / (most - now)
        elif code == NID:
            for s in range(begin, end):
                entropy = most - min(areas[s], z)
                above = max(areas[s], z) - j - steps[0, line[s]]
                costs[s] += w * above / entropy if entropy > _NO_ENTROPY * most else 0.0
        elif code == OMARI and pairs > 0.0:
            for s in range(begin, end):
                expected = areas[s] * z / pairs
                room = (areas[s] + z) / 2.0 - expected
                now = j + steps[0, line[s]]
                costs[s] += w * (1.0 - (now - expected) / room) if room != 0.0 else 0.0
        else:
            for s in range(begin, end):
                now = j + steps[0, line[s]]
                costs[s] += w * f0_value(code, f0, now, areas[s], z, n, most)
        if own >= 0:
            line[own] += 1


@kernel
def sweep(
    code, f0, order, rows, by_joint, kinds, n_seen, steps, size_steps, weights, curve, start, unit, group,
    tolerance, k_min, k_max, stop, blocked, quick, area, labels, sizes, counts, gains, joint, costs, single, areas,
):  # fmt: skip
    """Visit the items in `order`, as `tables.sweep` does; returns the number visited, of moves, and the change.

    If it is `quick`, only the cluster that looks best is looked at, so that moves may be overlooked: it is the one
    where the tangent in J_t, whose ``gains[r, s]`` are those of `tables.py`, and the curve in A (`slopes`) are lowest
    together. No move is made that does not lower the loss. `costs`, `single` and `areas` are WORK.
    """
    moves, change, n = 0, 0.0, float(labels.shape[0])
    used, top = used_slots(sizes)
    now = total_loss(code, f0, weights, joint, area, group, n)
    for x in range(order.shape[0]):
        i = order[x]
        own, end = labels[i], min(top + 1, sizes.shape[0])
        if used == sizes.shape[0] or stop[0] != 0:
            return x, moves, change
        alone, exact = own >= 0 and sizes[own] == 1, own < 0 or not quick
        if alone and used <= k_min:
            continue
        without = area[0] - (size_steps[sizes[own] - 1] if own >= 0 else 0.0)
        for s in range(end):
            areas[s] = without + size_steps[sizes[s] - int(s == own)]
        if exact:
            item_costs(
                code, f0, i, 0, end, n, rows, weights, steps, joint, group, own, areas, counts, costs
            )  # fmt: skip
            now = costs[own] if own >= 0 else np.inf
            here = now
        else:
            linear_costs(i, end, rows, gains, single, costs)
            for s in range(end):
                costs[s] += on_curve(areas[s], curve, start, unit)
            here = exact_cost(i, own, rows, by_joint, kinds, n_seen, steps, labels, counts)
            here += on_curve(areas[own], curve, start, unit)
        best, low = -1, here
        for s in range(end):
            allowed = blocked[s] == 0 if sizes[s] > 0 else used < k_max and not alone
            if s != own and allowed and costs[s] < low:
                best, low = s, costs[s]
        if best >= 0 and not exact:
            item_costs(
                code, f0, i, best, best + 1, n, rows, weights, steps, joint, group, own, areas, counts, costs
            )  # fmt: skip
            low = costs[best]
        if best < 0 or low >= now - tolerance:
            continue
        if own >= 0:
            change += low - now
        now, area[0] = low, areas[best]
        used += (sizes[best] == 0) - int(alone)
        move_item(
            i, own, best, rows, by_joint, kinds, n_seen, steps, labels, sizes, counts, gains, joint
        )
        moves += 1
        top = max(top, best + 1)
        while top > 0 and sizes[top - 1] == 0:
            top -= 1
    return order.shape[0], moves, change


@kernel
def move_pairs(
    code, f0, items, rows, by_joint, kinds, n_seen, steps, size_steps, weights, curve, start, unit, group,
    tolerance, k_min, k_max, stop, area, labels, sizes, counts, gains, joint, single, costs, second,
):  # fmt: skip
    """Move two of the items at a time where that lowers the loss; returns the number of moves, and the change.

    An item goes to its best other cluster or to a new one, though that may raise the loss, and then that other item
    moves which looks best: to its own best cluster, to one of the two, or to a new one. So items change places where
    none can move alone, because a change of A costs more than it gains. ``costs[i, s]``, the tangent in J_t, `single`,
    and ``second[i]``, the best other cluster, are WORK; there must be three empty slots.
    """
    moves, change, n = 0, 0.0, float(labels.shape[0])
    tables = rows, by_joint, kinds, n_seen, steps, labels, sizes, counts, gains, joint
    used, top = used_slots(sizes)
    end = min(top + 2, sizes.shape[0])
    now = total_loss(code, f0, weights, joint, area, group, n)
    for i in items:
        own, low, second[i] = labels[i], np.inf, -1
        linear_costs(i, end, rows, gains, single, costs[i])
        costs[i, own] = exact_cost(i, own, rows, by_joint, kinds, n_seen, steps, labels, counts)
        without = area[0] - size_steps[sizes[own] - 1]
        for s in range(end):
            cost = costs[i, s] + on_curve(without + size_steps[sizes[s]], curve, start, unit)
            if cost < low and s != own and sizes[s] + sizes[own] > 1:
                second[i], low = s, cost
    for i in items:
        a, new = labels[i], 0
        if used + 2 > sizes.shape[0] or stop[0] != 0:
            break
        while sizes[new] > 0:
            new += 1
        for b in (second[i], new):
            if b < 0 or b >= end or a == b or sizes[a] + sizes[b] == 1:
                continue
            between = area[0] - size_steps[sizes[a] - 1] + size_steps[sizes[b]]
            sizes[a] -= 1
            sizes[b] += 1
            k, spare = used + int(sizes[b] == 1) - int(sizes[a] == 0), 0
            while sizes[spare] > 0:
                spare += 1
            low, other, target, at = np.inf, -1, -1, 0.0
            for j in items:
                c = labels[j]
                for d in (second[j], a, b, spare):
                    then = k + int(sizes[d] == 0) - int(sizes[c] == 1)
                    if j == i or d == c or d < 0 or d >= end or then < k_min or then > k_max:
                        continue
                    there = between - size_steps[sizes[c] - 1] + size_steps[sizes[d]]
                    cost = costs[j, d] - costs[j, c] + on_curve(there, curve, start, unit)
                    if cost < low:
                        low, other, target, at = cost, j, d, there
            sizes[a] += 1
            sizes[b] -= 1
            if low + costs[i, b] - costs[i, a] >= on_curve(area[0], curve, start, unit):
                continue
            c, before = labels[other], area[0]
            move_item(i, a, b, *tables)
            move_item(other, c, target, *tables)
            area[0] = at
            after = total_loss(code, f0, weights, joint, area, group, n)
            if after < now - tolerance:
                used, moves, change, now = (
                    used_slots(sizes)[0],
                    moves + 2,
                    change + after - now,
                    after,
                )
                break
            area[0] = before
            move_item(other, target, c, *tables)
            move_item(i, b, a, *tables)
    return moves, change


@kernel
def all_joins(
    code, f0, counts, kinds, first, weights, f, size, joint, area, group, n, sizes, used, more, changes
):  # fmt: skip
    """changes[a, b] of the total loss if two clusters are joined (OUT), infinite for a = b and for empty ones.

    Groups of draw t are first[t]..first[t + 1] - 1. `used` and `more`, (k + 1,) and (k, k), are WORK.
    """
    k, most = sizes.shape[0], n * np.log2(n)
    ones, nothing, areas = np.ones(counts.shape[0]), np.zeros(size.shape[0]), np.empty((k, k))
    for a in range(k):
        for b in range(k):
            changes[a, b] = np.inf if a == b or sizes[a] == 0 or sizes[b] == 0 else 0.0
            areas[a, b] = area[0] - size[sizes[a]] - size[sizes[b]]
            areas[a, b] += size[sizes[a] + sizes[b]] if changes[a, b] == 0.0 else 0.0
    for t in range(weights.shape[0]):
        # What is added to J_t.
        p, q = first[t], first[t + 1]
        linear_joins(counts[p:q], ones[p:q], kinds[p:q], f, nothing, sizes, used, more)
        j, z, w = joint[t], group[t], weights[t]
        before = f0_value(code, f0, j, area[0], z, n, most)
        for a in range(k):
            for b in range(a):
                if changes[a, b] < np.inf:
                    after = f0_value(code, f0, j + more[a, b], areas[a, b], z, n, most)
                    changes[a, b] += w * (after - before)
    for a in range(k):
        for b in range(a):
            changes[b, a] = changes[a, b]


@kernel
def slopes(code, f0, weights, joint, size, group, n, unit, by_joint, curve):
    """Derivatives of the total loss by J_t for each draw, and the loss at values of A that are `unit` apart (OUT).

    The derivatives are differences over one step of a size that moves of single items have. A itself is in the middle
    of the curve: where the loss has kinks, as a maximum of A and Z_t has, a tangent says little of what moves change.
    """
    step, most, middle = np.log2(n) + 1.0, n * np.log2(n), curve.shape[0] // 2
    curve[:] = 0.0
    for t in range(weights.shape[0]):
        j, a, z = joint[t], size[0], group[t]
        below = f0_value(code, f0, j - step, a, z, n, most)
        by_joint[t] = weights[t] * (f0_value(code, f0, j, a, z, n, most) - below) / step
        for q in range(curve.shape[0]):
            curve[q] += weights[t] * f0_value(code, f0, j, a + (q - middle) * unit, z, n, most)


@kernel
def on_curve(area, curve, start, unit):
    """The curve, which begins at `start`, at some value of A: on the straight line through the nearest points."""
    x = (area - start) / unit
    q = min(max(int(x), 0), curve.shape[0] - 2)
    return curve[q] + (x - q) * (curve[q + 1] - curve[q])
