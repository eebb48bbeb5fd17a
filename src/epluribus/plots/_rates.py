"""The rates of the blocks of a network, as a table of colors."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus.models.links import BlockTable
from epluribus.plots._shared import cluster_edges, get_axes

_WRITTEN = 1 / 25, 1 / 10
"""Height and width of a block, as shares of the picture, from which on its rate is written into it."""
_NAMED = 1 / 42
"""The same for the number of a cluster at the sides."""
_LINES = 40
"""The most clusters with lines between blocks."""


def block_rates(table: BlockTable, *, ax: Any = None) -> Any:
    """Rates of links between clusters: the darker a block, the more links there are for its pairs of nodes.

    Sides of blocks are as long as the roots of the sizes of clusters, so that small ones are seen too. Colors
    are logarithmic; rates are written where there is room. It needs no picture of the nodes: networks of any
    size can be shown.

    Parameters
    ----------
    table : BlockTable
        From `block_table` of a block model of a network.
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
    >>> model = epl.models.StochasticBlockModel([(0, 1), (1, 2), (0, 2), (3, 4)], n_nodes=5)
    >>> ax = epl.plots.block_rates(model.block_table([0, 0, 0, 1, 1]))
    >>> [text.get_text() for text in ax.texts]
    ['0.88', '0.071', '0.071', '0.75']
    """
    if not isinstance(table, BlockTable):
        raise TypeError(
            "'table' must be what block_table of a block model returns; got a "
            f"{type(table).__name__}."
        )
    from matplotlib.colors import LogNorm

    ax = get_axes(ax, (5.2, 4.4))
    edges = cluster_edges(np.sqrt(table.sizes))
    middle = (edges[1:] + edges[:-1]) / 2
    low, high = float(table.mean.min()), float(table.mean.max())
    # One value alone has no range of colors.
    colors = LogNorm(low, high if high > low else 1.1 * high)
    mesh = ax.pcolormesh(edges, edges, table.mean, cmap="Blues", norm=colors, edgecolors="white")
    mesh.set_linewidth(0.6 if table.sizes.size <= _LINES else 0)
    ax.invert_yaxis()
    ax.set_aspect("equal")
    share = np.diff(edges) / edges[-1]
    named, rows, columns = (np.flatnonzero(share >= least) for least in (_NAMED, *_WRITTEN))
    ax.set_xticks(middle[named], named, fontsize=8)
    ax.set_yticks(middle[named], named, fontsize=8)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    direction = ("to cluster", "from cluster") if table.directed else ("cluster", "cluster")
    ax.set(xlabel=direction[0], ylabel=direction[1])
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.8, label="links per pair of nodes")
    bar.ax.yaxis.set_major_formatter("{x:.1g}")
    bar.ax.yaxis.set_minor_formatter("")
    for g in rows:
        for h in columns:
            # White on dark blocks.
            dark = colors(table.mean[g, h]) > 0.6
            ax.text(middle[h], middle[g], f"{table.mean[g, h]:.2g}", ha="center", va="center", fontsize=8,
                    color="white" if dark else "black")  # fmt: skip
    return ax
