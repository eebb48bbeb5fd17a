"""Files: errors that name them, writing them whole or not at all."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, TextIO

import numpy as np

from epluribus._validate import shown

STREAM = "-"
"""The name that means standard input or standard output."""


@contextmanager
def reading(path: Path | str, kind: str) -> Iterator[None]:
    """Within this context any error is about the file: a damaged one may raise whatever there is.

    `kind` is the format, as in "could not be read as npz". Errors that name the file are left alone.
    """
    try:
        yield
    except ImportError:  # the file is not to blame
        raise
    except MemoryError:
        raise MemoryError(
            f"The file '{path}' needs more memory than there is, or is damaged and says so wrongly."
        ) from None
    except Exception as error:
        if isinstance(error, ValueError) and f"'{path}'" in str(error):
            raise
        # Some libraries explain themselves in ten lines: the first says what is wrong.
        first = next(iter(str(error).strip().splitlines()), "") or type(error).__name__
        if isinstance(error, KeyError):  # whose text is only the key
            first = f"it has no {first}"
        raise ValueError(
            f"The file '{path}' could not be read as {kind}: {first.rstrip('.')}."
        ) from error


@contextmanager
def about(path: Path | str, *arguments: str) -> Iterator[None]:
    """Within this context an error about one of these arguments says which file the data come from."""
    try:
        yield
    except ValueError as error:
        mine = str(error).startswith(tuple(f"'{argument}'" for argument in arguments))
        if not mine or Path(path).name in str(error):
            raise
        raise ValueError(f"{error} The data come from '{path}'.") from None


@contextmanager
def open_arrays(path: Path, kind: str) -> Iterator[Any]:
    """The open archive of an npz file, never with Python objects; any error names the file."""
    # Opened here, because `np.load` leaves a damaged archive open.
    with reading(path, kind), path.open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        if not hasattr(archive, "files"):
            raise ValueError("it holds a single array")
        yield archive


def as_path(value: Any, argument: str) -> Path:
    """A path given as text or as a Path; anything else is refused."""
    try:
        return Path(value)
    except TypeError:
        raise TypeError(f"'{argument}' must be a path; got {shown(value)}.") from None


def check_target(path: Path, endings: Sequence[str], what: str = "The output") -> str:
    """The ending of a path, in lower case; an error before a long run if it cannot be written to.

    `endings` are those allowed, such as ".csv"; `what` names the file in the message.
    """
    kind = check_ending(path, endings, what)
    check_folder(path)
    return kind


def check_ending(path: Path, endings: Sequence[str], what: str) -> str:
    """The ending of the name in lower case, which must be one of `endings`."""
    kind = path.suffix.lower()
    if kind not in endings:
        allowed = ", ".join(endings[:-1]) + f" or {endings[-1]}" if endings[1:] else endings[0]
        raise ValueError(f"{what} '{path}' must end in {allowed}; it ends in '{kind}'.")
    return kind


def check_folder(path: Path) -> None:
    """Raise an error if a file cannot be put there: no folder, not writable, or itself a folder."""
    if path.is_dir():
        raise IsADirectoryError(
            f"'{path}' is a folder; the output must be a file. Choose another name."
        )
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder '{path.parent}' to write '{path.name}' into.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"The folder '{path.parent}' is not writable; '{path.name}' cannot be put there."
        )


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write to a temporary file beside the target, then rename it: nobody ever sees half a file.

    `write` is called with the path of the temporary file. If it fails, an older target stays untouched.
    """
    check_folder(path)
    # In the same folder, because renaming is atomic only within one file system; with the same ending,
    # because some writers choose the format by it.
    beside = path.with_name(f".{path.stem}.{token_hex(4)}{path.suffix}")
    try:
        write(beside)
        beside.replace(path)
    except OSError as error:  # which would name a file that nobody has asked for
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        beside.unlink(missing_ok=True)


def write_arrays(path: Path, arrays: Mapping[str, Any], *, compress: bool = False) -> None:
    """Write arrays by name in NumPy's npz format, to exactly this path."""
    save: Callable[..., None] = np.savez_compressed if compress else np.savez

    def write(target: Path) -> None:
        # An open stream, because `savez` would add an ending to a path that has another.
        with target.open("wb") as stream:
            save(stream, **arrays)

    write_whole(path, write)


def write_csv(target: Path | TextIO, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows of cells as csv, to a file or to an open stream."""
    if not isinstance(target, Path):
        plain = csv.writer(target, lineterminator="\n")
        # Texts in quotes keep the blanks around them, and a "#" at the beginning is not a comment.
        quoted = csv.writer(target, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for row in rows:
            cells = list(row)
            texts = [cell for cell in cells if isinstance(cell, str)]
            odd = any(text != text.strip() or text[:1] == "#" or "\r" in text for text in texts)
            (quoted if odd else plain).writerow(cells)
        return

    def write(beside: Path) -> None:
        with beside.open("w", encoding="utf-8", newline="") as stream:
            write_csv(stream, rows)

    write_whole(target, write)


def write_columns(target: Path | TextIO, columns: Mapping[str, Any]) -> None:
    """Write columns by name as csv, with the names in the first row."""
    # Plain Python numbers, whose text is the same with every version of NumPy.
    lists = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns.values()]
    write_csv(target, [list(columns), *zip(*lists, strict=True)])
