"""The execution for draws with missing labels: contingency tables of the items that each draw has seen.

Draw t has labels 1, 2, ... for the items it has seen, and 0 for the others. Its loss counts the items it has
seen, n_t of them, and no others:

    f0( sum over v, s of f1(n_tvs), sum over s of f2(n_ts), group_t, n_t )

where n_tvs counts the items in group v of draw t and in cluster s, and n_ts those in s that the draw has
seen: both sums differ from draw to draw. If item i, in group v of draw t, goes to cluster s, they grow by
joint[n_tvs] and size[n_ts]; if the draw has not seen the item, nothing changes. For a linear f0 the cost is

    sum over the draws that have seen i of fold[t] * joint[n_tvs] + size_fold[t] * size[n_ts]

The terms are kept in `gain`, in single precision, as in `tables`; the row of group 0 is zero. Where costs are
too close for single precision, and always if f0 is not linear, they are computed from the counts.
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
    row_gap,
)
from epluribus._kernels.looks import Looks, count_move
from epluribus._kernels.partial_joins import (
    add_losses,
    partial_join,
    partial_join_changes,
    refill,
    rename_column,
)
from epluribus._kernels.vector import BLOCK, LANES, add_block
from epluribus._typing import FloatArray, IntArray


class PartialTables(NamedTuple):
    """A partition under change, with the contingency tables of what each draw has seen."""

    price: Price
    """With f1 and f2 as they are: coefficients and weights are in `fold` and `size_fold`."""
    draws: NDArray[np.unsignedinteger]
    """(n_items, n_draws) labels of the draws, item-major; 0 is a missing label."""
    fold: FloatArray
    """(n_draws,) the factor of `joint`, if f0 is linear."""
    size_fold: FloatArray
    """(n_draws,) the factor of `size`, if f0 is linear."""
    n_seen: FloatArray
    """(n_draws,) number of items that each draw has seen."""
    labels: IntArray
    """(n_items,) labels 0..K-1 without gaps; -1 for an item in no cluster."""
    sizes: IntArray
    """(width,) cluster sizes; zero from K on."""
    n_clusters: IntArray
    """(1,) K."""
    counts: NDArray[np.integer]
    """(n_draws, groups, width): n_tvs for v > 0, and n_ts in the place of group 0; zero for s >= K."""
    gain: NDArray[np.floating]
    """(n_draws, groups, width): the terms of a linear cost; without entries if f0 is not linear, and in a
    state made for joins alone."""
    joint_sums: FloatArray
    """(n_draws,) sums of f1; kept up to date if f0 is not linear."""
    size_sums: FloatArray
    """(n_draws,) sums of f2, likewise."""
    cost: FloatArray
    """(width,) the row of costs computed last; entry K is a new cluster."""
    single: NDArray[np.float32]
    """(width,) WORK."""
    joint_row: FloatArray
    """(width,) WORK."""
    size_row: FloatArray
    """(width,) WORK."""
    value: FloatArray
    """(1,) WORK."""
    zero: FloatArray
    """(1,) the number zero ..."""
    first: IntArray
    """... and the position of the first entry of a row."""
    looks: Looks
    """What is known about items that were looked at; without entries if f0 is not linear."""


# --- costs ---


@part
def _linear_costs(e: Any, i: int) -> None:
    """The rows of `gain`, added up block by block of draws."""
    z, single, cost = e.draws[i], e.single, e.cost
    lanes, n_draws = np.uint64(LANES), np.uint64(z.shape[0])
    used = (np.uint64(e.n_clusters[0]) // lanes + np.uint64(1)) * lanes  # K + 1, rounded up
    for s in range(used):
        cost[s] = 0.0
    begin = np.uint64(0)
    while begin < n_draws:
        end = min(begin + np.uint64(BLOCK), n_draws)
        add_block(z, begin, end, e.gain, used, single)
        for s in range(used):
            cost[s] += single[s]
        begin = end


@routine
def _linear_exact(e: Any, i: int, s: int) -> float:
    """Cost of cluster s for item i in double precision, if f0 is linear."""
    z, joint, size = e.draws[i], e.price.joint, e.price.size
    inside = np.int64(e.labels[i] == s)  # 1 if the counts of s include the item
    total = 0.0
    for t in range(z.shape[0]):
        if z[t] > 0:
            n, m = np.int64(e.counts[t, z[t], s]) - inside, np.int64(e.counts[t, 0, s]) - inside
            total += e.fold[t] * joint[n] + e.size_fold[t] * size[m]
    return total


@part
def _take_out(e: Any, i: int, t: int) -> tuple[float, float]:
    """The joint and the size sum of draw t, which has seen item i, without the item."""
    joint, size, own = e.joint_sums[t], e.size_sums[t], e.labels[i]
    if own >= 0:
        joint -= e.price.joint[np.int64(e.counts[t, e.draws[i, t], own]) - 1]
        size -= e.price.size[np.int64(e.counts[t, 0, own]) - 1]
    return joint, size


@routine
def _ratio_costs(row: Any, e: Any, i: int) -> None:
    """The loss of the draws that have seen item i, with the item in each cluster."""
    own, n = e.labels[i], e.n_clusters[0] + 1
    z, joint, size = e.draws[i], e.price.joint, e.price.size
    for s in range(n):
        e.cost[s] = 0.0
    for t in range(z.shape[0]):
        if z[t] > 0:
            joint_sum, size_sum = _take_out(e, i, t)
            for s in range(n):
                e.joint_row[s] = joint_sum + joint[e.counts[t, z[t], s]]
                e.size_row[s] = size_sum + size[e.counts[t, 0, s]]
            # Its own cluster counts the item already.
            if own >= 0:
                e.joint_row[own] = e.joint_sums[t]
                e.size_row[own] = e.size_sums[t]
            add_losses(row, e, t, n, e.cost)


@routine
def _ratio_exact(row: Any, e: Any, i: int, s: int) -> float:
    """The loss of the draws that have seen item i, with the item in cluster s."""
    z, e.value[0] = e.draws[i], 0.0
    for t in range(z.shape[0]):
        if z[t] > 0:
            e.joint_row[0], e.size_row[0] = e.joint_sums[t], e.size_sums[t]
            if s != e.labels[i]:
                joint_sum, size_sum = _take_out(e, i, t)
                e.joint_row[0] = joint_sum + e.price.joint[e.counts[t, z[t], s]]
                e.size_row[0] = size_sum + e.price.size[e.counts[t, 0, s]]
            add_losses(row, e, t, 1, e.value)
    return e.value[0]


@routine
def _costs(e: Any, row: Any, i: int) -> None:
    if row is not None:
        _ratio_costs(row, e, i)
        return
    _linear_costs(e, i)
    own = e.labels[i]
    # In its own cluster the rows count the item itself.
    if own >= 0:
        e.cost[own] = _linear_exact(e, i, own)


@routine
def _exact(e: Any, row: Any, i: int, s: int) -> float:
    if row is None:
        return _linear_exact(e, i, s)
    return _ratio_exact(row, e, i, s)


@routine
def _choose(e: Any, i: int, own: int, opens: bool) -> int:
    """The cluster of least cost; those that single precision cannot rank are computed exactly first."""
    cost = e.cost
    n = e.n_clusters[0] + 1 if opens else e.n_clusters[0]
    low = lowest(cost, n)
    # Joins (i = -1) are in double precision anyway, and if f0 is not linear there is no margin.
    if i >= 0 and e.price.margin > 0.0:
        limit = low + e.price.margin
        low = np.inf
        for s in range(n):
            if cost[s] <= limit:
                if s != own:  # the cost of `own` is exact already
                    cost[s] = _linear_exact(e, i, s)
                low = min(low, cost[s])
    return first_of_best(cost, own, low + e.price.tolerance)


# --- moves ---


@part
def _ends(low: float, high: float, together: float, apart: float) -> tuple[float, float]:
    """The range of a sum, after a term that is one of two numbers or zero."""
    return low + min(0.0, min(together, apart)), high + max(0.0, max(together, apart))


@routine
def _largest_change(e: Any, i: int, s: int, shift: int) -> tuple[float, float]:
    """By how much what s costs an item changes, at most, if item i joins s (shift 0) or leaves it (-1).

    First for the items of s, then for all others; f0 is linear.
    """
    # As in `tables`. With n items of s in the group of i and m that the draw has seen, not counting i, the
    # cost of s for another item changes by `size` alone if it is in another group, by `joint` too if it is in
    # the same, and not at all if the draw has not seen it. An item of s does not count itself.
    z, joint, size = e.draws[i], e.price.joint, e.price.size
    low_in, high_in, low_out, high_out = 0.0, 0.0, 0.0, 0.0
    for t in range(z.shape[0]):
        if z[t] > 0:
            n = np.int64(e.counts[t, z[t], s]) + shift
            m = np.int64(e.counts[t, 0, s]) + shift
            apart = e.size_fold[t] * (size[m + 1] - size[m])
            together = apart + e.fold[t] * (joint[n + 1] - joint[n])
            low_out, high_out = _ends(low_out, high_out, together, apart)
            if m > 0:
                apart = e.size_fold[t] * (size[m] - size[m - 1])
                together = apart
                if n > 0:
                    together += e.fold[t] * (joint[n] - joint[n - 1])
                low_in, high_in = _ends(low_in, high_in, together, apart)
    return max(abs(low_in), abs(high_in)), max(abs(low_out), abs(high_out))


@routine
def _apply(e: Any, row: Any, i: int, s: int) -> None:
    """Item i goes to cluster s; s = K opens a new cluster, and a cluster left empty closes."""
    own, z = e.labels[i], e.draws[i]
    opens = s == e.n_clusters[0]
    e.n_clusters[0] += opens
    if row is None:
        left = _largest_change(e, i, own, -1) if own >= 0 else (0.0, 0.0)
        count_move(e.looks, i, own, s, left, _largest_change(e, i, s, 0), opens)
    for t in range(z.shape[0]):
        v = z[t]
        if v == 0:
            continue
        if row is not None:
            joint, size = _take_out(e, i, t)
            e.joint_sums[t] = joint + e.price.joint[e.counts[t, v, s]]
            e.size_sums[t] = size + e.price.size[e.counts[t, 0, s]]
        if own >= 0:
            e.counts[t, v, own] -= 1
            e.counts[t, 0, own] -= 1
            refill(e, t, own)
        e.counts[t, v, s] += 1
        e.counts[t, 0, s] += 1
        refill(e, t, s)
    e.sizes[s] += 1
    e.labels[i] = s
    if own >= 0:
        e.sizes[own] -= 1
        if e.sizes[own] == 0:
            last = e.n_clusters[0] - 1
            e.n_clusters[0] = last
            if own != last:
                rename_column(e, last, own)


implement_execution(
    PartialTables,
    costs=_costs,
    glance=_costs,
    exact=_exact,
    choose=_choose,
    cost_of=entry,
    exclude=exclude_entry,
    least_gap=row_gap,
    apply=_apply,
    join_changes=partial_join_changes,
    join=partial_join,
)
