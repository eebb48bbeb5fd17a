"""Networks in every form, what is refused, and what block models say about links."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import beta, gamma

from epluribus.models import (
    LatentBlockModel,
    PoissonBlockModel,
    StochasticBlockModel,
    read_edges,
)
from epluribus.models.edges import graph_to_matrix, read_network
from epluribus.sampling.chain import fingerprint
from oracles_models import (
    corrected_closed_form,
    corrected_log_marginal,
)

EDGES = [("ann", "bob"), ("bob", "cid"), ("dan", "ann")]
A = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
NAMES = ("ann", "bob", "cid", "dan")
C = np.array([[1, 2, 0], [2, 0, 3], [0, 3, 0]])
F = np.array([[1, 2, 0], [1, 0, 3], [0, 0, 2]])


class FakeIgraph:
    """The part of igraph's Graph that is read."""

    def __init__(self, edges, names, weights=None):
        self.edges, self.names, self.weights = edges, names, weights or [1] * len(edges)

    def to_networkx(self, vertex_attr_hashable):
        assert vertex_attr_hashable == "name"
        graph = nx.Graph()
        graph.add_nodes_from(self.names)
        for (i, j), weight in zip(self.edges, self.weights, strict=True):
            graph.add_edge(self.names[i], self.names[j], weight=weight)
        return graph


def forms(folder):
    frame = pd.DataFrame(A, index=NAMES, columns=NAMES)
    graph = nx.Graph()
    graph.add_nodes_from(NAMES)
    graph.add_edges_from(EDGES)
    nx.write_graphml(graph, folder / "a.graphml")
    (folder / "a.txt").write_text("# friends\nann bob\nbob cid\n\ndan ann\n")
    (folder / "a.csv").write_text("source,target\n" + "\n".join(",".join(edge) for edge in EDGES))
    return {
        "list": EDGES,
        "array of names": np.array(EDGES),
        "frame of edges": pd.DataFrame(EDGES, columns=["x", "y"]),
        "square frame": frame,
        "networkx": graph,
        "igraph": FakeIgraph([(0, 1), (1, 2), (3, 0)], NAMES),
        "graphml": folder / "a.graphml",
        "text": folder / "a.txt",
        "csv": str(folder / "a.csv"),
    }


def test_every_form_gives_the_same_network(tmp_path):
    for form, network in forms(tmp_path).items():
        read = read_network(network)
        assert read.names == NAMES, form
        assert np.array_equal(read.matrix.toarray(), A), form
        assert not read.directed
    plain = read_network(sparse.csr_matrix(A))
    assert plain.names is None
    matrices = [A, A.tolist(), A.astype(bool), A.astype(float)]
    matrices += [sparse.csr_array(A), sparse.coo_matrix(A)]
    edges = np.argwhere(np.triu(A))
    numbers = edges, edges[:, ::-1].astype(float), [tuple(edge) for edge in edges.tolist()]
    models = [StochasticBlockModel(form) for form in (*forms(tmp_path).values(), *matrices)]
    models += [StochasticBlockModel(form, n_nodes=4) for form in numbers]
    assert len({fingerprint(model) for model in models}) == 1


@pytest.mark.parametrize(
    ("network", "n_nodes", "n_edges"),
    [
        ([(0, 1), (1, 0)], 2, 1),  # not a matrix
        ([(0, 1), (1, 2), (0, 2)], 3, 3),
        ({(0, 1), (1, 2)}, 3, 2),
        (nx.path_graph(4).edges, 4, 3),
        (zip([0, 1], [1, 2], strict=True), 3, 2),
        ([[0, 1], [1, 0]], 2, 1),  # a matrix
        ([("a", "b", 0.5), ("b", "c", 3)], 3, 2),
        (np.array([[0.0, 2.5], [2.5, 0.0]]), 2, 1),
    ],
)
def test_tuples_sets_and_views_are_edges_and_weights_can_be_ignored(network, n_nodes, n_edges):
    model = StochasticBlockModel(network, ignore_weights=True)
    assert (model.n_items, model.n_edges) == (n_nodes, n_edges)


@pytest.mark.parametrize(
    ("text", "names", "n_edges"),
    [
        ("person,friend\n1,2\n2,3\n", ("1", "2", "3"), 2),
        ("who;whom;n\na;b;2\nb;c;1\n", ("a", "b", "c"), 3),
        ("Source Target\nann bob\n", ("ann", "bob"), 1),
        ("ann bob\ncid bob\n", ("ann", "bob", "cid"), 2),
        ("1\t2\n2\t3\n", ("1", "2", "3"), 2),
        ("knows,likes\nann,bob\nbob,cid\ncid,ann\n", ("ann", "bob", "cid"), 3),
        ("giver,taker\nann,bob\nbob,cid\ndan,eve\n", ("ann", "bob", "cid", "dan", "eve"), 3),
        ("ann,bob\nbob,cid\ndan,eve\neve,fay\n", ("ann", "bob", "cid", "dan", "eve", "fay"), 4),
        ("% comment\n0 1\n1 2\n", None, 2),
        ("0 1 1\n1 0 1\n1 1 0\n", None, 3),
        (",a,b,c,d\na,0,2,0,0\nb,2,0,1,0\nc,0,1,0,0\nd,0,0,0,0\n", ("a", "b", "c", "d"), 3),
        ('"Smith, J",ann\nann,bob\n', ("Smith, J", "ann", "bob"), 2),
    ],
)
def test_files_of_edges_and_matrices(tmp_path, text, names, n_edges):
    (tmp_path / "e.csv").write_text(text)
    model = PoissonBlockModel(tmp_path / "e.csv")
    assert (model.sides[0].items, model.n_edges) == (names, n_edges)


def test_a_heading_can_be_named_or_denied(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("knows,likes\nann,bob\nbob,cid\ncid,ann\n")
    assert list(read_edges(path).columns) == ["knows", "likes"]
    assert StochasticBlockModel(read_edges(path, header=False)).n_items == 5
    path.write_text("ann,bob\nbob,cid\n")
    assert StochasticBlockModel(read_edges(path, header=True)).n_edges == 1


def test_a_bipartite_network_in_every_form_is_one_matrix(tmp_path):
    pairs = [("ann", "tea"), ("bob", "tea"), ("bob", "milk"), ("cid", "milk")]
    graph = nx.Graph(pairs)
    for node in graph:
        graph.nodes[node]["bipartite"] = int(node in ("tea", "milk"))
    (tmp_path / "p.csv").write_text("who,what\n" + "\n".join(map(",".join, pairs)))
    (tmp_path / "m.csv").write_text(",milk,tea\nann,0,1\nbob,1,1\ncid,1,0\n")
    frame = pd.DataFrame([[0, 1], [1, 1], [1, 0]], ["ann", "bob", "cid"], ["milk", "tea"])
    numbers = pd.DataFrame({"user": [7, 8, 8, 9], "item": [31, 31, 30, 30]})
    assert LatentBlockModel([(7, 31), (8, 30)]).sides[0].items == ("7", "8")
    files = tmp_path / "p.csv", tmp_path / "m.csv"
    for form in (pairs, set(pairs), iter(pairs), graph, frame, *files):
        model = LatentBlockModel(form)
        rows, columns = (side.items for side in model.sides)
        assert (sorted(rows), sorted(columns)) == (["ann", "bob", "cid"], ["milk", "tea"])
        order = [columns.index("milk"), columns.index("tea")]
        assert np.array_equal(model._matrix.toarray()[:, order], frame.to_numpy())
    named = LatentBlockModel(numbers)
    assert (named.sides[0].items, named.sides[1].items) == (("7", "8", "9"), ("30", "31"))
    weighted = [("a", "x", 2.5), ("a", "x", 1), ("b", "y", 1)]
    kept = LatentBlockModel(weighted, ignore_weights=True)._matrix.toarray()
    assert kept.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="'matrix' must hold only 0 and 1.*Give ignore_weights"):
        LatentBlockModel(weighted)
    with pytest.raises(ValueError, match="every node needs the attribute 'bipartite'"):
        LatentBlockModel(nx.path_graph(3))


def test_names_of_rows_and_columns_are_kept():
    frame = pd.DataFrame(np.eye(3, dtype=int), index=list("abc"), columns=list("xyz"))
    rows, columns = LatentBlockModel(frame).sides
    assert (rows.items, columns.items) == (tuple("abc"), tuple("xyz"))
    plain, thin = LatentBlockModel(frame.to_numpy()), LatentBlockModel(sparse.csc_matrix(np.eye(3)))
    assert plain.sides[1].items is None
    assert fingerprint(plain) == fingerprint(thin)


def test_directions_counts_and_loops():
    one_way = read_network(EDGES, directed=True).matrix.toarray()
    assert one_way.sum() == 3
    assert one_way[3, 0] == 1
    assert one_way[0, 3] == 0
    weighted = [("a", "b", 2), ("b", "a", 1), ("b", "b", 4)]
    both = read_network(weighted, counts=True, loops=True).matrix.toarray()
    assert both.tolist() == [[0, 3], [3, 4]]
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=5)
    assert read_network(graph, counts=True).matrix[0, 1] == 5
    fake = FakeIgraph([(0, 1)], "ab", [3])
    assert read_network(fake, counts=True).matrix[0, 1] == 3
    numbers = pd.DataFrame({"i": [10, 9], "j": [9, 100]})
    assert read_network(numbers).names == ("9", "10", "100")  # sorted as numbers
    model = PoissonBlockModel([(0, 1, 3), (1, 1, 2)], n_nodes=3, loops=True)
    assert model.n_edges == 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StochasticBlockModel([(0, 10**12)]), "of which only 2"),
        (lambda: StochasticBlockModel(np.array([[0, 1e300], [0, 1]] * 2)), "node numbers 0, 1, 2"),
        (lambda: StochasticBlockModel([("a", None)]), "two nodes in every edge; one is missing"),
        (lambda: StochasticBlockModel("no-such-file.txt"), "There is no file 'no-such-file.txt'"),
        (lambda: StochasticBlockModel(pd.DataFrame(np.zeros((3, 5)))), "must be a square matrix with"),
        (
            lambda: StochasticBlockModel(pd.DataFrame({"a": ["x"], "b": ["y"], "n": [2]})),
            "no weights.* counts 2. Give",
        ),
        (
            lambda: StochasticBlockModel(pd.DataFrame(np.eye(2), index=[*"ab"], columns=[*"ba"])),
            "rows and columns in the same order",
        ),
        (lambda: StochasticBlockModel(np.ma.masked_equal(A, 1)), "no masked entries"),
        (lambda: StochasticBlockModel(FakeIgraph([(0, 1)], "ab", [3])), "and no weights"),
        (lambda: StochasticBlockModel([("a", "a"), ("a", "b")]), "Give loops=True"),
        (lambda: PoissonBlockModel([[0, 0.5], [0.5, 0]]), "counts, .* is 0.5. Give ignore_weights"),
        (lambda: PoissonBlockModel([[0, -1], [-1, 0]]), "counts, integers .* is -1"),
        (lambda: PoissonBlockModel(A, shape=0), "'shape' must be a finite number above 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(make, message):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c d\n", "has a header but no rows"),
        ("a b 1\nb c\n", "two cells in each line, or three with weights; it has 2 or 3"),
        ("a b x\n", "must have numbers as weights"),
        ("a b 3\n", "each edge once and no weights"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    path = tmp_path / "edges.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        StochasticBlockModel(path)
    (tmp_path / "b.graphml").write_text("hello")
    with pytest.raises(ValueError, match="could not be read as GraphML"):
        StochasticBlockModel(tmp_path / "b.graphml")


def test_names_in_graphml_are_those_of_its_nodes(tmp_path):
    graph = nx.Graph([("n0", "n1"), ("n1", "n2")])
    nx.set_node_attributes(graph, {"n0": "ann", "n1": "bob", "n2": "cid"}, "name")  # as igraph does
    nx.write_graphml(graph, tmp_path / "a.graphml")
    assert StochasticBlockModel(tmp_path / "a.graphml").sides[0].items == ("ann", "bob", "cid")


@pytest.mark.parametrize("z", [(0, 1, 2), (0, 0, 1), (0, 1, 0)])
def test_degrees_are_integrated_out(z):
    # By quadrature over propensities and rates, which shares no formula with the closed form.
    for counts, directed in ((C, False), (F, True)):
        closed = corrected_closed_form(counts, z, 0.7, 1.3, directed)
        slow = corrected_log_marginal(counts, z, 0.7, 1.3, directed)
        assert closed == pytest.approx(slow, abs=1e-8)


def test_block_tables():
    z = [0, 0, 1, 1]
    table = StochasticBlockModel(A, beta=(0.5, 0.8)).block_table(z)
    assert table.edges.tolist() == [[1, 2], [2, 0]]
    assert table.pairs.tolist() == [[1, 4], [4, 1]]
    np.testing.assert_allclose(table.mean[0, 1], 2.5 / 5.3)
    np.testing.assert_allclose(table.low[0, 1], beta(2.5, 2.8).ppf(0.025))
    np.testing.assert_allclose(table.high[0, 1], beta(2.5, 2.8).ppf(0.975))
    assert len(table.to_pandas()) == 3
    assert "nodes" in str(table)
    directed = PoissonBlockModel(F, directed=True, loops=True, shape=0.7, rate=1.3).block_table(
        [0, 0, 1]
    )
    assert directed.edges.tolist() == [[4, 3], [0, 2]]
    assert directed.pairs.tolist() == [[4, 2], [2, 1]]
    np.testing.assert_allclose(directed.high[0, 0], gamma(4.7, scale=1 / 5.3).ppf(0.975))
    assert len(directed.columns()["from"]) == 4


WEIGHTED = nx.Graph([("a", "b", {"weight": 2.5}), ("b", "c")])
ARROWS = nx.DiGraph([(0, 1), (1, 0)])


@pytest.mark.parametrize(
    ("graph", "options", "found"),
    [
        (nx.Graph([("a", "b"), ("b", "c")]), {}, (3, 2, False)),
        (nx.disjoint_union(nx.path_graph(3), nx.empty_graph(1)), {}, (4, 2, False)),
        (ARROWS, {}, (2, 2, True)),
        (nx.DiGraph([(0, 1), (1, 2)]), {"directed": False}, (3, 2, False)),
        # An edge without direction goes both ways.
        (nx.path_graph(3), {"directed": True}, (3, 4, True)),
    ],
)
def test_networkx_graphs(graph, options, found):
    model = StochasticBlockModel(graph, **options)
    assert (model.n_items, model.n_edges, model.directed) == found


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (WEIGHTED, {}, r"counts, integers.* 2.5. Give ignore_weights=True"),
        (ARROWS, {"directed": False}, r"each edge once.*\(0, 1\) counts 2.*ignore_weights=True"),
        (nx.MultiGraph([(0, 1), (0, 1)]), {}, r"each edge once.*\(0, 1\) counts 2"),
        (nx.Graph([("a", "b"), ("b", "b")]), {}, r"no loops; node 1 .*remove_edges_from"),
        (nx.Graph(), {}, "at least one node"),
    ],
)
def test_networkx_graphs_that_are_refused(graph, options, message):
    with pytest.raises(ValueError, match=message):
        StochasticBlockModel(graph, **options)


def test_a_graph_becomes_a_matrix_of_zeros_and_ones():
    graph = nx.Graph([("b", "a"), ("a", "c")])
    graph["a"]["b"]["weight"], graph["a"]["c"]["weight"] = 2.5, 0.0  # weights do not matter
    assert graph_to_matrix(graph).toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    loops = nx.MultiDiGraph([(0, 1), (0, 1), (1, 1)])
    assert graph_to_matrix(loops).toarray().tolist() == [[0, 1], [0, 1]]
