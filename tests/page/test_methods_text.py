"""The paragraph for a paper: that of the report, with an entry for epluribus itself."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.page import render


def _draws():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 6)
    z = np.where(rng.random((2, 60, 18)) < 0.2, rng.integers(3, size=(2, 60, 18)), truth)
    return epl.Draws(z)


def test_it_is_the_paragraph_of_the_report():
    draws = _draws()
    best = epl.minimize(draws, rng=1)
    found = epl.methods(best, draws, rng=1)
    page = re.sub(r"\s+", " ", render(best, draws, rng=1))
    assert found.text.replace("&", "&amp;") in page
    for reference in found.references:
        assert reference.rpartition(" ")[0].replace("&", "&amp;") in page
    assert str(found).startswith(found.text)


def test_epluribus_has_an_entry_as_in_the_citation_file():
    found = epl.methods(epl.minimize(_draws(), rng=1))
    (own,) = [line for line in found.references if line.startswith("The epluribus developers")]
    citation = (Path(__file__).parents[2] / "CITATION.cff").read_text()
    title = re.search('^title: "(.*)"', citation, flags=re.MULTILINE)[1]
    assert f"{title}. Version {epl.__version__}, Python package." in own


@pytest.mark.parametrize("loss", [*epl.losses.available(), "mine"])
def test_every_reference_has_an_entry(loss):
    """With its fields; a reference to a loss of the user's own may be any text."""
    draws = _draws()
    best = epl.minimize(draws, "vi" if loss == "mine" else loss, rng=1)
    if loss == "mine":
        best = replace(best, loss=replace(best.loss, reference="a letter to a friend"))
    found = epl.methods(best, draws, rng=1)
    entries = found.bibtex.split("\n\n")
    assert len(entries) == len(found.references)
    assert found.bibtex.count("{") == found.bibtex.count("}")
    for entry, reference in zip(entries, found.references, strict=True):
        if "epluribus" in reference:
            assert entry.startswith("@software{epluribus")
            assert f"  version = {{{epl.__version__}}}" in entry
        elif "letter" in reference:
            assert "note = {a letter to a friend}" in entry
        elif "arXiv" not in reference:
            assert entry.startswith("@article{")
            assert all(f"  {name} = {{" in entry for name in ("author", "journal", "doi"))
    assert "  author = {Rastelli, R. and Friel, N.}," in found.bibtex


def test_the_text_says_where_draws_come_from():
    y = np.random.default_rng(1).normal(size=20)
    draws = epl.sample(epl.models.GaussianMixture(y), n_draws=30, rng=1).draws.burn(5)
    text = epl.methods(epl.minimize(draws, rng=1), draws, rng=1).text
    assert "made with the samplers of epluribus from the model GaussianMixture(" in text
    draws = epl.soft_draws(np.full((30, 5, 2), 0.5), rng=1)
    text = epl.methods(epl.minimize(draws, rng=1), draws, rng=1).text
    assert "Labels were drawn from the probabilities of clusters, 1 for each item" in text


@pytest.mark.parametrize("how", [{"time_limit": 1e-9}, {}])
def test_no_clock_is_named(how):
    rows = np.random.default_rng(0).integers(8, size=(60, 30))
    best = epl.minimize(rows, n_starts=5000 if how else None, rng=1, **how)
    assert best.converged != bool(how)
    text = epl.methods(best, rows, rng=1, **how).text
    assert not re.search("time|second|clock|early", text)
    assert (", which had not converged" in text) == bool(how)


def test_ensembles_cite_no_posterior():
    draws = epl.Draws(np.asarray(_draws()), kind="ensemble")
    found = epl.methods(epl.minimize(draws, rng=1), draws, rng=1)
    assert "posterior" not in found.text
    assert not any(line.startswith("Rastelli") for line in found.references)
    assert any("epluribus developers" in line for line in found.references)


@pytest.mark.parametrize("kind", ["posterior", "ensemble"])
def test_without_draws_it_says_what_was_done_and_nothing_of_uncertainty(kind, tmp_path):
    draws = epl.Draws(np.asarray(_draws()), kind=kind)
    epl.minimize(draws, rng=1, undecided=1).save(tmp_path / "best.json")
    best = epl.load(tmp_path / "best.json")
    alone, whole = epl.methods(best), epl.methods(best, draws, rng=1)
    assert set(alone.references) <= set(whole.references)
    for sentence in re.split(r"(?<=\.) ", alone.text):
        assert sentence.rstrip(".").replace("120 draws", "120 draws from one chain") in whole.text
    assert "8 other items, each of which would have added more than 1 bit" in alone.text


def test_a_similarity_matrix_has_no_draws():
    found = epl.methods(epl.minimize(psm=epl.psm(_draws())))
    assert "represented by a similarity matrix, was summarized" in found.text


def test_the_command(tmp_path, capsys):
    path = tmp_path / "z.npy"
    np.save(path, np.asarray(_draws()).reshape(2, 60, 18))
    words = ["methods", str(path), "--seed", "1"]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert main([*words, "--bibtex"]) == 0
    text = capsys.readouterr().out
    assert text == "\n\n".join(
        [answer["text"], "\n".join(answer["references"]), answer["bibtex"] + "\n"]
    )
    assert "from 2 chains" in answer["text"]
    assert main([*words, "--loss", "vi,binder"]) == 2
    assert "'--loss' must be one loss here" in capsys.readouterr().err
