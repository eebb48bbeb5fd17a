"""The execution for a similarity matrix without draws: Binder's loss, and the lower bound of VI.

With p_ij the similarity of items i and j (1 for an item with itself) and s_i the sum of p_ij over the items j
in the cluster of i, both are a sum over clusters,

    constant + sum over clusters of f2(n_s) + scale * sum over items of g(s_i)

with g(s) = s for Binder's loss and g(s) = log2 s for the bound. An item i that joins cluster s adds

    f2(n_s + 1) - f2(n_s) + scale * [ g(1 + r) + sum over the items j of s of g(s_j + p_ij) - g(s_j) ]

where r is the sum of p_ij over these items. Only entries above zero matter, so the matrix is kept as a list
of neighbors for each item, and a sweep takes time O(entries + n_items K). Logarithms of many factors are one
logarithm of their product. All sums are in double precision.
"""

import math
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
    size_change,
)
from epluribus._kernels.looks import Looks
from epluribus._kernels.pairs import join_labels
from epluribus._typing import FloatArray, IntArray

_TINY = 2.0**-900
"""A product below this is replaced by its logarithm: its factors are 1/2 or more, so it is never zero."""


class Neighbors(NamedTuple):
    """A partition under change, with the similarities of its items."""

    price: Price
    first: IntArray
    """(n_items + 1,) the neighbors of item i are at first[i] to first[i + 1] - 1."""
    near: NDArray[np.int32]
    """(n_entries,) the neighbors, without the item itself."""
    share: FloatArray
    """(n_entries,) similarity with each neighbor, above zero."""
    scale: float
    """Factor of the sum of g(s_i)."""
    logs: bool
    """Whether g is the logarithm."""
    labels: IntArray
    """(n_items,) labels 0..K-1 without gaps; -1 for an item in no cluster."""
    sizes: IntArray
    """(n_items + 1,) cluster sizes; zero from K on."""
    n_clusters: IntArray
    """(1,) K."""
    inside: FloatArray
    """(n_items,) s_i; 1 for an item in no cluster."""
    cost: FloatArray
    """(n_items + 1,) the row of costs computed last; entry K is a new cluster."""
    reach: FloatArray
    """WORK (n_items + 1,) sums of similarities with each cluster."""
    product: FloatArray
    """WORK (n_items + 1,) products of s_j / (s_j + p_ij) over each cluster."""
    link: FloatArray
    """WORK (n_items,) sums of similarities with one cluster, by item; zero between two calls."""
    looks: Looks
    """Nothing: no item is skipped."""


@routine
def _costs(e: Any, row: Any, i: int) -> None:
    """Cost of every cluster, and of a new one (entry K), for item i."""
    own, k = e.labels[i], e.n_clusters[0]
    cost, reach, product = e.cost, e.reach, e.product
    for s in range(k + 1):
        cost[s] = e.price.size[e.sizes[s] - (s == own)]
        reach[s] = 0.0
        product[s] = 1.0
    for q in range(e.first[i], e.first[i + 1]):
        j = e.near[q]
        s = e.labels[j]
        if s < 0:
            continue
        p = e.share[q]
        reach[s] += p
        if e.logs:
            # The sum of j with item i, and without it.
            total = e.inside[j] if s == own else e.inside[j] + p
            product[s] *= (total - p) / total
            if product[s] < _TINY:
                cost[s] -= e.scale * math.log2(product[s])
                product[s] = 1.0
    for s in range(k + 1):
        if not e.logs:
            cost[s] += e.scale * (1.0 + 2.0 * reach[s])
        elif reach[s] > 0.0:  # most clusters have no neighbor, and log2 1 is 0
            cost[s] += e.scale * math.log2((1.0 + reach[s]) / product[s])


@routine
def _exact(e: Any, row: Any, i: int, s: int) -> float:
    _costs(e, row, i)
    return e.cost[s]


@routine
def _apply(e: Any, row: Any, i: int, s: int) -> None:
    """Item i goes to cluster s; s = K opens a new cluster, and a cluster left empty closes."""
    own = e.labels[i]
    e.n_clusters[0] += s == e.n_clusters[0]
    total = 1.0
    for q in range(e.first[i], e.first[i + 1]):
        j, p = e.near[q], e.share[q]
        if e.labels[j] == s:
            e.inside[j] += p
            total += p
        elif own >= 0 and e.labels[j] == own:
            e.inside[j] -= p
    e.inside[i] = total
    e.labels[i] = s
    e.sizes[s] += 1
    if own >= 0:
        e.sizes[own] -= 1
        if e.sizes[own] == 0:
            e.n_clusters[0] -= 1
            if own != e.n_clusters[0]:
                rename(e, e.n_clusters[0], own)


@part
def _gain(p: float, total: float) -> float:
    """g(total + p) - g(total) for the logarithm."""
    return math.log2(1.0 + p / total)


@routine
def _link_item(e: Any, i: int, a: int) -> None:
    """Add what item i of cluster a gains in each other cluster, and link the items of these to a."""
    for q in range(e.first[i], e.first[i + 1]):
        s = e.labels[e.near[q]]
        if s >= 0 and s != a:
            e.reach[s] += e.share[q]
            e.link[e.near[q]] += e.share[q]
    # A second look at the same neighbors, since clusters without any need no visit.
    for q in range(e.first[i], e.first[i + 1]):
        s = e.labels[e.near[q]]
        if s >= 0 and s != a and e.reach[s] > 0.0:
            gain = _gain(e.reach[s], e.inside[i]) if e.logs else 2.0 * e.reach[s]
            e.cost[s] += e.scale * gain
            e.reach[s] = 0.0


@routine
def _join_changes(e: Any, row: Any, a: int) -> None:
    """Change of the total loss if a is joined with each cluster; infinite for a itself."""
    for s in range(e.n_clusters[0]):
        e.cost[s] = size_change(e.price, e.sizes[a], e.sizes[s])
        e.reach[s] = 0.0
    for i in range(e.labels.shape[0]):
        if e.labels[i] == a:
            _link_item(e, i, a)
    # The other side: what the items of each cluster gain from a.
    for j in range(e.labels.shape[0]):
        if e.logs and e.link[j] > 0.0:
            e.cost[e.labels[j]] += e.scale * _gain(e.link[j], e.inside[j])
        e.link[j] = 0.0
    e.cost[a] = np.inf


@routine
def _join(e: Any, row: Any, a: int, b: int) -> None:
    """Join cluster b into a < b; the last cluster takes the label b."""
    for i in range(e.labels.shape[0]):
        own = e.labels[i]
        if own in (a, b):
            other = b if own == a else a
            for q in range(e.first[i], e.first[i + 1]):
                if e.labels[e.near[q]] == other:
                    e.inside[i] += e.share[q]
    join_labels(e, a, b)


@kernel
def sums_inside(
    first: IntArray,
    near: NDArray[np.int32],
    share: FloatArray,
    labels: IntArray,
    out: FloatArray,  # OUT (n_items,)
) -> None:
    """s_i of all items; 1 for an item in no cluster."""
    for i in range(labels.shape[0]):
        total = 1.0
        for q in range(first[i], first[i + 1]):
            if labels[near[q]] == labels[i]:
                total += share[q]
        out[i] = total if labels[i] >= 0 else 1.0


implement_execution(
    Neighbors,
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
