"""One partition from a file, and two files of the same items matched by name."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus.readers.files import is_text, read_source
from epluribus.readers.source import texts_of
from epluribus.readers.text import read_table

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Labels", "match_items", "read_labels"]


class Labels(NamedTuple):
    """One partition from a file."""

    labels: list[Any]
    items: list[str] | None


def read_labels(path: Path) -> Labels:
    """One partition: one label a line, one row, or the columns that `write_estimate` makes."""
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
