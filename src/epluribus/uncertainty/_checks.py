"""Does a model predict what it has not seen? A tenth of the cells is held out and predicted.

The model is sampled again without them, and each gets its predictive distribution, a mean over the draws. If the
model is right, these are *calibrated*: of the values that they say are in the lowest 30 %, 30 % are; of the categories,
or links, to which they give probability 0.3, 30 % occur. What is predicted comes from the share 1 - f of the data that
is left and has errors of its own, which all predictions of a cluster have in common: in the tests the variance of
chance is divided by 1 - f, as in the comparison of means of two samples of sizes f n and (1 - f) n.

With full covariance matrices a cell says something about others of its item, and missing cells cannot be
integrated out in closed form. Then a tenth of the items is held out, and each of their cells is predicted
from the cells before it.

Links of a network: each is held out with probability f, independently. What is left of a network of the model is one
too, with all probabilities multiplied by 1 - f. A pair without a link in what is left had one that was held out with
probability

    f t / (1 - (1 - f) t)    if t is the probability of a link in the whole network,

estimated by t' / (1 - f) from the probability t' in the rest; for counts the numbers held out are Poisson
with f / (1 - f) times the rates of the rest. All pairs with a held-out link are compared with a random sample
of the others, which stand for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc, kolmogorov

from epluribus._cards import Plain
from epluribus._text import count, percent
from epluribus._typing import FloatArray, IntArray, RngLike
from epluribus._validate import check_fraction, make_rng
from epluribus.models import GaussianMixture, Mixture
from epluribus.models.networks import NetworkModel, some_draws
from epluribus.sampling import Trace, sample
from epluribus.uncertainty._predict import check_mixture, predict_cells, predict_items

_FEW = 30
"""With fewer cells or links nothing can be said."""
_LEVEL = 0.01
"""A check of a right model says no with this probability."""


class Check(Plain):
    """What both checks share: a test of predicted probabilities, and its verdict in words."""

    trace: Trace
    _noun: ClassVar[str]
    _advice: ClassVar[str]

    @property
    def n_held_out(self) -> int:
        """Number of cells or links that were held out."""
        raise NotImplementedError

    @property
    def p_value(self) -> float:
        """Of the test of calibration: Kolmogorov's for numbers and counts, a chi-square for all else."""
        raise NotImplementedError

    @property
    def calibrated(self) -> bool | None:
        """Whether no deviation was found; None if too little was held out to say."""
        return None if self.n_held_out < _FEW else bool(self.p_value > _LEVEL)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        what = count(self.n_held_out, f"held-out {self._noun}")
        if self.calibrated is None:
            return f"{what}: too few to say whether predictions are calibrated (at least {_FEW})."
        p = f"{what}, p = {self.p_value:.2g}"
        if not self.calibrated:
            return f"The predictions are not calibrated: {p}. {self._advice}"
        return f"No deviation found: {p}. Differences among {self._noun}s that get the same prediction would pass."

    def _lines(self, *more: str) -> str:
        bad = not self.trace.diagnostics(warn=False).ok
        doubt = ["The chains of this run cannot be trusted fully: see check.trace."] if bad else []
        return "\n".join([self.sentence, *more, *doubt])


@dataclass(frozen=True, repr=False, eq=False)
class PredictiveCheck(Check):
    """How well held-out cells were predicted. Arrays are in the order of the cells."""

    kind: str
    """What a cell is: "numbers", "counts" or "categories"."""
    rows: IntArray
    """Item of each cell."""
    columns: IntArray
    """Column of each cell."""
    position: FloatArray
    """Numbers and counts: predicted probability of a value below the one held out; if the model is right,
    uniform on (0, 1). For counts a random part of the probability of the value itself is added."""
    predicted: FloatArray
    """Categories: predicted probabilities of all categories of each cell but the first, end to end."""
    occurred: IntArray
    """Categories: 1 for the category that was held out, else 0; in the order of `predicted`."""
    log_score: FloatArray
    """Log predictive density, or log probability, of the values held out."""
    one_cluster: FloatArray
    """The same for a model with one cluster: what is gained by clustering."""
    share: float
    """Share of the cells, or of the items, that was held out."""
    trace: Trace
    """The run without the cells."""

    _noun = "cell"
    _advice = "The clusters may not have the form that the model gives them."

    @property
    def n_held_out(self) -> int:
        """Number of cells that were held out."""
        return len(self.rows)

    @property
    def p_value(self) -> float:
        """Of Kolmogorov's test for numbers and counts, of a chi-square test for categories."""
        if self.kind == "categories":
            return p_value_of_classes(self.predicted, self.occurred, 1.0, self.share)
        # The positions should be uniform on (0, 1).
        values, n = np.sort(self.position), len(self.position)
        ranks = np.arange(n + 1) / n
        distance = max((ranks[1:] - values).max(), (values - ranks[:-1]).max())
        return float(kolmogorov(np.sqrt(n * (1 - self.share)) * distance))

    @property
    def gain(self) -> tuple[float, float]:
        """Bits gained a cell by clustering, and the standard error."""
        bits = (self.log_score - self.one_cluster) / np.log(2)
        error = bits.std(ddof=1) / np.sqrt(bits.size) if bits.size > 1 else np.nan
        return float(bits.mean()), float(error)

    def __repr__(self) -> str:
        return f"PredictiveCheck(n_cells={len(self.rows)}, calibrated={self.calibrated})"

    def __str__(self) -> str:
        bits, error = self.gain
        lines = [f"Clustering gains {bits:.2f} bits a cell (standard error {error:.2f})."]
        if self.kind != "categories":
            half, most = (float(np.mean(np.abs(self.position - 0.5) < p / 2)) for p in (0.5, 0.9))
            inside = f"{percent(half)} and {percent(most)}"
            lines.append(f"Central 50 % and 90 % intervals hold {inside} of the values.")
        if self.kind == "numbers":
            lines.append("A group with heavy tails would pass as several clusters with one center.")
        return self._lines(*lines)


def p_value_of_classes(
    predicted: FloatArray, occurred: IntArray, weight: float, share: float
) -> float:
    """A chi-square test: in classes of predictions, as many should occur as are expected.

    What did not occur was sampled, and stands for `weight` of its kind.
    """
    weights = np.where(occurred == 1, 1.0, weight)
    order = np.argsort(predicted, kind="stable")
    sums = np.cumsum((weights * predicted)[order])
    # Classes in which as many are expected: boundaries never cut equal probabilities.
    k = int(np.clip(occurred.sum() // 10, 2, 10))
    edges = np.searchsorted(sums, sums[-1] * np.arange(1, k) / k)
    cuts = np.unique(predicted[order][np.minimum(edges, order.size - 1)])
    bins = np.searchsorted(cuts, predicted, side="right")
    bins = np.unique(bins, return_inverse=True)[1]
    chance = weights * predicted * (1 - predicted)
    n, expected, found, variance, others = (
        np.bincount(bins, weights=x)
        for x in (weights, weights * predicted, occurred, chance, occurred == 0)
    )
    # Chance; what is known from 1 - f of the data only; and the sample of those that did not occur.
    sampled = weight * (weight - 1) * (expected / n) ** 2 * others
    spread = np.sqrt(variance / (1 - share) + sampled)
    # A class in which less than about one deviation is expected says nothing that is near normal.
    use = spread > 1
    statistic = (((found - expected)[use] / spread[use]) ** 2).sum()
    return float(chdtrc(max(int(use.sum()), 1), statistic))


def predictive_check(
    model: Mixture,
    *,
    share: float = 0.1,
    n_draws: int = 500,
    n_chains: int = 2,
    rng: RngLike = None,
    n_jobs: int | None = None,
) -> PredictiveCheck:
    """Hold out a tenth of the cells, sample without them, and see how well they are predicted.

    Parameters
    ----------
    model : Mixture
        The model of all data. Its prior is kept as it is.
    share : float, default 0.1
        Share of the cells to hold out; with full covariance matrices, of the items.
    n_draws, n_chains, rng, n_jobs
        As in `sample`.

    Returns
    -------
    PredictiveCheck

    Examples
    --------
    >>> import numpy as np
    >>> import epluribus as epl
    >>> y = np.random.default_rng(1).normal(size=(100, 1)) + np.repeat([[0], [9]], 50, axis=0)
    >>> check = epl.uncertainty.predictive_check(epl.models.GaussianMixture(y), share=0.4, rng=1)
    >>> check.calibrated
    True
    """
    check_mixture(model)
    part, generator = check_fraction(share, "share", one=False), make_rng(rng)
    N, d = model.values.shape
    full = isinstance(model, GaussianMixture) and model.covariance == "full"
    cells: tuple[IntArray, IntArray]
    if full:  # all cells of some items
        out = np.sort(generator.choice(N, min(max(1, round(part * N)), N - 1), replace=False))
        cells = np.repeat(out, d), np.tile(np.arange(d), len(out))
        fewer = model._copy(np.delete(model.values, out, axis=0))
    else:
        known = np.argwhere(model._known())
        n = max(1, round(part * len(known)))
        rows, columns = known[np.sort(generator.choice(len(known), n, replace=False))].T
        cells = rows, columns
        hidden = np.zeros((N, d), dtype=bool)
        hidden[cells] = True
        fewer = model._hide(hidden)
    trace = sample(fewer, n_draws=n_draws, n_chains=n_chains, n_jobs=n_jobs, rng=generator)
    predict: Any = predict_items if full else predict_cells
    given, draws = (fewer, cells, model.values[cells]), some_draws(np.asarray(trace.draws))
    score, (low, high), predicted, occurred = predict(*given, draws, True)
    one = predict(*given, np.zeros((1, fewer.n_items), dtype=np.int64), False)[0]
    # A random part of the probability of the value itself, which only counts have.
    position = low + generator.random(len(score)) * (high - low)
    if model.kind == "categories":
        position = np.zeros(0)
    found = position, predicted, occurred, score, one
    return PredictiveCheck(model.kind, *cells, *found, part, trace)


@dataclass(frozen=True, repr=False, eq=False)
class LinkCheck(Check):
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

    _noun = "link"
    _advice = "If nodes differ much in degree, try PoissonBlockModel(..., degree_corrected=True)."

    @property
    def n_held_out(self) -> int:
        """Number of links that were held out."""
        return int(self.linked.sum())

    @property
    def p_value(self) -> float:
        """Of a chi-square test of the predicted probabilities."""
        return p_value_of_classes(self.predicted, self.linked, self.weight, self.share)

    @property
    def auc(self) -> float:
        """Probability that a held-out link was thought likelier than a pair without one."""
        from scipy.stats import rankdata  # takes a second to load

        ranks, n = rankdata(self.predicted), int(self.linked.sum())
        pairs = n * (self.linked.size - n)
        above = ranks[self.linked == 1].sum() - n * (n + 1) / 2
        return float(above / pairs) if pairs else np.nan

    def __repr__(self) -> str:
        return f"LinkCheck(n_links={self.linked.sum()}, calibrated={self.calibrated})"

    def __str__(self) -> str:
        return self._lines(
            f"A held-out link is thought likelier than a pair without one with probability {self.auc:.2f}."
        )


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
    share, n_draws, n_chains, rng, n_jobs
        As in `predictive_check`.

    Returns
    -------
    LinkCheck

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
    part, generator = check_fraction(share, "share", one=False), make_rng(rng)
    fewer, held_out = model._thin(part, generator)
    trace = sample(fewer, n_draws=n_draws, n_chains=n_chains, n_jobs=n_jobs, rng=generator)
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
    n = 20_000  # pairs that are looked at, of twice as many: those that are no pairs are left out
    pairs = generator.integers(0, N, (2 * n, 2))
    own = pairs[:, 0] == pairs[:, 1]
    loops = fewer.loops or fewer.with_degrees
    if not directed:
        pairs.sort(axis=1)
    if not loops:
        pairs = pairs[~own]
    elif not directed:  # a loop of an undirected network is drawn half as often as a pair
        pairs = np.concatenate([pairs, pairs[own]])
    pairs = pairs[:n]
    code, taken = (x[:, 0] * N + x[:, 1] for x in (pairs, held_out))
    free = ~np.isin(code, taken) & fewer._open(pairs)
    # How many there are in all: the share of the random pairs that qualify, times all pairs.
    total = (N * N if directed else N * (N + 1) / 2) - (0 if loops else N)
    return pairs[free], float(free.mean() * total / max(int(free.sum()), 1))
