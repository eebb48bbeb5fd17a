"""The execution for losses that are sums over pairs of items, such as Binder's: the draws enter once.

If f0 is linear and f1 and f2 are multiples of the square, as for Binder's loss, all draws together matter
only through a matrix. The joint sum of draw t is sum over v and s of a n_tvs^2, the size sum sum of b n_s^2;
an item i that joins cluster s adds

    sum_t w_t a (2 n_tvs + 1) + b (2 n_s + 1)  =  constant + sum over the items j of s of pull[i, j]

with pull[i, j] = 2 (a P_ij + b) and P_ij the weight of the draws that have i and j together. A sweep takes
time O(n_items^2), whatever the number of draws and clusters, and joining two clusters adds up the pulls
between them. All sums are in double precision.

Items that stay together where they are may be one *anchor*: what it pulls is the sum over its items. In the
labels of a state the anchors follow the items that are free to move.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.engine import (
    Price,
    choose_from_row,
    entry,
    exclude_entry,
    implement_execution,
    rename,
    row_gap,
)
from epluribus._kernels.looks import Looks, count_move, rename_looks
from epluribus._typing import FloatArray, IntArray


class Pairs(NamedTuple):
    """A partition under change, with what each pair of items costs together."""

    price: Price
    together: NDArray[np.number]
    """(n_items, n_items) for two items, the weight of the draws that have them together, in units ..."""
    pull: FloatArray
    """(2,) ... and the change of the total loss if they are: the first, plus the second for each unit."""
    anchor_pull: FloatArray
    """(n, n_anchors) the same for each of the n entries, items and anchors, with each anchor."""
    labels: IntArray
    """(n,) labels 0..K-1 without gaps; -1 for an item in no cluster."""
    sizes: IntArray
    """(n + 1,) cluster sizes; zero from K on."""
    n_clusters: IntArray
    """(1,) K."""
    cost: FloatArray
    """(n + 1,) the row of costs computed last; entry K is a new cluster."""
    looks: Looks
    """What is known about items that were looked at."""


@part
def _add_row(e: Any, i: int) -> None:
    """Add what entry i pulls to the costs of the clusters of all other entries."""
    labels, cost, n_items = e.labels, e.cost, e.together.shape[0]
    if i < n_items:
        row, base, unit = e.together[i], e.pull[0], e.pull[1]
        for begin, end in ((0, i), (i + 1, n_items)):
            for j in range(begin, end):
                s = labels[j]
                if s >= 0:
                    cost[np.uint64(s)] += base + unit * row[j]
    else:
        for j in range(n_items):
            s = labels[j]
            if s >= 0:
                cost[s] += e.anchor_pull[j, i - n_items]
    for b in range(e.anchor_pull.shape[1]):
        cost[labels[n_items + b]] += e.anchor_pull[i, b]


@routine
def _costs(e: Any, row: Any, i: int) -> None:
    """Cost of every cluster, and of a new one (entry K), for item i."""
    for s in range(e.n_clusters[0] + 1):
        e.cost[s] = 0.0
    _add_row(e, i)


@routine
def _exact(e: Any, row: Any, i: int, s: int) -> float:
    _costs(e, row, i)
    return e.cost[s]


@routine
def _apply(e: Any, row: Any, i: int, s: int) -> None:
    """Item i goes to cluster s; s = K opens a new cluster, and a cluster left empty closes."""
    own = e.labels[i]
    opens = s == e.n_clusters[0]
    e.n_clusters[0] += opens
    # Another item sees its pull come or go.
    most = 0.0
    for j in range(e.together.shape[0]):
        most = max(most, abs(e.pull[0] + e.pull[1] * e.together[i, j]))
    count_move(e.looks, i, own, s, (most, most), (most, most), opens)
    e.labels[i] = s
    e.sizes[s] += 1
    if own >= 0:
        e.sizes[own] -= 1
        if e.sizes[own] == 0:
            e.n_clusters[0] -= 1
            if own != e.n_clusters[0]:
                rename(e, e.n_clusters[0], own)
                rename_looks(e.looks, e.n_clusters[0], own)


@routine
def _join_changes(e: Any, row: Any, a: int) -> None:
    """Change of the total loss if a is joined with each cluster; infinite for a itself."""
    for s in range(e.n_clusters[0]):
        e.cost[s] = 0.0
    for i in range(e.labels.shape[0]):
        if e.labels[i] == a:
            _add_row(e, i)
    e.cost[a] = np.inf


@routine
def _join(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    e.looks.until[:] = -np.inf  # too much changes: all items must be looked at again
    join_labels(e, a, b)


@routine
def join_labels(e: Any, a: int, b: int) -> None:
    """Give the items of cluster b the label a < b; the last cluster takes the label b."""
    last = e.n_clusters[0] - 1
    total = e.sizes[a] + e.sizes[b]
    rename(e, b, a)
    e.sizes[a] = total
    if b != last:
        rename(e, last, b)
    e.n_clusters[0] = last


implement_execution(
    Pairs,
    costs=_costs,
    glance=_costs,
    exact=_exact,
    choose=choose_from_row,
    cost_of=entry,
    exclude=exclude_entry,
    least_gap=row_gap,
    apply=_apply,
    join_changes=_join_changes,
    join=_join,
)


@kernel
def weights_with_anchors(
    table: NDArray[np.unsignedinteger],
    weights: FloatArray,
    counts: NDArray[np.integer],
    out: FloatArray,  # OUT (n_items, n_anchors)
) -> None:
    """Weight of the draws that have each item together with each item of an anchor, summed over these."""
    for i in range(table.shape[0]):
        total = out[i]
        total[:] = 0.0
        for t in range(table.shape[1]):
            cells, weight = counts[t, table[i, t]], weights[t]
            for s in range(cells.shape[0]):
                total[s] += weight * cells[s]
