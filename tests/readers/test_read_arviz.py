import numpy as np
import pytest
import xarray as xr

import epluribus as epl
from io_cases import MU, Z3, arviz_object, import_arviz, same


def dataset(z=Z3, **others):
    dims = ("chain", "draw", "item")
    data = xr.Dataset({"z": (dims, z), "mu": (("chain", "draw", "k"), MU)})
    return data.assign({name: (dims, value) for name, value in others.items()})


def tree(**others):
    """The layout of both generations in a file, and of the second in memory."""
    return xr.DataTree.from_dict(
        {"posterior": dataset(**others), "sample_stats": xr.Dataset({"lp": (("chain",), [0.0, 1])})}
    )


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64])
def test_object_of_the_arviz_installed(dtype):
    data = arviz_object(z=Z3.astype(dtype), mu=MU)
    same(epl.Draws(data))
    same(epl.Draws(data, var="z"))
    assert epl.Draws(data, burn=2).n_draws == 6


def test_extracted_samples():
    """`arviz.extract` stacks chains and draws into a last dimension."""
    data = import_arviz().extract(arviz_object(z=Z3, mu=MU))
    assert data["z"].dims[-1] == "sample"
    same(epl.Draws(data))
    same(epl.Draws(data["z"]))


def test_tree():
    same(epl.Draws(tree()))
    same(epl.Draws(tree()["posterior"]))
    with pytest.raises(
        ValueError, match=r"no group 'posterior' .*'prior'.* Draws\(data\['prior'\]\)"
    ):
        epl.Draws(xr.DataTree.from_dict({"prior": dataset()}))


def test_netcdf_and_zarr(tmp_path):
    tree().to_netcdf(tmp_path / "draws.nc", engine="h5netcdf")
    same(epl.read_draws(tmp_path / "draws.nc"))
    pytest.importorskip("zarr", reason="zarr is not installed")
    tree().to_zarr(tmp_path / "draws.zarr", zarr_format=2)
    same(epl.read_draws(tmp_path / "draws.zarr"))
    tree().to_zarr(tmp_path / "folder", zarr_format=2)
    same(epl.read_draws(tmp_path / "folder"))


def test_files_without_groups(tmp_path):
    names = {"item": ["a", "b", "c", "d"]}
    dataset().assign_coords(names).to_netcdf(tmp_path / "draws.nc")
    assert same(epl.read_draws(tmp_path / "draws.nc")).items == ("a", "b", "c", "d")
    dataset(Z3.astype(np.int32)).to_netcdf(tmp_path / "classic.nc", engine="scipy")
    same(epl.read_draws(tmp_path / "classic.nc"))


def test_several_candidates_are_named(tmp_path):
    path = tmp_path / "draws.nc"
    tree(c=Z3[:, :, ::-1]).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(ValueError, match=r"z \(chain, draw, item\).* of which 'z', 'c' could be"):
        epl.read_draws(path)
    same(epl.read_draws(path, var="z"))
    with pytest.raises(ValueError, match=r"'var' must be one of 'z', 'mu', 'c' in .*; got 'w'"):
        epl.read_draws(path, var="w")
    with pytest.raises(ValueError, match="of which none could be it"):
        epl.Draws(dataset(Z3 + 0.5))


def test_dimensions_of_other_names():
    array = xr.DataArray(Z3, dims=("chain", "draw", "gene")).transpose("gene", "draw", "chain")
    same(epl.Draws(array))
    with pytest.raises(ValueError, match=r"one dimension besides chain and draw, the items; got"):
        epl.Draws(array.expand_dims("step"))


def test_messages_name_the_variable():
    data = xr.Dataset(
        {
            "z": (("chain", "draw", "item"), np.zeros((1, 3, 4), dtype=int)),
            "mu": (("chain", "draw", "item"), np.full((1, 3, 4), 0.3)),
            "K": (("chain", "draw"), np.ones((1, 3), dtype=int)),
        }
    )
    assert epl.Draws(data).variable == "z"
    assert "variable             z" in str(epl.Draws(data).burn(1))
    with pytest.raises(ValueError, match=r"'mu' must hold labels"):
        epl.Draws(data, var="mu")
    with pytest.raises(ValueError, match=r"'K' must have one dimension besides chain and draw"):
        epl.Draws(data, var="K")


def test_numbers_of_items_are_kept_where_they_count_from_1():
    labels = xr.DataArray([[0, 0, 1]], dims=("draw", "item"), coords={"item": [1, 2, 3]})
    assert epl.Draws(labels).items == ("1", "2", "3")
    assert epl.Draws(labels.assign_coords(item=[0, 1, 2])).items is None
