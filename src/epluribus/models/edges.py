"""The edges of a network, from any form in which users have them: counts from node to node, and names.

Nodes of arrays and of lists of integers are numbers 0, 1, 2, ...; those of graphs, data frames and files have
names. Nothing is refused here but what cannot be read: `epluribus.models.graphs` has the checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from epluribus._files import reading
from epluribus._typing import AnyArray
from epluribus._validate import as_array, check_count, check_memory, need
from epluribus.models.binary import binary_matrix

_HEADINGS = {
    "source",
    "target",
    "from",
    "to",
    "i",
    "j",
    "node1",
    "node2",
    "u",
    "v",
    "sender",
    "receiver",
}
"""First words of a line that is not an edge but the heading of a file."""
_SPARE = 1000
"""Node numbers may exceed ten times the number of nodes that occur by this much; more looks like names."""


class RawNetwork(NamedTuple):
    """What a user gave."""

    matrix: sparse.csr_array
    """(n_nodes, n_nodes) number of edges from row to column."""
    one_way: bool
    """Whether the matrix holds each edge once, as (i, j) only."""
    directed: bool | None
    """What the form says about directions; None if nothing."""
    names: tuple[str, ...] | None


def read_raw(network: Any, n_nodes: int | None, counts: bool) -> RawNetwork:
    """Read a network in any form; see `read_network` for the forms."""
    if isinstance(network, str | Path):
        return _read_file(Path(network), n_nodes, counts)
    if is_graph(network):
        directed = bool(network.is_directed())
        return RawNetwork(_count_edges(network, counts), directed, directed, _names(network.nodes))
    if hasattr(network, "get_edgelist") and hasattr(network, "vcount"):
        return _read_igraph(network, counts)
    if hasattr(network, "iloc"):
        return _read_frame(network, n_nodes, counts)
    return _read_table(network, n_nodes, counts)


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
    matrix = _count_edges(graph, None)
    matrix.data[:] = 1
    return matrix


# --- objects ---


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


def _count_edges(graph: Any, counts: bool | None) -> sparse.csr_array:
    """Number of edges of a networkx graph from each node to each other, in the order of the nodes.

    With `counts` edges count as often as their weights say; without, weights are refused; None leaves
    them out.
    """
    networkx = need("networkx", "networks", "A graph")
    if counts is False:
        _refuse_weights(graph)
    if len(graph) == 0:  # networkx refuses empty graphs
        return sparse.csr_array((0, 0), dtype=np.int64)
    # Parallel edges of a multigraph add up; without counts, whatever their weights.
    nodes = list(graph)
    weight = "weight" if counts else None
    matrix = networkx.to_scipy_sparse_array(graph, nodelist=nodes, weight=weight, dtype=None)
    return _as_counts(sparse.csr_array(matrix))


def _read_igraph(graph: Any, counts: bool) -> RawNetwork:
    """A graph of igraph."""
    weights = graph.es["weight"] if "weight" in graph.es.attributes() else None
    if weights is not None and not counts and any(weight != 1 for weight in weights):
        raise ValueError(
            "'adjacency' must have no weights, the model is for binary data. Delete them, or take "
            "PoissonBlockModel, which has counts."
        )
    pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    matrix = _make(pairs[:, 0], pairs[:, 1], weights, graph.vcount())
    names = _names(graph.vs["name"]) if "name" in graph.vs.attributes() else None
    return RawNetwork(matrix, True, bool(graph.is_directed()), names)


def _read_frame(frame: Any, n_nodes: int | None, counts: bool) -> RawNetwork:
    """A data frame: a square matrix with names, or edges in two columns, or three with counts."""
    n_rows, n_columns = frame.shape
    index, columns = list(frame.index), list(frame.columns)
    if (
        n_rows == n_columns
        and n_nodes is None
        and sorted(map(str, index)) == sorted(map(str, columns))
    ):
        if [str(name) for name in index] != [str(name) for name in columns]:
            raise ValueError(
                "'adjacency' must have its rows and columns in the same order. Give "
                "frame.loc[names, names]."
            )
        matrix = _matrix(frame.to_numpy(), counts)
        return RawNetwork(matrix, False, None, _names(index))
    if n_columns not in (2, 3):
        raise ValueError(
            "'adjacency' as a data frame must be square with the same names on both sides, or have two "
            f"columns (from, to), or three with counts; got shape {frame.shape}."
        )
    if n_columns == 3 and not counts:
        raise ValueError(
            f"'adjacency' as edges must have two columns, the model is for binary data; got a third, "
            f"'{columns[2]}'. Leave it out, or take PoissonBlockModel, which has counts."
        )
    if n_nodes is not None:
        weights = frame.iloc[:, 2].to_numpy() if n_columns == 3 else None
        return RawNetwork(
            _numbered(frame.iloc[:, :2].to_numpy(), n_nodes, weights), True, None, None
        )
    ends = frame.iloc[:, 0].tolist(), frame.iloc[:, 1].tolist()
    return _from_names(*ends, frame.iloc[:, 2].tolist() if n_columns == 3 else None)


def _read_table(table: Any, n_nodes: int | None, counts: bool) -> RawNetwork:
    """An array, a sparse matrix or a list."""
    if isinstance(table, np.ma.MaskedArray) and np.ma.is_masked(table):
        raise ValueError(
            "'adjacency' must have no masked entries. Decide what a missing entry means and fill it."
        )
    if not sparse.issparse(table) and not isinstance(table, np.ndarray) and _has_names(table):
        columns = list(zip(*table, strict=True))
        if n_nodes is None and len(columns) == 2 + (counts and len(columns) == 3):
            return _from_names(*map(list, columns))
    if not sparse.issparse(table):
        table = as_array(table, "adjacency")
    shape = table.shape
    # Two columns are edges, except that a 2 x 2 table could be either: then it is a matrix.
    listed = (
        len(shape) == 2 and (shape[1] == 2 or (counts and shape[1] == 3)) and shape[0] != shape[1]
    )
    if n_nodes is not None or listed:
        pairs = np.asarray(table)
        weights = None
        if counts and pairs.ndim == 2 and pairs.shape[1] == 3:
            pairs, weights = pairs[:, :2], pairs[:, 2]
        if n_nodes is None and pairs.dtype.kind in "UO":
            first, second = pairs.T.tolist()
            return _from_names(first, second, None if weights is None else weights.tolist())
        return RawNetwork(_numbered(pairs, n_nodes, weights), True, None, None)
    if len(shape) == 2 and shape[0] == shape[1]:
        return RawNetwork(_matrix(table, counts), False, None, None)
    raise ValueError(
        "'adjacency' must be a square matrix, a graph, a data frame, a file, or edges with two "
        f"columns; got shape {shape}."
    )


def _has_names(table: Any) -> bool:
    """Whether a list of edges begins with a name."""
    try:
        return isinstance(table[0][0], str)
    except (TypeError, KeyError, IndexError):
        return False


def _matrix(table: Any, counts: bool) -> sparse.csr_array:
    """A square matrix of zeros and ones, or of counts."""
    if not counts:
        return binary_matrix(table, "adjacency")
    if not sparse.issparse(table):
        table = np.asarray(table)
        if table.dtype.kind not in "biuf":
            raise TypeError("'adjacency' must be a matrix of numbers.")
    return _as_counts(sparse.csr_array(table))


def _as_counts(matrix: sparse.csr_array) -> sparse.csr_array:
    """The same with entries that are non-negative integers."""
    values = np.asarray(matrix.data, dtype=np.float64)
    bad = np.flatnonzero(~((values >= 0) & (values == np.rint(values)) & (values < 2**31)))
    if bad.size:
        raise ValueError(
            "'adjacency' must have counts, integers 0, 1, 2, ..., as weights; got "
            f"{values[bad[0]]:g}. Round them, or choose a threshold."
        )
    matrix.data = values.astype(np.int64)
    return matrix


def _make(i: AnyArray, j: AnyArray, weights: Any, n: int) -> sparse.csr_array:
    """A matrix of counts from edges; those given several times add up."""
    values = np.ones(len(i)) if weights is None else np.asarray(weights, dtype=np.float64)
    return _as_counts(sparse.csr_array((values, (i, j)), shape=(n, n)))


def _numbered(pairs: AnyArray, n_nodes: int | None, weights: Any = None) -> sparse.csr_array:
    """A matrix of counts from edges whose nodes are numbers."""
    if pairs.size == 0:
        pairs = np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"'adjacency' as an edge list must have two columns (i, j); got shape {pairs.shape}."
        )
    # Integers may be stored as floats, as from csv files; names and booleans are refused.
    bad = np.ones(len(pairs), dtype=bool)
    if pairs.dtype.kind in "iuf":
        whole = (pairs >= 0) & (pairs < 2**62) & (pairs == np.rint(pairs))  # false for NaN
        bad = ~whole.all(axis=1)
    if bad.any():
        raise ValueError(
            "'adjacency' as an edge list must hold node numbers 0, 1, 2, ...; got the edge "
            f"{pairs[bad][0].tolist()}. For nodes with names leave 'n_nodes' out."
        )
    pairs = pairs.astype(np.int64)
    # The list shows nodes up to the largest number in it; `n_nodes` may add more without edges.
    seen = int(pairs.max()) + 1 if pairs.size else 0
    way_out = f" The largest node number is {seen - 1}." if seen else ""
    N = seen if n_nodes is None else check_count(n_nodes, "n_nodes", low=seen or 1, way_out=way_out)
    occur = np.unique(pairs).size
    if n_nodes is None and seen > 10 * occur + _SPARE:
        raise ValueError(
            f"'adjacency' has node numbers up to {seen - 1}, of which only {occur} occur. If they are "
            "names, give them as text or in a data frame; if most nodes have no edges, give 'n_nodes'."
        )
    check_memory(100.0 * N, f"A network of {N:,} nodes", "Choose a smaller 'n_nodes'.")
    return _make(pairs[:, 0], pairs[:, 1], weights, N)


def _from_names(
    first: Sequence[Any], second: Sequence[Any], weights: Sequence[Any] | None = None
) -> RawNetwork:
    """A network of named nodes, from the two ends of each edge."""
    nodes = dict.fromkeys([*first, *second])
    if None in nodes or any(node != node for node in nodes):  # NaN is not equal to itself
        raise ValueError("'adjacency' must have two nodes in every edge; one is missing.")
    # Names of one kind are sorted, numbers as numbers; of several, they keep the order of first appearance.
    ordered = list(nodes)
    if all(isinstance(node, str) for node in ordered) and all(node.isdecimal() for node in ordered):
        ordered.sort(key=int)
    else:
        try:
            ordered.sort()
        except TypeError:
            ordered = list(nodes)
    place = {node: number for number, node in enumerate(ordered)}
    i, j = (np.array([place[node] for node in ends], dtype=np.int64) for ends in (first, second))
    return RawNetwork(_make(i, j, weights, len(ordered)), True, None, _names(ordered))


# --- files ---


def _read_file(path: Path, n_nodes: int | None, counts: bool) -> RawNetwork:
    """GraphML, or a text file with an edge per line: two names, and a count if there are three columns."""
    if not path.is_file():
        raise FileNotFoundError(f"'adjacency' must be a network or a file; there is no {path}.")
    if path.suffix.lower() == ".graphml":
        networkx = need("networkx", "networks", "A GraphML file")
        with reading(path, "GraphML"):
            graph = networkx.read_graphml(path)
        return read_raw(graph, n_nodes, counts)
    first: list[str] = []
    second: list[str] = []
    weights: list[float] = []
    for number, line in enumerate(path.read_text("utf-8-sig").splitlines(), 1):
        text = line.split("#")[0].strip()
        if not text or text.startswith("%"):
            continue
        # The first separator that the line has; blanks if it has none of the others.
        separator = next((mark for mark in "\t;," if mark in text), None)
        words = [word.strip().strip('"') for word in text.split(separator)]
        if not first and words[0].lower() in _HEADINGS:
            continue
        if len(words) not in (2, 3):
            raise ValueError(
                f"'adjacency' must be a file with two names in each line, and perhaps a count; line "
                f"{number} of {path.name} is {line!r}."
            )
        first.append(words[0])
        second.append(words[1])
        if len(words) == 3:
            try:
                weights.append(float(words[2]))
            except ValueError:
                raise ValueError(
                    f"'adjacency' must have a count in the third column; line {number} of "
                    f"{path.name} has {words[2]!r}."
                ) from None
    if weights and len(weights) < len(first):
        raise ValueError(f"'adjacency' must have a count in every line or in none of {path.name}.")
    if weights and not counts and any(weight != 1 for weight in weights):
        raise ValueError(
            f"'adjacency' must have no weights, the model is for binary data; {path.name} has. Leave "
            "them out, or take PoissonBlockModel, which has counts."
        )
    if n_nodes is not None:
        try:
            pairs = np.array([first, second], dtype=np.int64).T.reshape(-1, 2)
        except (ValueError, OverflowError):
            raise ValueError(
                f"'n_nodes' is for nodes that are numbers; {path.name} has names. Leave it out."
            ) from None
        return RawNetwork(_numbered(pairs, n_nodes, weights or None), True, None, None)
    return _from_names(first, second, weights or None)


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
