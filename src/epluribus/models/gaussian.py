"""Mixture of Gaussian distributions, with means and variances integrated out.

**One coordinate**, or several with a diagonal covariance matrix, each with its own mean and variance:

    y_i | z_i = g ~ N(mu_g, 1 / r_g),
    mu_g | r_g ~ N(mean, 1 / (tau r_g)),    r_g ~ Gamma(shape gamma, rate delta)

A cluster with n items, sum s and sum of squares q of y - mean has the log marginal likelihood

    -(n/2) log(2 pi) + log(tau / (tau + n)) / 2 + gamma log delta
    - lgamma(gamma) + lgamma(gamma + n/2)
    - (gamma + n/2) log( delta + (q - s^2 / (n + tau)) / 2 )

and the terms of the coordinates add up. With one coordinate this is exactly the model of the paper.

**A full covariance matrix**, normal-inverse-Wishart, for d > 1 coordinates:

    y_i | z_i = g ~ N(mu_g, Sigma_g),    mu_g | Sigma_g ~ N(mean, Sigma_g / tau),
    Sigma_g ~ IW(nu, S_0),    nu = 2 gamma + d - 1,    S_0 = 2 diag(delta)

so that each single variance has the same prior as in the diagonal form. With S_n = S_0 + sum (y - mean)(y -
mean)' - s s' / (n + tau) and the multivariate lgamma_d,

    -(n d/2) log pi + (d/2) log(tau / (tau + n)) + lgamma_d((nu + n)/2) - lgamma_d(nu/2)
    + (nu/2) log|S_0| - ((nu + n)/2) log|S_n|

Inside, the data are measured in *units* in which delta is 1/2, the paper's value, and S_0 the identity; each
cell then has one more term, minus the log of its unit.

References
----------
Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186, section 6.1. doi:10.1007/s11222-017-9786-y

Murphy, K. P. (2007). Conjugate Bayesian analysis of the Gaussian distribution. Technical report,
University of British Columbia.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from epluribus._kernels.states import FULL, GAUSSIAN, State
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import check_choice, check_positive
from epluribus.models.base import Partition, Side, make_state, stack
from epluribus.models.mixtures import Mixture, StudentLaw, log_student_full
from epluribus.models.prior import PartitionLaw, as_prior
from epluribus.models.tables import check_columns, check_known, per_column, read_numbers, row_names

_RATE = 0.5
"""The rate of the Gamma prior in the units of the model: the paper's delta."""
_DEFAULTS = {"line": (0.5, 0.13), "diagonal": (0.5, 0.5), "full": (1.5, 0.1)}
"""Default gamma, and delta in squared standard deviations, of each form; "line" is one coordinate. 0.13 is
the paper's setting for the galaxies carried over; the others were tried on data with known classes."""


class GaussianMixture(Mixture):
    """Mixture of Gaussian distributions with conjugate priors, one or several coordinates.

    By default the prior is measured against the data, by the mean and the standard deviation s of each
    column: the answer does not depend on the unit. Gross outliers, more than five interquartile ranges
    beyond the quartiles, are left out of both: a few of them would merge clear clusters.

    Parameters
    ----------
    y : array_like of shape (n_items,) or (n_items, n_dims)
        The data. NaN, None and masked entries are missing, and are integrated out in the diagonal form.
    covariance : {'full', 'diagonal'}, optional
        Whether coordinates may be correlated within clusters. By default 'full' if there are several, at
        least 4 n_dims^2 items and no missing cell, else 'diagonal'. Under 'diagonal', correlated columns
        are split into many clusters.
    alpha : float, default 4
        Concentration of the Dirichlet weights; of a process, its own concentration (default 1).
    tau : float, default 0.01
        Number of observations that the prior mean is worth: the smaller, the vaguer.
    gamma : float, optional
        Shape of the Gamma prior of a precision: 0.5, or 1.5 for full covariance.
    delta : float or array_like of shape (n_dims,), optional
        Its rate, in the unit of y^2: 0.13 s^2 with one coordinate, 0.5 s^2 for the diagonal form with
        several, 0.1 s^2 for full covariance. Groups far narrower than that, such as thirty in one
        coordinate, are joined unless it is smaller.
    mean : float or array_like of shape (n_dims,), optional
        Prior mean; by default that of each column.
    prior : str or PartitionLaw, default 'uniform'
        Prior on the number of components: 'uniform', 'poisson', 'geometric' or 'fixed'; or on partitions:
        'dirichlet-process', 'pitman-yor', or an object. 'paper' stands for all settings of the paper's
        example, the galaxies in 1000 km/s: uniform, alpha 4, tau 0.01, gamma 0.5, delta 0.5, mean 0 and
        the diagonal form; there the unit of y matters.
    k_max : int, optional
        Largest number of clusters; 50, or no bound for a process.

    Notes
    -----
    A Gibbs update costs O(K n_dims) with K clusters, and O(K n_dims^2) with full covariance.

    Examples
    --------
    >>> from epluribus.models import GaussianMixture
    >>> model = GaussianMixture([0.1, -0.2, 0.0, 5.0, 5.3])
    >>> one, two = model.log_posterior([0] * 5), model.log_posterior([0, 0, 0, 1, 1])
    >>> bool(two > one)
    True
    """

    def __init__(
        self,
        y: ArrayLike,
        *,
        covariance: str | None = None,
        alpha: float | None = None,
        tau: float = 0.01,
        gamma: float | None = None,
        delta: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        table = read_numbers(y, "y")
        check_known(~np.isnan(table), "y")
        n_items, n_dims = table.shape
        if isinstance(prior, str) and prior == "paper":
            prior, covariance = "uniform", covariance or "diagonal"
            delta, mean = _RATE if delta is None else delta, 0.0 if mean is None else mean
            gamma = 0.5 if gamma is None else gamma
        self.covariance = _choose_form(covariance, table)
        form = "line" if n_dims == 1 else self.covariance
        default_gamma, share = _DEFAULTS[form]
        self.tau = check_positive(tau, "tau")
        self.gamma = check_positive(default_gamma if gamma is None else gamma, "gamma")
        center, spread = _center_and_spread(table, need_spread=delta is None)
        self.mean = center if mean is None else per_column(mean, "mean", n_dims)
        # The unit of a column: that in which its delta is _RATE. By default proportional to s, never to s^2,
        # which could overflow.
        if delta is None:
            self.unit = spread * np.sqrt(share / _RATE)
        else:
            self.unit = np.sqrt(per_column(delta, "delta", n_dims, positive=True) / _RATE)
        self.values: FloatArray = self._scale(table, "y")
        law = as_prior(prior, alpha, k_max, 4.0)
        self.sides = (Side("items", n_items, law, row_names(y)),)

    @property
    def delta(self) -> FloatArray:
        """(n_dims,) rate of the Gamma prior of a precision, in the unit of y^2."""
        return np.asarray(_RATE * self.unit**2)

    def _scale(self, table: FloatArray, argument: str) -> FloatArray:
        """Relative to the prior mean, in the units of the model; an error if squares would overflow."""
        with np.errstate(over="ignore"):
            values = (table - self.mean) / self.unit
        bad = np.argwhere(np.abs(values) >= 1e150)  # squares of larger numbers overflow
        if bad.size:
            i, d = bad[0]
            raise ValueError(
                f"'{argument}' must be within 1e150 units of the prior, sqrt(2 delta) = "
                f"{self.unit[d]:.3g}; item {i}, column {d} (counted from 0) is {table[i, d]:.3g}. "
                "Choose another unit, or leave 'delta' and 'prior' out: the prior then has the "
                "scale of the data."
            )
        return np.ascontiguousarray(values)

    # --- closed forms ---

    @property
    def _freedom(self) -> float:
        """nu, the degrees of freedom of the inverse Wishart prior."""
        return 2.0 * self.gamma + self.values.shape[1] - 1.0

    def _constant(self, n: AnyArray | int, d: int) -> FloatArray:
        """The terms of n values in d dimensions that depend on n alone, but for units; log|S_0| is 0."""
        # lgamma_d(x) is the sum of lgamma(x - j/2), j < d, and a constant that cancels.
        half = self.gamma + 0.5 * np.arange(d)
        gammas = gammaln(half + 0.5 * np.asarray(n)[..., None]).sum(axis=-1) - gammaln(half).sum()
        mean = 0.5 * d * np.log(self.tau / (self.tau + n))
        return np.asarray(-0.5 * n * d * np.log(np.pi) + mean + gammas)

    def _log_cluster(self, members: IntArray) -> float:
        y = self.values[members]
        if self.covariance == "full":
            size = len(y)
            # S_n without cancellation: I + sum (y - ybar)(y - ybar)' + tau n / (tau + n) ybar ybar'
            center = y.mean(axis=0)
            scatter = np.eye(y.shape[1]) + (y - center).T @ (y - center)
            scatter += self.tau * size / (self.tau + size) * np.outer(center, center)
            powers = 0.5 * (self._freedom + size) * np.linalg.slogdet(scatter)[1]
            units = size * np.log(self.unit).sum()
            return float(self._constant(size, y.shape[1]) - units - powers)
        n, _, spread = self._columns(y)
        logs = (self.gamma + 0.5 * n) * np.log1p(spread)
        return float((self._constant(n, 1) - n * np.log(self.unit) - logs).sum())

    def _columns(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of each column: number of values, mean, and q - s^2/(n + tau) computed without cancellation."""
        n = np.count_nonzero(~np.isnan(y), axis=0).astype(np.float64)
        center = np.nansum(y, axis=0) / np.maximum(n, 1.0)
        spread = np.nansum((y - center) ** 2, axis=0)
        return n, center, spread + self.tau * n / (self.tau + n) * center**2

    def _log_new(self, members: IntArray, new: FloatArray) -> FloatArray:
        full = self.covariance == "full"
        return self._log_new_full(members, new) if full else super()._log_new(members, new)

    def _cell_law(self, members: IntArray) -> StudentLaw:
        n, center, spread = self._columns(self.values[members])
        shape = self.gamma + 0.5 * n
        k = self.tau + n
        # The rate after n values, times (k + 1) / k for the uncertainty of the mean.
        square = 0.5 * (1.0 + spread) * (k + 1) / (k * shape)
        return StudentLaw(2 * shape, n * center / k, np.sqrt(square), self.unit)

    def _student_full(self, members: IntArray) -> tuple[float, FloatArray, FloatArray]:
        """Degrees of freedom, center and scale matrix of the next item, in the model's units."""
        y = self.values[members]
        n, d = y.shape
        k = self.tau + n
        center = y.sum(axis=0) / k
        scatter = np.eye(d) + y.T @ y - k * np.outer(center, center)
        df = self._freedom + n - d + 1
        return df, center, scatter * (k + 1) / (k * df)

    def _log_new_full(self, members: IntArray, new: FloatArray) -> FloatArray:
        df, center, scale = self._student_full(members)
        out = np.empty(len(new))
        gaps = np.isnan(new)
        # Rows with the same gaps together: any part of a Student vector is a Student vector.
        for pattern in np.unique(gaps, axis=0):
            rows = np.flatnonzero((gaps == pattern).all(axis=1))
            known = np.flatnonzero(~pattern)
            part = scale[np.ix_(known, known)]
            out[rows] = log_student_full(new[np.ix_(rows, known)], df, center[known], part)
            out[rows] -= np.log(self.unit[known]).sum()
        return out

    def remark(self, *labels: IntArray) -> str:
        """A cluster that lies around another one: what this model makes of heavy tails."""
        groups = [self.values[labels[0] == g] for g in range(labels[0].max() + 1)]
        found = []
        # Spreads of fewer than 20 values are too uncertain; 1 is added so that none is 0.
        for wide, narrow in permutations([y for y in groups if len(y) >= 20], 2):
            (n, center, rest), (m, inner, inner_rest) = self._columns(wide), self._columns(narrow)
            variance, least = (1 + rest) / np.maximum(n, 1), (1 + inner_rest) / np.maximum(m, 1)
            times = np.exp(0.5 * np.log(variance / least).mean())
            if ((center - inner) ** 2 < variance).all() and times > 2:
                found.append((times, len(wide), len(narrow)))
        if not found:
            return ""
        times, around, inside = max(found)
        return (
            f"In the best partition seen, a cluster of {around:,} items lies around one of {inside:,} and is "
            f"{times:.1f} times as wide: perhaps not a group, but heavy tails or outliers."
        )

    # --- for the sampler and for predictions ---

    def states(self, partitions: Sequence[Partition]) -> tuple[State]:
        """One fresh state; see `Model.states`."""
        n_items, d = self.values.shape
        slots, n = partitions[0].slots, np.arange(n_items + 1)
        logs = np.log(self.unit)
        if self.covariance == "full":
            kind, shape, hyper = FULL, (slots * (d + 1) + 1, d + 1), np.array([self._freedom])
            constant = self._constant(n, d) - n * logs.sum()
        else:
            kind, shape, hyper = GAUSSIAN, (slots * d, 4), np.concatenate([[self.gamma], logs])
            constant = self._constant(n, 1)
        # All sizes that a cluster can have: what depends on n alone is looked up.
        table = stack(1.0 / (n + self.tau), constant)
        return (make_state(partitions[0], kind, shape, hyper=hyper, x=self.values, table=table),)

    def _read(self, new: Any) -> FloatArray:
        table = read_numbers(new, "new")
        check_columns(table, self.values.shape[1], "new")
        return self._scale(table, "new")

    def __repr__(self) -> str:
        n_items, n_dims = self.values.shape
        if n_dims == 1:
            return super().__repr__()
        # Several columns: which form was chosen is worth knowing.
        size = f"{n_items} items, {n_dims} columns, {self.covariance} covariance"
        return f"GaussianMixture({size}, prior={self.sides[0].prior})"


# --- what is asked of the data ---


def _choose_form(covariance: str | None, table: FloatArray) -> str:
    """'full' or 'diagonal': the one asked for, if the data allow it, or the default; warns where data are few."""
    n_items, n_dims = table.shape
    gaps = np.argwhere(np.isnan(table))
    if n_dims == 1:  # the two forms are one, and the diagonal one is quicker
        check_choice(covariance or "full", ("full", "diagonal"), "covariance")
        return "diagonal"
    # A matrix has about d^2 / 2 numbers: with fewer items chains disagree (wine: 178 items, 13 columns).
    few = n_items < 4 * n_dims**2
    if covariance is None and (gaps.size or few):
        if n_items >= 20:  # else correlations are chance
            _warn_of_correlation(table, "cells are missing" if gaps.size else "items are few")
        return "diagonal"
    form = check_choice(covariance or "full", ("full", "diagonal"), "covariance")
    if form == "full" and gaps.size:
        i, d = gaps[0]
        raise ValueError(
            f"'y' must have no missing cells for covariance='full'; item {i}, column {d} (counted "
            "from 0) is missing. covariance='diagonal' integrates missing cells out."
        )
    if form == "full" and few:
        warnings.warn(
            f"{n_items} items are few for covariance matrices of {n_dims} columns, "
            f"{n_dims * (n_dims + 1) // 2} numbers for each cluster: chains may disagree. Compare "
            "covariance='diagonal', or fewer columns (principal components).",
            stacklevel=3,
        )
    return form


def _warn_of_correlation(table: FloatArray, why: str) -> None:
    """Warn where columns are correlated and the diagonal form was not asked for."""
    r = np.ma.corrcoef(np.ma.masked_invalid(table), rowvar=False).filled(0.0)  # type: ignore[no-untyped-call]
    i, j = np.unravel_index(int(np.abs(np.triu(r, 1)).argmax()), r.shape)
    if abs(r[i, j]) > 0.5:
        warnings.warn(
            f"Columns {i} and {j} (counted from 0) have correlation {r[i, j]:.2f}, and covariance="
            f"'diagonal' was chosen because {why}. If they are correlated within clusters too, it "
            "splits each cluster into many: compare fewer columns, such as principal components.",
            stacklevel=4,
        )


def _center_and_spread(table: FloatArray, *, need_spread: bool) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each column without missing cells and gross outliers; nothing overflows.

    A column that does not vary is an error if its spread is needed, unless it is the only one or there is
    only one item: then its spread is taken as 1.
    """
    # Divided by the largest value first: its square may be beyond all floats.
    top = np.nanmax(np.abs(table), axis=0)
    top[top == 0] = 1.0
    part = table / top
    first, third = np.nanquantile(part, [0.25, 0.75], axis=0)
    away = np.maximum(first - part, part - third) > 5 * (third - first)
    part = np.where(away & (third > first), np.nan, part)
    center = np.nanmean(part, axis=0)
    n = np.count_nonzero(~np.isnan(part), axis=0)
    spread = np.sqrt(np.nansum((part - center) ** 2, axis=0) / np.maximum(n - 1, 1))
    low = np.nanmin(table, axis=0)
    flat = np.nanmax(table, axis=0) == low
    if need_spread and flat.any() and len(table) > 1 and table.shape[1] > 1:
        names = ", ".join(map(str, np.flatnonzero(flat)))
        raise ValueError(
            f"'y' must vary in every column; constant (counted from 0): {names}. Leave them out: "
            "they say nothing about clusters. Or give 'delta'."
        )
    return np.where(flat, low, center * top), np.where(flat, 1.0, spread * top)
