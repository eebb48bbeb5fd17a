"""Draws, or one partition, from files: the ending of the name says which format it is.

Text is read by `text`, netCDF and zarr by `labeled_arrays`; NumPy, parquet and R's files are read here.
R may have saved a matrix, a data frame, the formats of its packages posterior, rstan and coda, or a list
of these.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epluribus._files import STREAM
from epluribus._typing import AnyArray
from epluribus._validate import need
from epluribus.readers.columns import pick_columns
from epluribus.readers.labeled_arrays import read_arviz_file
from epluribus.readers.source import Source, pick_labels, to_texts
from epluribus.readers.text import read_table, read_text

_TEXT = (".csv", ".txt", ".tsv", ".dat", "")
_READABLE = (
    "csv, txt, tsv (also with .gz), npy, npz, parquet, nc (netCDF), zarr, rds, rda; "
    "output of Stan is csv"
)
_CHAIN = re.compile(r"chain\W*\d+", re.IGNORECASE)
"""Names of an R list that has one element per chain."""


def read_source(path: Path, *, var: str | None = None) -> Source:
    """Labels in a file, and the names and chains it has."""
    check_exists(path)
    kind = _ending(path)
    if path.is_dir() and kind != ".zarr":
        raise IsADirectoryError(f"'{path}' is a folder; a file is needed, or a folder in zarr.")
    if kind not in _READERS:
        raise ValueError(
            f"The file '{path}' must be one of {_READABLE}; its name ends in '{kind}'."
        )
    return _READERS[kind](path, var)


def check_exists(path: Path) -> None:
    """Refuse a path that leads nowhere; ``-`` is standard input."""
    if str(path) != STREAM and not path.exists():
        address = " An address is not read: fetch the file first." if ":/" in str(path) else ""
        raise FileNotFoundError(f"There is no file '{path}'.{address}")


def is_text(path: Path) -> bool:
    """Whether a file is text, by its name."""
    return _ending(path) in _TEXT


def _ending(path: Path) -> str:
    """The ending that says which format it is; that of a compressed file is the one before."""
    if path.is_dir() and any((path / name).exists() for name in ("zarr.json", ".zgroup")):
        return ".zarr"
    suffixes = [suffix.lower() for suffix in path.suffixes]  # of draws.csv.gz both
    if len(suffixes) > 1 and suffixes[-1] in (".gz", ".bz2", ".xz"):
        return suffixes[-2]
    return suffixes[-1] if suffixes else ""


# --- NumPy and parquet ---


def load_numpy(path: Path) -> Any:
    """The array of an npy file, or the archive in an npz file; never Python objects."""
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise ValueError(
            f"The file '{path}' could not be read as NumPy data: it is something else, is cut short, or "
            "holds Python objects, which are not read. np.save of an array of numbers writes what can "
            "be read."
        ) from None


def _read_npz(path: Path, var: str | None) -> Source:
    with load_numpy(path) as archive:  # arrays are read when they are asked for
        tables = [name for name in archive.files if archive[name].ndim >= 2]
        name = pick_labels(
            archive.files, archive.__getitem__, var, f"the file '{path}'", possible=tables
        )
        items = archive["items"].tolist() if "items" in archive.files else None
        return Source(archive[name], items, variable=None if name == "labels" else name)


def _read_parquet(path: Path, var: str | None) -> Source:
    parquet = need("pyarrow.parquet", "files", "Reading parquet")
    try:
        table = parquet.read_table(path)
    except Exception as error:  # the errors of pyarrow have no class in common
        raise ValueError(f"The file '{path}' could not be read as parquet: {error}") from error

    def take(columns: list[int]) -> AnyArray:
        return np.column_stack([table.column(i).to_numpy() for i in columns])

    return pick_columns(table.column_names, take, where=f"the file '{path}'", var=var)


# --- R ---


def _read_r(path: Path, var: str | None) -> Source:
    """What `saveRDS` (.rds) or `save` (.rda, .RData) wrote."""
    rdata = need("rdata", "files", "Reading R's files")
    try:
        with warnings.catch_warnings():
            # Of classes it does not know (posterior, coda) it reads the matrix or list below: good.
            warnings.filterwarnings("ignore", message="Missing constructor for R class")
            parsed = rdata.parser.parse_file(str(path), extension=path.suffix.lower())
            _words_to_integers(parsed.object, rdata.parser.RObjectType)
            value = rdata.conversion.convert(parsed)
    except Exception as error:  # the parser has no errors of its own
        raise ValueError(f"The file '{path}' could not be read as R data: {error}") from error
    return _from_r(value, var, f"the file '{path}'")


def _words_to_integers(thing: Any, types: Any) -> None:
    """Matrices of words and of factors made integers, in place: rdata loses the shape of these."""
    kind = thing.info.type
    if kind in (types.VEC, types.LIST):
        for part in thing.value:
            _words_to_integers(part, types)
    elif kind in (types.STR, types.INT) and b"dim" in _attribute_names(thing, types):
        if kind == types.STR:
            words = [char.value for char in thing.value]
            codes = {word: code for code, word in enumerate(dict.fromkeys(words))}
            missing = [word is None for word in words]
            thing.value = np.ma.masked_array([codes[word] for word in words], missing)
            thing.info.type = types.INT
        thing.info.object = False  # no longer a factor


def _attribute_names(thing: Any, types: Any) -> list[bytes]:
    """Names of the attributes of an R object, which are a linked list."""
    names: list[bytes] = []
    node = thing.attributes
    while node is not None and node.info.type == types.LIST:
        symbol = node.tag.referenced_object or node.tag  # a name used before is a reference to it
        names.append(symbol.value.value)
        node = node.value[1]
    return names


def _from_r(value: Any, var: str | None, where: str) -> Source:
    if isinstance(value, dict):
        return _from_named_list(value, var, where)
    if isinstance(value, list) and value and all(np.ndim(part) == 1 for part in value):
        return Source(value)  # one vector per draw
    if isinstance(value, list):  # one matrix per chain, as coda has it
        parts = [_from_r(part, var, where) for part in value]
        shapes = {np.shape(part.labels) for part in parts}
        if len(shapes) != 1:
            raise ValueError(f"The chains in {where} must have one shape; got {sorted(shapes)}.")
        return Source(np.ma.stack([part.labels for part in parts]), parts[0].items)
    if hasattr(value, "columns"):
        return pick_columns(
            value.columns, lambda i: value.iloc[:, i].to_numpy(), where=where, var=var
        )
    if hasattr(value, "coords"):
        return _from_named_array(value, var, where)
    array = np.asanyarray(value)  # masked where R has NA
    if array.ndim != 2:
        raise ValueError(
            f"The labels in {where} must be a matrix of draws by items, or have named dimensions; "
            f"got an array of shape {array.shape}. In R, aperm(z, ...) and dimnames(z) make it one: "
            "names(dimnames(z)) <- c('iteration', 'chain', 'variable')."
        )
    return Source(array)


def _from_named_list(value: dict[Any, Any], var: str | None, where: str) -> Source:
    """One element of a list, picked by name; or all of them, if each is a chain."""
    elements = {str(name): element for name, element in value.items()}
    if all(_CHAIN.fullmatch(name) for name in elements):
        return _from_r(list(elements.values()), var, where)
    tables = [name for name, element in elements.items() if np.ndim(element) >= 2]
    if var is not None and var not in elements and len(tables) == 1:
        return _from_r(elements[tables[0]], var, where)  # `var` names some columns of the one table
    name = pick_labels(list(elements), elements.__getitem__, var, where, possible=tables)
    return _from_r(elements[name], None, where)


def _from_named_array(array: Any, var: str | None, where: str) -> Source:
    """A matrix with names, or an array of iterations by chains by variables."""
    if array.ndim == 3:
        chain = next((dim for dim in array.dims if str(dim).lower().startswith("chain")), None)
        if chain is None:
            raise ValueError(
                f"The array in {where} must say which dimension is the chain; its dimensions are "
                f"{tuple(map(str, array.dims))}. In R: names(dimnames(z))[2] <- 'chain'."
            )
        array = array.transpose(chain, ...)
    values, last = np.asarray(array), array.dims[-1]
    if last not in array.coords:
        return Source(values)
    # Chains by iterations by variables: columns are picked from a table of all chains.
    flat = values.reshape(-1, values.shape[-1])
    names = np.asarray(array.coords[last]).tolist()
    source = pick_columns(names, lambda i: flat[:, i], where=where, var=var)
    return source._replace(labels=source.labels.reshape(*values.shape[:-1], -1))


_READERS: dict[str, Callable[[Path, str | None], Source]] = {
    **dict.fromkeys(_TEXT, read_text),
    **dict.fromkeys((".nc", ".nc4", ".netcdf", ".cdf"), read_arviz_file),
    ".zarr": partial(read_arviz_file, engine="zarr"),
    ".npy": lambda path, _: Source(load_numpy(path)),
    ".npz": _read_npz,
    **dict.fromkeys((".parquet", ".pq"), _read_parquet),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _read_r),
}
"""The reader of each ending."""


class Labels(NamedTuple):
    """One partition from a file."""

    labels: list[Any]
    items: list[str] | None


def read_labels(path: Path) -> Labels:
    """One partition: one label per line, one row, or the columns that `write_labels` makes."""
    if is_text(path):
        header, table, _, _ = read_table(path)
    else:
        with warnings.catch_warnings():
            # In a table of draws such a column would be left out with a warning; here it counts items.
            warnings.filterwarnings("ignore", message=".* counts the draws")
            source = read_source(path)
        header, table = source.items, np.asarray(source.labels)
    columns = [] if header is None else list(header)
    if "cluster" in columns:
        items = to_texts(table[:, columns.index("item")]) if "item" in columns else None
        return Labels(table[:, columns.index("cluster")].tolist(), items)
    if table.ndim == 2:  # the only row, or else the last column
        table = table[0] if header is None and len(table) == 1 else table[:, -1]
    return Labels(table.tolist(), None)


def match_items(a: Labels, b: Labels, path_a: Path, path_b: Path) -> tuple[list[Any], list[Any]]:
    """Labels of two files of the same items, in the order of the first; by name if both have names."""
    if len(a.labels) != len(b.labels):
        raise ValueError(
            f"The files must hold labels of the same items, one per line; '{path_a}' has "
            f"{len(a.labels):,} and '{path_b}' has {len(b.labels):,}."
        )
    if a.items is None or b.items is None or a.items == b.items:
        return a.labels, b.labels
    place = {item: i for i, item in enumerate(b.items)}
    odd = [item for item in a.items if item not in place]
    if odd or len(place) < len(b.items):
        what = f"'{odd[0]}' is not in '{path_b}'" if odd else f"a name is twice in '{path_b}'"
        raise ValueError(
            f"The files must name the same items in their column 'item'; {what}. Without that column "
            "labels are compared line by line."
        )
    return a.labels, [b.labels[place[item]] for item in a.items]
