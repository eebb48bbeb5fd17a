"""Arrays read in blocks give what the same arrays give in memory."""

import dask.array
import h5py
import numpy as np
import pytest
import xarray as xr
import zarr

import epluribus as epl
from epluribus.draws import collapse

RNG = np.random.default_rng(3)
TABLE = RNG.integers(-3, 4, size=(50, 7))
CHAINS = RNG.integers(0, 5, size=(2, 30, 7))


def same(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    np.testing.assert_array_equal(a.chains, b.chains)


@pytest.fixture(autouse=True, params=[True, False], ids=["blocks of two draws", "one block"])
def small_blocks(request, monkeypatch):
    if request.param:
        for name, value in {"_CELLS": 14, "_LINE": 2, "_BYTES": 14 * 8 * 2}.items():
            monkeypatch.setattr(collapse, name, value)


@pytest.mark.parametrize("chunks", [(7, 3), (50, 7), (1, 1), ((20, 25, 5), (7,))])
def test_dask(chunks):
    same(epl.Draws(dask.array.from_array(TABLE, chunks=chunks)), epl.Draws(TABLE))


@pytest.mark.parametrize("chunks", [(1, 7, 3), (2, 30, 7)])
def test_dask_with_chains(chunks):
    same(epl.Draws(dask.array.from_array(CHAINS, chunks=chunks)), epl.Draws(CHAINS))


def test_dask_behind_xarray():
    labels = xr.DataArray(CHAINS, dims=("chain", "draw", "item"), name="z")
    for data in (labels.chunk(draw=4), labels.transpose("item", "draw", "chain").chunk(item=2)):
        same(epl.Draws(data), epl.Draws(CHAINS))
    same(epl.Draws(labels.chunk(draw=4), burn=3, thin=2), epl.Draws(CHAINS, burn=3, thin=2))


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_files(tmp_path, ending):
    path = tmp_path / f"draws{ending}"
    data = xr.Dataset(
        {"z": (("chain", "draw", "item"), CHAINS), "mu": (("chain", "draw"), CHAINS[..., 0] / 3)}
    )
    if ending == ".nc":
        data.to_netcdf(
            path, group="posterior", engine="h5netcdf", encoding={"z": {"chunksizes": (1, 4, 7)}}
        )
    else:
        data.to_zarr(path, group="posterior", zarr_format=2)
    same(epl.read_draws(path), epl.Draws(CHAINS))


def test_arrays_of_zarr_and_h5py(tmp_path):
    same(epl.Draws(zarr.array(TABLE, chunks=(4, 7))), epl.Draws(TABLE))
    with h5py.File(tmp_path / "draws.h5", "w") as file:
        same(epl.Draws(file.create_dataset("z", data=TABLE)), epl.Draws(TABLE))
        same(epl.Draws(file.create_dataset("c", data=CHAINS, chunks=(1, 4, 7))), epl.Draws(CHAINS))


def test_wide_labels_come_late():
    many = np.zeros((40, 300), dtype=int)
    many[33] = np.arange(300)
    many[39] = -np.arange(300)
    draws = epl.Draws(dask.array.from_array(many, chunks=(4, 300)))
    same(draws, epl.Draws(many))
    assert draws.distinct.dtype == np.uint16
    assert draws.n_clusters.max() == 300


def test_floats_are_checked_and_the_place_is_named():
    floats = TABLE.astype(float)
    same(epl.Draws(dask.array.from_array(floats, chunks=(4, 7))), epl.Draws(TABLE))
    floats[37, 2] = np.nan
    with pytest.raises(ValueError, match=r"'z' must hold labels .*; draw 37, item 2 .* missing"):
        epl.Draws(dask.array.from_array(floats, chunks=(4, 7)))


def test_a_dask_array_of_one_dimension_is_refused():
    with pytest.raises(ValueError, match=r"two dimensions .* got 1"):
        epl.Draws(dask.array.zeros(5, dtype=int))


def test_no_draws():
    with pytest.raises(ValueError, match="at least one draw"):
        epl.Draws(dask.array.zeros((0, 5), dtype=int))


def test_minimize_takes_them():
    best = epl.minimize(dask.array.from_array(TABLE, chunks=(9, 7)), rng=1)
    np.testing.assert_array_equal(best.labels, epl.minimize(TABLE, rng=1).labels)
