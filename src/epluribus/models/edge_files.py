"""Files of networks and of matrices: GraphML and GML, edges in lines of text, with or without a heading."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd

from epluribus._files import reading
from epluribus._validate import need
from epluribus.readers.text import read_content, read_table

UNNAMED = ("first", "second", "weight")
"""Names of the columns of a file of edges without a heading."""
_HEADINGS = ("source", "from", "i", "node1", "u", "sender")
"""First words of a line that is the heading of a file, whatever stands below it."""


def read_edges(path: str | Path, header: bool | None = None) -> Any:
    r"""What a file of edges holds, in a form that every block model takes.

    Parameters
    ----------
    path : str or Path
        GraphML or GML; a text file with an edge in each line, two names and perhaps a weight, separated by
        tabs, semicolons, commas or blanks; or a matrix of numbers in csv. Lines that begin with # or % are
        comments.
    header : bool, optional
        Whether the first line of edges is a heading. By default it is one if it begins with a usual word
        such as "source", has a word above a column of numbers, or if its cells occur nowhere else while every
        other line shares a cell with another one.

    Returns
    -------
    DataFrame or networkx graph
        Edges are text, in columns named by the heading, or by `UNNAMED` without one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from epluribus.models import read_edges
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "friends.csv"
    ...     _ = path.write_text("who,whom\nann,bob\nbob,cid\n")
    ...     print(read_edges(path))
       who whom
    0  ann  bob
    1  bob  cid
    """
    path = Path(path)
    if str(path) != "-" and not path.is_file():
        raise FileNotFoundError(f"There is no file '{path}'.")
    kind = {".graphml": "GraphML", ".gml": "GML"}.get(path.suffix.lower())
    if kind is not None:
        networkx = need("networkx", "networks", f"A {kind} file")
        with reading(path, kind):
            return (networkx.read_graphml if kind == "GraphML" else networkx.read_gml)(path)
    lines = [line for line in read_content(path).splitlines() if line.strip()]
    lines = [line for line in lines if line.lstrip()[0] not in "#%"]
    mark = next((mark for mark in "\t;," if lines and mark in lines[0]), " ")
    with reading(path, "text"):
        rows = [
            [cell.strip() for cell in row if cell.strip() or mark != " "]
            for row in csv.reader(lines, delimiter=mark, skipinitialspace=True)
        ]
    width = max(map(len, rows), default=0)
    binary = all(cell in ("0", "1") for row in rows for cell in row)
    if width > 3 or binary or not rows[0][0]:  # nothing stands above names of rows
        return _read_matrix(path)
    lengths = sorted({len(row) for row in rows})
    if lengths not in ([2], [3]):
        found = " or ".join(map(str, lengths)) or "none"
        raise ValueError(
            f"The file '{path}' must have two cells in each line, or three with weights; it has {found}."
        )
    heading = _is_heading(rows) if header is None else header
    columns = rows[0] if heading else UNNAMED[:width]
    return pd.DataFrame(rows[heading:], columns=list(columns), dtype=object)


def _read_matrix(path: Path) -> pd.DataFrame:
    """A matrix of numbers in a text file, with the names of its rows and columns."""
    table = read_table(path)
    frame = pd.DataFrame(table.numbers(path))
    if table.named:
        frame.columns = table.frame.columns
    if table.skip:  # names of rows
        frame.index = pd.Index(table.texts(-1))
    elif table.named and len(frame) == frame.shape[1]:
        frame.index = frame.columns
    return frame


def _is_heading(rows: list[list[str]]) -> bool:
    """Whether the first line names the columns: see `read_edges`."""
    if len(rows) < 2:
        return False
    first, *rest = rows
    columns = [[_is_number(cell) for cell in column] for column in zip(*rows, strict=False)]
    if first[0].lower() in _HEADINGS or any(all(c[1:]) and not c[0] for c in columns):
        return True
    cells = [set(row[:2]) for row in rest]
    counts = pd.Series([cell for row in cells for cell in row]).value_counts()
    apart = not counts.index.intersection(first[:2]).size and not any(map(_is_number, first))
    return apart and all(any(counts[cell] > 1 for cell in row) for row in cells)


def _is_number(word: str) -> bool:
    """Whether a cell is a number."""
    try:
        return bool(float(word) == float(word))
    except ValueError:
        return False
