"""Constraints and undecided items on the command line."""

import json

import pytest

from epluribus.cli import main

DRAWS = "a,b,c,d,e,f,g\n" + "0,0,0,1,1,1,0\n0,0,0,1,1,1,1\n0,0,0,1,1,1,2\n" * 4


@pytest.fixture
def files(tmp_path):
    (tmp_path / "draws.csv").write_text(DRAWS)
    (tmp_path / "same.csv").write_text("one,other\na,g\n")
    (tmp_path / "apart.txt").write_text("a b\nd e f\n")
    (tmp_path / "items.csv").write_text("item,file\na,x\nb,x\nc,\nd,y\ne,y\nf,z\ng,z\n")
    (tmp_path / "rows.csv").write_text('"","one","other"\n"1","a","g"\n')
    (tmp_path / "path.csv").write_text("a;b\nb;c\nc;d\nd;e\ne;f\nf;g\n")
    return tmp_path


def labels(capsys, files, *options):
    words = [str(files / word) if (files / word).exists() else word for word in options]
    assert main(["summarize", str(files / "draws.csv"), "--seed", "1", "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)["labels"]


@pytest.mark.filterwarnings("ignore:The first line of .* is read as a heading")
def test_pairs_groups_and_sources(capsys, files):
    found = labels(capsys, files, "--must-link", "same.csv", "--cannot-link", "apart.txt")
    assert found[0] == found[6] != found[1]
    assert len({found[3], found[4], found[5]}) == 3
    found = labels(capsys, files, "--items", "items.csv", "--source", "file")
    assert found[0] != found[1]
    assert found[3] != found[4]
    assert found[5] != found[6]


def test_neighbors_sizes_and_undecided_items(capsys, files):
    found = labels(capsys, files, "--contiguity", "path.csv", "--min-size", "2")
    assert found == [1, 1, 1, 0, 0, 0, 0]
    assert labels(capsys, files, "--undecided", "0.9")[6] == -1


@pytest.mark.filterwarnings("default")
def test_a_heading_is_named_and_numbers_of_rows_are_no_items(capsys, files):
    main(["summarize", str(files / "draws.csv"), "--json", "--must-link", str(files / "rows.csv")])
    said = capsys.readouterr()
    assert "is read as a heading: one, other" in said.err
    found = json.loads(said.out)["labels"]
    assert found[0] == found[6]
