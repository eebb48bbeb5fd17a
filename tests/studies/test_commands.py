"""The commands sample, reproduce and demo."""

import json
import os

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.studies.analysis import Protocol
from terminal import Terminal


@pytest.fixture
def values(tmp_path):
    path = tmp_path / "y.csv"
    path.write_text("y\n" + "\n".join(map(str, [0.1, -0.2, 0.0, 5.0, 5.3, 5.1])) + "\n")
    return path


def test_sample_writes_draws_that_summarize_reads(values, tmp_path, capsys):
    out = tmp_path / "draws.npz"
    command = [
        "sample",
        "gaussian",
        str(values),
        "--out",
        str(out),
        "--n-draws",
        "50",
        "--seed",
        "1",
    ]
    assert main([*command, "--n-chains", "3", "--k-max", "4", "--prior", "poisson"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("3 chains of 50 draws")
    assert f"draws written to {out}" in text
    draws = epl.Draws(out)
    assert (draws.n_chains, draws.n_draws, draws.n_items) == (3, 150, 6)
    model = epl.models.GaussianMixture([0.1, -0.2, 0.0, 5.0, 5.3, 5.1], prior="poisson", k_max=4)
    ref = epl.sample(model, n_draws=50, n_chains=3, rng=1).draws
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(ref))
    assert main(["summarize", str(out), "--seed", "1"]) == 0
    assert capsys.readouterr().out.startswith("2 clusters of 6 items")


def test_sample_json_network_and_matrix(tmp_path, capsys):
    edges = tmp_path / "edges.csv"
    edges.write_text("i,j\n0,1\n1,2\n0,2\n")
    out = str(tmp_path / "draws.npz")
    command = ["--out", out, "--n-draws", "2", "--burn-in", "10", "--thin", "5", "--json"]
    assert main(["sample", "sbm", str(edges), "--n-nodes", "5", *command]) == 0
    data = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)  # no NaN in JSON
    assert (data["n_items"], data["n_chains"], data["n_draws"], data["thin"]) == (5, 2, 2, 5)
    assert data["rhat"]["number of clusters"] is None
    assert sum(data["n_clusters"].values()) == pytest.approx(1)
    np.savetxt(tmp_path / "matrix.csv", np.eye(4, 3), fmt="%d")
    assert (
        main(["sample", "lbm", str(tmp_path / "matrix.csv"), "--moves", "appendix", *command]) == 0
    )
    assert epl.Draws(out).n_items == 4
    assert epl.Draws(out, var="column_labels").n_items == 3


def test_sample_resumes_a_checkpoint(values, tmp_path, capsys):
    command = ["sample", "gaussian", str(values), "--burn-in", "10", "--thin", "7"]
    saved, first, whole, more = (str(tmp_path / f"{name}.npz") for name in "abcd")
    assert (
        main([*command, "--out", first, "--n-draws", "20", "--seed", "1", "--checkpoint", saved])
        == 0
    )
    assert main([*command, "--out", more, "--n-draws", "40", "--resume", saved]) == 0
    assert main([*command, "--out", whole, "--n-draws", "40", "--seed", "1"]) == 0
    np.testing.assert_array_equal(np.asarray(epl.Draws(more)), np.asarray(epl.Draws(whole)))
    capsys.readouterr()


SAMPLE = ["sample", "gaussian", "{y}", "--out", "d.npz"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["sample", "gaussian", "no.csv", "--out", "d.npz"],
            "There is no file 'no.csv'",
        ),
        ([*SAMPLE[:-1], "d.csv"], "The output 'd.csv' must end in .npz; it ends in '.csv'"),
        ([*SAMPLE[:-1], "nowhere/d.npz"], "There is no folder 'nowhere'"),
        (
            [*SAMPLE, "--n-nodes", "3"],
            "'--n-nodes' is for the models of networks, 'sbm' and 'dcsbm'",
        ),
        ([*SAMPLE, "--prior", "poison"], "Did you mean 'poisson'?"),
        ([*SAMPLE, "--moves", "all"], "'--moves' must be one of"),
        (
            ["reproduce", "galaxies", "--data", "."],
            "'--data' must be left out for 'galaxies', whose",
        ),
        (["reproduce", "galaxies", "--out", "{y}"], "'--out' must be a folder"),
        (
            ["reproduce", "blogs", "--data", "no"],
            "'--data' must be a folder with french_blogs_edges",
        ),
        (["demo", "--out", "{y}"], "'--out' must be a folder"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    arguments, message, values, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main([argument.format(y=values) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    assert "3 clusters of 82 items\n  sizes          72, 7, 3\n  expected loss  1." in text
    assert "epluribus-demo/ (begin with summary.md)" in text
    folder = tmp_path / "epluribus-demo"
    assert {"summary.md", "labels.csv", "draws.npz"} < {path.name for path in folder.iterdir()}


def test_reproduce_prints_the_facts_and_the_files(tmp_path, monkeypatch, capsys):
    from epluribus import studies

    seen = {}

    def quick_one(**options):
        seen.update(options)
        short = Protocol(n_draws=300, burn_in=20_000, n_chains=2, n_greedy=2, n_seeds=1)
        return studies.galaxies(protocol=short, losses=("vi", "binder"), rng=options["rng"])

    monkeypatch.setitem(studies.STUDIES, "galaxies", quick_one)
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "galaxies", "--quick", "--as-printed", "--seed", "7", "--n-jobs", "1"]
    assert main(command) == 0
    expected = {"quick": True, "as_printed": True, "rng": 7, "n_jobs": 1, "progress": True}
    assert seen == expected
    text = capsys.readouterr().out
    assert "posterior of the number of clusters peaks at   4            4 (" in text
    assert (
        "Written to epluribus-galaxies: summary.md, labels.csv, draws.npz, galaxies-partition.png"
        in text
    )


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt_writes_the_draws_so_far_and_exits_130(values, tmp_path):
    """A real Ctrl-C in the middle of a long run, once its progress bar shows that draws are kept."""
    out, saved = tmp_path / "draws.npz", tmp_path / "saved.npz"
    command = ["sample", "gaussian", values, "--out", out, "--checkpoint", saved, "--n-chains", 1]
    command += ["--n-draws", 100_000_000, "--burn-in", 0, "--thin", 100]
    with Terminal(*command) as terminal:
        terminal.wait_for(r"\| [0-9.]+[kMG]/")  # thousands of steps, a draw every hundred
        terminal.interrupt()
        code, _ = terminal.end()
    assert code == 130, terminal.err
    assert "the draws so far are written" in terminal.err
    assert epl.Draws(out).n_draws >= 10
    assert saved.exists()
