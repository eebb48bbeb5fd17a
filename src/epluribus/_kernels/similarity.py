"""The similarity matrix: how often items share a cluster, and what its triangles say about Binder's loss.

The inner loops read contiguous labels and nothing else, so the compiler turns them into vector
instructions: about 30 comparisons per nanosecond for one-byte labels.

The bounds write Binder's loss as a sum over pairs of items. With p_ij the similarity and c the cost of
separating, a pair costs c p_ij if the estimate has it apart and (2 - c)(1 - p_ij) if it has it together.
With x_ij = 1 for together, 0 for apart, x is a partition if and only if x_ij + x_jk - x_ik <= 1 for all
triples: the triangle inequalities.
"""

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
