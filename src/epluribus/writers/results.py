"""The estimate as a table, as labeled arrays, and as a group of an ArviZ object."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._text import to_frame
from epluribus._validate import need
from epluribus._version import __version__
from epluribus.draws import Draws

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus.estimate import Estimate

__all__ = ["add_group", "columns", "to_pandas", "to_xarray"]


def columns(estimate: Estimate, certainty: Any = None) -> dict[str, Any]:
    """The columns of a table with one item per row."""
    n_items = len(estimate.labels)
    # Numbers rather than their text, so that a table can be joined with others by them.
    items = np.arange(n_items) if estimate.items is None else np.array(estimate.items)
    table = {"item": items, "cluster": estimate.labels}
    if certainty is not None:
        table["certainty"] = _read_certainty(certainty, estimate)
    return table


def _read_certainty(certainty: Any, estimate: Estimate) -> NDArray[np.float64]:
    """One number per item: those given, or the support of each item in the draws given."""
    n_items = len(estimate.labels)
    if isinstance(certainty, Draws):
        from epluribus.uncertainty import items  # only when asked for: it brings all of that room

        return items(estimate, certainty).support.round(9)  # the rest is rounding
    values = np.asarray(certainty, dtype=np.float64)
    if values.shape != (n_items,):
        raise ValueError(
            f"'certainty' must be the Draws behind the estimate, or one number per item, shape ({n_items},); "
            f"got shape {values.shape}."
        )
    return values


def to_pandas(estimate: Estimate, certainty: Any = None) -> Any:
    """A frame with one item per row."""
    return to_frame(columns(estimate, certainty))


def to_xarray(estimate: Estimate, certainty: Any = None) -> Any:
    """A Dataset with dimensions item and cluster; numbers about the whole are its attributes."""
    xarray = need("xarray", "arviz", "A labeled array")
    table = columns(estimate, certainty)
    items = table.pop("item")
    by_item = {"labels": table.pop("cluster"), **table}
    return xarray.Dataset(
        {
            **{name: ("item", values) for name, values in by_item.items()},
            "size": ("cluster", estimate.sizes),
        },
        coords={"item": items, "cluster": np.arange(estimate.n_clusters)},
        attrs={
            "loss": estimate.loss.name,
            "expected_loss": estimate.expected_loss,
            "n_clusters": estimate.n_clusters,
            "n_draws": estimate.n_draws,
            "converged": int(estimate.converged),  # netCDF knows no booleans
            "created_by": f"epluribus {__version__}",
        },
    )


def add_group(
    estimate: Estimate, data: Any, group: str, certainty: Any = None, *, overwrite: bool = False
) -> Any:
    """`data`, an InferenceData or a DataTree, with the estimate in a new group."""
    is_tree = hasattr(data, "children")  # ArviZ 1.x; the objects of 0.x have `add_groups`
    if not is_tree and not hasattr(data, "add_groups"):
        raise TypeError(
            "'data' must be an ArviZ InferenceData or an xarray DataTree; got "
            f"{type(data).__name__}. A Dataset has no groups: merge it with to_xarray()."
        )
    present = list(data.children) if is_tree else data.groups()
    if group in present:
        if not overwrite:
            raise ValueError(
                f"'group' must be new; '{group}' is there already. Choose another, or give "
                "overwrite=True."
            )
        del data[group]
    dataset = to_xarray(estimate, certainty)
    if is_tree:
        data[group] = need("xarray", "arviz", "A tree").DataTree(dataset)
        return data
    with warnings.catch_warnings():
        # The first ArviZ says of any group but its own that it does not know it.
        warnings.filterwarnings("ignore", message=".*not defined in the InferenceData scheme")
        data.add_groups({group: dataset})
    return data
