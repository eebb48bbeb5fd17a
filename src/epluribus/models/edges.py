"""Networks in the forms in which users have them, checked and made sparse.

Nodes of arrays and of lists of integers are numbers 0, 1, 2, ...; those of graphs, data frames and files have
names. Two forms of one network give the same matrix, and so the same fingerprint of a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from epluribus._files import about, reading
from epluribus._typing import AnyArray
from epluribus._validate import as_array, check_count, check_memory, need
from epluribus.models.tables import count_matrix

_HEADINGS = ("source", "from", "i", "node1", "u", "sender")
"""First words of a line that is the heading of a file, even where nodes are words."""
_WAY_OUT = (
    "Give ignore_weights=True to leave them out, or take PoissonBlockModel, which has counts."
)


class Network(NamedTuple):
    """A network as the models see it."""

    matrix: sparse.csr_array
    """(n_nodes, n_nodes) number of edges from row to column, without stored zeros; symmetric if the network
    is undirected. A loop counts 1 on the diagonal."""
    directed: bool | None = None
    """While it is read, None if its form says nothing about directions."""
    names: tuple[str, ...] | None = None
    """Names of the nodes; None for 0, 1, 2, ..."""
    one_way: bool = True
    """While it is read: whether the matrix holds each edge once, as (i, j) only."""


def read_network(
    network: Any,
    directed: bool | None = None,
    n_nodes: int | None = None,
    *,
    counts: bool = False,
    loops: bool = False,
    ignore_weights: bool = False,
) -> Network:
    """A network in any form, checked.

    Parameters
    ----------
    network : array_like, sparse matrix, graph, data frame, edges or path
        A square matrix; a graph of networkx or igraph; a data frame, square with the names of the nodes or
        with edges in its rows; edges as pairs of node numbers or names; a file of edges, GraphML or GML. A
        list of tuples, a set or a view is always edges. An array with two columns is read as edges unless it
        is 2 x 2; with `n_nodes`, any array is.
    directed : bool or None
        None leaves it to a graph, and means undirected for anything else.
    n_nodes : int or None
        Number of nodes, for an edge list with numbers.
    counts : bool, default False
        Whether edges have counts: weights that are integers, or edges given several times.
    loops : bool, default False
        Whether edges of a node to itself are allowed.
    ignore_weights : bool, default False
        Whether each edge counts once, whatever its weight and however often it is given.

    Returns
    -------
    Network

    Examples
    --------
    >>> from epluribus.models.edges import read_network
    >>> network = read_network([("ann", "bob"), ("cid", "bob")])
    >>> network.names, network.directed
    (('ann', 'bob', 'cid'), False)
    >>> network.matrix.toarray()
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    raw = _read(network, n_nodes, "ignore" if ignore_weights else "count" if counts else "refuse")
    matrix = sparse.csr_array(raw.matrix)
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
    if ignore_weights:
        matrix.data[:] = 1
    # So far entries count edges; without counts, if the checks pass, they are zeros and ones.
    own = np.flatnonzero(matrix.diagonal())
    if own.size and not loops:
        raise ValueError(
            "'adjacency' must have a zero diagonal, the model has no loops; node "
            f"{own[0]} (counted from 0) is linked to itself. Give loops=True to allow it, or take "
            "loops out; from a networkx graph: graph.remove_edges_from(nx.selfloop_edges(graph))."
        )
    entries = sparse.coo_array(matrix)
    if not counts and entries.data.size and entries.data.max() > 1:
        at = int(entries.data.argmax())  # the first of those given most often
        raise ValueError(
            "'adjacency' must list each edge once, the model is for binary data; "
            f"({entries.row[at]}, {entries.col[at]}) appears {entries.data[at]} times. Give directed=True if "
            f"(i, j) and (j, i) differ. {_WAY_OUT}"
        )
    odd = sparse.coo_array(matrix - matrix.T)
    if not directed and odd.count_nonzero():
        i, j = np.transpose(odd.nonzero())[0]
        raise ValueError(
            f"'adjacency' must be symmetric for an undirected model; entry ({i}, {j}) is "
            f"{matrix[i, j]} and entry ({j}, {i}) is {matrix[j, i]}. Give directed=True, or make it "
            "symmetric: np.maximum(A, A.T)."
        )
    return raw._replace(matrix=matrix, directed=directed)


# --- forms ---


def _read(network: Any, n_nodes: int | None, weights: str) -> Network:
    """Read a network in any form; `weights` are to "count", to "ignore" or to "refuse"."""
    if isinstance(network, str | Path):
        return _read_file(Path(network), n_nodes, weights)
    if hasattr(network, "to_networkx"):  # igraph
        network = network.to_networkx(vertex_attr_hashable="name")
    if is_graph(network):
        directed = bool(network.is_directed())
        return Network(_graph_matrix(network, weights), directed, _names(network.nodes), directed)
    if hasattr(network, "iloc"):
        return _read_frame(network, n_nodes, weights)
    if sparse.issparse(network) or hasattr(network, "__array__"):
        return _read_array(network, n_nodes, weights)
    if not isinstance(network, Iterable):
        raise TypeError(f"'adjacency' must be a network; got a {type(network).__name__}.")
    # A list of lists may be a matrix; pairs of names, and whatever else can be gone through, are edges.
    rows = list(network) if isinstance(network, Sequence) else [tuple(edge) for edge in network]
    if rows and (isinstance(rows[0], tuple) or isinstance(next(iter(rows[0]), 0), str)):
        numbered = all(isinstance(node, int | float | np.number) for row in rows for node in row)
        return _from_rows(rows, n_nodes, weights, numbered)
    return _read_array(rows, n_nodes, weights)


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
    >>> from epluribus.models.edges import graph_to_matrix
    >>> graph_to_matrix(networkx.path_graph(3)).toarray()
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    matrix = _graph_matrix(graph, "ignore")
    matrix.data[:] = 1
    return matrix


def _graph_matrix(graph: Any, weights: str) -> sparse.csr_array:
    """Number of edges of a networkx graph from each node to each other, in the order of the nodes."""
    networkx = need("networkx", "networks", "A graph")
    if weights == "refuse":
        _weights([weight for *_, weight in graph.edges(data="weight", default=1)], weights)
    if len(graph) == 0:  # networkx refuses empty graphs
        return sparse.csr_array((0, 0), dtype=np.int64)
    # Parallel edges of a multigraph add up; without counts, whatever their weights.
    weight = "weight" if weights == "count" else None
    matrix = networkx.to_scipy_sparse_array(graph, weight=weight, dtype=None)
    return count_matrix(matrix, "adjacency", "count")


def _read_frame(frame: Any, n_nodes: int | None, weights: str) -> Network:
    """A data frame: a square matrix with names, or edges in two columns, or three with weights."""
    index, columns = list(map(str, frame.index)), list(map(str, frame.columns))
    if n_nodes is None and sorted(index) == sorted(columns):
        if index != columns:
            raise ValueError(
                "'adjacency' must have its rows and columns in the same order. Give "
                "frame.loc[names, names]."
            )
        return Network(count_matrix(frame, "adjacency", weights), None, _names(frame.index), False)
    if len(columns) not in (2, 3):
        raise ValueError(
            "'adjacency' as a data frame must be square with the same names on both sides, or have two "
            f"columns (from, to), or three with weights; got shape {frame.shape}."
        )
    return _from_rows(list(frame.itertuples(index=False)), n_nodes, weights)


def _read_array(table: Any, n_nodes: int | None, weights: str) -> Network:
    """An array, a sparse matrix or a list of lists: a square matrix, or edges in its rows."""
    if isinstance(table, np.ma.MaskedArray) and np.ma.is_masked(table):
        raise ValueError(
            "'adjacency' must have no masked entries. Decide what a missing entry means and fill it."
        )
    if not sparse.issparse(table):
        table = as_array(table, "adjacency")
    shape = table.shape
    n_columns = shape[1] if len(shape) == 2 else 0
    listed = n_columns == 2 or (n_columns == 3 and weights != "refuse")
    # Two columns are edges, except that a 2 x 2 table could be either: then it is a matrix.
    if n_nodes is not None or (listed and shape[0] != n_columns):
        if not listed and table.size:
            raise ValueError(
                f"'adjacency' as an edge list must have two columns (i, j); got shape {shape}."
            )
        rows = table.reshape(-1, n_columns or 2)
        names = table.dtype.kind in "UO"
        return _from_rows(rows.tolist() if names else rows, n_nodes, weights, not names)
    if len(shape) == 2 and shape[0] == shape[1]:
        return Network(count_matrix(table, "adjacency", weights), one_way=False)
    raise ValueError(
        "'adjacency' must be a square matrix, a graph, a data frame, a file, or edges with two "
        f"columns; got shape {shape}."
    )


# --- edges ---


def _from_rows(rows: Any, n_nodes: int | None, weights: str, numbered: bool = False) -> Network:
    """A network from its edges, two nodes and perhaps a weight each: nodes are numbers, or have names."""
    lengths = {len(row) if isinstance(row, tuple | list | np.ndarray) else 0 for row in rows}
    if not (lengths <= {2} or lengths == {3}):
        raise ValueError(
            "'adjacency' as edges must have two nodes in each, or two and a weight; got "
            f"{' or '.join(map(str, sorted(lengths)))} entries."
        )
    used = _weights([row[2] for row in rows], weights) if lengths == {3} else np.ones(len(rows))
    if numbered or n_nodes is not None:
        pairs = rows[:, :2] if isinstance(rows, np.ndarray) else [row[:2] for row in rows]
        return Network(_numbered(pairs, n_nodes, used))
    return _from_names([row[0] for row in rows], [row[1] for row in rows], used)


def _weights(given: list[Any], weights: str) -> AnyArray:
    """Weights of edges as they are to be used; an error for others than 1 if they must not be there."""
    odd = next((weight for weight in given if weight not in (1, "1")), None)
    if odd is not None and weights == "refuse":
        raise ValueError(
            "'adjacency' must have no weights, the model is for binary data; an edge has weight "
            f"{odd}. {_WAY_OUT}"
        )
    if weights != "count":
        return np.ones(len(given))
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("'adjacency' must have numbers as weights, in the third column.") from None


def _add_up(i: AnyArray, j: AnyArray, weights: AnyArray, n: int) -> sparse.csr_array:
    """A matrix of counts from edges; those given several times add up."""
    entries = sparse.coo_array((weights, (i, j)), shape=(n, n))
    return count_matrix(entries, "adjacency", "count")


def _numbered(rows: Any, n_nodes: int | None, weights: AnyArray) -> sparse.csr_array:
    """A matrix of counts from edges whose nodes are numbers, or text of numbers."""
    try:
        pairs = np.asarray(rows, dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError):  # names
        pairs = np.full((len(rows), 2), np.nan)
    # Integers may be stored as floats, as from csv files.
    good = ((pairs >= 0) & (pairs < 2**62) & (pairs == np.rint(pairs))).all(axis=1)
    if not good.all():
        raise ValueError(
            "'adjacency' as an edge list must hold node numbers 0, 1, 2, ...; got the edge "
            f"{np.asarray(rows[int(np.argmin(good))]).tolist()}. For nodes with names leave 'n_nodes' out."
        )
    # The list shows nodes up to the largest number in it; `n_nodes` may add more without edges.
    pairs = pairs.astype(np.int64)
    seen, occur = int(pairs.max(initial=-1)) + 1, np.unique(pairs).size
    if n_nodes is None and seen > 10 * occur + 1000:  # most nodes without edges: more likely names
        raise ValueError(
            f"'adjacency' has node numbers up to {seen - 1}, of which only {occur} occur. If they are "
            "names, give them as text or in a data frame; if most nodes have no edges, give 'n_nodes'."
        )
    way_out = f" The largest node number is {seen - 1}." if seen else ""
    N = seen if n_nodes is None else check_count(n_nodes, "n_nodes", low=seen or 1, way_out=way_out)
    check_memory(100.0 * N, f"A network of {N:,} nodes", "Choose a smaller 'n_nodes'.")
    return _add_up(pairs[:, 0], pairs[:, 1], weights, N)


def _from_names(first: list[Any], second: list[Any], weights: AnyArray) -> Network:
    """A network of named nodes, from the two ends of each edge."""
    nodes = dict.fromkeys([*first, *second])
    if None in nodes or any(node != node for node in nodes):  # NaN is not equal to itself
        raise ValueError("'adjacency' must have two nodes in every edge; one is missing.")
    # Names of one kind are sorted, numbers as numbers; of several, they keep the order of first appearance.
    ordered = list(nodes)
    try:
        decimal = all(isinstance(node, str) and node.isdecimal() for node in ordered)
        ordered.sort(key=int if decimal else None)
    except TypeError:
        ordered = list(nodes)
    place = {node: number for number, node in enumerate(ordered)}
    i, j = (np.array([place[node] for node in ends], dtype=np.int64) for ends in (first, second))
    return Network(_add_up(i, j, weights, len(ordered)), names=_names(ordered))


def _names(nodes: Any) -> tuple[str, ...] | None:
    """Names of nodes, unless they are 0, 1, 2, ..."""
    nodes = list(nodes)
    if nodes == list(range(len(nodes))):
        return None
    names = tuple(str(node) for node in nodes)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"'adjacency' must have a different name for every node; '{twice}' is there twice."
        )
    return names


# --- files ---


def _read_file(path: Path, n_nodes: int | None, weights: str) -> Network:
    """GraphML, GML, or a text file with an edge per line: two names, and perhaps a weight."""
    if not path.is_file():
        raise FileNotFoundError(f"'adjacency' must be a network or a file; there is no {path}.")
    kind = {".graphml": "GraphML", ".gml": "GML"}.get(path.suffix.lower())
    if kind is not None:
        networkx = need("networkx", "networks", f"A {kind} file")
        with reading(path, kind):
            graph = (networkx.read_graphml if kind == "GraphML" else networkx.read_gml)(path)
        return _read(graph, n_nodes, weights)
    with reading(path, "text"):
        lines = path.read_text("utf-8-sig").splitlines()
    rows = [words for words in map(_words, lines) if words]
    if len(rows) > 1 and _is_heading(rows):
        rows = rows[1:]
    with about(path, "adjacency"):
        return _from_rows(rows, n_nodes, weights)


def _words(line: str) -> list[str]:
    """The cells of a line: parted by the first separator that it has, blanks if none of the others."""
    text = line.split("#")[0].strip()
    if not text or text.startswith("%"):
        return []
    separator = next((mark for mark in "\t;," if mark in text), None)
    return [word.strip().strip('"') for word in text.split(separator)]


def _is_heading(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: a usual word, or a word above numbers."""
    columns = [[_is_number(word) for word in column] for column in zip(*rows, strict=False)]
    return rows[0][0].lower() in _HEADINGS or any(all(c[1:]) and not c[0] for c in columns)


def _is_number(word: str) -> bool:
    """Whether a cell is a number."""
    try:
        return bool(float(word) == float(word))
    except ValueError:
        return False
