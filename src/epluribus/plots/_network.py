"""Networks: as points and lines, and as a matrix in the order of the clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import FloatArray, IntArray, LabelsLike
from epluribus._validate import need
from epluribus.estimate import Estimate
from epluribus.partition import ORDER, is_estimate, item_names, matched
from epluribus.plots import _shared as shared
from epluribus.plots._data import draw_points

_ARROWS = 300
"""The most nodes whose links have arrowheads."""
_PLACED = 10_000
"""The most nodes that are given places, a minute of work; with more, dots cover each other anyway."""
_SHOWN = 2000
"""The largest number of rows or columns drawn as cells: a picture has fewer dots than this across."""


def network(
    best: Estimate | LabelsLike,
    adjacency: ArrayLike | Any,
    *,
    pos: ArrayLike | Mapping[Any, Any] | None = None,
    names: bool | Sequence[Any] = False,
    seed: int = 0,
    ax: Any = None,
) -> Any:
    """A network whose nodes have the color and the shape of their cluster.

    Links within a cluster have its color, others are gray. Those of directed networks have arrowheads if there are
    at most 300 nodes.

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
        Names of the nodes, written at them; True takes those of the graph or of the estimate, or else numbers.
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
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    networkx = need("networkx", "networks", "A picture of a network")
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
    place = _layout(links, group, seed) if pos is None else _read_places(pos, nodes)
    ax = shared.get_axes(ax, (7.0, 6.0))
    ax.set_axis_off()
    if pos is not None:  # such as those of a map; of a layout no length means anything
        ax.set_aspect("equal")
    colors = shared.cluster_colors(len(clusters))
    size = float(np.clip(6_000 / n, 4, 60))
    # Each pair of nodes once, if every link is there in both directions.
    pairs = np.unique(np.sort(links, axis=1), axis=0)
    directed = len(links) != 2 * len(pairs)
    pairs = links if directed else pairs
    inside = group[pairs[:, 0]] == group[pairs[:, 1]]
    # Fainter where there are many links.
    faint = float(np.clip((3000 / max(len(pairs), 1)) ** 0.5, 0.25, 1.0))
    graph = networkx.DiGraph(pairs.tolist())
    graph.add_nodes_from(range(n))
    arrows = {"arrows": True, "arrowsize": 6} if directed and n <= _ARROWS else {"arrows": False}
    own = [colors[g] for g in group[pairs[inside, 0]]]
    for some, color, alpha in ((~inside, "#808080", 0.35), (inside, own, 0.6)):
        networkx.draw_networkx_edges(
            graph, place, pairs[some].tolist(), edge_color=color, width=0.5, alpha=alpha * faint,
            node_size=size, ax=ax, **arrows,
        )  # fmt: skip
    draw_points(ax, place, group, dict(enumerate(clusters)), colors, size=size)
    shared.legend_beside(ax, *ax.get_legend_handles_labels())
    style = {"textcoords": "offset points", "ha": "center", "fontsize": 6}
    for at, name in zip(place, written, strict=False):
        ax.annotate(name, at, (0, 0.6 * size**0.5), **style)
    return ax


def blocks(
    best: Estimate | LabelsLike,
    matrix: ArrayLike | Any,
    *,
    columns: Estimate | LabelsLike | None = None,
    column_names: Sequence[str] | None = None,
    ax: Any = None,
) -> Any:
    """Matrix of zeros and ones (dark), rows and columns sorted by cluster, with lines between clusters.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_rows,)
        Cluster of each row. Clusters are shown in the order of their labels, which are written beside
        a strip of their colors.
    matrix : array_like of shape (n_rows, n_columns), sparse matrix, networkx graph or edges
        Zeros and ones; a network in one of the forms of `network`.
    columns : Estimate or array_like of shape (n_columns,), optional
        Cluster of each column; by default those of the rows, as for the adjacency matrix of a network.
    column_names : sequence of str, optional
        Names written below the columns.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    With more than 2000 rows or columns, each one is a faint dot.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.blocks(["a", "b", "a"], [[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    >>> ax.images[0].get_array().data.tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    table, _ = read_links(matrix, best, "matrix")
    down, names = shared.read_partition(best)
    across = down if columns is None else shared.read_partition(columns, argument="columns")[0]
    check_shape(table, (down.size, across.size), "matrix")
    ax = shared.get_axes(ax, (5.5, 5.5))
    # Stable: within a cluster, items keep their order.
    by_row, by_column = np.argsort(down, kind="stable"), np.argsort(across, kind="stable")
    if max(table.shape) <= _SHOWN:
        dense = table if isinstance(table, np.ndarray) else table.toarray()
        # vmax 1.25 makes ones dark gray, so that the lines between clusters show.
        ax.imshow(dense[np.ix_(by_row, by_column)], cmap="Greys", vmin=0, vmax=1.25,
                  interpolation="nearest", extent=(0, across.size, down.size, 0))  # fmt: skip
    else:  # never made dense
        row, column = table.nonzero()
        ax.plot(np.argsort(by_column)[column] + 0.5, np.argsort(by_row)[row] + 0.5, ",",
                color="0.2", alpha=0.4, rasterized=True)  # fmt: skip
    ax.set_aspect("equal" if columns is None else "auto")
    row_edges, column_edges = (
        shared.cluster_edges(np.bincount(labels)) for labels in (down, across)
    )
    shared.draw_cuts(ax, row_edges, column_edges)
    shared.name_clusters(ax, names, row_edges, shared.cluster_colors(len(names)))
    ax.set(xlim=(0, across.size), ylim=(down.size, 0), xticks=[])
    if column_names is not None:
        ax.set_xticks(np.arange(across.size) + 0.5, [column_names[j] for j in by_column])
        ax.tick_params(axis="x", rotation=90, labelsize=7, length=0)
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
        if hasattr(network, "iloc"):
            network = matched(network, best, argument, other="the estimate", rows=True)
            if set(network.index) == set(network.columns):
                network = network[network.index]
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
