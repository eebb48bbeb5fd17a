"""Draws from files: the format is told by the ending of the name."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import need
from epluribus.readers.columns import pick_columns
from epluribus.readers.source import STDIN, Source
from epluribus.readers.tables import pick_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from epluribus.draws import Draws

__all__ = ["is_text", "read_draws", "read_source"]

_TEXT = (".csv", ".txt", ".tsv", ".dat", "")
_READABLE = (
    "csv, txt, tsv (also with .gz), npy, npz, parquet, nc (netCDF), zarr, rds, rda; "
    "output of Stan is csv"
)


def read_source(path: Path, *, var: str | None = None) -> Source:
    """Labels in a file, and the names and chains it has."""
    if str(path) == STDIN:
        from epluribus.readers.text import read_text

        return read_text(path, var)
    if not path.exists():
        address = " An address is not read: fetch the file first." if ":/" in str(path) else ""
        raise FileNotFoundError(f"There is no file '{path}'.{address}")
    kind = _kind(path)
    if kind == ".zarr" or kind in (".nc", ".nc4", ".netcdf", ".cdf"):
        from epluribus.readers.labelled import read_groups

        return read_groups(path, var, "zarr" if kind == ".zarr" else None)
    if path.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder; a file is needed, or a folder in zarr.")
    if kind == ".npy":
        return Source(_load_numpy(path))
    if kind == ".npz":
        return _read_npz(path, var)
    if kind in (".parquet", ".pq"):
        return _read_parquet(path, var)
    if kind in (".rds", ".rda", ".rdata"):
        from epluribus.readers.rds import read_r

        return read_r(path, var)
    if kind in _TEXT:
        from epluribus.readers.text import read_text

        return read_text(path, var)
    raise ValueError(f"The file '{path}' must be one of {_READABLE}; its name ends in '{kind}'.")


def is_text(path: Path) -> bool:
    """Whether a file is text, by its name."""
    return str(path) == STDIN or _kind(path) in _TEXT


def _kind(path: Path) -> str:
    """The ending that tells the format."""
    if path.is_dir() and any((path / name).exists() for name in ("zarr.json", ".zgroup")):
        return ".zarr"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in (".gz", ".bz2", ".xz"):
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def _load_numpy(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise ValueError(
            f"The file '{path}' could not be read as NumPy data: it is none, it is cut short, or it holds "
            "Python objects, which are not read. np.save of an array of numbers writes what can be read."
        ) from None


def _read_npz(path: Path, var: str | None) -> Source:
    with _load_numpy(path) as archive:
        name = pick_table(archive.files, archive.__getitem__, var, f"the file '{path}'")
        items = archive["items"].tolist() if "items" in archive.files else None
        return Source(archive[name], items, variable=None if name == "labels" else name)


def _read_parquet(path: Path, var: str | None) -> Source:
    parquet = need("pyarrow.parquet", "files", "Reading parquet")
    try:
        table = parquet.read_table(path)
    except Exception as error:  # pyarrow's errors share no class
        raise ValueError(f"The file '{path}' could not be read as parquet: {error}") from error

    def take(columns: list[int]) -> NDArray[Any]:
        return np.column_stack([table.column(i).to_numpy() for i in columns])

    return pick_columns(table.column_names, take, where=f"the file '{path}'", var=var)
