"""How sure the place of each item is, and how solid each cluster.

With P_ij the probability that items i and j share a cluster (see psm), the affinity of item i to a
cluster C of the estimate is the mean of P_ij over the other items j of C; the affinity to a cluster
of its own is the probability that it is alone. Its support is the affinity to its own cluster, its
runner-up the other place of largest affinity.

The part of an item in the expected loss: the sums of a linear loss over cells and clusters are sums
over items, since sum f(n) over cells = sum f(n)/n over items. For Binder's loss that is half the
expected number of other items on which the estimate and a draw disagree; for VI the expected
log2 (n_g n_h / n_gh^2) / N. The loss of a draw under any other loss is shared among the items in
proportion to f1(n_g)/n_g + f1(n_h)/n_h - 2 f1(n_gh)/n_gh. Parts add up to the expected loss.

A cluster's stability is the mean over the draws of its best Jaccard index with a cluster of the
draw.

Hennig, C. (2007). Cluster-wise assessment of cluster stability. Computational Statistics & Data
Analysis 52, 258-271. doi:10.1016/j.csda.2006.11.025
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus._kernels.support import Shares, cluster_recovery, item_support, members_support
from epluribus._parallel import Stopper, resolve_jobs
from epluribus.losses.base import Loss
from epluribus.losses.pairs import square
from epluribus.engine.members import collect_sets
from epluribus.engine.tables import tables_pay
from epluribus.estimate import read_best
from epluribus._parallel import parts, run_all
from epluribus.engine import draw_losses
from epluribus._text import plain_table, to_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike
    from epluribus.draws import Draws
    from epluribus.estimate import Estimate

__all__ = ["ClusterTable", "ItemTable", "clusters", "items"]

ALONE = -1
"""The runner-up place that is no cluster of the estimate: a cluster of its own."""

_CELLS = 1 << 20
"""Affinities (items times clusters) held by a task: 8 MB."""
_SHOWN = 15


@dataclass(frozen=True, repr=False, eq=False)
class ItemTable:
    """How sure the place of each item is. Arrays are in the order of the items."""

    names: tuple[str, ...]
    labels: IntArray
    """Cluster of each item in the estimate."""
    support: NDArray[np.float64]
    """Mean probability of sharing a cluster with the other items of its cluster (alone: of being so)."""
    runner_up: IntArray
    """Other cluster of largest such mean; -1 for a cluster of its own."""
    runner_up_probability: NDArray[np.float64]
    """That mean, or the probability of being alone."""
    contribution: NDArray[np.float64]
    """Part in the expected loss; the parts add up to it."""
    loss: Loss

    @property
    def order(self) -> IntArray:
        """Items with the least support first."""
        return np.argsort(self.support, kind="stable")

    def columns(self) -> dict[str, Any]:
        """The table, uncertain items first."""
        order = self.order
        return {
            "item": [self.names[i] for i in order],
            "cluster": self.labels[order],
            "support": self.support[order],
            "runner_up": self.runner_up[order],
            "runner_up_probability": self.runner_up_probability[order],
            "contribution": self.contribution[order],
        }

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return to_frame(self.columns())

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        lowest = float(self.support.min())
        return (
            f"ItemTable(n_items={len(self)}, lowest_support={lowest:.4g}, loss={self.loss.name!r})"
        )

    def __str__(self) -> str:
        rest = len(self) - _SHOWN
        columns = {name: list(column)[:_SHOWN] for name, column in self.columns().items()}
        columns["runner_up"] = ["alone" if k == ALONE else str(k) for k in columns["runner_up"]]
        lines = plain_table({name.replace("_", " "): column for name, column in columns.items()})
        return "\n".join([*lines, f"and {rest:,} more items, each surer"] if rest > 0 else lines)


@dataclass(frozen=True, repr=False, eq=False)
class ClusterTable:
    """How solid each cluster is. Arrays are in the order of the labels."""

    sizes: IntArray
    cohesion: NDArray[np.float64]
    """Mean probability that two of its items share a cluster (one item: that it is alone)."""
    separation: NDArray[np.float64]
    """One minus the mean probability that one of its items is with one of the nearest cluster."""
    nearest: IntArray
    """The other cluster of largest such mean; -1 if there is no other."""
    stability: NDArray[np.float64]
    """Mean over the draws of the best Jaccard index with a cluster of the draw."""
    recovered: NDArray[np.float64]
    """Probability that exactly this cluster is in a draw."""

    @property
    def order(self) -> IntArray:
        """Clusters with the least stability first."""
        return np.argsort(self.stability, kind="stable")

    def columns(self) -> dict[str, Any]:
        """The table, unstable clusters first."""
        order = self.order
        return {
            "cluster": order,
            "size": self.sizes[order],
            "cohesion": self.cohesion[order],
            "separation": self.separation[order],
            "nearest": self.nearest[order],
            "stability": self.stability[order],
            "recovered": self.recovered[order],
        }

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return to_frame(self.columns())

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        lowest = float(self.stability.min())
        return f"ClusterTable(n_clusters={len(self)}, lowest_stability={lowest:.4g})"

    def __str__(self) -> str:
        rest = len(self) - _SHOWN
        columns = {name: list(column)[:_SHOWN] for name, column in self.columns().items()}
        columns["nearest"] = ["-" if k < 0 else str(k) for k in columns["nearest"]]
        lines = plain_table(columns)
        return "\n".join([*lines, f"and {rest:,} more clusters"] if rest > 0 else lines)


def items(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    *,
    loss: LossLike | None = None,
    n_jobs: int | None = None,
) -> ItemTable:
    """How sure the place of each item is: support, runner-up cluster, part in the expected loss.

    In a paper: *item 17 shared a cluster with the other members of its cluster with probability
    0.55 on average, and with those of cluster 2 with probability 0.40*.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The estimate.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, optional
        By default the loss that `best` was made for, "vi" for plain labels.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    ItemTable
        Printed with the uncertain items first.

    Notes
    -----
    Time O(n_items n_draws K), less where clusters are many and small; the similarity matrix is not
    formed.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]]
    >>> table = epl.uncertainty.items([0, 0, 1, 1], draws)
    >>> print(table)
    item  cluster  support  runner up  runner up probability  contribution
    2           1      0.5          0                   0.25        0.2241
    3           1      0.5      alone                    0.5         0.125
    0           0        1          1                  0.125       0.03656
    1           0        1          1                  0.125       0.03656
    """
    labels, sample, chosen = read_best(best, draws, loss)
    support = _support(labels, sample, chosen, resolve_jobs(n_jobs))
    return ItemTable(
        names=sample.item_names,
        labels=labels,
        support=support.own,
        runner_up=support.runner_up,
        runner_up_probability=support.next,
        contribution=support.part,
        loss=chosen,
    )


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

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]]
    >>> print(epl.uncertainty.clusters([0, 0, 1, 1], draws))
    cluster  size  cohesion  separation  nearest  stability  recovered
    1           2       0.5       0.875        0       0.75        0.5
    0           2         1       0.875        1     0.9167       0.75
    """
    labels, sample, chosen = read_best(best, draws, "binder")
    support = _support(labels, sample, chosen, resolve_jobs(n_jobs))
    sizes = np.bincount(labels)
    nearest, most = _nearest(support.between, sizes)
    single = len(sizes) == 1
    stability, recovered = _recovery(labels, sample)
    return ClusterTable(
        sizes=sizes,
        cohesion=np.bincount(labels, weights=support.own) / sizes,
        separation=np.array([np.nan]) if single else 1.0 - most,
        nearest=np.array([ALONE]) if single else nearest,
        stability=stability,
        recovered=recovered,
    )


class _Support(NamedTuple):
    own: NDArray[np.float64]
    runner_up: IntArray
    next: NDArray[np.float64]
    part: NDArray[np.float64]
    between: Any
    """(K, K), sparse: sum of the probabilities between the items of two clusters."""


class _Together(NamedTuple):
    """What draws say of some items."""

    clusters: NDArray[np.float64]
    """(n, K): expected number of items of each cluster they are with, themselves included."""
    alone: NDArray[np.float64]
    """(n,) probability of being alone."""
    part: NDArray[np.float64]
    """(n,) part in the expected loss."""


def _support(labels: IntArray, draws: Draws, loss: Loss, n_jobs: int) -> _Support:
    sizes = np.bincount(labels)
    step = max(256, min(8192, _CELLS // len(sizes)))
    part, constant = _shares(labels, draws, loss)
    count = _by_tables if tables_pay(draws.item_major, draws.n_clusters, loss) else _by_members
    stopper = Stopper()
    fill = count(draws, labels, sizes, part, stopper)
    tasks: list[Callable[[], _Support]] = [
        partial(_block, fill, labels, sizes, begin, min(begin + step, draws.n_items))
        for begin in range(0, draws.n_items, step)
    ]
    blocks = run_all(tasks, n_jobs, stopper)
    first = (np.concatenate(column) for column in list(zip(*blocks, strict=True))[:4])
    own, runner_up, second, contribution = first
    between = sum((block.between for block in blocks[1:]), start=blocks[0].between)
    return _Support(own, runner_up, second, contribution + constant, between)


def _by_tables(
    draws: Draws, labels: IntArray, sizes: IntArray, part: Shares, stopper: Stopper
) -> Callable[[int, int, _Together], None]:
    """Counts from the contingency table of each draw in turn."""
    rows, mass = np.ascontiguousarray(draws.distinct), draws.shares
    k, groups = len(sizes), int(rows.max()) + 1

    def fill(begin: int, end: int, out: _Together) -> None:
        table, group_sizes = np.empty((groups, k), np.int64), np.empty(groups, np.int64)
        for some in parts(len(rows), len(labels) + (end - begin + groups) * k):
            if stopper.stopped:
                break
            scaled = part._replace(scale=part.scale[some])
            item_support(
                rows[some], mass[some], labels, sizes, begin, end, scaled, table, group_sizes, *out
            )

    return fill


def _by_members(
    draws: Draws, labels: IntArray, sizes: IntArray, part: Shares, stopper: Stopper
) -> Callable[[int, int, _Together], None]:
    """Counts by walking through the members of groups, where these are many and small."""
    # With the weights as given: where these are whole numbers sums are exact, and ties are ties.
    sets = collect_sets(draws.item_major, draws.weights, distinct=True, smallest=1)
    scale = collect_sets(draws.item_major, part.scale, distinct=True, smallest=1).weight

    def fill(begin: int, end: int, out: _Together) -> None:
        if stopper.stopped:
            return
        members_support(sets, labels, sizes, begin, end, part._replace(scale=scale), *out)
        out.clusters[:] /= draws.total_weight
        out.alone[:] /= draws.total_weight

    return fill


def _block(
    fill: Callable[[int, int, _Together], None],
    labels: IntArray,
    sizes: IntArray,
    begin: int,
    end: int,
) -> _Support:
    """Support of items begin..end; of no use if stopped."""
    from scipy.sparse import csr_array

    n, k = end - begin, len(sizes)
    together, alone, contribution = out = _Together(np.zeros((n, k)), np.zeros(n), np.zeros(n))
    fill(begin, end, out)
    mine, here = np.arange(n), labels[begin:end]
    together[mine, here] -= 1.0  # an item is always with itself
    between = csr_array((np.ones(n), (here, mine)), shape=(k, n)) @ csr_array(together)
    others = np.repeat(sizes[None].astype(np.float64), n, axis=0)
    others[mine, here] -= 1.0
    single = others[mine, here] == 0
    others[mine[single], here[single]] = 1.0
    affinity = np.clip(together / others, 0.0, 1.0)
    own = np.where(single, alone, affinity[mine, here])
    affinity[mine, here] = -1.0
    best = affinity.argmax(axis=1)
    second = affinity[mine, best]
    # A cluster of its own is another place, unless it is the item's place already.
    apart = ~single & (alone > second)
    none = single & (k == 1)
    runner_up = np.where(apart | none, ALONE, best)
    probability = np.where(apart, alone, np.maximum(second, 0.0))
    return _Support(own, runner_up, probability, contribution, between)


def _nearest(between: Any, sizes: IntArray) -> tuple[IntArray, NDArray[np.float64]]:
    """The other cluster whose items each is most with, the first of a tie, and the mean probability."""
    scaled = between.tocoo()
    scaled.data /= sizes[scaled.row] * sizes[scaled.col]
    scaled = scaled.tocsr()
    scaled.setdiag(-1.0)
    return scaled.argmax(axis=1), scaled.max(axis=1).toarray().ravel()


def _shares(labels: IntArray, draws: Draws, loss: Loss) -> tuple[Shares, float]:
    """How an item's part is computed, and what every item has besides."""
    n = draws.n_items
    mass = draws.shares
    per_item = np.maximum(np.arange(n + 1), 1)
    f1, f2, f3 = (table / per_item for table in loss.tables(n))
    if loss.linear:
        form = loss.linear_form(n)
        scaled = Shares(form.joint * f1, form.size * f2, form.group * f3, mass)
        return scaled, form.constant / n
    function = loss.f1
    if np.any(np.diff(f1[1:]) < 0):  # parts could be negative: by pairs in disagreement then
        function, f1 = square, per_item * 1.0
    whole = Loss(_disagreement, function, function, function, linear=True, zero_if_equal=True)
    disagreement = draw_losses(labels, draws, whole)
    values = draw_losses(labels, draws, loss) * mass
    differ = disagreement > 0
    scale = np.divide(values, disagreement, out=np.zeros_like(values), where=differ)
    return Shares(-2.0 * f1, f1, f1, scale), float(values[~differ].sum()) / n


def _disagreement(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
    return size + group - 2.0 * joint


def _recovery(labels: IntArray, draws: Draws) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Stability of each cluster, and the probability that a draw has it."""
    rows = np.ascontiguousarray(draws.distinct)
    k, groups = int(labels.max()) + 1, int(rows.max()) + 1
    member, first = np.argsort(labels, kind="stable"), np.append(0, np.cumsum(np.bincount(labels)))
    count, sizes = np.zeros(groups, np.int64), np.empty(groups, np.int64)
    jaccard, found = np.zeros(k), np.zeros(k)
    mass = draws.shares
    for some in parts(len(rows), 2 * len(labels) + groups):
        cluster_recovery(rows[some], mass[some], member, first, count, sizes, jaccard, found)
    return np.minimum(jaccard, 1.0), np.minimum(found, 1.0)
