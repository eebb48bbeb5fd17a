"""One partition from a file and to a file. Files are written whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from epluribus.estimate import Estimate

__all__ = ["read_labels", "write_estimate", "write_whole"]


def read_labels(path: Path) -> list[Any]:
    """One partition: one label a line, one row, or the column `cluster` that `write_estimate` makes."""
    from epluribus.io.read import read_source

    source = read_source(path)
    array = np.asarray(source.labels)
    if source.items is not None and "cluster" in source.items:
        return list(array[:, list(source.items).index("cluster")].tolist())
    if array.ndim == 2 and source.items is None and array.shape[0] == 1:
        return list(array[0].tolist())
    return list(array.tolist() if array.ndim == 1 else array[:, -1].tolist())


# --- output ---


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the target, then rename: nobody ever sees half a file."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder '{path.parent}' to write '{path.name}' into.")
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
