"""Credible balls: how far the posterior spreads around an estimate.

The ball around the estimate a has the smallest radius e such that

    P( loss(a, z) <= e | data ) >= level.

Its edge is described by three sets of partitions among the draws inside it (Wade & Ghahramani 2018,
section 4): the horizontal bound, the most distant ones; the upper vertical bound, the most distant
of those with the fewest clusters; the lower vertical bound, the most distant of those with the most
clusters. The distance can be any loss.

Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible balls.
Bayesian Analysis 13, 559-626. doi:10.1214/17-BA1073
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._text import count, plain_table, span
from epluribus._validate import check_fraction
from epluribus.engine import draw_losses
from epluribus.estimate import read_best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike
    from epluribus.estimate import Estimate
    from epluribus.losses.base import Loss

__all__ = ["CredibleBall", "credible_ball"]

_TIE = 1e-9
"""Distances closer than this share of the largest are equal: rounding does not break ties."""


@dataclass(frozen=True, repr=False, eq=False)
class CredibleBall:
    """A credible ball around an estimate, and the partitions at its edge.

    Bounds are arrays of shape (n_ties, n_items), one partition per row in canonical form: all those
    that are equally far from the center.
    """

    labels: IntArray
    """The center."""
    loss: Loss
    level: float
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
    distances: NDArray[np.float64]
    """Loss between the center and each bound: horizontal, upper, lower."""
    inside: NDArray[np.bool_]
    """Whether each draw is in the ball."""

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        names = ("horizontal", "upper", "lower")
        return {
            "loss": self.loss.name,
            "level": self.level,
            "radius": self.radius,
            "mass": self.mass,
            "n_inside": self.n_inside,
            "labels": self.labels.tolist(),
            "bounds": {
                name: {"distance": float(distance), "labels": getattr(self, name).tolist()}
                for name, distance in zip(names, self.distances, strict=True)
            },
        }

    def __repr__(self) -> str:
        return (
            f"CredibleBall(radius={self.radius:.6g}, mass={self.mass:.4g}, level={self.level:g}, "
            f"loss={self.loss.name!r})"
        )

    def __str__(self) -> str:
        bounds = (self.horizontal, self.upper, self.lower)
        n_clusters = [bound.max(axis=1) + 1 for bound in bounds]
        table = plain_table(
            {
                "bound": ["horizontal", "upper vertical", "lower vertical"],
                "clusters": [span(k.min(), k.max(), link="-") for k in n_clusters],
                "distance": [float(value) for value in self.distances],
                "partitions": [len(bound) for bound in bounds],
            }
        )
        head = (
            f"{100 * self.level:g} % credible ball around "
            f"{count(int(self.labels.max()) + 1, 'cluster')} of {count(len(self.labels), 'item')}"
        )
        size = (
            f"  radius {self.loss.with_unit(f'{self.radius:.6g}')} ({self.loss.name}), "
            f"mass {self.mass:.4g}, {count(self.n_inside, 'distinct partition')} inside"
        )
        return "\n".join([head, size, *(f"  {line}" for line in table)])


def credible_ball(
    best: Estimate | LabelsLike,
    draws: DrawsLike,
    level: float = 0.95,
    *,
    loss: LossLike | None = None,
) -> CredibleBall:
    """Credible ball around an estimate, with its horizontal and vertical bounds.

    In a paper: *with posterior probability of at least 95 %, the partition is within the radius of
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
    same distance are all inside or all outside, so that its mass can exceed `level`.

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
    tie = _TIE * float(np.abs(distance).max())
    # A sum of shares is rounded: a level that is missed by rounding alone is reached.
    radius = np.quantile(
        distance, max(0.0, share - 1e-12), weights=sample.weights, method="inverted_cdf"
    )
    # A draw of weight zero is nowhere in the posterior: it can be no bound.
    inside = (distance <= radius + tie) & (sample.weights > 0)
    n_clusters = sample.item_major.max(axis=0) + 1

    def farthest(members: NDArray[np.bool_]) -> tuple[IntArray, float]:
        """The members at the largest distance, and that distance."""
        largest = float(distance[members].max())
        ties = members & (distance >= largest - tie)
        return sample.distinct[ties].astype(np.int64), largest

    horizontal, upper, lower = (
        farthest(inside),
        farthest(inside & (n_clusters == n_clusters[inside].min())),
        farthest(inside & (n_clusters == n_clusters[inside].max())),
    )
    return CredibleBall(
        labels=labels,
        loss=chosen,
        level=share,
        radius=horizontal[1],
        mass=min(1.0, sample.mean(inside)),
        n_inside=int(inside.sum()),
        horizontal=horizontal[0],
        upper=upper[0],
        lower=lower[0],
        distances=np.array([horizontal[1], upper[1], lower[1]]),
        inside=inside[sample.index],
    )
