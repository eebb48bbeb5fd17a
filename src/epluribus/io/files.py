"""Draws from files, and labels to files. Files are written whole or not at all."""

from __future__ import annotations

import csv
import gzip
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from epluribus.estimate import Estimate

__all__ = ["check_target", "read_labels", "read_table", "write_estimate", "write_whole"]

_DELIMITERS = (",", ";", "\t", " ")
_READABLE = "csv, txt, tsv (also with .gz), npy, npz"
_LABELS = "labels"
"""The table read from an npz file that has several, as `epluribus sample` writes them."""
_MISSING = {"", "na", "nan", "null", "none", "?"}


def read_table(path: Path, *, var: str | None = None) -> tuple[NDArray[Any], list[str] | None]:
    """Labels in a file, and the names of the items where it has them."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file '{path}'.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-1] if suffixes else ""
    if kind == ".gz" and len(suffixes) > 1:
        kind = suffixes[-2]
    if kind == ".npy":
        return _load_numpy(path), None
    if kind == ".npz":
        return _read_npz(path, var)
    if kind in (".csv", ".txt", ".tsv", ".dat", ""):
        return _read_text(path)
    raise ValueError(f"The file '{path}' must be one of {_READABLE}; its name ends in '{kind}'.")


def _load_numpy(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"The file '{path}' could not be read as NumPy data: {error}") from None


def _read_npz(path: Path, var: str | None) -> tuple[NDArray[Any], list[str] | None]:
    with _load_numpy(path) as archive:
        tables = [name for name in archive.files if archive[name].ndim >= 2]
        if var is not None:
            if var not in archive.files:
                raise ValueError(
                    f"'var' must be one of {archive.files} in the file '{path}'; got '{var}'."
                )
            tables = [var]
        elif _LABELS in tables:
            tables = [_LABELS]
        if len(tables) != 1:
            raise ValueError(
                f"The file '{path}' must hold one table of labels; it has {tables or 'none'}. "
                "Name one with 'var'."
            )
        items = archive["items"].tolist() if "items" in archive.files else None
        return archive[tables[0]], items


def read_labels(path: Path) -> list[Any]:
    """One partition: one label a line, one row, or the last column of a csv as `write_estimate` makes."""
    table, names = read_table(path)
    array = np.asarray(table)
    if array.ndim == 2 and names is None and array.shape[0] == 1:
        return list(array[0].tolist())
    return list(array.tolist() if array.ndim == 1 else array[:, -1].tolist())


# --- text ---


def _read_text(path: Path) -> tuple[NDArray[Any], list[str] | None]:
    """Comma, semicolon, tab or space separated, with or without a header or row names."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as stream:
        lines = [line for line in stream.read().splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"The file '{path}' is empty.")
    rows = _split(lines)
    header = _find_header(rows)
    first_line = 1 if header is None else 2
    body = rows if header is None else rows[1:]
    if not body:
        raise ValueError(f"The file '{path}' has a header but no draws.")
    for t, row in enumerate(body):
        if len(row) != len(body[0]):
            raise ValueError(
                f"The file '{path}' must have rows of one length; line {first_line} has "
                f"{len(body[0])} cells and line {first_line + t} has {len(row)}."
            )
        for i, cell in enumerate(row):
            if cell.strip().lower() in _MISSING and not (i == 0 and _row_names(header, body)):
                raise ValueError(
                    f"The file '{path}' has a missing value ('{cell.strip()}') in line "
                    f"{first_line + t}, cell {i + 1}."
                )
    if _row_names(header, body):
        body = [row[1:] for row in body]
        header = header[len(header) - len(body[0]) :] if header else None
    return _as_numbers(body), header


def _split(lines: list[str]) -> list[list[str]]:
    """Cells, by the delimiter that the first line has."""
    delimiter = next((mark for mark in _DELIMITERS[:-1] if mark in lines[0]), " ")
    if delimiter == " ":
        return [[cell.strip("\"'") for cell in line.split()] for line in lines]
    return [list(row) for row in csv.reader(lines, delimiter=delimiter)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _find_header(rows: list[list[str]]) -> list[str] | None:
    """The first row if it names the items: it has words where the rest has numbers, or new words."""
    first, rest = rows[0], rows[1:]
    if all(_is_number(cell) for cell in first):
        return None
    if not rest:
        return None
    if any(_is_number(cell) for cell in rest[0]):
        return first
    seen = {cell for row in rest for cell in row}
    return None if seen.intersection(first) else first


def _row_names(header: list[str] | None, body: list[list[str]]) -> bool:
    """Whether the first column numbers or names the rows, as R writes it."""
    if header is None:
        return False
    return len(header) == len(body[0]) - 1 or (len(header) > 1 and header[0].strip() == "")


def _as_numbers(body: list[list[str]]) -> NDArray[Any]:
    try:
        return np.array(body, dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return np.array(body, dtype=np.float64)
    except ValueError:
        return np.array([[cell.strip() for cell in row] for row in body])


# --- output ---


def check_target(path: Path, ending: str) -> Path:
    """A path that can be written to, checked before a long run."""
    if path.suffix.lower() != ending:
        raise ValueError(f"The output '{path}' must end in {ending}; it ends in '{path.suffix}'.")
    _check_parent(path)
    return path


def _check_parent(path: Path) -> None:
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder '{path.parent}' to write '{path.name}' into.")


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the target, then rename: nobody ever sees half a file."""
    _check_parent(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    beside = Path(name)
    try:
        write(beside)
        beside.chmod(0o666 & ~_umask())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_estimate(path: Path, estimate: Estimate) -> None:
    """Labels as csv (item, cluster), txt (one label a line), npy or json, by the name's ending."""
    kind = path.suffix.lower()
    if kind == ".csv":
        names = estimate.items or [str(i) for i in range(len(estimate.labels))]

        def write(target: Path) -> None:
            with target.open("w", encoding="utf-8", newline="") as stream:
                table = csv.writer(stream, lineterminator="\n")
                table.writerow(["item", "cluster"])
                table.writerows(zip(names, estimate.labels.tolist(), strict=True))

    elif kind == ".npy":

        def write(target: Path) -> None:
            np.save(target, estimate.labels)

    elif kind == ".json":

        def write(target: Path) -> None:
            target.write_text(json.dumps(estimate.to_dict()) + "\n", encoding="utf-8")

    elif kind == ".txt":

        def write(target: Path) -> None:
            target.write_text(
                "\n".join(map(str, estimate.labels.tolist())) + "\n", encoding="utf-8"
            )

    else:
        raise ValueError(
            f"The output '{path}' must end in .csv, .txt, .npy or .json; it ends in '{kind}'."
        )
    write_whole(path, write)
