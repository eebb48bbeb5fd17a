"""Models from files."""

import gzip
import io

import numpy as np
import pytest

from epluribus.cli._models import read_model, read_numbers
from epluribus.models import LatentBlockModel, StochasticBlockModel


def test_reads_tables_with_and_without_names(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n\n3, 4\n")
    assert read_numbers(path).tolist() == [[1, 2], [3, 4]]
    path.write_text("1\n2\n")
    assert read_numbers(path).tolist() == [1, 2]
    np.save(tmp_path / "data.npy", np.arange(3))
    assert read_numbers(tmp_path / "data.npy").tolist() == [0, 1, 2]


def test_makes_each_model(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("i,j\n0,1\n1,2\n0,2\n")
    graph = read_model("sbm", path, k_max=2)
    assert isinstance(graph, StochasticBlockModel)
    assert graph.n_edges == 3
    assert graph.sides[0].tables.slots == 2
    path.write_text("1 2\n2 3\n3 4\n")  # numbers from 1 are names: no node 0 is added
    assert read_model("sbm", path).sides[0].items == ("1", "2", "3", "4")
    assert read_model("sbm", path, n_nodes=5, directed=True).n_items == 5
    path.write_text("ann,bob,3\nbob,cid,1\n")
    degrees = read_model("dcsbm", path)
    assert degrees.sides[0].items == ("ann", "bob", "cid")
    assert degrees.n_edges == 4
    path.write_text("0 1\n1 0\n")
    assert isinstance(read_model("lbm", path), LatentBlockModel)
    assert read_model("gaussian", path).n_items == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\nx\n", r"The file '.*' must hold numbers; line 2, cell 1 has 'x'"),
        ("1 2\n3\n", r"rows of one length; line 1 has 2 cells and line 2 has 1"),
        ("velocity\n", "The file '.*' must hold numbers; line 1, cell 1 has 'velocity'"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_numbers(path)
    with pytest.raises(FileNotFoundError, match="There is no file '.*none.csv'"):
        read_numbers(tmp_path / "none.csv")
    with pytest.raises(
        ValueError, match="'name' must be one of 'gaussian', 'sbm', 'lbm', 'dcsbm'; got 'gauss'"
    ):
        read_model("gauss", path)


@pytest.mark.parametrize(
    "text",
    [
        '"","x"\n"1",0.5\n"2",7\n',
        '"",x\n"1",0.5\n"2",7\n',
        '"x"\n"1",0.5\n"2",7\n',
        '"x"\n"ann" 0.5\n"bob" 7\n',
        '"ann" 0.5\n"bob" 7\n',
        '"x"\n0.5\n7\n',
    ],
)
def test_row_names_of_r(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    assert read_numbers(tmp_path / "x.csv").tolist() == [0.5, 7.0]


def test_standard_input_and_gzip(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("velocity\n9.2\n16.1\n"))
    assert read_numbers("-").tolist() == [9.2, 16.1]
    with gzip.open(tmp_path / "y.csv.gz", "wt") as stream:
        stream.write("1,2\n3,4\n")
    assert read_numbers(tmp_path / "y.csv.gz").tolist() == [[1, 2], [3, 4]]
