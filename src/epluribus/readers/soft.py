"""Probabilities of clusters, or their logarithms: one number for each draw, item and cluster.

Stan writes a matrix ``p`` of N rows and K columns as the columns ``p.1.1``, ``p.2.1``, ..., the first index
fastest (CmdStan), or as ``p[1,1]`` (cmdstanpy, R's posterior). Taken in the order of the columns and reshaped
to (N, K), they would be scrambled: their names say where each belongs, in whatever order they come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epluribus._typing import AnyArray, IntArray
from epluribus._validate import as_array, quoted
from epluribus.readers import files
from epluribus.readers.columns import CHAIN, number_on
from epluribus.readers.text import TextTable

CLOSE = 0.0101
"""How far from 1 probabilities may sum: those printed with two digits do so."""
_ENTRY = re.compile(r"^(.+?)(?:\.(\d+)\.(\d+)|\[(\d+),\s*(\d+)\])$")
"""An entry of a variable with two indices; p.1.2.3 would be one of p.1, no name of a variable in Stan."""


class Soft(NamedTuple):
    """Probabilities of clusters, not checked yet."""

    values: AnyArray
    """(n_draws, n_items, n_clusters)"""
    chains: IntArray
    """(n_draws,) the chain of each draw."""
    items: list[str] | None
    """Names of the items, if there are any."""
    variable: str | None = None
    """The variable that holds them, if a file has several."""


def read_soft(given: Any, var: str | None = None) -> Soft:
    r"""The probabilities of clusters in an array, several arrays by name, a file, or one file per chain.

    Parameters
    ----------
    given : array_like, mapping, DataArray, Dataset, ArviZ object, path, or list of paths
        Files are text with named columns, as Stan writes it; npy, npz; netCDF or zarr of ArviZ. In arrays
        the last dimension is the clusters, and the one before it the items.
    var : str, optional
        The variable; not needed if only one has an item and a cluster as indices, or only one of these is
        probabilities or their logarithms.

    Examples
    --------
    Columns as CmdStan orders them, the items fastest:

    >>> import tempfile, pathlib
    >>> from epluribus.readers.soft import read_soft
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "chain.csv")
    ...     _ = path.write_text("lp__,p.1.1,p.2.1,p.1.2,p.2.2\n-3.5,0.9,0.2,0.1,0.8\n")
    ...     found = read_soft([path])
    >>> found.values.tolist(), found.variable
    ([[[0.9, 0.1], [0.2, 0.8]]], 'p')
    """
    paths = given if isinstance(given, list | tuple) else [given]
    if not (paths and isinstance(paths[0], str | Path)):
        if files.is_labeled(given) or isinstance(given, Mapping):
            return _from_variables(given, var, "'probabilities'")
        if var is not None:
            raise ValueError(
                "'var' is for files and for several arrays; got one array. Leave it out."
            )
        return _from_array(given, "'probabilities'")
    found = [_read_file(Path(path), var) for path in paths]
    shapes = {part.values.shape[1:] for part in found}
    if len(shapes) > 1:
        what = f"the same numbers of items and clusters; got {sorted(shapes)}"
        raise ValueError(f"The files must have {what}.")
    values = np.concatenate([part.values for part in found])
    return found[0]._replace(values=values, chains=number_on([part.chains for part in found]))


def _from_variables(given: Any, var: str | None, where: str) -> Soft:
    """The probabilities among variables by name, or in a labeled array, which may have names of items."""
    data = files.open_group(given) if files.is_labeled(given) else given
    if not isinstance(
        data, Mapping
    ):  # a DataArray: chain and draw may be anywhere, they are moved to the front
        data = data.transpose(*(dim for dim in ("chain", "draw") if dim in data.dims), ...)
        items = files.coordinate_names(data, data.dims[-2]) if len(data.dims) > 2 else None
        return _from_array(data, where, None if data.name is None else str(data.name), items)
    variables = {str(name): data[name] for name in getattr(data, "data_vars", data)}
    soft = {name: x for name, x in variables.items() if _has_two_indices(x)}
    name = _pick(soft, var, where)
    read = _from_variables if files.is_labeled(soft[name]) else _from_array
    return read(soft[name], where, name)


def _has_two_indices(x: Any) -> bool:
    """Whether an array has an item and a cluster for each draw, by the names of its dimensions if it has any."""
    dims = getattr(x, "dims", None)
    if dims is None:
        return np.ndim(x) in (3, 4)
    return "draw" in dims and len({*dims} - {"chain", "draw"}) == 2


def _from_array(
    given: Any, where: str, name: str | None = None, items: list[str] | None = None
) -> Soft:
    """The probabilities in an array."""
    array = as_array(given, "probabilities")
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{where} must hold numbers; got values of type {array.dtype}.")
    if array.ndim not in (3, 4) or 0 in array.shape:
        way_out = " For one set of probabilities, wrap it: [p]." if array.ndim == 2 else ""
        raise ValueError(
            f"{where} must have dimensions (draws, items, clusters) or (chains, draws, items, clusters), "
            f"none of them empty; got shape {array.shape}.{way_out}"
        )
    n_chains = len(array) if array.ndim == 4 else 1
    chains = np.repeat(np.arange(n_chains), array.shape[-3])
    return Soft(array.reshape(-1, *array.shape[-2:]), chains, items, name)


def _read_file(path: Path, var: str | None) -> Soft:
    """The probabilities in one file, by its kind."""
    data, where = files.load(path), f"The file '{path}'"
    if isinstance(data, TextTable):
        return _read_columns(data, path, var)
    with data if hasattr(data, "close") else nullcontext():
        named = isinstance(data, Mapping)
        return _from_variables(data, var, where) if named else _from_array(data, where)


def _read_columns(table: TextTable, path: Path, var: str | None) -> Soft:
    """Columns named by variable, item and cluster."""
    import pandas as pd

    cells = table.numbers(path, gaps=True)
    names = [str(name).strip() for name in table.frame.columns]
    # The variable, item and cluster of each column; where they are all there, the table has no gaps.
    found = pd.Series(names).str.extract(_ENTRY)
    variables = {}
    for name, own in found.groupby(0, sort=False):
        items, clusters = own[1].fillna(own[3]).astype(int), own[2].fillna(own[4]).astype(int)
        shape = (items.max() - items.min() + 1, clusters.max() - clusters.min() + 1)
        whole = len(own) == shape[0] * shape[1] and max(items.min(), clusters.min()) <= 1
        columns = own.index.to_numpy()[np.lexsort((clusters, items))]
        variables[str(name)] = cells[:, columns.reshape(shape)] if whole else None
    name = _pick(variables, var, f"The file '{path}'")
    values = variables[name]
    if values is None:
        raise ValueError(
            f"'{name}' of the file '{path}' must have a column for every item and cluster."
        )
    at_chain = next((names.index(word) for word in CHAIN if word in names), None)
    chains = np.zeros(len(cells)) if at_chain is None else cells[:, at_chain]
    return Soft(values, np.unique(chains, return_inverse=True)[1], None, name)


def _pick(possible: Mapping[str, Any], var: str | None, where: str) -> str:
    """The variable that was asked for, the only one, or the only one of probabilities or their logarithms."""
    if not possible:
        raise ValueError(
            f"{where} has no probabilities of clusters: columns such as p.1.1 (item 1, cluster 1), or an array by "
            "draw, item and cluster. For labels use 'epluribus summarize', or read_draws."
        )
    names = [name for name in possible if var in (None, name)]
    if names[1:]:
        names = [name for name in names if is_soft(possible[name])]
    if len(names) != 1:
        raise ValueError(
            f"'var' must be one of the variables with an item and a cluster as indices, {quoted(possible)}; got "
            f"{'none' if var is None else repr(var)}."
        )
    return names[0]


def is_soft(values: Any) -> bool:
    """Whether the last dimension holds probabilities, or their logarithms, of an item's clusters.

    >>> is_soft([[[0.5, 0.501]]]), is_soft(np.log([[[0.5, 0.5]]])), is_soft([[[1.0, -0.5]]])
    (True, True, False)
    """
    if values is None:
        return False
    array = np.asarray(values, dtype=np.float64)
    array = np.exp(array) if (array <= 0).all() else array
    return bool((array >= 0).all() and (np.abs(array.sum(axis=-1) - 1) <= CLOSE).all())
