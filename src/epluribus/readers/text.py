"""Tables in text files: csv and its relatives, R's tables, Stan's output.

Cells are separated by commas, semicolons, tabs, upright bars or blanks; a first line of names and a first
column of row names are recognized. A cell in quotes may have line breaks. Lines that begin with ``#`` are
comments. In the output of Stan, draws before the
comment "Adaptation terminated" are warmup, which Stan saves only on request (``save_warmup``): they are left
out.

Numbers are parsed by NumPy. If that fails, the file is read again cell by cell, which is slower but can name
the line of a bad cell.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from epluribus._files import STREAM, reading, rearm
from epluribus._typing import AnyArray, FloatArray
from epluribus._validate import shown
from epluribus.readers.columns import pick_columns
from epluribus.readers.source import Source, pick_labels

_DELIMITERS = (",", ";", "\t", "|")
"""Tried in this order; blanks separate the cells if none of these occurs."""
_BLANKS = re.compile(r'"(?:[^"]|"")*"|\S+')
"""A cell where blanks separate them; one in quotes may have blanks inside."""
_MISSING = {"", "na", "nan", "null", "none", "?"}
"""Cells without a value, in small letters, as R, NumPy, databases, Python and surveys write them."""
_COMPRESSED = {"gzip": b"\x1f\x8b", "bz2": b"BZh", "lzma": b"\xfd7zXZ"}
"""Modules that decompress, and the first bytes of the files they are for, whatever their name."""
_END_OF_WARMUP = "Adaptation terminated"
"""The comment after which Stan's draws from the posterior begin."""
_QUOTED_NAME = re.compile(r'\s*"[^"]+"[\s,;][^"]*')
"""A line of R's `write.table` without a header: the row's name is quoted, the numbers are not."""


class TextTable(NamedTuple):
    """A table in a text file, without its row names."""

    header: Sequence[str] | None
    """Names of the columns."""
    cells: AnyArray
    """Of shape (n_rows, n_columns): integers if all cells are, else floats, else words. Missing cells are
    NaN, or masked among words."""
    lines: list[int]
    """The line of the file that each row comes from, counted from 1."""
    skip: int
    """Number of cells of a line that are left out at the beginning: 1 where rows have names."""
    texts: Callable[[int], list[str]]
    """The cells of a column as they are written: an item may be called 007 or NA."""

    def check_cells(self, path: Path, is_bad: Callable[[str], bool], what: str) -> None:
        """Raise an error that names the first bad cell of a table of words, if there is one."""
        # Labels repeat in every draw: each different word is tested once.
        words: list[str] = []
        if self.cells.dtype.kind == "U":
            words = np.unique(np.ma.compressed(self.cells)).tolist()
        bad = [word for word in words if is_bad(word)]
        if bad:
            t, i = np.argwhere(np.isin(self.cells, bad))[0]
            raise ValueError(
                f"The file '{path}' must hold {what}; line {self.lines[t]}, cell "
                f"{self.skip + i + 1} has {shown(str(self.cells[t, i]))}."
            )

    def check_numbers(self, path: Path) -> None:
        """Raise an error that names the first cell that is not a number: it makes the whole table words."""
        self.check_cells(path, lambda cell: not _is_number(cell), "numbers")


def read_text(path: Path, var: str | None = None) -> Source:
    """Labels in a text file, with the names and chains it has.

    Parameters
    ----------
    path : Path
        The file, perhaps compressed; ``-`` is standard input.
    var : str, optional
        The variable whose entries are the labels; an error for a file without a header.
    """
    table = read_table(path)
    # Among words, a number is a label only if it is an integer: 4.9 is a measurement.
    table.check_cells(
        path,
        lambda cell: _is_number(cell) and not float(cell).is_integer(),
        "labels, integers or words",
    )
    cells, where = table.cells, f"the file '{path}'"
    if table.header is not None:
        return pick_columns(table.header, lambda i: cells[:, i], where=where, var=var)
    # Without a header there are no variables to choose from: this raises the error that says so.
    if var is not None:
        pick_labels([], str, var, where)
    _warn_of_numbered_columns(cells, where)
    return Source(cells)


def read_numbers(path: Path) -> FloatArray:
    """A table of numbers in a text file, of shape (n_rows, n_columns), without names of rows and columns."""
    table = read_table(path)
    table.check_numbers(path)
    cells = np.ma.filled(table.cells.astype(np.float64), np.nan)
    if np.isnan(cells).any():
        t, i = np.argwhere(np.isnan(cells))[0]
        raise ValueError(
            f"The file '{path}' has a missing value in line {table.lines[t]}, cell {table.skip + i + 1}."
        )
    return cells


def read_table(path: Path) -> TextTable:
    """The table in a text file, whether it holds labels, words or measurements.

    The delimiter, the header and the row names are found from the first two lines if the second has numbers,
    otherwise from all lines. An empty file, and a header without rows, are errors.
    """
    found = _read_lines(path)
    if not found:
        raise ValueError(f"The file '{path}' is empty.")
    numbers, lines = list(found), list(found.values())
    # A header of one word, above rows with names, has no delimiter: the next line shows it.
    few = lines[:2] if len(lines[0].split()) == 1 else lines[:1]
    delimiter = _find_delimiter(few, lines)
    # If the second row has numbers, two rows are enough to see what the table is like, and the rest is left
    # to the quick parser.
    rows = _split(path, found, delimiter, 2)
    plain = len(rows) == 1 or any(_is_number(cell) for cell in rows[1])
    # If labels are words, only all rows together show whether the first one is a header.
    if not plain:
        rows = _split(path, found, delimiter)
    named = all(_QUOTED_NAME.fullmatch(line) for line in lines[:2])
    header = None if named else _find_header(rows)
    if header is not None:
        numbers, lines = numbers[1:], lines[1:]
    if not lines or (len(found) == 1 and _is_header_alone(rows[0])):
        raise ValueError(f"The file '{path}' has a header but no rows.")
    # Row names are cut from every row before the cells are parsed.
    skip = int(named or (header is not None and _has_row_names(header, rows[1])))
    cells = _parse_numbers(lines, delimiter, skip) if plain else None
    if cells is None:
        rows = rows if len(rows) == len(found) else _split(path, found, delimiter)
        cells = _parse_words(path, numbers, rows[len(found) - len(lines) :], skip)
    if cells.shape[1] == 0:
        raise ValueError(f"The file '{path}' has names of rows but no other cells.")
    # Above the row names the header may have an empty cell, or no cell: its last cells name the columns.
    if header is not None:
        header = [rearm(cell) for cell in header[len(header) - cells.shape[1] :]]
    below = {number: found[number] for number in numbers}

    def texts(column: int) -> list[str]:
        return [rearm(row[skip + column]) for row in _split(path, below, delimiter)]

    return TextTable(header, cells, numbers, skip, texts)


# --- lines ---


def _read_lines(path: Path) -> dict[int, str]:
    """The lines that are not blank, comments or warmup, by their number in the file.

    A line break inside a cell does not end the line: the number is that of its beginning.
    """
    lines: dict[int, str] = {}
    begin, text = 1, ""
    # Only what ends a line in csv does so here; `splitlines` would also break names at rarer characters.
    for number, part in enumerate(io.StringIO(read_content(path), newline=""), 1):
        text, begin = text + part, begin if text else number
        if text.startswith("#"):
            # Of all lines before it, only the first, which is the header, is kept.
            if _END_OF_WARMUP in text:
                lines = dict(list(lines.items())[:1])
        elif text.count('"') % 2:  # a cell goes on in the next line
            continue
        elif text.strip():
            lines[begin] = text.rstrip("\r\n")
        text = ""
    if text:
        raise ValueError(f"The file '{path}' has a quote that does not end, in line {begin}.")
    return lines


def read_content(path: Path) -> str:
    """The text of a file, perhaps compressed (gzip, bzip2, xz), or of standard input."""
    if str(path) == STREAM:
        if sys.stdin is None:
            raise ValueError("Standard input is closed: there is nothing to read from '-'.")
        # What replaces sys.stdin in a notebook or a test may have no bytes, only text.
        stream = getattr(sys.stdin, "buffer", None)
        data = sys.stdin.read().encode() if stream is None else stream.read()
    else:
        data = path.read_bytes()
    with reading(path, "text"):
        for module, begin in _COMPRESSED.items():
            if data.startswith(begin):
                data = import_module(module).decompress(data)
        # Excel puts a byte order mark at the beginning, which would become part of the first name.
        return data.decode("utf-8-sig")


def _find_delimiter(few: list[str], lines: list[str]) -> str | None:
    """What separates the cells: the first of the delimiters that occurs in a few lines."""
    found = next((mark for line in few for mark in _DELIMITERS if mark in line), None)
    # A label may have an upright bar in it; as a delimiter it occurs equally often in every line.
    if found == "|" and len({line.count("|") for line in lines}) > 1:
        return None
    return found


def _split(
    path: Path, lines: dict[int, str], delimiter: str | None, most: int | None = None
) -> list[list[str]]:
    """The cells of the first `most` lines, or of all; without a delimiter, blanks separate them.

    >>> _split(Path("x"), {1: '"a b"  1'}, None), _split(Path("x"), {1: '"a,b",1'}, ",")
    ([['a b', '1']], [['a,b', '1']])
    """
    rows: list[list[str]] = []
    for number, line in islice(lines.items(), most):
        if delimiter is None:
            cells = _BLANKS.findall(line)
            rows.append([cell.strip("\"'").replace('""', '"') for cell in cells])
            continue
        # Each line by itself: a quote in the middle of a cell must not swallow the next line.
        try:
            row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))
        except csv.Error as error:
            raise ValueError(
                f"The file '{path}' has a bad cell in line {number}: {error}."
            ) from None
        # Blanks around a cell mean nothing, unless they are inside quotes.
        rows.append(row if '"' in line else [cell.strip() for cell in row])
    return rows


# --- names of columns and rows ---


def _is_number(cell: str) -> bool:
    """Whether a cell is a number; "nan" and "inf" are numbers too."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_missing(cell: str) -> bool:
    """Whether a cell has no value."""
    return cell.strip().lower() in _MISSING


def _find_header(rows: list[list[str]]) -> list[str] | None:
    """The first row if it names the columns: words above numbers, or words that no other row has.

    >>> _find_header([["ann", "bob"], ["x", "y"], ["y", "y"]])
    ['ann', 'bob']
    >>> _find_header([["x", "y"], ["y", "y"]]) is None
    True
    """
    first, rest = rows[0], rows[1:]
    # A row of numbers is a draw, also if some of them are missing.
    numbers = [cell for cell in first if not _is_missing(cell)]
    if (numbers and all(map(_is_number, numbers))) or not rest:
        return None
    if any(_is_number(cell) for cell in rest[0]):
        return first
    # All cells are words. Labels come back in other draws; names of items do not.
    seen = {cell for row in rest for cell in row}
    return None if seen.intersection(first) else first


def _is_header_alone(row: list[str]) -> bool:
    """Whether a line without others is a header: all words, all different.

    Read as a draw, it would put every item in a cluster of its own.
    """
    words = not any(_is_number(cell) for cell in row)
    return words and len(row) > 1 and len(set(row)) == len(row)


def _has_row_names(header: list[str], first: list[str]) -> bool:
    """Whether the first column numbers or names the rows, as R writes it."""
    # write.table leaves out the cell above the names; write.csv leaves it empty.
    return len(header) == len(first) - 1 or (len(header) > 1 and header[0].strip() == "")


def _warn_of_numbered_columns(table: AnyArray, where: str) -> None:
    """Warn if the first row is 0, 1, 2, ... and the second is not.

    pandas writes such a header for columns without names. A draw in which every item is alone looks the same,
    so the row is kept.
    """
    n_items = table.shape[1]
    if n_items > 2 and table.dtype.kind in "if" and len(table) > 1:
        counts = [np.array_equal(row - row[0], np.arange(n_items)) for row in table[:2]]
        if counts == [True, False]:
            warnings.warn(
                f"The first line of {where} counts the columns. It is read as a draw; if it is a "
                "header, leave it out with burn=1.",
                stacklevel=2,
            )


# --- cells ---


def _parse_numbers(lines: list[str], delimiter: str | None, skip: int) -> AnyArray | None:
    """Rows of numbers, parsed by NumPy; None if a cell is empty or is not a number."""
    # `loadtxt` hands every character to a function of C that knows ASCII only: others crash the process
    # now and then (NumPy 2.4).
    if not all(map(str.isascii, lines)):
        return None
    for dtype in (np.int64, np.float64):
        try:
            with warnings.catch_warnings():
                # Old versions of NumPy read 1.5 as the integer 1, with a warning: here an error.
                warnings.simplefilter("error")
                table = np.loadtxt(
                    lines, dtype, comments=None, delimiter=delimiter, quotechar='"', ndmin=2
                )
        except (ValueError, OverflowError, DeprecationWarning):
            continue
        return table[:, skip:]
    return None


def _parse_words(path: Path, numbers: list[int], rows: list[list[str]], skip: int) -> AnyArray:
    """Rows of any cells, from column `skip` on, with errors that name the line.

    `numbers` has the line of each row. The result is integers or floats if all cells are, else words; missing
    cells are NaN, or masked among words.
    """
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"The file '{path}' must have rows of one length; line {numbers[0]} has "
                f"{len(rows[0])} cells and line {number} has {len(row)}."
            )
    cells = np.array([[rearm(cell) for cell in row[skip:]] for row in rows], dtype=np.str_)
    mask = np.isin(np.char.lower(np.char.strip(cells)), list(_MISSING))
    some = bool(mask.any())
    # Numbers with quoted row names beside them could not be parsed the quick way: they come here too.
    for dtype in (np.float64,) if some else (np.int64, np.float64):
        try:
            return np.where(mask, "nan", cells).astype(dtype) if some else cells.astype(dtype)
        except (ValueError, OverflowError):
            continue
    return np.ma.masked_array(cells, mask) if some else cells
