"""Files that could be taken for something else: read rightly, refused, or pointed out."""

import warnings

import numpy as np
import pytest

import epluribus as epl
from epluribus.readers.files import read_labels


@pytest.fixture
def read(tmp_path):
    """Draws in a text file."""

    def read(text, name="draws.csv", **options):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return epl.read_draws(path, **options)

    return read


@pytest.mark.parametrize("text", ["a|b|c\n0|0|1\n1|0|0\n", "a | b | c\n0 | 0 | 1\n1 | 0 | 0\n"])
def test_upright_bars_separate_cells(read, text):
    draws = read(text)
    assert draws.items == ("a", "b", "c")
    assert np.asarray(draws).tolist() == [[0, 0, 1], [0, 1, 1]]


def test_bars_inside_labels_do_not(read):
    assert read("x|y z\nz x|y\nz z\n").n_items == 2


def test_rare_letters_do_not_reach_the_parser_of_numpy(read):
    """It reads beyond a table of C for them, which crashed the process every second time."""
    for _ in range(20):
        assert read("a,b\n\U000d96d6,\U000d96d6\n0,0\n").n_distinct == 1


def test_another_delimiter_is_doubted(read):
    with pytest.warns(UserWarning, match=r"only one item. Is every row of '.*draws.csv' a draw"):
        read("0:0:1\n1:0:0\n0:1:1\n")


def test_names_with_line_breaks_and_blanks(read):
    draws = read('"a\nb","c\r\nd"," e","say ""f"""\n0,0,1,1\n0,1,1,1\n')
    assert draws.items == ("a\nb", "c\r\nd", "e", 'say "f"')
    assert read('"ann lee" "bob"\n1 1\n1 2\n').items == ("ann lee", "bob")


def test_quotes_that_hide_lines_are_refused(read):
    with pytest.raises(ValueError, match=r"draws.csv' has a quote that does not end, in line 2"):
        read('a,b\n"0,1\n1,1\n')
    with pytest.raises(ValueError, match=r"draws.csv' has a bad cell in line 2"):
        read('a,b\n"0"x,1\n1,1\n')


def test_labels_are_not_draws(tmp_path):
    pandas = pytest.importorskip("pandas")
    best = epl.minimize([[0, 0, 1], [0, 0, 1], [0, 1, 1]], rng=1)
    for name, certainty in (("a.csv", None), ("b.csv", [1, 1, 0.5]), ("c.parquet", None)):
        best.write_labels(tmp_path / name, certainty=certainty)
        with pytest.raises(ValueError, match=rf"{name}' must hold draws.*'epluribus compare'"):
            epl.read_draws(tmp_path / name)
        assert read_labels(tmp_path / name).tolist() == best.labels.tolist()
    with pytest.raises(ValueError, match="'z' must hold draws"):
        epl.minimize(pandas.DataFrame({"item": [0, 1, 2], "cluster": [0, 0, 1]}))


def test_words_among_numbers_are_pointed_out(read):
    text = "a,b,c\n0,x,1\n1,0,0\n"
    with pytest.warns(UserWarning, match=r"words among numbers: 'x'.*say so: missing='x'"):
        assert not read(text).has_missing
    assert read(text, missing="x").has_missing
    assert read("a,b,c\nu,x,1\nv,u,u\n").n_draws == 2  # words, one of them a number


def test_the_number_of_clusters_is_not_an_item(read):
    with pytest.warns(
        UserWarning, match=r"column 'K' of .* has the number of clusters: it is left"
    ):
        assert read("K,a,b,c\n2,0,0,1\n1,0,0,0\n3,0,1,2\n").items == ("a", "b", "c")
    with pytest.warns(
        UserWarning, match=r"column 'K' of .* is read as an item. If it is the number"
    ):
        assert read("K,a,b,c\n3,0,0,1\n3,0,0,0\n3,0,1,2\n").n_items == 4
    assert read("j,k,l\n2,0,1\n1,0,0\n").n_items == 3  # letters of the alphabet


def test_log_probabilities_lead_to_soft_draws(read):
    """CmdStan counts the first index fastest: reshaped as the message says, the clusters are right."""
    p = np.random.default_rng(1).dirichlet([1, 1, 1], (4, 2))  # draws, items, clusters
    names = ",".join(f"log_p.{i}.{k}" for k in (1, 2, 3) for i in (1, 2))
    columns = np.log(p).transpose(0, 2, 1).reshape(4, -1)
    rows = [f"-1.5,{','.join(map(str, row))}" for row in columns.tolist()]
    with pytest.raises(ValueError, match=r"two indices, such as 'log_p.1.1'.*soft_draws") as error:
        read("\n".join([f"lp__,{names}", *rows]))
    assert "columns.reshape(n_draws, n_clusters, n_items).transpose(0, 2, 1)" in str(error.value)
    np.testing.assert_allclose(
        epl.soft_psm(columns.reshape(4, 3, 2).transpose(0, 2, 1), log=True), epl.soft_psm(p)
    )
    with pytest.raises(ValueError, match=r"logarithms .* see soft_draws\(..., log=True\)"):
        epl.Draws(np.log(p))


def test_two_items_of_one_name_are_refused(read):
    with pytest.raises(ValueError, match=r"different name for every item; 'a' is there twice"):
        read("a,a,b\n0,0,1\n1,0,0\n")
    assert read("a,a,b\n0,0,1\n1,0,0\n", items=["u", "v", "w"]).items == ("u", "v", "w")


def test_ordinary_files_are_read_without_a_word(read):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read("a,b,c\nx,y,x\ny,y,x\n")
        read("1,1,2\n1,2,2\n")
