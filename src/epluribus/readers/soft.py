"""Probabilities of clusters, or their logarithms, in files: one number for each draw, item and cluster.

Stan writes a matrix ``p`` of N rows and K columns as the columns ``p.1.1``, ``p.2.1``, ..., the first index
fastest (CmdStan), or as ``p[1,1]`` (cmdstanpy, R's posterior). Taken in the order of the columns and reshaped
to (N, K), they would be scrambled: their names say where each belongs, in whatever order they come.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epluribus._typing import AnyArray, IntArray
from epluribus._validate import quoted
from epluribus.readers.files import check_exists, is_text, load_numpy
from epluribus.readers.source import item_names
from epluribus.readers.text import read_table

_ENTRY = re.compile(
    r"(?P<variable>.+?)(?:\.(?P<i>\d+)\.(?P<k>\d+)|\[(?P<row>\d+),\s*(?P<column>\d+)\])"
)
"""An entry of a variable with two indices; p.1.2.3 would be one of p.1, no name of a variable in Stan."""
_CHAIN = (".chain", "chain__", "chain")
"""Names of the column that holds the chain."""


class Soft(NamedTuple):
    """Probabilities in files, not checked yet."""

    values: AnyArray
    """(n_draws, n_items, n_clusters)"""
    chains: IntArray
    """(n_draws,) the chain of each draw."""
    items: list[str] | None
    """Names of the items, if the file has them."""
    variable: str | None
    """The variable that holds them, if the file has several."""


def read_soft(paths: Sequence[Path], var: str | None = None) -> Soft:
    r"""Read the probabilities of clusters from one file per chain.

    Parameters
    ----------
    paths : sequence of Path
        Text with named columns, as Stan writes it; npy, npz; netCDF or zarr of ArviZ. In arrays the last
        dimension is the clusters, and the one before it the items.
    var : str, optional
        The variable; not needed if only one has two indices.

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
    found = [_read_one(Path(path), var) for path in paths]
    shapes = {part.values.shape[1:] for part in found}
    if len(shapes) > 1:
        raise ValueError(
            f"The files must have the same numbers of items and clusters; got {sorted(shapes)}."
        )
    # Chains are numbered on from file to file.
    chains, first = [], 0
    for part in found:
        chains.append(part.chains + first)
        first += int(part.chains.max(initial=0)) + 1
    return Soft(
        np.concatenate([part.values for part in found]),
        np.concatenate(chains),
        found[0].items,
        found[0].variable,
    )


def _read_one(path: Path, var: str | None) -> Soft:
    """The probabilities in one file, by its kind."""
    check_exists(path)
    ending = path.suffix.lower()
    if ending in (".nc", ".zarr"):
        return _read_arviz(path, var, "zarr" if ending == ".zarr" else None)
    if ending in (".npy", ".npz"):
        data = load_numpy(path)
        if ending == ".npz":
            with data as archive:
                arrays = {name: archive[name] for name in archive.files}
            name = _pick({name: 0 for name, x in arrays.items() if x.ndim in (3, 4)}, var, path)
            return _from_array(arrays[name], name, None)
        return _from_array(np.asarray(data), None, None)
    if not is_text(path):
        raise ValueError(
            f"The file '{path}' must be csv, npy, npz, nc or zarr to hold probabilities of clusters."
        )
    return _read_columns(path, var)


def _read_columns(path: Path, var: str | None) -> Soft:
    """Columns named by variable, item and cluster."""
    table = read_table(path)
    names = [str(name).strip() for name in table.header or ()]
    table.check_numbers(path)
    # (item, cluster) of each column, by variable.
    entries: dict[str, dict[tuple[int, int], int]] = {}
    for column, name in enumerate(names):
        match = _ENTRY.fullmatch(name)
        if match:
            at = int(match["i"] or match["row"]), int(match["k"] or match["column"])
            entries.setdefault(match["variable"], {})[at] = column
    name = _pick(entries, var, path)
    places = np.array(list(entries[name]))
    low, high = places.min(axis=0), places.max(axis=0)
    n_items, n_clusters = (high - low + 1).tolist()
    if len(places) != n_items * n_clusters or low.max() > 1:
        raise ValueError(
            f"'{name}' of the file '{path}' must have a column for every item and cluster; it has "
            f"{len(places)} columns, with indices up to {high[0]} and {high[1]}."
        )
    columns = np.empty((n_items, n_clusters), dtype=np.int64)
    columns[tuple((places - low).T)] = list(entries[name].values())
    cells = np.asarray(np.ma.filled(table.cells, np.nan), dtype=np.float64)
    at_chain = next((names.index(word) for word in _CHAIN if word in names), None)
    chains = np.zeros(len(cells), dtype=np.int64)
    if at_chain is not None:
        chains = np.unique(cells[:, at_chain], return_inverse=True)[1]
    return Soft(cells[:, columns], chains, None, name)


def _read_arviz(path: Path, var: str | None, engine: str | None) -> Soft:
    """A variable by chain, draw, item and cluster of the group ``posterior``, or of the whole file."""
    from epluribus.readers.labeled_arrays import open_labeled

    with open_labeled(path, engine) as data:
        # Besides chain and draw there are two dimensions.
        possible = {
            str(name): len(set(x.dims) - {"chain", "draw"})
            for name, x in data.data_vars.items()
            if "draw" in x.dims
        }
        name = _pick({key: 0 for key, n in possible.items() if n == 2}, var, path)
        array = data[name]
        array = array.transpose(*(dim for dim in ("chain", "draw") if dim in array.dims), ...)
        item = array.dims[-2]
        items = item_names(np.asarray(array.coords[item])) if item in array.coords else None
        return _from_array(np.asarray(array), name, items)


def _from_array(array: AnyArray, name: str | None, items: list[str] | None) -> Soft:
    """An array (draws, items, clusters), perhaps with chains before."""
    if array.ndim == 4:
        chains = np.repeat(np.arange(len(array)), array.shape[1])
        return Soft(array.reshape(-1, *array.shape[2:]), chains, items, name)
    if array.ndim != 3:
        raise ValueError(
            "Probabilities must have dimensions (draws, items, clusters) or (chains, draws, items, "
            f"clusters); the file has shape {array.shape}."
        )
    return Soft(array, np.zeros(len(array), dtype=np.int64), items, name)


def _pick(possible: dict[str, Any], var: str | None, path: Path) -> str:
    """The variable that was asked for, or the only one."""
    if var is not None:
        if var not in possible:
            there = f"it has {quoted(list(possible))}" if possible else "it has none"
            raise ValueError(
                f"'var' must be a variable of the file '{path}' with an item and a cluster as indices; "
                f"{there}; got '{var}'."
            )
        return var
    if len(possible) == 1:
        return next(iter(possible))
    if not possible:
        raise ValueError(
            f"The file '{path}' has no probabilities of clusters, columns such as p.1.1 (item 1, cluster 1) "
            "or arrays by draw, item and cluster. For labels use 'epluribus summarize', or read_draws."
        )
    raise ValueError(
        f"The file '{path}' has several variables with two indices, {quoted(list(possible))}. Name one "
        "with 'var'."
    )
