"""What objects say about themselves: the same in plain text and in a notebook."""

from html import unescape

import numpy as np
import pytest

import epluribus as epl
from epluribus._cards import Alert, Card, Facts, Table
from epluribus.models import GaussianMixture
from epluribus.page import MethodsText
from parsed_page import Page

NAMES = ["<b>ann</b>", "bob & co", '"cy"', "d", "e", "f"]
DRAWS = epl.Draws(
    [[[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 1]]] * 2,
    items=NAMES,
)


def test_every_result_has_a_card():
    results = [getattr(epl.uncertainty, name) for name in epl.uncertainty.__all__]
    results += [epl.search.Comparison, MethodsText]
    for kind in filter(lambda one: isinstance(one, type), results):
        assert hasattr(kind, "_repr_html_"), kind


@pytest.fixture(scope="module")
def best():
    return epl.minimize(DRAWS, rng=1)


@pytest.fixture(scope="module")
def things(best):
    """One object of each kind."""
    trace = epl.sample(GaussianMixture([0.1, -0.2, 5.0, 5.3]), n_draws=20, rng=1)
    made = [
        DRAWS,
        best,
        epl.credible_ball(best, DRAWS),
        epl.uncertainty.items(best, DRAWS),
        epl.uncertainty.clusters(best, DRAWS),
        epl.uncertainty.error(best, DRAWS),
        epl.modes(DRAWS, rng=1),
        epl.certificate(best, DRAWS),
        trace,
        trace.diagnostics(warn=False),
        best.health(DRAWS),
        epl.uncertainty.n_clusters_posterior(DRAWS),
        epl.uncertainty.stability(DRAWS, rng=1),
        epl.search.minimize_all(DRAWS, ["vi", "binder"], rng=1),
    ]
    return {type(thing).__name__: thing for thing in made}


def test_a_notebook_shows_the_words_of_the_text_and_no_others_but_a_heading(things):
    assert len(things) == 14
    for thing in things.values():
        page = Page(thing._repr_html_())
        assert {tag for tag, _ in page.tags} <= {"div", "pre", "span"}
        assert all(tag == "div" or set(attributes) == {"style"} for tag, attributes in page.tags)
        shown, said = page.words.split(), str(thing).split()
        # The heading, if it is not the first line of the text, comes before all else.
        assert shown[-len(said) :] == said
        assert len(shown) <= len(said) + 8


def test_names_of_items_are_escaped(things):
    page = things["ItemTable"]._repr_html_()
    for name in NAMES[:3]:
        assert name not in page
        assert name in unescape(page)


def test_what_speaks_against_an_answer_is_marked_and_all_else_is_not(best):
    apart = np.stack([np.tile(np.arange(15) // 5, (100, 1)), np.tile(np.arange(15) % 3, (100, 1))])
    apart[:, ::7, 3] = 9
    mark = "border-left"
    found = epl.minimize(apart, rng=1)
    assert mark in found.health(apart)._repr_html_()
    assert mark in epl.modes(apart, rng=1)._repr_html_()
    assert mark not in best._repr_html_()
    assert mark not in DRAWS._repr_html_()


def test_a_card_leaves_out_what_is_empty_and_pads_names():
    card = Card(
        "title",
        Facts({"a": "1", "long": "", "b": "2"}, width=3),
        "",
        Alert("mind this"),
        Table({"x": ["<"], "y": [0.5]}, "and 3 more"),
        heading="head",
    )
    assert str(card).splitlines() == [
        "title", "  a     1", "  b     2", "  mind this", "  x    y", "  <  0.5", "  and 3 more"
    ]  # fmt: skip
    page = card.html()
    assert "title" not in page
    assert "head" in page
    assert "&lt;" in page
    assert "long" not in page


@pytest.mark.parametrize("kind", ["Modes", "CredibleBall", "NClusters"])
def test_a_table_in_a_card_is_a_frame_too(kind, things):
    frame = things[kind].to_pandas()
    for name in frame:
        assert name in str(things[kind])
    assert len(frame) == len(things[kind])
