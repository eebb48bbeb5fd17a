"""How well a model predicts cells that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._typing import FloatArray
from epluribus.plots._shared import cluster_colors, get_axes
from epluribus.uncertainty import LinkCheck, PredictiveCheck


def calibration(check: PredictiveCheck | LinkCheck, *, ax: Any = None) -> Any:
    """Predicted probabilities of held-out cells against the shares that occurred.

    If the model is right, the points are on the diagonal; the band holds 95 % of what chance alone would do
    at each place. For numbers and counts a point says which share of the values lies below the predicted
    quantile: a curve that is flat in the middle means that predictions are too narrow, one that is steep
    there that they are too wide. For categories and links a point is a class of predicted probabilities.

    Parameters
    ----------
    check : PredictiveCheck or LinkCheck
        From `epluribus.uncertainty.predictive_check` or `epluribus.uncertainty.link_check`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> import epluribus as epl
    >>> y = np.random.default_rng(1).normal(size=60)
    >>> check = epl.uncertainty.predictive_check(epl.models.GaussianMixture(y), share=0.5, rng=1)
    >>> ax = epl.plots.calibration(check)
    >>> ax.get_ylabel()
    'share observed'
    """
    if not isinstance(check, PredictiveCheck | LinkCheck):
        raise TypeError(
            "'check' must be what predictive_check or link_check of epluribus.uncertainty returns; "
            f"got a {type(check).__name__}."
        )
    ax = get_axes(ax, (4.2, 4.0))
    color = cluster_colors(1)[0]
    x, share, half = check.curve()
    if isinstance(check, LinkCheck):
        _draw_links(ax, x, share, half, color)
    else:
        _draw_cells(ax, x, share, half, color, categories=check.kind == "categories")
    ax.set_aspect("equal")
    ax.legend(frameon=False, loc="upper left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _draw_cells(
    ax: Any, x: FloatArray, share: FloatArray, half: FloatArray, color: Any, *, categories: bool
) -> None:
    """Probabilities of cells, from 0 to 1."""
    ax.plot([0, 1], [0, 1], color="0.35", linewidth=0.8)
    if categories:
        # The band is around the diagonal: what a right model would do.
        ax.vlines(x, x - half, x + half, color="0.75", linewidth=5, label="95 % by chance")
        ax.plot(x, share, "o-", color=color, linewidth=1, markersize=5, label="observed")
        xlabel = "probability predicted for a category"
    else:
        ax.fill_between(x, x - half, x + half, color="0.85", linewidth=0, label="95 % by chance")
        ax.plot(x, share, color=color, linewidth=1.6, label="observed")
        xlabel = "probability predicted below a value"
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=xlabel, ylabel="share observed")


def _draw_links(ax: Any, x: FloatArray, share: FloatArray, half: FloatArray, color: Any) -> None:
    """Classes of probabilities of links, which are small and far apart: both axes are logarithmic."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = (
        0.6 * min(x.min(), share[share > 0].min(initial=1.0)),
        1.6 * max(x.max(), share.max()),
    )
    ax.plot([low, high], [low, high], color="0.35", linewidth=0.8)
    # The band is around the diagonal: what a right model would do. It may reach 0, which logs do not have.
    ax.vlines(
        x, np.maximum(x - half, low), x + half, color="0.75", linewidth=5, label="95 % by chance"
    )
    # Classes in which no link was found lie on the border: logs have no 0.
    shown = np.maximum(share, low)
    ax.plot(x, shown, "o-", color=color, linewidth=1, markersize=5, label="observed", clip_on=False)
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    ax.set(xlabel="probability predicted for a held-out link", ylabel="share observed")
