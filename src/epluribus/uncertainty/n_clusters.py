"""The posterior of the number of clusters, beside that of the estimate.

    P(K = k) = sum_t w_t [K_t = k] / sum_t w_t

A point estimate of a partition need not have the most probable number of clusters: they answer
different questions, and the posterior of K is often spread by small clusters that come and go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from epluribus.draws import as_draws
from epluribus._validate import check_fraction
from epluribus.partition import as_labels
from epluribus._text import plain_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import DrawsLike, IntArray, LabelsLike
    from epluribus.estimate import Estimate

__all__ = ["NClusters", "n_clusters_posterior"]

_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class NClusters:
    """Posterior of the number of clusters."""

    values: IntArray
    """Numbers of clusters from the smallest to the largest among the draws."""
    probabilities: NDArray[np.float64]
    """Posterior probability of each."""
    mean: float
    mode: int
    """The most probable; the smaller one of a tie."""
    interval: tuple[int, int]
    """Shortest range that holds at least `level` of the probability."""
    level: float
    mass: float
    """Probability of the interval."""
    estimate: int | None
    """Number of clusters of the estimate, where one was given."""

    def probability(self, n_clusters: int) -> float:
        """Posterior probability of exactly so many clusters."""
        return float(self.probabilities[self.values == n_clusters].sum())

    def __repr__(self) -> str:
        return f"NClusters(mode={self.mode}, interval={self.interval}, level={self.level:g})"

    def __str__(self) -> str:
        low, high = self.interval
        found = f"{low}" if low == high else f"{low} to {high}"
        head = f"number of clusters: {found} with probability {self.mass:.3g}, "
        lines = [head + f"most probable {self.mode}, mean {self.mean:.4g}"]
        if self.estimate is not None:
            share = self.probability(self.estimate)
            lines.append(f"the estimate has {self.estimate}, which has probability {share:.3g}")
        shown = np.sort(np.argsort(-self.probabilities, kind="stable")[:_SHOWN])
        lines += plain_table(
            {
                "clusters": [str(self.values[k]) for k in shown],
                "probability": [f"{self.probabilities[k]:.4f}" for k in shown],
            }
        )
        return "\n".join(lines)


def n_clusters_posterior(
    draws: DrawsLike, best: Estimate | LabelsLike | None = None, *, level: float = 0.95
) -> NClusters:
    """Posterior of the number of clusters, with its shortest interval.

    In a paper: *the number of clusters was between 3 and 5 with posterior probability 0.97*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    best : Estimate or array_like of shape (n_items,), optional
        The estimate to set beside it.
    level : float, default 0.95
        Smallest probability of the interval.

    Returns
    -------
    NClusters

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1], [0, 1, 1], [0, 0, 0], [0, 1, 2]]
    >>> found = epl.uncertainty.n_clusters_posterior(draws, [0, 0, 1], level=0.7)
    >>> found.values, found.probabilities
    (array([1, 2, 3]), array([0.25, 0.5 , 0.25]))
    >>> found.interval, found.mass
    ((1, 2), 0.75)
    """
    sample = as_draws(draws)
    share = check_fraction(level, "level")
    labels = None if best is None else as_labels(best, sample.n_items, "best")
    mass = np.bincount(sample.n_clusters, weights=sample.draw_weights) / sample.total_weight
    low = int(np.flatnonzero(mass)[0])
    probabilities = mass[low:]
    values = np.arange(low, len(mass))
    begin, end = _shortest(probabilities, share)
    return NClusters(
        values=values,
        probabilities=probabilities,
        mean=float(values @ probabilities),
        mode=int(values[probabilities.argmax()]),
        interval=(int(values[begin]), int(values[end])),
        level=share,
        mass=min(1.0, float(probabilities[begin : end + 1].sum())),
        estimate=None if labels is None else int(labels.max()) + 1,
    )


def _shortest(probabilities: NDArray[np.float64], level: float) -> tuple[int, int]:
    """First and last entry of the shortest run of that mass; of several, the one of largest mass."""
    total = np.concatenate([[0.0], np.cumsum(probabilities)])
    for length in range(1, len(probabilities) + 1):
        mass = total[length:] - total[:-length]
        if mass.max() >= level - 1e-12:
            begin = int(mass.argmax())
            return begin, begin + length - 1
    return 0, len(probabilities) - 1
