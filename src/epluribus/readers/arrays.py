"""Draws from labeled arrays: xarray, ArviZ objects of both generations, netCDF and zarr files.

Objects are recognized by their attributes, so that xarray is imported only to read a file. Dimensions are
found by their names, ``chain`` and ``draw``, in any order; the one that remains is the items. In zarr there may
also be a plain array, or a plain group of arrays.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._files import reading
from epluribus._validate import need, quoted
from epluribus.readers import Source, from_arrays, item_names, pick_labels

GROUP = "posterior"
"""The group of an ArviZ object that holds the posterior sample."""
ZARR_FILES = ("zarr.json", ".zgroup", ".zarray")
"""Files that a folder in zarr has one of: groups and arrays of version 3, groups and arrays of version 2."""


def read_arviz_file(path: Path, var: str | None, engine: str | None = None) -> Source:
    """Labels in a netCDF file, or in zarr if `engine` says so. Numbers are not read yet, only opened."""
    return from_labeled(open_labeled(path, engine), var, where=f"the file '{path}'")


def open_labeled(path: Path, engine: str | None = None) -> Any:
    """The Dataset in a file: the group ``posterior``, as ArviZ writes it, or all of it if there is none."""
    kind = engine or "netCDF"
    xarray = need("xarray", "arviz", f"Reading {kind}")
    # xarray reads netCDF with netCDF4, if that is installed, or with the packages of the extra "arviz".
    packages = (engine,) if engine else () if find_spec("netCDF4") else ("h5netcdf", "h5py")
    for package in packages:
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
    data: Any, var: str | None = None, *,
    group: str = GROUP, chain: str = "chain", draw: str = "draw", where: str = "the data",
) -> Source:  # fmt: skip
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
        # Labels have the dimensions chain, draw and one more; matrices and single parameters are left out.
        dims = {str(name): list(map(str, x.dims)) for name, x in data.data_vars.items()}
        shaped = [n for n, d in dims.items() if draw in d and len({*d} - {chain, draw}) == 1]
        # Stan's integers come as floats, which must be read to be recognized: only if nothing else is stored.
        stored = [name for name in shaped if data[name].dtype.kind in "iu"]
        shown = {n: f"{n} ({', '.join(d)})" for n, d in dims.items()}
        possible = stored or shaped
        data = data[pick_labels(shown, data.__getitem__, var, where, possible=possible)]
    name = None if data.name is None else str(data.name)
    item = data.dims[-1] if data.dims else None
    # Names such as dim_0 say nothing: the order must then be (draws, items) or (chains, draws, items).
    if draw in data.dims:
        rest = [dim for dim in data.dims if dim not in (chain, draw)]
        if len(rest) != 1:
            must = f"one dimension besides {chain} and {draw}, the items; got dimensions"
            raise ValueError(f"'{name or 'z'}' must have {must} {data.dims}.")
        item = rest[0]
        data = data.transpose(*(dim for dim in (chain, draw) if dim in data.dims), item)
    # Where chains and draws are stacked into one dimension, the chain is a coordinate along it.
    stacked = chain not in data.dims and chain in data.coords and data[chain].dims == (draw,)
    chains = np.asarray(data.coords[chain]) if stacked else None
    # xarray calls a dimension that was given no name dim_0, dim_1, ...
    named = item is not None and not str(item).startswith("dim_")
    return Source(data, coordinate_names(data, item), chains, name, str(item) if named else None)


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
        way_out = f"Name one: Draws.from_arviz(data, group='{groups[0]}')."
        raise ValueError(f"There is no group '{group}' here, only {quoted(groups)}. {way_out}")
    return data.to_dataset() if hasattr(data, "children") else data


# --- zarr ---


def read_zarr(path: Path, var: str | None) -> Source:
    """Labels in a folder in zarr."""
    zarr, where = need("zarr", "arviz", "Reading zarr"), f"the file '{path}'"
    with reading(path, "zarr"):
        node = zarr.open(path.absolute(), mode="r")
        arrays = {} if hasattr(node, "shape") else dict(node.get(GROUP, node).arrays())
        named = any(map(_has_dimensions, arrays.values())) or (arrays and GROUP in node)
    if not named:
        return from_zarr(node, var, where)
    # Where dimensions have names, xarray finds the chains, the draws and the names of the items.
    source = read_arviz_file(path, var, engine="zarr")
    if source.variable in arrays:
        _check_chunks(arrays[source.variable], where)
    return source


def is_zarr(data: Any) -> bool:
    """Whether `data` is an array or a group of zarr."""
    return type(data).__module__.partition(".")[0] == "zarr"


def from_zarr(node: Any, var: str | None, where: str) -> Source:
    """Labels in an array, or in one array of a group, by draw and item, or by chain, draw and item."""
    if hasattr(node, "shape"):
        found = Source(node)
    elif arrays := dict(node.get(GROUP, node).arrays()):
        found = from_arrays(arrays, var, where)
    else:
        raise ValueError(
            f"There are no arrays of zarr in {where}. Was the path right? zarr.open makes an empty group "
            'where there is nothing, unless it is called with mode="r".'
        )
    _check_chunks(found.labels, where)
    return found


def _has_dimensions(array: Any) -> bool:
    """Whether the dimensions of an array have names: a field of version 3, an attribute in version 2."""
    names = getattr(array.metadata, "dimension_names", None) or (None,)
    return "_ARRAY_DIMENSIONS" in array.attrs or None not in names


def _check_chunks(array: Any, where: str) -> None:
    """Refuse an array without chunks, warn where some lack: zarr reads them as one value, one cluster."""
    lost, name = int(array.nchunks) - int(array.nchunks_initialized), where[0].upper() + where[1:]
    if 0 < lost == array.nchunks:
        raise ValueError(f"{name} could not be read as zarr: none of its chunks is there.")
    if lost:
        warnings.warn(
            f"{name} lacks {lost:,} of its {array.nchunks:,} chunks. zarr leaves out those in which every label is "
            f"{array.fill_value}, and they are read so; if some were lost, copy the folder again.",
            stacklevel=2,
        )


# --- what workers of a Dask cluster read ---


def as_dask(labels: Any) -> Any:
    """Labels that are not in memory as a Dask array; None if workers cannot read them where they are."""
    array = need("dask.array", "dask", "A Dask cluster")
    if is_zarr(labels):
        # Workers began in other folders than this process.
        root = getattr(labels.store, "root", None)
        if isinstance(root, Path) and not root.is_absolute():
            zarr = need("zarr", "arviz", "Reading zarr")
            labels = zarr.open_array(root.absolute(), path=labels.path, mode="r")
        return array.from_zarr(labels)
    if is_labeled(labels):
        labels = (labels if labels.chunks else labels.chunk()).data
    return labels if hasattr(labels, "dask") else None
