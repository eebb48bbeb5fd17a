"""Each picture shows what it says: counted artists, labels and data."""

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.collections import PathCollection
from matplotlib.patches import StepPatch

import epluribus as epl
from epluribus import plots

mpl.use("agg")

TRUTH = np.repeat([0, 1, 2], [6, 4, 2])


@pytest.fixture(scope="module")
def draws():
    rng = np.random.default_rng(0)
    noise = rng.random((2, 60, 12)) < 0.1
    return epl.Draws(np.where(noise, rng.integers(3, size=noise.shape), TRUTH))


@pytest.fixture(scope="module")
def best(draws):
    return epl.minimize(draws, "vi", rng=0)


def words(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# --- similarity ---


def test_similarity_is_the_matrix_in_order_of_the_clusters(draws):
    ax = plots.similarity(["c"] * 6 + ["a"] * 4 + ["b"] * 2, draws)
    shown = np.asarray(ax.images[0].get_array())
    matrix = epl.psm(draws)
    off = ~np.eye(12, dtype=bool)
    assert np.allclose(np.sort(shown[off]), np.sort(matrix[off]))
    assert sorted(words(ax)) == ["a", "b", "c"]
    sizes = {"c": 6, "a": 4, "b": 2}
    edges = np.cumsum([0, *(sizes[name] for name in words(ax))])
    items = {"c": slice(0, 6), "a": slice(6, 10), "b": slice(10, 12)}
    for name, low, high in zip(words(ax), edges[:-1], edges[1:], strict=True):
        own = matrix[items[name], items[name]]
        part = shown[low:high, low:high]
        assert np.isclose(part.sum() - np.trace(part), own.sum() - np.trace(own))
    assert [len(cuts.get_segments()) for cuts in ax.collections] == [2, 2]  # across and down
    assert ax.get_xlabel() == "12 items"


def test_similarity_of_many_items_shows_some_of_every_cluster():
    labels = np.r_[np.zeros(2990, int), np.arange(1, 11)]
    ax = plots.similarity(labels, [labels, labels])
    n = ax.images[0].get_array().shape[0]
    assert 2000 <= n <= 2011
    assert len(words(ax)) == 11
    assert ax.get_xlabel() == f"{n:,} of 3,000 items"


# --- certainty ---


def test_certainty_shows_support_and_runner_up_of_every_item(draws, best):
    ax = plots.certainty(best, draws)
    table = epl.uncertainty.items(best, draws)
    groups = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    heights = [group.get_data().values for group in groups]
    assert [len(group) for group in heights] == [best.sizes[int(name)] for name in words(ax)]
    assert np.allclose(np.sort(np.concatenate(heights)), np.sort(table.support))
    assert all((np.diff(group) <= 0).all() for group in heights)
    (dots,) = [line for line in ax.lines if line.get_marker() == "."]
    assert np.allclose(np.sort(dots.get_ydata()), np.sort(table.runner_up_support))


def test_long_names_below_stand_upright():
    labels = np.repeat([f"a long name {g}" for g in range(10)], 3)
    texts = plots.certainty(labels, [np.repeat(np.arange(10), 3)]).texts
    assert {text.get_rotation() for text in texts} == {90}
    texts = plots.certainty([0, 0, 1], [[0, 0, 1]]).texts
    assert {text.get_rotation() for text in texts} == {0}


# --- loss_trace ---


def test_loss_trace_shows_every_draw_of_every_chain(draws, best):
    ax = plots.loss_trace(best, draws)
    values = epl.expected_loss(best.labels, draws, "vi", per_draw=True)
    assert np.allclose(ax.lines[0].get_ydata(), values[:60])
    assert np.allclose(ax.lines[2].get_ydata(), values[60:])
    assert words(ax) == [f"mean {values.mean():.3g}"]
    assert ax.get_xlabel() == "draw of the chain"
    assert ax.get_ylabel() == "loss to the estimate (vi, bits)"
    assert legend(ax) == ["chain 0", "chain 1"]
    one = plots.loss_trace(best, draws.chain(0), loss="binder")
    assert (one.get_xlabel(), one.get_legend()) == ("draw", None)


def test_the_running_mean_is_over_a_twentieth_of_the_chain(draws, best):
    losses, means = (line.get_ydata() for line in plots.loss_trace(best, draws).lines[:2])
    # Three of 60 draws: the draw itself and its neighbors, of which the ends have one.
    ref = [losses[max(t - 1, 0) : t + 2].mean() for t in range(60)]
    assert np.allclose(means, ref)
    few = plots.loss_trace([0, 0, 1], [[0, 0, 1], [0, 1, 2]])
    assert few.lines[1].get_ydata().tolist() == few.lines[0].get_ydata().tolist()


# --- scatter, pairs ---


def test_scatter_shows_every_item_in_its_cluster():
    x = np.random.default_rng(0).normal(size=(12, 2))
    ax = plots.scatter(TRUTH, x)
    groups = [np.asarray(c.get_offsets()) for c in ax.collections]
    assert [len(group) for group in groups] == [6, 4, 2]
    assert np.allclose(np.concatenate(groups), x)
    assert legend(ax) == ["0", "1", "2"]


def test_scatter_of_many_columns_shows_principal_components():
    x = np.random.default_rng(0).normal(size=(12, 4)) * [1, 5, 1, 100]
    ax = plots.scatter(TRUTH, x)
    places = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])
    standard = (x - x.mean(axis=0)) / x.std(axis=0)
    values = np.linalg.eigvalsh(np.cov(standard.T, bias=True))
    assert np.allclose(places.var(axis=0), values[::-1][:2])
    assert ax.get_xlabel() == "1st principal component"


def test_pairs_shows_every_two_columns():
    x = np.random.default_rng(0).normal(size=(12, 3))
    axes = plots.pairs(TRUTH, pd.DataFrame(x, columns=["p", "q", "r"]))
    shown = np.concatenate([np.asarray(c.get_offsets()) for c in axes[2, 1].collections])
    assert np.allclose(shown, x[:, [1, 2]])
    assert [ax.get_xlabel() for ax in axes[2]] == ["p", "q", "r"]
    assert [ax.get_ylabel() for ax in axes[1:, 0]] == ["q", "r"]
    assert not axes[0, 1].axison
    assert len(axes[0, 2].get_legend().get_texts()) == 3
    assert sum(bar.get_height() > 0 for bar in axes[0, 0].patches) >= 3


# --- partition_map ---


def test_places_in_the_plane_keep_the_losses_where_they_can():
    z = np.array([[0, 0, 1, 1, 2], [0, 0, 0, 1, 1], [0, 1, 1, 1, 1]])  # three points are a plane
    ax = plots.partition_map(z[0], z)
    places = np.asarray(ax.collections[0].get_offsets())
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    assert np.allclose(apart, [[epl.loss(a, b) for b in z] for a in z])
    shares = [int(re.search(r"\d+(?=%)", text)[0]) for text in (ax.get_xlabel(), ax.get_ylabel())]
    assert sum(shares) == 100


def test_partition_map_marks_the_estimate_and_the_modes(draws, best):
    found = epl.modes([TRUTH] * 40 + [TRUTH % 2] * 30)
    ax = plots.partition_map(best, draws, found)
    points = [len(c.get_offsets()) for c in ax.collections if isinstance(c, PathCollection)]
    assert points == [draws.n_distinct, 1, 1, 1]
    assert words(ax)[:2] == ["0", "1"]
    assert legend(ax) == ["mode 0", "mode 1", "estimate"]
    assert ax.get_xlabel().endswith("% of the spread (vi)")
    # Without modes the colors are numbers of clusters.
    shown = plots.partition_map(best, draws).collections[0].get_array()
    assert sorted(shown) == sorted(draws.distinct.max(axis=1) + 1)


def test_plausibility_marks_every_partition_at_its_score(draws):
    found = epl.uncertainty.plausibility({"expert": TRUTH, "apart": np.arange(12)}, draws)
    ax = plots.plausibility(found)
    assert [line.get_xdata()[0] for line in ax.lines] == found.scores.tolist()
    assert [text.split(",")[0] for text in words(ax)] == ["expert", "apart"]
    assert sum(bar.get_height() for bar in ax.patches) == len(found.draw_scores)
    with pytest.raises(ValueError, match="must have scores of draws"):
        plots.plausibility(epl.uncertainty.plausibility(TRUTH, [TRUTH] * 9))


def test_dots_have_the_area_of_their_share():
    """One partition in 83 of 100 draws: its dot is 83 times that of a draw, but for the smallest size."""
    one = np.repeat([0, 1, 2], 5)
    rows = [one] * 83 + [np.where(np.arange(15) == i % 15, 3 + i // 15, one) for i in range(17)]
    rows[-7:] = [np.where(np.arange(15) < 2, 4, one)] * 7
    ax = plots.partition_map(one, rows)
    (points,) = [c for c in ax.collections if isinstance(c, PathCollection)][:1]
    sizes = sorted(points.get_sizes(), reverse=True)
    assert sizes[0] / sizes[1] == pytest.approx(83 / 7)
    assert min(sizes) >= 14
    assert sorted(words(ax)) == ["7%", "83%"]
    # The largest is drawn first and hides no other.
    assert points.get_sizes()[0] == sizes[0]


# --- ball_bounds ---


@pytest.mark.parametrize("columns", [0, 1, 2, 4])
def test_ball_bounds_are_named_with_their_distance(draws, best, columns):
    ball = epl.credible_ball(best, draws)
    x = np.random.default_rng(0).normal(size=(12, columns)) if columns else None
    axes = plots.ball_bounds(ball, x)
    titles = [ax.get_title() for ax in axes]
    assert [title.split("\n")[0] for title in titles] == [
        "estimate", "upper bound", "lower bound", "horizontal bound",
    ]  # fmt: skip
    assert titles[2].endswith(f"{ball.lower[0].max() + 1} clusters, vi {ball.distances[2]:.3g}")
    if columns == 0:
        together = np.asarray(axes[0].images[0].get_array())
        assert together.sum() == (best.sizes**2).sum()
    elif columns == 1:
        assert sum(bar.get_height() > 0 for bar in axes[0].patches) > 0
    else:
        assert sum(len(c.get_offsets()) for c in axes[3].collections) == 12
    if columns:
        names = legend(axes[3])
        assert names == [str(g) for g in range(len(names))]
        assert len(names) >= 3


def test_clusters_of_a_bound_have_the_color_of_the_cluster_they_share_most_items_with():
    center = [0, 0, 0, 1, 1, 2]
    other = [0, 1, 1, 2, 2, 2]
    x = np.arange(12.0).reshape(6, 2)
    estimate, *bounds = plots.ball_bounds(epl.credible_ball(center, [center, other], level=1), x)

    def colors(ax):
        found = {}
        for points in ax.collections:
            color = mpl.colors.to_hex(points.get_facecolor()[0])
            found |= {int(place[0]) // 2: color for place in np.asarray(points.get_offsets())}
        return [found[i] for i in range(6)]

    one, two, three = dict.fromkeys(colors(estimate))
    for bound in bounds:  # each of them is the other partition
        new, *rest = colors(bound)
        assert rest == [one, one, two, two, two]
        assert new == "#4c4c4c"  # gray: the estimate has no such cluster
        assert new not in (one, two, three)


# --- alluvial ---


def test_alluvial_has_a_band_for_every_two_clusters_that_share_items():
    other = np.repeat([0, 1], [8, 4])
    ax = plots.alluvial(TRUTH, other, titles=("left", "right"))
    assert len(ax.collections) == 4  # shared: 6, 2, 2, 2
    assert len(ax.patches) == 5
    assert words(ax) == ["0 (6)", "1 (4)", "2 (2)", "0 (8)", "1 (4)", "left", "right"]
    heights = [bar.get_height() for bar in ax.patches]
    assert np.isclose(sum(heights[:3]), sum(heights[3:]))


# --- all ---


def test_axes_have_the_names_of_columns():
    def named(ax):
        return ax.get_xlabel(), ax.get_ylabel()

    frame = pd.DataFrame({"height": [1.0, 2, 3, 4], 7: [4.0, 3, 2, 1]})
    labels = [0, 0, 1, 1]
    ball = epl.credible_ball(labels, [labels, [0, 0, 0, 1]])
    assert named(plots.scatter(labels, frame)) == ("height", "7")
    assert named(plots.scatter(labels, frame.to_numpy())) == ("", "")
    for values in (frame["height"], frame[["height"]]):
        assert named(plots.histogram(labels, values)) == ("height", "items")
    assert [named(ax)[0] for ax in plots.ball_bounds(ball, frame["height"])] == ["height"] * 4
    shown = [named(ax) for ax in plots.ball_bounds(ball, frame)]
    assert shown == [("height", "7"), *[("height", "")] * 3]
    assert plots.pairs(labels, xr.DataArray(frame.to_numpy(), name="X"))[1, 0].get_xlabel() == "x0"


def test_one_cluster_and_one_item():
    for labels in ([0], [0, 0, 0]):
        draws = epl.Draws([labels, labels])
        n = len(labels)
        assert words(plots.similarity(labels, draws)) == ["0"]
        ax = plots.certainty(labels, draws)  # there is no second choice
        assert (words(ax), ax.get_title(loc="right")) == (["0"], "")
        assert [line.get_marker() for line in ax.lines] == ["None"]  # the strip of colors
        assert len(plots.loss_trace(labels, draws).lines[0].get_ydata()) == 2
        assert legend(plots.scatter(labels, np.ones((n, 2)))) == ["0"]
        assert words(plots.alluvial(labels, labels))[:2] == [f"0 ({n})", f"0 ({n})"]
        ball = epl.credible_ball(labels, draws)
        assert plots.ball_bounds(ball)[1].get_title() == "upper bound\n1 cluster, vi 0"


@pytest.mark.parametrize("plot", ["certainty", "loss_trace", "partition_map", "similarity"])
def test_the_estimate_comes_first(draws, best, plot):
    for pair in ((draws, best), (draws, draws), (best, best)):
        with pytest.raises(TypeError, match="The estimate comes before the draws"):
            getattr(plots, plot)(*pair)
    for data in (plots.histogram, plots.scatter, plots.pairs, plots.network, plots.blocks):
        with pytest.raises(TypeError, match="The estimate comes"):
            data(np.eye(12) if plot == "certainty" else best, best)


def test_items_are_matched_by_name(draws):
    """Rows of a frame, labels of a series or a mapping, and draws that come in another order."""
    names = [f"i{k}" for k in range(12)]
    named = epl.Draws(np.asarray(draws), items=names)
    best = epl.minimize(named, rng=0)
    order = np.random.default_rng(0).permutation(12)
    frame = pd.DataFrame(np.arange(24.0).reshape(12, 2), index=names)
    shown, ref = (plots.scatter(best, one) for one in (frame.iloc[order], frame))
    for one, other in zip(shown.collections, ref.collections, strict=True):
        assert (one.get_offsets() == other.get_offsets()).all()
    series = pd.Series(np.array(["c", "a", "b"])[TRUTH], index=names)
    mixed = series.iloc[order]
    axes = [plots.certainty(labels, named) for labels in (series, mixed, mixed.to_dict())]
    bars = [[patch.get_data().values.tolist() for patch in ax.patches] for ax in axes]
    assert bars[0] == bars[1]
    assert sorted(bars[0]) == sorted(bars[2])  # clusters of a mapping are numbered
    assert [words(ax) for ax in axes] == [["a", "b", "c"]] * 2 + [["0", "1", "2"]]


def all_texts(figure):
    from matplotlib.text import Text

    return " ".join(text.get_text() for text in figure.findobj(Text))


@pytest.mark.parametrize("kind", [*plots.KINDS, "modes", "plausibility"])
def test_an_ensemble_has_no_probabilities(draws, kind):
    clusterings = epl.Draws(np.asarray(draws), kind="ensemble")
    best = epl.minimize(clusterings, rng=0)
    if kind in plots.KINDS:
        draw, needs = plots.KINDS[kind]
        data = np.arange(12.0) if kind == "histogram" else np.random.default_rng(0).random((12, 2))
        ax = draw(best, {"draws": clusterings, "data": data, "network": np.eye(12)}[needs])
    elif kind == "modes":
        ax = plots.partition_map(best, clusterings, epl.modes(clusterings, rng=0))
    else:
        ax = plots.plausibility(epl.uncertainty.plausibility(best, clusterings))
    said = all_texts(np.ravel(ax)[0].figure)
    assert not re.search("probab|posterior|expected|credib|draw", said, re.IGNORECASE), said
