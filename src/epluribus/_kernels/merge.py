"""Joining clusters, two at a time, while the expected loss falls.

Joining clusters a and s changes the joint sum of draw t by the sum over the groups v that both meet
of f1(n_tva + n_tvs) - f1(n_tva) - f1(n_tvs), and the size sum by f2(n_a + n_s) - f2(n_a) - f2(n_s).

Each cluster remembers its best partner, so that no table of all pairs is kept. After a merge only the
row of the new cluster is computed. A row that may have changed is marked, and computed anew only if it
would decide. If f0 is linear (`row` is None) this loses nothing: a cluster whose partner is gone has no
better partner left than the one it lost. If not, all rows change a little with every merge, and what is
remembered is an estimate.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.structs import MergeTables, MergeWork, State

__all__ = ["merge_clusters"]


@kernel
def _size_change(state: State, tables: MergeTables, a: int, s: int) -> float:
    sizes = state.sizes
    return tables.f2[sizes[a] + sizes[s]] - tables.f2[sizes[a]] - tables.f2[sizes[s]]


@kernel
def _joint_changes(
    state: State, tables: MergeTables, t: int, a: int, weight: float, change: NDArray[np.float64]
) -> None:
    """Add to change[s] the weighted change of the joint sum of draw t if a is joined with s."""
    k = state.n_clusters[0]
    f1 = tables.f1
    for v in range(state.counts.shape[1]):
        n = state.counts[t, v, a]
        if n > 0:
            cells = state.counts[t, v]
            for s in range(k):
                m = cells[s]
                if m > 0 and s != a:
                    change[s] += weight * (f1[n + m] - f1[n] - f1[m])


@kernel
def _find_partner(row: Any, state: State, tables: MergeTables, work: MergeWork, a: int) -> None:
    """Find the best partner of cluster a and the change of the total loss if they are joined."""
    k = state.n_clusters[0]
    change = work.change
    if row is None:
        for s in range(k):
            change[s] = _size_change(state, tables, a, s) if s != a else 0.0
        for t in range(state.counts.shape[0]):
            _joint_changes(state, tables, t, a, tables.weights[t], change)
    else:
        total = 0.0
        now = np.zeros(1)
        none = np.zeros(1)
        size_now = np.full(1, work.size_sum[0])
        for s in range(k):
            change[s] = 0.0
            work.size[s] = work.size_sum[0]
            if s != a:
                work.size[s] += _size_change(state, tables, a, s)
        for t in range(state.counts.shape[0]):
            work.joint_change[:k] = 0.0
            _joint_changes(state, tables, t, a, 1.0, work.joint_change)
            row(
                work.joint_change[:k], work.joint[t], work.size[:k], tables.group[t],
                tables.n_items, tables.weights[t], change[:k],
            )  # fmt: skip
            row(
                none, work.joint[t], size_now, tables.group[t],
                tables.n_items, tables.weights[t], now,
            )  # fmt: skip
        total = now[0]
        for s in range(k):
            change[s] -= total
    change[a] = np.inf
    best = 0
    for s in range(1, k):
        if change[s] < change[best]:
            best = s
    work.partner[a] = best
    work.best[a] = change[best]
    work.fresh[a] = 1


@kernel
def _join(state: State, tables: MergeTables, work: MergeWork, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    last = state.n_clusters[0] - 1
    work.size_sum[0] += _size_change(state, tables, a, b)
    for i in range(state.labels.shape[0]):
        if state.labels[i] == b:
            state.labels[i] = a
        elif state.labels[i] == last:
            state.labels[i] = b
    state.sizes[a] += state.sizes[b]
    state.sizes[b] = state.sizes[last]
    state.sizes[last] = 0
    f1 = tables.f1
    for t in range(state.counts.shape[0]):
        for v in range(state.counts.shape[1]):
            cells = state.counts[t, v]
            n, m = cells[a], cells[b]
            if m > 0:
                work.joint[t] += f1[n + m] - f1[n] - f1[m]
                cells[a] = n + m
            cells[b] = cells[last]
            cells[last] = 0
    state.n_clusters[0] = last
    work.partner[b] = work.partner[last]
    work.best[b] = work.best[last]
    work.fresh[b] = work.fresh[last]


@kernel
def _refresh(row: Any, state: State, tables: MergeTables, work: MergeWork, a: int, b: int) -> None:
    """Mend the partners after b was joined into a and the last cluster became b."""
    k = state.n_clusters[0]
    _find_partner(row, state, tables, work, a)
    for s in range(k):
        if s == a:
            continue
        lost = work.partner[s] == a or work.partner[s] == b
        if work.partner[s] == k:
            work.partner[s] = b
        if work.change[s] <= work.best[s]:
            work.best[s] = work.change[s]
            work.partner[s] = a
        elif lost or row is not None:
            work.fresh[s] = 0


@kernel
def merge_clusters(
    row: Any,
    state: State,
    tables: MergeTables,
    work: MergeWork,
    k_min: int,
    k_max: int,
    tolerance: float,
    stop: NDArray[np.uint8],
) -> None:
    """Join the best pair while the loss falls, or while there are more than k_max clusters."""
    for a in range(state.n_clusters[0]):
        if stop[0]:
            return
        _find_partner(row, state, tables, work, a)
    while state.n_clusters[0] > k_min and not stop[0]:
        a = 0
        for s in range(1, state.n_clusters[0]):
            if work.best[s] < work.best[a]:
                a = s
        if not work.fresh[a]:
            _find_partner(row, state, tables, work, a)
            continue
        if work.best[a] > -tolerance and state.n_clusters[0] <= k_max:
            return
        b = work.partner[a]
        _join(state, tables, work, min(a, b), max(a, b))
        if state.n_clusters[0] > 1:
            _refresh(row, state, tables, work, min(a, b), max(a, b))
