"""The map of items, and networks whose nodes are in another order or very many."""

import matplotlib as mpl
import numpy as np
import pytest

import epluribus as epl
from epluribus import plots

mpl.use("agg")


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(3)
    center = np.repeat([0, 1, 2, 3], [10, 8, 6, 6])
    z = np.where(rng.random((60, 30)) < 0.2, rng.integers(4, size=(60, 30)), center)
    return center, epl.Draws(z)


def words(ax):
    return [text.get_text() for text in ax.texts]


# --- item_map ---


def test_places_of_items_keep_distances_that_a_plane_can_hold():
    """Three items, each pair together in another share of the draws: a triangle with these sides."""
    draws = [[0, 0, 1]] * 6 + [[0, 1, 1]] * 3 + [[0, 1, 0]] * 1
    ax = plots.item_map([0, 0, 1], draws)
    places = np.concatenate(
        [c.get_offsets() for c in ax.collections if c.get_sizes().max(initial=0) < 190]
    )
    places = np.unique(np.round(places, 9), axis=0)
    assert len(places) == 3
    sides = [np.linalg.norm(a - b) for n, a in enumerate(places) for b in places[n + 1 :]]
    assert sorted(sides) == pytest.approx([1 - 0.6, 1 - 0.3, 1 - 0.1])


def test_discs_show_exemplars_and_dots_count_items(sample):
    center, draws = sample
    ax = plots.item_map(np.array(["a", "b", "c", "d"])[center], draws)
    assert words(ax) == ["a", "b", "c", "d"]
    discs = [c for c in ax.collections if c.get_sizes().tolist() == [190]]
    dots = [c for c in ax.collections if c not in discs]
    assert len(discs) == 4
    assert sum(c.get_sizes().sum() for c in dots) == pytest.approx(30 * 26.0)
    # A line leads from each exemplar to its disc.
    exemplars = epl.uncertainty.items(center, draws).exemplars
    places = np.concatenate([c.get_offsets() for c in dots])
    for item, line in zip(exemplars, ax.lines, strict=True):
        assert np.linalg.norm(places - line.get_xydata()[0], axis=1).min() < 0.02, item


def test_items_that_are_always_together_are_one_dot_and_doubtful_ones_are_rings():
    z = np.repeat([[0, 0, 0, 0, 1, 1]], 10, axis=0)
    z[:6, 5] = 2  # item 5 is with item 4 in 4 draws of 10
    ax = plots.item_map([0, 0, 0, 0, 1, 1], z)
    dots = [c for c in ax.collections if len(c.get_offsets()) and c.get_sizes()[0] != 190]
    assert [c.get_sizes().tolist() for c in dots] == [[4 * 26.0], [26.0, 26.0]]
    assert [len(c.get_facecolor()) for c in dots] == [1, 0]


def test_many_items_are_thinned_and_keep_every_exemplar():
    rng = np.random.default_rng(0)
    center = np.append(np.zeros(2498, int), [1, 2])
    z = np.where(rng.random((20, 2500)) < 0.05, rng.integers(3, size=(20, 2500)), center)
    ax = plots.item_map(center, z)
    assert words(ax) == ["0", "1", "2"]
    assert ax.get_title(loc="left").endswith("of 2,500 items")
    assert 1000 <= int(ax.get_title(loc="left").split()[0].replace(",", "")) <= 1003


# --- order and size of networks ---


def test_nodes_of_a_graph_are_found_by_the_names_of_the_items():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.Graph([("z", "y"), ("y", "x")])  # nodes z, y, x
    best = epl.minimize(epl.Draws([[0, 0, 1]] * 2, items=["x", "y", "z"]), rng=0)
    shown = plots.blocks(graph, best).images[0].get_array()
    assert shown.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    ax = plots.network(graph, best, names=True, pos={"x": (0, 0), "y": (1, 0), "z": (2, 0)})
    assert words(ax) == ["0", "0", "1", "x", "y", "z"]
    assert [text.get_position()[0] for text in ax.texts[:3]] == [0, 0.5, 1]
    graph.add_node("w")
    for plot in (plots.blocks, plots.network):
        with pytest.raises(
            ValueError, match="must have the 3 items of the estimate as its nodes; it has 4 nodes"
        ):
            plot(graph, best)
    graph = nx.relabel_nodes(graph, {"x": "v"})
    with pytest.raises(ValueError, match="only one of the two has 'v'. Give the graph"):
        plots.blocks(graph, best)


def test_numbers_in_another_order_are_refused_for_labels_without_names():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.Graph([(2, 0), (0, 1)])  # nodes 2, 0, 1
    for plot in (plots.blocks, plots.network):
        with pytest.raises(ValueError, match="in another order"):
            plot(graph, [0, 0, 1])
    by_number = nx.to_scipy_sparse_array(graph, nodelist=range(3))
    assert plots.blocks(by_number, [0, 0, 1]).images[0].get_array()[0].tolist() == [0, 1, 1]


def test_large_sparse_matrices_are_shown_in_cells_and_never_made_dense(monkeypatch):
    from scipy import sparse

    n = 5000
    group = np.arange(n) % 2
    rng = np.random.default_rng(0)
    i = rng.integers(n, size=20_000)
    j = (i + 2 * rng.integers(n // 2, size=20_000)) % n  # within the clusters only
    matrix = sparse.csr_array((np.ones(20_000), (i, j)), shape=(n, n))
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda *_: pytest.fail("made dense"))
    shown = np.asarray(plots.blocks(matrix, group).images[0].get_array())
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
        plots.network(matrix, np.zeros(12_000, int))
    ax = plots.network(
        matrix, np.zeros(12_000, int), pos=np.random.default_rng(0).random((12_000, 2))
    )
    assert words(ax) == ["0"]
