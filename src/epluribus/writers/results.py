"""Results as a data frame, as labeled arrays, and in files.

The ending of a file's name chooses the format. Labels have one item per row; a similarity matrix is dense, or
sparse with the pairs above a threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from epluribus import _files
from epluribus._files import STREAM, check_target, write_csv, write_whole
from epluribus._text import as_index, to_frame
from epluribus._typing import FloatArray
from epluribus._validate import need, shown
from epluribus._version import __version__
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.partition import is_estimate
from epluribus.writers import to_json

WRITABLE = (".csv", ".parquet", ".txt", ".npy", ".json")
"""Endings of the files that labels can be written to."""
WITH_COLUMNS = (".csv", ".parquet")
"""Those of them that have a column for the certainty."""
_TAKEN = ("cluster", "labels", "certainty", "size")
"""Names in a labeled array that the dimension of the items cannot have."""


def columns(estimate: Estimate, certainty: Any = None) -> dict[str, Any]:
    """The columns of a table with one item per row: item, cluster and, if given, certainty.

    Parameters
    ----------
    estimate : Estimate
        The partition.
    certainty : Draws or array_like of shape (n_items,), optional
        The draws, from which the support of each item is computed, or one number per item.

    Returns
    -------
    dict
        Arrays of shape (n_items,) by the name of their column.

    Examples
    --------
    >>> import epluribus as epl
    >>> columns(epl.minimize([[5, 5, 2], [5, 5, 2]]), [0.9, 0.9, 1.0])["cluster"]
    array([0, 0, 1])
    """
    n_items = len(estimate.labels)
    # Items without names are numbers, not text: a table can be joined with others by them.
    items = np.arange(n_items) if estimate.items is None else np.array(estimate.items)
    extra = {} if certainty is None else {"certainty": _read_certainty(certainty, estimate)}
    return {"item": items, "cluster": estimate.labels, **extra}


def _read_certainty(certainty: Any, estimate: Estimate) -> FloatArray:
    """One number per item: the user's own, or the support of each item in the user's draws."""
    n_items = len(estimate.labels)
    if isinstance(certainty, Draws):
        # Imported here: it takes time, and most files are written without a certainty.
        from epluribus.uncertainty import items

        if len(estimate.undecided):
            support = np.full(n_items, np.nan)
            support[estimate.labels >= 0] = _read_certainty(*estimate.decided(certainty)[::-1])
            return support
        # Beyond nine digits there is only rounding error, which would make files differ between machines.
        return items(estimate, certainty).support.round(9)
    values = np.asarray(certainty, dtype=np.float64)
    if values.shape != (n_items,) or is_estimate(certainty):
        what = f"or one number per item, shape ({n_items},); got {shown(certainty)}"
        raise ValueError(f"'certainty' must be the Draws behind the estimate, {what}.")
    return values


def to_pandas(estimate: Estimate, certainty: Any = None) -> Any:
    """A pandas DataFrame with the columns of `columns`, indexed by item."""
    return to_frame(columns(estimate, certainty), index="item")


def to_xarray(estimate: Estimate, certainty: Any = None) -> Any:
    """An xarray Dataset: labels and certainty by item, sizes by cluster, the rest as attributes.

    The dimension of the items is called as in the arrays the draws come from, else "item".
    """
    xarray = need("xarray", "arviz", "A labeled array")
    table = columns(estimate, certainty)
    dim = estimate.dimension or "item"
    if dim in _TAKEN:
        dim = "item"
    # The items are the coordinate. "cluster" is the name of the other dimension: the labels need another.
    coords = {dim: as_index(table.pop("item")), "cluster": np.arange(estimate.n_clusters)}
    variables = {"labels": (dim, table.pop("cluster")), "size": ("cluster", estimate.sizes)}
    variables |= {name: (dim, values) for name, values in table.items()}
    names = ("expected_loss", "n_clusters", "n_draws")
    attrs = {"loss": estimate.loss.name, **{name: getattr(estimate, name) for name in names}}
    # A number, because netCDF has no booleans.
    attrs |= {"converged": int(estimate.converged), "created_by": f"epluribus {__version__}"}
    return xarray.Dataset(variables, coords=coords, attrs=attrs)


def write_estimate(path: Path, estimate: Estimate, certainty: Any = None) -> None:
    """Write labels as csv or parquet (item, cluster, certainty), txt, npy or json.

    Parameters
    ----------
    path : Path
        The file; its ending chooses the format.
    estimate : Estimate
        The partition; json holds all of the estimate, npy and txt only the labels.
    certainty : Draws or array_like of shape (n_items,), optional
        As in `columns`; an error for formats without a column for it.
    """
    kind = check_target(path, WRITABLE)
    # Leaving out silently what the user asked for would be noticed only when the file is read.
    if certainty is not None and kind not in WITH_COLUMNS:
        what = f"None for the output '{path}': only .csv and .parquet have a column for it"
        raise ValueError(f"'certainty' must be {what}.")
    if kind == ".json":
        to_json(estimate, path)
    elif kind == ".npy":
        write_whole(path, lambda target: np.save(target, estimate.labels))
    elif kind == ".txt":
        # Rows of one cell: one label per line, without a header.
        write_csv(path, estimate.labels[:, None].tolist())
    else:
        write_table(path, columns(estimate, certainty))


def write_table(path: Path, table: Mapping[str, Any]) -> None:
    """Write columns by name as csv or parquet."""
    if check_target(path, WITH_COLUMNS) == ".csv":
        _files.write_columns(path, table)
    else:
        parquet = need("pyarrow.parquet", "files", "Writing parquet")
        made = need("pyarrow", "files", "Writing parquet").table(dict(table))
        write_whole(path, lambda target: parquet.write_table(made, target))


def check_matrix_target(path: Path, *, sparse: bool) -> None:
    """Refuse a name that cannot be written to, before the matrix is computed."""
    if str(path) != STREAM:
        # A file of npy holds no sparse matrix.
        endings = (".npz", ".csv") if sparse else (".npy", ".npz", ".csv")
        kind = "a sparse matrix" if sparse else "a matrix"
        check_target(path, endings, f"Unless it is '{STREAM}', the output of {kind}")


def write_matrix(path: Path, matrix: Any, items: Sequence[str] | None) -> None:
    """Write a similarity matrix of shape (n_items, n_items) in the format of the name's ending.

    Dense: npy; npz with `psm` and, if there are names, `items`; csv with the names as header.
    Sparse: SciPy's npz; csv with a line (i, j, similarity) for each pair i <= j.
    """
    kind = path.suffix.lower()
    if kind == ".csv":
        write_matrix_csv(path, matrix, items)
    elif kind == ".npy":
        write_whole(path, lambda target: np.save(target, matrix))
    elif isinstance(matrix, np.ndarray):
        names = {} if items is None else {"items": np.array(items)}
        _files.write_arrays(path, {"psm": matrix, **names}, compress=True)
    else:
        from scipy.sparse import save_npz

        write_whole(path, lambda target: save_npz(target, matrix))


def write_matrix_csv(target: Path | TextIO, matrix: Any, items: Sequence[str] | None) -> None:
    """Write a similarity matrix as csv, like `write_matrix`, to a file or to an open stream."""
    # Rows become text one by one while they are written: all of it would take many times the matrix's memory.
    if isinstance(matrix, np.ndarray):
        header = [] if items is None else [items]
        write_csv(target, chain(header, ([f"{p:.6g}" for p in row] for row in matrix)))
        return
    from scipy.sparse import triu

    # The matrix is symmetric: each pair is written once, and the diagonal with it.
    upper = triu(matrix, format="coo")
    names = items if items is not None else range(matrix.shape[0])
    pairs = zip(upper.row, upper.col, upper.data, strict=True)
    cells = ([names[i], names[j], f"{p:.6g}"] for i, j, p in pairs)
    write_csv(target, chain([["i", "j", "similarity"]], cells))
