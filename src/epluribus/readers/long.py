"""Long tables: one label a row, beside its draw and its item.

So write tidybayes in R (``.chain``, ``.iteration``, ``.draw``, ``i``, ``z``) and xarray's
`to_dataframe` (``chain``, ``draw``, ``z_dim_0``, ``z``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._validate import quoted
from epluribus.readers.source import Source, names_of
from epluribus.readers.tables import is_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from epluribus._typing import IntArray

__all__ = ["draw_of_row", "from_long"]


def draw_of_row(counters: list[NDArray[Any]], chains: NDArray[Any] | None) -> IntArray | None:
    """The draw of each row, 0, 1, ... in order of appearance; None where every row is another draw.

    Rows are of one draw if their chain and all that counts draws are equal.
    """
    codes = np.zeros(len(counters[0]), dtype=np.int64)
    for values in counters if chains is None else [chains, *counters]:
        codes = _codes(codes * len(codes) + _codes(values))
    return None if codes.max(initial=-1) + 1 == len(codes) else codes


def from_long(
    columns: Mapping[str, NDArray[Any]],
    draw: IntArray,
    chains: NDArray[Any] | None,
    *,
    where: str,
    var: str | None = None,
) -> Source | None:
    """Labels in a table, one draw a row; None if no column tells the items of a draw apart.

    `columns` are those that do not count draws: one names the item, one holds its label.
    """
    names = list(columns)
    items = [name for name in names if name != var and _is_index(_codes(columns[name]), draw)]
    if not items:
        return None
    labels = [name for name in names if (name != items[0] if var is None else name == var)]
    if len(labels) > 1:  # parameters are no whole numbers
        labels = [name for name in labels if is_whole(columns[name])] or labels
    if len(labels) != 1:
        came = f"; got '{var}'" if var is not None else ""
        raise ValueError(
            f"'var' must name the column of {where} that holds the labels, one of "
            f"{quoted(name for name in names if name != items[0])}{came}. (The table is long: "
            f"several rows have the same draw, and the column '{items[0]}' tells them apart.)"
        )
    n_rows, n_draws = len(draw), int(draw.max()) + 1
    item = _codes(columns[items[0]])
    if columns[items[0]].dtype.kind in "iuf":  # numbers have an order of their own
        item = np.unique(columns[items[0]], return_inverse=True)[1].astype(np.int64)
    n_items = int(item.max()) + 1
    if n_rows != n_draws * n_items:
        short = int(np.bincount(draw, minlength=n_draws).argmin())
        missing = int(np.setdiff1d(np.arange(n_items), item[draw == short])[0])
        name = columns[items[0]][np.flatnonzero(item == missing)[0]]
        raise ValueError(
            f"Every draw must have a label for every item; in {where} draw {short} (counted from 0) "
            f"has none for the item '{name}' of the column '{items[0]}'."
        )
    order = np.lexsort((item, draw))
    values = columns[labels[0]][order].reshape(n_draws, n_items)
    first = columns[items[0]][order[:n_items]]
    return Source(
        values,
        names_of(first),
        None if chains is None else chains[order[::n_items]],
        labels[0],
    )


def _is_index(codes: IntArray, draw: IntArray) -> bool:
    """Whether no draw has a value twice."""
    return len(np.unique(draw * (int(codes.max()) + 1) + codes)) == len(draw)


def _codes(values: NDArray[Any]) -> IntArray:
    """0, 1, ... in order of appearance."""
    if values.dtype.kind == "O":
        values = values.astype(str)
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
