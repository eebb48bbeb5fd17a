"""The commands psm, ball and modes: how sure the answer is."""

import io
import json

import numpy as np
import pytest
import scipy.sparse

import epluribus as epl
from epluribus.cli import main


def _json(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


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
    assert lines[0] == "i,j,similarity"
    assert lines[1] == "item 0,item 0,1"
    assert len(lines) - 1 == (found.nnz + z.shape[1]) // 2


def test_psm_from_standard_input_to_standard_output(z, draws_file, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(draws_file.read_text()))
    assert main(["psm", "-", "--out", "-"]) == 0
    found = np.loadtxt(io.StringIO(capsys.readouterr().out), delimiter=",", skiprows=1)
    np.testing.assert_allclose(found, epl.psm(z), atol=1e-6)


def test_ball(z, draws_file, capsys):
    data = _json(capsys, "ball", draws_file, "--loss", "binder", "--level", 0.5, "--seed", 1)
    ball = epl.credible_ball(epl.minimize(z, "binder", rng=1), z, 0.5)
    assert data["radius"] == ball.radius
    assert data["bounds"]["upper"]["labels"] == ball.upper.tolist()
    assert main(["ball", str(draws_file), "--seed", "1"]) == 0
    assert capsys.readouterr().out.startswith("95% credible ball")


def test_ball_around_given_labels(z, draws_file, tmp_path, capsys):
    names = [f"item {i},{label}" for i, label in enumerate(z[0])]
    radius = epl.credible_ball(z[0], z).radius
    for text in ("\n".join(map(str, z[0])), "\n".join(["item,cluster", *names[::-1]])):
        (tmp_path / "labels.csv").write_text(text + "\n")
        found = _json(capsys, "ball", draws_file, "--labels", tmp_path / "labels.csv")
        assert found["radius"] == radius


def test_modes(draws_file, capsys):
    data = _json(capsys, "modes", draws_file, "--n-modes", 2, "--seed", 1)
    found = epl.modes(epl.read_draws(draws_file), n_modes=2, rng=1)
    assert data["weights"] == found.weights.tolist()
    assert data["sentence"] == found.sentence
    assert len(data["labels"]) == 2
    assert main(["modes", str(draws_file), "--n-modes", "2", "--seed", "1"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == str(found)


def test_plausible(z, draws_file, tmp_path, capsys):
    many = tmp_path / "many.csv"
    np.savetxt(many, np.tile(z, (20, 1)), fmt="%d", delimiter=",")
    np.savetxt(tmp_path / "expert.csv", z[0], fmt="%d")
    found = epl.uncertainty.plausibility(z[0], epl.read_draws(many))
    data = _json(capsys, "plausible", many, tmp_path / "expert.csv")
    assert (data["p_values"], data["sentences"]) == (found.p_values.tolist(), [found.sentence])
    few = _json(capsys, "plausible", draws_file, tmp_path / "expert.csv")  # 20 draws
    assert few["p_values"] == [None]
    assert main(["plausible", str(many), str(tmp_path / "expert.csv")]) == 0
    assert found.sentence in capsys.readouterr().out


def test_items_and_ensembles(z, draws_file, tmp_path, capsys):
    table = epl.items(epl.minimize(z, rng=1), z)
    data = _json(capsys, "items", draws_file, "--seed", "1")
    assert data["support"] == pytest.approx(table.columns()["support"].tolist())
    assert main(["items", str(draws_file), "--seed", "1", "--out", str(tmp_path / "i.csv")]) == 0
    assert len((tmp_path / "i.csv").read_text().splitlines()) == len(table) + 1
    capsys.readouterr()
    assert main(["ball", str(draws_file), "--seed", "1", "--ensemble"]) == 0
    assert capsys.readouterr().out.startswith("95% ball")
