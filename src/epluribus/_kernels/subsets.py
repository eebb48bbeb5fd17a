"""The best partition of a few items, from what each set of items would cost as a cluster.

A set of items is an integer whose bit i says whether item i is in it: with N items the sets are the numbers
0..2**N - 1, and the sets inside a set u are found by s = (s - 1) & u. The *shape* of a partition is the sizes
of its clusters, the largest first. `search/shapes.py` says which costs make the sum over the clusters a lower
bound on the expected loss of a partition of a given shape; here that sum is made small.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import routine
from epluribus._typing import FloatArray, IntArray

_BLOCK = np.uint64(64)
"""Draws after which a sum that has become too large is given up."""
_ONE, _TWO, _THREE, _FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
"""Unsigned, as all of an index must be: a signed one would be checked for being negative at each step."""
_ROUNDING = 1e-12
"""Expected losses closer than this, relative to the scale, are equal: rounding must not decide ties."""


class Sets(NamedTuple):
    """What is known about all sets of items; the same for all shapes."""

    size: IntArray
    """(2**N,) number of items in the set."""
    codes: NDArray[np.uint8]
    """(2**N, n) code of the cells that the set has in common with each draw, see `subset_codes`."""
    weights: FloatArray
    """(n,) share of each of these draws; n is a multiple of four, for the last may have no weight."""
    rows: NDArray[np.uint64]
    """(n,) where in `Tree.excess` the row of each of these draws begins."""


class Tree(NamedTuple):
    """The search through all partitions of one shape."""

    sizes: IntArray
    """(K,) the shape."""
    large: int
    """How many of the clusters have more than one item; 1 if none has."""
    start: float
    """What every partition of this shape pays."""
    cost: FloatArray
    """(2**N,) what each set costs as a cluster."""
    least: FloatArray
    """(K + 1, 2**N) see `least_costs`."""
    excess: FloatArray
    """By how much the loss exceeds the bound: a row for each shape of a draw, an entry for each code."""
    begin: int
    """Draws begin..end-1, among those with codes, may have a loss above the bound."""
    end: int
    """Like `begin` a multiple of four."""

    @property
    def bound(self) -> float:
        """No partition of this shape has a smaller expected loss."""
        return self.start + float(self.least[0, -1])


class Best(NamedTuple):
    """The best partition so far, and room for the next."""

    low: FloatArray
    """(1,) smallest expected loss so far."""
    value: FloatArray
    """(1,) expected loss of `labels`, which equals `low` up to rounding."""
    labels: IntArray
    """(N,) the first, in lexicographic order, of the partitions that are as good as that."""
    trial: IntArray
    """(N,) WORK."""
    scale: float
    """Losses are compared relative to this scale, or to themselves if they are larger."""


class Path(NamedTuple):
    """Where the search is: an entry for each cluster, the largest first, at most N. All WORK."""

    chosen: IntArray
    """The cluster."""
    coming: IntArray
    """The set that is tried next in its place; 0 if there is none."""
    left: IntArray
    """The items in none of the clusters before it."""
    paid: FloatArray
    """`start` and the costs of the clusters before it."""
    sums: NDArray[np.uint8]
    """(N, n) codes of this cluster and those before it, added."""


@kernel
def subset_sums(
    clusters: IntArray,
    weights: FloatArray,
    kinds: IntArray,
    size: IntArray,
    f1: FloatArray,
    sums: FloatArray,  # OUT (kinds, 2**N), zero on entry
) -> None:
    """Weighted sums of f1 over the cells that each set has in common with the clusters of draws."""
    # sums[kind, s] = sum over the clusters c of that kind of w_c f1(|s and c|)
    for c in range(clusters.shape[0]):
        row = sums[kinds[c]]
        for s in range(size.shape[0]):
            row[s] += weights[c] * f1[size[s & clusters[c]]]


@kernel
def subset_codes(
    together: IntArray,
    size: IntArray,
    step: IntArray,
    codes: NDArray[np.uint8],  # OUT (2**N, at least n_draws), zero on entry
) -> None:
    """Code of the cells that each set has in common with each draw: the sum of code(n) over the cells.

    `together[i, t]` is the cluster of item i in draw t, and step[n] = code(n + 1) - code(n).
    """
    # The last item of a set, i, is added to the set of the others: its cell has one item more.
    for i in range(together.shape[0]):
        for rest in range(1 << i):
            for t in range(together.shape[1]):
                n = size[rest & together[i, t]]
                codes[rest | 1 << i, t] = codes[rest, t] + step[n]


@kernel
def least_costs(
    sizes: IntArray,
    cost: FloatArray,
    size: IntArray,
    least: FloatArray,  # OUT (K + 1, 2**N)
) -> None:
    """The smallest cost of dividing each set into the last clusters of a shape.

    least[j, u] is the smallest sum of costs if the items of u are divided into clusters of sizes[j],
    sizes[j + 1], ... items. Other entries, where u has not that many items, are not used.
    """
    k, n_items = sizes.shape[0], 0
    least[k, 0] = 0.0
    for j in range(k - 1, -1, -1):
        n_items += sizes[j]
        for u in range(size.shape[0]):
            if size[u] != n_items:
                continue
            # Choose the cluster of sizes[j] items; the others are divided as well as possible.
            found, s = np.inf, u
            while s > 0:
                if size[s] == sizes[j]:
                    found = min(found, cost[s] + least[j + 1, u ^ s])
                s = (s - 1) & u
            least[j, u] = found


@kernel
def search_shape(sets: Sets, tree: Tree, path: Path, limit: float, best: Best) -> int:
    """Visit the partitions of one shape whose bound allows them to be as good as the best so far.

    Partitions whose bound is above `limit` are not visited either. Returns how often the smallest loss fell
    by no more than counts as equal: if it did, a partition that was not kept may be as good as the best.

    The clusters are chosen one after the other, the largest first, and those of the same size in the order of
    their first items, so that each partition is made once. Items left when all clusters of two or more are
    chosen are alone. With clusters chosen and the set u left, no partition can cost less than what is paid
    plus least[j, u].
    """
    path.left[0] = path.coming[0] = sets.size.shape[0] - 1
    path.paid[0] = tree.start
    # `ready` rows of path.sums belong to the clusters chosen now; they are filled only when needed.
    j, ready, falls = 0, 0, 0
    while j >= 0:
        s, left = path.coming[j], path.left[j]
        if s == 0:
            j -= 1
            continue
        path.coming[j] = (s - 1) & left
        if sets.size[s] != tree.sizes[j]:
            continue
        if j > 0 and tree.sizes[j] == tree.sizes[j - 1] and not _after(s, path.chosen[j - 1]):
            continue
        path.chosen[j], ready = s, min(ready, j)
        paid = path.paid[j] + tree.cost[s]
        bound = paid + tree.least[j + 1, left ^ s]
        if bound > min(limit, as_good(best.low[0], best.scale)):
            continue
        if j == tree.large - 1:
            falls += _visit(sets, tree, path, ready, bound, best)
            ready = max(tree.large - 2, 0)
        else:
            j += 1
            path.left[j], path.coming[j], path.paid[j] = left ^ s, left ^ s, paid
    return falls


@routine
def _after(s: int, other: int) -> bool:
    """Whether the first item of the set s comes after that of the other."""
    return (s & -s) > (other & -other)  # the first item of a set, as a set


@kernel
def as_good(low: float, scale: float) -> float:
    """The largest expected loss that counts as equal to `low`."""
    return low + _ROUNDING * max(scale, abs(low))


@routine
def _visit(sets: Sets, tree: Tree, path: Path, ready: int, bound: float, best: Best) -> bool:
    """Keep the chosen partition if it is the best; whether the smallest loss fell by next to nothing."""
    k, low, nothing = tree.large, best.low[0], sets.codes[0]  # the empty set: zeros
    # Codes of all clusters but the last two; an item alone has code 0.
    for j in range(ready, k - 2):
        before = path.sums[j - 1] if j > 0 else nothing
        _add_codes(before, sets.codes[path.chosen[j]], tree.begin, tree.end, path.sums[j])
    value = bound + _excess(
        path.sums[k - 3] if k > 2 else nothing,
        sets.codes[path.chosen[k - 2]] if k > 1 else nothing,
        sets.codes[path.chosen[k - 1]],
        sets.rows,
        sets.weights,
        tree.excess,
        tree.begin,
        tree.end,
        as_good(low, best.scale) - bound,
    )
    if not value <= as_good(low, best.scale):  # also if it is not a number
        return False
    best.low[0] = min(low, value)
    _write_labels(path.chosen, k, best.trial)
    # Of two that are equally good the first in lexicographic order is kept.
    worse = best.value[0] > as_good(best.low[0], best.scale)
    if worse or _is_before(best.trial, best.labels):
        best.value[0] = value
        for i in range(best.labels.shape[0]):
            best.labels[i] = best.trial[i]
    return value < low <= as_good(value, best.scale)


@routine
def _add_codes(
    a: NDArray[np.uint8],
    b: NDArray[np.uint8],
    begin: int,
    end: int,
    sums: NDArray[np.uint8],  # OUT
) -> None:
    """Add the codes of draws begin..end-1."""
    for t in range(begin, end):
        sums[t] = a[t] + b[t]


@routine
def _excess(
    a: NDArray[np.uint8],
    b: NDArray[np.uint8],
    c: NDArray[np.uint8],
    rows: NDArray[np.uint64],
    weights: FloatArray,
    excess: FloatArray,
    begin: int,
    end: int,
    room: float,
) -> float:
    """By how much an expected loss exceeds its bound, if the code of draw t is a[t] + b[t] + c[t].

    Infinity if that is more than `room`: no term is negative, so a sum that is too large is given up.
    """
    total = 0.0
    # Four sums side by side: an addition then waits only for the one before it in its own sum.
    t, last = np.uint64(begin), np.uint64(end)
    while t < last and total <= room:
        sum0, sum1, sum2, sum3 = 0.0, 0.0, 0.0, 0.0
        stop = min(t + _BLOCK, last)
        while t < stop:
            t1, t2, t3 = t + _ONE, t + _TWO, t + _THREE
            sum0 += weights[t] * excess[rows[t] + a[t] + b[t] + c[t]]
            sum1 += weights[t1] * excess[rows[t1] + a[t1] + b[t1] + c[t1]]
            sum2 += weights[t2] * excess[rows[t2] + a[t2] + b[t2] + c[t2]]
            sum3 += weights[t3] * excess[rows[t3] + a[t3] + b[t3] + c[t3]]
            t += _FOUR
        total += (sum0 + sum1) + (sum2 + sum3)
    return total if total <= room else np.inf


@routine
def _write_labels(chosen: IntArray, k: int, labels: IntArray) -> None:  # OUT labels
    """The partition of k chosen clusters, with all other items alone, in canonical labels."""
    labels[:] = -1
    n_clusters = 0
    for i in range(labels.shape[0]):
        if labels[i] >= 0:
            continue
        # Item i is the first of its cluster: the whole cluster is labeled.
        labels[i] = n_clusters
        for j in range(k):
            if chosen[j] >> i & 1:
                for other in range(i, labels.shape[0]):
                    if chosen[j] >> other & 1:
                        labels[other] = n_clusters
        n_clusters += 1


@routine
def _is_before(a: IntArray, b: IntArray) -> bool:
    """Whether a comes before b in lexicographic order."""
    for i in range(a.shape[0]):
        if a[i] != b[i]:
            return a[i] < b[i]
    return False
