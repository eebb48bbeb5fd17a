"""Log densities of Student's distribution, which conjugate Gaussian clusters predict for the next item."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln, stdtr

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.models.mixture import CellLaw


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


class StudentLaw(CellLaw):
    """Student distributions, one for each column, of values in the units of a model."""

    def __init__(
        self, df: FloatArray, center: FloatArray, scale: FloatArray, unit: FloatArray
    ) -> None:
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
