"""The command summarize: draws in, labels out."""

import io
import json
import os

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from terminal import Terminal


def test_labels_are_printed_and_written(z, draws_file, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    assert main(["summarize", str(draws_file), "--seed", "1", "-o", str(out)]) == 0
    text = capsys.readouterr().out
    best = epl.minimize(str(draws_file), rng=1)
    assert text.startswith(str(best).split("\n  search")[0])
    assert f"written to {out}" in text
    head, *rows = (line.split(",") for line in out.read_text().splitlines())
    assert head == ["item", "cluster", "certainty"]
    assert [row[0] for row in rows] == [f"item {i}" for i in range(z.shape[1])]
    assert [int(row[1]) for row in rows] == best.labels.tolist()
    support = epl.uncertainty.items(best, str(draws_file)).support
    assert [float(row[2]) for row in rows] == pytest.approx(support, abs=1e-8)
    # A file without a column for the certainty.
    assert main(["summarize", str(draws_file), "--seed", "1", "-o", str(tmp_path / "l.txt")]) == 0
    assert [int(x) for x in (tmp_path / "l.txt").read_text().split()] == best.labels.tolist()


def test_options_reach_the_library(z, draws_file, capsys):
    files = [str(draws_file), str(draws_file)]
    words = ["--loss", "binder", "--k", "2", "--burn", "2", "--seed", "1", "--json"]
    assert main(["summarize", *files, *words]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["n_clusters"], data["loss"]) == (2, "binder")
    assert data["n_draws"] == 2 * (len(z) - 2)
    assert len(data["labels"]) == z.shape[1]


def test_several_losses(draws_file, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    words = ["summarize", str(draws_file), "--loss", "vi(cost=0.5), binder", "--seed", "1"]
    assert main([*words, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "bits of VI between" in text
    assert f"written to {out}" in text
    assert out.read_text().splitlines()[0] == "item,vi(cost=0.5),binder"
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    single = epl.search.minimize_all(epl.read_draws(draws_file), ["vi(cost=0.5)", "binder"], rng=1)
    for one, other in zip(answer["estimates"], single, strict=True):
        assert one["labels"] == other.labels.tolist()
    column = [int(line.split(",")[2]) for line in out.read_text().splitlines()[1:]]
    assert column == answer["estimates"][1]["labels"]
    assert main([*words, "--out", str(tmp_path / "labels.txt")]) == 2
    assert "must end in .csv or .parquet" in capsys.readouterr().err


def test_a_similarity_matrix_in_place_of_draws(draws_file, tmp_path, capsys):
    path = str(tmp_path / "psm.csv")
    assert main(["psm", str(draws_file), "-o", path]) == 0
    capsys.readouterr()
    assert main(["summarize", path, "--psm", "--seed", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["loss"], found["labels"]) == (
        "vi_lb",
        epl.minimize(psm=path, rng=1).labels.tolist(),
    )
    for words, message in (
        ([path], "for a similarity matrix minimize(psm=...) ('epluribus summarize --psm')"),
        ([path, "--psm", "--min-size", "2"], "'--psm' must be used without constraints"),
        ([path, path, "--psm"], "'--psm' is for one file, a similarity matrix; got 2"),
        (
            [str(draws_file), "--psm"],
            "'--psm' must be a square matrix, items by items; got shape (12, 20).\n",
        ),
    ):
        assert main(["summarize", *words]) == 2
        assert message in capsys.readouterr().err


def test_standard_input_and_output(z, draws_file, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(draws_file.read_text()))
    assert main(["summarize", "-", "--out", "-", "--seed", "1"]) == 0
    captured = capsys.readouterr()
    head, *rows = captured.out.splitlines()
    assert head == "item,cluster,certainty"
    labels = [int(row.split(",")[1]) for row in rows]
    assert labels == epl.minimize(z, rng=1).labels.tolist()
    assert "expected loss" in captured.err
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["summarize", "-"]) == 2
    assert "'-' is empty" in capsys.readouterr().err


def test_the_variable_that_is_read_is_named(tmp_path, capsys):
    np.savez(tmp_path / "draws.npz", counts=[[1, 1, 2], [1, 2, 2]], mu=[[0.5, 0.5], [0.1, 0.2]])
    assert main(["summarize", str(tmp_path / "draws.npz")]) == 0
    assert "labels are read from the variable 'counts'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to(draws_file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main(["summarize", str(draws_file), "--out", str(tmp_path / "labels.csv")]) == 2
    assert "is not writable; 'labels.csv' cannot be put there" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_writes_the_best_so_far_and_exits_130(tmp_path):
    """A real Ctrl-C, when the bar shows that the search is under way."""
    np.save(tmp_path / "z.npy", np.random.default_rng(0).integers(0, 20, (200, 150)))
    out = tmp_path / "labels.npy"
    with Terminal("summarize", tmp_path / "z.npy", "--out", out, "--n-starts", 100_000) as command:
        command.wait_for_step("minimize vi")
        command.interrupt()
        code, text = command.end()
    assert code == 130, command.err
    assert "stopped early" in text
    assert "epluribus: interrupted; this is the best so far" in command.err
    assert np.load(out).shape == (150,)


def test_ctrl_c_while_the_answer_is_checked_does_not_lose_it(
    draws_file, tmp_path, capsys, monkeypatch
):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(epl.Estimate, "health", interrupted)
    out = tmp_path / "labels.csv"
    assert main(["summarize", str(draws_file), "--out", str(out)]) == 130
    said = capsys.readouterr()
    assert "expected loss" in said.out
    assert "interrupted; the answer was not checked" in said.err
    assert "cluster" in out.read_text()
