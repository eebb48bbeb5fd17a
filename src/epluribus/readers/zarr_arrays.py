"""Labels in zarr: a plain array, a plain group of arrays, or what xarray and ArviZ write."""

from __future__ import annotations

import warnings
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
        node = zarr.open(path, mode="r")
        arrays = {} if hasattr(node, "shape") else dict(_posterior(node).arrays())
        named = not hasattr(node, "shape") and (
            GROUP in node or any(map(_has_dimensions, arrays.values()))
        )
    if hasattr(node, "shape"):
        _check_chunks(node, path)
        return Source(node)
    # Where dimensions have names, xarray finds the chains, the draws and the names of the items.
    if named:
        source = read_arviz_file(path, var, engine="zarr")
    else:
        source = from_group(node, var, f"the file '{path}'")
    if source.variable in arrays:
        _check_chunks(arrays[source.variable], path)
    return source


def _posterior(group: Any) -> Any:
    """The group of the posterior sample, if there is one; else the group itself."""
    return group.get(GROUP, group)


def _check_chunks(array: Any, path: Path) -> None:
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
    return type(data).__module__.partition(".")[0] == "zarr" and hasattr(data, "arrays")


def from_group(group: Any, var: str | None, where: str) -> Source:
    """One array of a group, by draw and item, or by chain, draw and item."""
    arrays = dict(_posterior(group).arrays())
    tables = [name for name, array in arrays.items() if array.ndim >= 2]
    # To see whether floats are integers they must be read: only if nothing is stored as integers.
    stored = [name for name in tables if arrays[name].dtype.kind in "iu"]
    name = pick_labels(
        list(arrays), lambda name: arrays[name][...], var, where, possible=stored or tables
    )
    return Source(arrays[name], variable=name)


def _has_dimensions(array: Any) -> bool:
    """Whether the dimensions of an array have names: a field of version 3, an attribute in version 2."""
    names = getattr(array.metadata, "dimension_names", None) or (None,)
    return "_ARRAY_DIMENSIONS" in array.attrs or None not in names
