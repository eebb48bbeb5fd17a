import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import epluribus as epl
import strategies
from epluribus.cli import main


@pytest.fixture
def draws_file(tmp_path):
    path = tmp_path / "draws.csv"
    z = strategies.random_draws(np.random.default_rng(0), 20, 30, 3)
    np.savetxt(path, z, fmt="%d", delimiter=",")
    return path


def test_summarize(draws_file, tmp_path, capsys):
    out = tmp_path / "labels.csv"
    code = main(["summarize", str(draws_file), "--seed", "1", "--out", str(out)])
    assert code == 0
    text = capsys.readouterr().out
    best = epl.minimize(str(draws_file), rng=1)
    assert text.startswith(str(best).split("\n  search")[0])
    assert f"labels written to {out}" in text
    rows = out.read_text().splitlines()
    assert rows[0] == "item,cluster,certainty"
    assert [int(row.split(",")[1]) for row in rows[1:]] == best.labels.tolist()
    support = epl.uncertainty.items(best, str(draws_file)).support
    assert [float(row.split(",")[2]) for row in rows[1:]] == pytest.approx(support, abs=1e-8)


def test_summarize_without_a_column_for_certainty(draws_file, tmp_path):
    out = tmp_path / "labels.txt"
    assert main(["summarize", str(draws_file), "--seed", "1", "--out", str(out)]) == 0
    assert [int(line) for line in out.read_text().split()] == epl.minimize(
        str(draws_file), rng=1
    ).labels.tolist()


def test_summarize_json(draws_file, capsys):
    assert main(["summarize", str(draws_file), "--loss", "binder", "--k", "2", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["n_clusters"] == 2
    assert data["loss"] == "binder"
    assert len(data["labels"]) == 20


def test_compare(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("0\n0\n1\n")
    (tmp_path / "b.txt").write_text("0\n1\n1\n")
    args = ["compare", str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert main([*args, "--loss", "binder"]) == 0
    assert capsys.readouterr().out.split() == ["binder", "2"]
    assert main([*args, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == set(epl.losses.available())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["summarize", "nowhere.csv"], "epluribus: There is no file 'nowhere.csv'."),
        (["summarize", "{draws}", "--loss", "vii"], "Did you mean 'vi'?"),
        (
            ["summarize", "{draws}", "--k-max", "0"],
            "'--k-max' must be at least 1; got 0. Leaving it out means no bound",
        ),
        (["summarize", "{draws}", "--out", "labels.doc"], "must end in .csv"),
    ],
)
def test_bad_input_is_one_line_and_code_2(arguments, message, draws_file, capsys):
    code = main([argument.format(draws=draws_file) for argument in arguments])
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_version_and_module():
    command = [sys.executable, "-m", "epluribus", "--version"]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert out.stdout == f"epluribus {epl.__version__}\n"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt_writes_the_best_so_far_and_exits_130(tmp_path):
    """A real Ctrl-C in the middle of a long search."""
    z = strategies.random_draws(np.random.default_rng(0), 2000, 3000, 100)
    np.save(tmp_path / "z.npy", z)
    command = [sys.executable, "-u", "-m", "epluribus", "summarize", str(tmp_path / "z.npy")]
    command += ["--loss", "nid", "--out", str(tmp_path / "labels.npy"), "--n-starts", "50"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    time.sleep(6)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stopped early" in out
    assert "this is the best so far" in err
    assert np.load(tmp_path / "labels.npy").shape == (2000,)


def test_import_is_light():
    """Nothing heavy is imported, and a warm import takes little time."""
    code = (
        "import sys, time; t = time.process_time(); import epluribus; "
        "heavy = {'matplotlib', 'pandas', 'sklearn', 'xarray', 'arviz', 'scipy.optimize', 'tqdm'};"
        "print(time.process_time() - t, sorted(heavy & set(sys.modules)))"
    )
    times = []
    for _ in range(4):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        seconds, heavy = out.stdout.split(maxsplit=1)
        assert heavy.strip() == "[]"
        times.append(float(seconds))
    assert min(times) < 0.6


def test_compare_matches_items_by_name(draws_file, tmp_path, capsys):
    out, mixed = tmp_path / "labels.csv", tmp_path / "mixed.csv"
    assert main(["summarize", str(draws_file), "--seed", "1", "--out", str(out)]) == 0
    head, *rows = out.read_text().splitlines()
    mixed.write_text("\n".join([head, *rows[::-1]]) + "\n")
    capsys.readouterr()
    assert main(["compare", str(out), str(mixed), "--loss", "vi", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"vi": 0.0}
    mixed.write_text("\n".join([head, *rows[:-1], "stranger,0,1.0"]) + "\n")
    assert main(["compare", str(out), str(mixed)]) == 2
    assert "must name the same items" in capsys.readouterr().err
    mixed.write_text("\n".join([head, *rows[:-1]]) + "\n")
    assert main(["compare", str(out), str(mixed)]) == 2
    assert f"'{mixed}' has {len(rows) - 1}" in capsys.readouterr().err


def test_the_variable_that_is_read_is_named(tmp_path, capsys):
    np.savez(tmp_path / "draws.npz", counts=[[1, 1, 2], [1, 2, 2]], mu=[[0.5, 0.5], [0.1, 0.2]])
    assert main(["summarize", str(tmp_path / "draws.npz")]) == 0
    assert "labels are read from the variable 'counts'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to(draws_file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main(["summarize", str(draws_file), "--out", str(tmp_path / "labels.csv")]) == 2
    assert "does not allow 'labels.csv' to be written" in capsys.readouterr().err


def test_compare_reads_standard_input_once(tmp_path, capsys, monkeypatch):
    (tmp_path / "b.txt").write_text("1\n1\n2\n")
    for text in ("0\n0\n5\n", "item,cluster\na,0\nb,0\nc,5\n", "0,0,5\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert main(["compare", "-", str(tmp_path / "b.txt"), "--loss", "vi", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"vi": 0.0}


def test_compare_refuses_missing_labels(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("item,cluster\na,1\nb,NA\nc,1\n")
    assert main(["compare", str(tmp_path / "a.csv"), str(tmp_path / "a.csv")]) == 2
    assert "has a missing value ('NA') in line 3, cell 2" in capsys.readouterr().err


def test_compare_matches_numbers_of_items_with_and_without_certainty(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("item,cluster,certainty\n1,0,0.5\n2,0,0.7\n3,1,1.0\n")
    (tmp_path / "b.csv").write_text("item,cluster\n3,9\n2,4\n1,4\n")
    assert main(["compare", *(str(tmp_path / f"{x}.csv") for x in "ab"), "--loss", "vi"]) == 0
    assert capsys.readouterr().out.split() == ["vi", "0"]
