"""One partition from a file and to a file. Files are written whole or not at all."""

from __future__ import annotations

import csv
import os
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from epluribus._need import need
from epluribus.io.source import texts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from epluribus.estimate import Estimate

__all__ = [
    "WITH_COLUMNS",
    "Labels",
    "check_labels_target",
    "check_target",
    "match_items",
    "read_labels",
    "write_arrays",
    "write_csv",
    "write_estimate",
    "write_whole",
]

_WRITABLE = (".csv", ".parquet", ".txt", ".npy", ".json")
WITH_COLUMNS = (".csv", ".parquet")
"""Of these, those with a column for the certainty."""


class Labels(NamedTuple):
    """One partition from a file."""

    labels: list[Any]
    items: list[str] | None


def read_labels(path: Path) -> Labels:
    """One partition: one label a line, one row, or the columns that `write_estimate` makes."""
    from epluribus.io.read import is_text, read_source
    from epluribus.io.text import read_table

    if is_text(path):
        header, cells, _, _ = read_table(path)
        if header is not None and "cluster" in header:
            items = cells[:, header.index("item")] if "item" in header else None
            return Labels(
                cells[:, header.index("cluster")].tolist(),
                None if items is None else texts_of(items),
            )
        return Labels(
            (cells[0] if header is None and len(cells) == 1 else cells[:, -1]).tolist(), None
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* counts the draws")  # here it counts the items
        source = read_source(path)
    array = np.asarray(source.labels)
    if source.items is not None and "cluster" in source.items:
        return Labels(array[:, list(source.items).index("cluster")].tolist(), None)
    if array.ndim == 2 and source.items is None and array.shape[0] == 1:
        return Labels(array[0].tolist(), None)
    return Labels(array.tolist() if array.ndim == 1 else array[:, -1].tolist(), None)


def match_items(a: Labels, b: Labels, path_a: Path, path_b: Path) -> tuple[list[Any], list[Any]]:
    """Labels of two files of the same items, in the order of the first; by name, where both have names."""
    if len(a.labels) != len(b.labels):
        raise ValueError(
            f"The files must hold labels of the same items, one a line; '{path_a}' has "
            f"{len(a.labels):,} and '{path_b}' has {len(b.labels):,}."
        )
    if a.items is None or b.items is None or a.items == b.items:
        return a.labels, b.labels
    place = {item: i for i, item in enumerate(b.items)}
    odd = [item for item in a.items if item not in place]
    if odd or len(place) < len(b.items):
        what = f"'{odd[0]}' is not in '{path_b}'" if odd else f"a name is twice in '{path_b}'"
        raise ValueError(
            f"The files must name the same items in their column 'item'; {what}. Without that column "
            "labels are compared line by line."
        )
    return a.labels, [b.labels[place[item]] for item in a.items]


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
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"The folder '{path.parent}' does not allow '{path.name}' to be written."
        )


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


def write_arrays(path: Path, arrays: dict[str, Any], *, compress: bool = False) -> None:
    """Arrays by name, as NumPy's npz, under exactly this name."""
    save = np.savez_compressed if compress else np.savez

    def write(target: Path) -> None:
        with target.open("wb") as stream:
            save(stream, **arrays)

    write_whole(path, write)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_labels_target(path: Path) -> str:
    """The ending of a file that labels can be written to, checked before a long run."""
    kind = path.suffix.lower()
    if kind not in _WRITABLE:
        raise ValueError(f"The output '{path}' must end in {_one_of()}; it ends in '{kind}'.")
    _check_parent(path)
    return kind


def write_estimate(path: Path, estimate: Estimate, certainty: Any = None) -> None:
    """Labels as csv or parquet (item, cluster, certainty), txt, npy or json, by the name's ending."""
    from epluribus.io.results import columns
    from epluribus.io.saved import to_json

    kind = check_labels_target(path)
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
        text = "\n".join(map(str, estimate.labels.tolist())) + "\n"
        write_whole(path, lambda target: target.write_text(text, encoding="utf-8"))
    else:
        write = _write_csv if kind == ".csv" else _write_parquet
        table = columns(estimate, certainty)
        write_whole(path, lambda target: write(target, table))


def _one_of() -> str:
    return f"{', '.join(_WRITABLE[:-1])} or {_WRITABLE[-1]}"


def write_csv(stream: TextIO, table: dict[str, Any]) -> None:
    """Columns by name, as csv."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*(values.tolist() for values in table.values()), strict=True))


def _write_csv(path: Path, table: dict[str, Any]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        write_csv(stream, table)


def _write_parquet(path: Path, table: dict[str, Any]) -> None:
    arrow = need("pyarrow", "files", "Writing parquet")
    parquet = need("pyarrow.parquet", "files", "Writing parquet")
    parquet.write_table(arrow.table(table), path)
