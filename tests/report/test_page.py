"""The page without a browser: it parses, asks for nothing, states the facts."""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from html.parser import HTMLParser

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.report import build_report
from epluribus.report import facts as facts_module
from epluribus.report.pictures import CELLS, nice_ticks
from epluribus.report.words import share

VOID = {"meta", "link", "input", "br", "img", "hr"}
NAMES = ['<script>alert("x")</script>', "a & b", "O'Neil", "</script>", "$title", "`code`"]


def noisy(n_items, n_draws, n_clusters, rng, n_chains=2):
    """Draws around one partition, with chains."""
    centre = rng.integers(0, n_clusters, n_items)
    z = np.tile(centre, (n_chains, n_draws, 1))
    moved = rng.random(z.shape) < 0.1
    z[moved] = rng.integers(0, n_clusters + 1, moved.sum())
    return z


class Page(HTMLParser):
    """Checks that tags are closed in order; collects what the tests ask for."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.ids, self.tags, self.text = [], [], [], [], []
        self.data = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self.links += [(tag, attributes[name]) for name in ("src", "href") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"] and self.tags[-1][1].get("id") == "data":
            self.data = json.loads(data)
        elif self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    items = [*NAMES, *(f"item {i}" for i in range(24))]
    draws = epl.Draws(noisy(30, 60, 3, rng), items=items)
    best = epl.minimize(draws, rng=1)
    return draws, best, build_report(best, draws, rng=1, call="epluribus report <x> & y")


def test_parses_and_asks_for_nothing(small):
    page = Page(small[2])
    for tag, link in page.links:
        if tag == "a":
            assert link.startswith(("#", "https://doi.org/"))
            assert not link.startswith("#") or link[1:] in page.ids
        else:
            assert link == "data:,"
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(", small[2])
    assert len(page.ids) == len(set(page.ids))
    assert all("src" not in attributes for _, attributes in page.tags)


def test_states_the_facts(small):
    draws, best, text = small
    words = Page(text).words
    assert f"has {best.n_clusters} clusters" in words
    assert f"{best.expected_loss:.4g}" in words
    ball = epl.credible_ball(best, draws)
    assert f"{ball.radius:.4g}" in words
    assert f"R-hat of the loss is {epl.uncertainty.error(best, draws).rhat:.3f}" in words
    for name in epl.losses.available():
        assert name in words
    assert epl.certificate(best, draws).verdict.removeprefix("within ") in words
    assert "Rastelli, R., Friel, N. (2018)" in words
    assert f"with epluribus {epl.__version__}" in words
    assert "epluribus report <x> & y" in words
    for heading in ("Clusters", "Certainty of items", "Modes", "Credible ball", "Certificate"):
        assert heading in words


def test_names_of_items_are_escaped(small):
    page = Page(small[2])
    assert set(NAMES) <= set(page.data["items"]["name"])
    assert "<script>alert" not in small[2]
    assert sum(tag == "script" for tag, _ in page.tags) == 2


def test_accessible(small):
    page = Page(small[2])
    assert ("html", {"lang": "en"}) in page.tags
    assert sum(tag == "h1" for tag, _ in page.tags) == 1
    assert all(a.get("scope") in ("row", "col") for tag, a in page.tags if tag == "th")
    pictures = [a for tag, a in page.tags if tag in ("svg", "canvas")]
    assert len(pictures) == 3
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in pictures)


def test_same_seed_same_page(small):
    draws, best, text = small
    again = build_report(best, draws, rng=1, call="epluribus report <x> & y")
    strip = re.compile(r"in [\d.e-]+ s")
    assert strip.sub("", again) == strip.sub("", text)


def test_heatmap_holds_the_similarity_matrix(small):
    draws, best, text = small
    data = Page(text).data["heatmap"]
    cells = np.frombuffer(base64.b64decode(data["cells"]), dtype=np.uint8).reshape(30, 30) / 255
    order = [list(draws.items).index(name) for name in data["names"]]
    np.testing.assert_allclose(cells, epl.psm(draws)[np.ix_(order, order)], atol=0.5 / 255 + 1e-9)
    assert data["clusters"] == best.labels[order].tolist()


def test_a_thousand_items_stay_small():
    draws = epl.Draws(noisy(1000, 20, 5, np.random.default_rng(1)))
    best = epl.minimize(draws, rng=1)
    text = build_report(best, draws, rng=1)
    assert len(text.encode()) < 1_000_000
    data = Page(text).data
    assert data["heatmap"]["n"] == CELLS
    assert data["heatmap"]["edges"][-1] == 1000
    assert len(data["items"]["name"]) == 1000
    assert "only the quick losses are compared" in text


def test_many_items_are_cut_and_said_to_be():
    draws = epl.Draws(noisy(3000, 10, 4, np.random.default_rng(2)))
    best = epl.minimize(draws, rng=1)
    page = Page(build_report(best, draws, rng=1))
    assert len(page.data["items"]["name"]) == 2000
    assert len(page.data["all"]["cluster"]) == len(page.data["all"]["per_mille"]) == 3000
    assert "The 2,000 least certain of 3,000 items" in page.words
    assert "2,000 of the 3,000 items, spread evenly, stand for all" in page.words


def test_what_is_too_heavy_is_left_out_and_said_to_be(small, monkeypatch):
    monkeypatch.setattr(facts_module, "_HEAVY", 10)
    draws, best, _ = small
    words = Page(build_report(best, draws, rng=1)).words
    assert "Modes are left out" in words
    assert "Lower bounds are left out" in words
    assert words.count("Left out: see the notes under diagnostics.") == 3


def test_modes_are_left_out_with_very_many_clusters(small, monkeypatch):
    monkeypatch.setattr(facts_module, "_STEPS", 10)
    draws, best, _ = small
    words = Page(build_report(best, draws, rng=1)).words
    assert "Modes are left out" in words
    assert "Lower bounds are left out" not in words


def test_warnings_in_plain_words():
    rng = np.random.default_rng(3)
    one, other = np.repeat([0, 1], 10), np.tile([0, 1], 10)
    z = np.stack([np.tile(one, (40, 1)), np.tile(other, (40, 1))])
    z[:, :, 0] = rng.integers(0, 2, (2, 40))
    draws = epl.Draws(z)
    words = Page(build_report(epl.minimize(draws, rng=1), draws, rng=1)).words
    assert "they do not agree" in words
    assert "One estimate is not a fair summary" in words
    z[1] = rng.integers(0, 2, (40, 20))
    draws = epl.Draws(z)
    words = Page(build_report(epl.minimize(draws, rng=1), draws, rng=1)).words
    assert "parts of the chains differ" in words
    draws = epl.Draws(z[0, :3])
    words = Page(build_report(epl.minimize(draws, rng=1), draws, rng=1)).words
    assert "one chain only" in words
    assert "too few draws" in words


@pytest.mark.parametrize(
    "z",
    [[[0]], [[0, 0]], [[0, 1]], [[0, 0, 0, 0]] * 5, [list(range(60)), [0] * 60]],
    ids=["one item", "pair", "apart", "one cluster", "extremes"],
)
def test_odd_draws(z):
    Page(build_report(epl.minimize(z, rng=1), z, rng=1))


@pytest.mark.parametrize(
    ("z", "warning"),
    [
        ([[0, 0, 1, 1, 2]], "There is one draw only"),
        ([[0, 0, 1, 1, 2]] * 100, "All draws are equal: did the sampler move?"),
        ([[0]] * 100, "There is one item only"),
    ],
)
def test_draws_that_say_nothing_are_warned_of(z, warning):
    words = Page(build_report(epl.minimize(z, rng=1), z, rng=1)).words
    assert f"Warning: {warning}" in words
    for claim in ("Fine:", "R-hat of the loss", "a radius of", "It was proved optimal"):
        assert claim not in words
    assert "nothing can be said on its uncertainty" in words
    for wrong in ("The 1 draws", "1 draws are", "the 1 items", "1 distinct partitions"):
        assert wrong not in words


def test_units_of_the_loss(small):
    draws, best, text = small
    radius = epl.credible_ball(best, draws).radius
    words = Page(text).words
    assert f"has a radius of {radius:.4g} bits" in words
    assert "expected loss (vi, in bits)" in words
    assert "loss to the estimate (bits)" in words
    binder = Page(build_report(epl.minimize(draws, "binder", rng=1), draws, rng=1)).words
    assert "expected loss (binder, in pairs of items)" in binder
    nvi = Page(build_report(epl.minimize(draws, "nvi", rng=1), draws, rng=1)).words
    assert "expected loss (nvi)" in nvi


def test_several_groups_are_told_in_the_first_sentence():
    z = np.repeat([np.repeat([0, 1], 10), np.tile([0, 1], 10)], 50, axis=0)
    words = Page(build_report(epl.minimize(z, rng=1), z, rng=1)).words
    assert "but the draws fall into 2 groups and no single partition is a fair summary" in words


def test_a_constant_number_of_clusters_needs_no_picture():
    z = [[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]]
    page = Page(build_report(epl.minimize(z, rng=1), z, rng=1))
    assert "Every draw has 2 clusters" in page.words
    assert not any(tag == "svg" and a["class"] == "bars" for tag, a in page.tags)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, [0.0, 0.5, 1.0]),
        (1.43, 1.52, [1.44, 1.46, 1.48, 1.5, 1.52]),
        (3, 3, [3]),
        (7, 3001, [1000, 2000, 3000]),
    ],
)
def test_ticks_are_round(low, high, ticks):
    np.testing.assert_allclose(nice_ticks(low, high), ticks)


def test_modes_are_those_of_the_same_seed():
    rng = np.random.default_rng(5)
    draws = epl.Draws(noisy(40, 500, 4, rng))
    found = epl.modes(draws, rng=1)
    assert found.silhouettes != epl.modes(draws, rng=2).silhouettes
    best = epl.minimize(draws, rng=1)
    assert facts_module.gather(best, draws, rng=1).modes.silhouettes == found.silhouettes


def test_modes_that_take_too_long_are_left_out(small, monkeypatch):
    monkeypatch.setattr(facts_module, "_MODES_SECONDS", 1e-3)
    draws, best, _ = small
    words = Page(build_report(best, draws, rng=1)).words
    assert "Modes are left out" in words
    assert "they were not found within 0.001 s" in words


@pytest.mark.parametrize(
    "name", ["items", "clusters", "credible_ball", "error", "modes", "certificate"]
)
def test_an_interrupted_step_and_all_after_it_are_left_out(small, monkeypatch, name):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(epl.uncertainty, name, interrupted)
    draws, best, _ = small
    page = Page(build_report(best, draws, rng=1))
    assert "Ctrl-C was pressed before all was computed. Left out: " in page.words
    assert "the certificate." in page.words
    assert (page.data["heatmap"] is None) == (name not in ("modes", "certificate"))


def test_brief(small):
    draws, best, _ = small
    page = Page(build_report(best, draws, rng=1, brief=True))
    assert page.data["all"]["cluster"] == best.labels.tolist()
    assert page.data["all"]["per_mille"] is None
    assert "Left out: the certainty of items" in page.words


@contextmanager
def _command(tmp_path, z, *options):
    np.save(tmp_path / "z.npy", z)
    out = tmp_path / "page.html"
    command = [sys.executable, "-u", "-m", "epluribus", "report", str(tmp_path / "z.npy")]
    command += ["--out", str(out), "--seed", "1", *options]
    # a shell that runs the tests in the background has them ignore Ctrl-C
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            yield process, out
        finally:
            process.kill()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """All that a report runs, compiled and kept: what is timed below is no compilation."""
    folder = tmp_path_factory.mktemp("compiled")
    with _command(folder, np.random.default_rng(0).integers(0, 5, (300, 40))) as (process, _):
        assert process.wait(timeout=240) == 0


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("seconds", [6, 12])
def test_interrupt_writes_a_page_with_what_is_there(tmp_path, seconds):
    """A real Ctrl-C, in the search and after it."""
    z = np.random.default_rng(0).integers(0, 50, (3000, 2000))
    limit = "60" if seconds == 6 else "3"
    with _command(tmp_path, z, "--time-limit", limit) as (process, out):
        time.sleep(seconds)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        began = time.perf_counter()
        _, err = process.communicate(timeout=60)
        took = time.perf_counter() - began
    assert process.returncode == 130, err
    assert took < 8, err
    assert err.startswith("epluribus: interrupted; the page is written with what is there")
    assert "Ctrl-C was pressed before all was computed. Left out: " in Page(out.read_text()).words


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.usefixtures("compiled")
def test_second_interrupt_ends_at_once(tmp_path):
    z = np.random.default_rng(0).integers(0, 50, (3000, 2000))
    with _command(tmp_path, z) as (process, out):
        time.sleep(6)
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        began = time.perf_counter()
        _, err = process.communicate(timeout=60)
        took = time.perf_counter() - began
    assert took < 2
    assert process.returncode == 130
    assert err.splitlines()[1] == "epluribus: ended; no page was written"
    assert not out.exists()


def test_weights_and_own_loss():
    def f0(joint, size, group, n_items):
        return (size + group - 2 * joint) / n_items

    def square(n):
        return float(n * n)

    own = epl.Loss(f0, square, square, square, name="<own>", linear=True)
    draws = epl.Draws([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]], weights=[2, 1, 0])
    text = build_report(epl.minimize(draws, own, rng=1), draws, rng=1)
    assert "the loss '<own>'" in Page(text).words


def test_a_bound_on_the_number_of_clusters_is_stated(small):
    draws = small[0]
    words = Page(build_report(epl.minimize(draws, k=2, rng=1), draws, k=2, rng=1)).words
    assert "over all partitions with exactly 2 clusters" in words
    assert "It was not searched for among partitions with exactly 2 clusters only." in words
    assert "over all partitions with any number of clusters" in Page(small[2]).words


def test_share_is_never_rounded_to_certainty():
    assert [share(p) for p in (0, 0.001, 0.5, 0.999, 1)] == [
        "0.00", "below 0.01", "0.50", "above 0.99", "1.00",
    ]  # fmt: skip


def test_command(tmp_path, capsys):
    z = noisy(12, 20, 3, np.random.default_rng(4), n_chains=1)[0]
    np.save(tmp_path / "z.npy", z)
    out = tmp_path / "page.html"
    arguments = [
        "report",
        str(tmp_path / "z.npy"),
        "-o",
        str(out),
        "--seed",
        "1",
        "--title",
        "A < B",
    ]
    assert main(arguments) == 0
    assert f"page written to {out}" in capsys.readouterr().out
    page = Page(out.read_text(encoding="utf-8"))
    assert "epluribus report " in page.words
    assert "--seed 1" in page.words
    assert "A < B" in page.words
    assert main([*arguments, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["out"] == str(out)
    assert data["bytes"] == out.stat().st_size


@pytest.mark.parametrize(
    ("name", "message"),
    [("page.pdf", "must end in .html"), ("nowhere/page.html", "There is no folder")],
)
def test_bad_target_is_refused_before_the_search(name, message, small, tmp_path):
    draws, best, _ = small
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        best.report(draws, tmp_path / name)


def test_draws_of_other_items_are_refused(small, tmp_path):
    with pytest.raises(ValueError, match="'best' must have 3 items; got 30"):
        small[1].report([[0, 0, 1]], tmp_path / "page.html")
