"""Does the model predict data it has not seen? A tenth of the cells is held out and predicted.

The model is sampled again without these cells, and each of them gets its predictive distribution: the mean
over the draws of that of its item's cluster. If the model is right, these distributions are *calibrated*: of
the values that it says are in the lowest 30 %, 30 % are; of the categories to which it gives probability 0.3,
30 % occur.

With full covariance matrices a cell says something about others of its item, and missing cells cannot be
integrated out in closed form. Then a tenth of the items is held out, and each of their cells is predicted
from the other cells of the item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtri, stdtr

from epluribus._text import count, percent
from epluribus._typing import AnyArray, FloatArray, IntArray, RngLike
from epluribus._validate import check_fraction, make_rng
from epluribus.models import GaussianMixture, Mixture
from epluribus.models.links import some_draws
from epluribus.models.mixture import condition
from epluribus.sampling import Trace, sample

_FEW = 30
"""With fewer cells nothing can be said."""
_LEVEL = 0.01
"""A check of a right model says no with this probability."""
_MOST = 200
"""Draws used: predictions are means over draws, for which a few hundred are plenty."""
_BINS = 10
"""Classes of predicted probabilities of categories."""


@dataclass(frozen=True, repr=False, eq=False)
class PredictiveCheck:
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
    p_value: float
    """Of the test of calibration: Kolmogorov's for `position`, a chi-square for categories."""
    trace: Trace
    """The run without the cells."""

    @property
    def calibrated(self) -> bool | None:
        """Whether nothing speaks against the model; None if there are too few cells to say."""
        return None if len(self.rows) < _FEW else bool(self.p_value > _LEVEL)

    @property
    def gain(self) -> tuple[float, float]:
        """Bits gained a cell by clustering, and the standard error."""
        bits = (self.log_score - self.one_cluster) / np.log(2)
        return float(bits.mean()), float(
            bits.std(ddof=1) / np.sqrt(bits.size)
        ) if bits.size > 1 else np.nan

    def curve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Predicted probabilities, the shares that were observed, and half the width of a 95 % band."""
        if self.kind != "categories":
            x = np.linspace(0, 1, 101)
            y = np.searchsorted(np.sort(self.position), x, side="right") / self.position.size
            return x, y, -ndtri(0.025) * np.sqrt(x * (1 - x) / self.position.size)
        bins = _classes(self.predicted)
        n = np.bincount(bins)
        x = np.bincount(bins, weights=self.predicted) / n
        y = np.bincount(bins, weights=self.occurred) / n
        spread = np.bincount(bins, weights=self.predicted * (1 - self.predicted))
        return x, y, -ndtri(0.025) * np.sqrt(spread) / n

    @property
    def sentence(self) -> str:
        """The verdict, in words."""
        cells = count(len(self.rows), "held-out cell")
        if self.calibrated is None:
            return f"{cells}: too few to say whether predictions are calibrated (at least {_FEW})."
        if self.calibrated:
            return f"Nothing speaks against the model: {cells}, p = {self.p_value:.2g}."
        return (
            f"The predictions are not calibrated: {cells}, p = {self.p_value:.2g}. The clusters may "
            "not have the form that the model gives them; look at plots.calibration(check)."
        )

    def __repr__(self) -> str:
        return f"PredictiveCheck(n_cells={len(self.rows)}, calibrated={self.calibrated})"

    def __str__(self) -> str:
        bits, error = self.gain
        lines = [
            self.sentence,
            f"Clustering gains {bits:.2f} bits a cell (standard error {error:.2f}).",
        ]
        if self.kind != "categories":
            inside = [np.mean(np.abs(self.position - 0.5) < level / 2) for level in (0.5, 0.9)]
            lines.append(
                f"Central 50 % and 90 % intervals hold {percent(float(inside[0]))} and "
                f"{percent(float(inside[1]))} of the values."
            )
        if not self.trace.diagnostics(warn=False).ok:
            lines.append("The chains of this run cannot be trusted fully: see check.trace.")
        return "\n".join(lines)


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
    if not isinstance(model, Mixture):
        raise TypeError(
            f"'model' must be a mixture, such as GaussianMixture; got a {type(model).__name__}."
        )
    part = check_fraction(share, "share", one=False)
    generator = make_rng(rng)
    options: dict[str, Any] = {"n_draws": n_draws, "n_chains": n_chains, "n_jobs": n_jobs}
    if isinstance(model, GaussianMixture) and model.covariance == "full":
        return _check_items(model, part, generator, options)
    known = np.argwhere(model._known())
    n = max(1, round(part * len(known)))
    chosen = known[np.sort(generator.choice(len(known), n, replace=False))]
    rows, columns = chosen[:, 0], chosen[:, 1]
    hidden = np.zeros(model.values.shape, dtype=bool)
    hidden[rows, columns] = True
    fewer = model._hide(hidden)
    trace = sample(fewer, rng=generator, **options)
    values = model.values[rows, columns]
    cells = _Cells(fewer, rows, columns, values)
    for z in some_draws(np.asarray(trace.draws), _MOST):
        cells.look(z)
    one = fewer._cell_law(np.arange(model.n_items)).log_density(columns, values)
    return cells.result(trace, one, generator)


def _uniform_p(values: FloatArray) -> float:
    """How well values fit a uniform distribution: the p-value of Kolmogorov and Smirnov."""
    from scipy.stats import kstest  # takes a second to load

    return float(kstest(values, "uniform").pvalue)


class _Cells:
    """Held-out cells of a model of independent columns, and sums over draws of what is predicted for them."""

    def __init__(self, model: Mixture, rows: IntArray, columns: IntArray, values: AnyArray) -> None:
        self.model, self.rows, self.columns, self.values = model, rows, columns, values
        self.n_draws = 0
        self.log_score = np.full(rows.size, -np.inf)
        self.below = np.zeros((2, rows.size))
        # For categories: those of the cells' columns, end to end, and whose cell each is. The first of a
        # column is left out: its probability is what the others leave, and would count them twice.
        first = getattr(model, "first", None)
        self.owner = self.category = np.zeros(0, dtype=np.int64)
        if first is not None:
            lists = [np.arange(first[d] + 1, first[d + 1]) for d in columns]
            self.category = np.concatenate(lists)
            self.owner = np.repeat(np.arange(rows.size), [len(own) for own in lists])
        self.predicted = np.zeros(self.category.size)

    def look(self, z: AnyArray) -> None:
        """Add what one draw says."""
        self.n_draws += 1
        where = z[self.rows]
        for g in np.unique(where):
            law = self.model._cell_law(np.flatnonzero(z == g))
            own = np.flatnonzero(where == g)
            columns, values = self.columns[own], self.values[own]
            logs = law.log_density(columns, values)
            self.log_score[own] = np.logaddexp(self.log_score[own], logs)
            if self.model.kind == "categories":
                mine = np.flatnonzero(where[self.owner] == g)
                chosen = self.category[mine]
                self.predicted[mine] += np.exp(
                    law.log_density(self.columns[self.owner[mine]], chosen)
                )
            else:
                self.below[:, own] += law.below(columns, values)

    def result(
        self, trace: Trace, one: FloatArray, generator: np.random.Generator
    ) -> PredictiveCheck:
        """The check, with means over draws."""
        log_score = self.log_score - np.log(self.n_draws)
        predicted = self.predicted / self.n_draws
        occurred = (self.category == self.values[self.owner]).astype(np.int64)
        low, high = self.below / self.n_draws
        position = low + generator.random(low.size) * (high - low)
        if self.model.kind == "categories":
            position, p = np.zeros(0), _categories_p(predicted, occurred)
        else:
            p = _uniform_p(position)
        kind = self.model.kind
        rest = (log_score, one, p, trace)
        return PredictiveCheck(kind, self.rows, self.columns, position, predicted, occurred, *rest)


def _classes(predicted: FloatArray) -> IntArray:
    """The class of each predicted probability: tenths, those without entries left out."""
    bins = np.minimum((predicted * _BINS).astype(np.int64), _BINS - 1)
    return np.unique(bins, return_inverse=True)[1]


def _categories_p(predicted: FloatArray, occurred: IntArray) -> float:
    """p-value of a chi-square test of the numbers that occurred in each class of probabilities."""
    bins = _classes(predicted)
    expected = np.bincount(bins, weights=predicted)
    variance = np.bincount(bins, weights=predicted * (1 - predicted))
    found = np.bincount(bins, weights=occurred)
    # A class in which less than about one deviation is expected says nothing that is near normal.
    use = variance > 1
    statistic = ((found - expected)[use] ** 2 / variance[use]).sum()
    return float(chdtrc(max(int(use.sum()), 1), statistic))


# --- full covariance ---


def _check_items(
    model: GaussianMixture, part: float, generator: np.random.Generator, options: dict[str, Any]
) -> PredictiveCheck:
    """Hold out items; predict each of their cells from the others of the item."""
    N, d = model.values.shape
    n = min(max(1, round(part * N)), N - 1)
    out = np.sort(generator.choice(N, n, replace=False))
    fewer = model._copy(np.delete(model.values, out, axis=0))
    trace = sample(fewer, rng=generator, **options)
    new = model.values[out]
    low, score = _predict_cells(fewer, new, some_draws(np.asarray(trace.draws), _MOST))
    one = _predict_cells(fewer, new, np.zeros((1, N - n), dtype=np.int64), open_new=False)[1]
    rows, columns = np.repeat(out, d), np.tile(np.arange(d), n)
    p = _uniform_p(low.ravel())
    none = np.zeros(0)
    rest = (score.ravel(), one.ravel(), p, trace)
    return PredictiveCheck(
        model.kind, rows, columns, low.ravel(), none, none.astype(np.int64), *rest
    )


def _predict_cells(
    model: GaussianMixture, new: FloatArray, draws: AnyArray, *, open_new: bool = True
) -> tuple[FloatArray, FloatArray]:
    """(n_new, d) probability of a smaller value, and log density, of each cell given its row's others."""
    n, d = new.shape
    # Sums over draws and clusters of: weight, weight x probability, weight x density; the weight of a cluster
    # is prior x density of the other cells.
    sums = np.full((3, n, d), -np.inf)
    for members, log_prior in _distinct_clusters(model, draws, open_new):
        law = model._student_full(members)
        whole = log_prior + model._log_new_full(members, new)
        for column in range(d):
            others = new.copy()
            others[:, column] = np.nan
            weight = log_prior + model._log_new_full(members, others)
            df, center, scale = condition(new, *law, column)
            with np.errstate(divide="ignore"):
                below = np.log(stdtr(df, (new[:, column] - center) / scale))
            for row, value in enumerate((weight, weight + below, whole)):
                sums[row, :, column] = np.logaddexp(sums[row, :, column], value)
    return np.exp(sums[1] - sums[0]), sums[2] - sums[0]


def _distinct_clusters(
    model: GaussianMixture, draws: AnyArray, open_new: bool
) -> list[tuple[IntArray, float]]:
    """The clusters of all draws, each once, with the log of its prior weights summed over the draws."""
    found: dict[bytes, tuple[IntArray, float]] = {}
    nobody = np.zeros(0, dtype=np.int64)
    for z in draws:
        sizes = np.bincount(z)
        clusters = [np.flatnonzero(z == g) for g in range(sizes.size)] + [nobody] * open_new
        for members, log_prior in zip(clusters, model._log_prior_new(sizes), strict=False):
            before = found.get(members.tobytes(), (members, -np.inf))[1]
            found[members.tobytes()] = members, float(np.logaddexp(before, log_prior))
    return list(found.values())
