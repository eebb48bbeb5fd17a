"""Two partitions as a table of counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.plots._clusters import read_partition
from epluribus.plots._figure import get_axes

if TYPE_CHECKING:
    from epluribus._typing import LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["contingency"]


def contingency(
    a: Estimate | LabelsLike,
    b: Estimate | LabelsLike,
    *,
    titles: tuple[str, str] = ("a", "b"),
    ax: Any = None,
) -> Any:
    """Number of items in each cluster of `a` (rows) and of `b` (columns), darker for more of the row.

    Columns are put in order so that the largest counts lie near the diagonal; empty cells stay empty.

    Parameters
    ----------
    a, b : Estimate or array_like of shape (n_items,)
        Two partitions of the same items.
    titles : (str, str), default ("a", "b")
        What rows and columns are called.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    epluribus.partition.contingency : the counts.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.contingency(["x", "x", "y", "y"], [1, 1, 1, 0])
    >>> [text.get_text() for text in ax.texts]
    ['2', '1', '1']
    """
    if len(titles) != 2:
        raise ValueError(f"'titles' must be two words; got {titles!r}.")
    rows, row_names = read_partition(a, argument="a")
    columns, column_names = read_partition(b, rows.size, "b")
    table = np.zeros((len(row_names), len(column_names)), dtype=np.int64)
    np.add.at(table, (rows, columns), 1)
    # Columns by the row that holds most of them, the largest part first.
    order = np.lexsort((-table.max(axis=0), table.argmax(axis=0)))
    table = table[:, order]
    n_rows, n_columns = table.shape
    cell = float(np.clip(9.0 / max(n_rows, n_columns), 0.26, 0.6))  # inches
    turned = max(map(len, column_names)) > 12 * cell
    # Names of 8 points are 0.065 inches a letter; those of rows stand left of the table.
    left = min(0.065 * max(map(len, row_names)), 4.0)
    below = min(0.065 * max(map(len, column_names)), 4.0) if turned else 0.15
    ax = get_axes(ax, (1.6 + left + cell * n_columns, 0.7 + below + max(cell * n_rows, 1.6)))
    share = table / table.sum(axis=1, keepdims=True)
    image = ax.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    digits = len(str(int(table.max())))
    font_size = float(np.clip(72 * cell / (0.75 * digits + 0.6), 4, 10))
    for g, h in np.argwhere(table):
        ax.text(h, g, str(table[g, h]), ha="center", va="center", fontsize=font_size,
                color="white" if share[g, h] > 0.55 else "black")  # fmt: skip
    ax.set_xticks(np.arange(n_columns), [column_names[h] for h in order], fontsize=8)
    ax.set_yticks(np.arange(n_rows), row_names, fontsize=8)
    if turned:
        ax.tick_params(axis="x", rotation=90)
    ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="#d0d0d0", linewidth=0.5)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    ax.set(ylabel=titles[0], xlabel=titles[1])
    ax.figure.colorbar(image, ax=ax, label="share of the row", shrink=0.9, pad=0.02)
    return ax
