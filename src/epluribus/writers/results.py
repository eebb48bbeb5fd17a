"""Results as a table, as labeled arrays, as a group of an ArviZ object, and in files.

The ending of a file's name says which format is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from epluribus import _files
from epluribus._files import STREAM, check_target, write_csv, write_whole
from epluribus._text import to_frame
from epluribus._typing import FloatArray
from epluribus._validate import need
from epluribus._version import __version__
from epluribus.draws import Draws
from epluribus.estimate import Estimate
from epluribus.writers.saved import to_json

WRITABLE = (".csv", ".parquet", ".txt", ".npy", ".json")
WITH_COLUMNS = (".csv", ".parquet")
"""Of these, those with a column for the certainty."""
_DENSE = (".npy", ".npz", ".csv")
_SPARSE = (".npz", ".csv")
"""Formats of a matrix."""


def columns(estimate: Estimate, certainty: Any = None) -> dict[str, Any]:
    """The columns of a table with one item per row."""
    n_items = len(estimate.labels)
    # Numbers rather than their text, so that a table can be joined with others by them.
    items = np.arange(n_items) if estimate.items is None else np.array(estimate.items)
    table = {"item": items, "cluster": estimate.labels}
    if certainty is not None:
        table["certainty"] = _read_certainty(certainty, estimate)
    return table


def _read_certainty(certainty: Any, estimate: Estimate) -> FloatArray:
    """One number per item: those given, or the support of each item in the draws given."""
    n_items = len(estimate.labels)
    if isinstance(certainty, Draws):
        from epluribus.uncertainty import items  # only when asked for: it brings all of that room

        return items(estimate, certainty).support.round(9)  # the rest is rounding
    values = np.asarray(certainty, dtype=np.float64)
    if values.shape != (n_items,):
        raise ValueError(
            f"'certainty' must be the Draws behind the estimate, or one number per item, shape ({n_items},); "
            f"got shape {values.shape}."
        )
    return values


def to_pandas(estimate: Estimate, certainty: Any = None) -> Any:
    """A frame with one item per row."""
    return to_frame(columns(estimate, certainty))


def to_xarray(estimate: Estimate, certainty: Any = None) -> Any:
    """A Dataset with dimensions item and cluster; numbers about the whole are its attributes."""
    xarray = need("xarray", "arviz", "A labeled array")
    table = columns(estimate, certainty)
    items = table.pop("item")
    by_item = {"labels": table.pop("cluster"), **table}
    return xarray.Dataset(
        {
            **{name: ("item", values) for name, values in by_item.items()},
            "size": ("cluster", estimate.sizes),
        },
        coords={"item": items, "cluster": np.arange(estimate.n_clusters)},
        attrs={
            "loss": estimate.loss.name,
            "expected_loss": estimate.expected_loss,
            "n_clusters": estimate.n_clusters,
            "n_draws": estimate.n_draws,
            "converged": int(estimate.converged),  # netCDF knows no booleans
            "created_by": f"epluribus {__version__}",
        },
    )


def add_group(
    estimate: Estimate, data: Any, group: str, certainty: Any = None, *, overwrite: bool = False
) -> Any:
    """`data`, an InferenceData or a DataTree, with the estimate in a new group."""
    is_tree = hasattr(data, "children")  # ArviZ 1.x; the objects of 0.x have `add_groups`
    if not is_tree and not hasattr(data, "add_groups"):
        raise TypeError(
            "'data' must be an ArviZ InferenceData or an xarray DataTree; got "
            f"{type(data).__name__}. A Dataset has no groups: merge it with to_xarray()."
        )
    present = list(data.children) if is_tree else data.groups()
    if group in present:
        if not overwrite:
            raise ValueError(
                f"'group' must be new; '{group}' is there already. Choose another, or give "
                "overwrite=True."
            )
        del data[group]
    dataset = to_xarray(estimate, certainty)
    if is_tree:
        data[group] = need("xarray", "arviz", "A tree").DataTree(dataset)
        return data
    with warnings.catch_warnings():
        # The first ArviZ says of any group but its own that it does not know it.
        warnings.filterwarnings("ignore", message=".*not defined in the InferenceData scheme")
        data.add_groups({group: dataset})
    return data


def write_estimate(path: Path, estimate: Estimate, certainty: Any = None) -> None:
    """Labels as csv or parquet (item, cluster, certainty), txt, npy or json, by the name's ending."""
    kind = check_target(path, WRITABLE)
    if certainty is not None and kind not in WITH_COLUMNS:
        raise ValueError(
            f"'certainty' must be None for the output '{path}': only .csv and .parquet have a column "
            "for it."
        )
    if kind == ".json":
        to_json(estimate, path)
    elif kind == ".npy":
        write_whole(path, lambda target: np.save(target, estimate.labels))
    elif kind == ".txt":
        write_csv(path, estimate.labels[:, None].tolist())  # one label per line
    elif kind == ".csv":
        _files.write_columns(path, columns(estimate, certainty))
    else:
        arrow = need("pyarrow", "files", "Writing parquet")
        parquet = need("pyarrow.parquet", "files", "Writing parquet")
        table = arrow.table(columns(estimate, certainty))
        write_whole(path, lambda target: parquet.write_table(table, target))


def check_matrix_target(path: Path, *, sparse: bool) -> None:
    """Refuse a name before the matrix is computed."""
    if str(path) != STREAM:
        kind, endings = ("a sparse", _SPARSE) if sparse else ("a", _DENSE)
        check_target(path, endings, f"Unless it is '{STREAM}', the output of {kind} matrix")


def write_matrix(path: Path, matrix: Any, items: Sequence[str] | None) -> None:
    """Write a similarity matrix in the format that the name's ending says.

    Dense: npy; npz with `psm` and, if there are names, `items`; csv with the names as header.
    Sparse: SciPy's npz; csv with a line (i, j, probability) for each pair i <= j.
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
    """The same as csv, to a file or to an open stream."""
    # Rows are made one by one while they are written: as text the matrix takes many times its memory.
    if isinstance(matrix, np.ndarray):
        header = [] if items is None else [items]
        write_csv(target, chain(header, ([f"{p:.6g}" for p in row] for row in matrix)))
        return
    from scipy.sparse import triu

    upper = triu(matrix, format="coo")  # the matrix is symmetric
    names = items if items is not None else range(matrix.shape[0])
    pairs = zip(upper.row, upper.col, upper.data, strict=True)
    cells = ([names[i], names[j], f"{p:.6g}"] for i, j, p in pairs)
    write_csv(target, chain([["i", "j", "probability"]], cells))
