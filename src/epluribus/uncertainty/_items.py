"""How sure the place of each item is, and how solid each cluster.

With P_ij the probability that items i and j share a cluster (see `psm`), the affinity of item i to a
cluster C of the estimate is the mean of P_ij over the other items j of C; the affinity to a new cluster
is the probability that the item is alone. Its support is the affinity to its own cluster, and its runner-up
is the other place of largest affinity.

The stability of a cluster C is the mean over the draws of its best Jaccard index with a cluster of the draw:

    stability(C) = sum_t p_t max over clusters D of draw t of |C and D| / |C or D|.

Hennig, C. (2007). Cluster-wise assessment of cluster stability. Computational Statistics & Data
Analysis 52, 258-271. doi:10.1016/j.csda.2006.11.025
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus._cards import Card, Shown, Table
from epluribus._parallel import resolve_jobs
from epluribus._text import to_frame
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus.draws import Draws
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss
from epluribus.uncertainty._partial_support import partial_recovery, partial_support
from epluribus.uncertainty._support import ALONE, Support, recovery, support

_SHOWN = 15
"""Number of rows of a table that are printed."""


@dataclass(frozen=True, repr=False, eq=False)
class ItemTable(Shown):
    """How sure the place of each item is. Arrays are in the order of the items."""

    names: tuple[str, ...]
    """Names of the items."""
    labels: IntArray
    """Cluster of each item in the estimate."""
    support: FloatArray
    """Mean probability of sharing a cluster with the other items of its cluster. For an item alone in its
    cluster: the probability that it is alone."""
    runner_up: IntArray
    """The other cluster with the largest such mean; -1 for a new cluster of this item alone."""
    runner_up_probability: FloatArray
    """Affinity to the runner-up: that mean, or the probability of being alone."""
    contribution: FloatArray
    """Part of the item in the expected loss; the parts add up to it."""
    loss: Loss
    """The loss of the contributions."""

    @property
    def order(self) -> IntArray:
        """Items with the least support first."""
        return np.argsort(self.support, kind="stable")

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
        """The same as a pandas DataFrame, indexed by item."""
        return to_frame(self.columns(), index="item")

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return (
            f"ItemTable(n_items={len(self)}, lowest_support={self.support.min():.4g}, "
            f"loss={self.loss.name!r})"
        )

    def _card(self) -> Card:
        table = first_rows(self.columns(), "runner_up", "alone", "more items with more support")
        return Card("", table, heading="Items, the uncertain ones first", indent="")


@dataclass(frozen=True, repr=False, eq=False)
class ClusterTable(Shown):
    """How solid each cluster is. Arrays are in the order of the labels."""

    sizes: IntArray
    """Number of items."""
    cohesion: FloatArray
    """Mean probability that two of its items share a cluster; for a single item, that it is alone."""
    separation: FloatArray
    """One minus the mean probability that an item of it and one of the nearest cluster share a cluster.
    NaN if there is no other cluster."""
    nearest: IntArray
    """The other cluster with the largest such mean; -1 if there is no other."""
    stability: FloatArray
    """Mean over the draws of the best Jaccard index with a cluster of the draw."""
    recovered: FloatArray
    """Probability that exactly this cluster is in a draw."""

    @property
    def order(self) -> IntArray:
        """Clusters with the least stability first."""
        return np.argsort(self.stability, kind="stable")

    def columns(self) -> dict[str, Any]:
        """The table as arrays by name, unstable clusters first."""
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
        """The same as a pandas DataFrame, indexed by cluster."""
        return to_frame(self.columns(), index="cluster")

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        lowest = float(self.stability.min())
        return f"ClusterTable(n_clusters={len(self)}, lowest_stability={lowest:.4g})"

    def _card(self) -> Card:
        table = first_rows(self.columns(), "nearest", "-", "more clusters")
        return Card("", table, heading="Clusters, the unstable ones first", indent="")


def first_rows(columns: dict[str, Any], place: str, no_place: str, more: str) -> Table:
    """The first rows of a table; in the column `place`, -1 is printed as `no_place`."""
    # As text: this column holds labels of clusters, and a word where there is no cluster.
    columns[place] = [no_place if k == ALONE else str(k) for k in columns[place]]
    rest = len(columns[place]) - _SHOWN
    shown = {name.replace("_", " "): column[:_SHOWN] for name, column in columns.items()}
    return Table(shown, f"and {rest:,} {more}" if rest > 0 else "")


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
    Time O(n_items n_draws K), with K clusters in the estimate, and less where clusters are many and small;
    the similarity matrix is not formed. Where labels are missing, draws count for the items that they have
    seen: the support is the share of the draws and of the other items of the cluster, seen together with the
    item, in which both shared a cluster.

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
    own, runner_up, second, part, _ = _support_of(labels, sample, chosen, n_jobs)
    return ItemTable(sample.item_names, labels, own, runner_up, second, part, chosen)


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
    Time O(n_items n_draws K), as for `items`.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]]
    >>> print(epl.uncertainty.clusters([0, 0, 1, 1], draws))
    cluster  size  cohesion  separation  nearest  stability  recovered
    1           2       0.5       0.875        0       0.75        0.5
    0           2         1       0.875        1     0.9167       0.75
    """
    # Any loss would do: the parts of the items in it are not used.
    labels, sample, binder = read_best(best, draws, "binder")
    found = _support_of(labels, sample, binder, n_jobs)
    sizes = np.bincount(labels)
    # A single cluster has no neighbor to be separate from.
    separation, nearest = np.array([np.nan]), np.array([ALONE])
    if len(sizes) > 1:
        # Mean probability between the items of two clusters; among ties the nearest is the first.
        between = found.between.tocoo()
        # Sums over pairs of items become means. The matrix is sparse: most clusters never meet.
        between.data /= sizes[between.row] * sizes[between.col]
        between = between.tocsr()
        # A cluster is not its own neighbor: -1 is below every probability.
        between.setdiag(-1.0)
        separation = 1.0 - between.max(axis=1).toarray().ravel()
        nearest = np.asarray(between.argmax(axis=1)).ravel()  # a column in older versions of SciPy
    # The mean support of a cluster's items is the mean over its pairs: every item has the same number of
    # partners.
    cohesion = np.bincount(labels, weights=found.own) / sizes
    recovered = (partial_recovery if sample.has_missing else recovery)(labels, sample)
    return ClusterTable(sizes, cohesion, separation, nearest, *recovered)


def _support_of(labels: IntArray, draws: Draws, loss: Loss, n_jobs: int | None) -> Support:
    """Support of all items, whether or not labels are missing."""
    if draws.has_missing:
        return partial_support(labels, draws, loss)
    return support(labels, draws, loss, resolve_jobs(n_jobs))
