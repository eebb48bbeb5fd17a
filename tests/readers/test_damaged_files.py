"""Damage that would be read as other labels; tests/fuzz damages files of all kinds at random."""

import numpy as np
import pytest
import xarray

import epluribus as epl

Z = np.random.default_rng(1).integers(3, size=(12, 6))


def test_the_header_of_an_npy_file_that_does_not_end(tmp_path):
    path = tmp_path / "z.npy"
    np.save(path, Z)
    path.write_bytes(path.read_bytes().replace(b"}", b"("))
    with pytest.raises(ValueError, match=r"z.npy' could not be read as NumPy data"):
        epl.read_draws(path)


def test_zarr(tmp_path):
    path = tmp_path / "z.zarr"
    labels = xarray.Dataset({"z": (("draw", "item"), Z + 1)})
    labels.to_zarr(path, group="posterior", encoding={"z": {"chunks": (4, 6)}}, consolidated=False)
    chunks = sorted(file for file in path.rglob("z/c/*/*") if file.is_file())
    content = chunks[0].read_bytes()
    chunks[0].write_bytes(content[:10])
    with pytest.raises(ValueError, match=r"z.zarr' could not be read as labels"):
        epl.read_draws(path)
