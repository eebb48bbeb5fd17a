"""Mixtures of independent Poisson columns, with their rates integrated out.

    y_id | z_i = g ~ Poisson(lambda_gd),    lambda_gd ~ Gamma(shape, rate_d)

Columns are independent given the cluster. With n known cells of sum s, a column has in a cluster the log
marginal likelihood

    shape log rate - lgamma(shape) + lgamma(shape + s) - (shape + s) log(rate + n) - sum log y!

A missing cell has no term: it is integrated out (it is taken to be missing at random). By default the rate is
the shape divided by the mean of the column, so that the prior mean of lambda is the mean of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, gammaln

from epluribus._kernels.states import COUNTS, State
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import check_positive
from epluribus.models.base import Partition, Side, make_state
from epluribus.models.mixture import BoolArray, CellLaw, Mixture
from epluribus.models.prior import PartitionLaw, as_prior
from epluribus.models.tables import check_columns, check_known, per_column, read_counts

_WAY_OUT = "For measurements take GaussianMixture."


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
        self.values: IntArray = read_counts(y, "y", _WAY_OUT)
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
        self.sides = (Side("items", n_items, as_prior(prior, alpha, k_max, 1.0)),)

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

    def _log_new(self, members: IntArray, new: IntArray) -> FloatArray:
        logs = self._cell_law(members).log_density(np.arange(new.shape[1]), np.maximum(new, 0))
        return np.asarray(np.where(new >= 0, logs, 0.0).sum(axis=1))

    def _cell_law(self, members: IntArray) -> CellLaw:
        n, s = self._sums(members)
        return _CountLaw(self.shape + s, self.rate + n)

    def _known(self) -> BoolArray:
        return np.asarray(self.values >= 0)

    def _hide(self, cells: BoolArray) -> PoissonMixture:
        return self._copy(np.where(cells, -1, self.values))

    def _read(self, new: Any) -> IntArray:
        table = read_counts(new, "new", _WAY_OUT)
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

    def _parameters(self) -> dict[str, Any]:
        settings = np.append(self.rate, self.shape)
        return {"values": self.values, "settings": settings}


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
