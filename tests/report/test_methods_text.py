"""The paragraph for a paper: that of the report, with an entry for epluribus itself."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.report import build_report


def _draws():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 6)
    z = np.where(rng.random((2, 60, 18)) < 0.2, rng.integers(3, size=(2, 60, 18)), truth)
    return epl.Draws(z)


def test_it_is_the_paragraph_of_the_report():
    draws = _draws()
    best = epl.minimize(draws, rng=1)
    found = best.methods(draws, rng=1)
    page = re.sub(r"\s+", " ", build_report(best, draws, rng=1))
    assert found.text.replace("&", "&amp;") in page
    for reference in found.references:
        assert reference.rpartition(" ")[0].replace("&", "&amp;") in page
    assert str(found).startswith(found.text)


def test_epluribus_has_an_entry_as_in_the_citation_file():
    found = epl.minimize(_draws(), rng=1).methods()
    (own,) = [line for line in found.references if line.startswith("The epluribus developers")]
    citation = (Path(__file__).parents[2] / "CITATION.cff").read_text()
    title = re.search('^title: "(.*)"', citation, flags=re.MULTILINE)[1]
    year = re.search(r'date-released: "(\d{4})', citation)[1]
    assert (
        own
        == f"The epluribus developers ({year}). {title}. Version {epl.__version__}, Python package."
    )
    assert f"title   = {{{title}}}" in found.bibtex
    assert found.bibtex.count("{") == found.bibtex.count("}")


def test_ensembles_cite_no_posterior():
    draws = epl.Draws(np.asarray(_draws()), kind="ensemble")
    found = epl.minimize(draws, rng=1).methods(draws, rng=1)
    assert "posterior" not in found.text
    assert not any(line.startswith("Rastelli") for line in found.references)
    assert any("epluribus developers" in line for line in found.references)


@pytest.mark.parametrize("kind", ["posterior", "ensemble"])
def test_without_draws_it_says_what_was_done_and_nothing_of_uncertainty(kind, tmp_path):
    draws = epl.Draws(np.asarray(_draws()), kind=kind)
    epl.minimize(draws, rng=1, undecided=1).save(tmp_path / "best.json")
    best = epl.load(tmp_path / "best.json")
    alone, whole = best.methods(), best.methods(draws, rng=1)
    assert set(alone.references) <= set(whole.references)
    for sentence in re.split(r"(?<=\.) ", alone.text):
        assert sentence.rstrip(".").replace("120 draws", "120 draws from one chain") in whole.text
    assert "8 other items, each of which would have added more than 1 bit" in alone.text


def test_a_similarity_matrix_has_no_draws():
    found = epl.minimize(psm=epl.psm(_draws())).methods()
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
