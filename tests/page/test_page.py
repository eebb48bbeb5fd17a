"""The page without a browser: it parses, asks for nothing, states the facts."""

import base64
import hashlib
import re

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.page import facts as facts_module
from epluribus.page import render, report
from parsed_page import Page, noisy

NAMES = [
    '<script>alert("x")</script>', "a & b", "O'Neil", "</script>", "</script ><b>", "<!-- <script ", "$title",
    "`code`", "{{ 7 * 7 }}", "{% endfor %}",
]  # fmt: skip


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    items = [*NAMES, *(f"item {i}" for i in range(30 - len(NAMES)))]
    draws = epl.Draws(noisy(30, 60, 3, rng), items=items)
    best = epl.minimize(draws, rng=1)
    return draws, best, render(best, draws, rng=1, call="epluribus report <x> & y")


def test_parses_and_asks_for_nothing(small):
    page = Page(small[2])
    for tag, link in page.links:
        if tag == "a":
            assert link.startswith(("#", "https://doi.org/"))
            assert not link.startswith("#") or link[1:] in page.ids
        else:
            assert link == "data:," or link.startswith("data:image/svg+xml;base64,")
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(", small[2])
    assert len(page.ids) == len(set(page.ids))
    assert {tag for tag, attributes in page.tags if "src" in attributes} == {"img"}


def test_states_the_facts(small):
    draws, best, text = small
    words = Page(text).words
    assert f"has {best.n_clusters} clusters" in words
    assert f"{best.expected_loss:.4g}" in words
    ball = epl.credible_ball(best, draws)
    assert f"{ball.radius:.4g}" in words
    assert f"R-hat of the loss {epl.uncertainty.error(best, draws).rhat:.4g}" in words
    for name in epl.losses.available():
        assert name in words
    assert epl.certificate(best, draws).verdict.removeprefix("within ") in words
    assert "Rastelli, R., Friel, N. (2018)" in words
    assert f"with epluribus {epl.__version__}" in words
    assert "epluribus report <x> & y" in words
    for heading in ("Clusters", "Certainty of items", "Modes", "Credible ball", "Certificate"):
        assert heading in words


def test_names_of_items_are_escaped(small):
    """Browsers look for tags and comments in a script too: none may begin in the JSON."""
    draws, best, text = small
    page = Page(text)
    assert set(NAMES) <= set(page.data["items"]["name"])
    assert page.data["all"]["name"][: len(NAMES)] == NAMES
    assert "<script>alert" not in text
    assert "<b>" not in text
    assert sum(tag == "script" for tag, _ in page.tags) == 2
    data, _, rest = text.partition('id="data">')[2].partition("</script>")
    assert not re.search("[<>&]", data)
    assert rest.lstrip().startswith("<script>")
    assert set(NAMES) <= set(Page(render(best, draws, brief=True)).text)  # in the table itself


def test_the_policy_allows_its_own_script_and_nothing_from_outside(small):
    """Whatever a name holds: another script has another hash, and nothing can be fetched."""
    [policy] = [
        attributes["content"]
        for tag, attributes in Page(small[2]).tags
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
    [script] = re.findall(r"<script>(.*?)</script>", small[2], re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert not re.search(r"https?:|\*", policy)


def test_title_call_and_loss_are_escaped():
    """With a loss of the user's own, and with weights, one of them 0."""

    def f0(joint, size, group, n_items):
        return (size + group - 2 * joint) / n_items

    def square(n):
        return float(n * n)

    own = epl.Loss(f0, square, square, square, name="<i>own</i>", linear=True)
    draws = epl.Draws([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]], weights=[2, 1, 0])
    best = epl.minimize(draws, own, rng=1)
    text = render(best, draws, title="<i>A</i> & {{ b }}", call="<i>c</i>", rng=1)
    assert "<i>" not in text
    words = Page(text).words
    assert words.count("<i>A</i> & {{ b }}") == 2
    assert "<i>c</i>" in words
    assert "the loss '<i>own</i>'" in words


def test_accessible(small):
    page = Page(small[2])
    assert ("html", {"lang": "en"}) in page.tags
    assert sum(tag == "h1" for tag, _ in page.tags) == 1
    assert all(a.get("scope") in ("row", "col") for tag, a in page.tags if tag == "th")
    words = [a["alt"] for tag, a in page.tags if tag == "img"]
    assert len(words) == 3
    assert min(map(len, words)) > 20


def test_same_seed_same_page(small):
    draws, best, text = small
    again = render(best, draws, rng=1, call="epluribus report <x> & y")
    strip = re.compile(r"in [\d.e-]+ s")
    assert strip.sub("", again) == strip.sub("", text)


def test_a_thousand_items_stay_small(monkeypatch):
    monkeypatch.setattr(facts_module, "_ALL_LOSSES", 1000)
    draws = epl.Draws(noisy(1000, 20, 5, np.random.default_rng(1)))
    best = epl.minimize(draws, rng=1)
    text = render(best, draws, rng=1)
    assert len(text.encode()) < 1_000_000
    data = Page(text).data
    assert len(data["items"]["name"]) == 1000
    assert "only the quick losses are compared" in text
    assert set(re.findall(r"\bE (\w+)", Page(text).words)) == {"binder", "vi"}


def test_many_items_are_cut_with_a_note(page_has):
    page_has("items", "modes")
    draws = epl.Draws(noisy(3000, 10, 4, np.random.default_rng(2)))
    best = epl.minimize(draws, rng=1)
    page = Page(render(best, draws, rng=1))
    assert len(page.data["items"]["name"]) == 2000
    assert len(page.data["all"]["cluster"]) == len(page.data["all"]["per_mille"]) == 3000
    assert "The 2,000 least certain of 3,000 items" in page.words


@pytest.mark.parametrize(
    ("limit", "value", "options", "words"),
    [
        ("_HEAVY", 10, {}, "with 60 distinct draws of 30 items: other losses, modes and the certificate"),
        (None, None, {"time_limit": 1e-9}, "The time limit of 1e-09 s was reached. Left out: the certainty"),
        (None, None, {"brief": True}, "A brief page was asked for. Left out: the certainty of items"),
    ],
)  # fmt: skip
def test_what_is_left_out_is_named(small, monkeypatch, limit, value, options, words):
    if limit:
        monkeypatch.setattr(facts_module, limit, value)
    draws, best, _ = small
    page = Page(render(best, draws, rng=1, **options))
    assert words.replace("60", str(draws.n_distinct)) in page.words
    assert "Ctrl-C" not in page.words
    assert page.data["all"]["cluster"] == best.labels.tolist()
    assert (page.data["all"]["per_mille"] is None) == bool(options)


def test_modes_that_the_time_limit_cut_are_not_shown(small, monkeypatch):
    found = facts_module.uncertainty.modes
    cut = lambda *given, **options: found(*given, **options | {"time_limit": 1e-3})  # noqa: E731
    monkeypatch.setattr(facts_module.uncertainty, "modes", cut)
    page = Page(render(*small[1::-1], rng=1, time_limit=600))
    assert "Modes are left out: they were not found within 600 s." in page.words


def test_few_draws_of_one_chain_say_little(page_has):
    page_has("items", "error")
    draws = epl.Draws([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]])
    words = Page(render(epl.minimize(draws, rng=1), draws, rng=1)).words
    assert "one chain: whether another would agree is not known" in words
    assert "too few, or too much alike, to say what they are worth" in words


@pytest.mark.parametrize(
    ("z", "warning"),
    [
        ([[0, 0, 1, 1, 2]], "There is only one draw"),
        ([[0, 0, 1, 1, 2]] * 100, "All draws are equal: did the sampler move?"),
        ([[0]] * 100, "There is only one item"),
        ([[0]], "There is only one"),
        ([[0, 1]], "There is only one draw"),
        ([[0, 0, 0, 0]] * 5, "All draws are equal"),
    ],
)
def test_draws_that_say_nothing_give_a_warning(z, warning):
    words = Page(render(epl.minimize(z, rng=1), z, rng=1)).words
    assert f"Warning: {warning}" in words
    for claim in ("R-hat of the loss", "a radius of", "proved optimal"):
        assert claim not in words
    assert "nothing can be said about its uncertainty" in words
    for wrong in ("The 1 draws", "1 draws are", "the 1 items", "1 distinct partitions"):
        assert wrong not in words


def test_two_draws_have_a_page():
    z = [list(range(60)), [0] * 60]
    Page(render(epl.minimize(z, rng=1), z, rng=1))


def test_a_bound_on_the_number_of_clusters_is_stated(small, page_has):
    """It is the one that the estimate remembers, unless another is given."""
    page_has("error")
    draws = small[0]
    exactly = epl.minimize(draws, k=2, rng=1)
    words = Page(render(exactly, draws, rng=1)).words
    assert "among partitions with exactly 2 clusters" in words
    assert "partitions with exactly 2 clusters that were tried" in words
    at_most = epl.minimize(draws, k_max=2, rng=1)
    words = Page(render(at_most, draws, brief=True)).words
    assert "among partitions with at most 2 clusters" in words
    assert "that was found by a search of" in Page(small[2]).words


def test_command(tmp_path, capsys):
    np.save(tmp_path / "z.npy", noisy(12, 20, 3, np.random.default_rng(4), n_chains=1)[0])
    out = tmp_path / "page.html"
    arguments = ["report", str(tmp_path / "z.npy"), "-o", str(out)]
    arguments += ["--seed", "1", "--title", "A < B", "--k-max", "3"]
    assert main(arguments) == 0
    assert f"page written to {out}" in capsys.readouterr().out
    words = Page(out.read_text(encoding="utf-8")).words
    for said in (
        "epluribus report ",
        "--seed 1",
        "A < B",
        "among partitions with at most 3 clusters",
    ):
        assert said in words


@pytest.mark.parametrize(
    ("name", "message"),
    [("page.pdf", "must end in .html"), ("nowhere/page.html", "There is no folder")],
)
def test_bad_target_is_refused_before_the_search(name, message, small, tmp_path):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        report(small[1], small[0], tmp_path / name)


def test_the_page_names_its_call_with_all_arguments(small, tmp_path):
    options = {"data": np.arange(30.0), "title": "T", "level": 0.9, "rng": 3, "brief": True}
    path = report(small[1], small[0], tmp_path / "a.html", **options)
    call = "epl.report(best, draws, 'a.html', data=data, title='T', level=0.9, rng=3, brief=True)"
    assert call in Page(path.read_text("utf-8")).words
