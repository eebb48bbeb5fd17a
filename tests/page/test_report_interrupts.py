"""Ctrl-C while a page is made: it is written with what is known so far, and says what is missing."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.page import facts, render
from parsed_page import Page, noisy
from terminal import PATIENCE

STEPS = {
    "items": "the certainty of items",
    "clusters": "the solidity of clusters",
    "credible_ball": "the credible ball",
    "error": "the diagnostics of the chains",
    "modes": "modes",
    "certificate": "the certificate",
}


@pytest.fixture(scope="module")
def small():
    draws = epl.Draws(noisy(12, 30, 3, np.random.default_rng(0)))
    return draws, epl.minimize(draws, rng=1)


def _left_out(page):
    """What the page says is left out."""
    (said,) = re.findall(r"Left out: (?!see the notes)([^.]*)\.", page.words)
    return said.replace(" and ", ", ").split(", ")


def _raise_interrupt(*_, **__):
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", list(STEPS))
def test_an_interrupted_step_and_all_after_it_are_left_out(small, monkeypatch, name):
    monkeypatch.setattr(epl.uncertainty, name, _raise_interrupt)
    draws, best = small
    page = Page(render(best, draws, rng=1))
    assert "Ctrl-C was pressed" in page.words
    missing = _left_out(page)
    assert missing[0] == STEPS[name]
    assert missing[-1] == "the certificate"
    assert ("matrix" not in page.ids) == (name not in ("modes", "certificate"))


@pytest.mark.parametrize("step", [1, 5, 9])
def test_an_interrupt_between_two_steps_leaves_out_the_later_ones(small, step):
    def at_that_step(done, total, _):
        assert total == len(facts.STEPS)
        if done == step:
            raise KeyboardInterrupt

    draws, best = small
    given = {"apart": np.arange(12)}  # so that all steps are made
    page = Page(render(best, draws, rng=1, progress=at_that_step, partitions=given))
    late = list(facts.STEPS.values())[step:]
    assert ("Ctrl-C was pressed" in page.words) == bool(late)
    assert not late or _left_out(page) == late


def test_an_interrupted_search_for_another_loss_is_left_out(small, monkeypatch):
    """The search itself hears Ctrl-C and returns the best so far, which is not the best for that loss."""
    draws, best = small
    monkeypatch.setattr(facts, "minimize_within", lambda *_, **__: replace(best, interrupted=True))
    page = Page(render(best, draws, rng=1))
    assert _left_out(page) == ["other losses", "modes", "the certificate"]


@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize("when", ["in the search", "after it"])
def test_ctrl_c_writes_a_page(tmp_path, when, monkeypatch, capfd):
    """A real Ctrl-C, once: the command writes what it has."""
    presses = iter([signal.SIGINT])

    def press(*_, **__):
        for one in presses:
            signal.raise_signal(one)

    if when == "in the search":
        minimize = epl.minimize
        pressed = {"progress": press, "n_starts": 1000}
        monkeypatch.setattr(epl, "minimize", lambda *a, **named: minimize(*a, **named | pressed))
    else:
        monkeypatch.setattr(epl.uncertainty, "error", press)
    np.save(tmp_path / "z.npy", np.random.default_rng(0).integers(0, 20, (50, 30)))
    out = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "z.npy"), "--out", str(out), "--seed", "1"]) == 130
    said = capfd.readouterr()
    assert "epluribus: interrupted; the page is written with what is" in said.err
    assert f"page written to {out}" in said.out
    page = Page(out.read_text())
    assert "Ctrl-C was pressed" in page.words
    assert _left_out(page)[0] == STEPS["items" if when == "in the search" else "error"]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_second_ctrl_c_ends_at_once(tmp_path):
    """Both come in the same step, the second while the first is being dealt with."""
    code = """if True:
        import signal, sys
        import epluribus as epl
        from epluribus.cli import main

        def interrupt_twice(*_, **__):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                signal.raise_signal(signal.SIGINT)

        signal.signal(signal.SIGINT, signal.default_int_handler)
        epl.uncertainty.items = interrupt_twice
        sys.exit(main(sys.argv[1:]))
    """
    (tmp_path / "z.csv").write_text("0,0,1\n0,1,1\n")
    out = tmp_path / "page.html"
    command = [sys.executable, "-c", code, "report", tmp_path / "z.csv", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == -signal.SIGINT, done.stderr  # 130 in a shell
    first, second = done.stderr.splitlines()
    assert first.startswith("epluribus: interrupted; the page is written")
    assert second == "epluribus: ended; no page was written"
    assert not out.exists()
