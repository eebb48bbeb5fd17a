"""Files that R itself wrote; tests/readers/data/make.R made them."""

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

import epluribus as epl
from epluribus.readers.files import read_labels

DATA = Path(__file__).parent / "data"
Z = np.array([[1, 1, 2, 2], [1, 1, 1, 2], [3, 3, 2, 2], [1, 2, 2, 2], [1, 1, 2, 2]])
NAMES = ("ann", "bob", "cy", "di")
FILES = {
    "integer.rds double.rds ascii.rds factor_matrix.rds list_of_draws.rds fit.rds two.rda": ("1", "2", "3", "4"),
    "table_no_header.csv table_no_header.txt bare.txt": None,
    "frame.rds factor_frame.rds default.csv semicolons.csv table.txt words.csv": ("V1", "V2", "V3", "V4"),
    "named.rds no_rows.csv table_named.txt": NAMES,
}  # fmt: skip
CASES = [(name, items) for names, items in FILES.items() for name in names.split()]


def read(name, **options):
    return epl.read_draws(DATA / name, **options)


@pytest.mark.parametrize(("name", "items"), CASES)
def test_one_chain(name, items):
    draws = read(name)
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(epl.Draws(Z)))
    assert draws.items == items
    assert draws.n_chains == 1


@pytest.mark.parametrize("name", ["named_chains.rds", "mcmc_list.rds"])
def test_two_chains(name):
    draws = read(name)
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(epl.Draws([Z, Z[::-1]])))
    assert draws.n_chains == 2


def test_words_that_lost_their_shape_are_refused():
    with pytest.raises(
        ValueError, match=r"must be a matrix, .*shape \(20,\) \(that of words is lost"
    ):
        read("character.rds")


def test_a_missing_factor_is_a_missing_label():
    assert np.argwhere(np.asarray(read("factor_holes.rds")) < 0).tolist() == [[1, 2]]


def test_estimates_and_similarity_matrices(tmp_path):
    rdata, best = pytest.importorskip("rdata"), epl.minimize(Z, rng=1)
    rdata.write_rds(tmp_path / "best.rds", best.labels.astype(np.int32) + 1)
    assert np.array_equal(read_labels(tmp_path / "best.rds") - 1, best.labels)
    matrix = np.asarray(epl.psm(Z))
    rdata.write_rds(tmp_path / "psm.rds", matrix)
    np.savetxt(tmp_path / "psm.csv", matrix, delimiter=",")
    np.save(tmp_path / "psm.npy", matrix)
    save_npz(tmp_path / "psm.npz", csr_array(matrix))
    wanted = epl.minimize(psm=matrix, rng=1)
    for name in ("psm.rds", "psm.csv", "psm.npy", "psm.npz"):
        found = epl.minimize(psm=tmp_path / name, rng=1)
        assert found.expected_loss == pytest.approx(wanted.expected_loss, rel=1e-12)
    (tmp_path / "named.csv").write_text("ann,bob\n1,0.5\n0.5,1\n")
    assert epl.minimize(psm=str(tmp_path / "named.csv")).items == ("ann", "bob")
    with pytest.raises(IsADirectoryError, match="is a folder; a file is needed"):
        epl.minimize(psm=DATA)
    (tmp_path / "psm.xlsx").touch()
    with pytest.raises(ValueError, match=r"must be one of csv, .* its name ends in ..xlsx"):
        epl.minimize(psm=tmp_path / "psm.xlsx")
    with pytest.raises(FileNotFoundError, match="no file 'nowhere.rds'"):
        epl.minimize(psm="nowhere.rds")
