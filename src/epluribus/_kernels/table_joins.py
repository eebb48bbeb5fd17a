"""Contingency tables when clusters are joined.

Joining clusters a and s changes the joint sum of draw t by the sum over the groups v that both meet of
f1(n_tva + n_tvs) - f1(n_tva) - f1(n_tvs), and the size sum by f2(n_a + n_s) - f2(n_a) - f2(n_s).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.dispatch import routine
from epluribus._kernels.engine import items_in_all, size_change
from epluribus._typing import FloatArray


@routine
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
    # clusters count: for the others one of n, m is 0, and so is the term, since f1(0) = 0. Where m is 0 it
    # is computed all the same: a loop without conditions runs in vectors. Unsigned counts, too, save a check,
    # that for negative indices.
    for v in range(counts.shape[1]):
        n = np.uint64(counts[t, v, a])
        if n > 0:
            cells, alone = counts[t, v], f1[n]
            for begin, end in ((0, a), (a + 1, k)):  # all but a itself
                for s in range(begin, end):
                    m = np.uint64(cells[s])
                    change[s] += weight * (f1[n + m] - alone - f1[m])


@routine
def table_join_changes(e: Any, row: Any, a: int) -> None:
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
        n_items = float(items_in_all(e.price))
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
            one = slice(t, t + 1)
            joint, group, weight = e.joint_sums[one], price.group[one], price.weights[one]
            row(joint_row[:k], e.zeros[:1], joint, size_row[:k], group, n_items, weight, cost[:k])
        now = cost[a]
        for s in range(k):
            cost[s] -= now
    cost[a] = np.inf


@routine
def table_join(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    last = e.n_clusters[0] - 1
    f1, has_gain = e.price.f1, e.gain.shape[0] > 0
    e.looks.until[:] = -np.inf  # too much changes: all items must be looked at again
    # In labels, sizes and columns of the tables alike: b is added to a, then the last cluster moves to b.
    # If b is the last one itself, it ends up empty all the same.
    if row is not None:
        e.total[0] = np.nan
        e.slope[0] = np.nan
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
            if has_gain:
                for s in (a, b, last):
                    e.gain[t, v, s] = e.fold[t] * e.price.joint[cells[s]]
    e.n_clusters[0] = last
