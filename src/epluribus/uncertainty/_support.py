"""How well items and clusters of an estimate are supported: sums over draws, made of sparse matrices.

Let M be the (n_items, groups of all draws) matrix of memberships: M_ih = 1 if item i is in group h. With L the same
for the estimate, C = M' L counts the items of each group in each cluster, n_hk, and with W the weights of the draws

    (M W C)_ik = sum over draws t of w_t n_hk    with h the group of item i in draw t,

the weighted number of items of cluster k that are with item i. Divided by the weighted number of items of k that were
seen together with i, the item itself left out, it is the *affinity* of i to k: the mean of P_ij over the items j of k,
or where labels are missing the share of the draws and of the j, seen together with i, in which both shared a cluster.

The contribution of an item to the expected loss: the sums of a linear loss over cells and clusters are sums over
items, since the sum of f(n) over cells is the sum of f(n)/n over items, n being the size of the item's cell.
For Binder's loss it is half the expected number of other items about which the estimate and a draw disagree; for VI it
is the expected value of log2(n_g n_h / n_gh^2) / N. The loss of a draw under any other loss is shared among the items
in proportion to f1(n_g)/n_g + f1(n_h)/n_h - 2 f1(n_gh)/n_gh. The contributions add up to the expected loss.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from epluribus._parallel import run_all
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.draws.expected import draw_losses
from epluribus.draws.store import Slice
from epluribus.losses.base import Loss
from epluribus.losses.built_in import square
from epluribus.losses.values import linear_forms

ALONE = -1
"""Stands for the place of an item that is not a cluster of the estimate: a new cluster of one item."""

_CELLS = 1 << 20
"""Labels whose matrices are made at a time: some 100 MB."""
_PAIRS = 2 * 10**10
"""Pairs of items of a cluster, times draws, that are counted in about a second: of more, some stand for all."""
_ROUNDING = 1e-12
"""Sums of weights up to this, after others were subtracted, are rounding."""


_Terms: TypeAlias = tuple[list[FloatArray], FloatArray] | None
"""An item's contribution in a draw: joint f1(n_gh)/n_gh + size f2(n_g)/n_g + group f3(n_h)/n_h + rest.

First f1(n)/n, f2(n)/n and f3(n)/n for n = 0..n_items, then (4, n_distinct) joint, size, group and rest of each draw.
None where contributions are not asked for."""


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
    contribution: FloatArray
    """(n_items,) its part in the expected loss; 0 without a loss."""
    stability: FloatArray
    """(2, K) best Jaccard index of each cluster, and the share of the draws that saw some of it."""
    recovered: FloatArray
    """(2, K) share of the draws that have exactly this cluster, and of those that saw all of it."""

    def plus(self, other: Sums) -> Sums:
        """The sums over the draws of both."""
        return Sums(*map(add, self, other))


def sum_over_draws(labels: IntArray, draws: Draws, n_jobs: int, loss: Loss | None = None) -> Sums:
    """All sums for canonical labels with K clusters; contributions only with a loss.

    Time O(n_items n_draws) times the number of clusters that the items of a group of a draw are in.
    """
    given = labels, draws.weights, _terms(labels, draws, loss), draws.has_missing
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
    part: Slice, some: slice, labels: IntArray, weights: FloatArray, terms: _Terms, missing: bool
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

    def weighted(values: FloatArray, factor: FloatArray) -> Any:
        """(n, K) sums over draws of a value of each cell, times a factor of its draw."""
        return member @ csr_array((values * factor[t], (h, k)), shape=cells.shape)

    both: Any = ((seen * weight) @ seen_sizes) if missing else np.zeros(1)
    contribution = np.zeros(n)
    if terms is not None:
        (f1, f2, f3), factors = terms
        joint, size, group, rest = factors[:, columns] * weight
        contribution = weighted(f1[in_both.astype(np.int64)], joint)[np.arange(n), labels]
        contribution += member @ (f3[group_size] * group[draw] + rest[draw])
        by_cluster = f2[seen_sizes.astype(np.int64)] * size[:, None]
        contribution += (seen * by_cluster.T[labels]).sum(axis=1)
    # The Jaccard index of a group h and a cluster k is n_hk / (n_h + n_k - n_hk); it is 1 if both are equal.
    jaccard = np.zeros((n_draws, len(sizes)))
    np.maximum.at(jaccard, (t, k), in_both / (group_size[h] + seen_sizes[t, k] - in_both))
    whole = seen_sizes == sizes
    present, alone = member @ weight[draw], member @ (weight[draw] * (group_size == 1))
    stability = np.stack([weight @ jaccard, weight @ (seen_sizes > 0)])
    recovered = np.stack([weight @ ((jaccard == 1.0) & whole), weight @ whole])
    together = weighted(in_both, weight)
    return Sums(together, both, present, alone, contribution, stability, recovered)


def _terms(labels: IntArray, draws: Draws, loss: Loss | None) -> _Terms:
    """How the loss of each draw is shared among the items that it has seen."""
    if loss is None:
        return None
    n, n_seen = draws.n_items, draws.distinct_n_seen
    per_item = np.maximum(np.arange(n + 1), 1)
    tables = [table / per_item for table in loss.tables(n)]
    if loss.linear:
        form = linear_forms(loss, n_seen)
        return tables, np.stack([form.joint, form.size, form.group, form.constant / n_seen])
    function = loss.f1
    # A share is never negative if f1(n)/n does not decrease; if it does, the loss is shared in proportion to
    # the pairs in disagreement instead, f1(n) = n^2.
    if np.any(np.diff(tables[0][1:]) < 0):
        function, tables[0] = square, per_item * 1.0
    whole = Loss(_disagreement, function, function, function, linear=True, zero_if_equal=True)
    # The scale of a draw makes the shares of its items add up to its loss. A user's own loss may not be 0 for
    # equal partitions: what they cost is shared equally.
    disagreement, values = (draw_losses(labels, draws, one) for one in (whole, loss))
    differ = disagreement > 0
    scale = np.divide(values, disagreement, out=np.zeros_like(values), where=differ)
    rest = np.where(differ, 0.0, values) / n_seen
    return [tables[0]] * 3, np.stack([-2.0 * scale, scale, scale, rest])


def _disagreement(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
    return size + group - 2.0 * joint


class Support(NamedTuple):
    """What the sums say about items, (n_items,) each, and about clusters, (K,) each."""

    own: FloatArray
    """Affinity of each item to its own cluster; for an item alone in it, the probability of being alone."""
    runner_up: IntArray
    """The other place of largest affinity: a cluster, or ALONE."""
    second: FloatArray
    """Affinity to that place."""
    contribution: FloatArray
    """Part in the expected loss."""
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


def support(labels: IntArray, draws: Draws, n_jobs: int, loss: Loss | None = None) -> Support:
    """Support of items and clusters; contributions only with a loss.

    A mean over pairs of items is NaN if no draw saw both of more than half of them.
    """
    from scipy.sparse import csr_array

    sums = sum_over_draws(labels, draws, n_jobs, loss)
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
        sums.contribution, np.where(sizes == 1, own[np.unique(labels, return_index=True)[1]], cohesion),
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
    """For each item: draws that saw it with another of its cluster, on average, and how many of these none saw.

    Of a very large cluster, every so many items stand for the others.
    """
    times = np.bincount(draws.index, minlength=draws.n_distinct) * (draws.weights > 0.0)
    mean, never = np.full(len(labels), np.nan), np.zeros(len(labels))
    for g in np.flatnonzero(np.bincount(labels) > 1):
        items = np.flatnonzero(labels == g)
        seen = draws.store.rows(items) > 0
        some = np.arange(0, len(items), -(-(len(items) ** 2) * draws.n_distinct // _PAIRS))
        others, step = (seen[some] * times).T.astype(np.float32), max(1, _CELLS // len(times))
        for begin in range(0, len(items), step):
            here = np.arange(begin, min(begin + step, len(items)))
            both, own = seen[here].astype(np.float32) @ others, here[:, None] == some
            both[own] = 0.0
            n = len(some) - own.sum(axis=1)
            mean[items[here]] = both.sum(axis=1) / n
            never[items[here]] = (((both == 0.0) & ~own).sum(axis=1) / n) * (len(items) - 1)
    return mean, never
