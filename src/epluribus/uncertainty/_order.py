"""Trees of clusters and items: what it costs to join the clusters of an estimate, and orders of similar ones.

Each merge joins the two clusters whose union has the smallest expected loss. This is a path through the
partitions above the estimate, not a hierarchy of distances: a step may cost less than the one before it, and
the partition with k clusters on the path need not be the best one with k clusters. Orders in which similar items
and clusters are neighbors are the leaves of trees of average linkage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus._cards import Card, Rows, Table
from epluribus._text import worded
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus._validate import check_count
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss
from epluribus.partition import relabel
from epluribus.search.local import make_state
from epluribus.search.problem import Problem
from epluribus.uncertainty._matrix import psm


@dataclass(frozen=True, repr=False, eq=False)
class Merges(Rows):
    """A path of merges from the clusters of an estimate to a single cluster."""

    labels: IntArray
    """Cluster of each item in the estimate, which has K clusters."""
    pairs: IntArray
    """(K - 1, 2) what each merge joins: clusters of the estimate are 0 to K - 1, and merge s makes K + s."""
    expected_losses: FloatArray
    """(K,) that of the estimate, followed by that after each merge."""
    sizes: IntArray
    """(K - 1,) number of items in the cluster that each merge makes."""
    loss: Loss
    """The loss whose expectation the merges were chosen by."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the estimate."""
        return len(self.expected_losses)

    @property
    def order(self) -> IntArray:
        """Clusters of the estimate in the order of the tree: those joined early are side by side."""
        leaves: list[list[int]] = [[c] for c in range(self.n_clusters)]
        for a, b in self.pairs:
            leaves.append(leaves[a] + leaves[b])
        return np.array(leaves[-1])

    def at(self, k: int) -> IntArray:
        """Labels of the partition on the path that has k clusters.

        Examples
        --------
        >>> import epluribus as epl
        >>> epl.uncertainty.merges([0, 0, 1, 2], [[0, 0, 1, 2], [0, 0, 1, 1]]).at(2)
        array([0, 0, 1, 1])
        """
        k = check_count(k, "k")
        if k > self.n_clusters:
            asked = f"at most {self.n_clusters}, the clusters of the estimate"
            raise ValueError(f"'k' must be {asked}; got {k}.")
        parent = np.arange(2 * self.n_clusters - 1)
        # From the last merge back, so that every cluster learns where its own parent ended.
        for step in range(self.n_clusters - k)[::-1]:
            parent[self.pairs[step]] = parent[self.n_clusters + step]
        return relabel(parent[self.labels])

    def columns(self) -> dict[str, Any]:
        """The table as arrays by name, in the order of the merges."""
        return {
            "n_clusters": np.arange(self.n_clusters - 1, 0, -1),
            "first": self.pairs[:, 0],
            "second": self.pairs[:, 1],
            "size": self.sizes,
            "expected_loss": self.expected_losses[1:],
        }

    def __repr__(self) -> str:
        return f"Merges(n_clusters={self.n_clusters}, loss={self.loss.name!r})"

    def _card(self) -> Card:
        columns = {name.replace("_", " "): values[-15:] for name, values in self.columns().items()}
        table = Table({worded(name, self.kind): values for name, values in columns.items()})
        hidden = len(self) - 15  # the last ones leave the fewest clusters
        first = f"{hidden:,} earlier merges, then:" if hidden > 0 else ""
        return Card("", first, table, heading="Merges of clusters", indent="")


def merges(
    best: Estimate | LabelsLike, draws: DrawsLike, *, loss: LossLike | None = None
) -> Merges:
    """Join the clusters of an estimate, the pair that costs least first, until one is left.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The estimate.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, optional
        By default the loss that `best` was made for, "vi" for plain labels.

    Returns
    -------
    Merges
        Which clusters were joined, and the expected loss after each merge.

    See Also
    --------
    epluribus.plots.dendrogram : the picture.
    epluribus.minimize : with ``k=k``, the best partition with k clusters, which need not be on the path.

    Notes
    -----
    Every merge is the best one at that point, by expected loss. Heights are not those of an ultrametric: a
    merge may lower the expected loss again. With K clusters, time O(K^2) times the number of distinct
    draws and their clusters; K times that for a loss that is not linear.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 1, 1]]
    >>> print(epl.uncertainty.merges([0, 0, 1, 2], draws, loss="binder"))
    n clusters  first  second  size  expected loss
    2               1       2     2         0.6667
    1               0       3     4          4.667
    """
    labels, sample, chosen = read_best(best, draws, loss)
    state = make_state(Problem.of(sample, chosen), labels)
    k = int(labels.max()) + 1
    # The number that each slot of the state has in the tree, and the sizes of all clusters of the tree.
    nodes, sizes = list(range(k)), np.bincount(labels).tolist()
    pairs = np.empty((k - 1, 2), dtype=np.int64)
    values = [sample.mean(draw_losses(labels, sample, chosen))]
    for step in range(k - 1):
        changes = state.join_changes()
        a, b = sorted(divmod(int(changes.argmin()), len(changes)))
        items = np.flatnonzero(state.labels == b)
        state.move(items, np.full(len(items), a))
        values.append(sample.mean(draw_losses(relabel(state.labels), sample, chosen)))
        pairs[step] = sorted((nodes[a], nodes[b]))
        sizes.append(sizes[nodes[a]] + sizes[nodes[b]])
        nodes[a] = k + step
    made = np.array(sizes[k:], dtype=np.int64)
    return Merges(labels, pairs, np.array(values), made, chosen, sample.kind)


def leaf_order(matrix: FloatArray) -> IntArray:
    """Items with similar ones side by side: the leaves of the tree of average linkage, from left to right.

    `matrix` holds similarities P_ij, and the distances are 1 - P_ij. Branches of up to 300 leaves are
    turned so that neighbors are as similar as they can be, which takes cubic time.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    n = len(matrix)
    # Any order of one or two leaves is a good one, and linkage needs two.
    if n <= 2:
        return np.arange(n)
    # The upper triangle row by row, the condensed form that SciPy takes.
    distances = 1.0 - np.nan_to_num(matrix[np.triu_indices(n, 1)])  # never seen together: apart
    # Rounding of a mean similarity may give a distance below 0, which linkage refuses.
    tree = linkage(np.maximum(distances, 0.0), "average", optimal_ordering=n <= 300)
    return leaves_list(tree).astype(np.int64)


def order_by_similarity(matrix: FloatArray, labels: IntArray) -> tuple[IntArray, IntArray]:
    """Clusters, and items, in an order in which similar ones are neighbors; see `similarity_order`."""
    # Row g averages over the items of cluster g: mean similarities between clusters.
    average = (labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)
    average /= average.sum(axis=1, keepdims=True)
    clusters = leaf_order(average @ matrix @ average.T)
    # Items are sorted within their own clusters, so that clusters stay together.
    parts = [np.flatnonzero(labels == g) for g in clusters]
    ordered = [items[leaf_order(matrix[np.ix_(items, items)])] for items in parts]
    return clusters, np.concatenate(ordered)


def similarity_order(
    best: Estimate | LabelsLike, draws: DrawsLike, *, n_jobs: int | None = None
) -> tuple[IntArray, IntArray]:
    """Clusters, and items, in the order of the similarity heatmap: similar ones are neighbors.

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
    clusters : ndarray of shape (n_clusters,)
        The clusters, from the first to the last.
    items : ndarray of shape (n_items,)
        The items: all of the first cluster, then all of the second, and so on.

    Notes
    -----
    The leaves of trees of average linkage: one of the clusters, by their mean similarities, and one of
    the items of each cluster. The similarity matrix is formed: memory O(n_items^2).

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 1, 0, 2, 2], [0, 1, 0, 2, 2], [0, 1, 0, 1, 1]]
    >>> clusters, items = epl.uncertainty.similarity_order([0, 1, 0, 2, 2], draws)
    >>> clusters.tolist(), items.tolist()
    ([0, 2, 1], [0, 2, 3, 4, 1])
    """
    labels, sample, _ = read_best(best, draws, None)
    return order_by_similarity(psm(sample, n_jobs=n_jobs), labels)
