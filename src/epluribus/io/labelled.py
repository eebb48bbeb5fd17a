"""Draws from labelled arrays: xarray, and ArviZ objects of both generations.

Nothing is imported: objects are recognized by what they offer, so that neither library is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["from_labelled"]


def from_labelled(data: Any, var: str | None = None) -> tuple[Any, list[str] | None]:
    """Labels with dimensions (chain, draw, item) or (draw, item), and the item names, if any.

    `data` is an xarray DataArray or Dataset, an ArviZ InferenceData, or a DataTree with a group
    ``posterior``.
    """
    data = _posterior(data)
    if hasattr(data, "data_vars"):
        data = data[_label_variable(data, var)]
    dims = list(data.dims)
    leading = [dim for dim in ("chain", "draw") if dim in dims]
    if "draw" in leading:
        rest = [dim for dim in dims if dim not in leading]
        if len(rest) != 1:
            raise ValueError(
                "'z' must have one dimension besides chain and draw, the items; got dimensions "
                f"{tuple(dims)}."
            )
        data = data.transpose(*leading, rest[0])
        item = rest[0]
    else:  # the order is taken as it stands: (draws, items) or (chains, draws, items)
        item = dims[-1]
    names = None
    if item in data.coords:
        values = np.asarray(data.coords[item])
        if values.dtype.kind in "USO":  # a bare index is no name
            names = [str(name) for name in values]
    return np.asarray(data), names


def _posterior(data: Any) -> Any:
    """The posterior group of an ArviZ object; anything else as it is."""
    if hasattr(data, "posterior"):  # InferenceData, and DataTree by attribute
        data = data.posterior
    elif hasattr(data, "children") and "posterior" in data.children:
        data = data["posterior"]
    if hasattr(data, "to_dataset"):  # a node of a DataTree, but a DataArray has the method too
        return (
            data
            if hasattr(data, "coords")
            and hasattr(data, "name")
            and hasattr(data, "values")
            and not callable(data.values)
            else data.to_dataset()
        )
    return data


def _label_variable(data: Any, var: str | None) -> str:
    """The variable that holds labels: the one named, or the only one of whole numbers by draw and item."""
    names = [str(name) for name in data.data_vars]
    if var is not None:
        if var not in names:
            raise ValueError(f"'var' must be one of {names}; got '{var}'.")
        return var
    candidates = [
        name
        for name in names
        if "draw" in data[name].dims
        and len(set(data[name].dims) - {"chain", "draw"}) == 1
        and data[name].dtype.kind in "iu"
    ]
    if len(candidates) != 1:
        found = f"{len(candidates)} ({', '.join(candidates)})" if candidates else "none"
        raise ValueError(
            "'var' must name the variable that holds the labels: of the variables "
            f"{names}, those of whole numbers by draw and item are {found}."
        )
    return candidates[0]
