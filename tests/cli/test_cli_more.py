import argparse
import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

import epluribus as epl
import strategies
from epluribus.cli import _parser, main


@pytest.fixture(scope="module")
def z():
    return strategies.random_draws(np.random.default_rng(0), 20, 12, 3)


@pytest.fixture(scope="module")
def draws_file(z, tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "draws.csv"
    names = ",".join(f"item {i}" for i in range(z.shape[1]))
    np.savetxt(path, z, fmt="%d", delimiter=",", header=names, comments="")
    return path


def _commands():
    action = next(a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    return action.choices


def _json(capsys, *arguments):
    assert main([str(a) for a in arguments] + ["--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", list(_commands()))
def test_help_of_every_command_has_an_example(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    assert f"epluribus {name}" in capsys.readouterr().out.split("Example", 1)[1].replace("\n", " ")


@pytest.mark.parametrize("ending", ["npy", "npz", "csv"])
def test_psm_dense(ending, z, draws_file, tmp_path, capsys):
    out = tmp_path / f"psm.{ending}"
    assert main(["psm", str(draws_file), "--out", str(out)]) == 0
    assert f"written to {out}" in capsys.readouterr().out
    if ending == "npy":
        found = np.load(out)
    elif ending == "npz":
        with np.load(out) as archive:
            found, names = archive["psm"], archive["items"]
        assert names[1] == "item 1"
    else:
        found = np.loadtxt(out, delimiter=",", skiprows=1)
    np.testing.assert_allclose(found, epl.psm(z), atol=1e-6)


def test_psm_sparse(z, draws_file, tmp_path, capsys):
    out = tmp_path / "psm.npz"
    data = _json(capsys, "psm", draws_file, "--sparse", "--threshold", 0.4, "--out", out)
    found = scipy.sparse.load_npz(out)
    want = epl.psm(z)
    np.testing.assert_allclose(found.toarray(), np.where(want > 0.4, want, 0.0))
    assert data["n_entries"] == found.nnz
    assert main(["psm", str(draws_file), "--sparse", "--threshold", "0.4", "--out", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "i,j,probability"
    assert lines[1] == "item 0,item 0,1"
    assert len(lines) - 1 == (found.nnz + z.shape[1]) // 2


def test_stdin_and_stdout(z, draws_file, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(draws_file.read_text()))
    assert main(["psm", "-", "--out", "-"]) == 0
    out = capsys.readouterr().out
    found = np.loadtxt(io.StringIO(out), delimiter=",", skiprows=1)
    np.testing.assert_allclose(found, epl.psm(z), atol=1e-6)
    monkeypatch.setattr("sys.stdin", io.StringIO(draws_file.read_text()))
    assert main(["summarize", "-", "--out", "-", "--seed", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == "item,cluster,certainty"
    labels = [int(line.split(",")[1]) for line in captured.out.splitlines()[1:]]
    assert labels == epl.minimize(z, rng=1).labels.tolist()
    assert "expected loss" in captured.err


def test_several_files_are_chains(draws_file, capsys):
    data = _json(capsys, "summarize", draws_file, draws_file, "--burn", 2, "--seed", 1)
    assert data["n_draws"] == 2 * (len(draws_file.read_text().splitlines()) - 1 - 2)


def test_ball_around_labels_in_another_order(draws_file, tmp_path, capsys):
    out, mixed = tmp_path / "labels.csv", tmp_path / "mixed.csv"
    assert main(["summarize", str(draws_file), "--seed", "1", "--out", str(out)]) == 0
    head, *rows = out.read_text().splitlines()
    mixed.write_text("\n".join([head, *rows[::-1]]) + "\n")
    capsys.readouterr()
    assert _json(capsys, "ball", draws_file, "--labels", mixed) == _json(
        capsys, "ball", draws_file, "--labels", out
    )


def test_ball(z, draws_file, capsys):
    data = _json(capsys, "ball", draws_file, "--loss", "binder", "--level", 0.5, "--seed", 1)
    best = epl.minimize(z, "binder", rng=1)
    ball = epl.credible_ball(best, z, 0.5)
    assert data["radius"] == ball.radius
    assert data["bounds"]["upper"]["labels"] == ball.upper.tolist()
    assert main(["ball", str(draws_file), "--seed", "1"]) == 0
    assert capsys.readouterr().out.startswith("95 % credible ball")


def test_ball_around_given_labels(z, draws_file, tmp_path, capsys):
    labels = tmp_path / "labels.txt"
    labels.write_text("\n".join(map(str, z[0])))
    data = _json(capsys, "ball", draws_file, "--labels", labels)
    assert data["radius"] == epl.credible_ball(z[0], z).radius


def test_modes(z, draws_file, capsys):
    data = _json(capsys, "modes", draws_file, "--n-modes", 2, "--seed", 1)
    found = epl.modes(z, n_modes=2, rng=1)
    assert data["weights"] == found.weights.tolist()
    assert data["sentence"] == found.sentence
    assert len(data["labels"]) == 2
    assert main(["modes", str(draws_file), "--n-modes", "2", "--seed", "1"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == str(found)


def test_losses_and_datasets(capsys):
    assert tuple(_json(capsys, "losses")) == epl.losses.available()
    assert set(_json(capsys, "datasets")) == {"galaxies", "congress", "blogs"}
    assert main(["losses"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(epl.losses.available())
    assert main(["datasets"]) == 0
    assert "82 galaxies" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["psm", "{draws}", "--out", "psm.txt"], "must end in .npy, .npz or .csv"),
        (["psm", "{draws}", "--out", "psm.npy", "--sparse"], "must end in .npz or .csv"),
        (["psm", "{draws}", "--out", "-", "--threshold", "0.1"], "'threshold' is for sparse=True"),
        (["psm", "{draws}", "--out", "-", "--json"], "both write to standard output"),
        (["summarize", "{draws}", "--out", "-", "--json"], "both write to standard output"),
        (["ball", "{draws}", "--level", "2"], "'--level' must be a number in (0, 1]; got 2.0"),
        (["modes", "{draws}", "--n-modes", "0"], "'--n-modes' must be"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments, message, draws_file, capsys):
    assert main([argument.format(draws=draws_file) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_empty_stdin(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["summarize", "-"]) == 2
    assert "'-' is empty" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_a_reader_that_has_enough_is_no_error(tmp_path):
    np.save(tmp_path / "z.npy", np.zeros((1, 1000), dtype=int))
    code = f"'{sys.executable}' -m epluribus psm '{tmp_path / 'z.npy'}' --out - | head -c 5"
    out = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "1,1,1"
    assert out.stderr == ""


def _complete(script, *words):
    line = " ".join(f"'{word}'" for word in words)
    code = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}\n_epluribus\n"
    code += 'printf "%s\\n" "${COMPREPLY[@]}"'
    out = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return out.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_completion_in_bash(capsys):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert _complete(script, "epluribus", "su") == ["summarize"]
    assert set(_commands()) <= set(_complete(script, "epluribus", ""))
    assert _complete(script, "epluribus", "ball", "--le") == ["--level"]
    assert _complete(script, "epluribus", "ball", "--loss", "bi") == ["binder"]
    assert _complete(script, "epluribus", "reproduce", "g") == ["galaxies"]


def test_completion_in_zsh_builds_on_that_of_bash(capsys):
    assert main(["completion", "zsh"]) == 0
    assert capsys.readouterr().out.startswith("autoload -U +X bashcompinit")
