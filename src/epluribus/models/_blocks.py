"""What the block models share: checked binary data, tables of the Beta-Bernoulli block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import betaln, gammaln

from epluribus._kernels.beta import BetaTables
from epluribus._validate import check_positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["beta_tables", "binary_matrix", "check_beta", "log_blocks"]

_TABLE_LIMIT = 1 << 20
"""Entries of a table (8 MB): larger counts call lgamma, slower but without memory that grows as
N^2."""


def check_beta(beta: Any) -> tuple[float, float]:
    """The two parameters of the Beta prior."""
    try:
        b1, b2 = beta
    except (TypeError, ValueError):
        raise ValueError(f"'beta' must be two numbers, such as (0.5, 0.5); got {beta!r}.") from None
    return check_positive(b1, "beta"), check_positive(b2, "beta")


def beta_tables(beta: tuple[float, float], n_ones: int, n_cells: int) -> BetaTables:
    """Log rising factorials for up to `n_ones` ones among `n_cells` cells."""

    def table(b: float, last: int) -> NDArray[np.float64]:
        return np.asarray(gammaln(np.arange(min(last + 1, _TABLE_LIMIT)) + b) - gammaln(b))

    b1, b2 = beta
    return BetaTables(b1, b2, table(b1, n_ones), table(b2, n_cells), table(b1 + b2, n_cells))


def log_blocks(beta: tuple[float, float], ones: NDArray[Any], cells: NDArray[Any]) -> float:
    """Sum over blocks of log B(e + b1, n - e + b2) - log B(b1, b2)."""
    b1, b2 = beta
    return float((betaln(ones + b1, cells - ones + b2) - betaln(b1, b2)).sum())


def binary_matrix(matrix: Any, argument: str) -> sparse.csr_array:
    """A dense or sparse matrix of zeros and ones, as CSR with sorted indices."""
    if sparse.issparse(matrix):
        out = sparse.coo_array(matrix)
        _check_entries(out.data, argument, lambda at: (int(out.row[at]), int(out.col[at])))
    else:
        table = _numbers(matrix, argument)
        _check_entries(
            table.ravel(), argument, lambda at: (at // table.shape[1], at % table.shape[1])
        )
        out = sparse.coo_array(table)
    if 0 in out.shape:
        raise ValueError(f"'{argument}' must have rows and columns; got shape {out.shape}.")
    csr = sparse.csr_array(out, dtype=np.int64)
    csr.sum_duplicates()
    if csr.data.size and csr.data.max() > 1:
        raise ValueError(f"'{argument}' must hold each entry once; some are repeated.")
    csr.eliminate_zeros()
    csr.sort_indices()
    return csr


def _numbers(matrix: Any, argument: str) -> NDArray[np.float64]:
    try:
        table = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"'{argument}' must be a matrix of zeros and ones; {error}.") from None
    if table.ndim != 2:
        raise ValueError(f"'{argument}' must have two dimensions; got {table.ndim}.")
    return table


def _check_entries(values: NDArray[Any], argument: str, place: Any) -> None:
    values = np.asarray(values, dtype=np.float64)
    bad = np.flatnonzero((values != 0) & (values != 1))
    if bad.size:
        i, j = place(int(bad[0]))
        value = values[bad[0]]
        if np.isnan(value):
            way_out = "Decide what a missing entry means and put 0 or 1."
        else:
            way_out = f"For weights, choose a threshold: ({argument} > 0)."
        raise ValueError(
            f"'{argument}' must hold only 0 and 1, the model is for binary data; entry ({i}, {j}) "
            f"(counted from 0) is {value:g}. {way_out}"
        )
