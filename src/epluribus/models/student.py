"""Log densities of Student's distribution, which conjugate Gaussian clusters predict for the next item."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from epluribus._typing import FloatArray


def log_student(y: FloatArray, df: FloatArray, center: FloatArray, scale: FloatArray) -> FloatArray:
    """Log densities of single values; the arguments are broadcast, and NaN stays NaN."""
    z = (y - center) / scale
    constant = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(np.pi * df)
    return np.asarray(constant - np.log(scale) - 0.5 * (df + 1) * np.log1p(z**2 / df))


def log_student_full(
    y: FloatArray, df: float, center: FloatArray, scale: FloatArray
) -> FloatArray:
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
