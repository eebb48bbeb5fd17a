"""What the fuzzer has found, each case once; the smallest that shows it."""

import gzip
import warnings

import numpy as np
import pytest

import epluribus as epl
from epluribus.cli import main
from epluribus.models import GaussianMixture, PoissonMixture, StochasticBlockModel
from epluribus.readers.text import read_column, read_groups


def test_a_variable_without_draws_is_named_with_its_file(tmp_path):
    xr = pytest.importorskip("xarray")
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
    with pytest.raises(ValueError, match=r"must have a column 'cluster'; its columns are \['a', "):
        read_column(path, "cluster")


def test_edges_of_different_lengths():
    with pytest.raises(TypeError, match="'adjacency' must be an array, with rows of one length"):
        StochasticBlockModel([[0], [0, 0]])


def test_samples_of_different_lengths():
    pytest.importorskip("sklearn")
    with pytest.raises(TypeError, match="'X' must be an array, with rows of one length"):
        epl.ConsensusClustering().fit([[0], [0, 0]])
    frame = pytest.importorskip("pandas").DataFrame([[0, 1], [0, 1]], columns=["a", "a"])
    with pytest.raises(ValueError, match="'X' must have a different name for every column"):
        epl.ConsensusClustering().fit(frame)
    several = pytest.importorskip("xarray").Dataset({"z": (("sample", "clustering"), [[0, 1]])})
    with pytest.raises(TypeError, match=r"'X' must be one table, .* the variables 'z'. Give one"):
        epl.ConsensusClustering().fit(several)


def test_messages_have_one_line():
    with pytest.raises(
        ValueError, match=r"'cost' must be .* got array\(\[\[1., 2.\], \[3., 4.\]\]\).$"
    ):
        epl.losses.vi(np.array([[1.0, 2.0], [3.0, 4.0]]))


def test_complex_numbers_and_what_is_not_an_array():
    xr = pytest.importorskip("xarray")
    with pytest.raises(TypeError, match="'y' must be numbers"):
        PoissonMixture(np.array([[2 + 0j]]))
    with pytest.raises(TypeError, match="'probabilities' must be an array"):
        epl.soft_psm(xr.Dataset({"p": (("draw", "item"), np.ones((2, 2)))}))


def test_a_checkpoint_that_is_not_a_path():
    with pytest.raises(TypeError, match="'checkpoint' must be a path; got 7"):
        epl.sample(GaussianMixture([0.0, 1.0]), n_draws=2, rng=1, checkpoint=7)


def test_labels_in_place_of_an_estimate():
    for function in (epl.uncertainty.health, epl.uncertainty.left_out):
        with pytest.raises(
            TypeError, match="'best' must be an Estimate, as minimize returns it; got"
        ):
            function(np.array([0, 1]), [[0, 1]])


def test_a_network_that_is_refused_is_named_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "edges.csv"
    path.write_text("")
    assert main(["sample", "sbm", str(path), "--out", str(tmp_path / "o.npz")]) == 2
    assert "edges.csv'" in capsys.readouterr().err


def test_netcdf_that_begins_like_gzip_or_ends_too_early(tmp_path):
    xr = pytest.importorskip("xarray")
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
