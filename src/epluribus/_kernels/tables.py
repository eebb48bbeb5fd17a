"""The execution that keeps the contingency tables of all draws: quick unless there are very many clusters.

If item i, in group v of draw t, goes to cluster s, the joint sum of draw t grows by `joint[n_tvs]` and the
size sum by `size[n_s]`. If f0 is linear, the cost of s is, with coefficients and weights multiplied in,

    slope * size[n_s] + sum_t fold[t] * joint[n_tvs]

The terms of the sum are kept in `gain`: rows of single-precision numbers, added up in vectors. Clusters whose
costs are too close for single precision are compared again in double precision, from the counts.

If f0 is not linear, the same sum is its *tangent*: `fold[t]` is the derivative of the loss of draw t with
respect to its joint sum, `slope` that of the total loss with respect to the size sum. A glance at an item
uses it to find the cluster worth a look; whether the item moves there is decided by f0 itself. The
derivatives follow the partition: `tilt` computes them again where they have changed.

What f0 itself needs is in `tangent`, the joins of clusters are in `table_joins`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.engine import (
    Price,
    entry,
    exclude_entry,
    first_of_best,
    implement_execution,
    lowest,
    rename,
    row_gap,
)
from epluribus._kernels.looks import Looks, count_move, rename_looks
from epluribus._kernels.table_joins import table_join, table_join_changes
from epluribus._kernels.tangent import ratio_costs, ratio_exact, set_slope
from epluribus._kernels.vector import BLOCK, LANES, add_block, flat
from epluribus._typing import FloatArray, IntArray


class Tables(NamedTuple):
    """A partition under change, with the contingency tables of all draws."""

    price: Price
    draws: NDArray[np.unsignedinteger]
    """(n_items, n_draws) labels of the draws, item-major: one item's labels are contiguous."""
    fold: FloatArray
    """(n_draws,) the factor of `joint` in `gain`: the weights if f0 is linear, else derivatives."""
    slope: FloatArray
    """(1,) the factor of `size`: 1 if f0 is linear, else a derivative; NaN if it must be computed again."""
    labels: IntArray
    """(n_items,) labels 0..K-1 without gaps; -1 for an item in no cluster."""
    sizes: IntArray
    """(width,) cluster sizes; zero from K on."""
    n_clusters: IntArray
    """(1,) K."""
    counts: NDArray[np.integer]
    """(n_draws, groups, width): items of draw t in its group v and in cluster s; zero for s >= K."""
    gain: NDArray[np.floating]
    """(n_draws, groups, width): fold[t] * joint[counts[t, v, s]]. Without entries in a state made for joins
    alone."""
    joint_sums: FloatArray
    """(n_draws,) joint sums; kept up to date if f0 is not linear."""
    size_sum: FloatArray
    """(1,) size sum, likewise."""
    total: FloatArray
    """(1,) the total loss, if f0 is not linear; NaN if it must be computed again."""
    cost: FloatArray
    """(width,) the row of costs computed last; entry K is a new cluster."""
    now: FloatArray
    """(n_draws,) WORK: joint sums without one item."""
    rows: FloatArray
    """(max(n_draws, DRAWS * width),) WORK: exact gains."""
    steps: IntArray
    """(n_draws,) 0, 1, 2, ..."""
    strides: IntArray
    """(DRAWS,) 0, width, 2 width, ..."""
    zeros: IntArray
    """(n_draws,) zeros."""
    single: NDArray[np.float32]
    """(width,) WORK."""
    double: FloatArray
    """(width,) WORK."""
    other: FloatArray
    """(width,) WORK."""
    looks: Looks
    """What is known about items that were looked at; without entries if f0 is not linear."""


# --- costs ---


@routine
def _linear_costs(e: Any, i: int) -> None:
    """What each cluster costs item i: its size term, and the rows of `gain`, block by block of draws."""
    z, size, sizes, single, cost = e.draws[i], e.price.size, e.sizes, e.single, e.cost
    lanes, n_draws = np.uint64(LANES), np.uint64(z.shape[0])
    used = (np.uint64(e.n_clusters[0]) // lanes + np.uint64(1)) * lanes  # K + 1, rounded up
    slope = e.slope[0]
    for s in range(used):
        cost[s] = slope * size[sizes[s]]
    begin = np.uint64(0)
    while begin < n_draws:
        end = min(begin + np.uint64(BLOCK), n_draws)
        add_block(z, begin, end, e.gain, used, single)
        for s in range(used):
            cost[s] += single[s]
        begin = end


@routine
def _linear_exact(e: Any, i: int, s: int) -> float:
    """Cost of cluster s for item i in double precision, from the counts, if f0 is linear."""
    # size[n_s] + sum over t of w_t joint[n_tvs], the counts without the item itself
    z, fold, joint = e.draws[i], e.fold, e.price.joint
    groups, width = np.uint64(e.counts.shape[1]), np.uint64(e.counts.shape[2])
    cells, at = flat(e.counts), np.uint64(s)
    inside = np.uint64(e.labels[i] == s)  # 1 if the counts of s include the item
    total = e.slope[0] * e.price.size[np.uint64(e.sizes[s]) - inside]
    for t in range(np.uint64(z.shape[0])):
        n = np.uint64(cells[(t * groups + np.uint64(z[t])) * width + at])
        total += fold[t] * joint[n - inside]
    return total


@routine
def _glance(e: Any, row: Any, i: int) -> None:
    """Cost of every cluster, and of a new one (entry K), for item i; of the tangent if f0 is not linear."""
    if row is not None and np.isnan(e.slope[0]):
        set_slope(row, e)
    _linear_costs(e, i)
    own = e.labels[i]
    # In its own cluster the rows count the item itself. Exact from the start: most items stay there.
    if own >= 0:
        e.cost[own] = _linear_exact(e, i, own)


@routine
def _costs(e: Any, row: Any, i: int) -> None:
    if row is None:
        _glance(e, row, i)
    else:
        ratio_costs(row, e, i)


@routine
def _exact(e: Any, row: Any, i: int, s: int) -> float:
    if row is None:
        return _linear_exact(e, i, s)
    return ratio_exact(row, e, i, s)


@part
def _error(e: Any, own: int, s: int) -> float:
    """Bound on the rounding error of the cost of s."""
    if s == own:
        return 0.0
    if e.price.rounding == 0.0:
        return e.price.margin / 2.0
    return e.price.rounding * abs(e.cost[s] - e.slope[0] * e.price.size[e.sizes[s]])


@routine
def _choose(e: Any, i: int, own: int, opens: bool) -> int:
    """The cluster of least cost; those that single precision cannot rank are computed exactly first."""
    cost = e.cost
    n = e.n_clusters[0] + 1 if opens else e.n_clusters[0]
    low = lowest(cost, n)
    # Each sum in single precision is off by at most half the margin, so a cluster that is further than
    # the margin above the lowest cannot be the best. If several are closer, their exact costs decide.
    # Joins (i = -1) are in double precision anyway.
    near = 0
    if i >= 0 and e.price.margin > 0.0:
        limit = low + e.price.margin
        for s in range(n):
            near += cost[s] <= limit
        if near > 1:
            # The margin is for the largest costs. Many small clusters may be close to each other while the
            # errors of their costs are much smaller: `high` is above the lowest of the exact costs.
            high = np.inf
            for s in range(n):
                if cost[s] <= limit:
                    high = min(high, cost[s] + _error(e, own, s))
            low = np.inf
            for s in range(n):
                if cost[s] <= limit and cost[s] - _error(e, own, s) <= high + e.price.tolerance:
                    if s != own:  # the cost of `own` is exact already
                        cost[s] = _linear_exact(e, i, s)
                    low = min(low, cost[s])
    best = first_of_best(cost, own, low + e.price.tolerance)
    # The only one within the margin has not been computed exactly yet.
    if near == 1 and best != own:
        cost[best] = _linear_exact(e, i, best)
    return best


# --- moves ---


@part
def _set_count(e: Any, t: int, v: int, s: int, n: int) -> None:
    """Write one count and its gain."""
    e.counts[t, v, s] = n
    e.gain[t, v, s] = e.fold[t] * e.price.joint[n]


@part
def _ends(low: float, high: float, change: float) -> tuple[float, float]:
    """The range of a sum of which any part may be left out, after a further term."""
    return low + min(change, 0.0), high + max(change, 0.0)


@routine
def _largest_change(e: Any, i: int, s: int, shift: int) -> tuple[float, float]:
    """By how much what s costs an item changes, at most, if item i joins s (shift 0) or leaves it (-1).

    First for the items of s, then for all others; f0 is linear.
    """
    # With n items of s in the group of i, not counting i, the cost of s for another item of that group
    # changes by joint[n + 1] - joint[n]; if that item is in s, and not counted either, by joint[n] -
    # joint[n - 1]. Items of other groups see no change in this draw. So the change of the sum over draws is
    # between that of its negative and that of its positive terms. Leaving only turns the signs around.
    z, fold, joint, size = e.draws[i], e.fold, e.price.joint, e.price.size
    n = e.sizes[s] + shift
    outside = size[n + 1] - size[n]
    inside = size[n] - size[n - 1] if n > 0 else 0.0
    low_in, high_in, low_out, high_out = inside, inside, outside, outside
    for t in range(z.shape[0]):
        n = np.int64(e.counts[t, z[t], s]) + shift
        low_out, high_out = _ends(low_out, high_out, fold[t] * (joint[n + 1] - joint[n]))
        if n > 0:
            low_in, high_in = _ends(low_in, high_in, fold[t] * (joint[n] - joint[n - 1]))
    return max(abs(low_in), abs(high_in)), max(abs(low_out), abs(high_out))


@routine
def _apply(e: Any, row: Any, i: int, s: int) -> None:
    """Item i goes to cluster s; s = K opens a new cluster, and a cluster left empty closes."""
    own = e.labels[i]
    joint, size, counts, z = e.price.joint, e.price.size, e.counts, e.draws[i]
    opens = s == e.n_clusters[0]
    e.n_clusters[0] += opens
    if row is None:
        left = _largest_change(e, i, own, -1) if own >= 0 else (0.0, 0.0)
        count_move(e.looks, i, own, s, left, _largest_change(e, i, s, 0), opens)
    # First the sizes without the item: what it adds to a cluster, or takes from it, depends on the others.
    if own >= 0:
        e.sizes[own] -= 1
    if row is not None:
        e.total[0] = np.nan
        e.slope[0] = np.nan
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


@routine
def _close(e: Any, empty: int) -> None:
    """Give the label of an empty cluster to the last cluster, so that labels have no gaps."""
    last = e.n_clusters[0] - 1
    e.n_clusters[0] = last
    if empty == last:
        return
    rename(e, last, empty)
    if e.looks.until.shape[0] > 0:
        rename_looks(e.looks, last, empty)
    # Column `last` of every table moves to column `empty`, which is zero.
    for t in range(e.counts.shape[0]):
        for v in range(e.counts.shape[1]):
            n = e.counts[t, v, last]
            if n > 0:
                _set_count(e, t, v, empty, n)
                _set_count(e, t, v, last, 0)


implement_execution(
    Tables,
    costs=_costs,
    glance=_glance,
    exact=_exact,
    choose=_choose,
    cost_of=entry,
    exclude=exclude_entry,
    least_gap=row_gap,
    apply=_apply,
    join_changes=table_join_changes,
    join=table_join,
)
