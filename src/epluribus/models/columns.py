"""Mixtures of independent columns of categories or counts, with their probabilities and rates integrated out.

Columns are independent given the cluster. A missing cell has no term: it is integrated out (it is taken to be
missing at random).

**Categories** (latent class analysis): y_id | z_i = g ~ Categorical(theta_gd), theta_gd ~ Dirichlet(weight, ...,
weight). With n_c items of category c among the n known cells of a column with C categories, its log marginal
likelihood in a cluster is

    lgamma(C weight) - lgamma(C weight + n) + sum_c [ lgamma(weight + n_c) - lgamma(weight) ]

**Counts**: y_id | z_i = g ~ Poisson(lambda_gd), lambda_gd ~ Gamma(shape, rate_d). With n known cells of sum s,

    shape log rate - lgamma(shape) + lgamma(shape + s) - (shape + s) log(rate + n) - sum log y!

By default the rate is the shape divided by the mean of the column, so that the prior mean of lambda is the mean of
the data.

References
----------
Lazarsfeld, P. F., Henry, N. W. (1968). Latent Structure Analysis. Houghton Mifflin.

White, A., Wyse, J., Murphy, T. B. (2016). Bayesian variable selection for latent class analysis using a
collapsed Gibbs sampler. Statistics and Computing 26, 511-527. doi:10.1007/s11222-014-9542-5
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammaln

from epluribus._kernels.mixtures import FIRST
from epluribus._kernels.states import CATEGORIES, COUNTS, State
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import check_positive, shown
from epluribus.models.base import Partition, Side, make_state
from epluribus.models.mixture import CellLaw, Mixture
from epluribus.models.prior import PartitionLaw, as_prior
from epluribus.models.tables import (
    check_columns,
    check_known,
    per_column,
    read_categories,
    read_counts,
    row_names,
)

_BINARY = "For more than two categories take CategoricalMixture, for counts PoissonMixture."
_MEASURED = "For measurements take GaussianMixture."


class CategoricalMixture(Mixture):
    """Mixture of independent categorical columns: latent class analysis.

    Parameters
    ----------
    y : array_like, masked array or data frame of shape (n_items, n_columns)
        The data, one category per cell: numbers or text. NaN, None and masked entries are missing, and
        are integrated out.
    weight : float, default 0.5
        Parameter of the symmetric Dirichlet prior of the probabilities of a column.
    alpha : float, default 1
        Concentration of the Dirichlet weights of the components, or of a process.
    prior : str or PartitionLaw, default 'uniform'
        Prior on the number of components: 'uniform', 'poisson', 'geometric' or 'fixed'; or on partitions:
        'dirichlet-process', 'pitman-yor', or an object such as `PitmanYor`.
    k_max : int, optional
        Largest number of clusters; 50, or no bound for a process.

    Attributes
    ----------
    categories : list of lists
        The categories of each column, in the order of their numbers.

    Notes
    -----
    A Gibbs update costs O(K n_columns) with K clusters. A column with one category says nothing.

    Examples
    --------
    >>> from epluribus.models import CategoricalMixture
    >>> model = CategoricalMixture([["red", "yes"], ["red", None], ["blue", "no"]])
    >>> model.categories
    [['blue', 'red'], ['no', 'yes']]
    >>> round(model.log_marginal([0, 0, 1]), 3)
    -3.06
    """

    kind = "categories"

    def __init__(
        self,
        y: Any,
        *,
        weight: float = 0.5,
        alpha: float | None = None,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        codes, self.categories = read_categories(y, "y")
        own = check_positive(weight, "weight")
        self._set(codes, [np.full(len(names), own) for names in self.categories])
        self.sides = (Side("items", len(codes), as_prior(prior, alpha, k_max, 1.0), row_names(y)),)

    def _set(self, codes: IntArray, weights: list[FloatArray]) -> None:
        """Number the categories of all columns through, and keep data and prior in that form."""
        sizes = [len(own) for own in weights]
        self.first: IntArray = np.concatenate([[0], np.cumsum(sizes)])
        self.weight: FloatArray = np.concatenate(weights)
        self.weights: FloatArray = np.array([own.sum() for own in weights])
        self.values: IntArray = self._number(codes)

    def _counts(self, members: IntArray) -> tuple[IntArray, IntArray]:
        """How often each category occurs among the members, and the number of known cells of each column."""
        cells = self.values[members]
        count = np.bincount(cells[cells >= 0], minlength=self.weight.size)
        return count, np.count_nonzero(cells >= 0, axis=0)

    def _log_cluster(self, members: IntArray) -> float:
        count, seen = self._counts(members)
        categories = gammaln(self.weight + count) - gammaln(self.weight)
        columns = gammaln(self.weights) - gammaln(self.weights + seen)
        return float(categories.sum() + columns.sum())

    def _read(self, new: Any) -> IntArray:
        return self._number(read_categories(new, "new", self.categories)[0])

    def _number(self, codes: IntArray) -> IntArray:
        """Codes within each column, numbered through all columns; -1 stays."""
        return np.where(codes >= 0, codes + self.first[:-1], -1)

    def _cell_law(self, members: IntArray) -> CellLaw:
        count, seen = self._counts(members)
        totals = np.repeat(seen + self.weights, np.diff(self.first))
        return _CategoryLaw(np.log(count + self.weight) - np.log(totals))

    def states(self, partitions: Sequence[Partition]) -> tuple[State]:
        """One fresh state; see `Model.states`."""
        state = make_state(
            partitions[0],
            CATEGORIES,
            (partitions[0].slots * self.weight.size, 2),
            hyper=np.concatenate([np.zeros(FIRST), self.weights]),
            x=np.where(self.values >= 0, self.values, np.nan),
            table=self.weight[None],
        )
        return (state,)


class _CategoryLaw(CellLaw):
    """Probabilities of all categories; a category's number says its column."""

    def __init__(self, log_probabilities: FloatArray) -> None:
        self._log = log_probabilities

    def log_density(self, columns: IntArray, values: AnyArray) -> FloatArray:  # noqa: ARG002
        """(n,) log probabilities of values in these columns."""
        return np.asarray(self._log[values])


class BernoulliMixture(CategoricalMixture):
    """Mixture of independent binary columns.

    Parameters
    ----------
    y : array_like of shape (n_items, n_columns)
        Zeros and ones, or False and True. NaN, None and masked entries are missing, and are integrated out.
    beta : (float, float), default (0.5, 0.5)
        Parameters of the Beta prior of the probability of a one.
    alpha, prior, k_max
        As in `CategoricalMixture`.

    Examples
    --------
    >>> from epluribus.models import BernoulliMixture
    >>> model = BernoulliMixture([[1, 1, 0], [1, None, 0], [0, 0, 1]])
    >>> bool(model.log_marginal([0, 0, 1]) > model.log_marginal([0, 1, 1]))
    True
    """

    def __init__(
        self,
        y: Any,
        *,
        beta: tuple[float, float] = (0.5, 0.5),
        alpha: float | None = None,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        codes = read_counts(y, "y", _BINARY, 1)
        if np.shape(beta) != (2,):
            raise ValueError(
                f"'beta' must be two numbers, the parameters of a Beta prior; got {shown(beta)}."
            )
        ones, zeros = (check_positive(value, "beta") for value in beta)
        self.categories = [[0, 1]] * codes.shape[1]
        self._set(codes, [np.array([zeros, ones])] * codes.shape[1])
        self.sides = (Side("items", len(codes), as_prior(prior, alpha, k_max, 1.0), row_names(y)),)

    def _read(self, new: Any) -> IntArray:
        codes = read_counts(new, "new", _BINARY, 1)
        check_columns(codes, len(self.categories), "new")
        return self._number(codes)


class PoissonMixture(Mixture):
    """Mixture of independent columns of counts, Poisson with Gamma priors.

    Parameters
    ----------
    y : array_like of shape (n_items,) or (n_items, n_columns)
        Counts: 0, 1, 2, ... NaN, None and masked entries are missing, and are integrated out.
    shape : float, default 1
        Shape of the Gamma prior of a rate: the smaller, the more rates may differ between clusters.
    rate : float or array_like of shape (n_columns,), optional
        Its rate; by default `shape` divided by the mean of each column.
    alpha : float, default 1
        Concentration of the Dirichlet weights of the components, or of a process.
    prior : str or PartitionLaw, default 'uniform'
        Prior on the number of components: 'uniform', 'poisson', 'geometric' or 'fixed'; or on partitions:
        'dirichlet-process', 'pitman-yor', or an object such as `PitmanYor`.
    k_max : int, optional
        Largest number of clusters; 50, or no bound for a process.

    Notes
    -----
    A Gibbs update costs O(K n_columns) with K clusters. Counts that vary more than Poisson counts do within
    a cluster are split into several: `predictive_check` shows it.

    Examples
    --------
    >>> from epluribus.models import PoissonMixture
    >>> model = PoissonMixture([0, 1, 0, 12, 9])
    >>> bool(model.log_marginal([0, 0, 0, 1, 1]) > model.log_marginal([0] * 5))
    True
    """

    kind = "counts"

    def __init__(
        self,
        y: Any,
        *,
        shape: float = 1.0,
        rate: ArrayLike | None = None,
        alpha: float | None = None,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        self.values: IntArray = read_counts(y, "y", _MEASURED)
        known = self.values >= 0
        check_known(known, "y")
        self.shape = check_positive(shape, "shape")
        n_items, n_columns = self.values.shape
        if rate is None:
            # A column of zeros has no mean to go by: 1 stands for it.
            mean = np.where(known, self.values, 0).sum(axis=0) / known.sum(axis=0)
            self.rate: FloatArray = self.shape / np.where(mean > 0, mean, 1.0)
        else:
            self.rate = per_column(rate, "rate", n_columns, positive=True)
        self.sides = (Side("items", n_items, as_prior(prior, alpha, k_max, 1.0), row_names(y)),)

    def _sums(self, members: IntArray) -> tuple[FloatArray, FloatArray]:
        """Number of known cells and their sum, by column."""
        cells = self.values[members]
        seen = np.count_nonzero(cells >= 0, axis=0)
        return seen.astype(np.float64), np.maximum(cells, 0).sum(axis=0).astype(np.float64)

    def _log_cluster(self, members: IntArray) -> float:
        n, s = self._sums(members)
        a, b = self.shape, self.rate
        values = a * np.log(b) - gammaln(a) + gammaln(a + s) - (a + s) * np.log(b + n)
        # A missing cell, -1, counts as 0! = 1.
        factorials = gammaln(np.maximum(self.values[members], 0) + 1.0).sum()
        return float(values.sum() - factorials)

    def _cell_law(self, members: IntArray) -> CellLaw:
        n, s = self._sums(members)
        return _CountLaw(self.shape + s, self.rate + n)

    def _read(self, new: Any) -> IntArray:
        table = read_counts(new, "new", _MEASURED)
        check_columns(table, self.values.shape[1], "new")
        return table

    def states(self, partitions: Sequence[Partition]) -> tuple[State]:
        """One fresh state; see `Model.states`."""
        state = make_state(
            partitions[0],
            COUNTS,
            (partitions[0].slots * self.rate.size, 2),
            hyper=np.concatenate([[self.shape, 0.0], self.rate]),
            x=np.where(self.values >= 0, self.values, np.nan),
            table=gammaln(np.maximum(self.values, 0) + 1.0).sum(axis=1)[None],
        )
        return (state,)


class _CountLaw(CellLaw):
    """Negative binomial distributions: Poisson counts whose rates are Gamma(a, b), by column."""

    def __init__(self, a: FloatArray, b: FloatArray) -> None:
        self._a, self._b = a, b

    def log_density(self, columns: IntArray, values: AnyArray) -> FloatArray:
        """(n,) log probabilities of values in these columns."""
        a, b = self._a[columns], self._b[columns]
        logs = gammaln(a + values) - gammaln(a) - gammaln(values + 1.0)
        return np.asarray(logs - a * np.log1p(1.0 / b) - values * np.log(b + 1.0))

    def below(self, columns: IntArray, values: AnyArray) -> tuple[FloatArray, FloatArray]:
        """(n,) probabilities of a smaller value, and of one that is not larger."""
        a, p = self._a[columns], self._b[columns] / (self._b[columns] + 1.0)
        # P(Y <= y) is the incomplete beta function I_p(a, y + 1); nothing is smaller than 0.
        less = np.where(values > 0, betainc(a, np.maximum(values, 1), p), 0.0)
        return less, betainc(a, values + 1.0, p)
