"""Draws, or one partition, from files: the ending of the name says which format it is.

Text is read by `text`, netCDF and zarr by `arrays`; files of NumPy and R and parquet are read here. R may have
saved a matrix, a data frame, an object of its packages posterior, rstan or coda, or a list of these.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._files import STREAM, open_arrays, reading
from epluribus._text import few_of
from epluribus._typing import AnyArray
from epluribus._validate import need
from epluribus.readers import Source, from_arrays, to_texts
from epluribus.readers.arrays import ZARR_FILES, read_arviz_file, read_zarr
from epluribus.readers.columns import from_frame, to_array
from epluribus.readers.text import read_table, read_text

_TEXT = (".csv", ".txt", ".tsv", ".dat", "")
"""Endings of text files; the last is a name without an ending, as ``-`` is."""
_READABLE = "csv, as Stan writes it, txt, tsv (also with .gz), npy, npz, parquet, nc (netCDF), zarr, rds, rda"
"""The formats, as messages list them."""


def read_source(path: Path, *, var: str | None = None) -> Source:
    """Labels in a file, with the names and chains it has.

    Parameters
    ----------
    path : Path
        The file, or a folder in zarr; ``-`` reads text from standard input.
    var : str, optional
        The variable to read if there are several.

    Returns
    -------
    Source
        Labels as the file has them, unchecked. Those of npy, netCDF and zarr may not be in memory.
    """
    check_exists(path)
    kind = _ending(path)
    if path.is_dir() and kind != ".zarr":
        raise IsADirectoryError(f"'{path}' is a folder; a file is needed, or a folder in zarr.")
    if kind not in _READERS:
        what = f"must be one of {_READABLE}; its name ends in '{kind}'"
        raise ValueError(f"The file '{path}' {what}.")
    return _READERS[kind](path, var)


def check_exists(path: Path) -> None:
    """Refuse a path that leads nowhere; ``-`` is standard input."""
    # A Path turns https://host into https:/host: one slash is what is left to look for.
    if str(path) != STREAM and not path.exists():
        address = " An address is not read: fetch the file first." if ":/" in str(path) else ""
        raise FileNotFoundError(f"There is no file '{path}'.{address}")


def is_text(path: Path) -> bool:
    """Whether a file is text, by its name."""
    return _ending(path) in _TEXT


def _ending(path: Path) -> str:
    """The ending that says which format it is; for a compressed file, the one before the last.

    >>> _ending(Path("draws.CSV.gz"))
    '.csv'
    """
    # A folder in zarr may have any name: the files of its two versions give it away.
    if path.is_dir() and any((path / name).exists() for name in ZARR_FILES):
        return ".zarr"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in (".gz", ".bz2", ".xz"):
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


def _read_npz(path: Path, var: str | None) -> Source:
    with open_arrays(path, "NumPy data") as archive:
        found = from_arrays(archive, var, f"the file '{path}'")
        items = archive["items"].ravel().tolist() if "items" in archive.files else None
    variable = None if found.variable == "labels" else found.variable
    return found._replace(items=items, variable=variable)


def _read_parquet(path: Path, var: str | None) -> Source:
    need("pyarrow.parquet", "files", "Reading parquet")
    import pandas as pd

    with reading(path, "parquet"), path.open("rb") as stream:
        frame = pd.read_parquet(stream, engine="pyarrow", dtype_backend="numpy_nullable")
    return from_frame(frame, var=var, where=f"the file '{path}'")


# --- R ---


def _read_r(path: Path, var: str | None) -> Source:
    """Labels in what R's `saveRDS` (.rds) or `save` (.rda, .RData) wrote."""
    rdata = need("rdata", "files", "Reading R's files")
    with reading(path, "R data"), warnings.catch_warnings():
        # For a class that rdata does not know (posterior, coda) it warns, and returns the matrix or list
        # that the class is built on: just what is needed.
        warnings.filterwarnings("ignore", message="Missing constructor for R class")
        parsed = rdata.parser.parse_file(str(path), extension=path.suffix.lower())
        _strings_to_integers(parsed.object, rdata.parser.RObjectType)
        value = rdata.conversion.convert(parsed)
    return _from_r(value, var, f"the file '{path}'")


def _strings_to_integers(thing: Any, types: Any) -> None:
    """Turn matrices of strings and of factors into integers, in place: rdata loses the shape of these.

    `thing` is an object of R as rdata parsed it, before conversion; lists are searched for matrices.
    """
    kind = thing.info.type
    if kind in (types.VEC, types.LIST):
        for part in thing.value:
            _strings_to_integers(part, types)
    elif kind in (types.STR, types.INT) and b"dim" in _attribute_names(thing, types):
        # Only which strings are equal matters: they are numbered in order of appearance, NA is masked.
        if kind == types.STR:
            words = [char.value for char in thing.value]
            codes = {word: code for code, word in enumerate(dict.fromkeys(words))}
            missing = [word is None for word in words]
            thing.value = np.ma.masked_array([codes[word] for word in words], missing)
            thing.info.type = types.INT
        # A factor is a vector of codes with a class; without the class it is converted as integers.
        thing.info.object = False


def _attribute_names(thing: Any, types: Any) -> list[bytes]:
    """Names of the attributes of an R object, which R keeps as a linked list."""
    names: list[bytes] = []
    node = thing.attributes
    while node is not None and node.info.type == types.LIST:
        # A name that occurred earlier in the file is stored as a reference to it.
        symbol = node.tag.referenced_object or node.tag
        names.append(symbol.value.value)
        node = node.value[1]
    return names


def _from_r(value: Any, var: str | None, where: str) -> Source:
    """Labels in an R object that rdata converted: a list, a data frame, a matrix or an array."""
    if isinstance(value, dict):
        parts = {str(name): part for name, part in value.items()}
        if all(re.fullmatch(r"chain\W*\d+", name, re.IGNORECASE) for name in parts):
            return _from_r(list(value.values()), var, where)
        tables = [name for name, part in parts.items() if np.ndim(part) >= 2]
        # A name that is not in the list can still name columns of the only table in it.
        if var is not None and var not in parts and len(tables) == 1:
            return _from_r(parts[tables[0]], var, where)
        return _from_r(from_arrays(parts, var, where).labels, None, where)
    # A list of vectors has one vector per draw; a list of matrices one per chain, like coda's mcmc.list.
    if isinstance(value, list) and value and all(np.ndim(part) == 1 for part in value):
        return Source(value)
    if isinstance(value, list):
        chains = [_from_r(part, var, where) for part in value]
        shapes = {np.shape(part.labels) for part in chains}
        if len(shapes) != 1:
            raise ValueError(f"The chains in {where} must have one shape; got {sorted(shapes)}.")
        return Source(np.ma.stack([part.labels for part in chains]), chains[0].items)
    if hasattr(value, "columns"):
        return from_frame(value, where=where, var=var)
    if hasattr(value, "coords"):
        chain = [dim for dim in value.dims if str(dim).lower().startswith("chain")]
        # As posterior's draws_array: iterations by chains by variables.
        if value.ndim == 3 and chain:
            each = [value.isel({chain[0]: c}) for c in range(value.sizes[chain[0]])]
            return _from_r(each, var, where)
        if value.ndim == 3:
            what = f"its dimensions are {tuple(map(str, value.dims))}"
            raise ValueError(
                f"The array in {where} must say which dimension is the chain; {what}. In R: "
                "names(dimnames(z))[2] <- 'chain'."
            )
        if value.ndim == 2 and value.dims[1] in value.coords:
            frame = value.reset_coords(drop=True).to_pandas().reset_index(drop=True)
            return from_frame(frame, where=where, var=var)
    # Not np.asarray, which would drop the mask of what is NA in R.
    array = np.asanyarray(value)
    if array.ndim != 2:
        what = f"must be a matrix of draws by items, or have named dimensions; got an array of shape {array.shape}"
        raise ValueError(
            f"The labels in {where} {what}. In R, aperm(z, ...) and dimnames(z) make it one: names(dimnames(z)) "
            "<- c('iteration', 'chain', 'variable')."
        )
    return Source(array)


_READERS: dict[str, Callable[[Path, str | None], Source]] = {
    **dict.fromkeys(_TEXT, read_text),
    **dict.fromkeys((".nc", ".nc4", ".netcdf", ".cdf"), read_arviz_file),
    ".zarr": read_zarr,
    ".npy": lambda path, _: Source(load_numpy(path)),
    ".npz": _read_npz,
    **dict.fromkeys((".parquet", ".pq"), _read_parquet),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _read_r),
}
"""The reader for each ending; it takes the path and the variable asked for."""


# --- one partition ---


def read_labels(path: Path) -> Any:
    """Read one partition: one label per line, one row, or the columns that `write_labels` writes.

    Other tables may have one column of labels, and one before it that names or numbers the items. Text and
    every format of `read_source` can be read.

    Returns
    -------
    pandas.Series
        The labels, with the names of the items as index, if the file has a column of them.
    """
    import pandas as pd

    texts = None
    if is_text(path):
        found = read_table(path)
        table, texts = to_array(found.frame), found.texts
        names = list(found.frame.columns) if found.named else []
    else:
        with warnings.catch_warnings():
            # Here each row is an item, so a column 0, 1, 2, ... numbers the items, not the draws.
            warnings.filterwarnings("ignore", message=".* counts the draws")
            source = read_source(path)
        table, names = np.asanyarray(source.labels), list(source.items or [])
    if not names and (table.ndim < 2 or len(table) == 1):
        return pd.Series(table.ravel().tolist())
    labels = pd.Series(table[:, _place_of_labels(path, table, names)].tolist())
    if "item" in names:
        at = names.index("item")
        items = to_texts(table[:, at]) if texts is None else texts(at)
        # Numbers of items that have no names; whoever sorted the lines meant the same items.
        numbered = sorted(items) == sorted(map(str, range(len(items))))
        labels.index = pd.Index(list(map(int, items)) if numbered else items)
        labels = labels.sort_index() if numbered else labels
    return labels


def _place_of_labels(path: Path, table: AnyArray, names: list[str]) -> int:
    """The column "cluster", or the only one that does not name or number the items."""
    if "cluster" in names:
        return names.index("cluster")
    n_columns = table.shape[1]
    places = [i for i in range(n_columns) if names[i : i + 1] != ["item"]]
    if len(places) > 1 and len(set(table[:, places[0]].tolist())) == len(table):
        places = places[1:]  # no two values are equal: names or numbers of the items
    if len(places) != 1:
        # The names of losses, if several partitions were written.
        found = f"the columns {few_of(names)}" if names else f"{n_columns} columns"
        what = f"one partition: one column of labels, or one named 'cluster'; got {found}"
        raise ValueError(f"'{path}' must hold {what}. Keep one of them, or name it 'cluster'.")
    return places[0]
