"""Draws from data frames: one draw a row, one item a column."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.readers.columns import pick_columns

if TYPE_CHECKING:
    from epluribus.readers.source import Source

__all__ = ["from_frame", "is_frame"]


def is_frame(data: Any) -> bool:
    """Whether `data` is a frame of pandas, polars (lazy too) or dask, or a table of pyarrow."""
    ways = ("to_numpy", "compute", "collect", "to_pandas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # polars: to name the columns of a lazy frame takes time
        return hasattr(data, "columns") and any(hasattr(data, way) for way in ways)


def from_frame(frame: Any, *, var: str | None = None, chain: str | None = None) -> Source:
    """Labels, item names and chains of a frame."""
    if not hasattr(frame, "to_numpy"):
        way = next(way for way in ("compute", "collect", "to_pandas") if hasattr(frame, way))
        frame = getattr(frame, way)()

    if getattr(getattr(frame, "index", None), "nlevels", 1) > 1 and "draw" in frame.index.names:
        frame = frame.reset_index()  # as xarray makes it: chain, draw and perhaps item

    def take(columns: list[int]) -> Any:
        part = frame.iloc[:, columns] if hasattr(frame, "iloc") else frame[:, columns]
        return part.to_numpy()

    levels = [str(name) for name in getattr(getattr(frame, "index", None), "names", [])]
    level = chain if chain is not None else "chain"
    by_index = level in levels
    source = pick_columns(
        list(frame.columns), take, where="the frame", var=var, chain=None if by_index else chain
    )
    if by_index:
        values = np.asarray(frame.index.get_level_values(levels.index(level)))
        return source._replace(chains=values)
    return source
