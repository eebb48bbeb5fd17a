"""Pairs or groups of items, and properties of items, from text files."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from pathlib import Path
from typing import Any

from epluribus._files import reading, rearm
from epluribus.readers.text import read_content

_DELIMITERS = ",;\t"


def read_groups(path: Path, names: Collection[str]) -> list[list[str]]:
    r"""The items in each line of a text file, as text; a first line with none of the `names` is a header.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.csv")
    ...     _ = path.write_text("a,b\nann,bob\n")
    ...     read_groups(path, {"ann", "bob", "cy"})
    [['ann', 'bob']]
    """
    rows = [[cell for cell in row if cell] for row in _rows(path)]
    if rows and not any(cell in names for cell in rows[0]):
        rows = rows[1:]
    return rows


def read_column(path: Path, column: str) -> dict[str, Any]:
    """One column of a table of items, by item: its column 'item' names them, else they are numbered.

    Empty cells are None.
    """
    header, *rows = _rows(path) or [[]]
    if column not in header:
        raise ValueError(
            f"The file '{path}' must have a column '{column}'; its columns are {', '.join(header)}."
        )
    at, name = header.index(column), header.index("item") if "item" in header else None
    if any(len(row) != len(header) for row in rows):
        raise ValueError(
            f"The file '{path}' must have as many cells in every line as in the first."
        )
    return {str(i) if name is None else row[name]: row[at] or None for i, row in enumerate(rows)}


def _rows(path: Path) -> list[list[str]]:
    """The cells of the lines that are not blank."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file '{path}'.")
    text = read_content(path)
    first = text.split("\n", 1)[0]
    delimiter = next((mark for mark in _DELIMITERS if mark in first), None)
    if delimiter is None:
        return [line.split() for line in text.splitlines() if line.strip()]
    with reading(path, "csv"):
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    cells = ([rearm(cell.strip(" \t")) for cell in row] for row in rows)
    return [row for row in cells if any(row)]
