"""Probabilities of clusters from files: in whatever order the columns come, each is where its name says."""

import json

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.readers.soft import read_soft


@pytest.fixture
def probabilities():
    """(8 draws, 5 items, 3 clusters); a table of them read in the wrong order would not sum to 1."""
    return np.random.default_rng(1).dirichlet([0.3, 0.3, 0.3], size=(8, 5))


def write_cmdstan(path, values, name="p", warmup=0):
    """A file as CmdStan writes it: comments, lp__, and a matrix with its first index fastest."""
    order = [(i, k) for k in range(values.shape[2]) for i in range(values.shape[1])]
    head = ",".join(["lp__", "mu.1", *(f"{name}.{i + 1}.{k + 1}" for i, k in order)])
    rows = [",".join(["-7.3", "0.5", *(repr(float(x[i, k])) for i, k in order)]) for x in values]
    rows[warmup:warmup] = ["# Adaptation terminated"]
    ends = "# method = sample (Default)", "# Elapsed Time: 0.012 seconds\n"
    path.write_text("\n".join([ends[0], head, *rows, ends[1]]))


def test_columns_in_the_order_of_cmdstan(tmp_path, probabilities):
    first, second = tmp_path / "chain_1.csv", tmp_path / "chain_2.csv"
    write_cmdstan(first, probabilities)
    write_cmdstan(second, probabilities[:4], warmup=2)
    found = read_soft([first, second])
    np.testing.assert_array_equal(found.values[:8], probabilities)
    np.testing.assert_array_equal(found.values[8:], probabilities[2:4])  # without the warmup
    assert found.chains.tolist() == [0] * 8 + [1] * 2


def test_columns_with_brackets_in_any_order(tmp_path, probabilities):
    names = [f'"p[{i + 1},{k + 1}]"' for i in range(5) for k in range(3)]
    order = np.random.default_rng(2).permutation(15)
    flat = probabilities.reshape(8, 15)[:, order]
    text = ",".join(["chain__", *(names[j] for j in order)])
    rows = [",".join([str(1 + t // 4), *map(repr, row.tolist())]) for t, row in enumerate(flat)]
    path = tmp_path / "draws.csv"
    path.write_text("\n".join([text, *rows]) + "\n")
    found = read_soft([path])
    np.testing.assert_array_equal(found.values, probabilities)
    assert found.chains.tolist() == [0] * 4 + [1] * 4


def test_the_command_keeps_chains_and_says_what_it_read(tmp_path, probabilities, capsys):
    files = [tmp_path / "c1.csv", tmp_path / "c2.csv"]
    write_cmdstan(files[0], np.log(probabilities), "lp")
    write_cmdstan(files[1], np.log(probabilities[::-1]), "lp")
    out = tmp_path / "draws.npz"
    words = ["soft", *map(str, files), "--out", str(out), "--seed", "1", "--n-draws-each", "2"]
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "epluribus: logarithms 'lp' of 5 items and 3 clusters\n"
    answer = json.loads(captured.out)
    assert (answer["n_draws"], answer["n_chains"], answer["log"]) == (32, 2, True)
    draws = epl.read_draws(out)
    assert (draws.n_chains, draws.n_draws, draws.n_items) == (2, 32, 5)
    assert "drawn from the probabilities" in draws.origin
    both = np.concatenate([probabilities, probabilities[::-1]])
    expected = epl.soft_draws(both, n_draws_each=2, rng=1)
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(epl.Draws(np.asarray(expected))))
    assert main(["summarize", str(out), "--seed", "1"]) == 0


def test_clusters_first(tmp_path, probabilities, capsys):
    np.save(tmp_path / "p.npy", probabilities.transpose(0, 2, 1))
    words = ["soft", str(tmp_path / "p.npy"), "--out", str(tmp_path / "d.npz"), "--seed", "1"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "more clusters than items" in error
    assert "--clusters-first" in error
    assert main([*words, "--clusters-first"]) == 0
    expected = epl.Draws(np.asarray(epl.soft_draws(probabilities, rng=1)))
    found = epl.read_draws(tmp_path / "d.npz")
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("z.1,z.2\n1,2\n", [], "has no probabilities of clusters"),
        ("p.1.1,p.2.1,q.1.1,q.2.1\n1,1,1,1\n", [], "as indices, 'p', 'q'; got none"),
        ("p.1.1,p.2.1,q.1.1,q.2.1\n1,1,1,1\n", ["--var", "r"], "'--var' must be one of"),
        ("p.1.1,p.2.1,p.1.2\n1,1,0\n", [], "must have a column for every item and cluster"),
        ("p.1.1,p.1.2\n0.5,0.4\n", [], "probabilities that sum to 1; draw 0, item 0"),
        ("p.1.1,p.1.2\n0.5,x\n", [], "must hold numbers; line 2, cell 2 has 'x'"),
    ],
)
def test_bad_files_are_one_line(text, words, message, tmp_path, capsys):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert main(["soft", str(path), "--out", str(tmp_path / "d.npz"), *words]) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
