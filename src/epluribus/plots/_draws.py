"""The estimate compared with the draws, by lines, bars and a map of the partitions, or with another partition.

The map is classical scaling (Torgerson 1952): with D the n x n matrix of distances and C = I - 11'/n the centering
matrix, the places are the first two eigenvectors of -C D^2 C / 2 (squares taken entry by entry), times the
square roots of their eigenvalues.

Torgerson, W. S. (1952). Multidimensional scaling: I. Theory and method. Psychometrika 17, 401-419.
doi:10.1007/BF02288916
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus._validate import shown
from epluribus.draws import as_draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.partition import matched
from epluribus.plots import _shared as shared
from epluribus.uncertainty import Modes, Plausibility, n_clusters_posterior

_BAR, _MARKED = "#a9b4c2", "#2f3b4c"
"""Colors of the bars of the number of clusters, and of the bar of the estimate."""
_DRAWS = 400
"""The most draws on a map: they are compared in pairs."""
_GAP = 0.25
"""Share of the height that is left between clusters, all gaps together."""
_WIDTH = 0.035
"""Width of the bars, as a share of the distance between them."""


def n_clusters(best: Estimate | LabelsLike | None, draws: DrawsLike, *, ax: Any = None) -> Any:
    """Bar chart of the posterior of the number of clusters.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,) or None
        A partition whose number of clusters is marked; None for none.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
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
    >>> ax = epl.plots.n_clusters(None, [[0, 0, 1], [0, 1, 2], [0, 1, 1], [0, 1, 2]])
    >>> [(bar.get_center()[0].item(), bar.get_height().item()) for bar in ax.patches]
    [(2.0, 0.5), (3.0, 0.5)]
    """
    sample = as_draws(draws)
    found = n_clusters_posterior(sample, best=best)
    values, marked = found.values, found.estimate
    ax = shared.get_axes(ax)
    from matplotlib.ticker import MaxNLocator

    # Grays: the colors of clusters would say that a bar is a cluster.
    colors = [_BAR if value != marked else _MARKED for value in values]
    ax.bar(values, found.probabilities, width=0.8, color=colors)
    if marked is not None:
        ax.set_ylim(0.0, 1.25 * found.probabilities.max())  # room for the words above the bars
        ax.axvline(marked, color=_MARKED, linestyle=":", linewidth=1.5)
        ax.annotate(f"estimate: {marked}", (marked, 1.0), xycoords=("data", "axes fraction"),
                    xytext=(4, -4), textcoords="offset points", va="top", color=_MARKED)  # fmt: skip
    ax.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
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
                    va="top", color=color, fontsize=9,
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1})  # fmt: skip
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
    colors = shared.cluster_colors(sample.n_chains)
    for chain, (name, color) in enumerate(zip(sample.chain_names, colors, strict=True)):
        # `index` leads from each draw to its distinct partition, in the order of the draws.
        own = distinct[sample.index[sample.chains == chain]]
        ax.plot(own, color=color, linewidth=0.5, alpha=0.35, zorder=1)
        ax.plot(_running_mean(own), color=color, linewidth=1.8, label=f"chain {name}", zorder=2)
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


def partition_map(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    modes: Modes | ArrayLike | None = None,
    *,
    loss: LossLike | None = None,
    ax: Any = None,
) -> Any:
    """Draws as points whose distances are, as well as the plane allows, the losses between them.

    The area of a dot is the share of the draws that are this partition, which is written beside it from 5%
    on; rare partitions have dots of the same small size. Colors stand for the nearest mode or, without modes,
    for the number of clusters. The labels of the axes say how much of the spread each axis shows.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The partition, shown as a star.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample; of more than 400 draws, 400 are shown, evenly spaced.
    modes : Modes or array_like of shape (n_modes, n_items), optional
        The modes that `epluribus.modes` found, shown as numbered discs.
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
    >>> draws = epl.Draws([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2]])
    >>> ax = epl.plots.partition_map([0, 0, 1, 1], draws)
    >>> ax.collections[0].get_offsets().shape
    (3, 2)
    """
    labels, sample, chosen = read_best(best, draws, loss)
    sample.check_complete("A map of draws")
    found: Any = [] if modes is None else modes.labels if isinstance(modes, Modes) else modes
    marked = [labels, *(matched(mode, sample, "modes") for mode in found)]
    # Draws, not distinct partitions, are thinned: frequent partitions stay frequent.
    if sample.n_distinct > _DRAWS:
        sample = sample[shared.even_steps(sample.n_draws, _DRAWS)]
    n = sample.n_distinct
    # First the n draws, then the estimate, then the modes.
    distances = _distances(np.vstack([sample.distinct.astype(np.int64), marked]), chosen)
    places, explained = _scale(distances)
    ax = shared.get_axes(ax, (5.6, 4.4))
    from matplotlib.ticker import MaxNLocator

    # All dots together have an area of 4000 square points; the largest are drawn first and hide no other.
    size = np.maximum(4000 * sample.shares, 14.0)
    order = np.argsort(-size, kind="stable")
    if len(found):
        # By the losses themselves, not by the places in the plane, which distort them.
        nearest = distances[:n, n + 1 :].argmin(axis=1)
        colors = shared.cluster_colors(len(found))
        ax.scatter(*places[order].T, s=size[order], c=[colors[m] for m in nearest[order]], alpha=0.45,
                   linewidths=0, zorder=2)  # fmt: skip
        for mode, (at, color) in enumerate(zip(places[n + 1 :], colors, strict=True)):
            ax.scatter(*at, s=170, color=color, edgecolors="black", zorder=4, label=f"mode {mode}")
            ax.text(*at, str(mode), ha="center", va="center_baseline", fontsize=10,
                    fontweight="bold", color=shared.text_color(color), zorder=6)  # fmt: skip
    else:
        clusters = sample.distinct.max(axis=1).astype(np.int64) + 1
        points = ax.scatter(*places[order].T, s=size[order], c=clusters[order], cmap="viridis", alpha=0.7,
                            linewidths=0, zorder=2)  # fmt: skip
        ax.figure.colorbar(points, ax=ax, label="number of clusters", shrink=0.8,
                           ticks=MaxNLocator(integer=True))  # fmt: skip
    # The star is larger than the disc of a mode, which may lie on it.
    ax.scatter(*places[n], s=900 if len(found) else 260, marker="*", color="black",
               edgecolors="white", linewidths=1.2, zorder=3, label="estimate")  # fmt: skip
    for i in np.flatnonzero(sample.shares >= 0.05):
        down = np.sqrt(size[i] / np.pi) + 1.5  # the radius of a dot of this area, in points
        ax.annotate(f"{100 * sample.shares[i]:.0f}%", places[i], (0, -down), fontsize=8, zorder=7,
                    textcoords="offset points", ha="center", va="top")  # fmt: skip
    # One unit is as long across as up: distances can be read in any direction.
    ax.set_aspect("equal", adjustable="datalim")
    ax.locator_params(nbins=7)
    ax.set_xlabel(f"first direction: {100 * explained[0]:.0f}% of the spread ({chosen.name})")
    ax.set_ylabel(f"second direction: {100 * explained[1]:.0f}%")
    legend = ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=6,
                       borderaxespad=0.2, handletextpad=0.2, columnspacing=1.0)  # fmt: skip
    # Points in the legend have one size each, whatever the draws have; the last one is the star.
    for handle in legend.legend_handles:
        handle.set(sizes=[160 if handle is legend.legend_handles[-1] else 80], alpha=1.0)
    return ax


def _distances(rows: IntArray, loss: Loss) -> FloatArray:
    """Losses between all rows; for a loss with unequal costs, the mean of both directions."""
    # Items by rows, partitions by columns, in the smallest type of integer: as the kernels read them.
    table = np.ascontiguousarray(rows.T.astype(np.min_scalar_type(int(rows.max()))))
    matrix = np.array([loss_values(row, table, loss) for row in rows])
    return np.asarray((matrix + matrix.T) / 2)


def _scale(distances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Places in the plane, and the share of each axis in the sum of the positive eigenvalues."""
    n = len(distances)
    center = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * center @ distances**2 @ center)
    # Largest first. Losses are not Euclidean distances: some eigenvalues may be negative.
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    two, shares = np.zeros((n, 2)), np.zeros(2)
    # A single point has one eigenvector.
    two[:, : min(n, 2)] = vectors[:, :2] * np.sqrt(values[:2])
    shares[: min(n, 2)] = values[:2] / max(float(values.sum()), np.finfo(np.float64).tiny)
    # The sign of an eigenvector is arbitrary: the first point is made to be left and low.
    return two * np.where(two[0] > 0, -1.0, 1.0), shares


# --- two partitions ---


def alluvial(
    a: Estimate | LabelsLike,
    b: Estimate | LabelsLike,
    *,
    titles: tuple[str, str] = ("a", "b"),
    ax: Any = None,
) -> Any:
    """Clusters of two partitions as bars, left and right, with bands for the items they share.

    Bands have the color of the cluster on the left. Clusters are placed so that few bands cross.
    Beside each bar stand its name and, in brackets, its size.

    Parameters
    ----------
    a, b : Estimate or array_like of shape (n_items,)
        Two partitions of the same items.
    titles : (str, str), default ("a", "b")
        Written above the bars.
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
    >>> ax = epl.plots.alluvial(["x", "x", "y", "y"], [0, 0, 0, 1])
    >>> [text.get_text() for text in ax.texts]
    ['x (2)', 'y (2)', '0 (3)', '1 (1)', 'a', 'b']
    """
    if len(titles) != 2:
        raise ValueError(f"'titles' must be two words; got {shown(titles)}.")
    left, left_names = shared.read_partition(a, argument="a")
    right, right_names = shared.read_partition(b, a, "b")
    # `add.at` adds 1 for every item, also where several items have the same cell.
    table = np.zeros((len(left_names), len(right_names)), dtype=np.int64)
    np.add.at(table, (left, right), 1)
    # Clusters at the right stand where most of their items come from (barycenters), so that few bands cross.
    middles = _tops(table.sum(axis=1)) + table.sum(axis=1) / (2 * table.sum())
    columns = np.argsort(middles @ table / table.sum(axis=0), kind="stable")
    table = table[:, columns]
    ax = shared.get_axes(ax, (5.5, float(np.clip(0.6 + 0.2 * max(table.shape), 5.0, 12.0))))
    colors = shared.cluster_colors(len(table))
    _draw_bands(ax, table, colors)
    _draw_bars(ax, 0.0, table.sum(axis=1), left_names, colors)
    gray = ["#606060"] * len(columns)
    _draw_bars(ax, 1.0, table.sum(axis=0), [right_names[h] for h in columns], gray)
    for x, title in zip((0.0, 1.0), titles, strict=True):
        ax.text(x, -0.02, title, ha="center", va="bottom", fontsize=10)
    ax.set(xlim=(-_WIDTH, 1 + _WIDTH), ylim=(1, 0))
    ax.set_axis_off()
    return ax


def _tops(sizes: IntArray) -> FloatArray:
    """Where each bar begins, in a picture of height 1."""
    gap = _GAP / sizes.size
    before = shared.cluster_edges(sizes)[:-1] * (1 - _GAP) / sizes.sum()
    return np.asarray(before + gap * (np.arange(sizes.size) + 0.5))


def _draw_bands(ax: Any, table: IntArray, colors: list[Any]) -> None:
    """A band for every two clusters that share items."""
    x = np.linspace(0, 1, 60)
    # The smooth step 6 x^5 - 15 x^4 + 10 x^3 rises from 0 to 1 and is flat at both ends.
    bend = x**3 * (10 - 15 * x + 6 * x**2)
    out, into = _tops(table.sum(axis=1)), _tops(table.sum(axis=0))
    for g, h in np.argwhere(table):
        # Bars and bands have the same scale: the bands of a cluster fill its bar.
        height = table[g, h] * (1 - _GAP) / table.sum()
        upper = out[g] + bend * (into[h] - out[g])
        ax.fill_between(x, upper, upper + height, color=colors[g], alpha=0.55, linewidth=0)
        # The next band of either cluster begins where this one ends.
        out[g] += height
        into[h] += height


def _draw_bars(ax: Any, x: float, sizes: IntArray, names: list[str], colors: list[Any]) -> None:
    """Bars at the left (x = 0) or at the right (x = 1), with names that do not overlap."""
    tops, heights = _tops(sizes), sizes * (1 - _GAP) / sizes.sum()
    ax.bar(x, heights, _WIDTH, bottom=tops, color=colors, linewidth=0)
    middle = tops + heights / 2
    places, font_size = shared.place_along(middle, 1.0, shared.size_in_points(ax)[1])
    side, align = (-1, "right") if x == 0 else (1, "left")
    # Both ends of the line that leads from a bar to its name.
    ends = x + side * _WIDTH * np.array([0.6, 1.4])
    for name, size, place, where in zip(names, sizes, middle, places, strict=True):
        ax.plot(ends, [place, where], color="#808080", linewidth=0.5, clip_on=False)
        ax.text(x + side * 1.6 * _WIDTH, where, f"{name} ({size:,})", fontsize=font_size, ha=align,
                va="center")  # fmt: skip
