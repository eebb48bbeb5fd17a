"""The command compare: two files of labels of the same items."""

import io
import json

import pytest

import epluribus as epl
from epluribus.cli import main


@pytest.fixture
def files(tmp_path):
    """Two files of labels, to be written by the test."""
    return tmp_path / "a.csv", tmp_path / "b.csv"


def _compare(a, b, *options):
    return main(["compare", str(a), str(b), *options])


def test_one_loss_or_all(files, capsys):
    a, b = files
    a.write_text("0\n0\n1\n")
    b.write_text("0\n1\n1\n")
    assert _compare(a, b, "--loss", "binder") == 0
    value, words = capsys.readouterr().out.splitlines()
    assert value.split() == ["binder", "2"]
    assert words.startswith("in ")
    assert _compare(a, b, "--json") == 0
    assert set(json.loads(capsys.readouterr().out)) == {"json_version", *epl.losses.available()}


def test_items_are_matched_by_name(draws_file, files, capsys):
    out, mixed = files
    assert main(["summarize", str(draws_file), "--seed", "1", "--out", str(out)]) == 0
    head, *rows = out.read_text().splitlines()
    mixed.write_text("\n".join([head, *rows[::-1]]) + "\n")
    capsys.readouterr()
    assert _compare(out, mixed, "--loss", "vi", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"json_version": 1, "vi": 0.0}
    mixed.write_text("\n".join([head, *rows[:-1], "stranger,0,1.0"]) + "\n")
    assert _compare(out, mixed) == 2
    assert "must name the same items" in capsys.readouterr().err
    mixed.write_text("\n".join([head, *rows[:-1]]) + "\n")
    assert _compare(out, mixed) == 2
    assert f"'{mixed}' must have {len(rows)} items; got {len(rows) - 1}" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0\n0\n5\n", "item,cluster\na,0\nb,0\nc,5\n", "0,0,5\n"])
def test_standard_input_is_read_once(text, files, capsys, monkeypatch):
    files[1].write_text("1\n1\n2\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert _compare("-", files[1], "--loss", "vi", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"json_version": 1, "vi": 0.0}


def test_missing_labels_are_refused(files, capsys):
    files[0].write_text("item,cluster\na,1\nb,NA\nc,1\n")
    assert _compare(files[0], files[0]) == 2
    assert "item 1 (counted from 0) has a missing value" in capsys.readouterr().err
