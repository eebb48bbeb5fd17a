"""What a Gaussian mixture asks of its data and its arguments, and what it warns about."""

from __future__ import annotations

import warnings

import numpy as np

from epluribus._typing import FloatArray
from epluribus._validate import check_choice
from epluribus.models.mixture import BoolArray, Mixture

_ENOUGH = 4
"""Items per squared number of columns from which full covariance is the default. A matrix has about d^2 / 2
numbers: with fewer items chains disagree (wine: 178 items, 13 columns)."""
_TELLING = 20
"""Items in which two columns must be known before their correlation is looked at."""
_CORRELATED = 0.5
"""Correlation of two columns above which the forms are compared."""
_LOOKED_AT = 2000
"""Items by which they are compared, about."""
_CLEARLY = 12.0
"""Difference of log posteriors above which the diagonal form warns."""


def choose_form(covariance: str | None, table: FloatArray) -> str:
    """'full' or 'diagonal': the one asked for, if the data allow it, or the default."""
    n_items, n_dims = table.shape
    gaps = bool(np.isnan(table).any())
    if covariance is None:
        full = n_dims > 1 and not gaps and n_items >= _ENOUGH * n_dims**2
        return "full" if full else "diagonal"
    check_choice(covariance, ("full", "diagonal"), "covariance")
    if covariance == "full" and gaps:
        i, d = np.argwhere(np.isnan(table))[0]
        raise ValueError(
            f"'y' must have no missing cells for covariance='full'; item {i}, column {d} (counted "
            "from 0) is missing. covariance='diagonal' integrates missing cells out."
        )
    # With one column the two forms are one; the diagonal one is quicker.
    return covariance if n_dims > 1 else "diagonal"


def center_and_spread(table: FloatArray, *, need_spread: bool) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each column, missing cells left out; nothing overflows.

    A column that does not vary is an error if its spread is needed, unless it is the only one or there is
    only one item: then its spread is taken as 1.
    """
    # Divided by the largest value first: its square may be beyond all floats.
    top = np.nanmax(np.abs(table), axis=0)
    top[top == 0] = 1.0
    part = table / top
    center = np.nanmean(part, axis=0)
    n = np.count_nonzero(~np.isnan(part), axis=0)
    spread = np.sqrt(np.nansum((part - center) ** 2, axis=0) / np.maximum(n - 1, 1))
    flat = np.nanmax(table, axis=0) == np.nanmin(table, axis=0)
    if need_spread and flat.any() and len(table) > 1 and table.shape[1] > 1:
        names = ", ".join(map(str, np.flatnonzero(flat)))
        raise ValueError(
            f"'y' must vary in every column; constant (counted from 0): {names}. Leave them out: "
            "they say nothing about clusters. Or give 'delta'."
        )
    center = np.where(flat, np.nanmin(table, axis=0), center * top)
    return center, np.where(flat, 1.0, spread * top)


def warn_of_full(n_items: int, n_dims: int) -> None:
    """Warn where there are few items for covariance matrices of this size."""
    if n_items < _ENOUGH * n_dims**2:
        warnings.warn(
            f"{n_items} items are few for covariance matrices of {n_dims} columns, "
            f"{n_dims * (n_dims + 1) // 2} numbers for each cluster: chains may disagree. Compare "
            "covariance='diagonal', or fewer columns (principal components).",
            stacklevel=3,
        )


def warn_of_diagonal(diagonal: Mixture, full: Mixture) -> None:
    """Warn where columns are correlated and the diagonal form does not explain it by clusters.

    Columns that differ between clusters are correlated too, and that is no reason to warn. So a quick
    partition is grown under both forms: where clusters with correlated columns have by far the higher
    posterior, the data speak against the diagonal form. `full` has the same prior for each column.
    """
    table = diagonal.values
    n_dims = table.shape[1]
    r, first, second = _largest_correlation(table) if n_dims > 1 else (0.0, 0, 0)
    if abs(r) <= _CORRELATED:
        return
    pair = f"Columns {first} and {second} (counted from 0) have correlation {r:.2f}"
    rows = np.flatnonzero(~np.isnan(table).any(axis=1))
    # Evenly spaced: data are often sorted.
    rows = rows[:: max(1, rows.size // _LOOKED_AT)]
    if rows.size < _ENOUGH * n_dims**2:
        warnings.warn(
            f"{pair}, and there are too few complete items to compare covariance='full'. If they are "
            "correlated within clusters too, the diagonal form splits each cluster into many. "
            "Compare principal components.",
            stacklevel=3,
        )
        return
    gain = grow(full._copy(table[rows])) - grow(diagonal._copy(table[rows]))
    if gain > _CLEARLY:
        warnings.warn(
            f"{pair}, and clusters with correlated columns explain the data better, by {gain:.0f} in "
            "log posterior. The diagonal form splits each such cluster into many: take "
            "covariance='full'.",
            stacklevel=3,
        )


def grow(model: Mixture) -> float:
    """The log posterior of a partition grown from one cluster, by halving while that helps."""
    labels = np.zeros(model.n_items, dtype=np.int64)
    value = model.log_posterior(labels)
    waiting = [0]
    while waiting:
        g = waiting.pop()
        members = np.flatnonzero(labels == g)
        half = _halve(model.values[members])
        if half.all() or not half.any():
            continue
        trial = labels.copy()
        trial[members[half]] = labels.max() + 1
        after = model.log_posterior(trial)
        if after > value:
            value, labels = after, trial
            waiting += [g, int(labels.max())]
    return value


def _halve(y: FloatArray) -> BoolArray:
    """Two means: which rows are nearer to the second; it begins with the halves of the longest axis."""
    away = y - y.mean(axis=0)
    axis = np.linalg.eigh(away.T @ away)[1][:, -1]
    half = away @ axis > 0
    for _ in range(10):
        if half.all() or not half.any():
            break
        first, second = y[~half].mean(axis=0), y[half].mean(axis=0)
        half = ((y - first) ** 2).sum(axis=1) > ((y - second) ** 2).sum(axis=1)
    return np.asarray(half)


def _largest_correlation(values: FloatArray) -> tuple[float, int, int]:
    """The correlation of largest size among all pairs of columns, and the pair."""
    center, spread = center_and_spread(values, need_spread=False)
    z = (values - center) / spread
    known = ~np.isnan(z)
    z = np.where(known, z, 0.0)
    # Sums over the items in which both columns are known.
    both = known.T.astype(np.float64) @ known
    size = np.sqrt((z**2).T @ known * (known.T @ z**2))
    r = np.where((both >= _TELLING) & (size > 0), z.T @ z / np.where(size > 0, size, 1.0), 0.0)
    np.fill_diagonal(r, 0.0)
    first, second = np.unravel_index(int(np.abs(r).argmax()), r.shape)
    return float(r[first, second]), int(first), int(second)
