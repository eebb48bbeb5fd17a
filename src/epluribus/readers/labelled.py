"""Draws from labelled arrays: xarray, and ArviZ objects of both generations.

Objects are recognized by what they offer, so that no library is imported but to read a file.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import need
from epluribus._validate import quoted
from epluribus.readers.source import HOW_TO_NAME, Source, names_of
from epluribus.readers.tables import is_whole

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["coordinate_names", "from_labelled", "read_groups"]

_GROUP = "posterior"


def read_groups(path: Path, var: str | None, engine: str | None) -> Source:
    """A netCDF or zarr file: its group ``posterior``, or all of it where it has no groups."""
    kind = "netCDF" if engine is None else engine
    xarray = need("xarray", "arviz", f"Reading {kind}")
    for package in ("zarr",) if engine else _netcdf_packages():
        need(package, "arviz", f"Reading {kind}")
    try:
        try:
            data = xarray.open_dataset(path, group=_GROUP, engine=engine)
        except (
            OSError,
            KeyError,
            TypeError,
            ValueError,
        ):  # each engine has its own for "no such group"
            data = xarray.open_dataset(path, engine=engine)
    except Exception as error:  # as each has for "no such format"
        raise ValueError(f"The file '{path}' could not be read as {kind}: {error}") from error
    # The file stays open for the labels to be read in blocks, and is closed when nobody refers to it.
    return from_labelled(data, var)


def _netcdf_packages() -> tuple[str, ...]:
    """What xarray needs to read netCDF: netCDF4 where it is installed, or else the extra's own."""
    return () if find_spec("netCDF4") else ("h5netcdf", "h5py")


def from_labelled(
    data: Any,
    var: str | None = None,
    *,
    group: str = _GROUP,
    chain: str = "chain",
    draw: str = "draw",
) -> Source:
    """Labels with dimensions (chain, draw, item) or (draw, item), and the item names, if any.

    `data` is an xarray DataArray or Dataset, an ArviZ InferenceData, or a DataTree with the group
    `group`; `chain` and `draw` are the names of these dimensions. A dimension ``sample``, as
    ArviZ's `extract` makes it, is one of draws.
    """
    data = _dataset(data, group)
    draw = "sample" if draw not in data.dims and "sample" in data.dims else draw
    if hasattr(data, "data_vars"):
        data = data[_label_variable(data, var, chain, draw)]
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
    else:  # the order is taken as it stands: (draws, items) or (chains, draws, items)
        item = dims[-1] if dims else None
    stacked = chain not in dims and chain in data.coords and data.coords[chain].dims == (draw,)
    chains = np.asarray(data.coords[chain]) if stacked else None
    # Numbers may be on disk or in a dask array, and are read in blocks later.
    labels = data if data.dtype.kind in "iufb" else np.asarray(data)
    return Source(labels, coordinate_names(data, item), chains, name)


def coordinate_names(data: Any, item: Any) -> list[str] | None:
    """Names along the dimension of the items, where it has any."""
    if item not in data.coords:
        return None
    return names_of(np.asarray(data.coords[item]))


def _dataset(data: Any, group: str) -> Any:
    """The group of an ArviZ object; anything else as it is."""
    if hasattr(data, "data_vars") and not hasattr(data, "children"):
        return data  # a Dataset
    if not hasattr(data, "children") and hasattr(data, "dims"):
        return data  # a DataArray
    groups = _groups(data)
    if group in groups:
        data = data[group]
    elif groups:
        raise ValueError(
            f"There is no group '{group}' to read the labels from; there are {quoted(groups)}. Name one: "
            f"Draws.from_arviz(data, group='{groups[0]}')."
        )
    return data.to_dataset() if hasattr(data, "children") else data


def _groups(data: Any) -> list[str]:
    """Names of the groups of an InferenceData or of a DataTree."""
    if hasattr(data, "children"):
        return [str(name) for name in data.children]
    return [str(name).strip("/") for name in data.groups()]


def _label_variable(data: Any, var: str | None, chain: str, draw: str) -> str:
    """The variable that holds labels: the one named, or the only one of whole numbers by draw and item."""
    names = [str(name) for name in data.data_vars]
    if var is not None:
        if var not in names:
            raise ValueError(f"'var' must be one of {names}; got '{var}'.")
        return var
    shaped = [
        name
        for name in names
        if draw in data[name].dims and len(set(data[name].dims) - {chain, draw}) == 1
    ]
    candidates = [name for name in shaped if data[name].dtype.kind in "iu"]
    if not candidates:  # Stan's whole numbers come as floats
        floats = [name for name in shaped if data[name].dtype.kind == "f"]
        candidates = [name for name in floats if is_whole(np.asarray(data[name]))]
    if len(candidates) != 1:
        found = f"{len(candidates)} ({', '.join(candidates)})" if candidates else "none"
        raise ValueError(
            "'var' must name the variable that holds the labels: of the variables "
            f"{_with_dims(data, names)}, those of whole numbers by draw and one other dimension, the "
            f"items, are {found}. {HOW_TO_NAME}"
        )
    return candidates[0]


def _with_dims(data: Any, names: list[str]) -> str:
    return ", ".join(f"{name} ({', '.join(map(str, data[name].dims))})" for name in names)
