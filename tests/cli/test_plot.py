"""plot, and data and networks on the page."""

import json

import numpy as np
import pytest

from epluribus.cli import main
from epluribus.plots import KINDS

NAMES = [f"n{i}" for i in range(8)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    z = np.repeat([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 0]], [20, 10], axis=0)
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in z)]
    (tmp_path / "z.csv").write_text("\n".join(lines))
    rows = [f"{name},{i},{i * i}" for i, name in enumerate(NAMES)]
    (tmp_path / "xy.csv").write_text("\n".join(["who,x,y", *rows[::-1]]))
    (tmp_path / "x.csv").write_text("\n".join(row.rpartition(",")[0] for row in ["who,x,", *rows]))
    # Node n7 has no edge.
    (tmp_path / "edges.csv").write_text("from,to\nn0,n1\nn2,n1\nn3,n0\nn4,n5\nn6,n4\n")
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn(kind, folder, capsys):
    data = "x.csv" if kind == "histogram" else "xy.csv"
    needed = {"data": f"--data {data}", "network": "--network edges.csv", "draws": ""}[
        KINDS[kind][1]
    ]
    words = f"plot z.csv --kind {kind} {needed} -o a.png --json"
    assert main(words.split()) == 0
    assert json.loads(capsys.readouterr().out) == {"json_version": 1, "out": "a.png", "kind": kind}
    assert (folder / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_one_column_is_a_histogram(folder, capsys):
    np.save("x.npy", np.arange(8.0))
    for data in ("x.csv", "x.npy"):
        assert main(["plot", "z.csv", "--data", data, "-o", "a.svg"]) == 0
        assert capsys.readouterr().out == "histogram drawn into a.svg\n"
        named = "<!-- x -->" in (folder / "a.svg").read_text()  # the name of the column
        assert named == (data == "x.csv")


def test_data_and_network_on_the_page(folder, capsys):
    words = ["--data", "xy.csv", "--network", "edges.csv", "--time-limit", "1"]
    assert main(["report", "z.csv", "-o", "page.html", *words]) == 0
    page = (folder / "page.html").read_text("utf-8")
    assert "The two columns of the data" in page
    assert "etwork" in page
    assert "best.health" not in capsys.readouterr().out
    assert main(["report", "z.csv", "-o", "other.html", "--data", "edges.csv"]) == 2
    assert "'edges.csv' must hold numbers" in capsys.readouterr().err
