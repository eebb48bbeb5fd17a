"""Tables of labels in text files: csv and its relatives, R's tables, Stan's output.

Lines that begin with ``#`` are comments. In the output of Stan the draws before the comment
"Adaptation terminated" are warmup, kept only when Stan was asked to (``save_warmup``): they are
left out.
"""

from __future__ import annotations

import csv
import lzma
import re
import sys
import warnings
import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus.readers.columns import pick_columns
from epluribus.readers.source import STDIN, Source

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["TextTable", "read_lines", "read_table", "read_text"]

_DELIMITERS = (",", ";", "\t")
_MISSING = {"", "na", "nan", "null", "none", "?"}
_COMPRESSED = {"gzip": b"\x1f\x8b", "bz2": b"BZh", "lzma": b"\xfd7zXZ"}
"""Modules that undo a compression, and how such files begin."""
_END_OF_WARMUP = "Adaptation terminated"
_QUOTED_NAME = re.compile(r'\s*"[^"]*"[\s,;][^"]*')
"""A line of R's `write.table` without a header: the name of the row is quoted, the numbers are not."""


class TextTable(NamedTuple):
    """A table in a text file, row names left out."""

    header: list[str] | None
    cells: NDArray[Any]
    """Whole numbers, numbers or words."""
    lines: list[_Line]
    """Where each row stands."""
    skip: int
    """Cells of a line before the first of its row."""


def read_text(path: Path, var: str | None = None) -> Source:
    """Comma, semicolon, tab or space separated, with or without a header or row names."""
    table = read_table(path)
    header, cells = table.header, table.cells
    if cells.dtype.kind == "U":
        _refuse_continuous(path, table)
    if header is None:
        return _without_names(path, cells, var)
    return pick_columns(header, lambda i: cells[:, i], where=f"the file '{path}'", var=var)


def read_table(path: Path) -> TextTable:
    """The table as it stands in the file."""
    lines = _read_lines(path)
    if not lines:
        raise ValueError(f"The file '{path}' is empty.")
    delimiter = next((mark for mark in _DELIMITERS if mark in lines[0].text), None)
    rows = _split(lines[:2], delimiter)
    plain = len(rows) == 1 or any(_is_number(cell) for cell in rows[1])
    if not plain:  # labels are words: whether the first row is a header, all rows must tell
        rows = _split(lines, delimiter)
    named = all(_QUOTED_NAME.fullmatch(line.text) for line in lines[:2])
    header = None if named else _find_header(rows)
    body = lines if header is None else lines[1:]
    if not body or (len(lines) == 1 and _is_header_alone(rows[0])):
        raise ValueError(f"The file '{path}' has a header but no draws.")
    skip = int(named or (header is not None and _has_row_names(header, rows[1])))
    numbers = _parse_numbers(body, delimiter) if plain else None
    cells = _parse_cells(path, body, delimiter, skip) if numbers is None else numbers[:, skip:]
    if header is not None:
        header = header[len(header) - cells.shape[1] :]
    return TextTable(header, cells, body, skip)


def _refuse_continuous(path: Path, table: TextTable) -> None:
    """Numbers beside words are labels only if they are whole."""
    odd = [
        cell for cell in np.unique(table.cells) if _is_number(cell) and not float(cell).is_integer()
    ]
    if odd:
        t, i = np.argwhere(np.isin(table.cells, odd))[0]
        raise ValueError(
            f"The file '{path}' must hold labels, whole numbers or words; line {table.lines[t].number}, "
            f"cell {table.skip + i + 1} has {table.cells[t, i]}."
        )


class _Line(NamedTuple):
    text: str
    number: int
    """In the file, counted from 1."""


def _read_lines(path: Path) -> list[_Line]:
    """The lines that are neither blank, comments nor warmup."""
    texts = read_lines(path)
    lines: list[_Line] = []
    for number, text in enumerate(texts, 1):
        if text.startswith("#"):
            if _END_OF_WARMUP in text:
                del lines[1:]
        elif text.strip():
            lines.append(_Line(text, number))
    return lines


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, perhaps compressed (gzip, bzip2, xz), or of standard input."""
    if str(path) == STDIN:
        stream = getattr(sys.stdin, "buffer", None)
        data = sys.stdin.read().encode() if stream is None else stream.read()
    else:
        data = path.read_bytes()
    try:
        for module, begin in _COMPRESSED.items():
            if data.startswith(begin):
                data = import_module(module).decompress(data)
        return data.decode("utf-8-sig").splitlines()
    except (UnicodeDecodeError, OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"The file '{path}' could not be read as text: {error}.") from None


def _split(lines: list[_Line], delimiter: str | None) -> list[list[str]]:
    if delimiter is None:
        return [[cell.strip("\"'") for cell in line.text.split()] for line in lines]
    return [list(row) for row in csv.reader([line.text for line in lines], delimiter=delimiter)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _find_header(rows: list[list[str]]) -> list[str] | None:
    """The first row if it names the items: it has words where the rest has numbers, or new words."""
    first, rest = rows[0], rows[1:]
    if all(_is_number(cell) for cell in first) or not rest:
        return None
    if any(_is_number(cell) for cell in rest[0]):
        return first
    seen = {cell for row in rest for cell in row}
    return None if seen.intersection(first) else first


def _is_header_alone(row: list[str]) -> bool:
    """Whether the only line names columns: words, all different. As a draw every item would be alone."""
    words = not any(_is_number(cell) for cell in row)
    return words and len(row) > 1 and len(set(row)) == len(row)


def _has_row_names(header: list[str], first: list[str]) -> bool:
    """Whether the first column numbers or names the rows, as R writes it."""
    return len(header) == len(first) - 1 or (len(header) > 1 and header[0].strip() == "")


def _without_names(path: Path, table: NDArray[Any], var: str | None) -> Source:
    if var is not None:
        raise ValueError(
            f"'var' must be None for the file '{path}', which has no header; got '{var}'."
        )
    n_items = table.shape[1]
    if n_items > 2 and table.dtype.kind in "if" and len(table) > 1:
        counts = [np.array_equal(row - row[0], np.arange(n_items)) for row in table[:2]]
        if counts == [True, False]:  # as pandas writes the names of columns that have none
            warnings.warn(
                f"The first line of the file '{path}' counts the columns. It is read as a draw; if "
                "it is a header, leave it out with burn=1.",
                stacklevel=2,
            )
    return Source(table)


# --- cells ---


def _parse_numbers(body: list[_Line], delimiter: str | None) -> NDArray[Any] | None:
    """The fast way, for rows of numbers; None where something is missing or no number."""
    texts = [line.text for line in body]
    for dtype in (np.int64, np.float64):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # 1.0 as an integer is deprecated in NumPy
                table = np.loadtxt(
                    texts, dtype, comments=None, delimiter=delimiter, quotechar='"', ndmin=2
                )
        except (ValueError, OverflowError, DeprecationWarning):
            continue
        return None if np.isnan(table).any() else table
    return None


def _parse_cells(path: Path, body: list[_Line], delimiter: str | None, skip: int) -> NDArray[Any]:
    """Cell by cell, from column `skip`: strings, and errors that name the line."""
    rows = _split(body, delimiter)
    for line, row in zip(body, rows, strict=True):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"The file '{path}' must have rows of one length; line {body[0].number} has "
                f"{len(rows[0])} cells and line {line.number} has {len(row)}."
            )
        for i, cell in enumerate(row[skip:], skip + 1):
            if cell.strip().lower() in _MISSING:
                raise ValueError(
                    f"The file '{path}' has a missing value ('{cell.strip()}') in line "
                    f"{line.number}, cell {i}."
                )
    cells = np.array([[cell.strip() for cell in row[skip:]] for row in rows])
    for dtype in (np.int64, np.float64):
        try:
            return cells.astype(dtype)
        except (ValueError, OverflowError):
            continue
    return cells
