"""The base of all mixtures: given the partition clusters are independent, and items exchangeable in each.

    log p(Y | partition) = sum over clusters g of log p(Y_g)

where p(Y_g) has the parameters of the cluster integrated out. What a mixture says about new items and about
missing cells follows from p(y | Y_g) = p(Y_g and y) / p(Y_g), which each mixture gives in closed form.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import gammaln, stdtr

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.models.base import Model
from epluribus.models.prior import cached_tables

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
