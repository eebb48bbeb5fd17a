"""Networks in every form, what is refused, and what block models say about links."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import beta, gamma, nbinom

from epluribus.models import PoissonBlockModel, StochasticBlockModel
from epluribus.models.edges import read_network
from oracles_models import (
    corrected_closed_form,
    corrected_log_marginal,
    partitions,
    poisson_log_marginal,
    sbm_log_marginal,
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
    prints = {StochasticBlockModel(form).fingerprint() for form in forms(tmp_path).values()}
    assert prints == {StochasticBlockModel(A).fingerprint()}


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
        (
            lambda: StochasticBlockModel([(0, 10**12)]),
            "node numbers up to 1000000000000, of which only 2",
        ),
        (lambda: StochasticBlockModel(np.array([[0, 1e300], [0, 1]] * 2)), "node numbers 0, 1, 2"),
        (lambda: StochasticBlockModel([("a", None)]), "two nodes in every edge; one is missing"),
        (lambda: StochasticBlockModel("no-such-file.txt"), "there is no no-such-file.txt"),
        (
            lambda: StochasticBlockModel(pd.DataFrame(np.zeros((3, 5)))),
            "as a data frame must be square",
        ),
        (
            lambda: StochasticBlockModel(pd.DataFrame({"a": ["x"], "b": ["y"], "n": [2]})),
            "must have no weights, .* has weight 2. Give",
        ),
        (
            lambda: StochasticBlockModel(pd.DataFrame(np.eye(2), index=[*"ab"], columns=[*"ba"])),
            "rows and columns in the same order",
        ),
        (lambda: StochasticBlockModel(np.ma.masked_equal(A, 1)), "no masked entries"),
        (lambda: StochasticBlockModel(FakeIgraph([(0, 1)], "ab", [3])), "must have no weights"),
        (
            lambda: StochasticBlockModel([("a", "a"), ("a", "b")]),
            "linked to itself. Give loops=True",
        ),
        (
            lambda: PoissonBlockModel([[0, 0.5], [0.5, 0]]),
            "counts, integers 0, 1, 2, ...; entry .* is 0.5. Round",
        ),
        (lambda: PoissonBlockModel([[0, -1], [-1, 0]]), "counts, integers .* is -1"),
        (lambda: PoissonBlockModel(A, shape=0), "'shape' must be a finite number above 0"),
        (
            lambda: StochasticBlockModel(A).link_probabilities([(0, 9)], [[0, 0, 1, 1]]),
            "'pairs' must be of nodes 0 to 3",
        ),
        (
            lambda: StochasticBlockModel(EDGES).link_probabilities(
                [("eve", "ann")], [[0, 0, 1, 1]]
            ),
            "it has no 'eve'",
        ),
        (
            lambda: StochasticBlockModel(A).link_probabilities([(0, 1)], [[0, 1]]),
            "partitions of the 4 nodes of the model; they have 2",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(make, message):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c d\n", "two nodes in each, or two and a weight; got 4"),
        ("a b 1\nb c\n", "got 2 or 3 entries"),
        ("a b x\n", "an edge has weight x"),
        ("a b 3\n", "must have no weights"),
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


def test_likelihoods_agree_with_their_twins():
    for z in partitions(3):
        binary = StochasticBlockModel(np.minimum(C, 1), loops=True, beta=(0.4, 0.7))
        slow = sbm_log_marginal(np.minimum(C, 1), z, 0.4, 0.7, loops=True)
        assert binary.log_marginal(z) == pytest.approx(slow, abs=1e-12)
        for counts, directed in ((C, False), (F, True)):
            options = {"directed": directed, "shape": 0.7, "rate": 1.3}
            for loops in (False, True):
                own = counts if loops else counts - np.diag(np.diag(counts))
                model = PoissonBlockModel(own, loops=loops, **options)
                slow = poisson_log_marginal(own, z, 0.7, 1.3, directed, loops)
                assert model.log_marginal(z) == pytest.approx(slow, abs=1e-12)
            model = PoissonBlockModel(counts, degree_corrected=True, **options)
            closed = corrected_closed_form(counts, z, 0.7, 1.3, directed)
            assert model.log_marginal(z) == pytest.approx(closed, abs=1e-12)


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


def test_probabilities_of_links_are_means_over_draws():
    model = StochasticBlockModel(A)
    draws = [[0, 0, 1, 1], [0, 1, 1, 0]]
    both = model.link_probabilities([(0, 1), (2, 3)], draws)
    each = [model.block_table(z).mean[z[0], z[1]] for z in draws]
    np.testing.assert_allclose(both[0], np.mean(each))
    counts = PoissonBlockModel(C - np.diag(np.diag(C)), shape=0.7, rate=1.3)
    p = counts.link_probabilities([(0, 2)], [[0, 0, 1]])
    # Block (0, 1) has 3 edges and 2 pairs: a negative binomial number of further edges.
    np.testing.assert_allclose(p, 1 - nbinom.pmf(0, 3.7, 3.3 / 4.3))
