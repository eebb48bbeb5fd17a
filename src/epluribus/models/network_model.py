"""What the block models of networks have in common: counts of blocks, tables of rates, predicted links."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Any, Self

import numpy as np
from scipy import sparse

from epluribus._kernels.states import State
from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus.draws import as_draws
from epluribus.models.base import Model, Partition, Side, make_state
from epluribus.models.graphs import Network
from epluribus.models.links import BlockTable, read_pairs, some_draws
from epluribus.models.prior import PartitionLaw, as_prior
from epluribus.partition import relabel

TABLE_LIMIT = 1 << 20
"""Largest number of entries of a table (8 MB). For larger counts lgamma is called instead: slower, but the
memory does not grow as N^2."""
ALPHA = 0.5
"""Default concentration of the Dirichlet weights, as in the paper."""


def default_k_max(k_max: int | None, prior: Any, n_items: int) -> int | None:
    """The bound asked for; by default 50, or the root of the number of items if that is more."""
    # None where the prior has its own bound: it then decides.
    if k_max is not None or not isinstance(prior, str) or n_items <= 2500:
        return k_max
    return int(np.ceil(np.sqrt(n_items)))


class NetworkModel(Model):
    """Base of the block models of networks."""

    weak_items = True
    loops = False
    """Whether a node may be linked to itself."""
    with_degrees = False
    """Whether nodes have degrees of their own."""

    def __init__(
        self, network: Network, alpha: float | None, prior: str | PartitionLaw, k_max: int | None
    ) -> None:
        self._matrix, self.directed, names = network
        n = self._matrix.shape[0]
        own = as_prior(prior, alpha, default_k_max(k_max, prior, n), ALPHA)
        self.sides = (Side("nodes", n, own, names),)

    @property
    def n_edges(self) -> int:
        """Number of edges, each as often as it counts."""
        total, loops = int(self._matrix.sum()), int(self._matrix.diagonal().sum())
        return total if self.directed else (total - loops) // 2 + loops

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        size = f"{self.n_items} nodes, {self.n_edges} edges, {kind}"
        return f"{type(self).__name__}({size}, prior={self.sides[0].prior})"

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
        mean, low, high = self._posterior(edges, pairs)
        return BlockTable(sizes, edges, pairs, mean, low, high, self.directed)

    def link_probabilities(self, pairs: Any, draws: DrawsLike) -> FloatArray:
        """Posterior probability that there is a link, for given pairs of nodes.

        It is what the blocks say, averaged over the draws, and not whether the data have such a link: a
        missing link of high probability, or a link of low probability, is a surprise. For counts it is the
        probability of at least one link.

        Parameters
        ----------
        pairs : sequence of pairs
            Nodes by number or by name; from the first to the second if the network is directed.
        draws : Draws or array_like of shape (n_draws, n_nodes)
            The posterior sample; at most 200 draws are used, evenly spaced.

        Returns
        -------
        ndarray of shape (n_pairs,)

        Examples
        --------
        >>> from epluribus.models import StochasticBlockModel
        >>> model = StochasticBlockModel([("a", "b"), ("b", "c"), ("a", "c"), ("d", "e")])
        >>> model.link_probabilities([("a", "b"), ("a", "d")], [[0, 0, 0, 1, 1]]).round(2)
        array([0.88, 0.07])
        """
        sample = as_draws(draws)
        if sample.n_items != self.n_items:
            raise ValueError(
                f"'draws' must be partitions of the {self.n_items} nodes of the model; they have "
                f"{sample.n_items}."
            )
        which = read_pairs(pairs, self.sides[0].items, self.n_items)
        return self._predict(which, np.asarray(sample), None)

    def _predict(self, pairs: IntArray, draws: AnyArray, part: float | None) -> FloatArray:
        """Probability of a link of each pair; with `part`, of one that was held out with this share."""
        total = np.zeros(len(pairs))
        chosen = some_draws(draws)
        for z in chosen:
            total += self._predict_one(pairs, relabel(z), part)
        return total / len(chosen)

    @abstractmethod
    def _posterior(self, edges: IntArray, pairs: FloatArray) -> tuple[FloatArray, ...]:
        """Posterior mean and ends of the central 95 % interval of the rate of each block."""

    @abstractmethod
    def _predict_one(self, pairs: IntArray, labels: IntArray, part: float | None) -> FloatArray:
        """`_predict` for one draw."""

    def _with(self, matrix: sparse.csr_array) -> Self:
        """The same model, with the same prior, of another network."""
        other = copy(self)
        other._matrix = matrix
        return other

    @abstractmethod
    def _open(self, pairs: IntArray) -> AnyArray:
        """Whether a link between the nodes of each pair can have been held out."""

    def _thin(self, part: float, rng: np.random.Generator) -> tuple[NetworkModel, IntArray]:
        """The model without a random part of the links, and the pairs (n, 2) with a link held out."""
        entries = sparse.coo_array(self._matrix if self.directed else sparse.triu(self._matrix))
        out = rng.binomial(entries.data.astype(np.int64), part)
        rest = sparse.csr_array(
            (entries.data - out, (entries.row, entries.col)), self._matrix.shape
        )
        if not self.directed:
            rest = sparse.csr_array(rest + sparse.triu(rest, 1).T)
        rest = rest.astype(np.int64)
        rest.eliminate_zeros()
        rest.sort_indices()
        pairs = np.column_stack([entries.row, entries.col])[out > 0]
        return self._with(rest), pairs.astype(np.int64)

    def _blocks(self, labels: IntArray) -> tuple[IntArray, FloatArray]:
        """Edges and pairs of each block, flat; of an undirected network each block once."""
        edges, pairs = self.count_blocks(labels)
        if self.directed:
            return edges.ravel(), pairs.ravel()
        upper = np.triu_indices(len(edges))
        return edges[upper], pairs[upper]

    def _network_state(
        self,
        partition: Partition,
        model: int,
        prior: tuple[float, float],
        tables: tuple[FloatArray, FloatArray],
        constants: FloatArray,
    ) -> State:
        """A fresh state, for the number of the model, its prior and tables, and constants of the nodes."""
        table, log_gamma = tables
        loops = self._matrix.diagonal().astype(np.int64)
        out = sparse.csr_array(self._matrix - sparse.diags_array(loops, dtype=np.int64))
        out.eliminate_zeros()
        ends = self._ends()
        degrees = float(self.with_degrees)
        slots = partition.slots
        return make_state(
            partition,
            model,
            (slots * (slots + 2 * self.with_degrees), 2),
            hyper=(*prior, slots, 1.0, float(self.directed), degrees, self._own_pairs, *log_gamma),
            x=np.column_stack([loops, ends[0], ends[-1], constants]),
            links=sparse_links(sparse.vstack([out, out.T]) if self.directed else out),
            table=table,
        )


# --- shared ---


def count_ones(matrix: sparse.csr_array, rows: IntArray, columns: IntArray) -> IntArray:
    """Sum of the entries in each block of a row cluster and a column cluster."""
    entries = sparse.coo_array(matrix)
    shape = rows.max() + 1, columns.max() + 1
    # Each one belongs to the block of its row's and its column's cluster; blocks are numbered row by row.
    block = np.ravel_multi_index((rows[entries.row], columns[entries.col]), shape)
    # Sums of counts below 2^53 are exact in double precision.
    sums = np.bincount(block, weights=entries.data, minlength=shape[0] * shape[1])
    return sums.astype(np.int64).reshape(shape)


def sparse_rows(matrix: Any) -> tuple[IntArray, IntArray]:
    """Where the ones of each row begin, (n_rows + 1,), and their columns, (n_ones,)."""
    csr = sparse.csr_array(matrix)
    return csr.indptr.astype(np.int64), csr.indices.astype(np.int64)


def sparse_links(matrix: Any) -> tuple[IntArray, IntArray]:
    """Where the links of each row begin, and (n_links, 2) the column and the count of each."""
    csr = sparse.csr_array(matrix)
    return csr.indptr.astype(np.int64), np.column_stack([csr.indices, csr.data]).astype(np.int64)
