"""A network with clusters as colors and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._figure import as_matrix, cluster_colors, get_axes, text_color
from epluribus.plots._layout import force_layout

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from epluribus._typing import LabelsLike

__all__ = ["network"]

_RADIUS = 0.0125
"""Of a node, as a share of the side of the picture: room for a number of two digits."""


def network(
    adjacency: ArrayLike | Any, labels: LabelsLike, *, seed: int = 0, ax: Any = None
) -> Any:
    """A network whose nodes bear the color and the label of their cluster.

    Parameters
    ----------
    adjacency : array_like of shape (n_nodes, n_nodes), sparse matrix or networkx graph
        Symmetric matrix of zeros and ones; of a graph, the nodes in its order.
    labels : array_like of shape (n_nodes,)
        Cluster of each node. Colors are given in the order of the labels.
    seed : int, default 0
        Of the layout: the same gives the same picture.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes
    """
    from matplotlib.collections import LineCollection

    matrix, own = as_matrix(adjacency), np.asarray(labels)
    if matrix.shape != (own.size, own.size):
        raise ValueError(
            f"'adjacency' must have one row and one column for each label, shape ({own.size}, "
            f"{own.size}); got shape {matrix.shape}."
        )
    ax = get_axes(ax, (8.0, 8.0))
    names, group = np.unique(own, return_inverse=True)
    place = force_layout(matrix, group, radius=1.15 * _RADIUS, seed=seed)
    edges = np.argwhere(np.triu(matrix, 1))
    inside = group[edges[:, 0]] == group[edges[:, 1]]
    colors = cluster_colors(names.size)
    shades = [colors[g] for g in group[edges[inside, 0]]]
    ax.add_collection(
        LineCollection(place[edges[~inside]], colors="#808080", linewidths=0.35, alpha=0.3)
    )
    ax.add_collection(
        LineCollection(place[edges[inside]], colors=shades, linewidths=0.5, alpha=0.55)
    )
    side = ax.figure.get_figwidth() * 72  # in points
    size = (2 * _RADIUS * side) ** 2
    for g, name in enumerate(names):
        x, y = place[group == g].T
        ax.scatter(x, y, s=size, color=colors[g], edgecolors="white", linewidths=0.4, zorder=3)
        for one in place[group == g]:
            ax.text(*one, str(name), ha="center", va="center", zorder=4,
                    color=text_color(colors[g]), fontsize=0.95 * _RADIUS * side)  # fmt: skip
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    ax.set_axis_off()
    return ax
