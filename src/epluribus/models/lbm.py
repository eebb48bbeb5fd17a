"""Latent block model of a binary matrix: rows and columns clustered together.

    y_ij | row i in g, column j in h ~ Bernoulli(theta_gh),    theta_gh ~ Beta(b1, b2)

The probabilities are integrated out. Rows and columns have independent partitions and priors (the
paper writes one theta for both: a slip). With e_gh ones in the n_g m_h cells of a block

    log p(Y | rows, columns) = sum_{g,h} log B(e_gh + b1, n_g m_h - e_gh + b2) - log B(b1, b2)

References
----------
Wyse, J., Friel, N. (2012). Block clustering with collapsed latent block models. Statistics and
Computing 22, 415-428. doi:10.1007/s11222-011-9233-4

Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186, section 6.3. doi:10.1007/s11222-017-9786-y
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from epluribus._kernels.lbm import LatentBlockState
from epluribus.models._blocks import beta_tables, binary_matrix, check_beta, log_blocks
from epluribus.models.base import Model, Side
from epluribus.models.prior import PartitionLaw, as_law

if TYPE_CHECKING:
    from collections.abc import Sequence

    from epluribus._kernels.chain import Partition
    from epluribus._typing import IntArray

__all__ = ["LatentBlockModel"]


class LatentBlockModel(Model):
    """Latent block model of a binary matrix.

    Parameters
    ----------
    matrix : array_like or sparse matrix of shape (n_rows, n_columns)
        Zeros and ones.
    beta : (float, float), default (0.5, 0.5)
        Parameters of the Beta prior of the block probabilities.
    alpha : float or (float, float), default 0.5
        Concentration of the Dirichlet weights, of rows and columns if two.
    prior : str or PartitionLaw, or two of them, default 'uniform'
        Prior on the number of components, of rows and columns if two; see `PartitionPrior`.
    k_max : int or (int, int), default 50
        Largest number of clusters, of rows and columns if two.

    Notes
    -----
    A Gibbs update of a row costs O(K_rows K_columns + ones in the row).

    Examples
    --------
    >>> from epluribus.models import LatentBlockModel
    >>> model = LatentBlockModel([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> split = model.log_marginal([0, 0, 1], [0, 0, 1])
    >>> bool(split > model.log_marginal([0, 0, 0], [0, 0, 0]))
    True
    """

    statistics = ("ones", "cell")

    def __init__(
        self,
        matrix: Any,
        *,
        beta: tuple[float, float] = (0.5, 0.5),
        alpha: float | tuple[float, float] | None = None,
        prior: str | PartitionLaw | tuple[str | PartitionLaw, str | PartitionLaw] = "uniform",
        k_max: int | tuple[int, int] | None = None,
    ) -> None:
        self._matrix = binary_matrix(matrix, "matrix")
        self.beta = check_beta(beta)
        priors, alphas, bounds = _two(prior, "prior"), _two(alpha, "alpha"), _two(k_max, "k_max")
        laws = [as_law(*three, 0.5) for three in zip(priors, alphas, bounds, strict=True)]
        n_rows, n_columns = self._matrix.shape
        self.sides = (Side("rows", n_rows, laws[0]), Side("columns", n_columns, laws[1]))

    def _log_likelihood(self, *labels: IntArray) -> float:
        rows, columns = labels
        by_row = sparse.csr_array((np.ones(rows.size, np.int64), (rows, np.arange(rows.size))))
        by_column = sparse.csr_array(
            (np.ones(columns.size, np.int64), (np.arange(columns.size), columns))
        )
        ones = (by_row @ self._matrix @ by_column).toarray()
        cells = np.outer(np.bincount(rows), np.bincount(columns))
        return log_blocks(self.beta, ones, cells)

    def states(self, partitions: Sequence[Partition]) -> tuple[LatentBlockState, LatentBlockState]:
        """Fresh states, one per side: two views of one table of counts."""
        rows, columns = partitions
        shape = (max(rows.sizes.size, 2), max(columns.sizes.size, 2))
        # Cut out of larger arrays: strided views have one type for the compiler, transposed or not
        # (but a single row would be contiguous, hence the 2).
        ones = np.zeros((shape[0] + 1, shape[1] + 1), dtype=np.int64)[: shape[0], : shape[1]]
        cell = np.zeros((shape[0] + 1, shape[1] + 1))[: shape[0], : shape[1]]
        n_rows, n_columns = self._matrix.shape
        tables = beta_tables(self.beta, self._matrix.nnz, n_rows * n_columns)

        def view(matrix: Any, other: Partition, ones: Any, cell: Any) -> LatentBlockState:
            return LatentBlockState(
                start=matrix.indptr.astype(np.int64),
                where=matrix.indices.astype(np.int64),
                beta=tables,
                other_labels=other.labels,
                other_sizes=other.sizes,
                other_order=other.order,
                other_n_clusters=other.n_clusters,
                ones=ones,
                cell=cell,
                links=np.zeros(other.sizes.size, dtype=np.int64),
            )

        by_column = sparse.csr_array(self._matrix.T)
        return view(self._matrix, columns, ones, cell), view(by_column, rows, ones.T, cell.T)

    def _parameters(self) -> dict[str, Any]:
        return {
            "start": self._matrix.indptr.astype(np.int64),
            "where": self._matrix.indices.astype(np.int64),
            "shape": np.array(self._matrix.shape),
            "beta": np.array(self.beta),
        }


def _two(value: Any, argument: str) -> tuple[Any, Any]:
    """One value for rows and one for columns."""
    if not isinstance(value, tuple | list):
        return value, value
    if len(value) != 2:
        raise ValueError(
            f"'{argument}' must be one value or two, for rows and columns; got {len(value)}."
        )
    return value[0], value[1]
