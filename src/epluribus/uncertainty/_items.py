"""How sure the place of each item is, how solid each cluster, and which items an estimate leaves undecided.

With P_ij the probability that items i and j share a cluster (see `psm`), the affinity of item i to a
cluster C of the estimate is the mean of P_ij over the other items j of C; the affinity to a new cluster
is the probability that the item is alone. Its support is the affinity to its own cluster, and its runner-up
is the other place of largest affinity.

The stability of a cluster C is the mean over the draws of its best Jaccard index with a cluster of the draw:

    stability(C) = sum_t p_t max over clusters D of draw t of |C and D| / |C or D|.

Where labels are missing, P_ij is known from the draws that saw both items, and not at all where there are none. A mean
of them is given if at least half of them are known, and is NaN otherwise: nobody can know it.

The sums over draws are made of sparse matrices. Let M be the (n_items,
groups of all draws) matrix of memberships: M_ih = 1 if item i is in group h. With L the same
for the estimate, C = M' L counts the items of each group in each cluster, n_hk, and with W the weights of the draws

    (M W C)_ik = sum over draws t of w_t n_hk    with h the group of item i in draw t,

the weighted number of items of cluster k that are with item i. Divided by the weighted number of items of k that were
seen together with i, the item itself left out, it is the *affinity* of i to k: the mean of P_ij over the items j of k,
or where labels are missing the share of the draws and of the j, seen together with i, in which both shared a cluster.

Hennig, C. (2007). Cluster-wise assessment of cluster stability. Computational Statistics & Data
Analysis 52, 258-271. doi:10.1016/j.csda.2006.11.025
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, NamedTuple

import numpy as np

from epluribus._cards import Card, Rows
from epluribus._parallel import resolve_jobs, run_all
from epluribus._text import few_of, worded
from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.draws import Draws, as_draws
from epluribus.draws.store import Slice
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss
from epluribus.partition import check_estimate, matched
from epluribus.search.constrained import added_by_each, price_of
from epluribus.search.problem import Problem

ALONE = -1
"""Stands for the place of an item that is not a cluster of the estimate: a new cluster of one item."""

_CELLS = 1 << 20
"""Labels whose matrices are made at a time: some 100 MB."""
_ROUNDING = 1e-12
"""Sums of weights up to this, after others were subtracted, are rounding."""


class _Ordered(Rows):
    """A table with the least certain rows first."""

    kind: str
    _by: ClassVar[str]
    """What tells how certain a row is."""

    @property
    def order(self) -> IntArray:
        """Rows with the least support, or stability, first; those where it cannot be known last."""
        return np.argsort(getattr(self, self._by), kind="stable")

    def __len__(self) -> int:
        return len(getattr(self, self._by))

    def _in_order(self, *names: str) -> dict[str, Any]:
        """Fields of the table, and those that there are only where labels are missing, in its order."""
        found = {name: getattr(self, name) for name in (*names, "seen_with", "never_seen")}
        return {name: x[self.order] for name, x in found.items() if x is not None}

    def _tell(self, notes: dict[str, Any], names: AnyArray) -> list[str]:
        """A line for each note that holds for some rows, with their names."""
        told = {note: names[rows].tolist() for note, rows in notes.items()}
        return [worded(f"{note}: {few_of(some)}", self.kind) for note, some in told.items() if some]


@dataclass(frozen=True, repr=False, eq=False)
class ItemTable(_Ordered):
    """How sure the place of each item is. Arrays are in the order of the items."""

    names: tuple[str, ...]
    """Names of the items."""
    labels: IntArray
    """Cluster of each item in the estimate."""
    support: FloatArray
    """Mean probability of sharing a cluster with the other items of its cluster. For an item alone in its
    cluster: the probability that it is alone. NaN if no draw saw it with at least half of the others."""
    runner_up: IntArray
    """The other cluster with the largest such mean; -1 for a new cluster of this item alone."""
    runner_up_support: FloatArray
    """Affinity to the runner-up: that mean, or the probability of being alone."""
    seen_with: FloatArray | None = None
    """Mean number of draws that saw both the item and another one of its cluster; None if no label is missing."""
    never_seen: FloatArray | None = None
    """Number of other items of its cluster that no draw saw with it; None if no label is missing."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    _by, _index, _nowhere = "support", "item", {"runner_up": "alone"}
    _more, _heading = "more items with more support", "Items, the uncertain ones first"

    @property
    def exemplars(self) -> IntArray:
        """(K,) the item of each cluster that has the largest support; the first of several.

        Examples
        --------
        >>> import epluribus as epl
        >>> draws = [[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 1]]
        >>> epl.uncertainty.items([0, 0, 0, 1], draws).exemplars
        array([0, 3])
        """
        # By cluster, then by support from the largest on: the first of each cluster is its exemplar.
        order = np.lexsort((-self.support, self.labels))
        return order[np.unique(self.labels[order], return_index=True)[1]]

    def columns(self) -> dict[str, Any]:
        """The table as lists and arrays by name, uncertain items first."""
        table = {"item": [self.names[i] for i in self.order], "cluster": self.labels[self.order]}
        return table | self._in_order("support", "runner_up", "runner_up_support")

    def _notes(self) -> list[str]:
        single = np.bincount(self.labels)[self.labels] == 1
        notes = {
            "support unknown, never seen with most of their cluster": np.isnan(self.support),
            "clusters of their own, though alone in no draw": single & (self.support == 0),
        }
        return self._tell(notes, np.array(self.names, dtype=object))


@dataclass(frozen=True, repr=False, eq=False)
class ClusterTable(_Ordered):
    """How solid each cluster is. Arrays are in the order of the labels."""

    sizes: IntArray
    """Number of items."""
    cohesion: FloatArray
    """Mean probability that two of its items share a cluster; for a single item, that it is alone. NaN if no
    draw saw both of at least half of the pairs."""
    separation: FloatArray
    """One minus the mean probability that an item of it and one of the nearest cluster share a cluster.
    NaN if there is no other cluster, or none was seen with it."""
    nearest: IntArray
    """The other cluster with the largest such mean; -1 if there is none."""
    stability: FloatArray
    """Mean over the draws of the best Jaccard index with a cluster of the draw; NaN where the cohesion is."""
    recovered: FloatArray
    """Probability that exactly this cluster is in a draw. NaN if no draw saw all of it."""
    seen_with: FloatArray | None = None
    """Mean number of draws that saw two of its items; None if no label is missing."""
    never_seen: FloatArray | None = None
    """Share of the pairs of its items that no draw saw together; None if no label is missing."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    _by, _index, _nowhere = "stability", "cluster", {"nearest": "-"}
    _more, _heading = "more clusters", "Clusters, the unstable ones first"

    def columns(self) -> dict[str, Any]:
        """The table as arrays by name, unstable clusters first."""
        table = {"cluster": self.order, "size": self.sizes[self.order]}
        fields = ("cohesion", "separation", "nearest", "stability", "recovered")
        return table | self._in_order(*fields)

    def _notes(self) -> list[str]:
        notes = {
            "unknown, most of their items never seen together": np.isnan(self.cohesion),
            "in no draw exactly as here": self.recovered == 0,
        }
        return self._tell(notes, np.arange(len(self)))


def items(best: Estimate | LabelsLike, draws: DrawsLike, *, n_jobs: int | None = None) -> ItemTable:
    """How sure the place of each item is: support, and the runner-up cluster.

    In a paper: *item 17 shared a cluster with the other members of its cluster with probability
    0.55 on average, and with those of cluster 2 with probability 0.40*.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The estimate.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    ItemTable
        Printed with the uncertain items first.

    Notes
    -----
    Time O(n_items n_draws) times the number of clusters that the items of a group of a draw are in; the
    similarity matrix is not formed. Where labels are missing, the support is the share of the draws and of the
    other items of the cluster, seen together with the item, in which both shared a cluster. Two more columns
    say how many draws that were on average, and how many of the other items no draw saw with it.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]]
    >>> table = epl.uncertainty.items([0, 0, 1, 1], draws)
    >>> print(table)
    item  cluster  support  runner up  runner up support
    2           1      0.5          0               0.25
    3           1      0.5      alone                0.5
    0           0        1          1              0.125
    1           0        1          1              0.125
    """
    return _both_tables(best, draws, n_jobs)[0]


def clusters(
    best: Estimate | LabelsLike, draws: DrawsLike, *, n_jobs: int | None = None
) -> ClusterTable:
    """How solid each cluster is: cohesion, separation, stability.

    In a paper: *two items of the cluster shared a cluster with probability 0.93 (cohesion); its best
    match in a draw had a Jaccard index of 0.88 on average (stability)*.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The estimate.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    ClusterTable
        Printed with the unstable clusters first.

    Notes
    -----
    Time as for `items`. Where labels are missing, means over pairs of items are over the draws that saw both, the
    stability over those that saw some item of the cluster, and `recovered` counts those that saw all of them.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]]
    >>> print(epl.uncertainty.clusters([0, 0, 1, 1], draws))
    cluster  size  cohesion  separation  nearest  stability  recovered
    1           2       0.5       0.875        0       0.75        0.5
    0           2         1       0.875        1     0.9167       0.75
    """
    return _both_tables(best, draws, n_jobs)[1]


@dataclass(frozen=True, repr=False, eq=False)
class LeftOut(Rows):
    """The undecided items, those first that would add most to the loss."""

    names: tuple[str, ...]
    """Their names."""
    numbers: IntArray
    """Their numbers."""
    adds: FloatArray
    """What each would add to the expected loss in the cluster that suits it best, in the unit of the cost."""
    cost: float
    """The cost of leaving an item out."""
    places: IntArray
    """(n, 2) the two clusters that it is with most; -1 if there is no other."""
    probabilities: FloatArray
    """(n, 2) mean probability of sharing a cluster with the items of these; NaN if there is no other."""
    alone: FloatArray
    """Probability of being alone."""
    loss: Loss
    """The loss."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    _index, _nowhere = "item", {"cluster": "-", "second": "-"}

    def columns(self) -> dict[str, Any]:
        """The table as lists and arrays by name."""
        return {
            "item": list(self.names),
            "adds": self.adds,
            "cluster": self.places[:, 0],
            "probability": self.probabilities[:, 0],
            "second": self.places[:, 1],
            "second_probability": self.probabilities[:, 1],
            "alone": self.alone,
        }

    def _card(self) -> Card:
        return super()._card() if len(self) else Card("No item is undecided.")


def left_out(best: Estimate, draws: DrawsLike) -> LeftOut:
    """The items that an estimate leaves undecided: what each would add, and where it might belong.

    Parameters
    ----------
    best : Estimate
        Made by `minimize` with a cost for `undecided` items.
    draws : Draws or array_like of shape (n_draws, n_items)
        The draws that it was made from.

    Returns
    -------
    LeftOut
        A table, the most expensive items first.

    Notes
    -----
    `adds` is compared with the cost: it is how much the expected loss of the decided items would rise if the
    item joined the cluster that suits it best, or a new one, in bits for VI and in pairs of items for
    Binder's loss. It may be below the cost where constraints keep the item out of that cluster.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1, 0], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1]]
    >>> best = epl.minimize(draws, undecided=0.5, rng=1)
    >>> print(epl.uncertainty.left_out(best, draws))
    item   adds  cluster  probability  second  second probability   alone
    4     1.837        0       0.3333       1              0.3333  0.3333
    """
    check_estimate(best)
    cost, sample = best.settings.undecided, as_draws(draws)
    if cost is None:
        asked = "an estimate that may leave items undecided, made by minimize with 'undecided'"
        raise ValueError(f"'best' must be {asked}.")
    labels = matched(best, sample, missing=True)
    problem, k = Problem.of(sample, best.loss), int(labels.max()) + 1
    out = np.flatnonzero(labels < 0)
    unit = problem.total_weight * price_of(best.loss, 1.0, len(labels))
    adds = added_by_each(problem, labels, out) / unit
    order = np.argsort(-adds, kind="stable")
    out, adds = out[order], adds[order]
    # The undecided items are one more cluster, which is then left out.
    sums = sum_over_draws(np.where(labels < 0, k, labels), sample, 1)
    affinity = sums.together.tocsr()[out].toarray()[:, :k] / np.bincount(labels[labels >= 0])
    # Last comes a cluster that does not exist, the second where there is only one.
    affinity = np.pad(affinity, ((0, 0), (0, 1)), constant_values=np.nan)
    places = np.argsort(-affinity, axis=1, kind="stable")[:, :2]
    probabilities = np.take_along_axis(affinity, places, 1)
    places[places == k] = -1
    names = tuple(sample.item_names[i] for i in out)
    rest = (sums.alone[out], best.loss, sample.kind)
    return LeftOut(names, out, adds, cost, places, probabilities, *rest)


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


def _both_tables(
    best: Estimate | LabelsLike, draws: DrawsLike, n_jobs: int | None
) -> tuple[ItemTable, ClusterTable]:
    """How sure items are, and how solid clusters.

    A mean over pairs of items is NaN if no draw saw both of more than half of them.
    """
    from scipy.sparse import csr_array

    labels, sample, _ = read_best(best, draws, None)
    sums = sum_over_draws(labels, sample, resolve_jobs(n_jobs))
    n, k, sizes = len(labels), int(labels.max()) + 1, np.bincount(labels)
    mine, pairs = (np.arange(n), labels), sizes * (sizes - 1.0)
    member = csr_array((np.ones(n), mine), shape=(n, k))
    # From here on without the item itself, with which it always is.
    together = (sums.together - member * sums.present[:, None]).tocsr()
    shared, possible = together[mine], sizes[labels] - 1.0
    seen = seen_between = None
    if sample.has_missing:
        seen = sums.seen
        seen[mine] -= sums.present
        possible, seen_between = seen[mine], member.T @ seen

    def items_of(i: IntArray, g: IntArray) -> AnyArray:
        return sizes[g] - (g == labels[i]) if seen is None else seen[i, g]

    def pairs_of(g: IntArray, h: IntArray) -> AnyArray:
        return sizes[g] * sizes[h] if seen_between is None else seen_between[g, h]

    place, second = _largest_other(together, items_of, labels)
    nearest, closeness = _largest_other(member.T @ together, pairs_of, np.arange(k))
    # A new cluster is a candidate as well, unless the item is alone already.
    single, alone = sizes[labels] == 1, sums.alone / np.where(sums.present, sums.present, np.nan)
    leaves = ~single & ((alone > second + _ROUNDING) | (k == 1))
    own = np.where(single, alone, _ratio(shared, possible))
    cohesion = _ratio(np.bincount(labels, shared), np.bincount(labels, possible))
    nobody = np.full(k, k == 1)
    of_items: dict[str, Any] = {}
    of_clusters: dict[str, Any] = {}
    if seen_between is not None:
        seen_with, never = _count_seen(labels, sample)
        of_items = {"seen_with": seen_with, "never_seen": never}
        seen_with, within = np.bincount(labels, seen_with) / sizes, np.bincount(labels, never)
        of_clusters = {"seen_with": seen_with, "never_seen": within / np.maximum(pairs, 1)}
        own[2 * never > sizes[labels] - 1] = np.nan
        unknown = 2 * within > pairs
        cohesion[unknown] = sums.stability[0][unknown] = np.nan
        others = (seen_between > _ROUNDING) & ~np.eye(k, dtype=bool)
        nobody |= ~others.any(axis=1)
    with np.errstate(invalid="ignore"):  # no draw saw all of a cluster: nobody can know
        stability, recovered = (np.minimum(a / b, 1.0) for a, b in sums[-2:])
    place[leaves | (single & (k == 1))] = ALONE
    second = np.where(leaves, alone, second)
    table = ItemTable(sample.item_names, labels, own, place, second, kind=sample.kind, **of_items)
    cohesion = np.where(sizes == 1, own[np.unique(labels, return_index=True)[1]], cohesion)
    separation = np.where(nobody, np.nan, 1.0 - closeness)
    nearest[nobody] = ALONE
    found = cohesion, separation, nearest, stability, recovered
    return table, ClusterTable(sizes, *found, kind=sample.kind, **of_clusters)


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
