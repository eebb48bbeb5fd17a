"""A network whose nodes have the color and the name of their cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import FloatArray, IntArray, LabelsLike
from epluribus._validate import need
from epluribus.estimate import Estimate
from epluribus.partition import ORDER, is_estimate, item_names
from epluribus.plots import _shared as shared
from epluribus.plots._data import most_central
from epluribus.plots._names import legend_beside, name_points, push_apart

_WRITTEN = 300
"""The most nodes that carry the name of their cluster, or an arrowhead; with more, nodes shrink."""
_PLACED = 10_000
"""The most nodes that are given places, a minute of work; with more, dots cover each other anyway."""


def network(
    best: Estimate | LabelsLike,
    adjacency: ArrayLike | Any,
    *,
    pos: ArrayLike | Mapping[Any, Any] | None = None,
    names: bool | Sequence[Any] = False,
    seed: int = 0,
    ax: Any = None,
) -> Any:
    """A network whose nodes have the color and the name of their cluster.

    With more than 300 nodes, or with names of more than three letters, the name of a cluster is written
    only once, in its middle. Links of directed networks have arrowheads if there are at most 300 nodes;
    with more, their direction is not shown.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_nodes,)
        Cluster of each node. Colors are given in the order of the labels.
    adjacency : array_like of shape (n_nodes, n_nodes), sparse matrix, networkx graph or edges
        Matrix of zeros and ones, a link from row to column; a graph; or edges as the block models read them: a list
        of pairs, or a file. Nodes with names are found by the names of the items of an estimate; labels
        without names are in the order of the graph, which is refused if its nodes are 0, 1, ... in another
        order.
    pos : array_like of shape (n_nodes, 2) or dict of node to place, optional
        Places of the nodes, as the layouts of networkx return them. By default networkx places linked nodes,
        and the nodes of a cluster, near each other, for at most 10,000 nodes.
    names : bool or sequence of n_nodes names, default False
        Names of the nodes, written at them, with the clusters in a legend; True takes those of the graph or of
        the estimate, or else numbers.
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
    >>> ax = epl.plots.network(["a", "a", "b"], [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'a', 'b']
    """
    shared.import_pyplot()  # where matplotlib is missing, the error names the extra
    from matplotlib.collections import EllipseCollection
    from matplotlib.colors import to_rgb

    matrix, graph_nodes = read_links(adjacency, best, "adjacency")
    group, clusters = shared.read_partition(best)
    n = group.size
    check_shape(matrix, (n, n), "adjacency")
    if n > _PLACED and pos is None:
        raise ValueError(
            f"A network is laid out for at most {_PLACED:,} nodes; got {n:,}. Give their places as 'pos', or "
            "draw plots.blocks, which shows networks of any size."
        )
    nodes = list(range(n)) if graph_nodes is None else graph_nodes
    written, links = _node_names(names, nodes, best), _links(matrix)
    # Larger for few nodes, smaller for many: the area that all of them cover shrinks as their number grows.
    radius = 0.0125 * min(1.8, (250 / n) ** 0.6) * (0.6 if written else 1.0)
    if pos is None:
        arranged = _layout(links, group, seed)
        # 15% larger than drawn, so that a gap is left between nodes.
        place = _unit_square(push_apart(_unit_square(arranged), 2.3 * radius))
    else:
        # Not stretched: places that a user gives keep their proportions.
        place = _unit_square(_read_places(pos, nodes), stretch=False)
    ax = shared.get_axes(ax, (8.0, 8.0))
    # A little more than the unit square: nodes at its border are drawn whole.
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    ax.set_axis_off()
    colors = np.array([to_rgb(color) for color in shared.cluster_colors(len(clusters))])
    _draw_links(ax, place, links, group, colors, radius)
    # Discs whose size is in units of the data: none covers another in a figure of any size.
    ax.add_collection(EllipseCollection(
        2 * radius, 2 * radius, 0, units="xy", offsets=place, facecolors=colors[group],
        offset_transform=ax.transData, edgecolors="white", linewidths=30 * radius, zorder=3,
    ))  # fmt: skip
    if written:
        from matplotlib.lines import Line2D

        marks = [Line2D([], [], marker="o", linestyle="", color=tuple(color)) for color in colors]
        legend_beside(ax, marks, clusters)
        name_points(ax, written, place, 7, fontweight="normal")
    elif n <= _WRITTEN and max(map(len, clusters)) <= 3:
        # The side of the square in points; a new figure is laid out only when it is drawn, and fills a quarter more.
        size = 0.95 * radius * 1.25 * min(shared.size_in_points(ax))
        for at, g in zip(place, group, strict=True):
            ax.text(*at, clusters[g], ha="center", va="center", zorder=4, fontsize=size,
                    color=shared.text_color(colors[g]))  # fmt: skip
    else:
        # Above the node where nodes are few and large, on it where they are small.
        above = np.array([0.0, 2.2 * radius if n <= _WRITTEN else 0.0])
        middles = [most_central(place[group == g]) + above for g in range(len(clusters))]
        name_points(ax, clusters, middles, 12)
    return ax


def read_links(network: Any, best: Any, argument: str) -> tuple[Any, list[Any] | None]:
    """The matrix of a network in the order of the items of `best`, and the names of its nodes in that order.

    `network` is an array, which is returned as it is, a sparse matrix, a networkx graph (1 for an edge), or edges.
    The nodes of a graph are put in the order of the items of an estimate.
    """
    from scipy.sparse import csr_array, issparse

    # Imported here: the models bring their kernels, which no other picture needs.
    from epluribus.models.edges import graph_to_matrix, is_graph, read_network

    if is_estimate(network):
        raise TypeError(f"'{argument}' must be a network or a matrix; got an Estimate. {ORDER}")
    if is_graph(network):
        nodes, matrix = list(network.nodes), graph_to_matrix(network)
    elif isinstance(network, str | Path) or (
        isinstance(network, list | set) and all(isinstance(edge, tuple) for edge in network)
    ):
        found = read_network(network, counts=True, loops=True)
        nodes, matrix = list(found.names or range(found.matrix.shape[0])), found.matrix
        # Edges do not name the nodes that have none.
        nodes += [item for item in item_names(best) or () if item not in set(map(str, nodes))]
        matrix.resize((len(nodes), len(nodes)))
    else:
        return (csr_array(network) if issparse(network) else np.asarray(network)), None
    items, plain = item_names(best), list(range(len(nodes)))
    if items is None and nodes != plain and set(nodes) == set(plain):
        raise ValueError(
            f"'{argument}' has the nodes 0, 1, ... in another order, and labels without names do not say which "
            "order they follow. Give networkx.to_scipy_sparse_array(graph, nodelist=range(len(graph))) for "
            "labels in the order of the numbers, networkx.to_scipy_sparse_array(graph) for that of the graph."
        )
    if items is None or nodes == plain:
        return matrix, nodes
    number = {str(node): i for i, node in enumerate(nodes)}
    if set(number) != set(items):
        odd = sorted(set(number) ^ set(items))[0]
        raise ValueError(
            f"'{argument}' must have the {len(items)} items of the estimate as its nodes; it has {len(nodes)} "
            f"nodes, and only one of the two has '{odd}'. Give the graph that the estimate was made from."
        )
    order = [number[item] for item in items]
    return matrix[order][:, order], [nodes[i] for i in order]


def check_shape(matrix: Any, shape: tuple[int, int], argument: str) -> None:
    """Refuse a matrix that does not fit the labels of its rows and columns."""
    if matrix.shape != shape:
        raise ValueError(
            f"'{argument}' must have one row and one column for each item, shape {shape}; got shape {matrix.shape}."
        )


def _layout(links: IntArray, labels: IntArray, seed: int) -> FloatArray:
    """Places of the nodes by forces between them; linked nodes and those of a cluster are near each other.

    Clusters are placed first, by their links; then all nodes, each tied to a point in the middle of its cluster.
    """
    networkx = need("networkx", "networks", "The layout of a network")
    n, k = labels.size, int(labels.max()) + 1
    # The mean number of links between the nodes of two clusters, with roots, or a few would decide alone.
    sizes, counts = np.bincount(labels), np.zeros((k, k))
    np.add.at(counts, tuple(labels[links].T), 1)
    means = np.sqrt((counts + counts.T) / np.outer(sizes, sizes)) * (1 - np.eye(k))
    middles = networkx.spring_layout(networkx.from_numpy_array(means), seed=seed)
    graph = networkx.Graph(links.tolist())
    ties = enumerate((n + labels).tolist())
    graph.add_weighted_edges_from((i, middle, 3.0) for i, middle in ties)
    noise = 0.1 * np.random.default_rng(seed).normal(size=(n, 2))
    start = {i: middles[g] + noise[i] for i, g in enumerate(labels.tolist())}
    start |= {n + g: middles[g] for g in range(k)}
    # Clusters are in their places: few steps do for many nodes, which take long.
    steps = int(np.clip(30_000 / n, 5, 50))
    places = networkx.spring_layout(graph, pos=start, iterations=steps, seed=seed)
    return np.array([places[i] for i in range(n)])


def _unit_square(place: FloatArray, *, stretch: bool = True) -> FloatArray:
    """Places moved and scaled into the unit square, each direction by itself if `stretch`."""
    low, high = place.min(axis=0), place.max(axis=0)
    side = high - low if stretch else np.full(2, (high - low).max())
    return np.clip(0.5 + (place - (low + high) / 2) / np.maximum(side, 1e-12), 0.0, 1.0)


def _links(matrix: Any) -> IntArray:
    """The links as they are given, row and column, without those of a node to itself."""
    from scipy.sparse import coo_array

    found = coo_array(matrix)
    kept = (found.data != 0) & (found.row != found.col)
    return np.column_stack([found.row[kept], found.col[kept]]).astype(np.int64)


def _node_names(names: bool | Sequence[Any], nodes: list[Any], labels: Any) -> list[str]:
    """Names to be written beside the nodes; an empty list if none were asked for."""
    if names is False or names is None:
        return []
    if names is True:
        # A graph has names of its nodes; a matrix has numbers, and the estimate may have names.
        items = getattr(labels, "items", None) if nodes == list(range(len(nodes))) else None
        names = items or nodes
    if len(names) != len(nodes):
        raise ValueError(
            f"'names' must have one name for each of {len(nodes)} nodes; got {len(names)}."
        )
    return list(map(str, names))


def _read_places(pos: Any, nodes: list[Any]) -> FloatArray:
    """The places that the user gave, in the order of the nodes."""
    if isinstance(pos, Mapping):
        missing = [node for node in nodes if node not in pos]
        if missing:
            raise ValueError(f"'pos' must have a place for every node; {missing[0]!r} has none.")
        pos = [pos[node] for node in nodes]
    place = np.asarray(pos, dtype=np.float64)
    if place.shape != (len(nodes), 2) or not np.isfinite(place).all():
        raise ValueError(
            f"'pos' must hold two finite numbers for each node, shape ({len(nodes)}, 2); "
            f"got shape {place.shape}."
        )
    return place


def _draw_links(
    ax: Any, place: FloatArray, links: IntArray, group: IntArray, colors: FloatArray, radius: float
) -> None:
    """Links within a cluster in its color, others in gray; fainter where there are many, with arrowheads where few."""
    from matplotlib.collections import LineCollection

    # Each pair of nodes once, the smaller first; those within a cluster lie above the others.
    pairs = np.unique(np.sort(links, axis=1), axis=0)
    inside = np.diff(group[pairs], axis=1)[:, 0] == 0
    # Full strength up to 3000 links, then weaker by the root of their number.
    faint = float(np.clip((3000 / max(len(pairs), 1)) ** 0.5, 0.25, 1.0))
    gray: dict[str, Any] = {"colors": "#808080", "linewidths": 0.35, "alpha": 0.3 * faint}
    ax.add_collection(LineCollection(place[pairs[~inside]], **gray))
    own: dict[str, Any] = {
        "colors": colors[group[pairs[inside, 0]]],
        "linewidths": 0.5,
        "alpha": 0.55 * faint,
    }
    ax.add_collection(LineCollection(place[pairs[inside]], **own))
    # Each undirected link is there in both directions.
    if len(links) == 2 * len(pairs) or len(group) > _WRITTEN:
        return
    tail, head = links.T
    # Unit vectors from tail to head; nodes at one place have no direction and get 0.
    along = place[head] - place[tail]
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    shades = np.where((group[tail] == group[head])[:, None], colors[group[head]], 0.5)
    # Arrows that are all head: the tip is on the rim of the node, and they are 0.75 radius long.
    tip, back = place[head] - radius * along, 0.75 * radius * along
    ax.quiver(*tip.T, *back.T, color=shades, pivot="tip", angles="xy", units="xy", scale_units="xy",
              scale=1, width=0.2 * radius, headlength=3.75, headaxislength=3.75, minlength=0, alpha=0.8,
              zorder=2)  # fmt: skip
