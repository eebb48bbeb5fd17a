"""Does a model predict what it has not seen? A tenth of the cells is held out and predicted.

The model is sampled again without them, and each gets its predictive distribution, a mean over the draws. If the
model is right, these are *calibrated*: of the values that they say are in the lowest 30%, 30% are; of the categories,
to which they give probability 0.3, 30% occur. What is predicted comes from the share 1 - f of the data that
is left and has errors of its own, which all predictions of a cluster have in common: in the tests the variance of
chance is divided by 1 - f, as in the comparison of means of two samples of sizes f n and (1 - f) n.

With full covariance matrices a cell says something about others of its item, and missing cells cannot be
integrated out in closed form. Then a tenth of the items is held out, and each of their cells is predicted
from the cells before it.

"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, kolmogorov

from epluribus._cards import Plain
from epluribus._text import count, percent
from epluribus._typing import FloatArray, IntArray, RngLike
from epluribus._validate import check_fraction, make_rng
from epluribus.models import GaussianMixture, Mixture
from epluribus.sampling import Trace, sample
from epluribus.uncertainty._predict import check_mixture, predict_cells, predict_items

_FEW = 30
"""With fewer cells or links nothing can be said."""
_LEVEL = 0.01
"""A check of a right model says no with this probability."""


@dataclass(frozen=True, repr=False, eq=False)
class PredictiveCheck(Plain):
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

    @property
    def p_value(self) -> float:
        """Of Kolmogorov's test for numbers and counts, of a chi-square test for categories."""
        if self.kind == "categories":
            return _p_value_of_classes(self.predicted, self.occurred, self.share)
        # The positions should be uniform on (0, 1).
        values, n = np.sort(self.position), len(self.position)
        ranks = np.arange(n + 1) / n
        distance = max((ranks[1:] - values).max(), (values - ranks[:-1]).max())
        return float(kolmogorov(np.sqrt(n * (1 - self.share)) * distance))

    @property
    def calibrated(self) -> bool | None:
        """Whether no deviation was found; None if too little was held out to say."""
        return None if len(self.rows) < _FEW else bool(self.p_value > _LEVEL)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        what = count(len(self.rows), "held-out cell")
        if self.calibrated is None:
            return f"{what}: too few to say whether predictions are calibrated (at least {_FEW})."
        p = f"{what}, p = {self.p_value:.2g}"
        if self.calibrated:
            return f"No deviation found: {p}. Differences among cells that get the same prediction would pass."
        why = "The clusters may not have the form that the model gives them."
        return f"The predictions are not calibrated: {p}. {why}"

    @property
    def gain(self) -> tuple[float, float]:
        """Bits gained a cell by clustering, and the standard error."""
        bits = (self.log_score - self.one_cluster) / np.log(2)
        error = bits.std(ddof=1) / np.sqrt(bits.size) if bits.size > 1 else np.nan
        return float(bits.mean()), float(error)

    def __str__(self) -> str:
        bits, error = self.gain
        gain = f"Clustering gains {bits:.2f} bits a cell (standard error {error:.2f})."
        lines = [self.sentence, gain]
        if self.kind != "categories":
            half, most = (float(np.mean(np.abs(self.position - 0.5) < p / 2)) for p in (0.5, 0.9))
            inside = f"{percent(half)} and {percent(most)}"
            lines.append(f"Central 50% and 90% intervals hold {inside} of the values.")
        lines += filter(None, [self.trace.settings["remark"]])
        if not self.trace.diagnostics(warn=False).ok:
            lines.append("The chains of this run cannot be trusted fully: see check.trace.")
        return "\n".join(lines)


def _p_value_of_classes(predicted: FloatArray, occurred: IntArray, share: float) -> float:
    """A chi-square test: in classes of predictions, as many should occur as are expected."""
    order = np.argsort(predicted, kind="stable")
    sums = np.cumsum(predicted[order])
    # Classes in which as many are expected: boundaries never cut equal probabilities.
    k = int(np.clip(occurred.sum() // 10, 2, 10))
    edges = np.searchsorted(sums, sums[-1] * np.arange(1, k) / k)
    cuts = np.unique(predicted[order][np.minimum(edges, order.size - 1)])
    bins = np.searchsorted(cuts, predicted, side="right")
    chance = predicted * (1 - predicted)
    expected, found, variance = (np.bincount(bins, x) for x in (predicted, occurred, chance))
    # Chance, and what is known from 1 - f of the data only.
    spread = np.sqrt(variance / (1 - share))
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
    # At most 200 draws, evenly spaced: means over draws need no more.
    some = np.linspace(0, trace.draws.n_draws - 1, min(200, trace.draws.n_draws)).astype(np.int64)
    given, draws = (fewer, cells, model.values[cells]), np.asarray(trace.draws)[some]
    score, (low, high), predicted, occurred = predict(*given, draws, True)
    one = predict(*given, np.zeros((1, fewer.n_items), dtype=np.int64), False)[0]
    # A random part of the probability of the value itself, which only counts have.
    position = low + generator.random(len(score)) * (high - low)
    if model.kind == "categories":
        position = np.zeros(0)
    found = position, predicted, occurred, score, one
    return PredictiveCheck(model.kind, *cells, *found, part, trace)
