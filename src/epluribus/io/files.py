"""One partition from a file and to a file. Files are written whole or not at all."""

from __future__ import annotations

import csv
import os
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from epluribus._need import need

if TYPE_CHECKING:
    from collections.abc import Callable

    from epluribus.estimate import Estimate

__all__ = [
    "check_target",
    "read_labels",
    "write_arrays",
    "write_csv",
    "write_estimate",
    "write_whole",
]

_WRITABLE = (".csv", ".parquet", ".txt", ".npy", ".json")


def read_labels(path: Path) -> list[Any]:
    """One partition: one label a line, one row, or the column `cluster` that `write_estimate` makes."""
    from epluribus.io.read import read_source

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* counts the draws")  # here it counts the items
        source = read_source(path)
    array = np.asarray(source.labels)
    if source.items is not None and "cluster" in source.items:
        return list(array[:, list(source.items).index("cluster")].tolist())
    if array.ndim == 2 and source.items is None and array.shape[0] == 1:
        return list(array[0].tolist())
    return list(array.tolist() if array.ndim == 1 else array[:, -1].tolist())


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


def write_estimate(path: Path, estimate: Estimate, certainty: Any = None) -> None:
    """Labels as csv or parquet (item, cluster, certainty), txt, npy or json, by the name's ending."""
    from epluribus.io.results import columns
    from epluribus.io.saved import to_json

    kind = path.suffix.lower()
    if kind not in _WRITABLE:
        raise ValueError(f"The output '{path}' must end in {_one_of()}; it ends in '{kind}'.")
    if certainty is not None and kind not in (".csv", ".parquet"):
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
