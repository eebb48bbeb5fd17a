"""The posterior similarity matrix, items in order of their clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.draws import Draws, as_draws
from epluribus.plots._clusters import check_order, read_partition
from epluribus.plots._figure import cluster_colors, get_axes
from epluribus.plots.blocks import name_clusters
from epluribus.uncertainty import psm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import DrawsLike, IntArray, LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["similarity"]

_SHOWN = 2000
"""Items drawn at most: more than the dots of a picture."""
_OPTIMAL = 300
"""Items up to which leaves are put in the best order, which takes cubic time."""


def similarity(
    draws: DrawsLike, best: Estimate | LabelsLike, *, font_size: float = 8, ax: Any = None
) -> Any:
    """Heatmap of the posterior similarity matrix, in order of the clusters, with lines between them.

    Similar clusters, and within them similar items, stand side by side (average linkage).

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    best : Estimate or array_like of shape (n_items,)
        The partition.
    font_size : float, default 8
        Of the names of the clusters.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Of more than 2000 items, 2000 are shown: the same share of each cluster, at least one item. The
    similarity of an item with itself, always 1, would be a line that says nothing: the diagonal shows
    the mean of the neighbors in the cluster.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]]
    >>> ax = epl.plots.similarity(draws, [0, 0, 1, 1])
    >>> ax.images[0].get_array().data[0].tolist()
    [1.0, 1.0, 0.25, 0.0]
    """
    check_order("similarity(draws, best)", best, draws)
    sample = as_draws(draws)
    labels, names = read_partition(best, sample.n_items)
    k, n = len(names), sample.n_items
    if n > _SHOWN:
        keep = _part(labels)
        labels = labels[keep]
        sample = Draws(np.asarray(sample)[:, keep], weights=sample.draw_weights)
    matrix = psm(sample)
    clusters, order = _order(matrix, labels)
    ax = get_axes(ax, (6.2, 5.2), "compressed")
    size = labels.size
    image = ax.imshow(
        _fill_diagonal(matrix[np.ix_(order, order)], labels[order]),
        cmap="Blues",
        vmin=0,
        vmax=1,
        interpolation="nearest" if size <= 300 else "antialiased",
        extent=(0, size, size, 0),
    )
    edges = np.concatenate([[0], np.cumsum(np.bincount(labels)[clusters])])
    for edge in edges[1:-1]:
        ax.axhline(edge, color="#D55E00", linewidth=0.7)
        ax.axvline(edge, color="#D55E00", linewidth=0.7)
    colors = cluster_colors(k)
    name_clusters(ax, [names[g] for g in clusters], edges, [colors[g] for g in clusters], font_size)
    ax.set(xlim=(0, size), ylim=(size, 0), xticks=[])
    ax.set_xlabel(f"{n:,} items" if size == n else f"{size:,} of {n:,} items")
    ax.figure.colorbar(image, ax=ax, label="probability of sharing a cluster", shrink=0.8)
    return ax


def _part(labels: IntArray) -> IntArray:
    """Items at even steps through the clusters, and the first of each cluster."""
    order = np.argsort(labels, kind="stable")
    steps = order[np.linspace(0, labels.size - 1, _SHOWN).astype(np.int64)]
    return np.union1d(steps, np.unique(labels, return_index=True)[1])


def _fill_diagonal(matrix: NDArray[np.float64], labels: IntArray) -> NDArray[np.float64]:
    """Each item has itself the mean similarity with its neighbors in its cluster, 1 without any."""
    beside = np.where(labels[1:] == labels[:-1], matrix.diagonal(1), np.nan)
    both = np.stack([np.append(np.nan, beside), np.append(beside, np.nan)])
    has = ~np.isnan(both)
    means = np.where(has, both, 0.0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
    np.fill_diagonal(matrix, np.where(has.any(axis=0), means, 1.0))
    return matrix


def _order(matrix: NDArray[np.float64], labels: IntArray) -> tuple[IntArray, IntArray]:
    """Clusters, and items, so that similar ones are neighbors."""
    member = (labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)
    member /= member.sum(axis=1, keepdims=True)
    clusters = _leaves(member @ matrix @ member.T)
    parts = []
    for g in clusters:
        items = np.flatnonzero(labels == g)
        parts.append(items[_leaves(matrix[np.ix_(items, items)])])
    return clusters, np.concatenate(parts)


def _leaves(matrix: NDArray[np.float64]) -> IntArray:
    """Order of the leaves of average linkage."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    n = len(matrix)
    if n <= 2:
        return np.arange(n)
    distances = 1.0 - matrix[np.triu_indices(n, 1)]
    tree = linkage(np.maximum(distances, 0.0), "average", optimal_ordering=n <= _OPTIMAL)
    return leaves_list(tree).astype(np.int64)
