"""Networks in the forms in which users have them, checked and made sparse.

Whatever its form (`epluribus.models.edges`), a network becomes an adjacency matrix in CSR form with sorted
indices, symmetric if the network is undirected: two forms of one network give the same matrix, and so the
same fingerprint of a model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from epluribus.models.edges import graph_to_matrix, is_graph, read_raw

__all__ = ["Network", "graph_to_matrix", "is_graph", "read_network"]


class Network(NamedTuple):
    """A network as the models see it."""

    matrix: sparse.csr_array
    """(n_nodes, n_nodes) number of edges from row to column, without stored zeros; symmetric if the network
    is undirected. A loop counts 1 on the diagonal."""
    directed: bool
    names: tuple[str, ...] | None
    """Names of the nodes; None for 0, 1, 2, ..."""


def read_network(
    network: Any,
    directed: bool | None = None,
    n_nodes: int | None = None,
    *,
    counts: bool = False,
    loops: bool = False,
) -> Network:
    """A network in any form, checked.

    Parameters
    ----------
    network : array_like, sparse matrix, graph, data frame, edge list or path
        A square matrix; a graph of networkx or igraph; a data frame, square with the names of the nodes or
        with edges in its rows; edges as pairs of node numbers or names; a file of edges, or GraphML. An
        array with two columns is read as edges unless it is 2 x 2; with `n_nodes`, any array is.
    directed : bool or None
        None leaves it to a graph, and means undirected for anything else.
    n_nodes : int or None
        Number of nodes, for an edge list with numbers.
    counts : bool, default False
        Whether edges have counts: weights that are integers, or edges given several times.
    loops : bool, default False
        Whether edges of a node to itself are allowed.

    Returns
    -------
    Network

    Examples
    --------
    >>> from epluribus.models.graphs import read_network
    >>> network = read_network([("ann", "bob"), ("cid", "bob")])
    >>> network.names, network.directed
    (('ann', 'bob', 'cid'), False)
    >>> network.matrix.toarray()
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    raw = read_raw(network, n_nodes, counts)
    matrix = raw.matrix
    if matrix.shape[0] == 0:
        raise ValueError("'adjacency' must have at least one node; it has none.")
    directed = bool(raw.directed if directed is None else directed)
    # In an undirected network (i, j) and (j, i) are the same edge: given both ways, it now counts 2. A loop
    # has one way only.
    if raw.one_way and not directed:
        both = matrix + matrix.T
        both.setdiag(matrix.diagonal())
        matrix = sparse.csr_array(both)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    # So far entries count edges; without counts, if the checks pass, they are zeros and ones.
    if not loops:
        _refuse_loops(matrix)
    if not counts:
        _refuse_repeats(matrix)
    if not directed:
        _refuse_asymmetry(matrix)
    return Network(matrix, directed, raw.names)


# --- checks ---


def _refuse_loops(matrix: sparse.csr_array) -> None:
    """An error if a node is linked to itself."""
    loops = np.flatnonzero(matrix.diagonal())
    if loops.size:
        raise ValueError(
            "'adjacency' must have a zero diagonal, the model has no loops; node "
            f"{loops[0]} (counted from 0) is linked to itself. Give loops=True to allow it, or take "
            "loops out; from a networkx graph: graph.remove_edges_from(nx.selfloop_edges(graph))."
        )


def _refuse_repeats(matrix: sparse.csr_array) -> None:
    """An error if an edge was given twice."""
    if matrix.data.size and matrix.data.max() > 1:
        entries = sparse.coo_array(matrix)
        at = int(entries.data.argmax())  # the first of those given most often
        raise ValueError(
            "'adjacency' must list each edge once, the model is for binary data; "
            f"({entries.row[at]}, {entries.col[at]}) appears {entries.data[at]} times. Drop the "
            "repeats, or give directed=True if (i, j) and (j, i) differ; graph.to_undirected() "
            "drops those of a networkx graph. PoissonBlockModel takes counts."
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
