"""Similarities of pairs of items: how often they share a cluster, and the losses that follow from that.

**The matrix.** The inner loops read contiguous labels and nothing else, so the compiler turns them into vector
instructions: about 30 comparisons per nanosecond for one-byte labels.

**Sweeps.** With p_ij the similarity of items i and j, p_ii = `one`, and s_i the sum of p_ij over the items j in the
cluster of i, the total loss is

    constant  +  sum_s size(n_s)  +  scale * sum_i g(s_i)

with g(s) = s for Binder's loss, and g(s) = log2 s for the lower bound of VI (`logs`). An item i that joins cluster s
adds

    size(n_s + 1) - size(n_s)  +  scale * [ g(one + r) + sum over the items j of s of g(s_j + p_ij) - g(s_j) ]

where r is the sum of p_ij over the items j of s. There are two ways to know r:

- ``together[i, j]`` is p_ij, without the diagonal, and ``sums[s, i]`` is r, for Binder's loss only: a look takes time
  O(K), a move O(n_items). `lists` is then None;
- of the `lists`, item i has the neighbors ``near[first[i]]`` to ``near[first[i + 1] - 1]``, with similarities `share`
  above 0, and ``inside[j]`` is s_j: a look takes time O(neighbors + K). `together` is then None.

What is None is not compiled.

**Bounds** write Binder's loss as a sum over pairs of items. With c the cost of separating, a pair costs c p_ij if the
estimate has it apart and (2 - c)(1 - p_ij) if it has it together. With x_ij = 1 for together, 0 for apart, x is a
partition if and only if x_ij + x_jk - x_ik <= 1 for all triples: the triangle inequalities.
"""

import math

import numpy as np

from epluribus._kernels.jit import kernel

# --- entries of the matrix ---


@kernel
def together_counts(labels, begin, end, stop, out):
    """Number of draws in which items begin..end-1 share a cluster with items 0..stop-1 (OUT).

    `labels` is item-major. The block of items stays in the cache while the others are read once.
    """
    for j in range(stop):
        for i in range(begin, end):
            # The number of draws t with z_ti = z_tj.
            total = 0
            for t in range(labels.shape[1]):
                total += labels[i, t] == labels[j, t]
            out[i - begin, j] = total


@kernel
def together_weights(rows, weights, begin, end, stop, out):
    """Weight of the draws in which items begin..end-1 share a cluster with items 0..stop-1 (OUT).

    `rows` is draw-major: the sums for all j grow side by side, each in the order of the draws, so the
    result does not depend on how the items are divided into blocks.
    """
    for i in range(begin, end):
        total = out[i - begin]
        total[:stop] = 0.0
        for t in range(rows.shape[0]):
            row = rows[t]
            own = row[i]
            weight = weights[t]
            # w_t if z_ti = z_tj, else 0: a selection instead of a branch, which can be vectorized.
            for j in range(stop):
                total[j] += weight if row[j] == own else 0.0


# --- sweeps ---


@kernel
def item_costs(
    i, together, lists, scale, one, logs, size_steps, labels, sizes, sums, inside, costs
):  # fmt: skip
    """costs[s] = what item i costs in slot s, itself not counted there (OUT); of lists `sums` is WORK."""
    own, at = labels[i], i if lists is None else 0
    if lists is not None:
        first, near, share = lists
        costs[:], sums[:] = 0.0, 0.0
        for q in range(first[i], first[i + 1]):
            s, p = labels[near[q]], share[q]
            if s >= 0:
                sums[s, 0] += p
                if logs:
                    rest = inside[near[q]] - (p if s == own else 0.0)
                    costs[s] += math.log2((rest + p) / rest)
    for s in range(sizes.shape[0]):
        reach = sums[s, at] if sizes[s] > 0 else 0.0
        if lists is not None and logs:
            costs[s] += math.log2(one + reach)
        else:
            costs[s] = one + 2.0 * reach
        costs[s] = scale * costs[s] + size_steps[sizes[s] - int(s == own)]


@kernel
def move_item(i, target, together, lists, one, labels, sizes, sums, inside):
    """Item i goes to a slot."""
    own = labels[i]
    if together is not None:
        row = together[i]
        for s, sign in ((target, np.int64(1)), (own, np.int64(-1))):
            if s >= 0:
                for j in range(row.shape[0]):
                    sums[s, j] += sign * row[j]
    if lists is not None:
        first, near, share = lists
        inside[i] = one
        for q in range(first[i], first[i + 1]):
            j = near[q]
            if labels[j] == target:
                inside[j] += share[q]
                inside[i] += share[q]
            elif own >= 0 and labels[j] == own:
                inside[j] -= share[q]
    labels[i] = target
    sizes[target] += 1
    if own >= 0:
        sizes[own] -= 1


@kernel
def sweep(
    order, targets, used, together, lists, scale, one, logs, size_steps, tolerance, k_min, k_max, stop,
    blocked, labels, sizes, sums, inside, gap, second, costs,
):  # fmt: skip
    """Visit the items in `order`, as `tables.sweep` does; or move them to `targets`, if there are any.

    Before, the number of slots in use is `used`.
    Returns the number visited, of moves, and the change of the total loss.
    """
    moves, change, new, n = 0, 0.0, 0, sizes.shape[0]
    told = targets.shape[0] > 0
    for x in range(order.shape[0]):
        i = order[x]
        own, best, low = labels[i], -1, np.inf
        alone = own >= 0 and sizes[own] == 1
        if not told:
            if used == n or stop[0] != 0:
                return x, moves, change
            gap[i] = np.inf
            if alone and used <= k_min:
                continue
        item_costs(
            i, together, lists, scale, one, logs, size_steps, labels, sizes, sums, inside, costs
        )  # fmt: skip
        here = costs[own] if own >= 0 else 0.0
        if told:
            best = targets[x]
        else:
            while sizes[new] > 0:
                new = new + 1 if new + 1 < n else 0
            for s in range(n):
                if costs[s] < low and sizes[s] > 0 and s != own and blocked[s] == 0:
                    best, low = s, costs[s]
            if used < k_max and not alone and costs[new] < low:
                best, low = new, costs[new]
            gap[i], second[i] = low - here, best
            if own >= 0 and low >= here - tolerance:
                best = own
        if best != own:
            change += costs[best] - here
            used += int(sizes[best] == 0) - int(alone)
            move_item(i, best, together, lists, one, labels, sizes, sums, inside)
            moves += 1
    return order.shape[0], moves, change


# --- bounds on Binder's loss ---


@kernel
def pack_triangles(cost, stop):
    """Raise the bound sum of min(0, cost) by triangles that cannot have all they want; return by how much.

    `cost`, of shape (n, n) and symmetric (IN and OUT), is what it costs to have a pair together rather than apart.
    Suppose that i and j want to be together, and j and k too, but i and k do not. With a multiplier d for the
    constraint x_ij + x_jk - x_ik <= 1, two costs rise by d, one falls by d, and d is subtracted from the bound. As
    long as no cost changes its sign, the sum rises by 2 d, so the bound rises by d.
    """
    n = cost.shape[0]
    total = 0.0
    for i in range(n):
        if stop[0]:
            break
        for k in range(i + 1, n):
            room = cost[i, k]  # what the triangles over this pair can still use
            if room <= 0.0:
                continue
            for j in range(n):
                if cost[i, j] < 0.0 and cost[j, k] < 0.0:
                    # The largest multiplier that changes no sign.
                    d = min(room, min(-cost[i, j], -cost[j, k]))
                    cost[i, j] += d
                    cost[j, i] = cost[i, j]
                    cost[j, k] += d
                    cost[k, j] = cost[j, k]
                    room -= d
                    total += d
                    if room <= 0.0:
                        break
            cost[i, k] = room
            cost[k, i] = room
    return total
