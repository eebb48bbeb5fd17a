"""Block models of networks, with links that are there or not or with counts, and of matrices.

`BlockTable` is what they say about links.

The number of links between nodes i and j of clusters g and h, with all rates integrated out, is

    Bernoulli    y_ij ~ Bernoulli(theta_gh),       theta_gh ~ Beta(b1, b2)
    Poisson      y_ij ~ Poisson(t_i t_j r_gh),     r_gh ~ Gamma(shape a, rate b)

With e links among x pairs, a block contributes to the log marginal likelihood

    Bernoulli    log B(e + b1, x - e + b2) - log B(b1, b2)
    Poisson      lgamma(a + e) - lgamma(a) + a log b - (a + e) log(b + x), and - log y! for each pair

Undirected networks have one block for each pair of clusters, x_gh = n_g n_h and x_gg = n_g (n_g - 1) / 2, each
pair of nodes once. Directed ones have one for each ordered pair, and x_gg = n_g (n_g - 1). With loops add n_g.

**Degrees** (Karrer & Newman), in the collapsed form of Herlau, Schmidt & Morup: without them all t are 1. With them
the propensities t of the n nodes of a cluster are n times a point that is uniform on the simplex, so that they say
how the edges of the cluster are shared among its nodes, and not how many there are. Integrated out, they add for
each cluster with D ends of edges, d_i of them at node i,

    D log n + lgamma(n) - lgamma(n + D) + sum_i lgamma(d_i + 1)

and exposures become x_gg = n^2 / 2: the model is one of multigraphs in which a node may be linked to itself,
at half the rate of a pair. For networks with few parallel edges and loops this is the usual approximation.
Directed networks have propensities to send and to receive, one such term for each, and x_gg = n^2.

**Latent block model** of a matrix, rows and columns clustered together:

    y_ij | row i in g, column j in h ~ Bernoulli(theta_gh),    theta_gh ~ Beta(b1, b2)

Rows and columns have independent partitions and priors (Rastelli & Friel write the same mixture weights for
both: a slip). With e_gh ones among the n_g m_h cells of a block,

    log p(Y | rows, columns) = sum_{g,h} [ log B(e_gh + b1, n_g m_h - e_gh + b2) - log B(b1, b2) ]

(Their formula for networks runs over all ordered pairs and so counts each pair twice: a slip too.)

References
----------
McDaid, A. F., Murphy, T. B., Friel, N., Hurley, N. J. (2013). Improved Bayesian inference for the
stochastic block model with application to large networks. Computational Statistics & Data Analysis
60, 12-31. doi:10.1016/j.csda.2012.10.021

Karrer, B., Newman, M. E. J. (2011). Stochastic blockmodels and community structure in networks. Physical
Review E 83, 016107. doi:10.1103/PhysRevE.83.016107

Herlau, T., Schmidt, M. N., Morup, M. (2014). Infinite-degree-corrected stochastic block model. Physical
Review E 90, 032819. doi:10.1103/PhysRevE.90.032819

Wyse, J., Friel, N. (2012). Block clustering with collapsed latent block models. Statistics and
Computing 22, 415-428. doi:10.1007/s11222-011-9233-4

Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186, sections 6.2 and 6.3. doi:10.1007/s11222-017-9786-y
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import betaincinv, betaln, gammaincinv, gammaln

from epluribus._kernels.states import BINARY, LATENT, POISSON, State
from epluribus._text import count, plain_table, to_frame
from epluribus._typing import AnyArray, FloatArray, IntArray, LabelsLike
from epluribus._validate import check_positive
from epluribus.models.base import Model, Partition, Side, make_state
from epluribus.models.edges import Network, read_bipartite, read_network
from epluribus.models.prior import PartitionLaw, as_prior
from epluribus.models.tables import read_beta

_TABLE_LIMIT = 1 << 20
"""Largest number of entries of a table (8 MB). For larger counts lgamma is called instead: slower, but the
memory does not grow as N^2."""


@dataclass(frozen=True)
class BetaLaw:
    """Links that are there or not, with Beta(first, second) priors of their probabilities."""

    first: float
    second: float
    model = BINARY

    def log_blocks(self, e: AnyArray, x: AnyArray) -> float:
        """Log marginal likelihood of blocks with e links among x pairs."""
        logs = betaln(e + self.first, x - e + self.second) - betaln(self.first, self.second)
        return float(logs.sum())

    def posterior(self, e: AnyArray, x: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Posterior mean and ends of the central 95% interval of the probability of a link."""
        a, b = e + self.first, x - e + self.second
        return a / (a + b), betaincinv(a, b, 0.025), betaincinv(a, b, 0.975)

    def tables(self, most: int) -> tuple[FloatArray, FloatArray]:
        """Log rising factorials, log b (b + 1) ... (b + n - 1), of b1, b2 and b1 + b2, and their lgamma(b)."""
        # log B(e + b1, n - e + b2) - log B(b1, b2) = row 0 at e + row 1 at n - e - row 2 at n: three look-ups
        n = np.arange(min(most + 1, _TABLE_LIMIT))
        b = np.array([self.first, self.second, self.first + self.second])
        return gammaln(n + b[:, None]) - gammaln(b)[:, None], gammaln(b)


@dataclass(frozen=True)
class GammaLaw:
    """Counts of links, with Gamma priors of shape `first` and rate `second` of their rates."""

    first: float
    second: float
    model = POISSON

    def log_blocks(self, e: AnyArray, x: AnyArray) -> float:
        """Log marginal likelihood of blocks with e links and exposure x, but for the terms of single pairs."""
        a, b = self.first, self.second
        return float((gammaln(a + e) - gammaln(a) + a * np.log(b) - (a + e) * np.log(b + x)).sum())

    def posterior(self, e: AnyArray, x: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Posterior mean and ends of the central 95% interval of the mean number of links."""
        a, b = e + self.first, x + self.second
        return a / b, gammaincinv(a, 0.025) / b, gammaincinv(a, 0.975) / b

    def tables(self, most: int) -> tuple[FloatArray, FloatArray]:
        """Log rising factorials of a and of 1, and the log of rate and exposure, in steps of 1/2 of it."""
        n = np.arange(min(most + 1, _TABLE_LIMIT))
        log_gamma = np.array([gammaln(self.first), 0.0, 0.0])
        rising = gammaln(n + self.first) - log_gamma[0]
        return np.array([rising, np.log(self.second + n / 2), gammaln(n + 1.0)]), log_gamma


class NetworkModel(Model):
    """Base of the block models of networks; a subclass sets `law`."""

    weak_items = True
    law: BetaLaw | GammaLaw
    loops: bool
    """Whether a node may be linked to itself."""
    with_degrees: bool
    """Whether nodes have degrees of their own."""

    def __init__(
        self,
        network: Network,
        alpha: float | None,
        prior: str | PartitionLaw,
        k_max: int | None,
        *,
        loops: bool,
        with_degrees: bool = False,
    ) -> None:
        self._matrix, self.directed = network.matrix, bool(network.directed)
        self.loops, self.with_degrees = bool(loops), bool(with_degrees)
        n = self._matrix.shape[0]
        # By default 50 clusters, or the root of the number of nodes if that is more.
        if k_max is None and isinstance(prior, str) and n > 2500:
            k_max = math.ceil(math.sqrt(n))
        self.sides = (Side("nodes", n, as_prior(prior, alpha, k_max, 0.5), network.names),)

    @property
    def n_edges(self) -> int:
        """Number of edges, each as often as it counts."""
        total, loops = int(self._matrix.sum()), int(self._matrix.diagonal().sum())
        return total if self.directed else (total - loops) // 2 + loops

    @property
    def size(self) -> str:
        """Nodes and edges in words, such as "77 nodes, 254 edges of total weight 820, undirected"."""
        kind = "directed" if self.directed else "undirected"
        kind += ", degree-corrected" if self.with_degrees else ""
        n_pairs = self._matrix.nnz if self.directed else sparse.triu(self._matrix).nnz
        weights = f" of total weight {self.n_edges:,}" if n_pairs < self.n_edges else ""
        return f"{count(self.n_items, 'node')}, {count(n_pairs, 'edge')}{weights}, {kind}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, prior={self.sides[0].prior})"

    # --- blocks ---

    def count_blocks(self, labels: LabelsLike) -> tuple[IntArray, FloatArray]:
        """Edges and pairs of nodes between every two clusters.

        Parameters
        ----------
        labels : array_like of shape (n_nodes,)

        Returns
        -------
        edges : ndarray of shape (K, K)
            Edges from the cluster of the row to that of the column; within a cluster of an undirected
            network each edge counts once.
        pairs : ndarray of shape (K, K)
            Pairs of nodes that could be linked, in the same way; with degrees, their total exposure.
        """
        z = self._check((labels,))[0]
        n = np.bincount(z)
        edges = count_ones(self._matrix, z, z)
        pairs = np.outer(n, n).astype(np.float64)
        # Loops are counted once in any case.
        loops = np.bincount(z, weights=self._matrix.diagonal(), minlength=n.size).astype(np.int64)
        g = np.arange(n.size)
        pairs[g, g] = n * (n + self._own_pairs) / (1 if self.directed else 2)
        if not self.directed:
            edges[g, g] = (edges[g, g] - loops) // 2 + loops
        return edges, pairs

    @property
    def _own_pairs(self) -> float:
        """A cluster of n nodes has n (n + this) pairs within it, half as many if undirected."""
        if self.with_degrees:
            return 0.0
        if not self.loops:
            return -1.0  # no node is a pair with itself
        return 0.0 if self.directed else 1.0

    def _ends(self) -> list[FloatArray]:
        """Ends of edges at each node; if directed, outgoing and incoming. A loop has two."""
        if self.directed:
            return [np.asarray(self._matrix.sum(axis=axis), dtype=np.float64) for axis in (1, 0)]
        return [np.asarray(self._matrix.sum(axis=1) + self._matrix.diagonal(), dtype=np.float64)]

    def _log_likelihood(self, *labels: IntArray) -> float:
        edges, pairs = self.count_blocks(labels[0])
        # Of an undirected network each block counts once.
        once: Any = ... if self.directed else np.triu_indices(len(edges))
        value = self.law.log_blocks(edges[once], pairs[once]) + float(self._constants().sum())
        n = np.bincount(labels[0])
        for ends in self._ends() if self.with_degrees else []:
            D = np.bincount(labels[0], weights=ends)
            value += float((D * np.log(n) + gammaln(n) - gammaln(n + D)).sum())
        return value

    def _constants(self) -> FloatArray:
        """(n_nodes,) what does not depend on the partition, each node's part of it; 0 for ones."""
        own = -gammaln(self._matrix.diagonal() + 1.0)  # - log y! of loops ...
        entries = sparse.coo_array(self._matrix)
        logs = np.where(entries.row == entries.col, 0.0, -gammaln(entries.data + 1.0))
        # ... and of the other edges; those of undirected networks are there twice, half for each node
        own += np.bincount(entries.row, weights=logs, minlength=own.size) / (2 - self.directed)
        if self.with_degrees:
            own += sum(gammaln(ends + 1.0) for ends in self._ends())
            if not self.directed:  # loops have half the rate of a pair
                own -= math.log(2.0) * self._matrix.diagonal()
        return np.asarray(own, dtype=np.float64)

    def states(self, partitions: Sequence[Partition]) -> tuple[State]:
        """One fresh state; see `Model.states`."""
        # All counts of links, all exposures in steps of 1/2, and all sizes with their ends of links.
        N, slots = self.n_items, partitions[0].slots
        table, log_gamma = self.law.tables(max(2 * N**2, N + 2 * self.n_edges))
        loops = self._matrix.diagonal().astype(np.int64)
        out = sparse.csr_array(self._matrix - sparse.diags_array(loops, dtype=np.int64))
        out.eliminate_zeros()
        ends, degrees = self._ends(), float(self.with_degrees)
        prior = (self.law.first, self.law.second)
        blocks = slots**2
        places = (1, slots, self.directed, degrees, self._own_pairs, 0, 0, blocks, blocks)
        state = make_state(
            partitions[0],
            self.law.model,
            (slots * (slots + 2), 2),
            hyper=(*prior, *places, *log_gamma),
            x=np.column_stack([loops, ends[0], ends[-1], self._constants()]),
            links=sparse_links(sparse.vstack([out, out.T]) if self.directed else out),
            table=table,
        )
        return (state,)

    # --- what it says about links ---

    def block_table(self, labels: LabelsLike) -> BlockTable:
        """Links between every two clusters, with the posterior of their probabilities or rates.

        Parameters
        ----------
        labels : Estimate or array_like of shape (n_nodes,)
            The partition, such as what `minimize` returns.

        Returns
        -------
        BlockTable

        Examples
        --------
        >>> from epluribus.models import StochasticBlockModel
        >>> model = StochasticBlockModel([(0, 1), (1, 2), (0, 2), (3, 4)], n_nodes=5)
        >>> table = model.block_table([0, 0, 0, 1, 1])
        >>> table.edges.tolist(), table.mean.round(2).tolist()
        ([[3, 0], [0, 1]], [[0.88, 0.07], [0.07, 0.75]])
        """
        edges, pairs = self.count_blocks(labels)
        sizes = np.bincount(self._check((labels,))[0])
        return BlockTable(sizes, edges, pairs, *self.law.posterior(edges, pairs), self.directed)


class StochasticBlockModel(NetworkModel):
    """Stochastic block model of a binary network.

    Parameters
    ----------
    adjacency : matrix, graph, data frame, edges or path
        A square matrix of zeros and ones, dense or sparse; a graph of networkx or igraph; a pandas data
        frame, square with the names of the nodes, or with an edge in each row; edges as pairs of node
        numbers from 0 or of names; the path of a file, as `read_edges` takes it. Edges may have a third entry,
        their weight. A list of tuples, a set or a view is always edges; an array with two or three columns is,
        unless it is square; with `n_nodes`, any array is. Nodes without edges are allowed, but an edge list
        alone does not show them: give `n_nodes`. The items are the nodes, in the order of the graph and with
        its names.
    directed : bool, optional
        Whether an edge from i to j differs from one from j to i. By default a graph decides, and
        anything else is undirected.
    n_nodes : int, optional
        Number of nodes, for an edge list with numbers.
    loops : bool, default False
        Whether nodes may be linked to themselves.
    ignore_weights : bool, default False
        Whether each edge counts once, whatever its weight and however often it is given; otherwise weights
        other than 1 and repeated edges are refused.
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
    A Gibbs update costs O(K x clusters to which the node is linked) with K clusters; memory
    O(n_edges + k_max^2).

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
        ignore_weights: bool = False,
        beta: tuple[float, float] = (0.5, 0.5),
        alpha: float | None = None,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        network = read_network(
            adjacency, directed, n_nodes, loops=loops, ignore_weights=ignore_weights
        )
        super().__init__(network, alpha, prior, k_max, loops=loops)
        self.law = BetaLaw(*read_beta(beta))


class PoissonBlockModel(NetworkModel):
    """Block model of a network with counts as edges, degree-corrected if asked for.

    Parameters
    ----------
    adjacency : matrix, graph, data frame, edges or path
        As for `StochasticBlockModel`, with counts: a matrix of integers, the `weight` of the edges of a
        graph, a third column of edges. Edges that are given several times add up.
    degree_corrected : bool, default False
        Whether nodes have degrees of their own. Without it, a network in which some nodes have many more
        edges than others is divided by degree.
    directed : bool, optional
        Whether an edge from i to j differs from one from j to i. By default a graph decides, and
        anything else is undirected.
    n_nodes : int, optional
        Number of nodes, for an edge list with numbers.
    loops : bool, default False
        Whether nodes may be linked to themselves. The degree-corrected model has loops in any case.
    ignore_weights : bool, default False
        Whether each edge counts once, whatever its weight and however often it is given.
    shape : float, default 0.5
        Shape of the Gamma prior of the rates.
    rate : float, optional
        Its rate. By default the prior mean, shape / rate, is the mean number of edges of all pairs.
    alpha : float, default 0.5
        Concentration of the Dirichlet weights.
    prior : {'uniform', 'poisson', 'geometric', 'fixed'} or PartitionLaw, default 'uniform'
        Prior on the number of components; see `PartitionPrior`.
    k_max : int, optional
        Largest number of clusters; by default 50, or the root of the number of nodes if that is more.

    Notes
    -----
    A Gibbs update costs O(K x clusters to which the node is linked) with K clusters; memory
    O(n_edges + k_max^2).

    Examples
    --------
    >>> from epluribus.models import PoissonBlockModel
    >>> model = PoissonBlockModel([("ann", "bob", 7), ("bob", "cid", 1)], degree_corrected=True)
    >>> model.n_items, model.n_edges
    (3, 8)
    """

    def __init__(
        self,
        adjacency: Any,
        *,
        degree_corrected: bool = False,
        directed: bool | None = None,
        n_nodes: int | None = None,
        loops: bool = False,
        ignore_weights: bool = False,
        shape: float = 0.5,
        rate: float | None = None,
        alpha: float | None = None,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        network = read_network(
            adjacency,
            directed,
            n_nodes,
            counts=True,
            loops=loops or degree_corrected,
            ignore_weights=ignore_weights,
        )
        super().__init__(network, alpha, prior, k_max, loops=loops, with_degrees=degree_corrected)
        if rate is None:
            # Unit-free: with one edge and one pair at least, so that an empty network has a prior too.
            pairs = float(self.count_blocks(np.zeros(self.n_items, dtype=np.int64))[1][0, 0])
            rate = check_positive(shape, "shape") * max(pairs, 1.0) / max(self.n_edges, 1)
        self.law = GammaLaw(check_positive(shape, "shape"), check_positive(rate, "rate"))


class LatentBlockModel(Model):
    """Latent block model of a binary matrix.

    Parameters
    ----------
    matrix : array_like, sparse matrix, data frame, graph, pairs of names or path
        Zeros and ones, of shape (n_rows, n_columns). Or the places of the ones: pairs of a row and a column,
        perhaps with a weight, as a list of tuples, a set or a view, or names in two columns of a data frame; a
        bipartite graph of networkx; the path of a file, as `read_edges` takes it. The draws have the names of
        rows and columns.
    ignore_weights : bool, default False
        Whether any entry other than 0, and a pair given several times, counts as 1.
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
        ignore_weights: bool = False,
        beta: tuple[float, float] = (0.5, 0.5),
        alpha: float | tuple[float, float] | None = None,
        prior: str | PartitionLaw | tuple[str | PartitionLaw, str | PartitionLaw] = "uniform",
        k_max: int | tuple[int, int] | None = None,
    ) -> None:
        self._matrix, names = read_bipartite(matrix, ignore_weights)
        self.law = BetaLaw(*read_beta(beta))
        both = zip(_pair(prior, "prior"), _pair(alpha, "alpha"), _pair(k_max, "k_max"), strict=True)
        self.sides = tuple(
            Side(name, n, as_prior(law, a, bound, 0.5), items)
            for name, n, (law, a, bound), items in zip(
                ("rows", "columns"), self._matrix.shape, both, names, strict=True
            )
        )

    def _log_likelihood(self, *labels: IntArray) -> float:
        cells = np.outer(np.bincount(labels[0]), np.bincount(labels[1]))
        return self.law.log_blocks(count_ones(self._matrix, *labels), cells)

    def states(self, partitions: Sequence[Partition]) -> tuple[State, State]:
        """Two fresh states, which share their statistics; see `Model.states`."""
        rows, columns = partitions
        table, log_gamma = self.law.tables(self._matrix.shape[0] * self._matrix.shape[1])
        prior = self.law.first, self.law.second
        n = rows.slots * columns.slots

        def view(
            own: Partition, other: Partition, matrix: Any, down: int, across: int, *rows_of: int
        ) -> State:
            hyper = (*prior, down, across, 0.0, 0.0, 0.0, *rows_of, *log_gamma)
            shape = (2 * n + rows.slots + columns.slots, 2)  # blocks, growth of columns, clusters
            links = sparse_links(matrix)
            return make_state(
                own, LATENT, shape, hyper=hyper, links=links, table=table, other=other
            )

        first = view(rows, columns, self._matrix, columns.slots, 1, 0, n, 2 * n, 2 * n + rows.slots)
        # The columns see the same blocks, transposed.
        second = view(
            columns, rows, self._matrix.T, 1, columns.slots, n, 0, 2 * n + rows.slots, 2 * n
        )
        return first, second._replace(stat=first.stat)


# --- helpers ---


def count_ones(matrix: sparse.csr_array, rows: IntArray, columns: IntArray) -> IntArray:
    """Sum of the entries in each block of a row cluster and a column cluster."""
    entries = sparse.coo_array(matrix)
    shape = rows.max() + 1, columns.max() + 1
    # Each one belongs to the block of its row's and its column's cluster; blocks are numbered row by row.
    block = np.ravel_multi_index((rows[entries.row], columns[entries.col]), shape)
    # Sums of counts below 2^53 are exact in double precision.
    sums = np.bincount(block, weights=entries.data, minlength=shape[0] * shape[1])
    return sums.astype(np.int64).reshape(shape)


def sparse_links(matrix: Any) -> tuple[IntArray, IntArray]:
    """Where the links of each row begin, and (n_links, 2) the column and the count of each."""
    csr = sparse.csr_array(matrix)
    return csr.indptr.astype(np.int64), np.column_stack([csr.indices, csr.data]).astype(np.int64)


def _pair(value: Any, argument: str) -> tuple[Any, Any]:
    """One value for rows and one for columns, from one value for both or from two."""
    if not isinstance(value, tuple | list):
        return value, value
    if len(value) != 2:
        raise ValueError(
            f"'{argument}' must be one value or two, for rows and columns; got {len(value)}."
        )
    return value[0], value[1]


# --- links ---


@dataclass(frozen=True, repr=False, eq=False)
class BlockTable:
    """Links between every two clusters. Rows are the clusters that links come from."""

    sizes: IntArray
    """(K,) nodes of each cluster."""
    edges: IntArray
    """(K, K) links; within a cluster of an undirected network each link counts once."""
    pairs: FloatArray
    """(K, K) pairs of nodes, in the same way; with degrees, their total exposure."""
    mean: FloatArray
    """(K, K) posterior mean of the probability of a link; for counts, of the mean number of links."""
    low: FloatArray
    """(K, K) lower end of its central 95% interval, given the partition."""
    high: FloatArray
    """(K, K) upper end."""
    directed: bool

    def columns(self) -> dict[str, Any]:
        """One row for each block: of an undirected network, each block once."""
        K = self.sizes.size
        g, h = np.indices((K, K)).reshape(2, -1) if self.directed else np.triu_indices(K)
        cells = {
            name: getattr(self, name)[g, h] for name in ("edges", "pairs", "mean", "low", "high")
        }
        return {"from": g, "to": h, **cells}

    def to_pandas(self) -> Any:
        """`columns` as a pandas DataFrame."""
        return to_frame(self.columns())

    def __repr__(self) -> str:
        return f"BlockTable(n_clusters={self.sizes.size}, directed={self.directed})"

    def __str__(self) -> str:
        K = min(self.sizes.size, 12)  # more do not fit into lines
        table: dict[str, Any] = {"cluster": list(range(K)), "nodes": self.sizes[:K].tolist()}
        table |= {str(h): [f"{value:.2g}" for value in self.mean[:K, h]] for h in range(K)}
        rest = self.sizes.size - K
        return "\n".join([*plain_table(table), *([f"and {rest} more clusters"] if rest else [])])
