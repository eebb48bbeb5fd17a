"""What the page says of clusters, moves, chains, data and ensembles."""

import re
from itertools import permutations

import numpy as np
import pytest

import epluribus as epl
from epluribus.report import build_report, facts
from epluribus.report.data_picture import data_picture
from epluribus.report.moves import find_moves
from epluribus.report.pictures import bars_of_k
from parsed_page import Page, noisy


@pytest.fixture(scope="module", autouse=True)
def _few_losses():
    """The slow losses have no part in what is tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts, "ALL_LOSSES", 0)
        yield


def fewest_moves(labels, other):
    """Over all ways to pair the clusters of two partitions, the fewest items that are not in partners."""
    k = max(labels.max(), other.max()) + 1
    return min(int((np.array(order)[other] != labels).sum()) for order in permutations(range(k)))


@pytest.mark.parametrize("seed", range(8))
def test_as_few_items_move_as_can_be(seed):
    rng = np.random.default_rng(seed)
    labels = epl.partition.canonical(rng.integers(4, size=14))
    other = epl.partition.canonical(
        np.where(rng.random(14) < 0.6, labels, rng.integers(5, size=14))
    )
    found = find_moves(labels, other, [f"i{i}" for i in range(14)], "mode 1")
    assert found.n_moved == fewest_moves(labels, other)
    assert found.n_moved == sum(group.size for group in found.groups)
    named = [int(name[1:]) for group in found.groups for name in group.names.split(", ")]
    assert len(set(named)) == found.n_moved
    for group in found.groups:
        assert {f"cluster {labels[int(name[1:])]}" for name in group.names.split(", ")} == {
            group.origin
        }


def test_equal_partitions_have_no_moves_and_a_missing_item_moves_nowhere():
    same = find_moves(np.array([0, 0, 1]), np.array([1, 1, 0]), "abc", "x")
    assert (same.n_moved, same.text, same.groups) == (0, "", ())
    partial = find_moves(np.array([0, 0, 1, 1]), np.array([0, -1, 1, 0]), "abcd", "x")
    assert [(group.names, group.target) for group in partial.groups] == [("d", "cluster 0")]


def test_many_groups_and_names_are_cut_with_a_word():
    labels = np.repeat(np.arange(20), 100)
    other = np.where(np.arange(2000) % 100 < 30, 20 + labels, labels)
    found = find_moves(labels, other, [str(i) for i in range(2000)], "x")
    assert (found.n_moved, len(found.groups), found.n_hidden) == (600, 12, 8)
    other = np.where(np.arange(2000) % 100 < 70, labels, 20)
    found = find_moves(labels, np.where(labels == 0, 0, other), [str(i) for i in range(2000)], "x")
    assert found.groups[0].names.count(",") == 29
    big = find_moves(np.zeros(200, int), np.arange(200) // 100, [str(i) for i in range(200)], "x")
    assert big.groups[0].names.endswith(" and 40 more")
    assert big.groups[0].target == "a new cluster of 100"


def test_members_and_exemplars_are_those_of_the_estimate():
    rng = np.random.default_rng(0)
    draws = epl.Draws(noisy(40, 30, 4, rng))
    best = epl.minimize(draws, rng=1)
    page = Page(build_report(best, draws, rng=1))
    assert page.data["all"]["cluster"] == best.labels.tolist()
    assert page.data["exemplars"] == epl.uncertainty.items(best, draws).exemplars.tolist()
    assert len(page.data["colors"]) == best.n_clusters
    assert "Members of each cluster" in page.words
    # The picture of the answer is the first section.
    sections = [a["id"] for tag, a in page.tags if tag == "section"]
    assert sections[:3] == ["similarity", "diagnostics", "clusters"]


def test_modes_and_bounds_say_which_items_move():
    one, other = np.repeat([0, 1], 10), np.tile([0, 1], 10)
    draws = epl.Draws([*[one] * 70, *[other] * 30], items=[f"i{i}" for i in range(20)])
    best = epl.minimize(draws, rng=1)
    assert best.labels.tolist() == one.tolist()
    words = Page(build_report(best, draws, rng=1)).words
    assert "Mode 0 (weight 0.70): the same partition as the estimate" in words
    assert "Mode 1 (weight 0.30): 10 items of 20 move" in words
    moved = find_moves(one, other, draws.items, "").groups
    assert all(group.names in words for group in moved)
    assert "Most distant" in words


def test_chains_that_disagree_get_steps_and_answers_of_their_own():
    rng = np.random.default_rng(1)
    one, other = np.repeat([0, 1], 10), np.tile([0, 1], 10)
    z = np.stack([np.tile(one, (60, 1)), np.tile(other, (60, 1))])
    z[:, :, 0] = rng.integers(0, 2, (2, 60))
    draws = epl.Draws(z)
    words = Page(build_report(epl.minimize(draws, rng=1), draws, rng=1)).words
    assert "What to do when chains disagree" in words
    assert "draws.burn(15)" in words
    assert "Chain 0 alone: 2 clusters:" in words
    assert "Chain 1 alone: 2 clusters:" in words
    fine = epl.Draws(noisy(20, 60, 3, rng))
    words = Page(build_report(epl.minimize(fine, rng=1), fine, rng=1)).words
    assert "What to do when chains disagree" not in words
    assert "alone: " not in words


# --- the data ---


def small_estimate(labels):
    return epl.minimize([labels, labels], rng=1)


def test_bars_of_one_column_hold_every_item():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    made = data_picture(small_estimate(labels), (labels + rng.normal(size=100))[:, None])
    sizes = [int(bar["title"].split(": ")[1].split()[0]) for bar in made["bars"]]
    assert sum(sizes) == 100
    # Heights are proportional to the numbers of items.
    per_item = {
        round(bar["height"] / size, 6) for bar, size in zip(made["bars"], sizes, strict=True)
    }
    assert len(per_item) == 1
    assert [cluster for cluster, _ in made["keys"]] == [0, 1, 2]


def test_points_of_two_columns_keep_their_order_and_more_become_components():
    rng = np.random.default_rng(0)
    labels, plane = np.arange(40) % 2, rng.normal(size=(40, 2))
    made = data_picture(small_estimate(labels), plane)
    x, y = (np.array([point[axis] for point in made["points"]]) for axis in "xy")
    assert np.corrcoef(x, plane[:, 0])[0, 1] == pytest.approx(1)
    assert np.corrcoef(y, plane[:, 1])[0, 1] == pytest.approx(-1)  # up is a smaller y
    third = data_picture(small_estimate(labels), np.column_stack([plane, plane.sum(axis=1)]))
    assert "The first two principal components of the 3 columns" in third["what"]
    assert "(100 % of the variance)" in third["what"]
    many = data_picture(small_estimate(np.arange(3000) % 2), rng.normal(size=(3000, 2)))
    assert len(many["points"]) == 2000
    assert "2,000 of the 3,000 items are shown" in many["what"]


@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (1, 5), (4, 1), (4, 3)])
def test_constant_data_have_a_picture(shape):
    labels = np.zeros(shape[0], int)
    made = data_picture(small_estimate(labels), np.ones(shape))
    assert made["points"] or made["bars"]


def test_the_data_come_first_and_are_checked():
    draws = epl.Draws(noisy(20, 20, 2, np.random.default_rng(0)))
    best = epl.minimize(draws, rng=1)
    page = Page(build_report(best, draws, brief=True, data=np.arange(20.0)))
    sections = [a["id"] for tag, a in page.tags if tag == "section"]
    assert sections[0] == "data-picture"
    with pytest.raises(
        ValueError, match=r"'data' must have one row for each item.*\(20, n_columns\)"
    ):
        build_report(best, draws, brief=True, data=np.arange(19.0))
    with pytest.raises(ValueError, match="'data' must hold finite numbers"):
        build_report(best, draws, brief=True, data=np.full(20, np.nan))


def test_data_of_undecided_items_are_left_out():
    rng = np.random.default_rng(0)
    draws = epl.Draws(noisy(20, 40, 3, rng))
    best = epl.minimize(draws, undecided=0.05, rng=1)
    assert 0 < len(best.undecided) < 20
    text = build_report(best, draws, brief=True, data=rng.normal(size=(20, 2)))
    shown = re.search('<svg class="data".*?</svg>', text, re.DOTALL)[0]
    assert shown.count("<circle") == 20 - len(best.undecided)


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
    best = (
        epl.minimize(draws, rng=1)
        if undecided is None
        else epl.minimize(draws, undecided=0.05, rng=1)
    )
    words = own_words(build_report(best, draws, rng=1, call="(the call)"))
    for word in (
        "draw",
        "chain",
        "probabilit",
        "posterior",
        "credible",
        "expected",
        "sampler",
        "R-hat",
    ):
        assert not re.search(rf"\b{word}", words, re.IGNORECASE), re.findall(
            rf".{{40}}{word}.{{20}}", words
        )
    assert "clustering" in words


def test_an_ensemble_with_groups_speaks_of_clusterings():
    z = np.repeat([np.repeat([0, 1], 10), np.tile([0, 1], 10)], 20, axis=0)
    draws = epl.Draws(z, kind="ensemble")
    words = own_words(build_report(epl.minimize(draws, rng=1), draws, rng=1, call=""))
    assert "but 2 competing partitions" in words
    assert "draws" not in words.replace("best.write_labels('labels.csv', draws)", "")


# --- bars ---


def test_bars_fill_the_width_and_name_few_on_a_phone():
    rng = np.random.default_rng(0)
    found = epl.uncertainty.n_clusters_posterior(
        [np.arange(30) % k for k in rng.integers(2, 8, 50)]
    )
    few = bars_of_k(found, 3)
    assert few["few"]
    assert all(bar["main"] for bar in few["bars"])
    assert few["bars"][-1]["x"] + few["wide"] > 0.9 * 700
    found = epl.uncertainty.n_clusters_posterior([np.arange(60) % k for k in range(2, 40)])
    many = bars_of_k(found, 3)
    assert not many["few"]
    assert sum(bar["main"] for bar in many["bars"]) <= 8
    assert many["bars"][-1]["x"] + many["wide"] <= 700
