"""Binary matrices and networks in the forms in which users have them, checked and made sparse.

A network may come as a square matrix of zeros and ones (dense or sparse), as a networkx graph, or as a
list of edges. All become an adjacency matrix in CSR form with sorted indices, symmetric if the network is
undirected: two forms of one network give the same matrix, and so the same fingerprint of a model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from epluribus._validate import check_count, need


def is_graph(network: Any) -> bool:
    """Whether this is a networkx graph, without importing networkx."""
    return hasattr(network, "is_directed") and hasattr(network, "edges")


def graph_to_matrix(graph: Any) -> sparse.csr_array:
    """Adjacency matrix of a networkx graph: 1 where there is an edge, whatever its weight.

    Rows and columns are in the order of the nodes. Parallel edges of a multigraph count once, and a loop
    is a 1 on the diagonal.

    Parameters
    ----------
    graph : networkx graph
        Directed or not, with at least one node.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_nodes, n_nodes)

    Examples
    --------
    >>> import networkx
    >>> from epluribus.models.graphs import graph_to_matrix
    >>> graph_to_matrix(networkx.path_graph(3)).toarray()
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    matrix = _count_edges(graph)
    matrix.data[:] = 1
    return matrix


def node_names(network: Any) -> tuple[str, ...] | None:
    """Names of the nodes of a networkx graph, unless they are 0, 1, 2, ..."""
    if not is_graph(network) or list(network.nodes) == list(range(len(network.nodes))):
        return None
    return tuple(str(node) for node in network.nodes)


def read_adjacency(
    network: Any, directed: bool | None, n_nodes: int | None
) -> tuple[sparse.csr_array, bool]:
    """The adjacency matrix of a network in any form, checked, and whether it is directed.

    Parameters
    ----------
    network : array_like, sparse matrix, networkx graph or edge list
        An array with two columns is read as edges unless it is 2 x 2; with `n_nodes`, any array is.
    directed : bool or None
        None leaves it to a networkx graph, and means undirected for anything else.
    n_nodes : int or None
        Number of nodes, for an edge list.

    Returns
    -------
    matrix : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
        Zeros and ones with a zero diagonal, symmetric if the network is undirected.
    directed : bool
        Whether the network is directed.

    Examples
    --------
    >>> from epluribus.models.graphs import read_adjacency
    >>> matrix, directed = read_adjacency([(0, 1), (2, 1)], None, 4)
    >>> matrix.toarray(), directed
    (array([[0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 0],
           [0, 0, 0, 0]]), False)
    """
    # `one_way`: whether the matrix holds each edge once, as (i, j) only.
    if is_graph(network):
        _refuse_weights(network)
        matrix = _count_edges(network)
        one_way = bool(network.is_directed())
        directed = one_way if directed is None else bool(directed)
    else:
        matrix, one_way = _table_to_counts(network, n_nodes)
        directed = bool(directed)
    if matrix.shape[0] == 0:
        raise ValueError("'adjacency' must have at least one node; it has none.")
    # In an undirected network (i, j) and (j, i) are the same edge: given both ways, it now counts 2.
    if one_way and not directed:
        matrix = matrix + matrix.T
    matrix.sort_indices()
    # So far entries count edges; if the checks pass, they are zeros and ones.
    _refuse_loops_and_repeats(matrix)
    if not directed:
        _refuse_asymmetry(matrix)
    return matrix, directed


def binary_matrix(matrix: Any, argument: str) -> sparse.csr_array:
    """A dense or sparse matrix of zeros and ones, as CSR with sorted indices and no stored zeros.

    Parameters
    ----------
    matrix : array_like or sparse matrix of shape (n_rows, n_columns)
    argument : str
        Its name in messages.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_rows, n_columns)
    """
    if not sparse.issparse(matrix):
        try:
            matrix = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"'{argument}' must be a matrix of zeros and ones; {error}.") from None
        if matrix.ndim != 2:
            raise ValueError(f"'{argument}' must have two dimensions; got {matrix.ndim}.")
    if 0 in matrix.shape:
        raise ValueError(f"'{argument}' must have rows and columns; got shape {matrix.shape}.")
    # Every entry that is not 0, NaN included.
    entries = sparse.coo_array(matrix)
    values = np.asarray(entries.data, dtype=np.float64)
    bad = np.flatnonzero((values != 0) & (values != 1))
    if bad.size:
        i, j, value = entries.row[bad[0]], entries.col[bad[0]], values[bad[0]]
        if np.isnan(value):
            way_out = "Decide what a missing entry means and put 0 or 1."
        else:
            way_out = f"For weights, choose a threshold: ({argument} > 0)."
        raise ValueError(
            f"'{argument}' must hold only 0 and 1, the model is for binary data; entry ({i}, {j}) "
            f"(counted from 0) is {value:g}. {way_out}"
        )
    # The conversion adds up entries that are stored twice: 1 + 1 shows as a 2.
    csr = sparse.csr_array(entries, dtype=np.int64)
    if csr.data.size and csr.data.max() > 1:
        raise ValueError(f"'{argument}' must hold each entry once; some are repeated.")
    csr.eliminate_zeros()
    csr.sort_indices()
    return csr


# --- edges ---


def _table_to_counts(table: Any, n_nodes: int | None) -> tuple[sparse.csr_array, bool]:
    """Number of edges from each node to each other; whether the table gives each edge only once."""
    shape = table.shape if sparse.issparse(table) else np.shape(table)
    # Two columns are edges, except that a 2 x 2 table could be either: then it is a matrix.
    if n_nodes is not None or (len(shape) == 2 and shape[1] == 2 and shape[0] != 2):
        return _edges_to_counts(table, n_nodes), True
    if len(shape) == 2 and shape[0] == shape[1]:
        return binary_matrix(table, "adjacency"), False
    raise ValueError(
        "'adjacency' must be a square matrix, a networkx graph, or edges with two columns; got "
        f"shape {shape}."
    )


def _count_edges(graph: Any) -> sparse.csr_array:
    """Number of edges of a networkx graph from each node to each other, in the order of the nodes."""
    networkx = need("networkx", "networks", "A graph")
    if len(graph) == 0:  # networkx refuses empty graphs
        return sparse.csr_array((0, 0), dtype=np.int64)
    # Edges are counted, whatever their weights: parallel edges of a multigraph add up.
    nodes = list(graph)
    return sparse.csr_array(
        networkx.to_scipy_sparse_array(graph, nodelist=nodes, weight=None, dtype=np.int64)
    )


def _edges_to_counts(edges: Any, n_nodes: int | None) -> sparse.csr_array:
    """How often each edge (i, j) is in a list."""
    pairs = np.asarray(edges)
    if pairs.size == 0:
        pairs = np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"'adjacency' as an edge list must have two columns (i, j); got shape {pairs.shape}."
        )
    # Integers may be stored as floats, as from csv files; names and booleans are refused.
    bad = np.ones(len(pairs), dtype=bool)
    if pairs.dtype.kind in "iuf":
        bad = ~(np.isfinite(pairs) & (pairs >= 0) & (pairs == np.rint(pairs))).all(axis=1)
    if bad.any():
        raise ValueError(
            "'adjacency' as an edge list must hold node numbers 0, 1, 2, ...; got the edge "
            f"{pairs[bad][0].tolist()}. For nodes with names give networkx.Graph(edges)."
        )
    pairs = pairs.astype(np.int64)
    # The list shows nodes up to the largest number in it; `n_nodes` may add more without edges.
    seen = int(pairs.max()) + 1 if pairs.size else 0
    way_out = f" The largest node number is {seen - 1}." if seen else ""
    N = seen if n_nodes is None else check_count(n_nodes, "n_nodes", low=seen or 1, way_out=way_out)
    ones = np.ones(len(pairs), dtype=np.int64)
    # Edges given twice add up to 2, and are refused later.
    return sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(N, N))


# --- checks ---


def _refuse_weights(graph: Any) -> None:
    """An error if an edge has a weight other than 1."""
    for first, second, weight in graph.edges(data="weight", default=1):
        if weight != 1:
            raise ValueError(
                f"'adjacency' must have no weights, the model is for binary data; edge ({first!r}, "
                f"{second!r}) has weight {weight}. To leave them out, give "
                "nx.to_numpy_array(graph, weight=None), or choose a threshold."
            )


def _refuse_loops_and_repeats(matrix: sparse.csr_array) -> None:
    """An error if a node is linked to itself, or an edge was given twice."""
    loops = np.flatnonzero(matrix.diagonal())
    if loops.size:
        raise ValueError(
            "'adjacency' must have a zero diagonal, the model has no loops; node "
            f"{loops[0]} (counted from 0) is linked to itself. From a networkx graph: "
            "graph.remove_edges_from(nx.selfloop_edges(graph))."
        )
    if matrix.data.size and matrix.data.max() > 1:
        entries = sparse.coo_array(matrix)
        at = int(entries.data.argmax())  # the first of those given most often
        raise ValueError(
            "'adjacency' must list each edge once, the model is for binary data; "
            f"({entries.row[at]}, {entries.col[at]}) appears {entries.data[at]} times. Drop the "
            "repeats, or give directed=True if (i, j) and (j, i) differ; graph.to_undirected() "
            "drops those of a networkx graph."
        )


def _refuse_asymmetry(matrix: sparse.csr_array) -> None:
    """An error if the matrix of an undirected network is not symmetric."""
    odd = sparse.coo_array(matrix - matrix.T)  # zero everywhere if symmetric
    odd.eliminate_zeros()
    if odd.nnz:
        i, j = int(odd.row[0]), int(odd.col[0])
        raise ValueError(
            f"'adjacency' must be symmetric for an undirected model; entry ({i}, {j}) is "
            f"{matrix[i, j]} and entry ({j}, {i}) is {matrix[j, i]}. Give directed=True, or make it "
            "symmetric: np.maximum(A, A.T)."
        )
