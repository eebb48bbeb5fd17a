"""A package that is missing is named with the extra that has it, and nothing is written."""

import sys

import networkx as nx
import pytest

import epluribus as epl
from epluribus.models import StochasticBlockModel
from epluribus.page import report
from epluribus.studies import STUDIES, analysis

Z = [[0, 0, 1], [0, 1, 1]]
GRAPH = nx.path_graph(3)


def read(ending):
    return lambda folder: epl.read_draws(folder / f"draws.{ending}")


@pytest.mark.parametrize(
    ("package", "purpose", "extra", "work"),
    [
        ("xarray", "Reading netCDF", "arviz", read("nc")),
        ("h5netcdf", "Reading netCDF", "arviz", read("nc")),
        ("zarr", "Reading zarr", "arviz", read("zarr")),
        ("pyarrow.parquet", "Reading parquet", "files", read("parquet")),
        ("rdata", "Reading R's files", "files", read("rds")),
        ("xarray", "A labeled array", "arviz", lambda _: epl.minimize(Z).to_xarray()),
        ("pyarrow", "Writing parquet", "files", lambda f: epl.minimize(Z).write_labels(f / "x.parquet")),
        ("jinja2", "The report", "report", lambda f: report(epl.minimize(Z), Z, f / "page.html")),
        ("matplotlib.pyplot", "A picture", "plots", lambda _: epl.plots.histogram([0], [1.0])),
        ("matplotlib", "A study", "plots", lambda _: STUDIES["galaxies"]()),
        ("networkx", "A graph", "networks", lambda _: StochasticBlockModel(GRAPH)),
    ],
)  # fmt: skip
def test_a_missing_package_is_named(package, purpose, extra, work, monkeypatch, tmp_path):
    for ending in ("nc", "zarr", "parquet", "rds"):
        (tmp_path / f"draws.{ending}").touch()
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(analysis, "sample", pytest.fail)  # a study fails at once
    monkeypatch.setitem(sys.modules, "netCDF4", None)
    monkeypatch.setitem(sys.modules, package, None)
    name = package.partition(".")[0]
    message = rf"{purpose} needs the package '{name}', which is .*\"epluribus\[{extra}\]\""
    with pytest.raises(ImportError, match=message):
        work(tmp_path)
    assert sorted(tmp_path.iterdir()) == before
