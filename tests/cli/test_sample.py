"""sample: models of data in files, networks and their words, options; what Ctrl-C leaves."""

import io
import json
import os

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.cli._data import read_items, read_model
from terminal import Terminal

NAMED = "ann,bob\nbob,cid\ncid,dan\ndan,ann\n"
NUMBERS = [0.1, -0.2, 0.0, 5.0, 5.3, 5.1]


@pytest.fixture
def values(tmp_path):
    path = tmp_path / "y.csv"
    path.write_text("y\n" + "\n".join(map(str, NUMBERS)) + "\n")
    return path


@pytest.fixture
def sample(tmp_path, capsys):
    """Runs `epluribus sample` on a file with a given text; returns the code, stdout and stderr."""

    def run(model, text, *words):
        path = tmp_path / "data.csv"
        path.write_text(text)
        out = str(tmp_path / "draws.npz")
        few = ["--n-draws", "10", "--n-chains", "1", "--seed", "1", "--json"]
        code = main(["sample", model, str(path), "--out", out, *few, *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_it_writes_draws_that_summarize_reads(values, tmp_path, capsys):
    out = tmp_path / "draws.npz"
    words = ["-o", str(out), "--n-draws", "50", "--seed", "1", "--n-chains", "3", "--k-max", "4"]
    assert main(["sample", "gaussian", str(values), *words, "--prior", "poisson"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("3 chains of 50 draws")
    assert f"draws written to {out}" in text
    draws = epl.Draws(out)
    model = epl.models.GaussianMixture(NUMBERS, prior="poisson", k_max=4)
    ref = epl.sample(model, n_draws=50, n_chains=3, rng=1).draws
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(ref))
    assert "the model GaussianMixture(" in epl.read_draws(out, burn=5).origin
    assert main(["summarize", str(out), "--seed", "1"]) == 0
    assert capsys.readouterr().out.startswith("2 clusters of 6 items")


def test_json(sample, tmp_path):
    words = ["--n-nodes", "5", "--n-draws", "2", "--burn", "10", "--thin", "5"]
    code, out, _ = sample("sbm", "i,j\n0,1\n1,2\n0,2\n", *words)
    data = json.loads(out, parse_constant=pytest.fail)  # no NaN in JSON
    assert (code, data["n_items"], data["n_chains"], data["thin"]) == (0, 5, 1, 5)
    assert data["rhat"]["number of clusters"] is None
    assert sum(data["n_clusters"].values()) == pytest.approx(1)
    assert sample("lbm", "1 0 0\n0 1 0\n0 0 1\n0 0 0\n", "--moves", "appendix")[0] == 0
    assert epl.Draws(tmp_path / "draws.npz", var="column_labels").n_items == 3


def test_it_goes_on_from_a_checkpoint(values, tmp_path):
    command = ["sample", "gaussian", str(values), "--burn", "10", "--thin", "7"]
    saved, first, whole, more = (str(tmp_path / f"{name}.npz") for name in "abcd")
    seed = ["--seed", "1"]
    assert main([*command, "-o", first, "--n-draws", "20", *seed, "--checkpoint", saved]) == 0
    assert main([*command, "-o", more, "--n-draws", "40", *seed, "--checkpoint", saved]) == 0
    assert main([*command, "-o", whole, "--n-draws", "40", *seed]) == 0
    np.testing.assert_array_equal(np.asarray(epl.Draws(more)), np.asarray(epl.Draws(whole)))


def test_a_network_is_described(sample, tmp_path):
    names = "nodes ann, bob, cid, ..."
    code, _, said = sample("sbm", NAMED)
    assert code == 0
    said_first = f"epluribus: network of 4 nodes, 4 edges, undirected, {names}"
    assert said == f"{said_first} (--directed if links have a direction)\n"
    assert epl.read_draws(tmp_path / "draws.npz").items == ("ann", "bob", "cid", "dan")
    assert (
        sample("sbm", NAMED, "--directed")[2] == said_first.replace("undirected", "directed") + "\n"
    )


def test_a_heading_is_said_and_can_be_denied(sample, tmp_path):
    text = "knows,likes\n" + NAMED
    said = "the first line is the heading knows, likes (--header no if it is data)"
    assert said in sample("sbm", text)[2]
    assert epl.read_draws(tmp_path / "draws.npz").n_items == 4
    assert said not in sample("sbm", text, "--header", "no")[2]
    assert epl.read_draws(tmp_path / "draws.npz").n_items == 6
    assert "heading ann, bob" in sample("sbm", NAMED, "--header", "yes")[2]


def test_rows_and_columns_are_written_with_their_names(sample, tmp_path):
    code, _, said = sample("lbm", "who,what\nann,tea\nbob,tea\nbob,milk\ncid,milk\n")
    assert (code, "matrix of 3 rows and 2 columns" in said) == (0, True)
    assert epl.read_draws(tmp_path / "draws.npz").items == ("ann", "bob", "cid")
    columns = epl.read_draws(tmp_path / "draws-columns.npz")
    assert (columns.items, columns.n_chains) == (("milk", "tea"), 1)
    assert sample("lbm", "ann,tea,2\nbob,tea,1\n", "--ignore-weights")[0] == 0


@pytest.mark.parametrize(
    ("model", "text", "n_items"),
    [
        ("categorical", "name,a,b\nann,y,n\nbob,?,y\ncid,n,n\n", 3),
        ("poisson", "name,a,b\nann,3,4\nbob,NA,0\ncid,2,9\n", 3),
        ("bernoulli", ",a,b\nann,1,0\nbob,0,0\ncid,1,1\n", 3),
        ("gaussian", "a,b\n0.5,1\n0.7,2\n", 2),
        ("poisson-sbm", "ann,bob,2\nbob,cid,1\n", 3),
    ],
)
def test_every_model_reads_its_data(model, text, n_items, sample, tmp_path):
    code, _, said = sample(model, text)
    assert code == 0, said
    with np.load(tmp_path / "draws.npz") as file:
        assert file["labels"].shape[-1] == n_items
        assert n_items == 2 or file["items"].tolist() == ["ann", "bob", "cid"]


@pytest.mark.parametrize(
    ("model", "text", "words", "message"),
    [
        ("sbm", "1,2,5\n2,3,1\n4,3,1\n", [], "Give --ignore-weights, or take a model of counts"),
        ("dcsbm", "1,2,0.5\n2,3,1\n4,3,1\n2,4,1\n", [], "must hold counts, integers 0, 1, 2"),
        ("sbm", "0,1\n1,2\n1,0\n", [], "Give --directed if (i, j) and (j, i)"),
        ("sbm", "0,0\n1,2\n1,0\n", [], "Give --loops to allow it"),
        ("sbm", NAMED, ["--tau", "1"], "'--tau' is not for the model 'sbm'"),
        ("sbm", NAMED, ["--header", "maybe"], "'--header' must be one of 'yes', 'no'"),
        ("gaussian", "1\n2\n", ["--directed"], "'--directed' is not for the model 'gaussian'"),
        ("gaussian", "1\n2\n", ["--alpha", "-1"], "'--alpha' must be"),
        ("gaussian", "1\n2\n", ["--prior", "poison"], "Did you mean 'poisson'?"),
        ("gaussian", "1\n2\n", ["--out", "d.csv"], "The output 'd.csv' must end in .npz"),
        ("gaussian", "1\n2\n", ["--out", "nowhere/d.npz"], "There is no folder 'nowhere'"),
        ("gauss", "1\n2\n", [], "'MODEL' must be one of 'gaussian'"),
    ],
)
def test_what_cannot_be_used_is_explained_in_one_line(model, text, words, message, sample):
    code, out, error = sample(model, text, *words)
    assert (code, out) == (2, "")
    assert message in error
    assert error.count("\n") == 1


def test_options_of_the_prior_reach_the_model(sample):
    y = "\n".join(map(str, np.random.default_rng(1).normal(size=20) * 30 + 7))
    words = ["--alpha", "2", "--delta", "0.2", "--gamma", "0.7", "--tau", "0.05"]
    code, out, _ = sample("gaussian", y, *words)
    assert code == 0
    # The prior on partitions, in words, is that of this concentration.
    law = epl.models.GaussianMixture(np.arange(20.0), alpha=2).sides[0].prior
    assert json.loads(out)["prior"] == [law.describe(20)]


def test_models_of_files(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_text("i,j\n0,1\n1,2\n0,2\n")
    assert read_model("sbm", path, k_max=2).n_edges == 3
    path.write_text("1 2\n2 3\n3 4\n")  # numbers are names: no node 0 is added
    assert read_model("sbm", path).sides[0].items == ("1", "2", "3", "4")
    assert read_model("sbm", path, n_nodes=5, directed=True).n_items == 5
    path.write_text('"","x"\n"1",0.5\n"2",7\n')  # as R writes it
    assert read_items(path).to_numpy().tolist() == [[0.5], [7.0]]
    np.save(tmp_path / "y.npy", np.eye(3))
    assert read_model("lbm", tmp_path / "y.npy").n_items == 3
    monkeypatch.setattr("sys.stdin", io.StringIO("velocity\n9.2\n16.1\n"))
    assert read_model("gaussian", type(path)("-")).n_items == 2
    monkeypatch.setattr("sys.stdin", io.StringIO(NAMED))
    assert read_model("sbm", type(path)("-")).n_items == 4


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt_writes_the_draws_so_far_and_exits_130(values, tmp_path):
    """A real Ctrl-C in the middle of a long run, once its progress bar shows that draws are kept."""
    out, saved = tmp_path / "draws.npz", tmp_path / "saved.npz"
    command = ["sample", "gaussian", values, "--out", out, "--checkpoint", saved, "--n-chains", 1]
    command += ["--n-draws", 100_000_000, "--burn", 0, "--thin", 100]
    with Terminal(*command) as terminal:
        terminal.wait_for(r"\| [0-9.]+[kMG]/")  # thousands of steps, a draw every hundred
        terminal.interrupt()
        code, _ = terminal.end()
    assert code == 130, terminal.err
    assert "the draws so far are written" in terminal.err
    assert epl.Draws(out).n_draws >= 10
    assert saved.exists()
