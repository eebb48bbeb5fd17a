"""Networks in the forms in which users have them, checked and made sparse.

Nodes of arrays and of lists of integers are numbers 0, 1, 2, ...; those of graphs, data frames and files have
names. Two forms of one network give the same matrix.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from epluribus._files import about, reading
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import as_array, check_count, check_memory, need
from epluribus.models.tables import count_matrix, row_names
from epluribus.readers.text import read_content, read_table

UNNAMED = ("first", "second", "weight")
"""Names of the columns of a file of edges without a heading."""
_HEADINGS = ("source", "from", "i", "node1", "u", "sender")
"""First words of a line that is the heading of a file, whatever stands below it."""


class Network(NamedTuple):
    """A network as the models see it."""

    matrix: sparse.csr_array
    """(n_nodes, n_nodes) number of edges from row to column, without stored zeros; symmetric if the network
    is undirected. A loop counts 1 on the diagonal."""
    names: tuple[str, ...] | None
    """Names of the nodes; None for 0, 1, 2, ..."""
    directed: bool | None = None
    """While it is read, None if its form says nothing about directions."""
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
    """A network in any form, checked; the parameters are those of `StochasticBlockModel`.

    With `counts`, edges may have integers as weights, and those given several times add up.

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
    raw = _read(network, n_nodes, "ignore" if ignore_weights else "count")
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
    if ignore_weights:
        matrix.data[:] = 1
    own = np.flatnonzero(matrix.diagonal())
    if own.size and not loops:
        raise ValueError(
            "'adjacency' must have a zero diagonal, the model has no loops; node "
            f"{own[0]} (counted from 0) is linked to itself. Give loops=True to allow it, or take "
            "loops out; from a networkx graph: graph.remove_edges_from(nx.selfloop_edges(graph))."
        )
    entries = sparse.coo_array(matrix)
    if not counts and entries.data.size and entries.data.max() > 1:
        at = int(entries.data.argmax())
        names = raw.names or range(matrix.shape[0])
        i, j = names[entries.row[at]], names[entries.col[at]]
        raise ValueError(
            "'adjacency' must have each edge once and no weights, the model is for binary data; "
            f"({i}, {j}) counts {entries.data[at]}. Give ignore_weights=True, or "
            "take a model of counts, the Poisson block model. Give directed=True if (i, j) and (j, i) differ."
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


def read_bipartite(
    given: Any, ignore_weights: bool = False
) -> tuple[sparse.csr_array, list[tuple[str, ...] | None]]:
    """A matrix of zeros and ones in any form that `LatentBlockModel` takes; the names of its rows and columns.

    Examples
    --------
    >>> from epluribus.models.edges import read_bipartite
    >>> matrix, names = read_bipartite([("ann", "tea"), ("bob", "tea"), ("bob", "milk")])
    >>> names
    [('ann', 'bob'), ('milk', 'tea')]
    >>> matrix.toarray()
    array([[0, 1],
           [1, 1]])
    """
    weights = "ignore" if ignore_weights else "refuse"
    if isinstance(given, str | Path):
        with about(given, "matrix"):
            return read_bipartite(read_edges(given), ignore_weights)
    given = _as_graph(given)
    if is_graph(given):
        side = dict(given.nodes(data="bipartite"))
        if set(side.values()) != {0, 1}:
            raise ValueError(
                "'matrix' as a graph must be bipartite: every node needs the attribute 'bipartite', 0 for a row "
                "and 1 for a column."
            )
        nodes = [[node for node in side if side[node] == k] for k in (0, 1)]
        given = need("networkx", "networks", "A graph").bipartite.biadjacency_matrix(given, *nodes)
        return count_matrix(given, "matrix", weights), list(map(_names, nodes))
    if isinstance(given, Set | Iterator):  # the edges of a graph are a set, too
        given = [tuple(pair) for pair in given]
    if isinstance(given, Sequence) and len(given) and isinstance(given[0], tuple):
        cells = list(given)
    elif _are_pairs(given):
        cells = np.asarray(given, dtype=object).tolist()
    else:
        names = [row_names(given), row_names(getattr(given, "T", None))]
        return count_matrix(given, "matrix", weights), names
    first, second, used = _edges(cells, "matrix", weights)
    (rows, i), (columns, j) = (_number(side, "matrix") for side in (first, second))
    entries = sparse.coo_array((used, (i, j)), shape=(len(rows), len(columns)))
    matrix = count_matrix(sparse.csr_array(entries), "matrix", weights)
    return matrix, [_names(rows), _names(columns)]


def _are_pairs(table: Any) -> bool:
    """Whether each line is a row and a column that meet, perhaps with a weight, and not a row of the matrix."""
    if not sparse.issparse(table):
        as_array(table, "matrix")  # has rows of one length
    if sparse.issparse(table) or np.ndim(table) != 2 or np.shape(table)[1] not in (2, 3):
        return False
    cells = np.asarray(table, dtype=object)[:, :2].ravel().tolist()
    is_frame = hasattr(table, "iloc") and np.shape(table)[1] == 2
    return any(isinstance(x, str) for x in cells) or (is_frame and not {0, 1}.issuperset(cells))


# --- forms ---


def _read(network: Any, n_nodes: int | None, weights: str) -> Network:
    """Read a network in any form; `weights` are to "count" or to "ignore"."""
    if isinstance(network, str | Path):
        with about(network, "adjacency"):
            return _read(read_edges(network), n_nodes, weights)
    network = _as_graph(network)
    if is_graph(network):
        directed = bool(network.is_directed())
        matrix = graph_to_matrix(network, weights)
        return Network(matrix, _names(network.nodes), directed, one_way=directed)
    if hasattr(network, "iloc"):
        index, columns = list(map(str, network.index)), list(map(str, network.columns))
        words = any(kind.kind not in "biuf" for kind in network.dtypes)
        if n_nodes is not None or words or sorted(index) != sorted(columns):
            return _from_rows(list(network.itertuples(index=False)), n_nodes, weights)
        if index != columns:
            raise ValueError(
                "'adjacency' must have its rows and columns in the same order. Give "
                "frame.loc[names, names]."
            )
        matrix = count_matrix(network, "adjacency", weights)
        return Network(matrix, _names(index), one_way=False)
    if isinstance(network, np.ma.MaskedArray) and np.ma.is_masked(network):
        raise ValueError(
            "'adjacency' must have no masked entries. Decide what a missing entry means and fill it."
        )
    if sparse.issparse(network):
        return _square(network, weights)
    if not isinstance(network, Iterable):
        raise TypeError(f"'adjacency' must be a network; got a {type(network).__name__}.")
    if not hasattr(network, "__array__"):
        # A list of lists may be a matrix; pairs of names, and whatever else can be gone through, are edges.
        listed = isinstance(network, Sequence)
        network = list(network) if listed else [tuple(edge) for edge in network]
        first = network[0] if network else ()
        if (isinstance(first, tuple) and network) or isinstance(next(iter(first), 0), str):
            return _from_rows(network, n_nodes, weights, numbers=True)
    network = as_array(network, "adjacency")
    # Two columns are edges, or three, except that a square table could be either: then it is a matrix.
    pairs = (
        network.ndim == 2 and network.shape[1] in (2, 3) and network.shape[0] != network.shape[1]
    )
    if n_nodes is not None or pairs:
        return _from_rows(network.tolist(), n_nodes, weights, numbers=True)
    return _square(network, weights)


def _square(matrix: Any, weights: str) -> Network:
    """A network from a square matrix, dense or sparse."""
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            "'adjacency' must be a square matrix, a graph, a data frame, a file, or edges with two "
            f"columns; got shape {matrix.shape}."
        )
    return Network(count_matrix(matrix, "adjacency", weights), None, one_way=False)


def _as_graph(network: Any) -> Any:
    """A graph of igraph as one of networkx; anything else as it is."""
    if hasattr(network, "to_networkx"):
        return network.to_networkx(vertex_attr_hashable="name")
    return network


def is_graph(network: Any) -> bool:
    """Whether this is a networkx graph, without importing networkx."""
    return hasattr(network, "is_directed") and hasattr(network, "edges")


def graph_to_matrix(graph: Any, weights: str = "ignore") -> sparse.csr_array:
    """Adjacency matrix of a networkx graph, in the order of the nodes; a loop is on the diagonal.

    With weights to "ignore" it has a 1 where there is an edge; with "count" parallel edges and weights add up.
    """
    networkx = need("networkx", "networks", "A graph")
    if len(graph) == 0:  # networkx refuses empty graphs
        return sparse.csr_array((0, 0), dtype=np.int64)
    weight = "weight" if weights == "count" else None
    matrix = networkx.to_scipy_sparse_array(graph, weight=weight, dtype=None)
    return count_matrix(matrix, "adjacency", weights)


# --- edges ---


def _from_rows(rows: Any, n_nodes: int | None, weights: str, numbers: bool = False) -> Network:
    """A network from its edges, two nodes and perhaps a weight each: nodes are numbers, or have names."""
    first, second, used = _edges(rows, "adjacency", weights)
    ends, names = [*first, *second], None
    numbers = numbers and all(isinstance(node, int | float | np.number) for node in ends)
    if numbers or n_nodes is not None:
        places = _node_numbers(ends, n_nodes)
        n = int(places.max(initial=-1)) + 1 if n_nodes is None else n_nodes
    else:
        nodes, places = _number(ends, "adjacency")
        n, names = len(nodes), _names(nodes)
    entries = sparse.coo_array((used, tuple(np.split(places, 2))), shape=(n, n))
    return Network(count_matrix(sparse.csr_array(entries), "adjacency", "count"), names)


def _edges(rows: Any, argument: str, weights: str) -> tuple[list[Any], list[Any], FloatArray]:
    """The first and the second node of each edge, and its weight: 1 if there is none or it is to be ignored."""
    lengths = {len(row) if isinstance(row, tuple | list) else 0 for row in rows}
    if not (lengths <= {2} or lengths == {3}):
        raise ValueError(
            f"'{argument}' must be a square matrix with the same names on both sides, or edges with two nodes in "
            f"each and perhaps a weight; got {' or '.join(map(str, sorted(lengths)))} entries in each."
        )
    first, second, *given = map(list, zip(*rows, strict=True)) if rows else ([], [])
    used = np.ones(len(first))
    if given and weights != "ignore":
        try:
            used = np.asarray(given[0], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"'{argument}' must have numbers as weights in the third column."
            ) from None
    return first, second, used


def _node_numbers(ends: list[Any], n_nodes: int | None) -> IntArray:
    """The numbers of nodes, checked; integers may be stored as floats or text, as from csv files."""
    try:
        values = np.asarray(ends, dtype=np.float64)
    except (TypeError, ValueError):  # names
        values = np.full(len(ends), np.nan)
    good = (values >= 0) & (values < 2**62) & (values == np.rint(values))
    if not good.all():
        raise ValueError(
            "'adjacency' as an edge list must hold node numbers 0, 1, 2, ...; got "
            f"{ends[int(np.argmin(good))]!r}. For nodes with names leave 'n_nodes' out."
        )
    # The list shows nodes up to the largest number in it; `n_nodes` may add more without edges.
    seen, occur = int(values.max(initial=-1)) + 1, np.unique(values).size
    if n_nodes is None and seen > 10 * occur + 1000:  # most nodes without edges: more likely names
        raise ValueError(
            f"'adjacency' has node numbers up to {seen - 1}, of which only {occur} occur. If they are "
            "names, give them as text or in a data frame; if most nodes have no edges, give 'n_nodes'."
        )
    way_out = f" The largest node number is {seen - 1}." if seen else ""
    N = seen if n_nodes is None else check_count(n_nodes, "n_nodes", low=seen or 1, way_out=way_out)
    check_memory(100.0 * N, f"A network of {N:,} nodes", "Choose a smaller 'n_nodes'.")
    return values.astype(np.int64)


def _number(ends: list[Any], argument: str) -> tuple[list[Any], IntArray]:
    """The different nodes in order, and the place of each of the given ones among them."""
    ordered = list(dict.fromkeys(ends))
    if None in ordered or any(node != node for node in ordered):  # NaN is not equal to itself
        raise ValueError(f"'{argument}' must have two nodes in every edge; one is missing.")
    # Numbers are sorted as numbers, also in text; names of several types as text.
    decimal = all(str(node).isdecimal() for node in ordered)
    ordered.sort(key=int if decimal else str)
    place = {node: number for number, node in enumerate(ordered)}
    return ordered, np.array([place[node] for node in ends], dtype=np.int64)


def _names(nodes: Any) -> tuple[str, ...] | None:
    """Names of nodes, unless they are 0, 1, 2, ..."""
    names = tuple(map(str, nodes))
    if names == tuple(map(str, range(len(names)))):
        return None
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"'adjacency' must have a different name for every node; '{twice}' is there twice."
        )
    return names


# --- files ---


def read_edges(path: str | Path, header: bool | None = None) -> Any:
    r"""What a file of edges holds, in a form that every block model takes.

    Parameters
    ----------
    path : str or Path
        GraphML or GML; a text file with an edge in each line, two names and perhaps a weight, separated by
        tabs, semicolons, commas or blanks; or a matrix of numbers in csv. Lines that begin with # or % are
        comments.
    header : bool, optional
        Whether the first line of edges is a heading. By default it is one if it begins with a usual word
        such as "source", has a word above a column of numbers, or if its words occur nowhere else and most of the
        other lines share a node with another one.

    Returns
    -------
    DataFrame or networkx graph
        Edges are text, in columns named by the heading, or by `UNNAMED` without one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from epluribus.models import read_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "friends.csv"
    ...     _ = path.write_text("who,whom\nann,bob\nbob,cid\n")
    ...     print(read_edges(path))
       who whom
    0  ann  bob
    1  bob  cid
    """
    path = Path(path)
    if str(path) != "-" and not path.is_file():
        raise FileNotFoundError(f"There is no file '{path}'.")
    kind = {".graphml": "GraphML", ".gml": "GML"}.get(path.suffix.lower())
    if kind is not None:
        networkx = need("networkx", "networks", f"A {kind} file")
        with reading(path, kind):
            graph = (networkx.read_graphml if kind == "GraphML" else networkx.read_gml)(path)
        # igraph writes ids n0, n1, ... and an attribute with the names.
        names = networkx.get_node_attributes(graph, "name")
        return (
            networkx.relabel_nodes(graph, names) if len({*names.values()}) == len(graph) else graph
        )
    lines = [line for line in read_content(path).splitlines() if line.strip()]
    lines = [line for line in lines if line.lstrip()[0] not in "#%"]
    mark = next((mark for mark in "\t;," if lines and mark in lines[0]), " ")
    with reading(path, "text"):
        rows = [
            [cell.strip() for cell in row if cell.strip() or mark != " "]
            for row in csv.reader(lines, delimiter=mark, skipinitialspace=True)
        ]
    width = max(map(len, rows), default=0)
    binary = all(cell in ("0", "1") for row in rows for cell in row)
    if width > 3 or binary or not rows[0][0]:  # nothing stands above names of rows
        return _read_matrix(path)
    lengths = sorted({len(row) for row in rows})
    if lengths not in ([2], [3]):
        found = " or ".join(map(str, lengths)) or "none"
        raise ValueError(
            f"The file '{path}' must have two cells in each line, or three with weights; it has {found}."
        )
    heading = _is_heading(rows) if header is None else header
    columns = rows[0] if heading else UNNAMED[:width]
    return pd.DataFrame(rows[heading:], columns=list(columns), dtype=object)


def _read_matrix(path: Path) -> pd.DataFrame:
    """A matrix of numbers in a text file, with the names of its rows and columns."""
    table = read_table(path)
    frame: pd.DataFrame = table.to_frame()
    unnamed = table.named and not table.skip and len(frame) == frame.shape[1]
    return frame.set_axis(frame.columns) if unnamed else frame


def _is_heading(rows: list[list[str]]) -> bool:
    """Whether the first line names the columns: see `read_edges`."""
    table = pd.DataFrame(rows)
    first, rest = table.iloc[0, :2], table.iloc[1:, :2]
    if rest.empty:
        return False
    numbers = table.apply(pd.to_numeric, errors="coerce").notna()
    if first[0].lower() in _HEADINGS or (numbers[1:].all() & ~numbers.iloc[0]).any():
        return True
    counts = rest.stack().value_counts()
    alone = (rest.apply(lambda nodes: nodes.map(counts)) == 1).all(axis=1)
    known = numbers.iloc[0].any() or first.isin(counts.index).any()
    return not known and bool(alone.mean() < 0.5)
