"""sample on the command line: networks and their words, options of the prior; several losses in summarize."""

import json

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main


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


NAMED = "ann,bob\nbob,cid\ncid,dan\ndan,ann\n"


def test_a_network_is_described(sample, tmp_path):
    code, _, words = sample("sbm", NAMED)
    assert code == 0
    assert words == (
        "epluribus: undirected network of 4 nodes and 4 edges, nodes ann, bob, cid, ... "
        "(--directed if links have a direction)\n"
    )
    assert epl.read_draws(tmp_path / "draws.npz").items == ("ann", "bob", "cid", "dan")
    code, _, words = sample("sbm", NAMED, "--directed")
    assert words == "epluribus: directed network of 4 nodes and 4 edges, nodes ann, bob, cid, ...\n"


def test_numbers_from_one_are_names_and_that_is_said(sample, tmp_path):
    code, _, words = sample("sbm", "1,2\n2,3\n3,4\n")
    assert code == 0
    assert "do not begin with 0: they are names" in words
    assert epl.read_draws(tmp_path / "draws.npz").items == ("1", "2", "3", "4")


@pytest.mark.parametrize(
    ("model", "text", "words", "message"),
    [
        (
            "sbm",
            "1,2,5\n2,3,1\n4,3,1\n2,4,1\n",
            [],
            "has weights, and the links of 'sbm' have none",
        ),
        ("dcsbm", "1,2,0.5\n2,3,1\n4,3,1\n2,4,1\n", [], "must have counts, integers 0, 1, 2"),
        ("sbm", "ann,bob,2\nbob,cid,1\n", [], "take the model 'dcsbm', which has counts"),
        ("sbm", "0,1\n1,2\n1,0\n", [], "give --directed if (i, j) and (j, i) differ"),
        ("sbm", "0,0\n1,2\n1,0\n", [], "Give --loops to allow it"),
        ("sbm", NAMED, ["--standardize"], "'--standardize' is for the model 'gaussian'; got 'sbm'"),
        (
            "gaussian",
            "1\n2\n",
            ["--directed"],
            "'--directed' is for the models of networks, 'sbm' and",
        ),
        ("gaussian", "1\n1\n", ["--standardize"], "must be used with columns that vary"),
        ("gaussian", "1\n2\n", ["--alpha", "-1"], "'--alpha' must be"),
    ],
)
def test_what_cannot_be_used_is_explained_in_words_of_the_command(
    model, text, words, message, sample
):
    code, _, error = sample(model, text, *words)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1


def test_weights_of_one_and_loops_are_taken(sample):
    assert sample("sbm", "1,2,1\n2,3,1\n4,3,1\n2,4,1\n")[0] == 0
    assert sample("sbm", "0,0\n1,2\n1,0\n", "--loops")[0] == 0


def test_options_of_the_prior_reach_the_model(sample):
    y = "\n".join(map(str, np.random.default_rng(1).normal(size=20) * 30 + 7))
    words = ["--alpha", "2", "--delta", "0.2", "--gamma", "0.7", "--tau", "0.05", "--standardize"]
    code, out, _ = sample("gaussian", y, *words)
    assert code == 0
    # The prior on partitions, in words, is that of this concentration.
    law = epl.models.GaussianMixture(np.arange(20.0), alpha=2).sides[0].prior
    assert json.loads(out)["prior"] == [law.describe(20)]


def test_standardized_data_are_those_of_the_library(tmp_path):
    from epluribus.cli._models import read_model

    y = np.random.default_rng(1).normal(size=(60, 2)) * [3, 50] + 7
    np.save(tmp_path / "y.npy", y)
    own = epl.models.GaussianMixture((y - y.mean(axis=0)) / y.std(axis=0), delta=0.2)
    model = read_model("gaussian", tmp_path / "y.npy", standardize=True, delta=0.2)
    labels = np.arange(60) % 3
    assert model.log_posterior(labels) == pytest.approx(own.log_posterior(labels))


def test_several_losses(draws_file, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    words = ["summarize", str(draws_file), "--loss", "vi(cost=0.5), binder", "--seed", "1"]
    assert main([*words, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "bits of VI between" in text
    assert f"labels written to {out}" in text
    assert out.read_text().splitlines()[0] == "item,vi(cost=0.5),binder"
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    single = epl.minimize(epl.read_draws(draws_file), ["vi(cost=0.5)", "binder"], rng=1)
    for one, other in zip(answer["estimates"], single, strict=True):
        assert one["labels"] == other.labels.tolist()
    column = [int(line.split(",")[2]) for line in out.read_text().splitlines()[1:]]
    assert column == answer["estimates"][1]["labels"]
    assert main([*words, "--out", str(tmp_path / "labels.txt")]) == 2
    assert "must end in .csv or .parquet for several losses" in capsys.readouterr().err
    assert main(["ball", str(draws_file), "--loss", "vi,binder"]) == 2
    assert "'--loss' must be one loss here" in capsys.readouterr().err
