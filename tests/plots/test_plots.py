import matplotlib as mpl
import numpy as np
import pytest

import epluribus as epl
from epluribus import plots

mpl.use("agg")


def test_histogram_shows_every_item_once():
    y = epl.datasets.load_galaxies()
    ax = plots.histogram(np.array(["slow", "most", "fast"])[np.digitize(y, [15000, 30000])], y)
    assert sum(len(line.get_xdata()) for line in ax.lines) == 82
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["fast: 3 items", "most: 72 items", "slow: 7 items"]


def test_histogram_gives_a_cluster_the_color_it_has_elsewhere():
    labels = [0, 0, 1, 2]
    bars = plots.histogram(labels, [5.0, 6, 1, 9])
    points = plots.scatter(labels, [[5.0, 0], [6, 0], [1, 0], [9, 0]])
    color_of = {line.get_xdata()[0]: line.get_color() for line in bars.lines}
    for collection in points.collections:
        x = collection.get_offsets()[0, 0]
        assert mpl.colors.same_color(collection.get_facecolor()[0, :3], color_of[x])
    texts = [text.get_text() for text in bars.get_legend().get_texts()]
    assert texts == ["0: 2 items", "1: 1 item", "2: 1 item"]


def test_bars_are_as_many_as_the_items_allow():
    def bars(y, labels, **options):
        return plots.histogram(labels, y, **options).patches

    rng = np.random.default_rng(0)
    one = np.zeros(150, int)
    y = rng.normal(size=150)
    assert len(bars(y, one)) == 15
    assert len(bars(np.r_[y, 1e9], np.zeros(151, int))) == 60
    assert len(bars(np.ones(5), one[:5])) == 15
    apart = np.r_[y, y + 20]  # two clusters: bars as wide as for one of them
    assert bars(apart, np.repeat([0, 1], 150))[0].get_width() < 0.6
    assert len(bars(y, one, bins=4)) == 4
    assert len(bars(y, one, bins=[-4, 0, 4])) == 2


def test_n_clusters_shows_the_posterior_and_the_estimate():
    draws = epl.Draws([[0, 0, 1], [0, 0, 0], [0, 1, 2], [0, 1, 0]])
    best = epl.minimize(draws, rng=0)
    ax = plots.n_clusters(best, draws)
    assert [bar.get_height() for bar in ax.patches] == [0.25, 0.5, 0.25]
    assert ax.texts[0].get_text() == f"estimate: {best.n_clusters}"
    assert plots.n_clusters(["a", "b", "b"], draws).texts[0].get_text() == "estimate: 2"


def colors_of(k):
    """Red, green and blue of k clusters."""
    points = plots.scatter(np.arange(k), np.arange(2 * k).reshape(k, 2)).collections
    return np.array([cluster.get_facecolor()[0, :3] for cluster in points])


def to_lab(colors):
    """CIELAB (D65) of linear red, green and blue."""
    xyz = colors @ np.array([
        [0.4124564, 0.2126729, 0.0193339],
        [0.3575761, 0.7151522, 0.1191920],
        [0.1804375, 0.0721750, 0.9503041],
    ])  # fmt: skip
    t = xyz / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116).T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(("k", "plain", "deuteranopia"), [(7, 25, 10), (20, 25, 15)])
def test_colors_of_up_to_twenty_clusters_can_be_told_apart(k, plain, deuteranopia):
    from scipy.spatial.distance import pdist

    rgb = colors_of(k)
    assert len(np.unique(colors_of(45), axis=0)) == 45
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    # Machado, Oliveira & Fernandes (2009), severity 1.
    seen = linear @ np.array([
        [0.367322, 0.280085, -0.011820],
        [0.860646, 0.672501, 0.042940],
        [-0.227968, 0.047413, 0.968881],
    ])  # fmt: skip
    assert pdist(to_lab(linear)).min() > plain
    assert pdist(to_lab(np.clip(seen, 0, 1))).min() > deuteranopia


def test_blocks_sorts_rows_and_columns_by_cluster():
    matrix = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1]])
    ax = plots.blocks([2, 1, 2, 1], matrix, columns=[1, 2, 1], column_names=["a", "b", "c"])
    shown = ax.images[0].get_array()
    assert shown.tolist() == [[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 1]]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "c", "b"]
    assert [text.get_text() for text in ax.texts] == ["1", "2"]
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 3), (4, 0))
    square = plots.blocks(["x", "y"], np.eye(2))
    assert [text.get_text() for text in square.texts] == ["x", "y"]


def test_names_of_clusters_stay_within_the_bounds():
    """As near to their clusters as they can be, in order and with a gap."""
    from epluribus.plots._shared import place_along, spread

    assert spread([1.0, 5.0, 9.0], 2.0, -9, 99).tolist() == [1, 5, 9]
    assert spread([1.0, 1.0, 9.0], 2.0, -9, 99).tolist() == [0, 2, 9]
    assert spread([1.0, 1.0, 9.0], 2.0, 0.5, 10.0).tolist() == [0.5, 2.5, 9]
    assert spread([1.0, 9.8, 9.9], 2.0, 0.0, 10.0).tolist() == [1, 8, 10]
    assert spread([3.0, 3.0, 3.0], 8.0, 0.0, 10.0).tolist() == [0, 5, 10]  # no room: nearer
    places, font_size = place_along(np.full(40, 3.0), 10.0, 230.0)
    assert font_size == 5.0  # 230 points for 40 names, each 1.15 times as high as its font
    assert np.allclose(places, 0.125 + 0.25 * np.arange(40))
