"""Loss of the estimate against each draw, in the order they were drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.engine import draw_losses
from epluribus.plots._clusters import check_order
from epluribus.plots._figure import cluster_colors, get_axes
from epluribus.estimate import read_best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import DrawsLike, LabelsLike, LossLike
    from epluribus.estimate import Estimate

__all__ = ["loss_trace"]

_WINDOW = 0.05
"""Share of a chain that the running mean is taken over."""


def loss_trace(
    best: Estimate | LabelsLike, draws: DrawsLike, *, loss: LossLike | None = None, ax: Any = None
) -> Any:
    """Loss of the estimate against each draw, with a running mean of each chain.

    Chains stand side by side; in each the axis counts its own draws, from 0.

    A trend says that burn-in is too short, chains at different heights that they do not agree, a
    running mean that jumps between levels that there are several modes.

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
    distinct = draw_losses(labels, sample, chosen)
    values = distinct[sample.index]
    mean = float(distinct @ sample.weights / sample.total_weight)
    ax = get_axes(ax, (7.0, 3.2))
    colors = cluster_colors(sample.n_chains)
    begin = 0
    ticks: dict[int, str] = {}
    for chain, color in enumerate(colors):
        own = values[sample.chains == chain]
        x = np.arange(begin, begin + own.size)
        ax.plot(x, own, color=color, linewidth=0.5, alpha=0.4)
        ax.plot(x, _running_mean(own), color=color, linewidth=1.8, label=f"chain {chain}")
        if chain:
            ax.axvline(begin - 0.5, color="#b0b0b0", linewidth=0.8)
        if sample.n_chains > 1:
            name = f"chain {chain}" if sample.n_chains <= 8 else str(chain)
            ax.text(x.mean(), 1.01, name, transform=ax.get_xaxis_transform(), ha="center",
                    va="bottom", fontsize=9)  # fmt: skip
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
    """Round numbers of draws, fewer for more chains, none near the next chain."""
    from matplotlib.ticker import MaxNLocator

    room = max(8 // n_chains, 1)
    found = MaxNLocator(room, integer=True, steps=[1, 2, 2.5, 5, 10]).tick_values(0, n_draws)
    end = n_draws if n_chains == 1 else (1 - 0.08 * min(n_chains, 6)) * n_draws
    return [int(at) for at in found if 0 <= at < end]


def _running_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the values around each, fewer at the ends."""
    half = int(_WINDOW * values.size / 2)
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(values.size)
    low, high = np.maximum(at - half, 0), np.minimum(at + half + 1, values.size)
    return np.asarray((total[high] - total[low]) / (high - low))
