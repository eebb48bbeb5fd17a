"""The draws compared with the estimate, and a model compared with its data: lines and bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from epluribus._typing import DrawsLike, FloatArray, LabelsLike, LossLike
from epluribus.draws import as_draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, read_best
from epluribus.plots import _shared as shared
from epluribus.uncertainty import (
    LinkCheck,
    Plausibility,
    PredictiveCheck,
    n_clusters_posterior,
)

_BAR, _MARKED = "#a9b4c2", "#2f3b4c"
"""Colors of the bars of the number of clusters, and of the bar of the estimate."""


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
    sample = as_draws(draws)
    found = n_clusters_posterior(sample, best=best)
    values, marked = found.values, found.estimate
    ax = shared.get_axes(ax)
    # Grays: the colors of clusters would say that a bar is a cluster.
    colors = [_BAR if value != marked else _MARKED for value in values]
    ax.bar(values, found.probabilities, width=0.8, color=colors)
    if marked is not None:
        ax.set_ylim(0.0, 1.15 * found.probabilities.max())  # room for the words above the bars
        ax.axvline(marked, color=_MARKED, linestyle=":", linewidth=1.5)
        ax.annotate(f"estimate: {marked}", (marked, 1.0), xycoords=("data", "axes fraction"),
                    xytext=(4, -4), textcoords="offset points", va="top", color=_MARKED)  # fmt: skip
    if values.size <= 20:
        ax.set_xticks(values)
    label = shared.share_of(sample) if shared.is_ensemble(sample) else "posterior probability"
    ax.set(xlabel="number of clusters", ylabel=label)
    return ax


def plausibility(found: Plausibility, *, ax: Any = None) -> Any:
    """Histogram of the scores of draws, with the partitions marked: on the left are atypical ones.

    Parameters
    ----------
    found : Plausibility
        What `epluribus.uncertainty.plausibility` returns.
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
    >>> noise = np.random.default_rng(1).random((800, 12)) < 0.1
    >>> draws = (noise ^ (np.arange(12) < 6)).astype(int)
    >>> found = epl.uncertainty.plausibility({"halves": [1] * 6 + [0] * 6}, draws)
    >>> epl.plots.plausibility(found).texts[0].get_text()
    'halves, p = 1.00'
    """
    if not len(found.draw_scores):
        raise ValueError(f"'found' must have scores of draws; it says '{found.sentence}'.")
    ax = shared.get_axes(ax)
    noun = "clusterings" if found.ensemble else "draws"
    ax.hist(found.draw_scores, bins="fd", color=_BAR)
    # Labels stand one below the other, each at its line: partitions may have nearly equal scores.
    colors = shared.cluster_colors(len(found.names))
    marks = zip(found.names, found.scores, found.sentences, colors, strict=True)
    for number, (name, score, sentence, color) in enumerate(marks):
        ax.axvline(score, color=color, linewidth=2)
        ax.annotate(f"{name}, {sentence.partition(':')[0]}", (score, 0.97 - 0.09 * number),
                    xycoords=("data", "axes fraction"), xytext=(4, 0), textcoords="offset points",
                    va="top", color=color, fontsize=9)  # fmt: skip
    low, high = ax.get_xlim()
    ax.set_xlim(low, high + 0.25 * (high - low))  # room for the names
    ax.set(xlabel=f"score: how dense the {noun} are around a partition", ylabel=f"{noun}")
    return ax


def loss_trace(
    best: Estimate | LabelsLike, draws: DrawsLike, *, loss: LossLike | None = None, ax: Any = None
) -> Any:
    """Loss of the estimate against each draw, with a running mean of each chain.

    Chains lie over each other, with a common axis that counts the draws of each from 0.

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
    labels, sample, chosen = read_best(best, draws, loss)
    # Equal draws have equal losses: one value is computed for each distinct partition.
    distinct = draw_losses(labels, sample, chosen)
    mean = sample.mean(distinct)
    ax = shared.get_axes(ax, (7.0, 3.2))
    for chain, color in enumerate(shared.cluster_colors(sample.n_chains)):
        # `index` leads from each draw to its distinct partition, in the order of the draws.
        own = distinct[sample.index[sample.chains == chain]]
        ax.plot(own, color=color, linewidth=0.5, alpha=0.35, zorder=1)
        ax.plot(_running_mean(own), color=color, linewidth=1.8, label=f"chain {chain}", zorder=2)
    ax.axhline(mean, color="black", linestyle="--", linewidth=1, zorder=3)
    ax.annotate(f"mean {mean:.3g}", (1.0, mean), xycoords=("axes fraction", "data"), xytext=(3, 0),
                textcoords="offset points", va="center", fontsize=9)  # fmt: skip
    ax.margins(x=0)
    ax.set_ylabel(f"loss to the estimate ({shared.with_unit(chosen)})")
    ax.set_xlabel("clustering" if shared.is_ensemble(sample) else "draw")
    if sample.n_chains > 1:
        ax.set_xlabel("draw of the chain")
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=8, fontsize=9,
                  borderaxespad=0.1, columnspacing=1.0, handlelength=1.2)  # fmt: skip
    return ax


def _running_mean(values: FloatArray) -> FloatArray:
    """Mean over a window around each value, cut off at both ends: a twentieth of the chain, to follow and smooth."""
    from scipy.ndimage import uniform_filter1d

    width = 2 * int(0.05 * values.size / 2) + 1
    # Beyond the ends are zeros, which count neither in the sums nor in the numbers of values.
    total = uniform_filter1d(values, width, mode="constant")
    return np.asarray(total / uniform_filter1d(np.ones(values.size), width, mode="constant"))


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
    ax = shared.get_axes(ax, (4.2, 4.0))
    x, share, half = check.curve()
    links = isinstance(check, LinkCheck)
    classes = isinstance(check, LinkCheck) or check.kind == "categories"
    low, high = -0.02, 1.02
    if (
        links
    ):  # their probabilities are small and far apart: both axes are logarithmic, which have no 0
        low = 0.6 * min(x.min(), share[share > 0].min(initial=1.0))
        high = 1.6 * max(x.max(), share.max())
        ax.set(xscale="log", yscale="log")
        for axis in (ax.xaxis, ax.yaxis):
            shared.log_ticks(axis, low, high)
    ax.plot([low, high], [low, high], color="0.35", linewidth=0.8)
    # The band is around the diagonal: what a right model would do. Classes without a link lie on the border.
    band, share = (np.maximum(x - half, low), x + half), np.maximum(share, low)
    color = shared.cluster_colors(1)[0]
    if classes:
        ax.vlines(x, *band, color="0.75", linewidth=5, label="95 % by chance")
        ax.plot(
            x, share, "o-", color=color, linewidth=1, markersize=5, label="observed", clip_on=False
        )
    else:
        ax.fill_between(x, *band, color="0.85", linewidth=0, label="95 % by chance")
        ax.plot(x, share, color=color, linewidth=1.6, label="observed")
    held_out = "for a held-out link" if links else "for a category" if classes else "below a value"
    ax.set(xlim=(low, high), ylim=(low, high), ylabel="share observed")
    ax.set_xlabel(f"probability predicted {held_out}")
    ax.set_aspect("equal")
    ax.legend(frameon=False, loc="upper left")
    return ax
