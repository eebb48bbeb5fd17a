"""Networks as points and lines, and as matrices, in every form."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.patches import FancyArrowPatch

import epluribus as epl
from epluribus import plots

mpl.use("agg")


def places(ax):
    return np.concatenate(
        [c.get_offsets() for c in ax.collections if isinstance(c, PathCollection)]
    )


def n_lines(ax):
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    return sum(len(c.get_segments()) for c in lines)


def clusters(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_nodes_of_a_graph_are_found_by_the_names_of_the_items():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.Graph([("z", "y"), ("y", "x")])  # nodes z, y, x
    best = epl.minimize(epl.Draws([[0, 0, 1]] * 2, items=["x", "y", "z"]), rng=0)
    shown = plots.blocks(best, graph).images[0].get_array()
    assert shown.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    ax = plots.network(best, graph, names=True, pos={"z": (2, 1), "x": (0, 0), "y": (1, 0)})
    assert [text.get_text() for text in ax.texts] == ["x", "y", "z"]
    assert places(ax).tolist() == [[0, 0], [1, 0], [2, 1]]
    graph.add_node("w")
    for plot in (plots.blocks, plots.network):
        with pytest.raises(
            ValueError, match="must have the 3 items of the estimate as its nodes; it has 4 nodes"
        ):
            plot(best, graph)
    graph = nx.relabel_nodes(graph, {"x": "v"})
    with pytest.raises(ValueError, match="only one of the two has 'v'. Give the graph"):
        plots.blocks(best, graph)


def test_numbers_in_another_order_are_refused_for_labels_without_names():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.Graph([(2, 0), (0, 1)])  # nodes 2, 0, 1
    for plot in (plots.blocks, plots.network):
        with pytest.raises(ValueError, match="in another order"):
            plot([0, 0, 1], graph)
    by_number = nx.to_scipy_sparse_array(graph, nodelist=range(3))
    assert plots.blocks([0, 0, 1], by_number).images[0].get_array()[0].tolist() == [0, 1, 1]


def test_large_sparse_matrices_are_dots_and_never_made_dense(monkeypatch):
    from scipy import sparse

    n = 5000
    group = np.arange(n) % 2
    rng = np.random.default_rng(0)
    i = rng.integers(n, size=20_000)
    j = (i + 2 * rng.integers(n // 2, size=20_000)) % n  # within the clusters only
    matrix = sparse.csr_array((np.ones(20_000), (i, j)), shape=(n, n))
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda *_: pytest.fail("made dense"))
    ax = plots.blocks(group, matrix)
    dots = np.array(ax.lines[0].get_data())
    assert dots.shape[1] == matrix.nnz
    assert ((dots[0] < 2500) == (dots[1] < 2500)).all()


def test_a_network_of_very_many_nodes_needs_places():
    from scipy import sparse

    matrix, one = sparse.csr_array((12_000, 12_000)), np.zeros(12_000, int)
    with pytest.raises(ValueError, match="laid out for at most 10,000 nodes; got 12,000. Give"):
        plots.network(one, matrix)
    where = np.random.default_rng(0).random((12_000, 2))
    assert len(places(plots.network(one, matrix, pos=where))) == 12_000


@pytest.mark.parametrize("n", [30, 400])
@pytest.mark.parametrize("directed", [False, True])
def test_a_network_shows_every_node_and_link(n, directed):
    """Links of directed networks are arrows where nodes are few."""
    rng = np.random.default_rng(1)
    matrix = np.triu(rng.random((n, n)) < 3 / n, 1)
    labels = np.array(["b", "a", "c"])[rng.integers(3, size=n)]
    ax = plots.network(labels, matrix if directed else matrix + matrix.T)
    assert clusters(ax) == ["a", "b", "c"]
    assert len(np.unique(places(ax), axis=0)) == n
    arrows = sum(isinstance(patch, FancyArrowPatch) for patch in ax.patches)
    assert n_lines(ax) + arrows == matrix.sum()
    assert (arrows > 0) == (directed and n < 300)


def test_places_and_names_are_one_for_each_node():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.path_graph(["p", "q", "r"])
    for options, message in [
        ({"pos": {"p": (0, 0), "r": (1, 1)}}, "'pos' must have a place for every node; 'q' has"),
        ({"pos": np.eye(2)}, r"'pos' must .* shape \(3, 2\); got shape \(2, 2\)"),
        ({"names": ["p"]}, "'names' must have one name for each of 3 nodes; got 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            plots.network([0, 1, 1], graph, **options)


@pytest.mark.parametrize("directed", [False, True])
def test_networks_of_every_kind_are_one_matrix(directed):
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.gnp_random_graph(12, 0.3, seed=1, directed=directed)
    graph = nx.relabel_nodes(graph, {k: f"node {k}" for k in range(0, 12, 2)})
    ref = nx.to_numpy_array(graph, dtype=int)
    order = np.argsort(np.arange(12) % 3, kind="stable")
    for kind in (graph, nx.to_scipy_sparse_array(graph), ref):
        shown = plots.blocks(np.arange(12) % 3, kind).images[0].get_array()
        np.testing.assert_array_equal(shown, ref[np.ix_(order, order)])
        assert len(places(plots.network(np.arange(12) % 3, kind))) == 12


def test_edges_are_a_network(tmp_path):
    best = epl.minimize(epl.Draws([[0, 0, 1]] * 2, items=["a", "b", "c"]), rng=0)
    (tmp_path / "edges.csv").write_text("from,to\nc,a\nb,a\n")
    for form in ([("c", "a"), ("b", "a")], str(tmp_path / "edges.csv")):
        shown = plots.blocks(best, form).images[0].get_array()
        assert shown.tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
