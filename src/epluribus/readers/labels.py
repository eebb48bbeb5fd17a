"""One partition from a file, and labels of two files matched by the names of their items."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus.readers.files import is_text, read_source
from epluribus.readers.source import to_texts
from epluribus.readers.text import read_table

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Labels", "match_items", "read_labels"]


class Labels(NamedTuple):
    """One partition from a file."""

    labels: list[Any]
    items: list[str] | None


def read_labels(path: Path) -> Labels:
    """One partition: one label per line, one row, or the columns that `write_labels` makes."""
    if is_text(path):
        header, table, _, _ = read_table(path)
    else:
        with warnings.catch_warnings():
            # In a table of draws such a column would be left out with a warning; here it counts items.
            warnings.filterwarnings("ignore", message=".* counts the draws")
            source = read_source(path)
        header, table = source.items, np.asarray(source.labels)
    columns = [] if header is None else list(header)
    if "cluster" in columns:
        items = to_texts(table[:, columns.index("item")]) if "item" in columns else None
        return Labels(table[:, columns.index("cluster")].tolist(), items)
    if table.ndim == 2:  # the only row, or else the last column
        table = table[0] if header is None and len(table) == 1 else table[:, -1]
    return Labels(table.tolist(), None)


def match_items(a: Labels, b: Labels, path_a: Path, path_b: Path) -> tuple[list[Any], list[Any]]:
    """Labels of two files of the same items, in the order of the first; by name if both have names."""
    if len(a.labels) != len(b.labels):
        raise ValueError(
            f"The files must hold labels of the same items, one per line; '{path_a}' has "
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
