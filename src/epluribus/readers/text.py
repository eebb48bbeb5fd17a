"""Tables in text files: csv and its relatives, R's tables, Stan's output; pairs and properties of items.

Cells are separated by commas, semicolons, tabs or blanks; a first line of names and a first
column of row names are recognized. A cell in quotes may have line breaks. Lines that begin with ``#`` are
comments. In the output of Stan, draws before the comment "Adaptation terminated" are warmup, which Stan saves
only on request (``save_warmup``): they are left out.

pandas reads tables of numbers; integers stay integers, also where cells are missing. If there are words among the
labels, all cells are text.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epluribus._files import STREAM, reading
from epluribus._typing import FloatArray
from epluribus._validate import shown
from epluribus.readers.columns import Source, from_frame, is_about_draws, pick_labels, to_array

_DELIMITERS = (",", ";", "\t")
"""Tried in this order; blanks separate the cells if none of these occurs."""
_BLANKS = re.compile(r'"(?:[^"]|"")*"|\S+')
"""A cell where blanks separate them; one in quotes may have blanks inside."""
_MISSING = ("", "na", "nan", "null", "none", "?")
"""Cells without a value, in small letters, as R, NumPy, databases, Python and surveys write them."""
_SPELLED = [spell(word) for word in _MISSING for spell in (str.lower, str.upper, str.title)]
"""The same as they are mostly written, for pandas."""
_GZIP = b"\x1f\x8b"
"""The first bytes of a file that gzip compressed, whatever its name."""
_QUOTED_NAME = re.compile(r'\s*"[^"]+"[\s,;][^"]*')
"""A line of R's `write.table` without a header: the row's name is quoted, the numbers are not."""
_DECIMAL_COMMAS = re.compile(r"\s*[+-]?\d+,\d+(?:[;\s]+[+-]?\d+,\d+)+\s*")
"""A line of numbers with commas in place of decimal points."""


class TextTable(NamedTuple):
    """A table in a text file, without its row names."""

    path: Path
    frame: Any
    """A data frame of integers, floats or, if any cell is a word, of text."""
    named: bool
    """Whether the file names the columns."""
    lines: list[int]
    """The line of the file that each row comes from, counted from 1."""
    skip: int
    """Number of cells of a line that are left out at the beginning: 1 where rows have names."""
    texts: Callable[[int], list[str]]
    """The cells of a column as they are written: an item may be called 007 or NA."""

    @property
    def names(self) -> list[str]:
        """The names of the columns; none where the file does not name them."""
        return list(self.frame.columns) if self.named else []

    def refuse(self, bad: Any, message: str) -> None:
        """Raise an error about the first bad cell, if there is one."""
        for t, i in np.argwhere(bad)[:1]:
            place = f"line {self.lines[t]}, cell {self.skip + i + 1}"
            cell = shown(self.texts(i)[t])
            raise ValueError(f"The file '{self.path}' must hold {message}; {place} has {cell}.")

    def numbers(self, *, gaps: bool = False) -> FloatArray:
        """(n_rows, n_columns) all cells as numbers; missing ones are NaN, if `gaps` are allowed."""
        cells = to_array(self.frame)
        if cells.dtype.kind == "U":
            words = [word for word in np.unique(np.ma.compressed(cells)) if not _is_number(word)]
            self.refuse(np.ma.filled(np.isin(cells, words), False), "numbers")
            cells = np.ma.filled(cells.astype(object), "nan")
        floats: FloatArray = np.ma.filled(cells.astype(np.float64), np.nan)
        if not gaps:
            self.refuse(np.isnan(floats), "a number in every cell")
        return floats

    def to_frame(self, *, words: bool = False, gaps: bool = False) -> Any:
        """A data frame of numbers, or of words too, with the names of rows and columns that the file has."""
        import pandas as pd

        frame = self.frame
        if not words:
            frame = pd.DataFrame(self.numbers(gaps=gaps), columns=self.names or None)
        return frame.set_axis(self.texts(-1)) if self.skip else frame


def text_source(table: TextTable, var: str | None = None) -> Source:
    """Labels in a text file, with the names and chains it has; `var` is an error without a header."""
    cells, where = to_array(table.frame), f"the file '{table.path}'"
    if cells.dtype.kind == "U":  # among words, a number is a label only if it is an integer
        words = np.unique(np.ma.compressed(cells)).tolist()
        bad = [word for word in words if _is_number(word) and not float(word).is_integer()]
        table.refuse(np.ma.filled(np.isin(cells, bad), False), "labels, integers or words")
    doubt = ""
    if table.named:
        source = from_frame(table.frame, where=where, var=var)
        names = list(filter(None, table.names))
        words = [name for name in names if not _is_number(name)]
        if len(words) < len(names) and not all(map(is_about_draws, words)):
            doubt = f"has words and numbers, such as {shown(words[0])}: it is read as names of columns. If it is a "
            doubt += "draw, put a line of names before it."
    else:
        if var is not None:  # without a header there are no variables to choose from
            pick_labels([], str, var, where)
        source = Source(cells)
        # pandas writes such a header for columns without names. A draw in which every item is alone looks the same.
        if cells.dtype.kind in "if" and cells.shape[1] > 2:
            counts = [np.ptp(np.diff(row)) == 0 and row[1] - row[0] == 1 for row in cells[:2]]
            if counts == [True, False]:
                doubt = "counts the columns. It is read as a draw; if it is a header, leave it out with burn=1."
    if doubt:
        warnings.warn(f"The first line of {where} {doubt}", stacklevel=2)
    if source.labels.dtype.kind == "f" and (np.abs(source.labels) >= 2.0**53).any():
        what = "labels below 2^53 where some are written with decimals"
        raise ValueError(
            f"The file '{table.path}' must hold {what}: larger ones would be rounded. Write all of them as integers."
        )
    return source


def read_table(path: Path) -> TextTable:
    """The table in a text file, whether it holds labels, words or measurements.

    The delimiter, the header and the row names are found from the first two lines if the second has numbers,
    otherwise from all lines. An empty file, a header without rows, and rows of different lengths are errors.
    """
    lines = list(_read_lines(path).items())
    if not lines:
        raise ValueError(f"The file '{path}' is empty.")
    delimiter = _find_delimiter(path, [line for _, line in lines])
    rows = [_split(path, *line, delimiter) for line in lines[:2]]
    # If labels are words, only all rows together show whether the first one is a header.
    if len(rows) == 2 and not any(map(_is_number, rows[1])):
        rows = [_split(path, *line, delimiter) for line in lines]
    quoted_names = all(_QUOTED_NAME.fullmatch(line) for _, line in lines[:2])
    header = None if quoted_names else _find_header(rows)
    # A line of words that all differ: read as a draw, it would put every item in a cluster of its own.
    words = len(rows[0]) > 1 and not any(map(_is_number, rows[0]))
    if len(lines) == 1 and words and len(set(rows[0])) == len(rows[0]):
        raise ValueError(f"The file '{path}' has a header but no rows.")
    below = lines if header is None else lines[1:]
    lengths = [_n_cells(path, *line, delimiter) for line in below]
    width = lengths[0]
    for t in [t for t, length in enumerate(lengths) if length != width][:1]:
        first, other = (f"line {below[k][0]} has {lengths[k]}" for k in (0, t))
        raise ValueError(
            f"The file '{path}' must have rows of one length; {first} cells and {other}."
        )

    def texts(column: int) -> list[str]:
        return [_split(path, *line, delimiter)[skip + column] for line in below]

    skip = int(quoted_names)
    if header is not None:
        # R writes no name, pandas an empty one, above the names of rows.
        unnamed = len(header) == width - 1 or (width > 1 and not header[0].strip())
        skip = int(unnamed and _are_row_names(texts(0)))
        if len(header) not in (width, width - skip):
            what = f"its header has {len(header)} and line {below[0][0]} has {width} cells"
            raise ValueError(
                f"The file '{path}' must have a name for every column; {what}. Is it damaged?"
            )
    if width == skip:
        raise ValueError(f"The file '{path}' has names of rows but no other cells.")
    frame = _parse(path, [line for _, line in below], delimiter, range(skip, width))
    if header is not None:
        frame = frame.set_axis(header[skip - width :], axis=1)
    return TextTable(path, frame, header is not None, [number for number, _ in below], skip, texts)


def _parse(path: Path, lines: list[str], delimiter: str | None, columns: range) -> Any:
    """A frame of the cells, all numbers or all text; missing ones are missing in it."""
    import pandas as pd

    def read(**options: Any) -> Any:
        return pd.read_csv(
            io.StringIO("\n".join(lines)), header=None, sep=delimiter or r"\s+", usecols=columns,
            skipinitialspace=True, skip_blank_lines=False, keep_default_na=False, low_memory=False, **options,
        )  # fmt: skip

    with reading(path, "text"):
        frame = read(na_values=_SPELLED, dtype_backend="numpy_nullable")
        if all(getattr(kind, "kind", "") in "iuf" for kind in set(frame.dtypes)):
            return frame
        frame = read(dtype="string", na_filter=False).apply(lambda x: x.str.strip())
        return frame.mask(frame.apply(lambda x: x.str.lower().isin(_MISSING)))


# --- lines and cells ---


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
            # Of all lines before the end of Stan's warmup, only the first, which is the header, is kept.
            if "Adaptation terminated" in text:
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
    """The text of a file, perhaps compressed with gzip, or of standard input."""
    if str(path) != STREAM and not path.exists():
        raise FileNotFoundError(f"There is no file '{path}'.")
    if str(path) != STREAM:
        data: Any = path.read_bytes()
    elif sys.stdin is None:
        raise ValueError("Standard input is closed: there is nothing to read from '-'.")
    # What replaces sys.stdin in a notebook or a test may have no bytes, only text.
    elif isinstance(data := getattr(sys.stdin, "buffer", sys.stdin).read(), str):
        return str(data)
    with reading(path, "text"):
        data = gzip.decompress(data) if data.startswith(_GZIP) else data
        # Excel puts a byte order mark at the beginning, which would become part of the first name.
        return str(data, "utf-8-sig")


def _find_delimiter(path: Path, lines: list[str]) -> str | None:
    """What separates the cells: the first of the delimiters that occurs in the first line; None is blanks."""
    commas = next((line for line in lines[:2] if _DECIMAL_COMMAS.fullmatch(line)), None)
    if commas is not None:
        what = f"the line {shown(commas)} has decimal commas"
        raise ValueError(
            f"The file '{path}' must have decimal points; {what}. Write labels as integers."
        )
    # A header of one word, above rows with names, has no delimiter: the next line shows it.
    few = lines[:2] if len(lines[0].split()) == 1 else lines[:1]
    return next((mark for line in few for mark in _DELIMITERS if mark in line), None)


def _split(path: Path, number: int, line: str, delimiter: str | None) -> list[str]:
    """The cells of a line; without a delimiter, blanks separate them.

    >>> _split(Path("x"), 1, '"a b"  1', None), _split(Path("x"), 1, '"a,b",1', ",")
    (['a b', '1'], ['a,b', '1'])
    """
    if delimiter is None:
        return [cell.strip("\"'").replace('""', '"') for cell in _BLANKS.findall(line)]
    # Each line by itself: a quote in the middle of a cell must not swallow the next line.
    try:
        row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise ValueError(f"The file '{path}' has a bad cell in line {number}: {error}.") from None
    # Blanks around a cell mean nothing, unless they are inside quotes.
    return row if '"' in line else [cell.strip() for cell in row]


def _n_cells(path: Path, number: int, line: str, delimiter: str | None) -> int:
    """How many cells a line has; without quotes that is quickly known."""
    if '"' in line:
        return len(_split(path, number, line, delimiter))
    return len(line.split()) if delimiter is None else line.count(delimiter) + 1


def _is_number(cell: str) -> bool:
    """Whether a cell is a number; "nan" and "inf" are numbers too."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _find_header(rows: list[list[str]]) -> list[str] | None:
    """The first row if it names the columns: words above numbers, or words that no other row has.

    >>> _find_header([["ann", "bob"], ["x", "y"], ["y", "y"]])
    ['ann', 'bob']
    >>> _find_header([["x", "y"], ["y", "y"]]) is None
    True
    """
    first, rest = rows[0], rows[1:]
    cells = [cell for cell in first if cell.strip().lower() not in _MISSING]
    words = [cell for cell in cells if not _is_number(cell)]
    # A row of numbers is a draw, also if some are missing; but for what pandas writes above unnamed columns.
    counted = len(first) > 1 and first == ["", *map(str, range(len(first) - 1))]
    if not rest or (cells and not words):
        return first if rest and counted else None
    # If the other rows are words too: labels come back in other draws, names of items do not.
    if not any(map(_is_number, rest[0])):
        return None if {cell for row in rest for cell in row}.intersection(first) else first
    # A few words among numbers may be labels, if they are not all different.
    return None if len(words) < len(cells) and len(set(cells)) < len(cells) else first


def _are_row_names(cells: list[str]) -> bool:
    """Whether a first column without a name has names or numbers of rows: they differ, or count."""
    numbers = [float(cell) for cell in cells if _is_number(cell)]
    if not all(number.is_integer() for number in numbers):
        return False
    if len(set(cells)) == len(cells):
        return True
    # The rows of several frames, each counted from its own beginning, may have been put together.
    steps = set(np.diff(numbers).tolist()) - {min(numbers, default=0) - max(numbers, default=0)}
    return len(numbers) == len(cells) and steps == {1.0}


# --- pairs or groups of items, and properties of items ---


def read_groups(path: Path, names: Collection[str]) -> list[list[str]]:
    r"""The items in each line of a text file, as text; a first line with none of the `names` is a heading.

    A warning names it, since it may be a mistake. If its first cell is empty, the first cells number the lines.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "pairs.csv")
    ...     _ = path.write_text("ann,bob\ncy,bob\n")
    ...     read_groups(path, {"ann", "bob", "cy"})
    [['ann', 'bob'], ['cy', 'bob']]
    """
    lines = _read_lines(path)
    first = next(iter(lines.values()), "")
    delimiter = next((mark for mark in _DELIMITERS if mark in first), None)
    rows = [[cell.strip() for cell in _split(path, *line, delimiter)] for line in lines.items()]
    if not rows:
        raise ValueError(f"The file '{path}' is empty.")
    if len(rows) > 1 and not any(cell in names for cell in rows[0]):
        heading, skip = rows[0], int(not rows[0][0])
        rows = [row[skip:] for row in rows[1:]]
        said = ", ".join(filter(None, heading))
        warnings.warn(f"The first line of '{path}' is read as a heading: {said}", stacklevel=2)
    return [cells for row in rows if (cells := list(filter(None, row)))]


def read_column(path: Path, column: str) -> dict[str, Any]:
    """One column of a table of items, by item: its column 'item' names them, else they are numbered.

    Empty cells are None.
    """
    table = read_table(path)
    names = table.names
    if column not in names:
        what = f"a column '{column}'; its columns are {shown(names)}"
        raise ValueError(f"The file '{path}' must have {what}.")
    values = table.texts(names.index(column))
    items = table.texts(names.index("item")) if "item" in names else map(str, range(len(values)))
    return {item: value or None for item, value in zip(items, values, strict=True)}
