"""A short run of the fuzzer, and what it has found: each case once, the smallest that shows it."""

import gzip
import warnings

import numpy as np
import pytest
import xarray as xr

import epluribus as epl
from epluribus.cli import main
from epluribus.models import StochasticBlockModel
from epluribus.readers.text import read_column, read_groups


def test_a_few_cases():
    """`make fuzz` is the long run."""
    for package in ("networkx", "pandas", "pyarrow", "rdata", "xarray", "zarr"):
        pytest.importorskip(package)
    from run_fuzz import fuzz

    assert fuzz(240, 1, show=lambda _: None) == []


def test_a_variable_without_draws_is_named_with_its_file(tmp_path):
    path = tmp_path / "draws.nc"
    xr.Dataset({"z": (("draw", "item"), np.empty((0, 3), dtype=int))}).to_netcdf(path)
    with pytest.raises(ValueError, match=r"'z' of '.*draws.nc' must have at least one draw"):
        epl.read_draws(path)


def test_pairs_and_columns_that_are_not_text(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_bytes(b"\x80item,cluster\nann,bob\n")
    for read in (lambda: read_groups(path, {"ann"}), lambda: read_column(path, "cluster")):
        with pytest.raises(ValueError, match=r"pairs.csv' could not be read as text"):
            read()
    with pytest.raises(ValueError, match=r"pairs.csv' could not be read as text"):
        StochasticBlockModel(path)
    path.write_text('a,"\n"')
    with pytest.raises(ValueError, match=r"pairs.csv' has a header but no rows"):
        read_column(path, "cluster")


def test_a_network_that_is_refused_is_named_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "edges.csv"
    path.write_text("")
    assert main(["sample", "sbm", str(path), "--out", str(tmp_path / "o.npz")]) == 2
    assert "edges.csv'" in capsys.readouterr().err


def test_netcdf_that_begins_like_gzip_or_ends_too_early(tmp_path):
    path = tmp_path / "z.nc"
    xr.Dataset({"z": (("draw", "item"), np.zeros((3, 4), np.int32))}).to_netcdf(
        path, engine="scipy"
    )
    content = path.read_bytes()
    for damaged in (b"\x1f\x8b" + content[2:], gzip.compress(b"x") + content, content[:-10]):
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=r"z.nc' could not be read as netCDF"):
                epl.read_draws(path)


def test_clusters_that_share_nothing_where_labels_are_missing():
    table = epl.uncertainty.clusters([0, 1], [[0.0, 1.0], [0.0, np.nan]])
    assert table.sizes.tolist() == [1, 1]
