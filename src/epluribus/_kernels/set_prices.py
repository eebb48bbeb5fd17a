"""Is there a set of blocks that costs less than its prices? All sets are searched, by branch and bound.

With h(n) = n log2 n a set S costs

    cost(S) = factor h(|S|) - 2 sum over clusters g of all draws of share_g h(|S and g|).

At a node some blocks are in, some are out, the others are free. On what is left for |S and g|, h is below its
chord, which is linear in S. So the smallest value of a linear function over sets of the given size bounds
cost(S) - prices(S) for all sets of the node. `uncertainty/_bounds.py` has the theory.

Arrays: B blocks, T draws, H clusters of all draws. `mass` (B,) is the number of items of each block,
`cells` (B, T) the cluster of each block in each draw, `shares` (H,) the probability of its draw, `logs` the
table of h. `state` (B,) is FREE, IN or OUT; `low` and `high` (H,) count the items of each cluster that are
in, and those that are not out.
"""

import numpy as np

from epluribus._kernels.jit import kernel

FREE, IN, OUT = 0, 1, 2


@kernel
def put(b, side, mass, cells, state, low, high):
    """Put block b in, out, or back among the free ones."""
    into = mass[b] * (int(side == IN) - int(state[b] == IN))
    gone = mass[b] * (int(side == OUT) - int(state[b] == OUT))
    state[b] = side
    for g in cells[b]:
        low[g] += into
        high[g] -= gone


@kernel
def bound_node(
    mass, cells, shares, logs, factor, prices, size, state, low, high, slope, reduced, order
):
    """A bound on cost minus prices of the node's sets, and the number of free blocks.

    Infinity if no set of the node has `size` items. OUT are the slopes of the chords, times the share (`slope`),
    what a free block adds to the bound (`reduced`), and the free blocks, the most attractive first (`order`).
    """
    value, n_in, n_free, mass_free, quarter = 0.0, 0, 0, 0, cells.shape[1] // 4
    for g in range(len(low)):
        n, most = low[g], min(high[g], size)
        value -= 2.0 * shares[g] * logs[n]
        slope[g] = shares[g] * (logs[most] - logs[n]) / (most - n) if most > n else 0.0
    for b in range(len(mass)):
        if state[b] == IN:
            value -= prices[b]
            n_in += mass[b]
        elif state[b] == FREE:
            # Four sums at once: each addition would wait for the one before.
            s0 = s1 = s2 = s3 = 0.0
            for t in range(quarter):
                s0 += slope[cells[b, t]]
                s1 += slope[cells[b, t + quarter]]
                s2 += slope[cells[b, t + 2 * quarter]]
                s3 += slope[cells[b, t + 3 * quarter]]
            for t in range(4 * quarter, cells.shape[1]):
                s0 += slope[cells[b, t]]
            reduced[b] = -2.0 * (s0 + s1 + s2 + s3) * mass[b] - prices[b]
            mass_free += mass[b]
            # Sorted by insertion, by what an item of the block adds.
            at = n_free
            while at > 0 and reduced[order[at - 1]] * mass[b] > reduced[b] * mass[order[at - 1]]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = b
            n_free += 1
    missing = size - n_in
    if missing < 0 or mass_free < missing:
        return np.inf, n_free
    # The most attractive blocks, the last one in part, fill the set up: what an item of that one adds is the
    # multiplier of the constraint on the size.
    tilt, at = 0.0, 0
    while at < n_free and (missing > 0 or at == 0):
        tilt = -reduced[order[at]] / mass[order[at]]
        missing -= mass[order[at]]
        at += 1
    value += factor * logs[size] - tilt * (size - n_in)
    for at in range(n_free):
        b = order[at]
        reduced[b] += tilt * mass[b]
        value += min(0.0, reduced[b])
    return value, n_free


@kernel
def search_sets(mass, cells, shares, logs, factor, prices, size, margin, max_nodes, stop):
    """Look for a set of `size` items whose prices exceed its cost by more than `margin`.

    Returns 0 if there is none, 1 if one was found, 2 if the nodes did not suffice; and the number of nodes.
    """
    n_blocks, n_clusters = len(mass), len(shares)
    low, high = np.zeros(n_clusters, np.int64), np.zeros(n_clusters, np.int64)
    slope, reduced = np.zeros(n_clusters), np.zeros(n_blocks)
    order, trail = np.zeros(n_blocks, np.int64), np.zeros(n_blocks, np.int64)
    # Where in the trail of decided blocks each branching begins; whether it is on its second side.
    branch, second = np.zeros(n_blocks + 1, np.int64), np.zeros(n_blocks + 1, np.int64)
    state = np.full(n_blocks, FREE, np.int8)
    for b in range(n_blocks):
        for g in cells[b]:
            high[g] += mass[b]
    depth, n_decided, n_nodes = 0, 0, 0
    while n_nodes < max_nodes and not stop[0]:
        n_nodes += 1
        value, n_free = bound_node(
            mass, cells, shares, logs, factor, prices, size,
            state, low, high, slope, reduced, order,
        )  # fmt: skip
        if value < -margin:
            # Blocks whose other side is hopeless are decided; then the node is bounded again.
            before, dearest = n_decided, order[0]
            for at in range(n_free):
                b = order[at]
                if value + abs(reduced[b]) >= -margin:
                    put(b, IN if reduced[b] < 0.0 else OUT, mass, cells, state, low, high)
                    trail[n_decided] = b
                    n_decided += 1
                elif abs(reduced[b]) > abs(reduced[dearest]):
                    dearest = b
            if n_decided > before:
                continue
            if n_free == 0:  # the bound is the set's own value
                return 1, n_nodes
            # Branch on the block whose other side would cost most.
            b = dearest
            branch[depth], second[depth] = n_decided, 0
            depth += 1
            put(b, IN, mass, cells, state, low, high)
            trail[n_decided] = b
            n_decided += 1
            continue
        # Nothing here: the other side of the last branching that has one.
        while depth > 0:
            begin = branch[depth - 1]
            for at in range(begin, n_decided):
                put(trail[at], FREE, mass, cells, state, low, high)
            n_decided = begin
            if not second[depth - 1]:
                break
            depth -= 1
        if depth == 0:
            return 0, n_nodes
        second[depth - 1] = 1
        put(trail[n_decided], OUT, mass, cells, state, low, high)
        n_decided += 1
    return 2, n_nodes
