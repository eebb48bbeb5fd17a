"""Sweeps and joins by walking through the members of groups: for samples of many small clusters.

Item i adds `joint[n_tvs]` to the joint sum of draw t if it goes to cluster s, v = z_ti. Where groups
are small, n_tvs is found by a walk through the members of group v: no contingency table is kept. A
cluster that no group of item i meets, in any draw, costs what any other of its size costs, so

    cost of s  =  by_size[n_s] + extra[s]

with `extra` other than 0 only for clusters that were met. The same holds for joining cluster a with s,
for f0 linear (`row` is None) and for any other. If f0 is linear, a group that several draws share is
walked through once (`sets`). All sums are in double precision.

Ties are settled as in the kernels of `sweep`: an item stays unless a move lowers the loss by more than
the tolerance; then the smallest label wins, and a new cluster comes last; a cluster left empty gives its
label to the last cluster.

Time of a sweep: the sum over the sets of the square of their size, and for f0 not linear items x draws x
sizes in use. Memory: at most 8 bytes for each draw and item.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part
from epluribus._kernels.structs import Clusters, MergeTables, Met, Partners, Sets, Tables

__all__ = [
    "fill_clusters",
    "members_allocate",
    "members_costs",
    "members_merge",
    "members_sweep",
    "members_take",
]

# --- the clusters of the estimate ---


@part
def _resize(clusters: Clusters, s: int, n: int) -> None:
    """Set the size of cluster s, and keep the list of sizes in use; 0 always stays on it."""
    old = clusters.sizes[s]
    clusters.sizes[s] = n
    if old > 0:
        clusters.n_of_size[old] -= 1
        if clusters.n_of_size[old] == 0:  # the last kind takes its place
            clusters.n_kinds[0] -= 1
            moved = clusters.kinds[clusters.n_kinds[0]]
            clusters.kinds[clusters.kind_at[old]] = moved
            clusters.kind_at[moved] = clusters.kind_at[old]
    if n > 0:
        clusters.n_of_size[n] += 1
        if clusters.n_of_size[n] == 1:
            clusters.kinds[clusters.n_kinds[0]] = n
            clusters.kind_at[n] = clusters.n_kinds[0]
            clusters.n_kinds[0] += 1


@part
def _take(clusters: Clusters, i: int) -> None:
    """Take item i out of its cluster: its label is -1 until it is put somewhere."""
    s = clusters.labels[i]
    clusters.labels[i] = -1
    before, after = clusters.before[i], clusters.after[i]
    clusters.after[before] = after
    clusters.before[after] = before
    clusters.one[s] = after
    _resize(clusters, s, clusters.sizes[s] - 1)


@part
def _put(clusters: Clusters, i: int, s: int) -> None:
    """Put item i, which is in no cluster, into s; s = K opens a new cluster."""
    clusters.labels[i] = s
    if s == clusters.n_clusters[0]:
        clusters.n_clusters[0] += 1
    if clusters.sizes[s] == 0:
        clusters.one[s] = i
        clusters.after[i] = i
        clusters.before[i] = i
    else:
        after = clusters.one[s]
        before = clusters.before[after]
        clusters.after[before] = i
        clusters.before[i] = before
        clusters.after[i] = after
        clusters.before[after] = i
    _resize(clusters, s, clusters.sizes[s] + 1)


@part
def _rename(clusters: Clusters, s: int, name: int) -> None:
    """Give all items of cluster s, which is not empty, another label."""
    i = clusters.one[s]
    for _ in range(clusters.sizes[s]):
        clusters.labels[i] = name
        i = clusters.after[i]


@part
def _close(clusters: Clusters, empty: int) -> None:
    """Give the label of an empty cluster to the last cluster."""
    last = clusters.n_clusters[0] - 1
    clusters.n_clusters[0] = last
    if empty != last:
        _rename(clusters, last, empty)
        clusters.one[empty] = clusters.one[last]
        clusters.sizes[empty] = clusters.sizes[last]
        clusters.sizes[last] = 0


@kernel
def fill_clusters(labels: NDArray[np.int64], n_clusters: int, clusters: Clusters) -> None:
    """Put every item into its cluster, in empty `clusters`; an item with label -1 into none."""
    clusters.n_clusters[0] = n_clusters
    clusters.n_kinds[0] = 1  # the size 0
    for i in range(labels.shape[0]):
        clusters.labels[i] = -1
        if labels[i] >= 0:
            _put(clusters, i, labels[i])


@kernel
def members_take(clusters: Clusters, i: int) -> None:
    """Take item i out of its cluster."""
    _take(clusters, i)


# --- costs ---


@part
def _meet(met: Met, s: int) -> None:
    """Enter cluster s in the list of those met."""
    if met.is_met[s] == 0:
        met.is_met[s] = 1
        met.clusters[met.n_met[0]] = s
        met.n_met[0] += 1


@part
def _forget(met: Met) -> None:
    """Clear the list."""
    for q in range(met.n_met[0]):
        s = met.clusters[q]
        met.is_met[s] = 0
        met.extra[s] = 0.0
    met.n_met[0] = 0


@part
def _count_set(
    labels: NDArray[np.int64],
    members: NDArray[np.int32],
    begin: int,
    end: int,
    near: NDArray[np.int64],  # OUT, filled from n_near on
    count: NDArray[np.int64],  # OUT, zero on entry
    n_near: int,
) -> int:
    """Count members[begin:end] in each cluster; return the new length of `near`."""
    for at in range(begin, end):
        s = labels[members[at]]
        if s >= 0:
            if count[s] == 0:
                near[n_near] = s
                n_near += 1
            count[s] += 1
    return n_near


@part
def _account(
    row: Any,
    clusters: Clusters,
    met: Met,
    n_near: int,
    base: float,
    joint: float,
    group: float,
    n_items: float,
    weight: float,
) -> None:
    """Add f0 of one draw to `by_size` and `extra`.

    `met.change[s]` is the change of the joint sum for the first n_near clusters of `met.near`, `base`
    that for all others; `met.size[q]` is the size sum for the q-th size in use.
    """
    # Arrays by name: each look into a struct would count references.
    near, gain, size, value, extra = met.near, met.gain, met.size, met.value, met.extra
    kinds, kind_at, sizes = clusters.kinds, clusters.kind_at, clusters.sizes
    by_size, change, is_met = met.by_size, met.change, met.is_met
    n_kinds = clusters.n_kinds[0]
    length = n_kinds + n_near
    for q in range(n_kinds):
        gain[q] = base
        value[q] = 0.0
    for q in range(n_near):
        s = near[q]
        gain[n_kinds + q] = change[s]
        size[n_kinds + q] = size[kind_at[sizes[s]]]
        value[n_kinds + q] = 0.0
    row(gain[:length], joint, size[:length], group, n_items, weight, value[:length])
    for q in range(n_kinds):
        by_size[kinds[q]] += value[q]
    for q in range(n_near):
        s = near[q]
        if is_met[s] == 0:
            _meet(met, s)
        extra[s] += value[n_kinds + q] - value[kind_at[sizes[s]]]


@part
def _cost(clusters: Clusters, met: Met, s: int) -> float:
    return met.by_size[clusters.sizes[s]] + met.extra[s]


@kernel
def _choose(clusters: Clusters, met: Met, own: int, opens: bool, tolerance: float) -> int:
    """The cluster of least cost; `own` (-1 for none) if it is as good, then the smallest label."""
    low = np.inf
    for q in range(met.n_met[0]):
        s = met.clusters[q]
        low = min(low, _cost(clusters, met, s))
        clusters.n_of_size[clusters.sizes[s]] -= 1  # until the end: how many were not met
    for q in range(clusters.n_kinds[0]):
        n = clusters.kinds[q]
        if clusters.n_of_size[n] > 0:
            low = min(low, met.by_size[n])
    if opens:
        low = min(low, met.by_size[0])
    enough = low + tolerance
    best = clusters.n_clusters[0]
    if own >= 0 and _cost(clusters, met, own) <= enough:
        best = own
    else:
        for q in range(met.n_met[0]):
            s = met.clusters[q]
            if s < best and _cost(clusters, met, s) <= enough:
                best = s
        for q in range(clusters.n_kinds[0]):
            n = clusters.kinds[q]
            if clusters.n_of_size[n] > 0 and met.by_size[n] <= enough:
                for s in range(best):
                    if clusters.sizes[s] == n and met.is_met[s] == 0:
                        best = s
                        break
    for q in range(met.n_met[0]):
        clusters.n_of_size[clusters.sizes[met.clusters[q]]] += 1
    return best


@kernel
def members_costs(
    row: Any,
    sets: Sets,
    weights: NDArray[np.float64],
    clusters: Clusters,
    i: int,
    own: int,
    tables: Tables,
    joint: NDArray[np.float64],
    group: NDArray[np.float64],
    size_sum: float,
    met: Met,  # OUT, nothing met on entry
) -> None:
    """Cost of adding item i, which has been taken out of cluster `own` (-1 for none), to every cluster.

    If f0 is linear, without what `joint[0]` adds to all of them.

    `joint` and `size_sum` are those with the item in its place. They are used if f0 is not linear.
    """
    labels, first, member, of = clusters.labels, sets.first, sets.member, sets.of
    near, count, change, extra, is_met = met.near, met.counts, met.change, met.extra, met.is_met
    weight, table = sets.weight, tables.joint
    base = table[0]
    n_items = float(labels.shape[0])
    if own >= 0:
        _meet(met, own)
        size_sum -= tables.size[clusters.sizes[own]]
    for q in range(clusters.n_kinds[0]):
        n = clusters.kinds[q]
        met.by_size[n] = tables.size[n] if row is None else 0.0
        met.size[q] = size_sum + tables.size[n]
    begin = sets.of_first[i]
    for at in range(begin, sets.of_first[i + 1]):
        b = of[at]
        n_near = _count_set(labels, member, first[b], first[b + 1], near, count, 0)
        if row is None:
            for q in range(n_near):
                s = near[q]
                if is_met[s] == 0:
                    _meet(met, s)
                extra[s] += weight[b] * (table[count[s]] - base)
                count[s] = 0
        else:
            t = at - begin
            now = joint[t]
            if own >= 0:
                now -= table[count[own]]
            for q in range(n_near):
                s = near[q]
                change[s] = table[count[s]]
                count[s] = 0
            _account(row, clusters, met, n_near, base, now, group[t], n_items, weights[t])


# --- sweeps ---


@kernel
def _shift_joint(
    sets: Sets,
    clusters: Clusters,
    i: int,
    s: int,
    tables: Tables,
    sign: float,
    joint: NDArray[np.float64],  # OUT, changed
) -> None:
    """Add (sign 1) or subtract (-1) from the joint sums what item i, now out, adds in cluster s."""
    for t in range(joint.shape[0]):
        b = sets.of[sets.of_first[i] + t]
        n = 0
        for at in range(sets.first[b], sets.first[b + 1]):
            n += clusters.labels[sets.member[at]] == s
        joint[t] += sign * tables.joint[n]


@kernel
def members_sweep(
    row: Any,
    sets: Sets,
    weights: NDArray[np.float64],
    clusters: Clusters,
    tables: Tables,
    order: NDArray[np.int64],
    k_min: int,
    k_max: int,
    stop: NDArray[np.uint8],
    joint: NDArray[np.float64],  # joint sums of all draws, kept up to date if f0 is not linear
    group: NDArray[np.float64],
    size_sum: NDArray[np.float64],  # (1,) size sum, kept up to date if f0 is not linear
    met: Met,  # WORK
    n_moves: NDArray[np.int64],  # OUT (1,), counted on
) -> int:
    """Visit the items in `order`, each put into its best cluster; return how many were visited.

    It ends early when `stop[0]` is set.
    """
    for position in range(order.shape[0]):
        if stop[0]:
            return position
        i = order[position]
        own = clusters.labels[i]
        k = clusters.n_clusters[0]
        alone = clusters.sizes[own] == 1
        if alone and k <= k_min:
            continue
        _take(clusters, i)
        members_costs(row, sets, weights, clusters, i, own, tables, joint, group, size_sum[0], met)
        best = _choose(clusters, met, own, not alone and k < k_max, tables.tolerance)
        _forget(met)
        if best != own:
            n_moves[0] += 1
            if row is not None:
                _shift_joint(sets, clusters, i, own, tables, -1.0, joint)
                _shift_joint(sets, clusters, i, best, tables, 1.0, joint)
                size_sum[0] += tables.size[clusters.sizes[best]]
                size_sum[0] -= tables.size[clusters.sizes[own]]
        _put(clusters, i, best)
        if clusters.sizes[own] == 0:
            _close(clusters, own)
    return order.shape[0]


@kernel
def members_allocate(
    row: Any,
    sets: Sets,
    weights: NDArray[np.float64],
    clusters: Clusters,
    tables: Tables,
    order: NDArray[np.int64],
    k_max: int,
    joint: NDArray[np.float64],  # kept up to date if f0 is not linear
    group: NDArray[np.float64],
    size_sum: NDArray[np.float64],  # (1,), kept up to date if f0 is not linear
    met: Met,  # WORK
) -> None:
    """Put the unassigned items one by one, in `order`, into the best cluster."""
    for i in order:
        members_costs(row, sets, weights, clusters, i, -1, tables, joint, group, size_sum[0], met)
        best = _choose(clusters, met, -1, clusters.n_clusters[0] < k_max, tables.tolerance)
        _forget(met)
        if row is not None:
            _shift_joint(sets, clusters, i, best, tables, 1.0, joint)
            size_sum[0] += tables.size[clusters.sizes[best]]
        _put(clusters, i, best)


# --- joining clusters: what is remembered, and when it is computed anew, is as in `merge` ---


@kernel
def _joint_changes(
    sets: Sets, clusters: Clusters, f1: NDArray[np.float64], t: int, a: int, met: Met
) -> int:
    """Weighted change of the joint sum if a is joined with each cluster it meets.

    In the t-th sets of its items, or in all of them if t is -1. Fills `met.change` for the clusters of
    `met.near`; returns their number.
    """
    labels, first, member, of = clusters.labels, sets.first, sets.member, sets.of
    near, is_near, count, change, seen = met.near, met.is_near, met.counts, met.change, met.seen
    n_near = 0
    i = clusters.one[a]
    for _ in range(clusters.sizes[a]):
        begin = sets.of_first[i] + max(t, 0)
        end = sets.of_first[i + 1] if t < 0 else begin + 1
        for at in range(begin, end):
            b = of[at]
            if seen[b] == 1:  # it holds another item of a
                continue
            seen[b] = 1
            n_all = _count_set(labels, member, first[b], first[b + 1], near, count, n_near)
            n = count[a]
            kept = n_near
            for q in range(n_near, n_all):
                s = near[q]
                m = count[s]
                count[s] = 0
                if s == a:
                    continue
                if is_near[s] == 0:
                    is_near[s] = 1
                    change[s] = 0.0
                    near[kept] = s
                    kept += 1
                change[s] += sets.weight[b] * (f1[n + m] - f1[n] - f1[m])
            n_near = kept
        i = clusters.after[i]
    for _ in range(clusters.sizes[a]):
        begin = sets.of_first[i] + max(t, 0)
        end = sets.of_first[i + 1] if t < 0 else begin + 1
        for at in range(begin, end):
            seen[of[at]] = 0
        i = clusters.after[i]
    for q in range(n_near):
        is_near[near[q]] = 0
    return n_near


@kernel
def _size_change(tables: MergeTables, n: int, m: int) -> float:
    total = min(n + m, tables.f2.shape[0] - 1)  # beyond it no other cluster has m items
    return tables.f2[total] - tables.f2[n] - tables.f2[m]


@kernel
def _find_partner(
    row: Any,
    sets: Sets,
    clusters: Clusters,
    tables: MergeTables,
    partners: Partners,
    a: int,
    tolerance: float,
    met: Met,
) -> None:
    """Find the best partner of cluster a and the change of the total loss if they are joined.

    The changes with all clusters stay in `met`.
    """
    _meet(met, a)
    for q in range(clusters.n_kinds[0]):
        n = clusters.kinds[q]
        change = _size_change(tables, clusters.sizes[a], n)
        met.by_size[n] = change if row is None else 0.0
        met.size[q] = partners.size_sum[0] + change
    if row is None:
        n_near = _joint_changes(sets, clusters, tables.f1, -1, a, met)
        for q in range(n_near):
            s = met.near[q]
            _meet(met, s)
            met.extra[s] = met.change[s]
    else:
        none = np.zeros(1)
        now = np.zeros(1)
        size_now = np.full(1, partners.size_sum[0])
        for t in range(tables.weights.shape[0]):
            n_near = _joint_changes(sets, clusters, tables.f1, t, a, met)
            joint, group, weight = partners.joint[t], tables.group[t], tables.weights[t]
            _account(row, clusters, met, n_near, 0.0, joint, group, tables.n_items, weight)
            row(none, joint, size_now, group, tables.n_items, weight, now)
        for q in range(clusters.n_kinds[0]):
            met.by_size[clusters.kinds[q]] -= now[0]
    met.extra[a] = np.inf
    best = _choose(clusters, met, -1, False, tolerance)
    partners.partner[a] = best
    partners.best[a] = _cost(clusters, met, best)
    partners.fresh[a] = 1


@kernel
def _join(
    row: Any,
    sets: Sets,
    clusters: Clusters,
    tables: MergeTables,
    partners: Partners,
    a: int,
    b: int,
    met: Met,
) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    if row is not None:
        for t in range(tables.weights.shape[0]):
            n_near = _joint_changes(sets, clusters, tables.f1, t, a, met)
            for q in range(n_near):
                if met.near[q] == b:
                    partners.joint[t] += met.change[b]
    partners.size_sum[0] += _size_change(tables, clusters.sizes[a], clusters.sizes[b])
    _rename(clusters, b, a)
    i, j = clusters.one[a], clusters.one[b]  # two rings of items become one
    i_after, j_after = clusters.after[i], clusters.after[j]
    clusters.after[i], clusters.before[j_after] = j_after, i
    clusters.after[j], clusters.before[i_after] = i_after, j
    _resize(clusters, a, clusters.sizes[a] + clusters.sizes[b])
    _resize(clusters, b, 0)
    last = clusters.n_clusters[0] - 1
    _close(clusters, b)
    partners.partner[b] = partners.partner[last]
    partners.best[b] = partners.best[last]
    partners.fresh[b] = partners.fresh[last]


@kernel
def _refresh(row: Any, clusters: Clusters, partners: Partners, a: int, b: int, met: Met) -> None:
    """Mend the partners after b was joined into a, whose changes are in `met`, and the last became b."""
    k = clusters.n_clusters[0]
    for s in range(k):
        if s == a:
            continue
        lost = partners.partner[s] == a or partners.partner[s] == b
        if partners.partner[s] == k:
            partners.partner[s] = b
        change = _cost(clusters, met, s)
        if change <= partners.best[s]:
            partners.best[s] = change
            partners.partner[s] = a
        elif lost or row is not None:
            partners.fresh[s] = 0


@kernel
def members_merge(
    row: Any,
    sets: Sets,
    clusters: Clusters,
    tables: MergeTables,
    partners: Partners,
    k_min: int,
    k_max: int,
    tolerance: float,
    stop: NDArray[np.uint8],
    met: Met,  # WORK
) -> None:
    """Join the best pair while the loss falls, or while there are more than k_max clusters."""
    if clusters.n_clusters[0] == 1:
        return
    for a in range(clusters.n_clusters[0]):
        if stop[0]:
            return
        _find_partner(row, sets, clusters, tables, partners, a, tolerance, met)
        _forget(met)
    while clusters.n_clusters[0] > k_min and not stop[0]:
        a = 0
        for s in range(1, clusters.n_clusters[0]):
            if partners.best[s] < partners.best[a]:
                a = s
        if not partners.fresh[a]:
            _find_partner(row, sets, clusters, tables, partners, a, tolerance, met)
            _forget(met)
            continue
        if partners.best[a] > -tolerance and clusters.n_clusters[0] <= k_max:
            return
        b = max(a, partners.partner[a])
        a = min(a, partners.partner[a])
        _join(row, sets, clusters, tables, partners, a, b, met)
        if clusters.n_clusters[0] > 1:
            _find_partner(row, sets, clusters, tables, partners, a, tolerance, met)
            _refresh(row, clusters, partners, a, b, met)
            _forget(met)
