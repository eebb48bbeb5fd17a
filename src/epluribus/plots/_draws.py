"""The draws compared with the estimate: their numbers of clusters, and their losses in sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._typing import DrawsLike, FloatArray, LabelsLike, LossLike
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, read_best
from epluribus.plots._shared import check_order, cluster_colors, get_axes
from epluribus.uncertainty import n_clusters_posterior

_BAR, _MARKED = "#a9b4c2", "#2f3b4c"
"""Colors of the bars of the number of clusters, and of the bar of the estimate."""
_WINDOW = 0.05
"""Share of a chain over which the running mean is taken: enough to smooth, little enough to follow."""


def n_clusters(
    draws: DrawsLike, *, best: Estimate | LabelsLike | None = None, ax: Any = None
) -> Any:
    """Bar chart of the posterior of the number of clusters.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    best : Estimate or array_like of shape (n_items,), optional
        A partition whose number of clusters is marked.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    epluribus.uncertainty.n_clusters_posterior : the numbers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.n_clusters([[0, 0, 1], [0, 1, 2], [0, 1, 1], [0, 1, 2]])
    >>> [(bar.get_center()[0].item(), bar.get_height().item()) for bar in ax.patches]
    [(2.0, 0.5), (3.0, 0.5)]
    """
    found = n_clusters_posterior(draws, best=best)
    values, marked = found.values, found.estimate
    ax = get_axes(ax)
    # Grays: the colors of clusters would say that a bar is a cluster.
    colors = [_BAR if value != marked else _MARKED for value in values]
    ax.bar(values, found.probabilities, width=0.8, color=colors)
    if marked is not None:
        ax.set_ylim(0.0, 1.15 * found.probabilities.max())  # room for the words above the bars
        ax.axvline(marked, color=_MARKED, linestyle=":", linewidth=1.5)
        ax.annotate(f"estimate: {marked}", (marked, 1.0), xycoords=("data", "axes fraction"),
                    xytext=(4, -4), textcoords="offset points", va="top", color=_MARKED)  # fmt: skip
        # No draw may have as many clusters as the estimate: the line must still be inside the Axes.
        if marked not in values:
            ax.set_xlim(min(values[0], marked) - 0.6, max(values[-1], marked) + 0.6)
    if values.size <= 20:
        ax.set_xticks(values)
    ax.set(xlabel="number of clusters", ylabel="posterior probability")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def loss_trace(
    best: Estimate | LabelsLike, draws: DrawsLike, *, loss: LossLike | None = None, ax: Any = None
) -> Any:
    """Loss of the estimate against each draw, with a running mean of each chain.

    Chains are drawn side by side; the axis counts the draws of each chain from 0.

    A trend means that the burn-in is too short. Chains at different heights do not agree with each other.
    A running mean that jumps between levels is a sign of several modes.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition.
    draws : Draws or array_like of shape (n_draws, n_items) or (n_chains, n_draws, n_items)
        The posterior sample.
    loss : str or Loss, optional
        By default the loss that `best` was made for, "vi" for plain labels.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    epluribus.expected_loss : with ``per_draw=True``, the numbers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import epluribus as epl
    >>> ax = epl.plots.loss_trace([0, 0, 1], [[0, 0, 1], [0, 1, 1], [0, 0, 1]], loss="binder")
    >>> ax.lines[0].get_ydata().tolist()
    [0.0, 2.0, 0.0]
    """
    check_order("loss_trace(best, draws)", best, draws)
    labels, sample, chosen = read_best(best, draws, loss)
    # Equal draws have equal losses: one value is computed for each distinct partition.
    distinct = draw_losses(labels, sample, chosen)
    mean = sample.mean(distinct)
    ax = get_axes(ax, (7.0, 3.2))
    begin = 0
    ticks: dict[int, str] = {}
    for chain, color in enumerate(cluster_colors(sample.n_chains)):
        # `index` leads from each draw to its distinct partition, in the order of the draws.
        own = distinct[sample.index[sample.chains == chain]]
        x = np.arange(begin, begin + own.size)
        ax.plot(x, own, color=color, linewidth=0.5, alpha=0.4)
        ax.plot(x, _running_mean(own), color=color, linewidth=1.8, label=f"chain {chain}")
        if chain:
            ax.axvline(begin - 0.5, color="#b0b0b0", linewidth=0.8)
        if sample.n_chains > 1:
            # With more than eight chains there is room for their numbers only.
            name = f"chain {chain}" if sample.n_chains <= 8 else str(chain)
            ax.text(x.mean(), 1.01, name, transform=ax.get_xaxis_transform(), ha="center",
                    va="bottom", fontsize=9)  # fmt: skip
        # Places on the common axis, with the number of the draw within its chain.
        ticks |= {begin + at: str(at) for at in _ticks(own.size, sample.n_chains)}
        begin += own.size
    ax.axhline(mean, color="black", linestyle="--", linewidth=1, label=f"mean {mean:.3g}")
    ax.annotate(f"mean {mean:.3g}", (1.0, mean), xycoords=("axes fraction", "data"), xytext=(3, 0),
                textcoords="offset points", va="center", fontsize=9)  # fmt: skip
    ax.set(xlim=(-0.5, begin - 0.5), ylabel=f"loss to the estimate ({chosen.name})")
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.set_xlabel("draw" if sample.n_chains == 1 else "draw of the chain")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _ticks(n_draws: int, n_chains: int) -> list[int]:
    """Round numbers of draws within a chain: fewer for more chains, none near the next chain."""
    from matplotlib.ticker import MaxNLocator

    room = max(8 // n_chains, 1)
    found = MaxNLocator(room, integer=True, steps=[1, 2, 2.5, 5, 10]).tick_values(0, n_draws)
    # A number near the end of a chain would run into the 0 of the next.
    end = n_draws if n_chains == 1 else (1 - 0.08 * min(n_chains, 6)) * n_draws
    return [int(at) for at in found if 0 <= at < end]


def _running_mean(values: FloatArray) -> FloatArray:
    """Mean over a window around each value; at both ends the window is cut off, not padded."""
    half = int(_WINDOW * values.size / 2)
    # A sum over a window is a difference of two cumulative sums: linear time for any width.
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(values.size)
    low, high = np.maximum(at - half, 0), np.minimum(at + half + 1, values.size)
    return np.asarray((total[high] - total[low]) / (high - low))
