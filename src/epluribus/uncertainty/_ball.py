"""Credible sets: a ball of partitions around the estimate, and an interval of numbers of clusters.

The ball around the estimate a has the smallest radius e such that

    P( loss(a, z) <= e | data ) >= level.

Its edge is described by three sets of partitions among the draws inside it (Wade & Ghahramani 2018,
section 4): the horizontal bound consists of the most distant ones; the upper vertical bound of the most
distant of those with the fewest clusters; the lower vertical bound of the most distant of those with the
most clusters. Any loss can serve as the distance.

The posterior of the number of clusters is P(K = k) = sum_t w_t [K_t = k] / sum_t w_t. A point estimate
need not have the most probable number of clusters: the two answer different questions, and small
clusters that come and go often spread the posterior of K.

Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible balls.
Bayesian Analysis 13, 559-626. doi:10.1214/17-BA1073
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._cards import Card, Rows, Table
from epluribus._text import count, span, worded
from epluribus._typing import DrawsLike, FloatArray, IntArray, LabelsLike, LossLike
from epluribus._validate import check_fraction
from epluribus.changes import EQUAL, what_differs
from epluribus.draws import as_draws
from epluribus.draws.expected import draw_losses
from epluribus.estimate import Estimate, read_best
from epluribus.losses.base import Loss
from epluribus.partition import matched

_TIE, _ROUNDING = 1e-9, 1e-12
"""Distances less apart than this share of the largest are ties, and shares that miss a level by less have it."""
_BOUNDS = ("horizontal", "upper", "lower")
"""Fields of `CredibleBall` that hold partitions at its edge, in the order of `distances`."""


@dataclass(frozen=True, repr=False, eq=False)
class CredibleBall(Rows):
    """A credible ball around an estimate, and the partitions at its edge.

    Bounds are arrays of shape (n_ties, n_items), one partition per row in canonical form: all those
    that are equally far from the center.
    """

    labels: IntArray
    """(n_items,) canonical labels of the center."""
    loss: Loss
    """The distance."""
    level: float
    """Posterior probability asked for."""
    radius: float
    """Largest loss between the center and a draw in the ball."""
    mass: float
    """Posterior probability of the ball: at least `level`."""
    n_inside: int
    """Number of distinct partitions among the draws in the ball."""
    horizontal: IntArray
    """Most distant partitions in the ball."""
    upper: IntArray
    """Of those with the fewest clusters, the most distant: upper vertical bound."""
    lower: IntArray
    """Of those with the most clusters, the most distant: lower vertical bound."""
    distances: FloatArray
    """(3,) loss between the center and each bound: horizontal, upper, lower."""
    inside: NDArray[np.bool_]
    """(n_draws,) whether each draw is in the ball."""
    items: tuple[str, ...] | None = None
    """Names of the items, if the draws have them."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; which draws are inside is left out."""
        facts = {name: getattr(self, name) for name in ("level", "radius", "mass", "n_inside")}
        bounds = {
            name: {"distance": distance, "labels": getattr(self, name).tolist()}
            for name, distance in zip(_BOUNDS, self.distances.tolist(), strict=True)
        }
        named = {"loss": self.loss.name, "labels": self.labels.tolist()}
        return {**facts, **named, "bounds": bounds}

    def columns(self) -> dict[str, Any]:
        """The bounds as lists by name."""
        # A bound may be several partitions, tied in distance, with different numbers of clusters.
        n_clusters = [getattr(self, name).max(axis=1) + 1 for name in _BOUNDS]
        return {
            "bound": ["horizontal", "upper vertical", "lower vertical"],
            "clusters": [span(k.min(), k.max(), link="-") for k in n_clusters],
            "distance": self.distances.tolist(),
            "partitions": [len(k) for k in n_clusters],
        }

    def _card(self) -> Card:
        k, n = int(self.labels.max()) + 1, len(self.labels)
        title = f"{100 * self.level:g}% credible ball around {count(k, 'cluster')} of {count(n, 'item')}"
        return Card(
            worded(title, self.kind),
            f"radius {self.loss.with_unit(f'{self.radius:.6g}')} ({self.loss.name}), "
            f"mass {self.mass:.4g}, {count(self.n_inside, 'distinct partition')} inside",
            Table(self.columns()),
            *self.changes,
        )

    @property
    def changes(self) -> list[str]:
        """How the bounds without missing labels differ from the estimate; one at several edges is told once."""
        told: dict[str, str] = {}
        for name in _BOUNDS:
            bound = getattr(self, name)[0]
            if bound.min() >= 0:
                text = what_differs(self.labels, bound, names=self.items, other="it")
                told.setdefault(text, f"{name} bound: {text}")
        return [line for text, line in told.items() if text != EQUAL]


@dataclass(frozen=True, repr=False, eq=False)
class NClusters(Rows):
    """Posterior of the number of clusters; see `n_clusters_posterior`."""

    values: IntArray
    """Numbers of clusters from the smallest to the largest among the draws."""
    probabilities: FloatArray
    """Posterior probability of each; it may be 0 between the smallest and the largest."""
    mean: float
    """Posterior mean."""
    mode: int
    """The most probable number; the smallest of them in a tie."""
    interval: tuple[int, int]
    """Shortest range that has a probability of at least `level`."""
    level: float
    """Probability asked for."""
    mass: float
    """Probability of the interval: at least `level`."""
    estimate: int | None
    """Number of clusters of the estimate, if one was given."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    def probability(self, n_clusters: int) -> float:
        """Posterior probability of exactly this many clusters."""
        return float(self.probabilities[self.values == n_clusters].sum())

    def columns(self) -> dict[str, Any]:
        """The numbers and their probabilities as arrays by name."""
        return {"clusters": self.values, "probability": self.probabilities}

    def _card(self) -> Card:
        lines = [
            f"number of clusters: {span(*self.interval)} with probability {self.mass:.3g}, "
            f"most probable {self.mode}, mean {self.mean:.4g}"
        ]
        if self.estimate is not None:
            share = self.probability(self.estimate)
            lines.append(f"the estimate has {self.estimate}, which has probability {share:.3g}")
        if self.kind == "posterior" and self.probabilities[-1] >= 0.9 and self.values[-1] > 1:
            lines.append(
                f"Nearly all draws have {self.values[-1]} clusters, and none has more. If the model allows at most "
                f"{self.values[-1]}, raise that limit."
            )
        # The twenty most probable numbers, in the order of the numbers.
        shown = np.sort(np.argsort(-self.probabilities, kind="stable")[:20])
        columns = {
            "clusters": [str(k) for k in self.values[shown]],
            worded("probability", self.kind): [f"{p:.4f}" for p in self.probabilities[shown]],
        }
        return Card(*(worded(line, self.kind) for line in lines), Table(columns), indent="")


def credible_ball(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    level: float = 0.95,
    *,
    loss: LossLike | None = None,
) -> CredibleBall:
    """Credible ball around an estimate, with its horizontal and vertical bounds.

    In a paper: *with posterior probability of at least 95%, the partition is within the radius of
    the estimate; the bounds show the most different partitions, and those with fewest and most
    clusters, that are still credible*.

    Parameters
    ----------
    best : Estimate or array_like of shape (n_items,)
        The center.
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    level : float, default 0.95
        Smallest posterior probability of the ball.
    loss : str or Loss, optional
        The distance; by default the loss that `best` was made for, "vi" for plain labels.

    Returns
    -------
    CredibleBall

    Notes
    -----
    The ball is the smallest one that holds the given share of the (weighted) draws. Draws at the
    same distance are all inside or all outside, so that its mass can exceed `level`. Time O(n_draws
    n_items): one loss for each distinct draw. Where labels are missing, the distance of a draw is that of the
    items it has seen, and the bounds have labels of -1 for the others.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = epl.Draws([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 0, 1]])
    >>> ball = epl.uncertainty.credible_ball([0, 0, 1, 1], draws, level=0.8)
    >>> round(ball.radius, 6), ball.mass
    (1.188722, 0.8)
    >>> ball.upper
    array([[0, 0, 0, 1]])
    >>> ball.lower
    array([[0, 0, 1, 2]])
    """
    labels, sample, chosen = read_best(best, draws, loss)
    share = check_fraction(level, "level")
    distance = draw_losses(labels, sample, chosen)
    # A user's own loss may be negative, hence the absolute values.
    tie = _TIE * float(np.abs(distance).max())
    # The radius: the smallest distance within which the draws have the share asked for.
    reached = max(0.0, share - _ROUNDING)
    radius = np.quantile(distance, reached, weights=sample.weights, method="inverted_cdf")
    # A draw of weight zero is not part of the posterior: it is neither inside nor a bound.
    inside = (distance <= radius + tie) & (sample.weights > 0)
    n_clusters = sample.distinct_n_clusters
    few, many = n_clusters[inside].min(), n_clusters[inside].max()
    bounds, distances = [], []
    # Horizontal, upper and lower bound: the farthest of all draws inside, of those with the fewest
    # clusters, of those with the most.
    for members in (inside, inside & (n_clusters == few), inside & (n_clusters == many)):
        largest = distance[members].max()
        # Partitions at the same distance are equally good bounds: all are reported.
        ties = members & (distance >= largest - tie)
        columns = sample.store.columns(np.flatnonzero(ties)).T.astype(np.int64)
        bounds.append(columns - sample.has_missing)  # -1 where a label is missing
        distances.append(float(largest))
    # The radius reported is the distance of the farthest draw inside, ties included.
    return CredibleBall(
        labels, chosen, share, distances[0], min(1.0, sample.mean(inside)), int(inside.sum()),
        bounds[0], bounds[1], bounds[2], np.array(distances), inside[sample.index], sample.items, sample.kind,
    )  # fmt: skip


def n_clusters_posterior(
    draws: DrawsLike, *, best: Estimate | LabelsLike | None = None, level: float = 0.95
) -> NClusters:
    """Posterior of the number of clusters, with its shortest interval.

    In a paper: *the number of clusters was between 3 and 5 with posterior probability 0.97*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    best : Estimate or array_like of shape (n_items,), optional
        An estimate whose number of clusters is named beside it.
    level : float, default 0.95
        Smallest probability of the interval.

    Returns
    -------
    NClusters

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1], [0, 1, 1], [0, 0, 0], [0, 1, 2]]
    >>> found = epl.uncertainty.n_clusters_posterior(draws, best=[0, 0, 1], level=0.7)
    >>> found.values, found.probabilities
    (array([1, 2, 3]), array([0.25, 0.5 , 0.25]))
    >>> found.interval, found.mass
    ((1, 2), 0.75)
    """
    sample = as_draws(draws)
    share = check_fraction(level, "level")
    labels = None if best is None else matched(best, sample)
    # P(K = k) for k = 0, 1, ..., as far as the draws go; numbers below `low` have probability 0.
    every = np.bincount(sample.n_clusters, weights=sample.draw_weights) / sample.total_weight
    low = int(np.flatnonzero(every)[0])
    values, probabilities = np.arange(low, len(every)), every[low:]
    # The shortest run with this mass; of several, the one of largest mass. total[b] - total[a] is that of a..b-1.
    total, length, masses = np.append(0.0, np.cumsum(probabilities)), 0, np.zeros(1)
    while masses.max() < share - _ROUNDING and length < len(values):
        length += 1
        masses = total[length:] - total[:-length]  # of every run of this length
    run = slice(begin := int(masses.argmax()), begin + length)
    interval, mass = (int(values[run][0]), int(values[run][-1])), float(probabilities[run].sum())
    mean, mode = float(values @ probabilities), int(values[probabilities.argmax()])
    k = None if labels is None else int(labels.max()) + 1
    return NClusters(
        values, probabilities, mean, mode, interval, share, min(1.0, mass), k, sample.kind
    )
