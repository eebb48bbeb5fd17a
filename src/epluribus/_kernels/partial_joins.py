"""Contingency tables of what draws have seen, when whole clusters change: their gains, names and joins.

Joining clusters a and s changes the sums of draw t as in `table_joins`, but both sums differ from draw to
draw: the joint sum by the groups that both clusters meet, the size sum by how many items of each the draw has
seen.
"""

from typing import Any

import numpy as np

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.engine import rename
from epluribus._kernels.looks import rename_looks
from epluribus._typing import FloatArray


@part
def gain_of(e: Any, t: int, v: int, s: int) -> float:
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
                e.gain[t, v, s] = gain_of(e, t, v, s)


@part
def refill(e: Any, t: int, s: int) -> None:
    """The gains of cluster s in draw t, after its counts have changed."""
    if e.gain.shape[0] > 0:
        for v in range(1, e.counts.shape[1]):
            e.gain[t, v, s] = gain_of(e, t, v, s)


@routine
def rename_column(e: Any, last: int, empty: int) -> None:
    """Give the label of an empty cluster to the last one, with its column of the tables."""
    rename(e, last, empty)
    if e.looks.until.shape[0] > 0:
        rename_looks(e.looks, last, empty)
    for t in range(e.counts.shape[0]):
        for v in range(e.counts.shape[1]):
            e.counts[t, v, empty] = e.counts[t, v, last]
            e.counts[t, v, last] = 0
        refill(e, t, empty)
        refill(e, t, last)


@part
def add_losses(row: Any, e: Any, t: int, n: int, out: FloatArray) -> None:
    """Add the loss of draw t at the first n entries of `joint_row` and `size_row` to `out`."""
    one = slice(t, t + 1)
    # The sums are passed whole, as gains over a joint sum of 0.
    row(
        e.joint_row[:n], e.first, e.zero, e.size_row[:n], e.price.group[one], e.n_seen[t],
        e.price.weights[one], out[:n],
    )  # fmt: skip


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
def partial_join_changes(e: Any, row: Any, a: int) -> None:
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
            add_losses(row, e, t, k, cost)
    if row is None:
        for s in range(k):
            cost[s] = e.joint_row[s] + e.size_row[s]
    else:
        now = cost[a]
        for s in range(k):
            cost[s] -= now
    cost[a] = np.inf


@routine
def partial_join(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    last, f1, f2 = e.n_clusters[0] - 1, e.price.f1, e.price.f2
    e.looks.until[:] = -np.inf  # too much changes: all items must be looked at again
    total = e.sizes[a] + e.sizes[b]
    rename(e, b, a)
    e.sizes[a] = total
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
        refill(e, t, a)
        refill(e, t, b)
    e.n_clusters[0] = last
    if b != last:
        rename_column(e, last, b)
