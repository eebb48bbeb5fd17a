"""Stochastic block model of a binary network, connection probabilities integrated out.

    y_ij | z_i = g, z_j = h ~ Bernoulli(theta_gh),    theta_gh ~ Beta(b1, b2)

Undirected, no loops: with e_gh edges among n_g n_h pairs (n_g (n_g - 1) / 2 if g = h), each pair
counted once,

    log p(Y | z) = sum_{g <= h} log B(e_gh + b1, pairs - e_gh + b2) - log B(b1, b2)

(The paper's formula runs over all ordered pairs and so counts each pair twice: a slip.) Directed:
the sum is over all ordered (g, h), with n_g (n_g - 1) pairs if g = h.

References
----------
McDaid, A. F., Murphy, T. B., Friel, N., Hurley, N. J. (2013). Improved Bayesian inference for the
stochastic block model with application to large networks. Computational Statistics & Data Analysis
60, 12-31. doi:10.1016/j.csda.2012.10.021

Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186, section 6.2. doi:10.1007/s11222-017-9786-y
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from epluribus._kernels.sbm import DirectedBlockState, UndirectedBlockState
from epluribus._validate import check_count
from epluribus.models._blocks import beta_tables, binary_matrix, check_beta, log_blocks
from epluribus.models.base import Model, Side
from epluribus.models.prior import PartitionLaw, as_law

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from epluribus._kernels.chain import Partition
    from epluribus._typing import IntArray

__all__ = ["StochasticBlockModel"]


class StochasticBlockModel(Model):
    """Stochastic block model of a binary network.

    Parameters
    ----------
    adjacency : array_like, sparse matrix, networkx graph or edge list
        A square matrix of zeros and ones with a zero diagonal; or a networkx graph; or the edges,
        one row (i, j) each, nodes counted from 0. An array with two columns is read as edges unless
        it is 2 x 2; with `n_nodes`, any array is. Nodes without edges are fine, but an edge list
        alone does not show those at the end: give `n_nodes`. The items are the nodes in the order of
        the graph, under its names.
    directed : bool, optional
        Whether an edge from i to j differs from one from j to i. By default what a networkx graph
        says, else false.
    n_nodes : int, optional
        Number of nodes, for an edge list.
    beta : (float, float), default (0.5, 0.5)
        Parameters of the Beta prior of the connection probabilities.
    alpha : float, default 0.5
        Concentration of the Dirichlet weights.
    prior : {'uniform', 'poisson', 'geometric', 'fixed'} or PartitionLaw, default 'uniform'
        Prior on the number of components; see `PartitionPrior`.
    k_max : int, default 50
        Largest number of clusters.

    Notes
    -----
    A Gibbs update costs O(K^2 + degree), K the clusters in use.

    Examples
    --------
    >>> from epluribus.models import StochasticBlockModel
    >>> model = StochasticBlockModel([(0, 1), (1, 2), (0, 2), (3, 4)], n_nodes=5)
    >>> model.n_items, model.n_edges
    (5, 4)
    >>> bool(model.log_marginal([0, 0, 0, 1, 1]) > model.log_marginal([0, 0, 0, 0, 0]))
    True
    """

    statistics = ("edges", "cell")

    def __init__(
        self,
        adjacency: Any,
        *,
        directed: bool | None = None,
        n_nodes: int | None = None,
        beta: tuple[float, float] = (0.5, 0.5),
        alpha: float | None = None,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        matrix, self.directed = _as_adjacency(adjacency, directed, n_nodes)
        self.beta = check_beta(beta)
        self._matrix = matrix
        law = as_law(prior, alpha, k_max, 0.5)
        self.sides = (Side("nodes", matrix.shape[0], law, _node_names(adjacency)),)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self._matrix.nnz if self.directed else self._matrix.nnz // 2)

    def _log_likelihood(self, *labels: IntArray) -> float:
        z = labels[0]
        n = np.bincount(z)
        member = sparse.csr_array((np.ones(z.size, dtype=np.int64), (z, np.arange(z.size))))
        edges = (member @ self._matrix @ member.T).toarray()
        pairs = np.outer(n, n) - np.diag(n)
        if self.directed:
            return log_blocks(self.beta, edges, pairs)
        upper = np.triu_indices(n.size)
        half = np.eye(n.size, dtype=np.int64) + 1  # inside a cluster each pair is counted twice
        return log_blocks(self.beta, (edges // half)[upper], (pairs // half)[upper])

    def states(self, partitions: Sequence[Partition]) -> tuple[Any]:
        """Fresh states, one per side."""
        slots = partitions[0].sizes.size
        N = self.n_items
        cells = N * (N - 1) // (1 if self.directed else 2)
        shared = {
            "start": self._matrix.indptr.astype(np.int64),
            "neighbour": self._matrix.indices.astype(np.int64),
            "beta": beta_tables(self.beta, self.n_edges, cells),
            "edges": np.zeros((slots, slots), dtype=np.int64),
            "cell": np.zeros((slots, slots)),
            "links": np.zeros(slots, dtype=np.int64),
        }
        if not self.directed:
            return (UndirectedBlockState(**shared),)
        back = sparse.csr_array(self._matrix.T)
        state = DirectedBlockState(
            start_in=back.indptr.astype(np.int64),
            neighbour_in=back.indices.astype(np.int64),
            links_in=np.zeros(slots, dtype=np.int64),
            **shared,
        )
        return (state,)

    def _parameters(self) -> dict[str, Any]:
        return {
            "start": self._matrix.indptr.astype(np.int64),
            "neighbour": self._matrix.indices.astype(np.int64),
            "beta": np.array(self.beta),
            "directed": np.array(self.directed),
        }


def _as_adjacency(
    graph: Any, directed: bool | None, n_nodes: int | None
) -> tuple[sparse.csr_array, bool]:
    """A checked adjacency matrix and whether it is directed."""
    if hasattr(graph, "is_directed") and hasattr(graph, "edges"):  # networkx, not imported here
        directed = bool(graph.is_directed()) if directed is None else directed
        return _from_networkx(graph, directed), directed
    directed = bool(directed)
    shape = np.shape(graph) if not sparse.issparse(graph) else graph.shape
    if n_nodes is not None or (len(shape) == 2 and shape[1] == 2 and shape[0] != 2):
        return _from_edges(graph, directed, n_nodes), directed
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            "'adjacency' must be a square matrix, a networkx graph, or edges with two columns; "
            f"got shape {shape}."
        )
    matrix = binary_matrix(graph, "adjacency")
    loops = np.flatnonzero(matrix.diagonal())
    if loops.size:
        raise ValueError(
            f"'adjacency' must have a zero diagonal, the model has no loops; entry ({loops[0]}, "
            f"{loops[0]}) "
            "is 1."
        )
    if not directed:
        odd = sparse.coo_array(matrix - matrix.T)
        odd.eliminate_zeros()
        if odd.nnz:
            i, j = int(odd.row[0]), int(odd.col[0])
            raise ValueError(
                f"'adjacency' must be symmetric for an undirected model; entry ({i}, {j}) is "
                f"{matrix[i, j]} "
                f"and entry ({j}, {i}) is {matrix[j, i]}. Give directed=True, or make it "
                "symmetric: "
                "np.maximum(A, A.T)."
            )
    return matrix, directed


def _node_names(graph: Any) -> tuple[str, ...] | None:
    """Names of the nodes of a networkx graph, unless they are 0, 1, 2, ..."""
    if not hasattr(graph, "nodes") or list(graph.nodes) == list(range(len(graph.nodes))):
        return None
    return tuple(str(node) for node in graph.nodes)


def _from_networkx(graph: Any, directed: bool) -> sparse.csr_array:
    number = {node: k for k, node in enumerate(graph.nodes)}
    for first, second, weight in graph.edges(data="weight", default=1):
        if weight != 1:
            raise ValueError(
                f"'adjacency' must have no weights, the model is for binary data; edge ({first!r}, "
                f"{second!r}) has weight {weight}. To leave them out, give "
                "nx.to_numpy_array(graph, weight=None), or choose a threshold."
            )
    edges = [(number[first], number[second]) for first, second in graph.edges()]
    return _from_edges(edges, directed, len(number))


def _from_edges(edges: Any, directed: bool, n_nodes: int | None) -> sparse.csr_array:
    pairs = np.asarray(edges)
    if pairs.size == 0:
        pairs = np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"'adjacency' as an edge list must have two columns (i, j); got shape {pairs.shape}."
        )
    whole = pairs.dtype.kind in "iu" or (
        pairs.dtype.kind == "f" and bool(np.all(np.isfinite(pairs) & (pairs == np.rint(pairs))))
    )
    if not whole or (pairs.size and pairs.min() < 0):
        raise ValueError(
            "'adjacency' as an edge list must hold node numbers 0, 1, 2, ...; got "
            f"{pairs[0].tolist() if whole is False else int(pairs.min())}. For nodes with names give "
            "networkx.Graph(edges)."
        )
    pairs = pairs.astype(np.int64)
    seen = int(pairs.max()) + 1 if pairs.size else 0
    if seen == 0 and n_nodes in (None, 0):
        raise ValueError("'adjacency' must have at least one node; it has none.")
    N = seen if n_nodes is None else check_count(n_nodes, "n_nodes")
    if max(seen, 1) > N:
        raise ValueError(
            f"'n_nodes' must be at least {max(seen, 1)}, the largest node number plus 1; got {N}."
        )
    loops = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if loops.size:
        raise ValueError(
            f"'adjacency' must have no loops; edge {loops[0]} joins node {pairs[loops[0], 0]} to "
            "itself. From a networkx graph: graph.remove_edges_from(nx.selfloop_edges(graph))."
        )
    _refuse_repeats(pairs if directed else np.sort(pairs, axis=1))
    if not directed:
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    ones = np.ones(len(pairs), dtype=np.int64)
    matrix = sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(N, N))
    matrix.sort_indices()
    return matrix


def _refuse_repeats(pairs: NDArray[np.int64]) -> None:
    distinct, times = np.unique(pairs, axis=0, return_counts=True)
    if times.size and times.max() > 1:
        i, j = distinct[times.argmax()]
        raise ValueError(
            f"'adjacency' must list each edge once, the model is for binary data; ({i}, {j}) is "
            "there "
            f"{times.max()} times. Drop the repeats, or give directed=True if (i, j) and (j, i) "
            "differ; graph.to_undirected() drops those of a networkx graph."
        )
