"""Which of several arrays with names holds the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.readers.source import HOW_TO_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["is_whole", "pick_table"]

_LABELS = "labels"
"""The table that is read where there are several, as `epluribus sample` writes them."""


def pick_table(
    names: Sequence[str], take: Callable[[str], Any], var: str | None, where: str
) -> str:
    """The name of the one that holds labels: the one named, or the only table of whole numbers."""
    if var is not None:
        if var not in names:
            raise ValueError(f"'var' must be one of {list(names)} in {where}; got '{var}'.")
        return var
    tables = [name for name in names if np.ndim(take(name)) >= 2]
    if _LABELS in tables:
        return _LABELS
    if len(tables) > 1:  # parameters are tables too
        tables = [name for name in tables if is_whole(np.asarray(take(name)))] or tables
    if len(tables) != 1:
        raise ValueError(
            f"'var' must name the table of labels: {where} has {list(names)}, of which "
            f"{tables or 'none'} could be it. {HOW_TO_NAME}"
        )
    return tables[0]


def is_whole(values: NDArray[Any]) -> bool:
    """Whether all values are whole numbers, of whatever type."""
    if values.dtype.kind in "iu":
        return True
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return bool(np.all(numbers == np.rint(numbers)))
