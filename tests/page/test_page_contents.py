"""What the page says of clusters, modes, chains, data and ensembles."""

import base64
import re

import numpy as np
import pandas as pd
import pytest

import epluribus as epl
from epluribus.page import facts, render, report
from parsed_page import Page, noisy


@pytest.fixture(scope="module", autouse=True)
def _few_losses():
    """The slow losses have no part in what is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "_ALL_LOSSES", 0)
        yield


def test_members_and_exemplars_are_those_of_the_estimate():
    rng = np.random.default_rng(0)
    draws = epl.Draws(noisy(40, 30, 4, rng))
    best = epl.minimize(draws, rng=1)
    page = Page(render(best, draws, rng=1))
    assert page.data["all"]["cluster"] == best.labels.tolist()
    assert page.data["exemplars"] == epl.uncertainty.items(best, draws).exemplars.tolist()
    assert len(page.data["colors"]) == best.n_clusters
    assert "Members of each cluster" in page.words
    # The picture of the answer is the first section.
    sections = [a["id"] for tag, a in page.tags if tag == "section"]
    assert sections[:3] == ["similarity", "diagnostics", "clusters"]


def test_results_speak_in_the_words_of_the_verdicts():
    """Modes, ball, certificate and other losses are shown as `print` shows them; chains give advice."""
    rng = np.random.default_rng(1)
    one, other = np.repeat([0, 1], 10), np.tile([0, 1], 10)
    z = np.stack([np.tile(one, (60, 1)), np.tile(other, (60, 1))])
    z[:, :, 0] = rng.integers(0, 2, (2, 60))
    draws = epl.Draws(z, items=[f"i{i}" for i in range(20)])
    best = epl.minimize(draws, rng=1)
    words = Page(render(best, draws, rng=1)).words
    ball, modes = epl.credible_ball(best, draws), epl.modes(draws, rng=1)
    assert ball.changes
    for line in [*str(ball).splitlines()[1:], *str(modes).splitlines()]:
        said = " ".join(line.split())
        assert f" {said[0].upper()}{said[1:]}" in words or f" {said}" in words
    assert epl.certificate(best, draws).verdict in words
    # The first lines speak of chains and modes, too.
    first = words.partition("Which items are together")[0]
    assert "DO NOT REPORT THIS ANSWER: THE CHAINS DISAGREE" in first
    assert "2 competing partitions" in first
    assert epl.uncertainty.error(best, draws).agreement.advice in words


# --- the data ---


def figures(page):
    """The figures of a page as SVG, by their words."""
    images = [a for tag, a in Page(page).tags if tag == "img"]
    return {a["alt"]: base64.b64decode(a["src"].partition(",")[2]).decode() for a in images}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (1, "Histogram"),
        (2, "The two columns"),
        (5, "The first two principal components of the 5 columns"),
    ],
)
@pytest.mark.parametrize("n", [1, 4, 3000])
def test_data_of_any_size_have_a_picture(columns, words, n):
    data = np.random.default_rng(0).normal(size=(n, columns)) if n > 1 else np.ones((n, columns))
    draws = np.array([np.arange(n) % 2] * 3)
    page = render(epl.minimize(draws, rng=1), draws, brief=True, data=data)
    [shown] = [svg for alt, svg in figures(page).items() if alt.startswith(words)]
    assert len(page) < 800_000
    assert ("<image" in shown) == (n > 2000)  # many points are pixels


def test_a_graph_is_drawn_as_a_network():
    nx = pytest.importorskip("networkx", reason="networkx is not installed")
    graph = nx.Graph([("c", "b"), ("b", "a")])
    draws = epl.Draws([[0, 0, 1]] * 3, items=["a", "b", "c"])
    best = epl.minimize(draws, rng=1)
    assert "The network; the colors are the clusters." in figures(
        render(best, draws, brief=True, network=graph)
    )
    with pytest.raises(ValueError, match=r"'network' must .* \(3, 3\); got shape \(2, 2\)"):
        render(best, draws, brief=True, network=nx.to_scipy_sparse_array(nx.path_graph(2)))


def test_the_means_of_the_data_are_in_a_table():
    frame = pd.DataFrame({"height": [1.0, 2, 3, 10], "age": [5.0, 5, 5, 1]}, index=list("abcd"))
    draws = epl.Draws([[0, 0, 0, 1]] * 3, items=list("dcba"))
    best = epl.minimize(draws, rng=1)
    page = Page(render(best, draws, brief=True, data=frame))
    assert "Means of the data by cluster cluster items height age" in page.words
    assert "0 3 5 3.667 1 1 1 5 all 4 4 4" in page.words


def test_items_without_support_are_named_first():
    """Random draws have no groups, and the best partition into one cluster says nothing about them."""
    rows = np.random.default_rng(0).integers(3, size=(100, 20))
    words = Page(render(epl.minimize(rows, k=1, rng=1), rows, rng=1)).words
    first = words.partition("Which items are together")[0]
    assert "items 20 of 20 doubtful" in first
    assert "Cluster 0 (20 items) is not one group" in first


def test_other_partitions_have_p_values_and_say_what_differs():
    draws = epl.Draws(noisy(20, 200, 2, np.random.default_rng(0)))
    best = epl.minimize(draws, rng=1)
    given = {"expert": best.labels, "apart": np.arange(20)}
    page = Page(render(best, draws, partitions=given, rng=1))
    for sentence in epl.uncertainty.plausibility(given, draws).sentences:
        assert sentence in page.words
    assert "In apart, " in page.words
    assert "Other partitions" not in Page(render(best, draws, brief=True)).words


def test_the_data_come_first_and_are_checked():
    draws = epl.Draws(noisy(20, 20, 2, np.random.default_rng(0)))
    best = epl.minimize(draws, rng=1)
    page = Page(render(best, draws, brief=True, data=np.arange(20.0)))
    sections = [a["id"] for tag, a in page.tags if tag == "section"]
    assert sections[0] == "data-picture"
    with pytest.raises(ValueError, match="'data' must have one row for each of the 20 items"):
        render(best, draws, brief=True, data=np.arange(19.0))
    with pytest.raises(ValueError, match="'data' must hold finite numbers"):
        render(best, draws, brief=True, data=np.full(20, np.nan))


def test_data_of_undecided_items_are_left_out():
    rng = np.random.default_rng(0)
    draws = epl.Draws(noisy(20, 40, 3, rng))
    best = epl.minimize(draws, undecided=0.05, rng=1)
    assert 0 < len(best.undecided) < 20
    text = render(best, draws, brief=True, data=rng.normal(size=(20, 2)))
    shown = figures(text)["The two columns of the data; the colors are the clusters."]
    assert shown.count("<use ") > 20 - len(best.undecided)  # and the ticks
    groups = re.findall('<g id="PathCollection_.*?</g>', shown, re.DOTALL)
    in_legend = best.n_clusters
    assert sum(group.count("<use ") for group in groups) == 20 - len(best.undecided) + in_legend


# --- ensembles ---


def own_words(page):
    """The words of a page but for the title of the package in the list of references."""
    return Page(page).words.replace("one optimal partition out of many posterior draws", "")


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("undecided", [None, 0.05])
def test_an_ensemble_has_no_draws_chains_or_probabilities(equal, undecided):
    rng = np.random.default_rng(2)
    z = noisy(20, 30, 3, rng, n_chains=1)[0]
    draws = epl.Draws(z[:1].repeat(5, 0) if equal else z, kind="ensemble")
    best = epl.minimize(draws, undecided=undecided, rng=1)
    words = own_words(render(best, draws, rng=1, call="(the call)"))
    taboo = r"\b(draw|chain|probabilit|posterior|credible|expected|sampler|R-hat)"
    assert not re.search(taboo, words, re.IGNORECASE), words
    assert "clustering" in words


# --- bars ---


def test_the_page_says_which_labels_are_missing(tmp_path):
    rng = np.random.default_rng(1)
    truth = np.arange(20) % 2
    z = np.where(rng.random((30, 20)) < 0.1, 1 - truth, truth)
    draws = epl.Draws(np.ma.masked_array(z, rng.random(z.shape) < 0.5))
    path = tmp_path / "page.html"
    report(epl.minimize(draws, rng=1), draws, path, rng=1)
    low, high = draws.n_seen.min(), draws.n_seen.max()
    assert f"for the items that it has seen, {low} to {high} of 20 items" in path.read_text()
