"""The execution that walks through the members of groups: for samples with many small clusters.

A *group* is a cluster of a draw. If item i, in group v of draw t, goes to cluster s, it adds `joint[n_tvs]`
to the joint sum of draw t. Where groups are small, n_tvs is found by a walk through the members of group v:
no contingency table is kept. A group *touches* the clusters of its members. A cluster that no group of item i
touches, in any draw, costs the same as any other such cluster of its size, so

    cost of s  =  by_size[n_s] + extra[s]

where `extra` differs from 0 only for the clusters touched. The same holds for joining cluster a with s,
whether f0 is linear (`row` is None) or not. If f0 is linear, a group that several draws share is walked
through once (`sets`). All sums are in double precision.

Time of a sweep: the sum over the sets of their squared sizes and, if f0 is not linear, items x draws x sizes
in use. Memory: at most 8 bytes for each draw and item.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.engine import implement_execution, size_change
from epluribus._kernels.member_looks import announce_move, least_extra, members_gap
from epluribus._kernels.sets import Members as Members  # importing it here registers its functions
from epluribus._kernels.sets import close_cluster, join_rings, put_item, take_item
from epluribus._typing import IntArray

# --- rows of costs ---


@part
def _touch(e: Any, s: int) -> None:
    """Enter cluster s into the list of those touched."""
    if e.is_touched[s] == 0:
        e.is_touched[s] = 1
        e.touched[e.n_touched[0]] = s
        e.n_touched[0] += 1


@part
def _new_row(e: Any) -> None:
    """Clear the row of costs computed last."""
    for q in range(e.n_touched[0]):
        s = e.touched[q]
        e.is_touched[s] = 0
        e.extra[s] = 0.0
    e.n_touched[0] = 0


@part
def _count_set(
    labels: IntArray,
    member: NDArray[np.int32],
    begin: int,
    end: int,
    here: IntArray,  # OUT, filled from n_here on
    count: IntArray,  # OUT, zero on entry
    n_here: int,
) -> int:
    """Count member[begin:end] in each cluster, clusters listed in `here`; return its new length."""
    # Runs of one label are counted in a register: adding to the same entry of an array would wait for memory
    # each time. -1 is also the label of an item in no cluster, such as the one to be moved: not counted.
    last = -1
    run = 0
    for at in range(begin, end):
        s = labels[member[at]]
        if s == last:
            run += 1
            continue
        if last >= 0:
            if count[last] == 0:
                here[n_here] = last
                n_here += 1
            count[last] += run
        last = s
        run = 1
    if last >= 0:
        if count[last] == 0:
            here[n_here] = last
            n_here += 1
        count[last] += run
    return n_here


@part
def _add_values(row: Any, e: Any, own: int, n_here: int, base: float, t: int) -> None:
    """Add f0 of draw t, with the joint sum `now`, to `by_size` and `extra`.

    `change[s]` is the change of the joint sum for the first n_here clusters of `here`, `base` the change for
    all others; `size_row[q]` is the size sum for the q-th size in use. The cluster `own` (-1 for none) is in
    `here`, and its size sum is the present one.
    """
    here, gain, size, value, extra = e.here, e.gain_row, e.size_row, e.value, e.extra
    used_sizes, place, sizes, by_size, change = e.used_sizes, e.place, e.sizes, e.by_size, e.change
    # One row for f0: an entry for each size in use (for untouched clusters), then one per cluster touched.
    n_used = e.n_used[0]
    length = n_used + n_here
    for q in range(n_used):
        gain[q] = base
        value[q] = 0.0
    for q in range(n_here):
        s = here[q]
        gain[n_used + q] = change[s]
        size[n_used + q] = size[place[sizes[s]]] if s != own else e.size_sum[0]
        value[n_used + q] = 0.0
    n_items = float(e.labels.shape[0])
    group, weight = e.price.group[t : t + 1], e.price.weights[t : t + 1]
    row(gain[:length], e.first, e.now, size[:length], group, n_items, weight, value[:length])
    # Every cluster gets the value of its size; one that is touched, the difference from it as well.
    for q in range(n_used):
        by_size[used_sizes[q]] += value[q]
    for q in range(n_here):
        s = here[q]
        _touch(e, s)
        extra[s] += value[n_used + q] - value[place[sizes[s]]]


@routine
def _cost_of(e: Any, s: int) -> float:
    return e.by_size[e.sizes[s]] + e.extra[s]


@routine
def _exclude(e: Any, s: int) -> None:
    # Only clusters touched have an entry of their own; the cluster of the item always is.
    _touch(e, s)
    e.extra[s] = np.inf


@routine
def _choose(e: Any, i: int, own: int, opens: bool) -> int:
    """The cluster of least cost; `own` (-1 for none) if it is as good, then the smallest label."""
    # Most items stay, whatever the sizes of the other clusters.
    if own >= 0 and _cost_of(e, own) <= e.least_size[0] + least_extra(e, own):
        return own
    # The lowest cost among the clusters touched, one by one, and the others, one value for each size.
    low = np.inf
    for q in range(e.n_touched[0]):
        s = e.touched[q]
        low = min(low, _cost_of(e, s))
        e.n_of_size[e.sizes[s]] -= 1  # until the end of this function: how many were not touched
    for q in range(e.n_used[0]):
        n = e.used_sizes[q]
        if e.n_of_size[n] > 0:
            low = min(low, e.by_size[n])
    if opens:
        low = min(low, e.by_size[0])
    # Ties as in `tables`: stay, else the smallest label, a new cluster (label K) last.
    enough = low + e.price.tolerance
    best = e.n_clusters[0]
    if own >= 0 and _cost_of(e, own) <= enough:
        best = own
    else:
        for q in range(e.n_touched[0]):
            s = e.touched[q]
            if s < best and _cost_of(e, s) <= enough:
                best = s
        for q in range(e.n_used[0]):
            n = e.used_sizes[q]
            if e.n_of_size[n] > 0 and e.by_size[n] <= enough:
                # Rare: an untouched cluster is as good as the best. Find the one with the smallest label.
                for s in range(best):
                    if e.sizes[s] == n and e.is_touched[s] == 0:
                        best = s
                        break
    for q in range(e.n_touched[0]):
        e.n_of_size[e.sizes[e.touched[q]]] += 1
    return best


@routine
def _costs(e: Any, row: Any, i: int) -> None:
    """Cost of every cluster, and of a new one, for item i.

    If f0 is linear, the constant sum over draws of w_t joint[0], the same for all clusters, is left out.
    """
    _new_row(e)
    own = e.labels[i]
    if own >= 0:
        _touch(e, own)
    e.labels[i] = -1  # the walk must not count the item itself
    if row is None:
        _linear_costs(e, i, own)
    else:
        _ratio_costs(row, e, i, own)
    e.labels[i] = own


@routine
def _linear_costs(e: Any, i: int, own: int) -> None:
    labels, first, member, sets_of = e.labels, e.sets.first, e.sets.member, e.sets.sets_of
    here, count, extra, weight = e.here, e.tally, e.extra, e.sets.weight
    joint, size = e.price.joint, e.price.size
    # by_size[n] = f2(n + 1) - f2(n), what the item adds to the size sum; size 0 stands for a new cluster.
    for q in range(e.n_used[0]):
        n = e.used_sizes[q]
        e.by_size[n] = size[n]
    # extra[s] = sum over the groups of the item of weight (joint[n] - joint[0]), n being the number of their
    # members in s.
    for at in range(e.sets.first_of[i], e.sets.first_of[i + 1]):
        b = sets_of[at]
        n_here = _count_set(labels, member, first[b], first[b + 1], here, count, 0)
        for q in range(n_here):
            s = here[q]
            _touch(e, s)
            extra[s] += weight[b] * (joint[count[s]] - joint[0])
            count[s] = 0
    if own >= 0:  # without the item its own cluster has one item less than `sizes` says
        extra[own] += size[e.sizes[own] - 1] - size[e.sizes[own]]


@routine
def _ratio_costs(row: Any, e: Any, i: int, own: int) -> None:
    labels, first, member, sets_of = e.labels, e.sets.first, e.sets.member, e.sets.sets_of
    here, count, change, joint, price = e.here, e.tally, e.change, e.price.joint, e.price
    # Size sums with the item in a cluster of each size, as if it had been taken out of its own before.
    size_sum = e.size_sum[0]
    if own >= 0:
        size_sum -= price.size[e.sizes[own] - 1]
    for q in range(e.n_used[0]):
        n = e.used_sizes[q]
        e.by_size[n] = 0.0
        e.size_row[q] = size_sum + price.size[n]
    # For each draw t: the joint sum without the item, and what the item adds to it in each cluster.
    begin = e.sets.first_of[i]
    for t in range(price.weights.shape[0]):
        b = sets_of[begin + t]
        n_here = 0
        if own >= 0:  # always in the list; a count of 1 keeps it from being listed twice
            here[0] = own
            count[own] = 1
            n_here = 1
        n_here = _count_set(labels, member, first[b], first[b + 1], here, count, n_here)
        e.now[0] = e.joint_sums[t]
        if own >= 0:
            count[own] -= 1
            e.now[0] -= joint[count[own]]
        for q in range(n_here):
            s = here[q]
            change[s] = joint[count[s]]
            count[s] = 0
        _add_values(row, e, own, n_here, joint[0], t)


@routine
def _exact(e: Any, row: Any, i: int, s: int) -> float:
    _costs(e, row, i)
    return _cost_of(e, s)


# --- moves ---


@routine
def _shift_joint(e: Any, i: int, s: int, sign: float) -> None:
    """Add to the joint sums (sign 1), or subtract (-1), what item i, now out, adds in cluster s."""
    labels, first, member, sets_of = e.labels, e.sets.first, e.sets.member, e.sets.sets_of
    for t in range(e.joint_sums.shape[0]):
        b = sets_of[e.sets.first_of[i] + t]
        n = 0
        for at in range(first[b], first[b + 1]):
            n += labels[member[at]] == s
        e.joint_sums[t] += sign * e.price.joint[n]


@routine
def _apply(e: Any, row: Any, i: int, s: int) -> None:
    """Item i goes to cluster s; s = K opens a new cluster, and a cluster left empty closes."""
    # The running sums change by what the item adds to its old and to its new cluster, both without it.
    own = e.labels[i]
    if row is None:
        announce_move(e, i, s)
    if own >= 0:
        take_item(e, i)
    if row is not None:
        if own >= 0:
            _shift_joint(e, i, own, -1.0)
            e.size_sum[0] -= e.price.size[e.sizes[own]]
        _shift_joint(e, i, s, 1.0)
        e.size_sum[0] += e.price.size[e.sizes[s]]
    put_item(e, i, s)
    if own >= 0 and e.sizes[own] == 0:
        close_cluster(e, own)


# --- joins ---


@routine
def _joint_changes(e: Any, t: int, a: int) -> int:
    """Weighted change of the joint sum if a is joined with each cluster that shares a group with it.

    Only the t-th set of each item counts, that of draw t, or all sets if t is -1. Fills `change` for the
    clusters of `here` and returns their number.
    """
    labels, first, member, sets_of = e.labels, e.sets.first, e.sets.member, e.sets.sets_of
    here, is_here, count, change, seen = e.here, e.is_here, e.tally, e.change, e.seen
    f1, weight, first_of = e.price.f1, e.sets.weight, e.sets.first_of
    # The sum, over every set that holds an item of a, of weight (f1(n + m) - f1(n) - f1(m)), where n of its
    # members are in a and m in s.
    n_here = 0
    i = e.some_item[a]
    for _ in range(e.sizes[a]):
        begin = first_of[i] + max(t, 0)
        end = first_of[i + 1] if t < 0 else begin + 1
        for at in range(begin, end):
            b = sets_of[at]
            if seen[b] == 1:  # it holds another item of a, and was counted there
                continue
            seen[b] = 1
            # The clusters of this set are listed after those found so far; only new ones are kept there.
            n_all = _count_set(labels, member, first[b], first[b + 1], here, count, n_here)
            n = count[a]
            kept = n_here
            for q in range(n_here, n_all):
                s = here[q]
                m = count[s]
                count[s] = 0
                if s == a:
                    continue
                if is_here[s] == 0:
                    is_here[s] = 1
                    change[s] = 0.0
                    here[kept] = s
                    kept += 1
                change[s] += weight[b] * (f1[n + m] - f1[n] - f1[m])
            n_here = kept
        i = e.after[i]
    # The same walk removes the marks, which is shorter than clearing them all.
    for _ in range(e.sizes[a]):
        begin = first_of[i] + max(t, 0)
        end = first_of[i + 1] if t < 0 else begin + 1
        for at in range(begin, end):
            seen[sets_of[at]] = 0
        i = e.after[i]
    for q in range(n_here):
        is_here[here[q]] = 0
    return n_here


@routine
def _join_changes(e: Any, row: Any, a: int) -> None:
    """Change of the total loss if a is joined with each cluster; infinite for a itself."""
    _new_row(e)
    _touch(e, a)
    price = e.price
    # Joining a cluster that shares no group with a changes the size sum alone: its size says by how much.
    for q in range(e.n_used[0]):
        n = e.used_sizes[q]
        change = size_change(price, e.sizes[a], n)
        e.by_size[n] = change if row is None else 0.0
        e.size_row[q] = e.size_sum[0] + change
    if row is None:
        for q in range(_joint_changes(e, -1, a)):
            s = e.here[q]
            _touch(e, s)
            e.extra[s] = e.change[s]
    else:
        for t in range(price.weights.shape[0]):
            n_here = _joint_changes(e, t, a)
            e.here[n_here] = a  # its entry is the present loss, with no change at all
            e.change[a] = 0.0
            e.now[0] = e.joint_sums[t]
            _add_values(row, e, a, n_here + 1, 0.0, t)
        # From losses to changes: each is a value by size plus `extra`, so the first of the two is enough.
        now = _cost_of(e, a)
        for q in range(e.n_used[0]):
            e.by_size[e.used_sizes[q]] -= now
    e.extra[a] = np.inf


@routine
def _join(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    e.looks.until[:] = -np.inf  # too much changes: all items must be looked at again
    if row is not None:
        for t in range(e.price.weights.shape[0]):
            for q in range(_joint_changes(e, t, a)):
                if e.here[q] == b:
                    e.joint_sums[t] += e.change[b]
    e.size_sum[0] += size_change(e.price, e.sizes[a], e.sizes[b])
    join_rings(e, a, b)


implement_execution(
    Members,
    costs=_costs,
    glance=_costs,
    exact=_exact,
    choose=_choose,
    cost_of=_cost_of,
    exclude=_exclude,
    least_gap=members_gap,
    apply=_apply,
    join_changes=_join_changes,
    join=_join,
)
