"""Labels in zarr: a plain array, a plain group of arrays, or what xarray and ArviZ write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from epluribus._validate import need
from epluribus.readers.labeled_arrays import GROUP, read_arviz_file
from epluribus.readers.source import Source, pick_labels

ZARR_FILES = ("zarr.json", ".zgroup", ".zarray")
"""Files that a folder in zarr has one of: groups and arrays of version 3, groups and arrays of version 2."""


def read_zarr(path: Path, var: str | None) -> Source:
    """Labels in a folder in zarr. Numbers are not read yet, only opened."""
    zarr = need("zarr", "arviz", "Reading zarr")
    try:
        node = zarr.open(path, mode="r")
    except Exception as error:  # zarr's errors have no class in common
        raise ValueError(f"The file '{path}' could not be read as zarr: {error}") from error
    if hasattr(node, "shape"):
        return Source(node)
    # Where dimensions have names, xarray finds the chains, the draws and the names of the items.
    if GROUP in node or any(_has_dimensions(array) for _, array in node.arrays()):
        return read_arviz_file(path, var, engine="zarr")
    return from_group(node, var, f"the file '{path}'")


def is_group(data: Any) -> bool:
    """Whether `data` is a group of zarr."""
    return type(data).__module__.partition(".")[0] == "zarr" and hasattr(data, "arrays")


def from_group(group: Any, var: str | None, where: str) -> Source:
    """One array of a group, by draw and item, or by chain, draw and item."""
    if GROUP in group:
        group = group[GROUP]
    arrays = dict(group.arrays())
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
