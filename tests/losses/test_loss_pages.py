"""docs/losses has a page and a picture for every loss, and what the pages state in numbers holds."""

import re
from pathlib import Path

import numpy as np
import pytest

import epluribus as epl

DOCS = Path(__file__).parents[2] / "docs"
PAGES = DOCS / "losses"
PICTURES = DOCS / "images" / "losses"
NAMES = epl.losses.available()
INDEX = (PAGES / "index.md").read_text("utf-8")
SECTIONS = ["Formula", "Range", "What it does", "When", "Example", "References"]
TWO = np.repeat([0, 1], 50)
MISTAKES = {
    "10 leave together": np.repeat([2, 0, 1], [10, 40, 50]),
    "10 leave, each alone": np.r_[2:12, TWO[10:]],
    "10 move to the other": np.repeat([1, 0, 1], [10, 40, 50]),
    "the two merged": np.zeros(100),
    "all alone": np.arange(100),
}


def table(*words):
    """Rows by the name of their loss, as dicts by column, of the table whose head has these words."""
    lines = INDEX.splitlines()
    at = next(i for i, x in enumerate(lines) if x[:1] == "|" and all(word in x for word in words))
    head, rows = cells(lines[at]), {}
    for line in lines[at + 2 :]:
        if not line.startswith("|"):
            return rows
        name = re.search(r"`(\w+)`", line)
        if name:
            rows[name[1]] = dict(zip(head, cells(line), strict=True))
    raise AssertionError("a table ends the page")


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def same(text, value):
    """Whether the text is the value, rounded to as many digits as it has."""
    return f"{value:.{len(text.partition('.')[2])}f}" == text


@pytest.mark.parametrize("name", NAMES)
def test_every_loss_has_a_page_and_a_picture(name):
    page = (PAGES / f"{name}.md").read_text("utf-8")
    assert f"(../images/losses/{name}.png)" in page
    assert (PICTURES / f"{name}.png").is_file()
    assert f"[`{name}`]({name}.md)" in INDEX
    for section in SECTIONS:
        assert f"\n## {section}\n" in page


def test_no_page_or_picture_is_left_over():
    assert {path.stem for path in PAGES.glob("*.md")} == {*NAMES, "index", "own"}
    assert {path.stem for path in PICTURES.glob("*.png")} == {*NAMES, "index"}
    assert "(../images/losses/index.png)" in INDEX
    assert max(path.stat().st_size for path in PICTURES.glob("*.png")) < 150_000
    assert "docs/losses/index.md" in (DOCS.parent / "README.md").read_text("utf-8")


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_lines_are_short_and_formulas_stand_alone(page):
    text = page.read_text("utf-8")
    assert [x for x in text.splitlines() if len(x) > 120 and not x.startswith("|")] == []
    assert len(re.findall(r"(?<=\n\n)\$\$\n[^$]+\n\$\$(?=\n\n)", text)) * 2 == text.count("$$")


def test_the_table_of_losses_says_which_are_metrics():
    rows = table("loss", "range", "metric")
    assert set(rows) == set(NAMES)
    for name, row in rows.items():
        assert row["metric"] == ("yes" if epl.losses.get(name).metric else "no")


def test_what_a_mistake_costs():
    rows = table(*MISTAKES)
    assert set(rows) == set(NAMES)
    for name, row in rows.items():
        for what, partition in MISTAKES.items():
            assert same(row[what], epl.loss(partition, TWO, name)), (name, what)


def doubtful(n):
    """Three clusters of 30, and n items that each draw puts into one of the three."""
    rng = np.random.default_rng(1)
    sure = np.tile(np.repeat([0, 1, 2], 30), (500, 1))
    return np.hstack([sure, rng.integers(3, size=(500, n))])


def where(labels):
    """Where the items after the first 90 are."""
    rest, sure = labels[90:], set(labels[:90])
    if len(set(rest)) == 1:
        return "all in one of the three" if set(rest) <= sure else "a cluster of their own"
    if len(set(rest)) == rest.size and not set(rest) & sure:
        return "each alone"
    return "as in some draw: no two are equal"


@pytest.fixture(scope="module")
def galaxies():
    velocity = epl.datasets.load_galaxies() / 1000
    model = epl.models.GaussianMixture(velocity, prior="paper")
    draws = epl.sample(model, n_draws=2000, rng=1).draws
    return velocity, draws


def test_the_same_draws_under_all_losses(galaxies):
    velocity, draws = galaxies
    rows = table("galaxies: clusters")
    assert set(rows) == set(NAMES)
    in_doubt = epl.minimize(doubtful(10), list(NAMES), rng=1)
    for best in epl.minimize(draws, list(NAMES), rng=1):
        row = rows[best.loss.name]
        sizes = np.bincount(best.labels)
        mean = np.bincount(best.labels, weights=velocity) / sizes
        assert row["galaxies: clusters"] == str(best.n_clusters)
        sizes_in_order = ", ".join(str(n) for n in sizes[np.argsort(mean)])
        assert row["sizes, by mean velocity"] == sizes_in_order
        assert row["the ten doubtful items"] == where(in_doubt[best.loss.name].labels)


def test_other_numbers_of_doubtful_items():
    for n, expected in [(5, "each alone"), (20, "all in one of the three")]:
        few = epl.search.minimize_all(doubtful(n), ["vi", "binder", "omari"], rng=1)
        assert [where(best.labels) for best in few] == [expected, "each alone", "each alone"]


def test_clusters_by_cost(galaxies):
    rows = table("clusters of the galaxies at cost")
    for make in (epl.losses.vi, epl.losses.binder):
        [text] = [row for name, row in rows.items() if make().name == name]
        costs = [key for key in text if key[0].isdigit()]
        found = epl.minimize(galaxies[1], [make(cost=float(c)) for c in costs], rng=1)
        assert [text[c] for c in costs] == [str(best.n_clusters) for best in found]


@pytest.mark.parametrize("make", [epl.losses.vi, epl.losses.binder])
@pytest.mark.parametrize("cost", [0.5, 1.0, 1.5])
def test_clusters_are_merged_above_the_stated_probability(make, cost):
    for margin in (-0.05, 0.05):
        merged = round(100 * (1 - cost / 2 + margin))
        draws = [[0] * 20] * merged + [[0] * 10 + [1] * 10] * (100 - merged)
        best = epl.minimize(draws, make(cost=cost), rng=1)
        assert best.n_clusters == (1 if margin > 0 else 2)


BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
VALUE = re.compile(r"^(\S.*?)  # ([\d.]+|True)$", re.M)
WITH_VALUES = [path for path in sorted(PAGES.glob("*.md")) if VALUE.search(path.read_text("utf-8"))]


@pytest.mark.parametrize("page", WITH_VALUES, ids=lambda path: path.stem)
def test_values_beside_the_code_are_right(page):
    names = {}
    for code in BLOCK.findall(page.read_text("utf-8")):
        exec(code, names)
        for expression, text in VALUE.findall(code):
            value = eval(expression, names)
            assert str(value) == text or same(text, value), expression
