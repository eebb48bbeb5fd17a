"""Does a model predict what it has not seen? A tenth of the cells is held out and predicted.

The model is sampled again without them, and each gets its predictive distribution, a mean over the draws. If the
model is right, these are *calibrated*: of the values that they say are in the lowest 30 %, 30 % are; of the categories,
or links, to which they give probability 0.3, 30 % occur. What is predicted comes from the share 1 - f of the data that
is left and has errors of its own, which all predictions of a cluster have in common: in the tests the variance of
chance is divided by 1 - f, as in the comparison of means of two samples of sizes f n and (1 - f) n.

With full covariance matrices a cell says something about others of its item, and missing cells cannot be
integrated out in closed form. Then a tenth of the items is held out, and each of their cells is predicted
from the cells before it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import chdtrc, chdtri, kolmogi, kolmogorov, ndtri, stdtr

from epluribus._text import count, percent
from epluribus._typing import AnyArray, FloatArray, IntArray, RngLike
from epluribus._validate import check_fraction, make_rng
from epluribus.models import GaussianMixture, Mixture
from epluribus.models.mixtures import condition
from epluribus.models.networks import some_draws
from epluribus.sampling import Trace, sample
from epluribus.uncertainty._predict import check_mixture

_FEW = 30
"""With fewer cells or links nothing can be said."""
_LEVEL = 0.01
"""A check of a right model says no with this probability."""


class Calibration(NamedTuple):
    """A test of calibration."""

    n: int
    """Number of cells or links that were held out."""
    p_value: float
    unnoticed: float
    """How far predictions can be off before half of the checks would notice."""
    curve: tuple[FloatArray, FloatArray, FloatArray]
    """Predicted probabilities, the shares that were observed, and half the width of a 95 % band."""


class Check:
    """What both checks share: a test of predicted probabilities, and its verdict in words."""

    trace: Trace
    _noun: ClassVar[str]
    _advice: ClassVar[str]

    def _calibration(self) -> Calibration:
        raise NotImplementedError

    @property
    def p_value(self) -> float:
        """Of the test of calibration: Kolmogorov's for numbers and counts, a chi-square for all else."""
        return self._calibration().p_value

    @property
    def unnoticed(self) -> float:
        """How far predictions can be off before half of the checks would notice.

        For numbers and counts it is the share of the values below a quantile, for all else a share of the predictions.
        """
        return self._calibration().unnoticed

    def curve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Predicted probabilities, the shares that were observed, and half the width of a 95 % band."""
        return self._calibration().curve

    @property
    def calibrated(self) -> bool | None:
        """Whether no deviation was found; None if too little was held out to say."""
        return None if self._calibration().n < _FEW else bool(self.p_value > _LEVEL)

    @property
    def sentence(self) -> str:
        """The verdict, and what the check cannot see."""
        what = count(self._calibration().n, f"held-out {self._noun}")
        if self.calibrated is None:
            return f"{what}: too few to say whether predictions are calibrated (at least {_FEW})."
        p = f"{what}, p = {self.p_value:.2g}"
        if not self.calibrated:
            return f"The predictions are not calibrated: {p}. {self._advice}"
        return (
            f"No deviation found: {p}. Predictions that are off by less than {percent(self.unnoticed)} would "
            f"often pass, and so would differences among {self._noun}s that get the same prediction."
        )

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
    _advice = "The clusters may not have the form that the model gives them: see plots.calibration."

    def _calibration(self) -> Calibration:
        if self.kind == "categories":
            n = len(self.rows)
            return calibration_of_classes(n, self.predicted, self.occurred, 1.0, self.share)
        return _calibration_of_positions(self.position, self.share)

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
        return self._lines(*lines)


def _calibration_of_positions(position: FloatArray, share: float) -> Calibration:
    """Kolmogorov's test of numbers that should be uniform on (0, 1)."""
    values, x, n = np.sort(position), np.linspace(0, 1, 101), len(position)
    ranks, root = np.arange(n + 1) / n, np.sqrt(n * (1 - share))
    distance = max((ranks[1:] - values).max(), (values - ranks[:-1]).max())
    below = np.searchsorted(values, x, side="right") / n
    curve = x, below, -ndtri(0.025) * np.sqrt(x * (1 - x)) / root
    return Calibration(n, float(kolmogorov(root * distance)), float(kolmogi(_LEVEL) / root), curve)


def calibration_of_classes(
    n_held_out: int, predicted: FloatArray, occurred: IntArray, weight: float, share: float
) -> Calibration:
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
    known, classes = ((expected / spread)[use] ** 2).sum(), max(int(use.sum()), 1)
    unnoticed = float(np.sqrt(chdtri(classes, _LEVEL) / max(known, 1e-9)))
    curve = expected / n, found / n, -ndtri(0.025) * spread / n
    return Calibration(n_held_out, float(chdtrc(classes, statistic)), unnoticed, curve)


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

    See Also
    --------
    epluribus.plots.calibration : the picture.

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
    predict: Any = _predict_items if full else _predict_cells
    given, draws = (fewer, cells, model.values[cells]), some_draws(np.asarray(trace.draws))
    score, (low, high), predicted, occurred = predict(*given, draws, True)
    one = predict(*given, np.zeros((1, fewer.n_items), dtype=np.int64), False)[0]
    # A random part of the probability of the value itself, which only counts have.
    position = low + generator.random(len(score)) * (high - low)
    if model.kind == "categories":
        position = np.zeros(0)
    return PredictiveCheck(
        model.kind, *cells, position, predicted, occurred, score, one, part, trace
    )


def _predict_cells(
    model: Mixture, cells: tuple[IntArray, ...], values: AnyArray, draws: AnyArray, _: bool
) -> tuple[AnyArray, ...]:
    """Means over draws: log score, probabilities of values below and up to it, of categories; which occurred."""
    (rows, columns), n = cells, len(values)
    # Categories of the cells' columns, end to end, and whose cell each is. The first of a column is left out: its
    # probability is what the others leave, and would count them twice.
    first = getattr(model, "first", np.zeros(model.values.shape[1] + 1, dtype=np.int64))
    each = np.maximum(np.diff(first)[columns] - 1, 0)
    owner = np.repeat(np.arange(n), each)
    category = first[columns][owner] + 1 + np.arange(len(owner)) - (np.cumsum(each) - each)[owner]
    score, below, predicted = np.full(n, -np.inf), np.zeros((2, n)), np.zeros(len(owner))
    for z in draws:
        where = z[rows]
        for g in np.unique(where):
            law, own = model._cell_law(np.flatnonzero(z == g)), np.flatnonzero(where == g)
            score[own] = np.logaddexp(score[own], law.log_density(columns[own], values[own]))
            if model.kind == "categories":
                mine = np.flatnonzero(where[owner] == g)
                predicted[mine] += np.exp(law.log_density(columns[owner[mine]], category[mine]))
            else:
                below[:, own] += law.below(columns[own], values[own])
    occurred = (category == values[owner]).astype(np.int64)
    return score - np.log(len(draws)), below / len(draws), predicted / len(draws), occurred


def _predict_items(
    model: GaussianMixture,
    cells: tuple[IntArray, ...],
    values: AnyArray,
    draws: AnyArray,
    open_new: bool,
) -> tuple[AnyArray, ...]:
    """The same for all cells of new items, each given those before it in its row; none is a category."""
    new = values.reshape(-1, int(cells[1].max()) + 1)
    (n, d), priors = new.shape, defaultdict[bytes, float](lambda: -np.inf)
    # Each cluster of all draws once, as bytes, with its prior weights added up; a new one has no members.
    for z in draws:
        logs = model._log_prior_new(np.bincount(z))
        for g, log_prior in enumerate(logs if open_new else logs[:-1]):
            key = np.flatnonzero(z == g).tobytes()
            priors[key] = float(np.logaddexp(priors[key], log_prior))
    # Sums over clusters of: weight, weight x probability, weight x density; the weight of a cluster is prior x
    # density of the cells before.
    sums = np.full((3, n, d), -np.inf)
    for key, log_prior in priors.items():
        members = np.frombuffer(key, dtype=np.int64)
        df, center, scale = model._student_full(members)
        before = np.full(n, log_prior)
        for column in range(d):
            first = slice(column + 1)
            law = condition(new[:, first], df, center[first], scale[first, first], column)
            with np.errstate(divide="ignore"):
                below = np.log(stdtr(law[0], (new[:, column] - law[1]) / law[2]))
            known = np.where(np.arange(d) <= column, new, np.nan)
            after = log_prior + model._log_new_full(members, known)
            for row, value in enumerate((before, before + below, after)):
                sums[row, :, column] = np.logaddexp(sums[row, :, column], value)
            before = after
    below, none = np.exp(sums[1] - sums[0]).ravel(), np.zeros(0)
    return (sums[2] - sums[0]).ravel(), np.stack([below, below]), none, none.astype(int)
