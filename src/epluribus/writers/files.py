"""Labels and similarity matrices to files; the ending of the name says which format is written."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from epluribus import _files
from epluribus._files import STREAM, check_target, write_csv, write_whole
from epluribus._validate import need
from epluribus.writers.results import columns
from epluribus.writers.saved import to_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from epluribus.estimate import Estimate

__all__ = [
    "WITH_COLUMNS", "WRITABLE", "check_matrix_target", "write_estimate", "write_matrix",
    "write_matrix_csv",
]  # fmt: skip

WRITABLE = (".csv", ".parquet", ".txt", ".npy", ".json")
WITH_COLUMNS = (".csv", ".parquet")
"""Of these, those with a column for the certainty."""
_DENSE = (".npy", ".npz", ".csv")
_SPARSE = (".npz", ".csv")
"""Formats of a matrix."""


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
