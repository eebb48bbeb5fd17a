"""Draws, one partition, or a similarity matrix from files, and draws from labeled arrays.

The ending of a file says which format it is. Text is read by `text`; pandas reads parquet, rdata what R has saved (a
matrix, a data frame, an object of its packages posterior, rstan or coda, or a list of these), xarray netCDF and zarr.
Objects of xarray and ArviZ (both generations) are recognized by their attributes, so that xarray is imported only to
read a file. Dimensions are found by their names, ``chain`` and ``draw``, in any order; the one that remains is the
items.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._files import STREAM, open_arrays, reading
from epluribus._text import few_of
from epluribus._typing import AnyArray
from epluribus._validate import need, quoted, shown
from epluribus.readers.columns import (
    Source,
    from_arrays,
    from_frame,
    is_frame,
    item_names,
    pick_labels,
    to_array,
    to_texts,
)
from epluribus.readers.text import TextTable, read_table, text_source

GROUP = "posterior"
"""The group of an ArviZ object that holds the posterior sample."""
_ZARR_FILES = ("zarr.json", ".zgroup", ".zarray")
"""Files that a folder in zarr has one of: groups and arrays of version 3, groups and arrays of version 2."""
_READABLE = "csv, as Stan writes it, txt, tsv (also with .gz), npy, npz, parquet, nc (netCDF), zarr, rds, rda"
"""The formats, as messages list them."""


def read_source(path: Path, *, var: str | None = None) -> Source:
    """Labels in a file, with the names and chains it has; `var` is the variable to read if there are several.

    Labels are as the file has them, unchecked. Those of npy, netCDF and zarr may not be in memory.
    """
    data, where = load(path), f"the file '{path}'"
    if isinstance(data, TextTable):
        return text_source(data, var)
    if path.suffix.lower() in _R:
        return _from_r(data, var, where)
    if not isinstance(data, dict):
        return from_table(data, var, where) or Source(data)
    found = from_arrays(data, var, where)
    # What `Draws.save` and `epluribus sample` write beside the labels.
    items, chains, weights = (
        data[name].ravel() if name in data else None for name in ("items", "chains", "weights")
    )
    return found._replace(
        items=None if items is None else items.tolist(),
        variable=None if found.variable == "labels" else found.variable,
        chains=chains,
        weights=weights,
        kind=str(data["kind"]) if "kind" in data else None,
        origin=str(data.get("origin", "")),
    )


def from_table(data: Any, var: str | None, where: str) -> Source | None:
    """Labels in a frame, a labeled array, or several arrays by name; None for anything else."""
    if is_frame(data):
        return from_frame(data, var=var, where=where)
    if is_labeled(data):
        return from_labeled(data, var, where)
    # An xarray Dataset is a mapping too.
    return from_arrays(data, var, where) if isinstance(data, Mapping) else None


def load(path: Path) -> Any:
    """What is in a file, by its ending: a `TextTable`, an array, arrays by name, a frame, a Dataset, or R's object.

    A folder in zarr is a file too; ``-`` is text from standard input.
    """
    check_exists(path)
    kind = _ending(path)
    if kind not in _LOADERS:
        what = f"must be one of {_READABLE}; its name ends in '{kind}'"
        raise ValueError(f"The file '{path}' {what}. Write it as csv.")
    return _LOADERS[kind](path)


def check_exists(path: Path) -> None:
    """Refuse a path that leads nowhere, or to a folder that is not zarr; ``-`` is standard input."""
    # A Path turns https://host into https:/host: one slash is what is left to look for.
    if str(path) != STREAM and not path.exists():
        address = " An address is not read: fetch the file first." if ":/" in str(path) else ""
        raise FileNotFoundError(f"There is no file '{path}'.{address}")
    if path.is_dir() and _ending(path) != ".zarr":
        raise IsADirectoryError(f"'{path}' is a folder; a file is needed, or a folder in zarr.")


def _ending(path: Path) -> str:
    """The ending that says which format it is; for a compressed file, the one before the last.

    >>> _ending(Path("draws.CSV.gz"))
    '.csv'
    """
    # A folder in zarr may have any name: the files of its two versions give it away.
    if path.is_dir() and any((path / name).exists() for name in _ZARR_FILES):
        return ".zarr"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] == ".gz":
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


def load_numpy(path: Path) -> Any:
    """The array of an npy file, which stays in the file and is read where it is used; never Python objects."""
    # Unpickling runs code from the file: a file of draws must not be able to do that.
    name = f"The file '{path}' could not be read as NumPy data:"
    try:
        array = np.load(path, allow_pickle=False, mmap_mode="r")
        size, there = array.offset + array.nbytes, path.stat().st_size
    except Exception:  # noqa: BLE001 - a damaged header raises whatever Python's tokenizer does
        raise ValueError(
            f"{name} it is in another format, is truncated, or holds Python objects, which are not read. "
            "Write an array of numbers with np.save."
        ) from None
    if size != there:
        what = f"its header speaks of {size:,} bytes, and it has {there:,}"
        raise ValueError(f"{name} {what}. Is it damaged?")
    return array


def _load_npz(path: Path) -> dict[str, AnyArray]:
    with open_arrays(path, "NumPy data") as archive:
        return {name: archive[name] for name in archive.files}


def _load_parquet(path: Path) -> Any:
    need("pyarrow.parquet", "files", "Reading parquet")
    import pandas as pd

    with reading(path, "parquet"), path.open("rb") as stream:
        return pd.read_parquet(stream, engine="pyarrow", dtype_backend="numpy_nullable")


# --- labeled arrays, netCDF and zarr ---


def open_labeled(path: Path, engine: str | None = None) -> Any:
    """The Dataset in a file: the group ``posterior``, as ArviZ writes it, or all of it if there is none."""
    kind = engine or "netCDF"
    xarray = need("xarray", "arviz", f"Reading {kind}")
    # xarray reads netCDF with netCDF4, if that is installed, or with the packages of the extra "arviz".
    for package in () if find_spec("netCDF4") and not engine else (engine or "h5netcdf",):
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


def from_labeled(data: Any, var: str | None = None, where: str = "the data") -> Source:
    """Labels with dimensions (chain, draw, item) or (draw, item), and the item names, if any.

    Parameters
    ----------
    data : DataArray, Dataset, InferenceData or DataTree
        The last two with the group ``posterior``. Where there is no dimension ``draw``, a dimension ``sample``, as
        made by ArviZ's `extract`, is taken for the draws.
    var : str, optional
        The variable that holds the labels; by default the only one of integers by draw and item.
    where : str
        What the data are, for messages.
    """
    data = open_group(data)
    draw = "sample" if "draw" not in data.dims and "sample" in data.dims else "draw"
    if hasattr(data, "data_vars"):
        # Labels have the dimensions chain, draw and one more; matrices and single parameters are left out.
        dims = {str(name): list(map(str, x.dims)) for name, x in data.data_vars.items()}
        shaped = [n for n, d in dims.items() if draw in d and len({*d} - {"chain", draw}) == 1]
        # Stan's integers come as floats, which must be read to be recognized: only if nothing else is stored.
        stored = [name for name in shaped if data[name].dtype.kind in "iu"]
        shown = {n: f"{n} ({', '.join(d)})" for n, d in dims.items()}
        possible = stored or shaped
        data = data[pick_labels(shown, data.__getitem__, var, where, possible=possible)]
    name = None if data.name is None else str(data.name)
    item = data.dims[-1] if data.dims else None
    # Names such as dim_0 say nothing: the order must then be (draws, items) or (chains, draws, items).
    if draw in data.dims:
        rest = [dim for dim in data.dims if dim not in ("chain", draw)]
        if len(rest) != 1:
            must = f"one dimension besides chain and {draw}, the items; got dimensions"
            raise ValueError(f"'{name or 'z'}' must have {must} {data.dims}.")
        item = rest[0]
        data = data.transpose(*(dim for dim in ("chain", draw) if dim in data.dims), item)
    # Where chains and draws are stacked into one dimension, the chain is a coordinate along it.
    stacked = "chain" not in data.dims and "chain" in data.coords and data["chain"].dims == (draw,)
    chains = np.asarray(data.coords["chain"]) if stacked else None
    # xarray calls a dimension that was given no name dim_0, dim_1, ...
    named = item is not None and not str(item).startswith("dim_")
    return Source(data, coordinate_names(data, item), chains, name, str(item) if named else None)


def coordinate_names(data: Any, item: Any) -> list[str] | None:
    """Names along the dimension of the items, if it has any."""
    return item_names(np.asarray(data.coords[item])) if item in data.coords else None


def open_group(data: Any) -> Any:
    """The posterior of an ArviZ object as a Dataset; a Dataset or DataArray is returned unchanged."""
    # A DataTree (ArviZ 1.x) has `data_vars` too, but is the only one with `children`.
    is_tree = hasattr(data, "children")
    if not is_tree and (hasattr(data, "data_vars") or hasattr(data, "dims")):
        return data
    groups = [str(name).strip("/") for name in (data.children if is_tree else data.groups())]
    if GROUP in groups:
        data = data[GROUP]
    elif groups:
        way_out = f"Give the one that holds the labels: Draws(data['{groups[0]}'])."
        raise ValueError(f"There is no group '{GROUP}' here, only {quoted(groups)}. {way_out}")
    return data.to_dataset() if hasattr(data, "children") else data


def as_dask(labels: Any) -> Any:
    """Labels that are not in memory as a Dask array; None if workers cannot read them where they are."""
    need("dask.array", "dask", "A Dask cluster")
    if is_labeled(labels):
        labels = (labels if labels.chunks else labels.chunk()).data
    return labels if hasattr(labels, "dask") else None


# --- R ---


def _load_r(path: Path) -> Any:
    """What is in a file of R: of several objects in an .rda, all by name."""
    rdata = need("rdata", "files", "Reading R's files")
    makers = dict(rdata.conversion.DEFAULT_CLASS_MAP)
    makers |= {name: partial(_factor, makers[name]) for name in ("factor", "ordered")}
    with reading(path, "R data"), warnings.catch_warnings():
        # For a class that rdata does not know (posterior, coda, salso) it warns, and returns the matrix or list that
        # the class is built on: just what is needed.
        warnings.filterwarnings("ignore", message="Missing constructor for R class")
        load = rdata.read_rds if path.suffix.lower() == ".rds" else rdata.read_rda
        return load(path, constructor_dict=makers)


def _factor(make: Callable[..., Any], codes: AnyArray, attributes: Any) -> Any:
    """A factor: rdata makes categories of vectors; of a matrix the numbers of its levels are what is needed."""
    return make(codes, attributes) if codes.ndim == 1 else codes


def _from_r(value: Any, var: str | None, where: str) -> Source:
    """Labels in an R object that rdata converted: a list, a data frame, a matrix or an array."""
    if isinstance(value, dict):
        parts = {str(name): part for name, part in value.items()}
        if not all(re.fullmatch(r"chain\W*\d+", name, re.IGNORECASE) for name in parts):
            return _from_r(from_arrays(parts, var, where).labels, None, where)
        value = list(parts.values())
    dims = [str(dim).lower() for dim in getattr(value, "dims", ())]
    # As posterior's draws_array: iterations by chains by variables.
    if (
        len(dims) == 3
        and (at := next((i for i in range(3) if dims[i].startswith("chain")), -1)) >= 0
    ):
        value = [value.isel({value.dims[at]: c}) for c in range(value.shape[at])]
    # A list of vectors has one vector per draw; a list of matrices one per chain, like coda's mcmc.list.
    if isinstance(value, list) and any(np.ndim(part) != 1 for part in value):
        chains = [_from_r(part, var, where) for part in value]
        shapes = {np.shape(part.labels) for part in chains}
        if len(shapes) != 1:
            raise ValueError(f"The chains in {where} must have one shape; got {sorted(shapes)}.")
        return Source(np.ma.stack([part.labels for part in chains]), chains[0].items)
    if len(dims) == 2 and value.dims[1] in value.coords:
        value = value.reset_coords(drop=True).to_pandas().reset_index(drop=True)
    if is_frame(value):
        return from_frame(value, where=where, var=var)
    # Not np.asarray, which would drop the mask of what is NA in R.
    array = np.asanyarray(value)
    if array.ndim != 2:
        raise ValueError(
            f"The labels in {where} must be a matrix, draws by items, or an array with a dimension 'chain'; got one of "
            f"shape {array.shape} (that of words is lost). In R, matrix(as.integer(factor(z)), n_draws) and "
            "names(dimnames(z)) <- c('iteration', 'chain', 'variable') make it one."
        )
    return Source(array, [str(i + 1) for i in range(array.shape[1])])  # R counts from 1


_R = (".rds", ".rda", ".rdata")
_LOADERS: dict[str, Callable[[Path], Any]] = {
    **dict.fromkeys(
        (".csv", ".txt", ".tsv", ".dat", ""), read_table
    ),  # "" is a name without an ending, as - is
    **dict.fromkeys((".nc", ".nc4", ".netcdf", ".cdf"), open_labeled),
    ".zarr": partial(open_labeled, engine="zarr"),
    ".npy": load_numpy,
    ".npz": _load_npz,
    **dict.fromkeys((".parquet", ".pq"), _load_parquet),
    **dict.fromkeys(_R, _load_r),
}
"""What opens or reads a file of each ending."""


# --- one partition, or a similarity matrix ---


def read_labels(path: Path) -> Any:
    """Read one partition: one label per line, one row, or the columns that `write_labels` writes.

    A table may have one column of labels, or several, of which one is named 'cluster'; a column 'item' names the
    items. Text and every format of `read_source` can be read; from R a vector too.

    Returns
    -------
    pandas.Series
        The labels, with the names of the items as index, if the file has a column of them.
    """
    import pandas as pd

    data = load(path)
    if isinstance(data, TextTable):
        table, names, texts = to_array(data.frame), data.names, data.texts
    elif is_frame(data):
        table, names = to_array(data), list(map(str, data.columns))
        texts = lambda at: to_texts(table[:, at])  # noqa: E731
    else:
        is_row = getattr(data, "ndim", 0) == 1
        table, names = np.asanyarray(data if is_row else read_source(path).labels), []
    if table.ndim < 2 or (len(table) == 1 and "cluster" not in names):
        return pd.Series(table.ravel().tolist(), _dimension_names(data))
    places = [i for i in range(table.shape[1]) if names[i : i + 1] in ([], ["cluster"])]
    places = places or [i for i, name in enumerate(names) if name != "item"]
    if table.ndim > 2 or len(places) != 1:  # several chains are no partition either
        found = f"the columns {few_of(names)}" if names else f"{table.shape[1]} columns"
        raise ValueError(
            f"'{path}' must hold one partition: one column of labels, or one named 'cluster'; got {found}. Keep one of "
            "them, or name it 'cluster', and that of the items 'item'."
        )
    labels = pd.Series(table[:, places[0]].tolist())
    if "item" in names:
        items = texts(names.index("item"))
        # Numbers of items that have no names; whoever sorted the lines meant the same items.
        numbered = sorted(items) == sorted(map(str, range(len(items))))
        labels.index = pd.Index(list(map(int, items)) if numbered else items)
        labels = labels.sort_index() if numbered else labels
    return labels


def read_matrix(path: Path) -> tuple[Any, Any]:
    """A similarity matrix in text, npy, npz (also one of SciPy's sparse kinds) or rds, and the names of its items."""
    data = load(path)
    if isinstance(data, TextTable):
        return data.numbers(), data.names or None
    if isinstance(data, dict) and "indptr" in data:
        from scipy.sparse import load_npz

        with reading(path, "a sparse matrix of SciPy"):
            return load_npz(path), None
    if is_frame(data):
        return np.asarray(data), list(map(str, data.columns))
    if not hasattr(data, "shape"):
        what = "must hold one square matrix (text, npy, npz of SciPy, parquet, or rds)"
        raise ValueError(f"The file '{path}' {what}; it holds {shown(data)}.")
    return np.asarray(data), _dimension_names(data)


def _dimension_names(value: Any) -> Any:
    """Names along the last dimension of what R saved, if it has any."""
    # A Dataset has no last dimension.
    is_array = hasattr(value, "coords") and hasattr(value, "ndim")
    return coordinate_names(value, value.dims[-1]) if is_array else None
