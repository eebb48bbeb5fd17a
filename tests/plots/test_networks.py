"""Networks whose nodes are in another order or very many."""

import matplotlib as mpl
import numpy as np
import pytest

import epluribus as epl
from epluribus import plots

mpl.use("agg")


def words(ax):
    return [text.get_text() for text in ax.texts]


def test_nodes_of_a_graph_are_found_by_the_names_of_the_items():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.Graph([("z", "y"), ("y", "x")])  # nodes z, y, x
    best = epl.minimize(epl.Draws([[0, 0, 1]] * 2, items=["x", "y", "z"]), rng=0)
    shown = plots.blocks(best, graph).images[0].get_array()
    assert shown.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    ax = plots.network(best, graph, names=True, pos={"x": (0, 0), "y": (1, 0), "z": (2, 0)})
    assert words(ax) == ["x", "y", "z"]
    assert ax.collections[2].get_offsets()[:, 0].tolist() == [0, 0.5, 1]
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


def test_large_sparse_matrices_are_shown_in_cells_and_never_made_dense(monkeypatch):
    from scipy import sparse

    n = 5000
    group = np.arange(n) % 2
    rng = np.random.default_rng(0)
    i = rng.integers(n, size=20_000)
    j = (i + 2 * rng.integers(n // 2, size=20_000)) % n  # within the clusters only
    matrix = sparse.csr_array((np.ones(20_000), (i, j)), shape=(n, n))
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda *_: pytest.fail("made dense"))
    shown = np.asarray(plots.blocks(group, matrix).images[0].get_array())
    assert shown.shape == (1667, 1667)  # three rows to a cell
    half = 833
    assert shown[:half, half + 1 :].sum() == shown[half + 1 :, :half].sum() == 0
    ones = sparse.coo_array(matrix)
    assert (shown > 0).sum() == len({(a, b) for a, b in zip(
        np.argsort(np.argsort(group, kind="stable"))[ones.row] // 3,
        np.argsort(np.argsort(group, kind="stable"))[ones.col] // 3, strict=True)})  # fmt: skip


def test_a_network_of_very_many_nodes_needs_places():
    from scipy import sparse

    matrix = sparse.csr_array((12_000, 12_000))
    with pytest.raises(
        ValueError, match="laid out for at most 10,000 nodes; got 12,000. Give their"
    ):
        plots.network(np.zeros(12_000, int), matrix)
    ax = plots.network(
        np.zeros(12_000, int), matrix, pos=np.random.default_rng(0).random((12_000, 2))
    )
    assert words(ax) == ["0"]
