"""How well items and clusters of an estimate are supported: sums over draws, made of sparse matrices.

Let M be the (n_items, groups of all draws) matrix of memberships: M_ih = 1 if item i is in group h. With L the same
for the estimate, C = M' L counts the items of each group in each cluster, n_hk, and with W the weights of the draws

    (M W C)_ik = sum over draws t of w_t n_hk    with h the group of item i in draw t,

the weighted number of items of cluster k that are with item i. Divided by the weighted number of items of k that were
seen together with i, the item itself left out, it is the *affinity* of i to k: the mean of P_ij over the items j of k,
or where labels are missing the share of the draws and of the j, seen together with i, in which both shared a cluster.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from epluribus._parallel import run_all
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.draws.store import Slice

ALONE = -1
"""Stands for the place of an item that is not a cluster of the estimate: a new cluster of one item."""

_CELLS = 1 << 20
"""Labels whose matrices are made at a time: some 100 MB."""
_ROUNDING = 1e-12
"""Sums of weights up to this, after others were subtracted, are rounding."""


class Sums(NamedTuple):
    """Weighted means over draws."""

    together: Any
    """(n_items, K), sparse: items of each cluster that an item is with, itself included."""
    seen: Any
    """(n_items, K) items of each cluster that were seen together with it, itself included; 0 if complete."""
    present: FloatArray
    """(n_items,) share of the draws that saw the item."""
    alone: FloatArray
    """(n_items,) of those in which it is alone."""
    stability: FloatArray
    """(2, K) best Jaccard index of each cluster, and the share of the draws that saw some of it."""
    recovered: FloatArray
    """(2, K) share of the draws that have exactly this cluster, and of those that saw all of it."""

    def plus(self, other: Sums) -> Sums:
        """The sums over the draws of both."""
        return Sums(*map(add, self, other))


def sum_over_draws(labels: IntArray, draws: Draws, n_jobs: int) -> Sums:
    """All sums for canonical labels with K clusters.

    Time O(n_items n_draws) times the number of clusters that the items of a group of a draw are in.
    """
    given = labels, draws.weights, draws.has_missing
    found = draws.store.map(_slice_sums, n_jobs if draws.store.in_one_piece else 1, *given)
    return Sums(*(one / draws.total_weight for one in reduce(Sums.plus, found)))


def _slice_sums(part: Slice, n_jobs: int, *given: Any) -> Sums:
    """The sums over the draws of one slice, in a few tasks."""
    n_items, n_draws = part.table.shape
    # Eight tasks, whatever the number of threads is: the result must not depend on it.
    size, step = -(-n_draws // 8), max(1, _CELLS // n_items)

    def task(begin: int) -> Sums:
        end = min(begin + size, n_draws)
        some = (slice(t, min(t + step, end)) for t in range(begin, end, step))
        return reduce(Sums.plus, (_some_sums(part, one, *given) for one in some))

    return reduce(Sums.plus, run_all([partial(task, b) for b in range(0, n_draws, size)], n_jobs))


def _some_sums(
    part: Slice, some: slice, labels: IntArray, weights: FloatArray, missing: bool
) -> Sums:
    """The sums over some draws of a slice."""
    from scipy.sparse import csr_array

    table, columns = part.table[:, some], slice(part.begin + some.start, part.begin + some.stop)
    n, n_draws, weight = len(labels), table.shape[1], weights[columns]
    sizes = np.bincount(labels)
    # The groups of all draws are numbered through; with missing labels the first of each draw is left empty.
    groups = table.max(axis=0).astype(np.int64) + 1
    draw, seen = np.repeat(np.arange(n_draws), groups), table >= missing
    number = (table + (np.cumsum(groups) - groups))[seen]
    starts = np.append(0, np.cumsum(seen.sum(axis=1)))
    member = csr_array((np.ones(len(number)), number, starts), shape=(n, len(draw)))
    best = csr_array((np.ones(n), (labels, np.arange(n))), shape=(len(sizes), n))
    cells = (best @ member).T.tocoo()  # (groups, K)
    h, k, t, in_both = cells.row, cells.col, draw[cells.row], cells.data
    group_size = np.bincount(number, minlength=len(draw))
    # (draws, K) items of each cluster that a draw saw.
    seen_sizes = csr_array((in_both, (t, k)), shape=(n_draws, len(sizes))).toarray()

    both: Any = ((seen * weight) @ seen_sizes) if missing else np.zeros(1)
    # The Jaccard index of a group h and a cluster k is n_hk / (n_h + n_k - n_hk); it is 1 if both are equal.
    jaccard = np.zeros((n_draws, len(sizes)))
    np.maximum.at(jaccard, (t, k), in_both / (group_size[h] + seen_sizes[t, k] - in_both))
    whole = seen_sizes == sizes
    present, alone = member @ weight[draw], member @ (weight[draw] * (group_size == 1))
    stability = np.stack([weight @ jaccard, weight @ (seen_sizes > 0)])
    recovered = np.stack([weight @ ((jaccard == 1.0) & whole), weight @ whole])
    together = member @ csr_array((in_both * weight[t], (h, k)), shape=cells.shape)
    return Sums(together, both, present, alone, stability, recovered)


class Support(NamedTuple):
    """What the sums say about items, (n_items,) each, and about clusters, (K,) each."""

    own: FloatArray
    """Affinity of each item to its own cluster; for an item alone in it, the probability of being alone."""
    runner_up: IntArray
    """The other place of largest affinity: a cluster, or ALONE."""
    second: FloatArray
    """Affinity to that place."""
    cohesion: FloatArray
    """Affinity of the items of each cluster to it, over all pairs; of a single item, as above."""
    nearest: IntArray
    """The other cluster to which its items have the largest affinity, over all pairs; -1 if there is none."""
    closeness: FloatArray
    """That affinity; NaN if there is none."""
    stability: FloatArray
    """Mean best Jaccard index in the draws that saw some of the cluster."""
    recovered: FloatArray
    """Share of the draws that have exactly this cluster, of those that saw all of it; NaN without any."""
    seen_with: FloatArray | None
    """Mean number of draws that saw an item and another of its cluster; None if no label is missing."""
    never_seen: FloatArray | None
    """Number of other items of its cluster that no draw saw with an item; None if no label is missing."""


def support(labels: IntArray, draws: Draws, n_jobs: int) -> Support:
    """Support of items and clusters.

    A mean over pairs of items is NaN if no draw saw both of more than half of them.
    """
    from scipy.sparse import csr_array

    sums = sum_over_draws(labels, draws, n_jobs)
    n, k, sizes = len(labels), int(labels.max()) + 1, np.bincount(labels)
    mine = np.arange(n), labels
    member = csr_array((np.ones(n), mine), shape=(n, k))
    # From here on without the item itself, with which it always is.
    together = (sums.together - member * sums.present[:, None]).tocsr()
    shared, possible = together[mine], sizes[labels] - 1.0
    seen = seen_between = seen_with = never = None
    if draws.has_missing:
        seen_with, never = _count_seen(labels, draws)
        seen = sums.seen
        seen[mine] -= sums.present
        possible, seen_between = seen[mine], member.T @ seen

    def items_of(i: IntArray, g: IntArray) -> AnyArray:
        return sizes[g] - (g == labels[i]) if seen is None else seen[i, g]

    def pairs_of(g: IntArray, h: IntArray) -> AnyArray:
        return sizes[g] * sizes[h] if seen_between is None else seen_between[g, h]

    best, second = _largest_other(together, items_of, labels)
    nearest, closeness = _largest_other(member.T @ together, pairs_of, np.arange(k))
    # A new cluster is a candidate as well, unless the item is alone already.
    single, alone = sizes[labels] == 1, sums.alone / np.where(sums.present, sums.present, np.nan)
    leaves = ~single & ((alone > second + _ROUNDING) | (k == 1))
    own = np.where(single, alone, _ratio(shared, possible))
    cohesion = _ratio(np.bincount(labels, shared), np.bincount(labels, possible))
    nobody = np.full(k, k == 1)
    if never is not None and seen_between is not None:
        own[2 * never > sizes[labels] - 1] = np.nan
        unknown = 2 * np.bincount(labels, never) > sizes * (sizes - 1)
        cohesion[unknown] = sums.stability[0][unknown] = np.nan
        others = (seen_between > _ROUNDING) & ~np.eye(k, dtype=bool)
        nobody |= ~others.any(axis=1)
    with np.errstate(invalid="ignore"):  # no draw saw all of a cluster: nobody can know
        stability, recovered = (np.minimum(a / b, 1.0) for a, b in sums[-2:])
    return Support(
        own, np.where(leaves | (single & (k == 1)), ALONE, best), np.where(leaves, alone, second),
        np.where(sizes == 1, own[np.unique(labels, return_index=True)[1]], cohesion),
        np.where(nobody, ALONE, nearest), np.where(nobody, np.nan, closeness), stability, recovered,
        seen_with, never,
    )  # fmt: skip


def _ratio(sums: Any, numbers: Any) -> FloatArray:
    """Means of probabilities; 0 where there is nothing. Sums of weights may be rounded."""
    there = numbers > _ROUNDING
    return np.clip(np.divide(sums, numbers, out=np.zeros(len(sums)), where=there), 0.0, 1.0)


def _largest_other(sums: Any, numbers: Any, own: IntArray) -> tuple[IntArray, FloatArray]:
    """For each row of a sparse table of means the column of the largest but `own`, and that value."""
    from scipy.sparse import csr_array

    table = sums.tocoo()
    table.data = _ratio(table.data, numbers(table.row, table.col))
    # The own entry, now below all others, is in each row: no row is empty.
    mine = np.arange(len(own)), own
    table = (table - csr_array((np.full(len(own), 2.0), mine), shape=table.shape)).tocsr()
    row, starts = np.repeat(mine[0], np.diff(table.indptr)), table.indptr[:-1]
    values = table.data.round(12)  # ties stay ties
    largest = np.maximum.reduceat(values, starts)
    first = np.where(values == largest[row], table.indices, table.shape[1])
    # Where all others are 0, the first of them.
    none = largest <= 0.0
    column = np.where(none, own == 0, np.minimum.reduceat(first, starts)).astype(np.int64)
    return column, np.where(none, 0.0, largest)


def _count_seen(labels: IntArray, draws: Draws) -> tuple[FloatArray, FloatArray]:
    """For each item: draws that saw it with another of its cluster, on average, and how many of these none saw."""
    times = np.bincount(draws.index, minlength=draws.n_distinct) * (draws.weights > 0.0)
    mean, never = np.full(len(labels), np.nan), np.zeros(len(labels))
    for g in np.flatnonzero(np.bincount(labels) > 1):
        items = np.flatnonzero(labels == g)
        seen = (draws.store.rows(items) > 0).astype(np.float32)
        others, step = (seen * times).T, max(1, _CELLS // len(items))
        for begin in range(0, len(items), step):
            here = slice(begin, begin + step)
            both = seen[here] @ others
            own = both[np.arange(len(both)), np.arange(begin, begin + len(both))]
            mean[items[here]] = (both.sum(axis=1) - own) / (len(items) - 1)
            never[items[here]] = (both == 0.0).sum(axis=1) - (own == 0.0)
    return mean, never
