"""Does a block model predict links it has not seen? A tenth of them is held out and predicted.

Each link is held out with probability f, independently, and the model is sampled on the others. What is left
of a network of the model is one too, with all probabilities multiplied by 1 - f, so that nothing has to be
integrated out. A pair without a link in what is left had one that was held out with probability

    f t / (1 - (1 - f) t)    if t is the probability of a link in the whole network,

estimated by t' / (1 - f) from the probability t' in the rest; for counts the numbers held out are Poisson
with f / (1 - f) times the rates of the rest. All pairs with a held-out link are compared with a random sample
of the others, which stand for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtri

from epluribus._text import count
from epluribus._typing import AnyArray, FloatArray, IntArray, RngLike
from epluribus._validate import check_fraction, make_rng
from epluribus.models.networks import NetworkModel
from epluribus.sampling import Trace, sample

_FEW = 30
"""With fewer links nothing can be said."""
_LEVEL = 0.01
"""A check of a right model says no with this probability."""
_OTHERS = 20_000
"""Pairs without a held-out link that are looked at."""
_BINS = 10
"""The most classes of predicted probabilities, with about as many links expected in each."""


@dataclass(frozen=True, repr=False, eq=False)
class LinkCheck:
    """How well held-out links were predicted. Arrays are in the order of the pairs."""

    pairs: IntArray
    """(n_pairs, 2) the pairs of nodes that were looked at."""
    linked: IntArray
    """(n_pairs,) 1 if a link was held out, else 0."""
    predicted: FloatArray
    """(n_pairs,) predicted probability of that."""
    weight: float
    """How many pairs without a held-out link each of those looked at stands for."""
    share: float
    """Share of the links that was held out."""
    trace: Trace
    """The run without the links."""

    def _classes(self) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """For each class: pairs, links expected, links found, standard deviation of their difference."""
        weight = np.where(self.linked == 1, 1.0, self.weight)
        order = np.argsort(self.predicted, kind="stable")
        expected = np.cumsum((weight * self.predicted)[order])
        # Classes with the same expected number of links: boundaries never cut equal probabilities.
        k = int(np.clip(self.linked.sum() // 10, 2, _BINS))
        edges = np.searchsorted(expected, expected[-1] * np.arange(1, k) / k)
        cuts = np.unique(self.predicted[order][np.minimum(edges, order.size - 1)])
        bins = np.unique(np.searchsorted(cuts, self.predicted, side="right"), return_inverse=True)[
            1
        ]
        n = np.bincount(bins, weights=weight)
        total = np.bincount(bins, weights=weight * self.predicted)
        found = np.bincount(bins, weights=self.linked)
        # Chance of the links; rates known from 1 - f of the links only; and the sample of other pairs.
        others = np.bincount(bins, weights=self.linked == 0)
        sampled = (self.weight * total / n) ** 2 * others
        chance = np.bincount(bins, weights=weight * self.predicted * (1 - self.predicted))
        return n, total, found, np.sqrt(chance / (1 - self.share) + sampled)

    @cached_property
    def p_value(self) -> float:
        """Of a chi-square test of the links found in classes of predicted probabilities."""
        _, expected, found, spread = self._classes()
        use = spread > 1
        statistic = (((found - expected)[use] / spread[use]) ** 2).sum()
        return float(chdtrc(max(int(use.sum()), 1), statistic))

    @property
    def calibrated(self) -> bool | None:
        """Whether nothing speaks against the model; None if there are too few links to say."""
        return None if self.linked.sum() < _FEW else bool(self.p_value > _LEVEL)

    @property
    def auc(self) -> float:
        """Probability that a held-out link was thought likelier than a pair without one."""
        from scipy.stats import rankdata  # takes a second to load

        ranks = rankdata(self.predicted)
        n = int(self.linked.sum())
        rest = self.linked.size - n
        if n == 0 or rest == 0:
            return float("nan")
        return float((ranks[self.linked == 1].sum() - n * (n + 1) / 2) / (n * rest))

    def curve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Predicted probabilities, the shares that were observed, and half the width of a 95 % band."""
        n, expected, found, spread = self._classes()
        return expected / n, found / n, -ndtri(0.025) * spread / n

    @property
    def sentence(self) -> str:
        """The verdict, in words."""
        links = count(int(self.linked.sum()), "held-out link")
        if self.calibrated is None:
            return f"{links}: too few to say whether predictions are calibrated (at least {_FEW})."
        if self.calibrated:
            return f"Nothing speaks against the model: {links}, p = {self.p_value:.2g}."
        return (
            f"The predictions are not calibrated: {links}, p = {self.p_value:.2g}. If nodes differ much "
            "in degree, try PoissonBlockModel(..., degree_corrected=True)."
        )

    def __repr__(self) -> str:
        return f"LinkCheck(n_links={int(self.linked.sum())}, calibrated={self.calibrated})"

    def __str__(self) -> str:
        lines = [
            self.sentence,
            f"A held-out link is thought likelier than a pair without one with probability {self.auc:.2f}.",
        ]
        if not self.trace.diagnostics(warn=False).ok:
            lines.append("The chains of this run cannot be trusted fully: see check.trace.")
        return "\n".join(lines)


def link_check(
    model: NetworkModel,
    *,
    share: float = 0.1,
    n_draws: int = 500,
    n_chains: int = 2,
    rng: RngLike = None,
    n_jobs: int | None = None,
) -> LinkCheck:
    """Hold out a tenth of the links, sample without them, and see how well they are predicted.

    Parameters
    ----------
    model : NetworkModel
        A block model of a network, such as `StochasticBlockModel`. Its prior is kept as it is.
    share : float, default 0.1
        Share of the links to hold out.
    n_draws, n_chains, rng, n_jobs
        As in `sample`.

    Returns
    -------
    LinkCheck

    See Also
    --------
    epluribus.plots.calibration : the picture.

    Examples
    --------
    >>> import networkx
    >>> import epluribus as epl
    >>> graph = networkx.planted_partition_graph(2, 30, 0.5, 0.05, seed=1)
    >>> model = epl.models.StochasticBlockModel(graph)
    >>> check = epl.uncertainty.link_check(model, n_draws=200, rng=1)
    >>> check.calibrated, bool(check.auc > 0.7)
    (True, True)
    """
    if not isinstance(model, NetworkModel):
        raise TypeError(
            "'model' must be a block model of a network, such as StochasticBlockModel; got a "
            f"{type(model).__name__}."
        )
    part = check_fraction(share, "share", one=False)
    generator = make_rng(rng)
    fewer, held_out = model._thin(part, generator)
    options: dict[str, Any] = {"n_draws": n_draws, "n_chains": n_chains, "n_jobs": n_jobs}
    trace = sample(fewer, rng=generator, **options)
    others, weight = _other_pairs(fewer, held_out, generator)
    pairs = np.concatenate([held_out, others])
    linked = np.repeat([1, 0], [len(held_out), len(others)])
    predicted = fewer._predict(pairs, np.asarray(trace.draws), part)
    return LinkCheck(pairs, linked, predicted, weight, part, trace)


def _other_pairs(
    fewer: NetworkModel, held_out: IntArray, generator: np.random.Generator
) -> tuple[IntArray, float]:
    """Random pairs that had no link held out, and, for zeros and ones, have none in the rest either."""
    N, directed = fewer.n_items, fewer.directed
    pairs = generator.integers(0, N, (2 * _OTHERS, 2))
    loops = fewer.loops or fewer.with_degrees
    if not directed:
        pairs.sort(axis=1)
    # A loop of an undirected network is drawn half as often as a pair.
    keep = np.ones(len(pairs), dtype=bool) if loops else pairs[:, 0] != pairs[:, 1]
    if loops and not directed:
        own = pairs[:, 0] == pairs[:, 1]
        pairs = np.concatenate([pairs, pairs[own]])
        keep = np.concatenate([keep, np.ones(int(own.sum()), dtype=bool)])
    pairs = pairs[keep][:_OTHERS]
    code = pairs[:, 0] * N + pairs[:, 1]
    taken = held_out[:, 0] * N + held_out[:, 1]
    free = ~np.isin(code, taken) & fewer._open(pairs)
    # How many there are in all: the share of the random pairs that qualify, times all pairs.
    total = N * N if directed else N * (N + 1) / 2
    total -= 0 if loops else N
    return pairs[free], float(free.mean() * total / max(int(free.sum()), 1))
