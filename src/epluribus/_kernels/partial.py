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

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.engine import Price, first_of_best, implement_execution, lowest, row_gap
from epluribus._kernels.looks import Looks, count_move, rename_looks
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
def _gain(e: Any, t: int, v: int, s: int) -> float:
    """What one more item of group v adds to the total loss in cluster s, by draw t; f0 is linear."""
    return (
        e.fold[t] * e.price.joint[e.counts[t, v, s]]
        + e.size_fold[t] * e.price.size[e.counts[t, 0, s]]
    )


@kernel
def fill_partial_gain(e: Any) -> None:
    """Fill `gain` from the counts."""
    for t in range(e.counts.shape[0]):
        for s in range(e.counts.shape[2]):
            e.gain[t, 0, s] = 0.0
        for v in range(1, e.counts.shape[1]):
            for s in range(e.counts.shape[2]):
                e.gain[t, v, s] = _gain(e, t, v, s)


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


@part
def _add_losses(row: Any, e: Any, t: int, n: int, out: FloatArray) -> None:
    """Add the loss of draw t at the first n entries of `joint_row` and `size_row` to `out`."""
    one = slice(t, t + 1)
    # The sums are passed whole, as gains over a joint sum of 0.
    row(
        e.joint_row[:n], e.first, e.zero, e.size_row[:n], e.price.group[one], e.n_seen[t],
        e.price.weights[one], out[:n],
    )  # fmt: skip


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
            _add_losses(row, e, t, n, e.cost)


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
            _add_losses(row, e, t, 1, e.value)
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


@routine
def _cost_of(e: Any, s: int) -> float:
    return e.cost[s]


@routine
def _exclude(e: Any, s: int) -> None:
    e.cost[s] = np.inf


# --- moves ---


@part
def _refill(e: Any, t: int, s: int) -> None:
    """The gains of cluster s in draw t, after its counts have changed."""
    if e.gain.shape[0] > 0:
        for v in range(1, e.counts.shape[1]):
            e.gain[t, v, s] = _gain(e, t, v, s)


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
            _refill(e, t, own)
        e.counts[t, v, s] += 1
        e.counts[t, 0, s] += 1
        _refill(e, t, s)
    e.sizes[s] += 1
    e.labels[i] = s
    if own >= 0:
        e.sizes[own] -= 1
        if e.sizes[own] == 0:
            last = e.n_clusters[0] - 1
            e.n_clusters[0] = last
            if own != last:
                _rename(e, last, own)


@routine
def _rename(e: Any, last: int, empty: int) -> None:
    """Give the label of an empty cluster to the last one."""
    for i in range(e.labels.shape[0]):
        if e.labels[i] == last:
            e.labels[i] = empty
    e.sizes[empty] = e.sizes[last]
    e.sizes[last] = 0
    if e.looks.until.shape[0] > 0:
        rename_looks(e.looks, last, empty)
    for t in range(e.counts.shape[0]):
        for v in range(e.counts.shape[1]):
            e.counts[t, v, empty] = e.counts[t, v, last]
            e.counts[t, v, last] = 0
        _refill(e, t, empty)
        _refill(e, t, last)


# --- joins ---


@routine
def _draw_changes(e: Any, t: int, a: int, weight: float, size_weight: float) -> None:
    """Add to `joint_row` and `size_row` what joining a with each cluster changes in the sums of draw t."""
    f1, f2, counts, k = e.price.f1, e.price.f2, e.counts, e.n_clusters[0]
    for v in range(1, counts.shape[1]):
        n = np.int64(counts[t, v, a])
        if n > 0:
            for s in range(k):
                m = np.int64(counts[t, v, s])
                if m > 0 and s != a:
                    e.joint_row[s] += weight * (f1[n + m] - f1[n] - f1[m])
    n = np.int64(counts[t, 0, a])
    for s in range(k):
        m = np.int64(counts[t, 0, s])
        if s != a and n > 0 and m > 0:
            e.size_row[s] += size_weight * (f2[n + m] - f2[n] - f2[m])


@routine
def _join_changes(e: Any, row: Any, a: int) -> None:
    """Change of the total loss if a is joined with each cluster; infinite for a itself."""
    k, n_draws = e.n_clusters[0], e.counts.shape[0]
    cost = e.cost
    for s in range(k):
        cost[s] = 0.0
        e.joint_row[s] = 0.0
        e.size_row[s] = 0.0
    for t in range(n_draws):
        if row is None:
            _draw_changes(e, t, a, e.fold[t], e.size_fold[t])
        else:
            # f0 at the sums after each join; entry a, with no change, is the present loss.
            for s in range(k):
                e.joint_row[s] = e.joint_sums[t]
                e.size_row[s] = e.size_sums[t]
            _draw_changes(e, t, a, 1.0, 1.0)
            _add_losses(row, e, t, k, cost)
    if row is None:
        for s in range(k):
            cost[s] = e.joint_row[s] + e.size_row[s]
    else:
        now = cost[a]
        for s in range(k):
            cost[s] -= now
    cost[a] = np.inf


@routine
def _join(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    last, f1, f2 = e.n_clusters[0] - 1, e.price.f1, e.price.f2
    e.looks.until[:] = -np.inf  # too much changes: all items must be looked at again
    for i in range(e.labels.shape[0]):
        if e.labels[i] == b:
            e.labels[i] = a
    e.sizes[a] += e.sizes[b]
    e.sizes[b] = 0
    for t in range(e.counts.shape[0]):
        for v in range(e.counts.shape[1]):
            n, m = np.int64(e.counts[t, v, a]), np.int64(e.counts[t, v, b])
            if m > 0:
                if row is not None and v > 0:
                    e.joint_sums[t] += f1[n + m] - f1[n] - f1[m]
                elif row is not None:
                    e.size_sums[t] += f2[n + m] - f2[n] - f2[m]
                e.counts[t, v, a] = n + m
                e.counts[t, v, b] = 0
        _refill(e, t, a)
        _refill(e, t, b)
    e.n_clusters[0] = last
    if b != last:
        _rename(e, last, b)


implement_execution(
    PartialTables,
    costs=_costs,
    glance=_costs,
    exact=_exact,
    choose=_choose,
    cost_of=_cost_of,
    exclude=_exclude,
    least_gap=row_gap,
    apply=_apply,
    join_changes=_join_changes,
    join=_join,
)
