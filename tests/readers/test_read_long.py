"""Tables with one label per row, as tidybayes and xarray make them."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import epluribus as epl

RNG = np.random.default_rng(4)
CHAINS = RNG.integers(1, 4, size=(2, 5, 6))


def long_frame(items=None):
    """What `spread_draws(z[i])` of tidybayes gives."""
    chain, iteration, item = np.meshgrid([1, 2], np.arange(1, 6), np.arange(6), indexing="ij")
    return pd.DataFrame(
        {
            ".chain": chain.ravel(),
            ".iteration": iteration.ravel(),
            ".draw": ((chain - 1) * 5 + iteration).ravel(),
            "i": (np.array(items)[item] if items else item + 1).ravel(),
            "z": CHAINS.ravel(),
        }
    )


def same(draws, items=None):
    expected = epl.Draws(CHAINS, items=items)
    np.testing.assert_array_equal(np.asarray(draws), np.asarray(expected))
    np.testing.assert_array_equal(draws.chains, expected.chains)
    assert draws.items == expected.items


NUMBERS = ["1", "2", "3", "4", "5", "6"]


def test_frame():
    draws = epl.Draws(long_frame())
    same(draws, NUMBERS)
    assert draws.variable == "z"
    names = ["ann", "bob", "cy", "dan", "eve", "flo"]
    same(epl.Draws(long_frame(names)), names)
    same(epl.Draws(long_frame().rename(columns={".chain": "chain"}).set_index("chain")), NUMBERS)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_file(tmp_path, ending):
    path = tmp_path / f"long{ending}"
    frame = long_frame()
    frame.to_csv(path, index=False) if ending == ".csv" else frame.to_parquet(path)
    same(epl.read_draws(path), NUMBERS)


def test_any_order_of_rows_within_draws():
    frame = long_frame()
    mixed = frame.sample(frac=1, random_state=1)
    draws = epl.Draws(mixed)
    assert draws.n_draws == 10
    assert draws.n_items == 6
    np.testing.assert_allclose(epl.psm(draws), epl.psm(CHAINS), atol=1e-6)


def test_frame_of_xarray():
    data = xr.DataArray(CHAINS, dims=("chain", "draw", "z_dim_0"), name="z")
    same(epl.Draws(data.to_dataframe()))


def test_other_columns_need_a_name():
    frame = long_frame().assign(mu=0.5)
    same(epl.Draws(frame), NUMBERS)  # mu holds no integers
    frame = long_frame().assign(mu=7)
    with pytest.raises(ValueError, match=r"items in the column 'i'\) has 'z', 'mu', of which"):
        epl.Draws(frame)
    same(epl.Draws(frame, var="z"), NUMBERS)
    with pytest.raises(ValueError, match=r"'var' must be one of 'z', 'mu' in .*; got 'y'"):
        epl.Draws(frame, var="y")


def test_what_has_no_row_is_a_missing_label():
    draws = epl.Draws(long_frame().drop(index=20))  # chain 1, iteration 4, item 3
    assert np.argwhere(np.asarray(draws) < 0).tolist() == [[3, draws.items.index("3")]]
    seen = np.asarray(draws) >= 0
    complete = np.asarray(epl.Draws(long_frame()))
    for mine, whole, here in zip(np.asarray(draws), complete, seen, strict=True):
        assert epl.loss(mine[here], whole[here]) == 0


def test_a_wide_table_whose_iterations_restart_stays_wide():
    frame = pd.DataFrame(CHAINS.reshape(10, 6), columns=[f"z[{i}]" for i in range(1, 7)])
    frame.insert(0, "iteration", [1, 2, 3, 4, 5] * 2)
    assert epl.Draws(frame).n_items == 6
    named = frame.rename(columns=lambda name: {"z[1]": "ann", "z[2]": "bob"}.get(name, name))
    assert epl.Draws(named[["iteration", "ann", "bob"]]).n_draws == 10
