"""Matrices of zeros and ones, checked and made sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def binary_matrix(matrix: Any, argument: str) -> sparse.csr_array:
    """A dense or sparse matrix of zeros and ones, as CSR with sorted indices and no stored zeros.

    Parameters
    ----------
    matrix : array_like or sparse matrix of shape (n_rows, n_columns)
    argument : str
        Its name in messages.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_rows, n_columns)
    """
    if not sparse.issparse(matrix):
        try:
            matrix = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"'{argument}' must be a matrix of zeros and ones; {error}.") from None
        if matrix.ndim != 2:
            raise ValueError(f"'{argument}' must have two dimensions; got {matrix.ndim}.")
    if 0 in matrix.shape:
        raise ValueError(f"'{argument}' must have rows and columns; got shape {matrix.shape}.")
    # Every entry that is not 0, NaN included.
    entries = sparse.coo_array(matrix)
    values = np.asarray(entries.data, dtype=np.float64)
    bad = np.flatnonzero((values != 0) & (values != 1))
    if bad.size:
        i, j, value = entries.row[bad[0]], entries.col[bad[0]], values[bad[0]]
        if np.isnan(value):
            way_out = "Decide what a missing entry means and put 0 or 1."
        else:
            way_out = f"For weights, choose a threshold: ({argument} > 0)."
        raise ValueError(
            f"'{argument}' must hold only 0 and 1, the model is for binary data; entry ({i}, {j}) "
            f"(counted from 0) is {value:g}. {way_out}"
        )
    # The conversion adds up entries that are stored twice: 1 + 1 shows as a 2.
    csr = sparse.csr_array(entries, dtype=np.int64)
    if csr.data.size and csr.data.max() > 1:
        raise ValueError(f"'{argument}' must hold each entry once; some are repeated.")
    csr.eliminate_zeros()
    csr.sort_indices()
    return csr
