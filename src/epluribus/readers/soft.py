"""Probabilities of clusters, or their logarithms: one number for each draw, item and cluster.

Stan writes a matrix ``p`` of N rows and K columns as the columns ``p.1.1``, ``p.2.1``, ..., the first index
fastest (CmdStan), or as ``p[1,1]`` (cmdstanpy, R's posterior). Taken in the order of the columns and reshaped
to (N, K), they would be scrambled: their names say where each belongs, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epluribus._typing import AnyArray, IntArray
from epluribus._validate import as_array, quoted
from epluribus.readers import files
from epluribus.readers.columns import CHAIN, number_on, variables_of
from epluribus.readers.text import TextTable

CLOSE = 0.0101
"""How far from 1 probabilities may sum: those printed with two digits do so."""


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
        return _find(given, var, "'probabilities'")
    found = [_find(files.load(Path(path)), var, f"The file '{path}'") for path in paths]
    shapes = {part.values.shape[1:] for part in found}
    if len(shapes) > 1:
        what = f"the same numbers of items and clusters; got {sorted(shapes)}"
        raise ValueError(f"The files must have {what}.")
    values = np.concatenate([part.values for part in found])
    return found[0]._replace(values=values, chains=number_on([part.chains for part in found]))


def _find(data: Any, var: str | None, where: str) -> Soft:
    """The probabilities in an array, among several by name, or in a table."""
    name, items, chains = None, None, None
    if isinstance(data, TextTable):
        data, chains = _by_variable(data, var)
    elif files.is_labeled(data):
        data = files.open_group(data)
    if isinstance(data, Mapping):  # a Dataset too
        soft = {str(name): data[name] for name in data if _has_two_indices(data[name])}
        name = _pick(soft, var, where)
        data = soft[name]
    elif var is not None and not hasattr(data, "dims"):
        raise ValueError("'var' is for several arrays by name; got one array. Leave it out.")
    if hasattr(data, "dims"):  # chain and draw may be anywhere, they are moved to the front
        data = data.transpose(*(dim for dim in ("chain", "draw") if dim in data.dims), ...)
        name = None if data.name is None else str(data.name)
        items = files.coordinate_names(data, data.dims[-2]) if len(data.dims) > 2 else None
    array = as_array(data, "probabilities")
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{where} must hold numbers; got values of type {array.dtype}.")
    if array.ndim not in (3, 4) or 0 in array.shape:
        way_out = " For one set of probabilities, wrap it: [p]." if array.ndim == 2 else ""
        raise ValueError(
            f"{where} must have dimensions (draws, items, clusters) or (chains, draws, items, clusters), "
            f"none of them empty; got shape {array.shape}.{way_out}"
        )
    if chains is None:
        chains = np.repeat(np.arange(len(array) if array.ndim == 4 else 1), array.shape[-3])
    return Soft(array.reshape(-1, *array.shape[-2:]), chains, items, name)


def _has_two_indices(x: Any) -> bool:
    """Whether an array has an item and a cluster for each draw, by the names of its dimensions if it has any."""
    dims = getattr(x, "dims", None)
    if dims is None:
        return np.ndim(x) in (3, 4)
    return "draw" in dims and len({*dims} - {"chain", "draw"}) == 2


def _by_variable(table: TextTable, var: str | None) -> tuple[dict[str, AnyArray], IntArray]:
    """The variables with two indices among the columns of a table, and the chain of each row."""
    cells = table.numbers(gaps=True)
    names = [str(name).strip() for name in table.frame.columns]
    found, lacking = variables_of(dict(enumerate(names)), 2)
    if lacking and (var in lacking or not found):
        raise ValueError(
            f"'{lacking[0]}' of the file '{table.path}' must have a column for every item and cluster."
        )
    chains = next(
        (cells[:, names.index(name)] for name in CHAIN if name in names), np.zeros(len(cells))
    )
    return (
        {name: cells[:, columns] for name, columns in found.items()},
        np.unique(chains, return_inverse=True)[1],
    )


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
    array = np.asarray(values, dtype=np.float64)
    array = np.exp(array) if (array <= 0).all() else array
    return bool((array >= 0).all() and (np.abs(array.sum(axis=-1) - 1) <= CLOSE).all())
