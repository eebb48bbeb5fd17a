"""The execution that keeps the contingency tables of all draws: quick unless there are very many clusters.

If item i, in group v of draw t, goes to cluster s, the joint sum of draw t grows by `joint[n_tvs]` and the
size sum by `size[n_s]`. The former are kept in `gain`, so that the costs of all clusters are a sum of rows.

If f0 is linear, the cost of s is  size[n_s] + sum_t gain[t, v, s]  (coefficients and weights multiplied
in): rows of single-precision numbers, added up in vectors. Clusters whose costs are too close for single
precision are compared again in double precision, from the counts. Otherwise f0 is evaluated for each draw
and cluster in double precision.

Joining clusters a and s changes the joint sum of draw t by the sum over the groups v that both meet of
f1(n_tva + n_tvs) - f1(n_tva) - f1(n_tvs), and the size sum by f2(n_a + n_s) - f2(n_a) - f2(n_s).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.engine import Price, implement_execution, size_change
from epluribus._kernels.partitions import fill_gain
from epluribus._kernels.vector import LANES, add_lanes
from epluribus._typing import FloatArray, IntArray

BLOCK = 128
"""Draws added up in single precision before the sum goes on in double: this bounds the rounding error."""


class Tables(NamedTuple):
    """A partition under change, with the contingency tables of all draws."""

    price: Price
    draws: NDArray[np.unsignedinteger]
    """(n_items, n_draws) labels of the draws, item-major: one item's labels are contiguous."""
    fold: FloatArray
    """(n_draws,) the factor of `joint` in `gain`: the weights if f0 is linear, else ones."""
    labels: IntArray
    """(n_items,) labels 0..K-1 without gaps; -1 for an item in no cluster."""
    sizes: IntArray
    """(width,) cluster sizes; zero from K on."""
    n_clusters: IntArray
    """(1,) K."""
    counts: NDArray[np.integer]
    """(n_draws, groups, width): items of draw t in its group v and in cluster s; zero for s >= K."""
    gain: NDArray[np.floating]
    """(n_draws, groups, width): fold[t] * joint[counts[t, v, s]]; single precision if f0 is linear. Without
    entries in a state made for joins alone."""
    joint_sums: FloatArray
    """(n_draws,) joint sums; kept up to date if f0 is not linear."""
    size_sum: FloatArray
    """(1,) size sum, likewise."""
    cost: FloatArray
    """(width,) the row of costs computed last; entry K is a new cluster."""
    single: NDArray[np.float32]
    """(width,) WORK."""
    double: FloatArray
    """(width,) WORK."""
    other: FloatArray
    """(width,) WORK."""


# --- costs ---


@part
def _linear_costs(e: Any, i: int) -> None:
    """Sum the rows of `gain` of item i: four draws and eight clusters at a time.

    Indices are unsigned, so that the compiled code need not check for negative ones.
    """
    z, size, sizes, single, cost = e.draws[i], e.price.size, e.sizes, e.single, e.cost
    one, two, three, lanes = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(LANES)
    n_draws = np.uint64(z.shape[0])
    groups, width = np.uint64(e.gain.shape[1]), np.uint64(e.gain.shape[2])
    used = (np.uint64(e.n_clusters[0]) // lanes + one) * lanes  # K + 1, rounded up
    # Row (t, v) of `gain` begins at (t groups + v) width. Entries beyond K belong to no cluster and are
    # never read: adding whole vectors is quicker than treating a remainder.
    rows = e.gain.reshape(-1)
    # The first term, size[n_s]; then sum over t of gain[t, v, s], block by block.
    for s in range(used):
        cost[s] = size[sizes[s]]
    begin = np.uint64(0)
    while begin < n_draws:
        # Single precision within a block of draws, double precision from block to block.
        end = min(begin + np.uint64(BLOCK), n_draws)
        for s in range(used):
            single[s] = 0.0
        t = begin
        while t + three < end:
            row0 = (t * groups + np.uint64(z[t])) * width
            row1 = ((t + one) * groups + np.uint64(z[t + one])) * width
            row2 = ((t + two) * groups + np.uint64(z[t + two])) * width
            row3 = ((t + three) * groups + np.uint64(z[t + three])) * width
            at = np.uint64(0)
            while at < used:
                add_lanes(single, at, rows, row0, row1, row2, row3)
                at += lanes
            t += np.uint64(4)
        while t < end:  # the last one to three draws of the block
            row0 = (t * groups + np.uint64(z[t])) * width
            for s in range(used):
                single[s] += rows[row0 + s]
            t += one
        for s in range(used):
            cost[s] += single[s]
        begin = end


@part
def _linear_exact(e: Any, i: int, s: int) -> float:
    """Cost of cluster s for item i in double precision, from the counts, if f0 is linear."""
    # size[n_s] + sum over t of w_t joint[n_tvs], the counts without the item itself
    z, fold, joint = e.draws[i], e.fold, e.price.joint
    groups, width = np.uint64(e.counts.shape[1]), np.uint64(e.counts.shape[2])
    cells, at = e.counts.reshape(-1), np.uint64(s)
    inside = np.uint64(e.labels[i] == s)  # 1 if the counts of s include the item
    total = e.price.size[np.uint64(e.sizes[s]) - inside]
    for t in range(np.uint64(z.shape[0])):
        n = np.uint64(cells[(t * groups + np.uint64(z[t])) * width + at])
        total += fold[t] * joint[n - inside]
    return total


@routine
def _costs(e: Any, row: Any, i: int) -> None:
    """Cost of every cluster, and of a new one (entry K), for item i."""
    if row is None:
        _linear_costs(e, i)
        own = e.labels[i]
        # In its own cluster the rows count the item itself. Exact from the start: most items stay there.
        if own >= 0:
            e.cost[own] = _linear_exact(e, i, own)
    else:
        _ratio_costs(row, e, i)


@kernel
def _ratio_costs(row: Any, e: Any, i: int) -> None:
    """The same for any f0: the total loss with the item in each cluster."""
    # f0 is evaluated at the joint sum and the size sum as they would be with the item in each cluster. The
    # size sums are the same for all draws; the joint sums differ from draw to draw.
    own, n = e.labels[i], e.n_clusters[0] + 1
    z, gain, counts, joint, size = e.draws[i], e.gain, e.counts, e.price.joint, e.price.size
    weights, group, size_row, cost = e.price.weights, e.price.group, e.double[:n], e.cost[:n]
    n_items = float(e.labels.shape[0])
    size_sum = e.size_sum[0]
    # The size sum without the item, plus size[n_s]; in its own cluster that is the present sum.
    if own >= 0:
        size_sum -= size[e.sizes[own] - 1]
    for s in range(n):
        size_row[s] = size_sum + size[e.sizes[s]]
        cost[s] = 0.0
    if own >= 0:
        size_row[own] = e.size_sum[0]
    for t in range(z.shape[0]):
        gains = gain[t, z[t], :n]
        now, at_home = e.joint_sums[t], 0.0
        # As if the item were in no cluster: its own entry is replaced until this row is done.
        if own >= 0:
            at_home = gains[own]
            gains[own] = joint[counts[t, z[t], own] - 1]
            now -= gains[own]
        row(gains, now, size_row, group[t], n_items, weights[t], cost)
        if own >= 0:
            gains[own] = at_home


@routine
def _exact(e: Any, row: Any, i: int, s: int) -> float:
    if row is None:
        return _linear_exact(e, i, s)
    _ratio_costs(row, e, i)
    return e.cost[s]


@routine
def _choose(e: Any, i: int, own: int, opens: bool) -> int:
    """The cluster of least cost; those that single precision cannot rank are computed exactly first."""
    cost = e.cost
    n = e.n_clusters[0] + 1 if opens else e.n_clusters[0]
    low = np.inf
    for s in range(n):
        low = min(low, cost[s])
    # Each sum in single precision is off by at most half the margin, so a cluster that is further than
    # the margin above the lowest cannot be the best. If several are closer, their exact costs decide.
    # Joins (i = -1) are in double precision anyway.
    if i >= 0 and e.price.margin > 0.0:
        limit = low + e.price.margin
        near = 0
        for s in range(n):
            near += cost[s] <= limit
        if near > 1:
            low = np.inf
            for s in range(n):
                if cost[s] <= limit:
                    if s != own:  # the cost of `own` is exact already
                        cost[s] = _linear_exact(e, i, s)
                    low = min(low, cost[s])
    # Ties: stay, else take the smallest label; a new cluster, entry K, comes last.
    enough = low + e.price.tolerance
    if own >= 0 and cost[own] <= enough:
        return own
    best = 0
    while cost[best] > enough:
        best += 1
    return best


@routine
def _cost_of(e: Any, s: int) -> float:
    return e.cost[s]


# --- moves ---


@part
def _set_count(e: Any, t: int, v: int, s: int, n: int) -> None:
    """Write one count and its gain."""
    e.counts[t, v, s] = n
    e.gain[t, v, s] = e.fold[t] * e.price.joint[n]


@routine
def _apply(e: Any, row: Any, i: int, s: int) -> None:
    """Item i goes to cluster s; s = K opens a new cluster, and a cluster left empty closes."""
    own = e.labels[i]
    joint, size, counts, z = e.price.joint, e.price.size, e.counts, e.draws[i]
    if s == e.n_clusters[0]:
        e.n_clusters[0] += 1
    # First the sizes without the item: what it adds to a cluster, or takes from it, depends on the others.
    if own >= 0:
        e.sizes[own] -= 1
    if row is not None:
        e.size_sum[0] += size[e.sizes[s]]
        if own >= 0:
            e.size_sum[0] -= size[e.sizes[own]]
    e.sizes[s] += 1
    e.labels[i] = s
    # In each draw's table one cell, (v, s), gains the item, and another, (v, own), loses it.
    for t in range(z.shape[0]):
        v = z[t]
        n = counts[t, v, s]
        _set_count(e, t, v, s, n + 1)
        if row is not None:
            e.joint_sums[t] += joint[n]
        if own >= 0:
            m = counts[t, v, own] - 1
            _set_count(e, t, v, own, m)
            if row is not None:
                e.joint_sums[t] -= joint[m]
    if own >= 0 and e.sizes[own] == 0:
        _close(e, own)


@kernel
def _close(e: Any, empty: int) -> None:
    """Give the label of an empty cluster to the last cluster, so that labels have no gaps."""
    last = e.n_clusters[0] - 1
    e.n_clusters[0] = last
    if empty == last:
        return
    for i in range(e.labels.shape[0]):
        if e.labels[i] == last:
            e.labels[i] = empty
    e.sizes[empty] = e.sizes[last]
    e.sizes[last] = 0
    # Column `last` of every table moves to column `empty`, which is zero.
    for t in range(e.counts.shape[0]):
        for v in range(e.counts.shape[1]):
            n = e.counts[t, v, last]
            if n > 0:
                _set_count(e, t, v, empty, n)
                _set_count(e, t, v, last, 0)


# --- joins ---


@kernel
def _joint_changes(
    counts: NDArray[np.integer],
    k: int,
    f1: FloatArray,
    t: int,
    a: int,
    weight: float,
    change: FloatArray,  # OUT, added to
) -> None:
    """Add to change[s] the weighted change of the joint sum of draw t if a is joined with s."""
    # sum over v of f1(n + m) - f1(n) - f1(m), with n = n_tva and m = n_tvs. Only groups that meet both
    # clusters count: for the others one of n, m is 0, and so is the term, since f1(0) = 0.
    for v in range(counts.shape[1]):
        n = counts[t, v, a]
        if n > 0:
            cells = counts[t, v]
            for s in range(k):
                m = cells[s]
                if m > 0 and s != a:
                    change[s] += weight * (f1[n + m] - f1[n] - f1[m])


@routine
def _join_changes(e: Any, row: Any, a: int) -> None:
    """Change of the total loss if a is joined with each cluster; infinite for a itself."""
    k = e.n_clusters[0]
    cost, price, n_a = e.cost, e.price, e.sizes[a]
    if row is None:  # change of the size sum, plus the weighted changes of the joint sums
        for s in range(k):
            cost[s] = size_change(price, n_a, e.sizes[s]) if s != a else 0.0
        for t in range(e.counts.shape[0]):
            _joint_changes(e.counts, k, price.f1, t, a, price.weights[t], cost)
    else:
        size_row, joint_row = e.double, e.other
        n_items = float(e.labels.shape[0])
        # f0 at the sums after each join, summed over the draws. Entry a, with no change, is the present
        # loss, which is then subtracted.
        for s in range(k):
            cost[s] = 0.0
            size_row[s] = e.size_sum[0]
            if s != a:
                size_row[s] += size_change(price, n_a, e.sizes[s])
        for t in range(e.counts.shape[0]):
            joint_row[:k] = 0.0
            _joint_changes(e.counts, k, price.f1, t, a, 1.0, joint_row)
            joint, group, weight = e.joint_sums[t], price.group[t], price.weights[t]
            row(joint_row[:k], joint, size_row[:k], group, n_items, weight, cost[:k])
        now = cost[a]
        for s in range(k):
            cost[s] -= now
    cost[a] = np.inf


@routine
def _join(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    last = e.n_clusters[0] - 1
    f1 = e.price.f1
    # In labels, sizes and columns of the tables alike: b is added to a, then the last cluster moves to b.
    # If b is the last one itself, it ends up empty all the same.
    e.size_sum[0] += size_change(e.price, e.sizes[a], e.sizes[b])
    for i in range(e.labels.shape[0]):
        if e.labels[i] == b:
            e.labels[i] = a
        elif e.labels[i] == last:
            e.labels[i] = b
    e.sizes[a] += e.sizes[b]
    e.sizes[b] = e.sizes[last]
    e.sizes[last] = 0
    for t in range(e.counts.shape[0]):
        for v in range(e.counts.shape[1]):
            cells = e.counts[t, v]
            n, m = cells[a], cells[b]
            if m > 0:
                if row is not None:
                    e.joint_sums[t] += f1[n + m] - f1[n] - f1[m]
                cells[a] = n + m
            cells[b] = cells[last]
            cells[last] = 0
    e.n_clusters[0] = last
    # Two columns changed in every row: it is simplest to compute the gains again, where there are any.
    if e.gain.shape[0] > 0:
        fill_gain(e.counts, e.fold, e.price.joint, e.gain)


implement_execution(
    Tables,
    costs=_costs,
    exact=_exact,
    choose=_choose,
    cost_of=_cost_of,
    apply=_apply,
    join_changes=_join_changes,
    join=_join,
)
