"""Block models of binary data, with the probabilities of ones integrated out.

**Stochastic block model** of a network, without loops:

    y_ij | z_i = g, z_j = h ~ Bernoulli(theta_gh),    theta_gh ~ Beta(b1, b2)

Undirected, with e_gh edges among P_gh = n_g n_h pairs of nodes (n_g (n_g - 1) / 2 if g = h), each pair
counted once:

    log p(Y | z) = sum_{g <= h} [ log B(e_gh + b1, P_gh - e_gh + b2) - log B(b1, b2) ]

(The formula of Rastelli & Friel runs over all ordered pairs and so counts each pair twice: a slip.)
Directed: the sum is over all ordered (g, h), with P_gh = n_g (n_g - 1) if g = h.

**Latent block model** of a matrix, rows and columns clustered together:

    y_ij | row i in g, column j in h ~ Bernoulli(theta_gh),    theta_gh ~ Beta(b1, b2)

Rows and columns have independent partitions and priors (Rastelli & Friel write the same mixture weights for
both: a slip). With e_gh ones among the n_g m_h cells of a block,

    log p(Y | rows, columns) = sum_{g,h} [ log B(e_gh + b1, n_g m_h - e_gh + b2) - log B(b1, b2) ]

References
----------
McDaid, A. F., Murphy, T. B., Friel, N., Hurley, N. J. (2013). Improved Bayesian inference for the
stochastic block model with application to large networks. Computational Statistics & Data Analysis
60, 12-31. doi:10.1016/j.csda.2012.10.021

Wyse, J., Friel, N. (2012). Block clustering with collapsed latent block models. Statistics and
Computing 22, 415-428. doi:10.1007/s11222-011-9233-4

Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186, sections 6.2 and 6.3. doi:10.1007/s11222-017-9786-y
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import betaincinv, betaln, gammaln

from epluribus._kernels.states import BINARY, LATENT, State
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import check_positive, shown
from epluribus.models.base import Model, Partition, Side, make_state
from epluribus.models.binary import binary_matrix
from epluribus.models.graphs import read_network
from epluribus.models.network_model import (
    ALPHA,
    TABLE_LIMIT,
    NetworkModel,
    count_ones,
    sparse_links,
    sparse_rows,
)
from epluribus.models.prior import PartitionLaw, as_prior


class StochasticBlockModel(NetworkModel):
    """Stochastic block model of a binary network.

    Parameters
    ----------
    adjacency : matrix, graph, data frame, edges or path
        A square matrix of zeros and ones, dense or sparse; a graph of networkx or igraph; a pandas data
        frame, square with the names of the nodes, or with an edge in each row; edges as pairs of node
        numbers from 0 or of names; the path of a GraphML file or of a text file with two names in each
        line. An array with two columns is read as edges unless it is 2 x 2; with `n_nodes`, any array
        is. Nodes without edges are allowed, but an edge list alone does not show them: give `n_nodes`.
        The items are the nodes, in the order of the graph and with its names.
    directed : bool, optional
        Whether an edge from i to j differs from one from j to i. By default a graph decides, and
        anything else is undirected.
    n_nodes : int, optional
        Number of nodes, for an edge list with numbers.
    loops : bool, default False
        Whether nodes may be linked to themselves.
    beta : (float, float), default (0.5, 0.5)
        Parameters of the Beta prior of the connection probabilities.
    alpha : float, default 0.5
        Concentration of the Dirichlet weights.
    prior : {'uniform', 'poisson', 'geometric', 'fixed'} or PartitionLaw, default 'uniform'
        Prior on the number of components; see `PartitionPrior`.
    k_max : int, optional
        Largest number of clusters; by default 50, or the root of the number of nodes if that is more.

    Notes
    -----
    A Gibbs update costs O(K^2 + degree) with K clusters; memory O(n_edges + k_max^2).

    Examples
    --------
    >>> from epluribus.models import StochasticBlockModel
    >>> model = StochasticBlockModel([(0, 1), (1, 2), (0, 2), (3, 4)], n_nodes=5)
    >>> model.n_items, model.n_edges
    (5, 4)
    >>> bool(model.log_marginal([0, 0, 0, 1, 1]) > model.log_marginal([0, 0, 0, 0, 0]))
    True
    >>> StochasticBlockModel([("ann", "bob"), ("bob", "cid")]).sides[0].items
    ('ann', 'bob', 'cid')
    """

    def __init__(
        self,
        adjacency: Any,
        *,
        directed: bool | None = None,
        n_nodes: int | None = None,
        loops: bool = False,
        beta: tuple[float, float] = (0.5, 0.5),
        alpha: float | None = None,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        super().__init__(
            read_network(adjacency, directed, n_nodes, loops=loops), alpha, prior, k_max
        )
        self.loops = bool(loops)
        self.beta = _check_beta(beta)

    def _log_likelihood(self, *labels: IntArray) -> float:
        return _log_blocks(self.beta, *self._blocks(labels[0]))

    def states(self, partitions: Sequence[Partition]) -> tuple[State]:
        """One fresh state; see `Model.states`."""
        N = self.n_items
        # The largest count that a table must hold: all pairs, with every node in one block.
        tables = _beta_tables(self.beta, N * (N + 1) // (1 if self.directed else 2))
        return (self._network_state(partitions[0], BINARY, self.beta, tables, np.zeros(N)),)

    def _posterior(self, edges: IntArray, pairs: FloatArray) -> tuple[FloatArray, ...]:
        ones, zeros = edges + self.beta[0], pairs - edges + self.beta[1]
        ends = (np.asarray(betaincinv(ones, zeros, share)) for share in (0.025, 0.975))
        return (np.asarray(ones / (ones + zeros)), *ends)

    def _predict_one(self, pairs: IntArray, labels: IntArray, part: float | None) -> FloatArray:
        edges, n = self.count_blocks(labels)
        mean = (edges + self.beta[0]) / (n + sum(self.beta))
        t = mean[labels[pairs[:, 0]], labels[pairs[:, 1]]]
        # f t / (1 - (1 - f) t), with the probability t of the whole network estimated by t' / (1 - f)
        return t if part is None else np.minimum(part * t / ((1 - part) * (1 - t)), 1.0)

    def _open(self, pairs: IntArray) -> AnyArray:
        return np.asarray(self._matrix[pairs[:, 0], pairs[:, 1]]).ravel() == 0

    def _parameters(self) -> dict[str, Any]:
        start, neighbors = sparse_rows(self._matrix)
        kind = np.array([self.directed, self.loops])
        return {"start": start, "neighbors": neighbors, "beta": np.array(self.beta), "kind": kind}


class LatentBlockModel(Model):
    """Latent block model of a binary matrix.

    Parameters
    ----------
    matrix : array_like or sparse matrix of shape (n_rows, n_columns)
        Zeros and ones.
    beta : (float, float), default (0.5, 0.5)
        Parameters of the Beta prior of the block probabilities.
    alpha : float or (float, float), default 0.5
        Concentration of the Dirichlet weights, for rows and columns if two.
    prior : str or PartitionLaw, or two of them, default 'uniform'
        Prior on the number of components, for rows and columns if two; see `PartitionPrior`.
    k_max : int or (int, int), default 50
        Largest number of clusters, for rows and columns if two.

    Notes
    -----
    A Gibbs update of a row costs O(K_rows K_columns + ones in the row), with K clusters of rows and of
    columns; that of a column is the transpose. Memory O(number of ones).

    Examples
    --------
    >>> from epluribus.models import LatentBlockModel
    >>> model = LatentBlockModel([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> split = model.log_marginal([0, 0, 1], [0, 0, 1])
    >>> bool(split > model.log_marginal([0, 0, 0], [0, 0, 0]))
    True
    """

    weak_items = True

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
        self.beta = _check_beta(beta)
        both = zip(_pair(prior, "prior"), _pair(alpha, "alpha"), _pair(k_max, "k_max"), strict=True)
        rows, columns = (as_prior(name, a, bound, ALPHA) for name, a, bound in both)
        n_rows, n_columns = self._matrix.shape
        self.sides = (Side("rows", n_rows, rows), Side("columns", n_columns, columns))

    def _log_likelihood(self, *labels: IntArray) -> float:
        cells = np.outer(np.bincount(labels[0]), np.bincount(labels[1]))
        return _log_blocks(self.beta, count_ones(self._matrix, *labels), cells)

    def states(self, partitions: Sequence[Partition]) -> tuple[State, State]:
        """Two fresh states, which share their statistics; see `Model.states`."""
        rows, columns = partitions
        table, log_gamma = _beta_tables(self.beta, self._matrix.shape[0] * self._matrix.shape[1])
        shape = (rows.slots * columns.slots, 2)

        def view(own: Partition, other: Partition, matrix: Any, down: int, across: int) -> State:
            hyper, links = (
                (*self.beta, down, across, 0.0, 0.0, 0.0, *log_gamma),
                sparse_links(matrix),
            )
            return make_state(
                own, LATENT, shape, hyper=hyper, links=links, table=table, other=other
            )

        first = view(rows, columns, self._matrix, columns.slots, 1)
        # The columns see the same blocks, transposed.
        second = view(columns, rows, self._matrix.T, 1, columns.slots)
        return first, second._replace(stat=first.stat)

    def _parameters(self) -> dict[str, Any]:
        start, where = sparse_rows(self._matrix)
        shape = np.array(self._matrix.shape)
        return {"start": start, "where": where, "shape": shape, "beta": np.array(self.beta)}


# --- shared ---


def _check_beta(beta: Any) -> tuple[float, float]:
    """The two parameters of the Beta prior, checked."""
    try:
        b1, b2 = beta
    except (TypeError, ValueError):
        raise ValueError(
            f"'beta' must be two numbers, such as (0.5, 0.5); got {shown(beta)}."
        ) from None
    return check_positive(b1, "beta"), check_positive(b2, "beta")


def _beta_tables(beta: tuple[float, float], n_cells: int) -> tuple[FloatArray, FloatArray]:
    """Log rising factorials, log b (b + 1) ... (b + n - 1), of b1, b2 and b1 + b2, and their lgamma(b)."""
    # log B(e + b1, n - e + b2) - log B(b1, b2) = row 0 at e + row 1 at n - e - row 2 at n: three look-ups
    n, b = np.arange(min(n_cells + 1, TABLE_LIMIT)), np.array([*beta, sum(beta)])
    return gammaln(n + b[:, None]) - gammaln(b)[:, None], gammaln(b)


def _log_blocks(beta: tuple[float, float], ones: AnyArray, cells: AnyArray) -> float:
    """Sum over blocks of log B(e + b1, n - e + b2) - log B(b1, b2)."""
    b1, b2 = beta
    return float((betaln(ones + b1, cells - ones + b2) - betaln(b1, b2)).sum())


def _pair(value: Any, argument: str) -> tuple[Any, Any]:
    """One value for rows and one for columns, from one value for both or from two."""
    if not isinstance(value, tuple | list):
        return value, value
    if len(value) != 2:
        raise ValueError(
            f"'{argument}' must be one value or two, for rows and columns; got {len(value)}."
        )
    return value[0], value[1]
