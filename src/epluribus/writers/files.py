"""Labels to a file: csv, parquet, txt, npy or json, by the ending of the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._files import check_target, write_columns, write_whole
from epluribus._validate import need
from epluribus.writers.results import columns
from epluribus.writers.saved import to_json

if TYPE_CHECKING:
    from pathlib import Path

    from epluribus.estimate import Estimate

__all__ = ["WITH_COLUMNS", "WRITABLE", "write_estimate"]

WRITABLE = (".csv", ".parquet", ".txt", ".npy", ".json")
WITH_COLUMNS = (".csv", ".parquet")
"""Of these, those with a column for the certainty."""


def write_estimate(path: Path, estimate: Estimate, certainty: Any = None) -> None:
    """Labels as csv or parquet (item, cluster, certainty), txt, npy or json, by the name's ending."""
    kind = check_target(path, WRITABLE)
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
    elif kind == ".csv":
        write_columns(path, columns(estimate, certainty))
    else:
        arrow = need("pyarrow", "files", "Writing parquet")
        parquet = need("pyarrow.parquet", "files", "Writing parquet")
        table = arrow.table(columns(estimate, certainty))
        write_whole(path, lambda target: parquet.write_table(table, target))
