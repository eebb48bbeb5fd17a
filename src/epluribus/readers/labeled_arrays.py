"""Draws from labeled arrays: xarray, ArviZ objects of both generations, netCDF and zarr files.

Objects are recognized by their attributes, so that xarray is imported only to read a file. Dimensions are
found by their names, ``chain`` and ``draw``, in any order; the one that remains is the items.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._files import reading
from epluribus._validate import need, quoted
from epluribus.readers.source import Source, item_names, pick_labels

GROUP = "posterior"
"""The group of an ArviZ object that holds the posterior sample."""


def read_arviz_file(path: Path, var: str | None, engine: str | None = None) -> Source:
    """Labels in a netCDF file, or in zarr if `engine` says so. Numbers are not read yet, only opened."""
    # The file stays open, to be read in blocks later; it is closed when nothing refers to it any more.
    return from_labeled(open_labeled(path, engine), var, where=f"the file '{path}'")


def open_labeled(path: Path, engine: str | None = None) -> Any:
    """The Dataset in a file: the group ``posterior``, as ArviZ writes it, or all of it if there is none."""
    kind = engine or "netCDF"
    xarray = need("xarray", "arviz", f"Reading {kind}")
    # xarray reads netCDF with netCDF4, if that is installed, or with the packages of the extra "arviz".
    netcdf = () if find_spec("netCDF4") else ("h5netcdf", "h5py")
    for package in netcdf if engine is None else (engine,):
        need(package, "arviz", f"Reading {kind}")
    # That a group or the whole format is missing is a different exception in each engine, so that the second
    # attempt decides: a file without groups opens, and a file of another format fails again.
    with reading(path, kind), warnings.catch_warnings():
        # xarray tells its developers that it tried several engines, or that opening a store took longer.
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            return xarray.open_dataset(path.absolute(), group=GROUP, engine=engine)
        except Exception:  # noqa: BLE001 - each engine has its own
            return xarray.open_dataset(path.absolute(), engine=engine)


def is_labeled(data: Any) -> bool:
    """Whether `data` is an object of xarray or ArviZ."""
    # An array of h5py has `dims` too, but no `coords`.
    is_xarray = hasattr(data, "dims") and hasattr(data, "coords")
    return is_xarray or hasattr(data, "posterior") or hasattr(data, "groups")


def from_labeled(
    data: Any,
    var: str | None = None,
    *,
    group: str = GROUP,
    chain: str = "chain",
    draw: str = "draw",
    where: str = "the data",
) -> Source:
    """Labels with dimensions (chain, draw, item) or (draw, item), and the item names, if any.

    Parameters
    ----------
    data : DataArray, Dataset, InferenceData or DataTree
        The last two with the group `group`.
    var : str, optional
        The variable that holds the labels; by default the only one of integers by draw and item.
    group : str
        The group of an ArviZ object to look in.
    chain, draw : str
        Names of these dimensions. Where there is no `draw`, a dimension ``sample``, as made by ArviZ's
        `extract`, is taken for the draws.
    where : str
        What the data are, for messages.
    """
    data = _open_group(data, group)
    draw = "sample" if draw not in data.dims and "sample" in data.dims else draw
    if hasattr(data, "data_vars"):
        data = data[_label_variable(data, var, chain, draw, where)]
    name = None if data.name is None else str(data.name)
    dims = list(data.dims)
    leading = [dim for dim in (chain, draw) if dim in dims]
    if draw in leading:
        rest = [dim for dim in dims if dim not in leading]
        if len(rest) != 1:
            raise ValueError(
                f"'{name or 'z'}' must have one dimension besides {chain} and {draw}, the items; got "
                f"dimensions {tuple(dims)}."
            )
        data = data.transpose(*leading, rest[0])
        item = rest[0]
    else:
        # Names such as dim_0 say nothing: the order must be (draws, items) or (chains, draws, items).
        item = dims[-1] if dims else None
    # Where chains and draws are stacked into one dimension, the chain is a coordinate along it.
    stacked = chain not in dims and chain in data.coords and data.coords[chain].dims == (draw,)
    chains = np.asarray(data.coords[chain]) if stacked else None
    # Numbers may be on disk or in a dask array: they are passed on unread, and read in blocks later.
    labels = data if data.dtype.kind in "iufb" else np.asarray(data)
    # xarray calls a dimension that was given no name dim_0, dim_1, ...
    named = item is not None and not str(item).startswith("dim_")
    dimension = str(item) if named else None
    return Source(labels, coordinate_names(data, item), chains, name, dimension)


def coordinate_names(data: Any, item: Any) -> list[str] | None:
    """Names along the dimension of the items, if it has any."""
    return item_names(np.asarray(data.coords[item])) if item in data.coords else None


def _open_group(data: Any, group: str) -> Any:
    """The group of an ArviZ object as a Dataset; a Dataset or DataArray is returned unchanged."""
    # A DataTree (ArviZ 1.x) has `data_vars` too, but is the only one with `children`.
    is_tree = hasattr(data, "children")
    if not is_tree and (hasattr(data, "data_vars") or hasattr(data, "dims")):
        return data
    groups = [str(name).strip("/") for name in (data.children if is_tree else data.groups())]
    if group in groups:
        data = data[group]
    elif groups:
        raise ValueError(
            f"There is no group '{group}' to read the labels from; there are {quoted(groups)}. Name "
            f"one: Draws.from_arviz(data, group='{groups[0]}')."
        )
    return data.to_dataset() if hasattr(data, "children") else data


def _label_variable(data: Any, var: str | None, chain: str, draw: str, where: str) -> str:
    """The variable that holds labels: the one named, or the only one of integers by draw and item."""
    # Labels have the dimensions chain, draw and one more; matrices and single parameters are left out.
    names = [str(name) for name in data.data_vars]
    shaped = [
        name
        for name in names
        if draw in data[name].dims and len(set(data[name].dims) - {chain, draw}) == 1
    ]
    # Stan's integers come as floats. To see whether floats are integers they must be read from disk, which
    # is done only if no variable is stored as integers.
    stored = [name for name in shaped if data[name].dtype.kind in "iu"]
    return pick_labels(
        names,
        data.__getitem__,
        var,
        where,
        possible=stored or shaped,
        describe=lambda name: f"{name} ({', '.join(map(str, data[name].dims))})",
    )
