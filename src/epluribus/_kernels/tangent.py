"""Contingency tables and a loss whose f0 is not linear: its exact values, and its tangent.

The total loss is a sum over draws of f0 at the joint sum of the draw and the size sum. Its derivatives with
respect to these sums, `fold` and `slope`, make it a linear loss close to the partition at hand (`tables`).
"""

from typing import Any

import numpy as np

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.engine import items_in_all
from epluribus._kernels.partitions import fill_gain
from epluribus._typing import FloatArray

DRAWS = 32
"""Draws whose exact gains are looked up before f0 is evaluated for them, if f0 is not linear."""
_CHANGED = 0.02
"""The gains are computed again if the derivatives have changed by more than this share, on average."""


@part
def _take_out(e: Any, i: int) -> float:
    """Fill `now` with the joint sums without item i; return the size sum without it."""
    own, z, joint = e.labels[i], e.draws[i], e.price.joint
    for t in range(z.shape[0]):
        e.now[t] = e.joint_sums[t]
        if own >= 0:
            e.now[t] -= joint[e.counts[t, z[t], own] - 1]
    return e.size_sum[0] - e.price.size[e.sizes[own] - 1] if own >= 0 else e.size_sum[0]


@routine
def ratio_costs(row: Any, e: Any, i: int) -> None:
    """The total loss with the item in each cluster."""
    # f0 is evaluated at the joint sum and the size sum as they would be with the item in each cluster. The
    # size sums are the same for all draws; the joint sums differ from draw to draw.
    own, n = e.labels[i], e.n_clusters[0] + 1
    z, joint, size, width = e.draws[i], e.price.joint, e.price.size, e.counts.shape[2]
    size_row, cost, n_items = e.double[:n], e.cost[:n], float(items_in_all(e.price))
    size_sum = _take_out(e, i)
    for s in range(n):
        size_row[s] = size_sum + size[e.sizes[s]]
        cost[s] = 0.0
    for begin in range(0, z.shape[0], DRAWS):
        end = min(begin + DRAWS, z.shape[0])
        for t in range(begin, end):
            cells, at = e.counts[t, z[t]], (t - begin) * width
            for s in range(n):
                e.rows[at + s] = joint[cells[s]]
        now, group, weights = e.now[begin:end], e.price.group[begin:end], e.price.weights[begin:end]
        row(e.rows, e.strides[: end - begin], now, size_row, group, n_items, weights, cost)
    # Its own cluster counts the item already: there the loss stays what it is, whatever the item.
    if own >= 0:
        cost[own] = present(row, e)


@routine
def ratio_exact(row: Any, e: Any, i: int, s: int) -> float:
    """The total loss with the item in cluster s."""
    if s == e.labels[i]:
        return present(row, e)
    z, joint = e.draws[i], e.price.joint
    e.double[0] = _take_out(e, i) + e.price.size[e.sizes[s]]
    e.other[0] = 0.0
    for t in range(z.shape[0]):
        e.rows[t] = joint[e.counts[t, z[t], s]]
    n_items, group, weights = float(items_in_all(e.price)), e.price.group, e.price.weights
    row(e.rows, e.steps, e.now, e.double[:1], group, n_items, weights, e.other[:1])
    return e.other[0]


@routine
def present(row: Any, e: Any) -> float:
    """The total loss of the partition, computed once after each change."""
    if np.isnan(e.total[0]):
        e.total[0] = 0.0
        e.double[0] = 0.0  # nothing is gained
        n_items = float(items_in_all(e.price))
        sums, group, weights = e.joint_sums, e.price.group, e.price.weights
        row(e.double[:1], e.zeros, sums, e.size_sum, group, n_items, weights, e.total)
    return e.total[0]


@part
def _step(changes: FloatArray, n_items: int, k: int) -> float:
    """What an item adds to a sum when it joins a cluster of typical size."""
    return max(abs(changes[max(1, n_items // (4 * k))]), 1e-9)


@part
def _probe(e: Any, joint_step: float, size_step: float) -> None:
    """Fill the first two gains, size sums and costs for f0 a step below and a step above where it is."""
    for q in range(2):
        sign = 2 * q - 1
        e.rows[q] = sign * joint_step
        e.double[q] = e.size_sum[0] + sign * size_step
        e.other[q] = 0.0


@routine
def set_slope(row: Any, e: Any) -> None:
    """The derivative of the total loss with respect to the size sum, from a step to either side."""
    n_items = items_in_all(e.price)
    step = _step(e.price.size, n_items, max(1, e.n_clusters[0]))
    _probe(e, 0.0, step)
    sums, group, weights = e.joint_sums, e.price.group, e.price.weights
    row(e.rows, e.zeros, sums, e.double, group, float(n_items), weights, e.other[:2])
    e.slope[0] = (e.other[1] - e.other[0]) / (2.0 * step)


@kernel
def tilt(row: Any, e: Any) -> None:
    """Compute the derivatives again, and the gains if they have changed; only if f0 is not linear."""
    n_items = items_in_all(e.price)
    step = _step(e.price.joint, n_items, max(1, e.n_clusters[0]))
    changed = 0.0
    largest = 0.0
    for t in range(e.now.shape[0]):
        _probe(e, step, 0.0)
        one = slice(t, t + 1)
        sums, group, weights = e.joint_sums[one], e.price.group[one], e.price.weights[one]
        row(e.rows, e.zeros[:1], sums, e.double, group, float(n_items), weights, e.other[:2])
        e.now[t] = (e.other[1] - e.other[0]) / (2.0 * step)
        changed += abs(e.now[t] - e.fold[t])
        largest += abs(e.now[t])
    e.slope[0] = np.nan
    if not changed <= _CHANGED * largest:  # also if there were no derivatives yet
        for t in range(e.now.shape[0]):
            e.fold[t] = e.now[t]
        fill_gain(e.counts, e.fold, e.price.joint, 0, e.gain)
