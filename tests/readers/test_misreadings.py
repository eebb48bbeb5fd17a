"""Files that could be taken for something else: read rightly, refused, or pointed out."""

import warnings

import numpy as np
import pytest
import xarray

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


def test_another_delimiter_is_doubted(read):
    with pytest.warns(UserWarning, match=r"only one item. Is every row of '.*draws.csv' a draw"):
        read("0|0|1\n1|0|0\n0|1|1\n")


def test_names_with_line_breaks_and_blanks(read):
    draws = read('"a\nb","c\r\nd"," e","say ""f"""\n0,0,1,1\n0,1,1,1\n')
    assert draws.items == ("a\nb", "c\r\nd", "e", 'say "f"')
    assert read('"ann lee" "bob"\n1 1\n1 2\n').items == ("ann lee", "bob")


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
    with pytest.warns(UserWarning, match=r"'K' of .* has the number of clusters: it is left"):
        assert read("K,a,b,c\n2,0,0,1\n1,0,0,0\n3,0,1,2\n").items == ("a", "b", "c")
    assert read("K,a,b,c\n3,0,0,1\n3,0,0,0\n3,0,1,2\n").n_items == 4
    assert read("j,k,l\n2,0,1\n1,0,0\n").n_items == 3  # letters of the alphabet


def test_log_probabilities_lead_to_soft_draws(read, tmp_path):
    """CmdStan counts the first index fastest: the names of the columns say where each belongs."""
    p = np.random.default_rng(1).dirichlet([1, 1, 1], (4, 2))  # draws, items, clusters
    names = ",".join(f"log_p.{i}.{k}" for k in (1, 2, 3) for i in (1, 2))
    columns = np.log(p).transpose(0, 2, 1).reshape(4, -1)
    rows = [f"-1.5,{','.join(map(str, row))}" for row in columns.tolist()]
    text = "\n".join([f"lp__,{names}", *rows])
    with pytest.raises(ValueError, match=r"such as 'log_p.1.1': .* give the file to soft_draws"):
        read(text)
    np.testing.assert_allclose(
        epl.draws.soft_psm(tmp_path / "draws.csv", log=True), epl.draws.soft_psm(p)
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


LARGE = 2**53


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"a,b,c\n{LARGE},{LARGE + 1},1\n{LARGE},{LARGE},\n", [[0, 1, 2], [0, 0, -1]]),
        (f"{LARGE},{LARGE + 1},1.0\n{LARGE},{LARGE},1\n", [[0, 1, 2], [0, 0, 1]]),
        (f"{2**64},{2**64 + 1},1\n1,1,\n", [[0, 1, 2], [0, 0, -1]]),
        ("x,0,0\n0,0,1\n1,1,0\n", [[0, 1, 1], [0, 0, 1], [0, 0, 1]]),  # no header: 0 is there twice
        (",0,1,2\n0,1,1,2\n1,2,2,2\n", [[0, 0, 1], [0, 0, 0]]),  # what pandas writes
        ("chain,0,1\n1,0,1\n1,1,0\n", [[0, 1], [0, 1]]),
        ("a,b\n Na , 1\n1,1\n", [[-1, 0], [0, 0]]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*has words among numbers")
def test_cells_are_read_as_they_are_written(read, text, wanted):
    assert np.asarray(read(text)).astype(int).tolist() == wanted


def test_several_chains_are_not_one_partition(tmp_path):
    np.save(tmp_path / "z.npy", np.zeros((2, 3, 4), int))
    with pytest.raises(ValueError, match=r"z.npy' must hold one partition"):
        read_labels(tmp_path / "z.npy")


def test_a_first_line_that_may_be_a_draw_is_pointed_out(read):
    with pytest.warns(UserWarning, match=r"first line of .* has words and numbers, such as 'x'"):
        assert read("x,0,1\n0,0,1\n1,1,0\n").n_draws == 2


@pytest.mark.parametrize(
    "header",
    [
        "lp__,z.1,z.2,z3", "lp__,z.1,z2,z.3", "lp__,y.1,z.2,z.3", "lp__,z.1,z.2,y.3", "lp__,z.1,z.2,",
        "lp__,z.1,z.2,z.33", "lp__,z.1,z.2,z.2", "lp__,z.1,z.2", "lp__,z.1,z.23", "lp__,z.1,z.2,z.3,z.4",
    ],
)  # fmt: skip
def test_a_damaged_header_loses_no_item(read, header):
    with pytest.raises(ValueError, match=r"must have (all entries|a name for every c).* damaged"):
        read(f"{header}\n-7.1,1,1,2\n-6.5,2,2,1\n")


def test_zarr_that_is_damaged(tmp_path):
    path = tmp_path / "z.zarr"
    labels = xarray.Dataset({"z": (("draw", "item"), np.arange(72).reshape(12, 6) % 3)})
    labels.to_zarr(path, group="posterior", encoding={"z": {"chunks": (4, 6)}}, consolidated=False)
    chunk = min(file for file in path.rglob("z/c/*/*") if file.is_file())
    chunk.write_bytes(chunk.read_bytes()[:10])
    with pytest.raises(ValueError, match=r"z.zarr' could not be read as labels"):
        epl.read_draws(path)


def test_names_with_leading_zeros_are_no_entries_of_a_variable(read):
    found = read("person.01,person.02,person.03\n1,1,2\n1,2,2\n")
    assert found.items == ("person.01", "person.02", "person.03")


@pytest.mark.parametrize("as_is", [str, object])
def test_noise_may_be_written_as_a_word(as_is):
    z = np.array([[0, 0, -1], [1, -1, -1], [0, 0, 1]])
    assert epl.Draws(z.astype(as_is), noise="missing").n_seen.tolist() == [2, 1, 3]
    assert epl.Draws(z.astype(as_is), noise="alone").n_clusters.tolist() == [2, 3, 2]


def test_many_chains_of_few_draws_are_doubted():
    with pytest.warns(
        UserWarning, match="read as 90 chains of 4 draws: its dimensions must be chains"
    ):
        epl.Draws(np.zeros((90, 4, 3), dtype=int))
