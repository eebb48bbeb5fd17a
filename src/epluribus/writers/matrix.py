"""A similarity matrix to a file: npy, npz or csv, dense or sparse."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from epluribus._files import check_target, write_arrays, write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["check_matrix_target", "write_matrix", "write_matrix_csv"]

_STDOUT = "-"


def check_matrix_target(path: Path, *, sparse: bool) -> None:
    """Refuse a name before the matrix is computed."""
    kind = path.suffix.lower()
    allowed = (".npz", ".csv") if sparse else (".npy", ".npz", ".csv")
    if str(path) == _STDOUT:
        return
    if kind not in allowed:
        what = "a sparse matrix" if sparse else "a matrix"
        raise ValueError(
            f"The output '{path}' of {what} must end in {', '.join(allowed[:-1])} or {allowed[-1]}, "
            f"or be -; it ends in '{kind}'."
        )
    check_target(path, (kind,))


def write_matrix(path: Path, matrix: Any, items: Sequence[str] | None) -> None:
    """Write the matrix in the format told by the name.

    Dense: npy; npz with `psm` and, where there are names, `items`; csv with the names as header.
    Sparse: SciPy's npz; csv with a line (i, j, probability) for each pair i <= j.
    """
    kind = path.suffix.lower()
    if kind == ".csv":
        write_whole(path, lambda target: _write_text(target, matrix, items))
    elif kind == ".npy":
        write_whole(path, lambda target: np.save(target, matrix))
    elif isinstance(matrix, np.ndarray):
        names = {} if items is None else {"items": np.array(items)}
        write_arrays(path, {"psm": matrix, **names}, compress=True)
    else:
        from scipy.sparse import save_npz

        write_whole(path, lambda target: save_npz(target, matrix))


def _write_text(path: Path, matrix: Any, items: Sequence[str] | None) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        write_matrix_csv(stream, matrix, items)


def write_matrix_csv(stream: TextIO, matrix: Any, items: Sequence[str] | None) -> None:
    """The same as csv on an open stream."""
    writer = csv.writer(stream, lineterminator="\n")
    if isinstance(matrix, np.ndarray):
        if items is not None:
            writer.writerow(items)
        writer.writerows([f"{value:.6g}" for value in row] for row in matrix)
        return
    from scipy.sparse import triu

    upper = triu(matrix, format="coo")
    names = items if items is not None else range(matrix.shape[0])
    writer.writerow(["i", "j", "probability"])
    for i, j, value in zip(upper.row, upper.col, upper.data, strict=True):
        writer.writerow([names[i], names[j], f"{value:.6g}"])
