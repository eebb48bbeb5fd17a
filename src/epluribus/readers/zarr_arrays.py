"""Labels in zarr: a plain array, a plain group of arrays, or what xarray and ArviZ write."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from epluribus._files import reading
from epluribus._validate import need
from epluribus.readers.labeled_arrays import GROUP, read_arviz_file
from epluribus.readers.source import Source, pick_labels

ZARR_FILES = ("zarr.json", ".zgroup", ".zarray")
"""Files that a folder in zarr has one of: groups and arrays of version 3, groups and arrays of version 2."""


def read_zarr(path: Path, var: str | None) -> Source:
    """Labels in a folder in zarr. Numbers are not read yet, only opened."""
    zarr = need("zarr", "arviz", "Reading zarr")
    with reading(path, "zarr"):
        node = zarr.open(path.absolute(), mode="r")  # for workers that began in other folders
        arrays = {} if hasattr(node, "shape") else dict(_posterior(node).arrays())
        named = not hasattr(node, "shape") and (
            GROUP in node or any(map(_has_dimensions, arrays.values()))
        )
    if hasattr(node, "shape"):
        _check_chunks(node, path)
        return Source(node)
    # Where dimensions have names, xarray finds the chains, the draws and the names of the items.
    source = (
        read_arviz_file(path, var, engine="zarr")
        if named
        else from_group(node, var, f"the file '{path}'")
    )
    if named and source.variable in arrays:
        _check_chunks(arrays[source.variable], path)
    return source


def is_array(data: Any) -> bool:
    """Whether `data` is an array of zarr."""
    return _is_zarr(data) and hasattr(data, "shape")


def from_array(array: Any) -> Source:
    """Labels in an array that was opened by the user, perhaps in a folder relative to the present one."""
    _check_chunks(array, array.store_path)
    root = getattr(array.store, "root", None)
    if isinstance(root, Path) and not root.is_absolute():
        zarr = need("zarr", "arviz", "Reading zarr")
        array = zarr.open_array(root.absolute(), path=array.path, mode="r")
    return Source(array)


def check_found(array: Any) -> None:
    """Raise an error if the array is not where it was opened, in this process or elsewhere."""
    zarr = need("zarr", "arviz", "Reading zarr")
    with suppress(FileNotFoundError):
        zarr.open_array(array.store, path=array.path, mode="r")
        return
    # Without this error all chunks would be read as one value, one cluster. It stands alone: an error of zarr
    # behind it could not be sent from a worker.
    raise FileNotFoundError(
        f"The array '{array.store_path}' is not found by a process that is to read it. Workers must see "
        "it: give a path on storage that they share."
    )


def _posterior(group: Any) -> Any:
    """The group of the posterior sample, if there is one; else the group itself."""
    return group.get(GROUP, group)


def _check_chunks(array: Any, path: Any) -> None:
    """Say that chunks are not there: zarr reads them as one value, one cluster, without a word."""
    there, all_chunks = int(array.nchunks_initialized), int(array.nchunks)
    if there == 0 < all_chunks:
        raise ValueError(
            f"The file '{path}' could not be read as zarr: none of its chunks is there."
        )
    if there < all_chunks:
        warnings.warn(
            f"The file '{path}' lacks {all_chunks - there:,} of its {all_chunks:,} chunks. zarr leaves out "
            f"those in which every label is {array.fill_value}, and they are read so; if some were lost, "
            "copy the folder again.",
            stacklevel=2,
        )


def is_group(data: Any) -> bool:
    """Whether `data` is a group of zarr."""
    return _is_zarr(data) and hasattr(data, "arrays")


def _is_zarr(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "zarr"


def from_group(group: Any, var: str | None, where: str) -> Source:
    """One array of a group, by draw and item, or by chain, draw and item."""
    arrays = dict(_posterior(group).arrays())
    if not arrays:
        raise ValueError(
            f"There are no arrays of zarr in {where}. Was the path right? zarr.open makes an empty group "
            'where there is nothing, unless it is called with mode="r".'
        )
    tables = [name for name, array in arrays.items() if array.ndim >= 2]
    # To see whether floats are integers they must be read: only if nothing is stored as integers.
    stored = [name for name in tables if arrays[name].dtype.kind in "iu"]
    name = pick_labels(
        list(arrays), lambda name: arrays[name][...], var, where, possible=stored or tables
    )
    return from_array(arrays[name])._replace(variable=name)


def _has_dimensions(array: Any) -> bool:
    """Whether the dimensions of an array have names: a field of version 3, an attribute in version 2."""
    names = getattr(array.metadata, "dimension_names", None) or (None,)
    return "_ARRAY_DIMENSIONS" in array.attrs or None not in names
