"""Arrays of dask, zarr and h5py, and parquet, give what the same arrays give in memory."""

import dask.array
import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

import epluribus as epl

RNG = np.random.default_rng(3)
TABLE = 2 * RNG.integers(-3, 4, size=(50, 7))
CHAINS = RNG.integers(0, 5, size=(2, 30, 7))


def same(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    np.testing.assert_array_equal(a.chains, b.chains)


@pytest.mark.parametrize("chunks", [(7, 3), (50, 7), (1, 1), ((20, 25, 5), (7,))])
def test_dask(chunks):
    same(epl.Draws(dask.array.from_array(TABLE, chunks=chunks)), epl.Draws(TABLE))


def test_dask_behind_xarray():
    labels = xr.DataArray(CHAINS, dims=("chain", "draw", "item"), name="z")
    for data in (labels.chunk(draw=4), labels.transpose("item", "draw", "chain").chunk(item=2)):
        same(epl.Draws(data), epl.Draws(CHAINS))
    same(epl.Draws(labels.chunk(draw=4), burn=3, thin=2), epl.Draws(CHAINS, burn=3, thin=2))


def test_arrays_of_zarr_and_h5py(tmp_path):
    same(epl.Draws(zarr.array(TABLE, chunks=(4, 7))), epl.Draws(TABLE))
    with h5py.File(tmp_path / "draws.h5", "w") as file:
        same(epl.Draws(file.create_dataset("z", data=TABLE)), epl.Draws(TABLE))
        same(epl.Draws(file.create_dataset("c", data=CHAINS, chunks=(1, 4, 7))), epl.Draws(CHAINS))


def test_floats_are_checked_and_the_place_is_named():
    floats = TABLE.astype(float)
    same(epl.Draws(dask.array.from_array(floats, chunks=(4, 7))), epl.Draws(TABLE))
    floats[37, 2] = 0.5
    with pytest.raises(ValueError, match=r"'z' must hold labels .*; draw 37, item 2 .* has 0.5"):
        epl.Draws(dask.array.from_array(floats, chunks=(4, 7)))


def test_a_damaged_zarr_folder(tmp_path):
    path = tmp_path / "bad.zarr"
    path.mkdir()
    (path / "zarr.json").write_text("{")
    with pytest.raises(ValueError, match=r"bad.zarr' could not be read as zarr"):
        epl.read_draws(path)
    zarr.create_array(tmp_path / "plain.zarr", data=TABLE)  # nothing says what its dimensions are
    with pytest.raises(ValueError, match=r"plain.zarr' could not be read as zarr"):
        epl.read_draws(tmp_path / "plain.zarr")


@pytest.mark.parametrize("dtype", ["i8", "u1", "f8"])
def test_parquet(tmp_path, dtype):
    path = tmp_path / "z.parquet"
    frame = pd.DataFrame((TABLE + 6).astype(dtype), columns=[f"z.{i}" for i in range(1, 8)])
    frame.insert(0, "z", 0.5)  # a name that begins the names of others
    frame.insert(0, "lp__", -1.5)
    frame.insert(0, "chain", [1] * 25 + [2] * 25)
    frame.to_parquet(path)
    ref = epl.Draws(TABLE.reshape(2, 25, 7))
    same(epl.read_draws(path, var="z"), ref)
    same(epl.read_draws(path, var="z", burn=3, thin=5), epl.Draws(ref, burn=3, thin=5))


def test_missing_labels_in_parquet(tmp_path):
    path = tmp_path / "z.parquet"
    frame = pd.DataFrame(TABLE).astype("Int64")
    frame.columns = [f"z[{i}]" for i in range(7)]
    frame.iloc[31, 4] = None
    frame.to_parquet(path)
    draws = epl.read_draws(path)
    assert draws.has_missing
    assert draws.n_seen.tolist() == [7] * 31 + [6] + [7] * 18
    wanted = np.ma.masked_array(TABLE, False)
    wanted[31, 4] = np.ma.masked
    same(draws, epl.Draws(wanted))


def test_several_files_of_different_types(tmp_path):
    paths = [tmp_path / name for name in ("a.npy", "b.parquet", "c.zarr")]
    np.save(paths[0], TABLE.astype(np.int8))
    pd.DataFrame(TABLE, columns=[f"z.{i}" for i in range(7)]).to_parquet(paths[1])
    xr.Dataset({"labels": (("draw", "item"), TABLE.astype(float))}).to_zarr(
        paths[2], consolidated=False
    )
    same(epl.read_draws(paths, burn=4), epl.Draws(np.stack([TABLE] * 3), burn=4))
