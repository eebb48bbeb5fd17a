"""A network whose nodes have the color and the name of their cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import AnyArray, FloatArray, IntArray, LabelsLike
from epluribus.estimate import Estimate
from epluribus.plots._graphs import read_links
from epluribus.plots._layout import force_layout, unit_square
from epluribus.plots._names import halo, place_over_items, text_color
from epluribus.plots._shared import cluster_colors, get_axes, read_partition, size_in_points

_RADIUS = 0.0125
"""Radius of a node as a share of the side of the picture: room for a number of two digits."""
_WRITTEN = 300
"""The most nodes that carry the name of their cluster; with more, nodes shrink."""
_ARROWS = 200
"""The most nodes with which the direction of links is shown."""
_NAMED = 60
"""The most nodes that may have their own names beside them."""
_PLACED = 10_000
"""The most nodes that are given places, a minute of work; with more, dots cover each other anyway."""


def network(
    adjacency: ArrayLike | Any,
    labels: Estimate | LabelsLike,
    *,
    pos: ArrayLike | Mapping[Any, Any] | None = None,
    names: bool | Sequence[Any] = False,
    seed: int = 0,
    ax: Any = None,
) -> Any:
    """A network whose nodes have the color and the name of their cluster.

    With more than 300 nodes, or with names of more than three letters, the name of a cluster is written
    only once, in its middle. Links of directed networks have arrowheads if there are at most 200 nodes;
    with more, their direction is not shown.

    Parameters
    ----------
    adjacency : array_like of shape (n_nodes, n_nodes), sparse matrix or networkx graph
        Matrix of zeros and ones, a link from row to column.
    labels : Estimate or array_like of shape (n_nodes,)
        Cluster of each node. Colors are given in the order of the labels. The nodes of a graph are found by
        the names of the items of an estimate; labels without names are in the order of the graph, which
        is refused if its nodes are 0, 1, ... in another order.
    pos : array_like of shape (n_nodes, 2) or dict of node to place, optional
        Places of the nodes, as the layouts of networkx return them. By default linked nodes, and the
        nodes of a cluster, are placed near each other, for at most 10,000 nodes.
    names : bool or sequence of n_nodes names, default False
        Names of the nodes, written beside them, for at most 60 nodes; True takes those of the graph
        or of the estimate, or else numbers.
    seed : int, default 0
        Seed of the layout: the same seed gives the same picture.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.network([[0, 1, 0], [1, 0, 0], [0, 0, 0]], ["a", "a", "b"])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'a', 'b']
    """
    group, clusters = read_partition(labels, argument="labels")
    matrix, graph_nodes = read_links(adjacency, labels, "adjacency")
    n = group.size
    if matrix.shape != (n, n):
        raise ValueError(
            f"'adjacency' must have one row and one column for each label, shape ({n}, {n}); "
            f"got shape {matrix.shape}."
        )
    if n > _PLACED and pos is None:
        raise ValueError(
            f"A network is laid out for at most {_PLACED:,} nodes; got {n:,}. Give their places as 'pos', or "
            "draw plots.block_rates or plots.blocks, which show networks of any size."
        )
    nodes = list(range(n)) if graph_nodes is None else graph_nodes
    written = _node_names(names, nodes, labels)
    arrows, edges = _links(matrix)
    radius = _radius(n)
    if pos is None:
        # 15% larger than drawn, so that a gap is left between nodes.
        place = force_layout(edges, group, radius=1.15 * radius, seed=seed)
    else:
        # Not stretched: places that a user gives keep their proportions.
        place = unit_square(_read_places(pos, nodes), stretch=False)
    ax = get_axes(ax, (8.0, 8.0))
    # A little more than the unit square: nodes at its border are drawn whole.
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    ax.set_axis_off()
    colors = cluster_colors(len(clusters))
    _draw_links(ax, place, edges, group, colors)
    # Each undirected link is there in both directions, and a loop once.
    one_way = len(arrows) != 2 * len(edges) + int((arrows[:, 0] == arrows[:, 1]).sum())
    if n <= _ARROWS and one_way:
        _draw_arrowheads(ax, place, arrows, group, colors, radius)
    _draw_nodes(ax, place, group, colors, radius)
    # The side of the square in points. A new figure is laid out only when it is drawn, and then fills a
    # quarter more.
    side = 1.25 * min(size_in_points(ax))
    # Short names on the nodes themselves, long ones once per cluster.
    if n <= _WRITTEN and max(map(len, clusters)) <= 3:
        for at, g in zip(place, group, strict=True):
            ax.text(*at, clusters[g], ha="center", va="center", zorder=4,
                    color=text_color(colors[g]), fontsize=0.95 * radius * side)  # fmt: skip
    else:
        # Above the node where nodes are few and large, on it where they are small.
        above = np.array([0.0, 2.2 * radius if n <= _WRITTEN else 0.0])
        places = place_over_items(ax, place + above, group, range(len(clusters)))
        for at, cluster in zip(places, clusters, strict=True):
            ax.text(*at, cluster, ha="center", va="center", fontsize=12, fontweight="bold",
                    path_effects=halo(3), zorder=6)  # fmt: skip
    # Not strict: `written` is empty if no names were asked for.
    for (x, y), name in zip(place, written, strict=False):
        ax.annotate(name, (x + radius, y), (1, 0), textcoords="offset points", va="center",
                    fontsize=7, zorder=5)  # fmt: skip
    return ax


def _links(matrix: Any) -> tuple[IntArray, IntArray]:
    """Links as they are given, row and column; and each pair of linked nodes once, the smaller first."""
    from scipy.sparse import coo_array

    found = coo_array(matrix)
    kept = found.data != 0
    arrows = np.column_stack([found.row[kept], found.col[kept]]).astype(np.int64)
    pairs = np.sort(arrows[arrows[:, 0] != arrows[:, 1]], axis=1)
    return arrows, np.unique(pairs, axis=0)


def _node_names(names: bool | Sequence[Any], nodes: list[Any], labels: Any) -> list[str]:
    """Names to be written beside the nodes; an empty list if none were asked for."""
    if names is False or names is None:
        return []
    if names is True:
        # A graph has names of its nodes; a matrix has numbers, and the estimate may have names.
        items = labels.items if isinstance(labels, Estimate) else None
        names = items if items is not None and nodes == list(range(len(nodes))) else nodes
    if len(names) != len(nodes):
        raise ValueError(
            f"'names' must have one name for each of {len(nodes)} nodes; got {len(names)}."
        )
    if len(nodes) > _NAMED:
        raise ValueError(
            f"'names' are for at most {_NAMED} nodes; got {len(nodes)}. Leave them out."
        )
    return [str(name) for name in names]


def _read_places(pos: Any, nodes: list[Any]) -> FloatArray:
    """The places that the user gave, in the order of the nodes."""
    if isinstance(pos, Mapping):
        missing = [node for node in nodes if node not in pos]
        if missing:
            raise ValueError(
                f"'pos' must have a place for every node; {len(missing)} have none, such as {missing[0]!r}."
            )
        pos = [pos[node] for node in nodes]
    place = np.asarray(pos, dtype=np.float64)
    if place.shape != (len(nodes), 2) or not np.isfinite(place).all():
        raise ValueError(
            f"'pos' must hold two finite numbers for each node, shape ({len(nodes)}, 2); "
            f"got shape {place.shape}."
        )
    return place


def _draw_links(
    ax: Any, place: FloatArray, edges: IntArray, group: IntArray, colors: list[Any]
) -> None:
    """Links within a cluster in its color, others in gray; fainter where there are many."""
    from matplotlib.collections import LineCollection

    inside = group[edges[:, 0]] == group[edges[:, 1]]
    # Full strength up to 3000 links, then weaker by the root of their number.
    faint = float(np.clip((3000 / max(len(edges), 1)) ** 0.5, 0.25, 1.0))
    shades = [colors[g] for g in group[edges[inside, 0]]]
    # Links between clusters are drawn first: those within a cluster lie above them.
    for own, color, width, alpha in (
        (edges[~inside], "#808080", 0.35, 0.3),
        (edges[inside], shades, 0.5, 0.55),
    ):
        lines = LineCollection(place[own], colors=color, linewidths=width, alpha=alpha * faint)
        ax.add_collection(lines)


def _draw_arrowheads(
    ax: Any, place: AnyArray, edges: IntArray, group: IntArray, colors: list[Any], radius: float
) -> None:
    """Small triangles that touch the node a link leads to."""
    from matplotlib.collections import PolyCollection

    edges = edges[edges[:, 0] != edges[:, 1]]  # a link of a node to itself has no direction
    tail, head = place[edges[:, 0]], place[edges[:, 1]]
    # Unit vectors from tail to head; nodes at one place have no direction and get 0.
    along = (head - tail) / np.maximum(np.linalg.norm(head - tail, axis=1, keepdims=True), 1e-9)
    across = along[:, ::-1] * [-1, 1]  # at a right angle
    # The tip is on the rim of the node; the triangle is 0.75 radius long and 0.6 radius wide.
    tip, back = head - radius * along, head - 1.75 * radius * along
    shades = [colors[group[i]] if group[i] == group[j] else "#808080" for i, j in edges]
    corners = np.stack([tip, back + 0.3 * radius * across, back - 0.3 * radius * across], axis=1)
    heads = PolyCollection(list(corners), facecolors=shades, linewidths=0, alpha=0.8, zorder=2)
    ax.add_collection(heads)


def _radius(n: int) -> float:
    """Radius of a node: larger for few nodes, to be read in a small panel, smaller for many."""
    # Power 0.75: the area covered by all nodes, n r^2, shrinks as their number grows.
    if n > _WRITTEN:
        return _RADIUS * float((_WRITTEN / n) ** 0.75)
    return _RADIUS * min(1.8, max(1.0, float((200 / n) ** 0.35)))


def _draw_nodes(
    ax: Any, place: FloatArray, group: IntArray, colors: list[Any], radius: float
) -> None:
    """Discs whose size is in units of the data: none covers another in a figure of any size."""
    from matplotlib.collections import EllipseCollection

    for g, color in enumerate(colors):
        discs = EllipseCollection(
            2 * radius, 2 * radius, 0, units="xy", offsets=place[group == g], facecolors=color,
            offset_transform=ax.transData, edgecolors="white", linewidths=30 * radius, zorder=3,
        )  # fmt: skip
        ax.add_collection(discs)
