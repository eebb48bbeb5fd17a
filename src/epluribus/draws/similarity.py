"""A similarity matrix that was made elsewhere, in place of draws: read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from epluribus._typing import FloatArray, IntArray
from epluribus._validate import check_memory
from epluribus.readers.files import read_matrix

_CLOSE = 1e-6
"""Rounding that is allowed in a matrix read from a file: asymmetry, values beyond 0 and 1, the diagonal."""

NEEDS_DRAWS = (
    "a similarity matrix says how often two items are together, not in which draws: only minimize(psm=...), "
    "expected_loss(labels, psm=...) and plots.similarity(psm=...) can do without the draws themselves."
)
"""The reason why a function refuses a matrix."""


@dataclass(frozen=True)
class SimilarityMatrix:
    """Probabilities that items share a cluster, without the draws they come from."""

    matrix: Any
    """(n_items, n_items) scipy.sparse.csr_array, symmetric, without the diagonal and without zeros."""
    items: tuple[str, ...] | None
    """Names of the items, if a data frame brought them."""

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.matrix.shape[0])

    @classmethod
    def of(cls, psm: Any) -> SimilarityMatrix:
        """Read and check a matrix: an array, nested lists, a data frame, a SciPy sparse matrix, or a file of one.

        Files are csv and other text, npy, npz of SciPy, and rds.

        Examples
        --------
        >>> from epluribus.draws.similarity import SimilarityMatrix
        >>> SimilarityMatrix.of([[1, 0.5], [0.4, 1]])
        Traceback (most recent call last):
        ValueError: 'psm' must be symmetric; entry (0, 1) is 0.5 and entry (1, 0) is 0.4.
        """
        from scipy.sparse import csr_array, issparse

        if isinstance(psm, cls):
            return psm
        items = psm.columns if hasattr(psm, "columns") else None
        if isinstance(psm, str | Path):
            psm, items = read_matrix(Path(psm))
        if not issparse(psm):
            psm = _to_array(psm)
        if psm.ndim != 2 or psm.shape[0] != psm.shape[1] or psm.shape[0] == 0:
            raise ValueError(
                f"'psm' must be a square matrix, items by items; got shape {psm.shape}. Draws are given as "
                "the first argument: minimize(draws)."
            )
        # Two copies of the entries, with their places.
        check_memory(
            40.0 * (psm.nnz if issparse(psm) else np.count_nonzero(psm)),
            f"A search with the similarity matrix of {psm.shape[0]:,} items",
            "Leave out small entries in a sparse matrix, or take fewer items.",
        )
        csr = _checked(csr_array(psm, dtype=np.float64))
        csr = (csr + csr.T) * 0.5
        csr.setdiag(0.0)
        csr.eliminate_zeros()
        csr.sort_indices()
        return cls(csr, None if items is None else tuple(map(str, items)))

    def dense(self, keep: IntArray | None = None) -> FloatArray:
        """(n, n) the similarities of some items, or of all, with ones on the diagonal."""
        out = (self.matrix if keep is None else self.matrix[keep][:, keep]).toarray()
        np.fill_diagonal(out, 1.0)
        return out


def is_similarity(z: Any) -> bool:
    """Whether `z`, given as draws, can only be a similarity matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.draws.similarity import is_similarity
    >>> is_similarity(np.array([[1.0, 0.5], [0.5, 1.0]])), is_similarity(np.eye(2))
    (True, False)
    """
    from scipy.sparse import issparse

    if issparse(z):  # no reader takes one
        return True
    if not (isinstance(z, np.ndarray) and z.dtype.kind == "f" and z.ndim == 2):
        return False
    # Labels stored as floats are integers; something between 0 and 1 is not a label.
    square = z.shape[0] == z.shape[1]
    return square and bool((z.diagonal() == 1.0).all() and ((z > 0) & (z < 1)).any())


def _to_array(psm: Any) -> Any:
    """The matrix as floats; what is masked is missing."""
    if isinstance(psm, np.ma.MaskedArray):
        return np.ma.filled(psm.astype(np.float64), np.nan)
    try:
        return np.asarray(psm, dtype=np.float64)
    except (TypeError, ValueError):
        what = f"a matrix of numbers, dense or of SciPy's sparse kinds; got {type(psm).__name__}"
        raise TypeError(f"'psm' must be {what}.") from None


def _checked(csr: Any) -> Any:
    """The matrix itself, if its entries are similarities; rounding beyond 0 and 1 is cut off."""
    # NaN fails both comparisons.
    for i, j in _places(csr, ~((csr.data >= -_CLOSE) & (csr.data <= 1 + _CLOSE))):
        raise ValueError(
            f"'psm' must hold probabilities, from 0 to 1; entry ({i}, {j}) is {csr[i, j]:g}."
        )
    csr.data = np.clip(csr.data, 0.0, 1.0)
    for i in np.flatnonzero(np.abs(csr.diagonal() - 1.0) > _CLOSE).tolist():
        raise ValueError(
            f"'psm' must have ones on the diagonal; entry ({i}, {i}) is {csr[i, i]:g}. If these are "
            "distances, give 1 - distances."
        )
    apart = abs(csr - csr.T)
    for i, j in _places(apart, apart.data > _CLOSE):
        raise ValueError(
            f"'psm' must be symmetric; entry ({i}, {j}) is {csr[i, j]:g} and entry ({j}, {i}) is {csr[j, i]:g}."
        )
    return csr


def _places(csr: Any, bad: Any) -> list[tuple[int, int]]:
    """Row and column of the first bad entry, if there is one."""
    first = np.flatnonzero(bad)[:1]
    rows = np.searchsorted(csr.indptr, first, side="right") - 1
    return list(zip(rows.tolist(), csr.indices[first].tolist(), strict=True))
