"""What pictures of one partition share: its clusters with their names, the data, matching numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.draws import Draws
from epluribus.partition import as_labels
from epluribus.estimate import Estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from epluribus._typing import IntArray, LabelsLike

__all__ = [
    "bin_edges",
    "check_axes",
    "check_order",
    "legend_beside",
    "match",
    "read_data",
    "read_partition",
]


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


def check_order(call: str, best: Any, draws: Any) -> None:
    """Say the right order where the estimate was given as draws, or draws as the estimate."""
    if isinstance(draws, Estimate) or isinstance(best, Draws):
        words = ["estimate", "draws"]
        if call.index("best") > call.index("draws"):
            words.reverse()
        plot = call.partition("(")[0]
        raise TypeError(f"plots.{plot} takes the {words[0]} first, then the {words[1]}: {call}.")


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


def bin_edges(
    values: NDArray[np.float64], labels: IntArray, bins: Any = None, most: int = 60
) -> NDArray[np.float64]:
    """Edges of bars: what numpy makes of `bins`, by default 15 to `most` bars.

    The default is the rule of Freedman & Diaconis (1981, doi:10.1007/BF01025868), 2 IQR / n^(1/3) wide,
    with the distances to the medians of the clusters: clusters far apart would make bars too wide.
    """
    if bins is None:
        medians = np.array([np.median(values[labels == g]) for g in range(labels.max() + 1)])
        quartiles = np.percentile(values - medians[labels], [25, 75])
        width = 2 * np.ptp(quartiles) / np.cbrt(values.size)
        bins = int(max(np.ceil(np.ptp(values) / max(width, np.ptp(values) / most, 1e-300)), 15))
    return np.asarray(np.histogram_bin_edges(values, bins))


def legend_beside(ax: Any, handles: Any, names: list[str], *, rows: int = 15) -> Any:
    """Names of the clusters right of the Axes, in as many columns as needed."""
    columns = -(-len(names) // rows)
    return ax.legend(
        handles, names, title="cluster", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.2, fontsize=9 if columns == 1 else 8, ncols=columns, columnspacing=1.0,
        handlelength=1.2, handletextpad=0.5,
    )  # fmt: skip


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
