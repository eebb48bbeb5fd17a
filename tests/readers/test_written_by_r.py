"""Files that R itself wrote; tests/readers/data/make.R made them."""

from pathlib import Path

import numpy as np
import pytest

import epluribus as epl

DATA = Path(__file__).parent / "data"
Z = np.array([[1, 1, 2, 2], [1, 1, 1, 2], [3, 3, 2, 2], [1, 2, 2, 2], [1, 1, 2, 2]])
NAMES = ("ann", "bob", "cy", "di")
COUNTED = ("V1", "V2", "V3", "V4")


PLAIN = """integer.rds double.rds ascii.rds factor_matrix.rds character.rds list_of_draws.rds fit.rds two.rda
    table_no_header.csv table_no_header.txt bare.txt"""
HEADED = "frame.rds factor_frame.rds default.csv semicolons.csv table.txt words.csv"
CASES = {
    **dict.fromkeys(PLAIN.split()),
    **dict.fromkeys(HEADED.split(), COUNTED),
    **dict.fromkeys(("named.rds", "no_rows.csv", "table_named.txt"), NAMES),
}


def read(name, **options):
    return epl.read_draws(DATA / name, **options)


@pytest.mark.parametrize(("name", "items"), CASES.items())
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


def test_a_missing_factor_is_a_missing_label():
    assert np.argwhere(np.asarray(read("factor_holes.rds")) < 0).tolist() == [[1, 2]]


def test_a_column_that_counts_the_draws_is_left_out():
    with (
        pytest.warns(UserWarning, match=r"column 'step' of the file .* counts the draws: it is"),
        pytest.warns(UserWarning, match=r"column 'K' of the file .* has the number of clusters"),
    ):
        draws = read("step_and_k.csv")
    assert draws.items == ("X1", "X2", "X3", "X4")
    wanted = read("step_and_k.csv", var="X")
    np.testing.assert_array_equal(np.asarray(wanted), np.asarray(epl.Draws(np.tile(Z, (3, 1)))))
