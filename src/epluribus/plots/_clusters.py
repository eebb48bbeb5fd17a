"""What pictures of one partition share: its clusters with their names, the data, matching numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.draws import as_labels
from epluribus.estimate import Estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from epluribus._typing import IntArray, LabelsLike

__all__ = ["check_axes", "match", "read_data", "read_partition"]


def read_partition(
    best: Estimate | LabelsLike, n_items: int | None = None, argument: str = "best"
) -> tuple[IntArray, list[str]]:
    """Clusters 0, 1, ... in the order of the user's own labels, and these labels as text."""
    raw = best.labels if isinstance(best, Estimate) else best
    codes = as_labels(raw, n_items, argument)
    own = np.asarray(raw)[np.unique(codes, return_index=True)[1]]
    order = np.argsort(own, kind="stable")
    names = [str(int(x)) if isinstance(x, float | np.floating) else str(x) for x in own[order]]
    return np.argsort(order)[codes], names


def read_data(values: ArrayLike, n_items: int | None = None, argument: str = "X") -> NDArray[Any]:
    """Numbers as a matrix with one row an item; a flat array is one column."""
    data = np.asarray(values, dtype=np.float64)
    data = data[:, None] if data.ndim == 1 else data
    if data.ndim != 2 or 0 in data.shape or (n_items is not None and len(data) != n_items):
        rows = "n_items" if n_items is None else n_items
        raise ValueError(
            f"'{argument}' must have one row for each item, shape ({rows}, n_columns); "
            f"got shape {np.shape(values)}."
        )
    if not np.isfinite(data).all():
        raise ValueError(
            f"'{argument}' must hold finite numbers; got {int((~np.isfinite(data)).sum())} that are "
            "missing or infinite. Leave these items out, of the partition too."
        )
    return data


def check_axes(
    axes: Any, shape: tuple[int, ...], figsize: tuple[float, float], layout: str = "constrained"
) -> Any:
    """The given Axes as an array of this shape, or those of a new figure."""
    if axes is None:
        from epluribus.plots._figure import import_pyplot

        rows, columns = shape if len(shape) == 2 else (1, *shape)
        figure = import_pyplot().figure(figsize=figsize, layout=layout)
        return figure.subplots(rows, columns, squeeze=False).reshape(shape)
    given = np.asarray(axes)
    if given.size != np.prod(shape):
        raise ValueError(
            f"'axes' must hold {' x '.join(map(str, shape))} Axes; got {given.size}. "
            "Leave it out for a new figure."
        )
    return given.reshape(shape)


def match(labels: IntArray, reference: IntArray) -> IntArray:
    """`labels` with the numbers of the clusters of `reference` they share most items with.

    Each number is given once; clusters left over get new ones.
    """
    from scipy.optimize import linear_sum_assignment

    k, k_reference = int(labels.max()) + 1, int(reference.max()) + 1
    table = np.zeros((k, k_reference), dtype=np.int64)
    np.add.at(table, (labels, reference), 1)
    number = np.full(k, -1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    shared = table[rows, columns] > 0
    number[rows[shared]] = columns[shared]
    left = np.flatnonzero(number < 0)
    number[left] = k_reference + np.arange(left.size)
    return number[labels]
