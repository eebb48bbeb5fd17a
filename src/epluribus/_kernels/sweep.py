"""One sweep of the greedy algorithm over the items: the kernel of the search.

Putting item i into cluster s changes the joint sum of draw t by `joint[n_tvs]`, v = z_ti, and the
size sum by `size[n_s]`. These differences are kept in `State.gain`, so that the cost of every
cluster is a sum of rows.

If f0 is linear, the cost of s is  size[n_s] + sum_t gain[t, v, s]  (coefficients and weights
multiplied in): rows of single-precision numbers, added up in vectors. Clusters that are closer than
rounding could tell apart are compared again in double precision, from the counts. Otherwise f0 is
evaluated for each draw and cluster in double precision.

The order of clusters, which settles ties: an item stays unless a move lowers the loss; then the
smallest label wins, and a new cluster comes last. A cluster left empty gives its label to the last
cluster.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cfunc, njit, types
from numpy.typing import NDArray

from epluribus._kernels._jit import JIT_ENABLED, kernel
from epluribus._kernels.structs import Sample, State, Tables
from epluribus._kernels.vector import LANES, add_lanes

__all__ = [
    "BLOCK",
    "compile_row",
    "fill_gain",
    "linear_allocate",
    "linear_costs",
    "linear_own_cost",
    "linear_sweep",
    "ratio_allocate",
    "ratio_costs",
    "ratio_sweep",
    "row_values",
    "state_joint",
    "take",
]

BLOCK = 128
"""Draws added up in single precision before the sum moves to double: bounds the rounding error."""

# --- the state ---


@kernel
def fill_gain(
    counts: NDArray[np.integer],
    tables: Tables,
    gain: NDArray[np.floating],  # OUT
) -> None:
    """Fill `State.gain` from `State.counts`."""
    for t in range(counts.shape[0]):
        for v in range(counts.shape[1]):
            for s in range(counts.shape[2]):
                gain[t, v, s] = tables.fold[t] * tables.joint[counts[t, v, s]]


@kernel
def state_joint(
    counts: NDArray[np.integer],
    n_clusters: int,
    f1: NDArray[np.float64],
    joint: NDArray[np.float64],  # OUT
    n_cells: NDArray[np.int64],  # OUT
) -> None:
    """Sum of f1 over the contingency table of each draw, and the number of cells in use."""
    for t in range(counts.shape[0]):
        total = 0.0
        cells = 0
        for v in range(counts.shape[1]):
            for s in range(n_clusters):
                n = counts[t, v, s]
                total += f1[n]
                cells += n > 0
        joint[t] = total
        n_cells[t] = cells


@kernel
def _set_count(state: State, tables: Tables, t: int, v: int, s: int, n: int) -> None:
    """Write one count and its gain."""
    state.counts[t, v, s] = n
    state.gain[t, v, s] = tables.fold[t] * tables.joint[n]


@kernel
def take(sample: Sample, state: State, i: int, tables: Tables) -> None:
    """Take item i out of its cluster."""
    s = state.labels[i]
    state.sizes[s] -= 1
    for t in range(sample.labels.shape[1]):
        v = sample.labels[i, t]
        _set_count(state, tables, t, v, s, state.counts[t, v, s] - 1)


@kernel
def _put(sample: Sample, state: State, i: int, tables: Tables, s: int) -> None:
    """Put item i, taken out before, into cluster s; s = K opens a new cluster."""
    state.labels[i] = s
    state.sizes[s] += 1
    if s == state.n_clusters[0]:
        state.n_clusters[0] += 1
    for t in range(sample.labels.shape[1]):
        v = sample.labels[i, t]
        _set_count(state, tables, t, v, s, state.counts[t, v, s] + 1)


@kernel
def _close(state: State, tables: Tables, empty: int) -> None:
    """Give the label of an empty cluster to the last cluster."""
    last = state.n_clusters[0] - 1
    state.n_clusters[0] = last
    if empty == last:
        return
    for i in range(state.labels.shape[0]):
        if state.labels[i] == last:
            state.labels[i] = empty
    state.sizes[empty] = state.sizes[last]
    state.sizes[last] = 0
    for t in range(state.counts.shape[0]):
        for v in range(state.counts.shape[1]):
            n = state.counts[t, v, last]
            if n > 0:
                _set_count(state, tables, t, v, empty, n)
                _set_count(state, tables, t, v, last, 0)


@kernel
def _n_targets(state: State, i: int, k_min: int, k_max: int) -> int:
    """How many clusters item i may go to: 0 if it may not leave, K, or K + 1 with a new one."""
    k = state.n_clusters[0]
    alone = state.sizes[state.labels[i]] == 1
    if alone:
        return 0 if k <= k_min else k
    return k + 1 if k < k_max else k


# --- linear f0 ---


@kernel
def linear_costs(
    sample: Sample,
    state: State,
    i: int,
    tables: Tables,
    part: NDArray[np.float32],  # WORK (width,)
    cost: NDArray[np.float64],  # OUT (width,)
) -> None:
    """Cost of adding item i to each cluster, and to a new one (entry K)."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    lanes = np.uint64(LANES)
    z = sample.labels[i]
    n_draws = np.uint64(z.shape[0])
    groups = np.uint64(state.gain.shape[1])
    width = np.uint64(state.gain.shape[2])
    used = (np.uint64(state.n_clusters[0]) // lanes + one) * lanes  # K + 1, rounded up
    gain = state.gain.reshape(-1)
    for s in range(used):
        cost[s] = tables.size[state.sizes[s]]
    begin = np.uint64(0)
    while begin < n_draws:
        end = min(begin + np.uint64(BLOCK), n_draws)
        for s in range(used):
            part[s] = 0.0
        t = begin
        while t + three < end:
            row0 = (t * groups + np.uint64(z[t])) * width
            row1 = ((t + one) * groups + np.uint64(z[t + one])) * width
            row2 = ((t + two) * groups + np.uint64(z[t + two])) * width
            row3 = ((t + three) * groups + np.uint64(z[t + three])) * width
            at = np.uint64(0)
            while at < used:
                add_lanes(part, at, gain, row0, row1, row2, row3)
                at += lanes
            t += np.uint64(4)
        while t < end:
            row0 = (t * groups + np.uint64(z[t])) * width
            for s in range(used):
                part[s] += gain[row0 + s]
            t += one
        for s in range(used):
            cost[s] += part[s]
        begin = end


@kernel
def linear_own_cost(sample: Sample, state: State, i: int, tables: Tables) -> float:
    """Cost of having item i where it is: what it adds to its cluster without it."""
    z = sample.labels[i]
    own = np.uint64(state.labels[i])
    groups = np.uint64(state.counts.shape[1])
    width = np.uint64(state.counts.shape[2])
    counts = state.counts.reshape(-1)
    total = tables.size[state.sizes[own] - 1]
    for t in range(np.uint64(z.shape[0])):
        n = counts[(t * groups + np.uint64(z[t])) * width + own]
        total += tables.fold[t] * tables.joint[n - 1]
    return total


@kernel
def _linear_exact(sample: Sample, state: State, i: int, tables: Tables, s: int) -> float:
    """Cost of having item i in cluster s, not its own, in double precision."""
    total = tables.size[state.sizes[s]]
    for t in range(sample.labels.shape[1]):
        total += tables.fold[t] * tables.joint[state.counts[t, sample.labels[i, t], s]]
    return total


@kernel
def _linear_best(
    sample: Sample, state: State, i: int, tables: Tables, n_targets: int, cost: NDArray[np.float64]
) -> int:
    """The best cluster for item i; clusters too close to tell apart are compared exactly."""
    own = state.labels[i]
    low = cost[own]
    for s in range(n_targets):
        low = min(low, cost[s])
    best = own
    best_cost = cost[own]
    for s in range(n_targets):
        if s != own and cost[s] <= low + tables.margin:
            exact = _linear_exact(sample, state, i, tables, s)
            if exact < best_cost - tables.tolerance:
                best = s
                best_cost = exact
    return best


@kernel
def linear_sweep(
    sample: Sample,
    state: State,
    tables: Tables,
    order: NDArray[np.int64],
    begin: int,
    k_min: int,
    k_max: int,
    stop: NDArray[np.uint8],
    part: NDArray[np.float32],  # WORK
    cost: NDArray[np.float64],  # WORK
    n_moves: NDArray[np.int64],  # OUT (1,), counted on
) -> int:
    """Visit the items order[begin:]; return where it ended.

    It ends early when there is no room for one more cluster, or when `stop[0]` is set.
    """
    for position in range(begin, order.shape[0]):
        if stop[0] or state.n_clusters[0] >= state.sizes.shape[0]:
            return position
        i = order[position]
        n_targets = _n_targets(state, i, k_min, k_max)
        if n_targets == 0:
            continue
        own = state.labels[i]
        linear_costs(sample, state, i, tables, part, cost)
        cost[own] = linear_own_cost(sample, state, i, tables)
        best = _linear_best(sample, state, i, tables, n_targets, cost)
        if best != own:
            take(sample, state, i, tables)
            _put(sample, state, i, tables, best)
            if state.sizes[own] == 0:
                _close(state, tables, own)
            n_moves[0] += 1
    return order.shape[0]


@kernel
def linear_allocate(
    sample: Sample,
    state: State,
    tables: Tables,
    order: NDArray[np.int64],
    begin: int,
    k_max: int,
    part: NDArray[np.float32],  # WORK
    cost: NDArray[np.float64],  # WORK
) -> int:
    """Put the unassigned items order[begin:] one by one into the best cluster; return where it ended.

    It ends early when there is no room for one more cluster.
    """
    for position in range(begin, order.shape[0]):
        k = state.n_clusters[0]
        if k >= state.sizes.shape[0]:
            return position
        i = order[position]
        linear_costs(sample, state, i, tables, part, cost)
        best = 0
        for s in range(1, k + 1 if k < k_max else k):
            if cost[s] < cost[best]:
                best = s
        _put(sample, state, i, tables, best)
    return order.shape[0]


# --- any f0 ---

_ARRAY = types.Array(types.float64, 1, "C")
_ROW = types.void(
    _ARRAY, types.float64, _ARRAY, types.float64, types.float64, types.float64, _ARRAY
)


def compile_row(f0: Callable[..., float]) -> Any:
    """Compile  cost[s] += weight * f0(joint + gain[s], size[s], group, n_items)  for all s.

    The result has one type whatever f0 is, so the kernels that call it are compiled once and
    cached.
    """
    f0_compiled = njit(error_model="numpy")(f0)

    def row(gain, joint, size, group, n_items, weight, cost):  # type: ignore[no-untyped-def]
        for s in range(cost.shape[0]):
            cost[s] += weight * f0_compiled(joint + gain[s], size[s], group, n_items)

    return cfunc(_ROW, error_model="numpy")(row) if JIT_ENABLED else row


@kernel
def row_values(
    row: Any,
    joint: NDArray[np.float64],
    size: float,
    group: NDArray[np.float64],
    n_items: float,
    values: NDArray[np.float64],  # OUT, zero on entry
) -> None:
    """f0 of each draw."""
    zero = np.zeros(1)
    sizes = np.full(1, size)
    for t in range(joint.shape[0]):
        row(zero, joint[t], sizes, group[t], n_items, 1.0, values[t : t + 1])


@kernel
def ratio_costs(
    row: Any,
    sample: Sample,
    state: State,
    i: int,
    tables: Tables,
    joint: NDArray[np.float64],
    group: NDArray[np.float64],
    size_sum: float,
    n_targets: int,
    size: NDArray[np.float64],  # WORK (width,)
    cost: NDArray[np.float64],  # OUT (width,)
) -> None:
    """Total loss with item i, which has been taken out, in each of the first n_targets clusters."""
    n_items = float(state.labels.shape[0])
    for s in range(n_targets):
        size[s] = size_sum + tables.size[state.sizes[s]]
        cost[s] = 0.0
    for t in range(sample.labels.shape[1]):
        gain = state.gain[t, sample.labels[i, t], :n_targets]
        row(
            gain, joint[t], size[:n_targets], group[t], n_items, sample.weights[t], cost[:n_targets]
        )


@kernel
def _shift_joint(
    sample: Sample, state: State, i: int, tables: Tables, sign: float, joint: NDArray[np.float64]
) -> None:
    """Add (sign 1) or subtract (-1) from the joint sums what item i, now out, adds in its cluster."""
    s = state.labels[i]
    for t in range(sample.labels.shape[1]):
        joint[t] += sign * tables.joint[state.counts[t, sample.labels[i, t], s]]


@kernel
def ratio_sweep(
    row: Any,
    sample: Sample,
    state: State,
    tables: Tables,
    order: NDArray[np.int64],
    begin: int,
    k_min: int,
    k_max: int,
    stop: NDArray[np.uint8],
    joint: NDArray[np.float64],  # joint sums of all draws, kept up to date
    group: NDArray[np.float64],
    size_sum: NDArray[np.float64],  # (1,) size sum, kept up to date
    size: NDArray[np.float64],  # WORK
    cost: NDArray[np.float64],  # WORK
    n_moves: NDArray[np.int64],  # OUT (1,), counted on
) -> int:
    """As `linear_sweep`, for any f0: take the item out, evaluate every cluster, put it into the best."""
    for position in range(begin, order.shape[0]):
        if stop[0] or state.n_clusters[0] >= state.sizes.shape[0]:
            return position
        i = order[position]
        n_targets = _n_targets(state, i, k_min, k_max)
        if n_targets == 0:
            continue
        own = state.labels[i]
        take(sample, state, i, tables)
        _shift_joint(sample, state, i, tables, -1.0, joint)
        size_sum[0] -= tables.size[state.sizes[own]]
        ratio_costs(row, sample, state, i, tables, joint, group, size_sum[0], n_targets, size, cost)
        best = own
        for s in range(n_targets):
            if cost[s] < cost[best] - tables.tolerance:
                best = s
        size_sum[0] += tables.size[state.sizes[best]]
        state.labels[i] = best
        _shift_joint(sample, state, i, tables, 1.0, joint)
        _put(sample, state, i, tables, best)
        if best != own:
            n_moves[0] += 1
            if state.sizes[own] == 0:
                _close(state, tables, own)
    return order.shape[0]


@kernel
def ratio_allocate(
    row: Any,
    sample: Sample,
    state: State,
    tables: Tables,
    order: NDArray[np.int64],
    begin: int,
    k_max: int,
    joint: NDArray[np.float64],  # kept up to date
    group: NDArray[np.float64],
    size_sum: NDArray[np.float64],  # (1,), kept up to date
    size: NDArray[np.float64],  # WORK
    cost: NDArray[np.float64],  # WORK
) -> int:
    """As `linear_allocate`, for any f0."""
    for position in range(begin, order.shape[0]):
        k = state.n_clusters[0]
        if k >= state.sizes.shape[0]:
            return position
        i = order[position]
        n_targets = k + 1 if k < k_max else k
        ratio_costs(row, sample, state, i, tables, joint, group, size_sum[0], n_targets, size, cost)
        best = 0
        for s in range(1, n_targets):
            if cost[s] < cost[best]:
                best = s
        size_sum[0] += tables.size[state.sizes[best]]
        state.labels[i] = best
        _shift_joint(sample, state, i, tables, 1.0, joint)
        _put(sample, state, i, tables, best)
    return order.shape[0]
