"""Mixtures: given the partition clusters are independent, and items exchangeable in each.

    log p(Y | partition) = sum over clusters g of log p(Y_g)

where p(Y_g) has the parameters of the cluster integrated out. What a mixture says about new items and about
missing cells follows from p(y | Y_g) = p(Y_g and y) / p(Y_g), which each mixture gives in closed form.

Here are their base, and those of independent columns of categories or counts. A missing cell has no term: it is
integrated out (it is taken to be missing at random).

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

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.special import betainc, gammaln, stdtr

from epluribus._kernels.mixtures import FIRST
from epluribus._kernels.states import CATEGORIES, COUNTS, State
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import check_positive
from epluribus.models.base import Model, Partition, Side, make_state
from epluribus.models.prior import PartitionLaw, as_prior, cached_tables
from epluribus.models.tables import (
    check_columns,
    check_known,
    per_column,
    read_beta,
    read_categories,
    read_counts,
    row_names,
)

_BINARY = "For more than two categories take CategoricalMixture, for counts PoissonMixture."
_MEASURED = "For measurements take GaussianMixture."
BoolArray: TypeAlias = NDArray[np.bool_]


class Mixture(Model):
    """Base of mixtures of independent, identically distributed items.

    A subclass sets `values` and defines `_log_cluster`, `_cell_law`, `_read`, `states` and `_parameters`.
    """

    values: AnyArray
    """(n_items, n_columns) the data, as the statistics need them."""
    kind: ClassVar[str] = "numbers"
    """What a cell is: "numbers", "counts" or "categories"."""

    @abstractmethod
    def _log_cluster(self, members: IntArray) -> float:
        """Log marginal likelihood of the items with these numbers in one cluster; from scratch."""

    @abstractmethod
    def _read(self, new: Any) -> AnyArray:
        """New items, checked and in the form of `values`."""

    def _log_likelihood(self, *labels: IntArray) -> float:
        n_clusters = int(labels[0].max()) + 1
        return sum(self._log_cluster(np.flatnonzero(labels[0] == g)) for g in range(n_clusters))

    def _log_prior_new(self, sizes: IntArray) -> FloatArray:
        """(K + 1,) log prior probabilities that one more item joins each cluster, or opens a new one."""
        table = cached_tables(self.sides[0].prior, int(sizes.sum()) + 1)
        K = sizes.size
        out = np.full(K + 1, -np.inf)
        if table.slots >= K:
            out[:K] = table.log_weight[K] + table.log_size[sizes + 1] - table.log_size[sizes]
        if table.slots > K:
            out[K] = table.log_weight[K + 1] + table.log_size[1]
        top = out.max()
        return np.asarray(out - top - np.log(np.exp(out - top).sum()))

    def _log_new(self, members: IntArray, new: AnyArray) -> FloatArray:
        """(n_new,) log predictive density of new items in the cluster of `members`, perhaps empty."""
        logs = np.zeros(new.shape)
        rows, columns = np.nonzero(self._known(new))
        law = self._cell_law(members)
        logs[rows, columns] = law.log_density(columns, new[rows, columns])
        return np.asarray(logs.sum(axis=1))

    # --- for the check of predictions: `epluribus.uncertainty.predictive_check` ---

    def _known(self, values: AnyArray | None = None) -> BoolArray:
        """(n_items, n_columns) which cells are not missing: NaN among numbers, -1 among codes."""
        values = self.values if values is None else values
        return np.asarray(~np.isnan(values) if self.kind == "numbers" else values >= 0)

    def _hide(self, cells: BoolArray) -> Self:
        """The same model, prior included, with these cells missing too."""
        return self._copy(np.where(cells, np.nan if self.kind == "numbers" else -1, self.values))

    @abstractmethod
    def _cell_law(self, members: IntArray) -> CellLaw:
        """What the cluster of `members` says about the next value of each column."""

    def _copy(self, values: AnyArray) -> Self:
        """The same model of other values, with as many columns."""
        other = copy.copy(self)
        other.values = np.ascontiguousarray(values)
        other.sides = (replace(self.sides[0], n_items=len(values), items=None),)
        return other


class CellLaw(ABC):
    """Predictive distributions of the next value of every column of a cluster."""

    @abstractmethod
    def log_density(self, columns: IntArray, values: AnyArray) -> FloatArray:
        """(n,) log densities or log probabilities of values in these columns."""

    def below(self, columns: IntArray, values: AnyArray) -> tuple[FloatArray, FloatArray]:
        """(n,) probabilities of a smaller value, and of one that is not larger."""
        raise NotImplementedError


class StudentLaw(CellLaw):
    """Student distributions, one for each column, of values in the units of a model."""

    def __init__(self, df: AnyArray, center: AnyArray, scale: AnyArray, unit: AnyArray) -> None:
        self.df, self.center, self.scale, self.unit = df, center, scale, unit

    def log_density(self, columns: IntArray, values: AnyArray) -> FloatArray:
        """Log densities of values in these columns, in the unit of the data; NaN stays NaN."""
        df, scale = self.df[columns], self.scale[columns]
        z = (values - self.center[columns]) / scale
        constant = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(np.pi * df)
        constant = constant - np.log(scale) - np.log(self.unit[columns])
        return np.asarray(constant - 0.5 * (df + 1) * np.log1p(z**2 / df))

    def below(self, columns: IntArray, values: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of a smaller value, twice: single values have no probability."""
        z = (values - self.center[columns]) / self.scale[columns]
        p = np.asarray(stdtr(self.df[columns], z))
        return p, p


def log_student_full(y: FloatArray, df: float, center: FloatArray, scale: FloatArray) -> FloatArray:
    """(n,) log densities of the rows of y, vectors with a full scale matrix; 0 for rows of length 0."""
    d = center.size
    if d == 0:
        return np.zeros(len(y))
    factor = np.linalg.cholesky(scale)
    z = solve_triangular(factor, (y - center).T, lower=True)
    constant = gammaln(0.5 * (df + d)) - gammaln(0.5 * df) - 0.5 * d * np.log(np.pi * df)
    constant -= np.log(np.diag(factor)).sum()
    return np.asarray(constant - 0.5 * (df + d) * np.log1p((z**2).sum(axis=0) / df))


def condition(
    y: FloatArray, df: float, center: FloatArray, scale: FloatArray, column: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Law of one column given the others: df, center and scale, one entry for each row of y.

    Given the others, a part of a Student vector is Student again, with as many more degrees of freedom as
    there are others, and a scale that grows with their distance from the center.
    """
    others = np.arange(center.size) != column
    weights = np.linalg.solve(scale[np.ix_(others, others)], scale[others, column])
    away = y[:, others] - center[others]
    distance = (away * np.linalg.solve(scale[np.ix_(others, others)], away.T).T).sum(axis=1)
    left = scale[column, column] - scale[column, others] @ weights
    n_others = center.size - 1
    spread = np.sqrt(left * (df + distance) / (df + n_others))
    return np.full(len(y), df + n_others), center[column] + away @ weights, spread


# --- independent columns ---


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
        ones, zeros = read_beta(beta)
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
            hyper=np.concatenate([[self.shape], self.rate]),
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
