"""Undecided items: where they might belong, and how many there are at each cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._text import count
from epluribus._typing import DrawsLike
from epluribus.estimate import Estimate
from epluribus.plots._shared import check_order, cluster_colors, get_axes
from epluribus.search.undecided import UndecidedCosts
from epluribus.uncertainty import left_out

_SHOWN = 30
"""Items that are drawn, at most: those that would add most to the loss."""


def undecided(best: Estimate, draws: DrawsLike, *, font_size: float = 8, ax: Any = None) -> Any:
    """Where each undecided item might belong: its two most likely clusters, and how often it is alone.

    One row for each item, those first that would add most to the expected loss; at the right, what it would
    add. Two dots close together are an item between two clusters; a gray diamond far to the right is one
    that is mostly alone.

    Parameters
    ----------
    best : Estimate
        Made by `minimize` with a cost for `undecided` items.
    draws : Draws or array_like of shape (n_draws, n_items)
        The draws that it was made from.
    font_size : float, default 8
        Font size of the names.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    epluribus.uncertainty.left_out : the numbers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1, 0], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1]]
    >>> best = epl.minimize(draws, undecided=0.5, rng=1)
    >>> [text.get_text() for text in epl.plots.undecided(best, draws).get_yticklabels()]
    ['4']
    """
    check_order("undecided(best, draws)", best, draws)
    table = left_out(best, draws)
    n = min(len(table), _SHOWN)
    ax = get_axes(ax, (6.4, 1.4 + 0.24 * max(n, 1)))
    rows, colors = np.arange(n), cluster_colors(max(best.n_clusters, 1))
    # A thin line carries the eye from the name to its dots.
    ax.hlines(rows, 0, 1, color="0.92", linewidth=1, zorder=0)
    ax.scatter(
        table.alone[:n], rows, marker="D", s=28, color="0.6", zorder=2, label="alone", linewidth=0
    )
    for place, size in ((1, 70), (0, 110)):
        known = table.places[:n, place] >= 0
        clusters, at = table.places[:n, place][known], table.probabilities[:n, place][known]
        ax.scatter(
            at, rows[known], s=size, color=[colors[c] for c in clusters], zorder=3, linewidth=0
        )
        for x, y, c in zip(at, rows[known], clusters, strict=True):
            text = {"ha": "center", "va": "center", "color": "white", "fontsize": font_size - 1}
            ax.text(x, y, str(c), **text, zorder=4)
    for y, added in zip(rows, table.adds[:n], strict=True):
        ax.text(1.03, y, f"{added:.2g}", va="center", fontsize=font_size)
    unit = f" ({best.loss.unit})" if best.loss.unit else ""
    ax.text(1.03, -0.9, f"would add{unit}", fontsize=font_size, va="center", color="0.35")
    ax.set_yticks(rows, table.names[:n], fontsize=font_size)
    ax.set(xlim=(-0.03, 1.02), ylim=(max(n, 1) - 0.4, -0.6))
    ax.set_xlabel("mean probability of being with a cluster (dot), or alone (diamond)")
    hidden = f"; {n} of them shown" if len(table) > n else ""
    ax.set_title(
        f"{count(len(table), 'item')} undecided at a cost of {table.cost:g}{hidden}",
        fontsize=font_size + 2, loc="left",
    )  # fmt: skip
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def undecided_costs(table: UndecidedCosts, *, ax: Any = None) -> Any:
    """Number of undecided items at each cost.

    Parameters
    ----------
    table : UndecidedCosts
        What `epluribus.undecided_costs` returns.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1, 1, 0], [0, 0, 1, 1, 2], [0, 0, 1, 1, 1]]
    >>> ax = epl.plots.undecided_costs(epl.undecided_costs(draws, costs=[2.0, 0.5], rng=1))
    >>> ax.get_ylabel()
    'undecided items'
    """
    ax = get_axes(ax, (5.5, 3.2))
    from matplotlib.ticker import LogLocator, NullLocator

    columns = table.columns()
    ax.plot(columns["cost"], columns["undecided"], "o-", color=cluster_colors(1)[0], markersize=5)
    for cost, n in zip(columns["cost"], columns["undecided"], strict=True):
        ax.annotate(
            f"{n:,}", (cost, n), (0, 6), textcoords="offset points", ha="center", fontsize=8
        )
    unit = f" ({table.loss.unit})" if table.loss.unit else ""
    ax.set(xlabel=f"cost of an undecided item{unit}", ylabel="undecided items", xscale="log")
    # Plain numbers: powers of ten say little over so short a range.
    ax.xaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_ylim(
        -0.03 * max(1, columns["undecided"].max()), 1.15 * max(1, columns["undecided"].max())
    )
    ax.spines[["top", "right"]].set_visible(False)
    return ax
