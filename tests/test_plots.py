import sys

import matplotlib as mpl
import numpy as np
import pytest

import epluribus as epl
from epluribus import plots

mpl.use("agg")


def test_histogram_shows_every_item_once():
    y = epl.datasets.load_galaxies()
    ax = plots.histogram(y, np.digitize(y, [15000, 30000]))
    assert sum(len(line.get_xdata()) for line in ax.lines) == 82
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "1: 7 items",
        "2: 72 items",
        "3: 3 items",
    ]


def test_n_clusters_shows_the_posterior_and_the_estimate():
    draws = epl.Draws([[0, 0, 1], [0, 0, 0], [0, 1, 2], [0, 1, 0]])
    best = epl.minimize(draws, rng=0)
    ax = plots.n_clusters(draws, best)
    assert [bar.get_height() for bar in ax.patches] == [0.25, 0.5, 0.25]
    assert ax.texts[0].get_text() == f"estimate: {best.n_clusters}"


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "epluribus\[plots\]"'):
        plots.histogram([1.0], [0])


def test_colors_of_thirty_clusters_differ():
    from epluribus.plots._figure import cluster_colors

    assert len({tuple(color) for color in cluster_colors(30)}) == 30
