"""The execution that walks through the members of groups: for samples of many small clusters.

A *group* is a cluster of a draw. Item i adds `joint[n_tvs]` to the joint sum of draw t if it goes to cluster
s, v = z_ti. Where groups are small, n_tvs is found by a walk through the members of group v: no contingency
table is kept. A cluster that no group of item i touches, in any draw, costs what any other cluster of its
size costs, so

    cost of s  =  by_size[n_s] + extra[s]

with `extra` other than 0 only for the clusters touched. The same holds for joining cluster a with s, for f0
linear (`row` is None) and for any other. If f0 is linear, a group that several draws share is walked through
once (`sets`). All sums are in double precision.

Time of a sweep: the sum over the sets of the square of their size, and for f0 not linear items x draws x
sizes in use. Memory: at most 8 bytes for each draw and item.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.engine import Price, implement_execution, size_change

__all__ = ["Members", "Sets", "fill_members"]


class Sets(NamedTuple):
    """The groups of all draws as sets of items.

    If f0 is linear, draws matter only through their groups: a set that is a group of several draws is
    there once, and one of a single item not at all. If not, all groups of all draws are there in turn.
    """

    weight: NDArray[np.float64]
    """(n_sets,) sum of the weights of the draws that have it as a group; 1 if f0 is not linear."""
    first: NDArray[np.int64]
    """(n_sets + 1,) set b is member[first[b]:first[b + 1]]."""
    member: NDArray[np.int32]
    """Items, ascending in each set."""
    first_of: NDArray[np.int64]
    """(n_items + 1,) the sets that hold item i are sets_of[first_of[i]:first_of[i + 1]]."""
    sets_of: NDArray[np.int32]
    """Sets, ascending for each item: if f0 is not linear, one for each draw."""


class Members(NamedTuple):
    """A partition under change: its clusters as rings of items, and the sizes in use.

    Arrays without a shape have n_items + 1 entries.
    """

    price: Price
    sets: Sets
    labels: NDArray[np.int64]
    """(n_items,) labels 0..K-1 without gaps; -1 for an item in no cluster."""
    sizes: NDArray[np.int64]
    """Cluster sizes; zero from K on."""
    n_clusters: NDArray[np.int64]
    """(1,) K."""
    some_item: NDArray[np.int64]
    """An item of each cluster."""
    after: NDArray[np.int64]
    """(n_items,) the next item of the same cluster, round and round."""
    before: NDArray[np.int64]
    """(n_items,) the item before."""
    n_of_size: NDArray[np.int64]
    """Number of clusters of each size; none of size 0."""
    used_sizes: NDArray[np.int64]
    """The sizes in use, in no order, after a 0, which stands for a new cluster."""
    place: NDArray[np.int64]
    """Where a size in use stands in `used_sizes`."""
    n_used: NDArray[np.int64]
    """(1,) how many there are, the 0 included."""
    joint_sums: NDArray[np.float64]
    """(n_draws,) joint sums; kept up to date if f0 is not linear."""
    size_sum: NDArray[np.float64]
    """(1,) size sum, likewise."""
    by_size: NDArray[np.float64]
    """The row of costs computed last: for the sizes in use ..."""
    extra: NDArray[np.float64]
    """... and what is added for the clusters touched; zero for all others."""
    is_touched: NDArray[np.uint8]
    touched: NDArray[np.int64]
    """The clusters touched, in no order."""
    n_touched: NDArray[np.int64]
    """(1,)"""
    here: NDArray[np.int64]
    """(2 n_items + 2,) WORK: the clusters touched in one group or draw."""
    is_here: NDArray[np.uint8]
    """WORK, zero between calls."""
    count: NDArray[np.int64]
    """WORK: items of one group in each cluster; zero between calls."""
    change: NDArray[np.float64]
    """WORK: change of the joint sum of one draw, for the clusters of `here`."""
    seen: NDArray[np.uint8]
    """(n_sets,) WORK, zero between calls."""
    gain_row: NDArray[np.float64]
    """(2 n_items + 2,) WORK: what f0 is evaluated at, changes of the joint sum ..."""
    size_row: NDArray[np.float64]
    """(2 n_items + 2,) WORK: ... and size sums, first of the sizes in use, then of the clusters of `here`."""
    value: NDArray[np.float64]
    """(2 n_items + 2,) WORK: f0 there."""


# --- the clusters of the estimate ---


@part
def _resize(e: Any, s: int, n: int) -> None:
    """Set the size of cluster s, and keep the list of sizes in use; 0 always stays on it."""
    old = e.sizes[s]
    e.sizes[s] = n
    if old > 0:
        e.n_of_size[old] -= 1
        if e.n_of_size[old] == 0:  # the last size of the list takes its place
            e.n_used[0] -= 1
            moved = e.used_sizes[e.n_used[0]]
            e.used_sizes[e.place[old]] = moved
            e.place[moved] = e.place[old]
    if n > 0:
        e.n_of_size[n] += 1
        if e.n_of_size[n] == 1:
            e.used_sizes[e.n_used[0]] = n
            e.place[n] = e.n_used[0]
            e.n_used[0] += 1


@part
def _put(e: Any, i: int, s: int) -> None:
    """Put item i, which is in no cluster, into s; s = K opens a new cluster."""
    e.labels[i] = s
    if s == e.n_clusters[0]:
        e.n_clusters[0] += 1
    if e.sizes[s] == 0:
        e.some_item[s] = i
        e.after[i] = i
        e.before[i] = i
    else:
        after = e.some_item[s]
        before = e.before[after]
        e.after[before] = i
        e.before[i] = before
        e.after[i] = after
        e.before[after] = i
    _resize(e, s, e.sizes[s] + 1)


@part
def _take(e: Any, i: int) -> None:
    """Take item i out of its cluster."""
    s = e.labels[i]
    e.labels[i] = -1
    before, after = e.before[i], e.after[i]
    e.after[before] = after
    e.before[after] = before
    e.some_item[s] = after
    _resize(e, s, e.sizes[s] - 1)


@part
def _rename(e: Any, s: int, name: int) -> None:
    """Give all items of cluster s, which is not empty, another label."""
    i = e.some_item[s]
    for _ in range(e.sizes[s]):
        e.labels[i] = name
        i = e.after[i]


@part
def _close(e: Any, empty: int) -> None:
    """Give the label of an empty cluster to the last cluster."""
    last = e.n_clusters[0] - 1
    e.n_clusters[0] = last
    if empty != last:
        _rename(e, last, empty)
        e.some_item[empty] = e.some_item[last]
        e.sizes[empty] = e.sizes[last]
        e.sizes[last] = 0


@kernel
def fill_members(labels: NDArray[np.int64], n_clusters: int, e: Members) -> None:
    """Put every item into its cluster, all of them empty on entry; an item with label -1 into none."""
    e.n_clusters[0] = n_clusters
    e.n_used[0] = 1  # the size 0
    for i in range(labels.shape[0]):
        e.labels[i] = -1
        if labels[i] >= 0:
            _put(e, i, labels[i])


# --- rows of costs ---


@part
def _touch(e: Any, s: int) -> None:
    """Enter cluster s in the list of those touched."""
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
    labels: NDArray[np.int64],
    member: NDArray[np.int32],
    begin: int,
    end: int,
    here: NDArray[np.int64],  # OUT, filled from n_here on
    count: NDArray[np.int64],  # OUT, zero on entry
    n_here: int,
) -> int:
    """Count member[begin:end] in each cluster; return the new length of `here`.

    Members of a group are mostly in one cluster: runs of one label are counted in a register, since
    adding to the same entry of an array again and again would wait for memory each time.
    """
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
def _add_values(
    row: Any, e: Any, own: int, n_here: int, base: float, joint: float, group: float, weight: float
) -> None:
    """Add f0 of one draw to `by_size` and `extra`.

    `change[s]` is the change of the joint sum for the first n_here clusters of `here`, `base` that for all
    others; `size_row[q]` is the size sum for the q-th size in use. The cluster `own` (-1 for none) is in
    `here`, with a size sum of its own: the present one.
    """
    # Arrays by name: each look into a struct would count references.
    here, gain, size, value, extra = e.here, e.gain_row, e.size_row, e.value, e.extra
    used_sizes, place, sizes, by_size, change = e.used_sizes, e.place, e.sizes, e.by_size, e.change
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
    row(gain[:length], joint, size[:length], group, n_items, weight, value[:length])
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
def _choose(e: Any, i: int, own: int, opens: bool) -> int:
    """The cluster of least cost; `own` (-1 for none) if it is as good, then the smallest label."""
    low = np.inf
    for q in range(e.n_touched[0]):
        s = e.touched[q]
        low = min(low, _cost_of(e, s))
        e.n_of_size[e.sizes[s]] -= 1  # until the end: how many were not touched
    for q in range(e.n_used[0]):
        n = e.used_sizes[q]
        if e.n_of_size[n] > 0:
            low = min(low, e.by_size[n])
    if opens:
        low = min(low, e.by_size[0])
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

    If f0 is linear, without what `joint[0]` adds to all of them in each draw.
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


@kernel
def _linear_costs(e: Any, i: int, own: int) -> None:
    labels, first, member, sets_of = e.labels, e.sets.first, e.sets.member, e.sets.sets_of
    here, count, extra, weight = e.here, e.count, e.extra, e.sets.weight
    joint, size = e.price.joint, e.price.size
    for q in range(e.n_used[0]):
        n = e.used_sizes[q]
        e.by_size[n] = size[n]
    for at in range(e.sets.first_of[i], e.sets.first_of[i + 1]):
        b = sets_of[at]
        n_here = _count_set(labels, member, first[b], first[b + 1], here, count, 0)
        for q in range(n_here):
            s = here[q]
            _touch(e, s)
            extra[s] += weight[b] * (joint[count[s]] - joint[0])
            count[s] = 0
    if own >= 0:  # its own cluster has one item less without it
        extra[own] += size[e.sizes[own] - 1] - size[e.sizes[own]]


@kernel
def _ratio_costs(row: Any, e: Any, i: int, own: int) -> None:
    labels, first, member, sets_of = e.labels, e.sets.first, e.sets.member, e.sets.sets_of
    here, count, change, joint, price = e.here, e.count, e.change, e.price.joint, e.price
    size_sum = e.size_sum[0]
    if own >= 0:
        size_sum -= price.size[e.sizes[own] - 1]
    for q in range(e.n_used[0]):
        n = e.used_sizes[q]
        e.by_size[n] = 0.0
        e.size_row[q] = size_sum + price.size[n]
    begin = e.sets.first_of[i]
    for t in range(price.weights.shape[0]):
        b = sets_of[begin + t]
        n_here = 0
        if own >= 0:  # always in the list, with one item too many until counted
            here[0] = own
            count[own] = 1
            n_here = 1
        n_here = _count_set(labels, member, first[b], first[b + 1], here, count, n_here)
        now = e.joint_sums[t]
        if own >= 0:
            count[own] -= 1
            now -= joint[count[own]]
        for q in range(n_here):
            s = here[q]
            change[s] = joint[count[s]]
            count[s] = 0
        _add_values(row, e, own, n_here, joint[0], now, price.group[t], price.weights[t])


@routine
def _exact(e: Any, row: Any, i: int, s: int) -> float:
    _costs(e, row, i)
    return _cost_of(e, s)


# --- moves ---


@kernel
def _shift_joint(e: Any, i: int, s: int, sign: float) -> None:
    """Add (sign 1) or subtract (-1) from the joint sums what item i, now out, adds in cluster s."""
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
    own = e.labels[i]
    if own >= 0:
        _take(e, i)
    if row is not None:
        if own >= 0:
            _shift_joint(e, i, own, -1.0)
            e.size_sum[0] -= e.price.size[e.sizes[own]]
        _shift_joint(e, i, s, 1.0)
        e.size_sum[0] += e.price.size[e.sizes[s]]
    _put(e, i, s)
    if own >= 0 and e.sizes[own] == 0:
        _close(e, own)


# --- joins ---


@kernel
def _joint_changes(e: Any, t: int, a: int) -> int:
    """Weighted change of the joint sum if a is joined with each cluster it touches.

    In the t-th sets of its items, or in all of them if t is -1. Fills `change` for the clusters of `here`;
    returns their number.
    """
    labels, first, member, sets_of = e.labels, e.sets.first, e.sets.member, e.sets.sets_of
    here, is_here, count, change, seen = e.here, e.is_here, e.count, e.change, e.seen
    f1, weight, first_of = e.price.f1, e.sets.weight, e.sets.first_of
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
            e.here[n_here] = a  # stays as it is now: the present loss
            e.change[a] = 0.0
            joint, group, weight = e.joint_sums[t], price.group[t], price.weights[t]
            _add_values(row, e, a, n_here + 1, 0.0, joint, group, weight)
        now = _cost_of(e, a)
        for q in range(e.n_used[0]):
            e.by_size[e.used_sizes[q]] -= now
    e.extra[a] = np.inf


@routine
def _join(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    if row is not None:
        for t in range(e.price.weights.shape[0]):
            for q in range(_joint_changes(e, t, a)):
                if e.here[q] == b:
                    e.joint_sums[t] += e.change[b]
    e.size_sum[0] += size_change(e.price, e.sizes[a], e.sizes[b])
    _rename(e, b, a)
    i, j = e.some_item[a], e.some_item[b]  # two rings of items become one
    i_after, j_after = e.after[i], e.after[j]
    e.after[i], e.before[j_after] = j_after, i
    e.after[j], e.before[i_after] = i_after, j
    _resize(e, a, e.sizes[a] + e.sizes[b])
    _resize(e, b, 0)
    _close(e, b)


implement_execution(
    Members,
    costs=_costs,
    exact=_exact,
    choose=_choose,
    cost_of=_cost_of,
    apply=_apply,
    join_changes=_join_changes,
    join=_join,
)
