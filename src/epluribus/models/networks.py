"""The model behind all block models of networks: laws of blocks, counts of links, predicted links.

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
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.special import betaincinv, betaln, gammaincinv, gammaln

from epluribus._kernels.states import BINARY, POISSON, State
from epluribus._typing import AnyArray, DrawsLike, FloatArray, IntArray, LabelsLike
from epluribus._validate import check_positive, shown
from epluribus.draws import as_draws
from epluribus.models.base import Model, Partition, Side, make_state
from epluribus.models.edges import Network
from epluribus.models.links import BlockTable, read_pairs, some_draws
from epluribus.models.prior import PartitionLaw, as_prior
from epluribus.partition import relabel

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
        """Posterior mean and ends of the central 95 % interval of the probability of a link."""
        a, b = e + self.first, x - e + self.second
        return a / (a + b), betaincinv(a, b, 0.025), betaincinv(a, b, 0.975)

    def some(self, e: AnyArray, x: AnyArray, _: AnyArray | float, part: float | None) -> FloatArray:
        """Probability of a link; with `part`, of one that was held out with this share."""
        t = self.posterior(e, x)[0]
        # f t / (1 - (1 - f) t), with the probability t of the whole network estimated by t' / (1 - f)
        return t if part is None else np.minimum(part * t / ((1 - part) * (1 - t)), 1.0)

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
        """Posterior mean and ends of the central 95 % interval of the mean number of links."""
        a, b = e + self.first, x + self.second
        return a / b, gammaincinv(a, 0.025) / b, gammaincinv(a, 0.975) / b

    def some(
        self, e: AnyArray, x: AnyArray, scale: AnyArray | float, part: float | None
    ) -> FloatArray:
        """Probability of at least one link of a pair with this exposure; of those held out with `part`."""
        if part is not None:  # what was held out has this part of the rate of the rest
            scale = scale * part / (1 - part)
        # 1 - E exp(-scale r), with r ~ Gamma(a + e, b + x)
        return np.asarray(-np.expm1(-(self.first + e) * np.log1p(scale / (self.second + x))))

    def tables(self, most: int) -> tuple[FloatArray, FloatArray]:
        """Log rising factorials of a and of 1, and the log of rate and exposure, in steps of 1/2 of it."""
        n = np.arange(min(most + 1, _TABLE_LIMIT))
        log_gamma = np.array([gammaln(self.first), 0.0, 0.0])
        rising = gammaln(n + self.first) - log_gamma[0]
        return np.array([rising, np.log(self.second + n / 2), gammaln(n + 1.0)]), log_gamma


def beta_law(beta: Any) -> BetaLaw:
    """The law with these two parameters, checked."""
    try:
        b1, b2 = beta
    except (TypeError, ValueError):
        raise ValueError(
            f"'beta' must be two numbers, such as (0.5, 0.5); got {shown(beta)}."
        ) from None
    return BetaLaw(check_positive(b1, "beta"), check_positive(b2, "beta"))


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

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        size = f"{self.n_items} nodes, {self.n_edges} edges, {kind}"
        return f"{type(self).__name__}({size}, prior={self.sides[0].prior})"

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
        state = make_state(
            partitions[0],
            self.law.model,
            (slots * (slots + 2 * self.with_degrees), 2),
            hyper=(*prior, slots, 1.0, self.directed, degrees, self._own_pairs, *log_gamma),
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
        i, j = pairs.T
        for draw in chosen:
            z = relabel(draw)
            edges, exposure = self.count_blocks(z)
            scale: Any = 1.0
            if self.with_degrees:
                n = np.bincount(z)
                # The posterior mean of each propensity: n (d + 1) / (n + D).
                each = [
                    n[z] * (ends + 1) / (n + np.bincount(z, weights=ends))[z]
                    for ends in self._ends()
                ]
                scale = np.where((i == j) & (not self.directed), 0.5, 1.0)
                scale = scale * each[0][i] * each[-1][j]
            total += self.law.some(edges[z[i], z[j]], exposure[z[i], z[j]], scale, part)
        return total / len(chosen)

    def _thin(self, part: float, rng: np.random.Generator) -> tuple[Self, IntArray]:
        """The model without a random part of the links, and the pairs (n, 2) with a link held out."""
        entries = sparse.coo_array(self._matrix if self.directed else sparse.triu(self._matrix))
        out = rng.binomial(entries.data.astype(np.int64), part)
        place = (entries.row, entries.col)
        rest = sparse.csr_array((entries.data - out, place), self._matrix.shape)
        if not self.directed:
            rest = sparse.csr_array(rest + sparse.triu(rest, 1).T)
        rest = rest.astype(np.int64)
        rest.eliminate_zeros()
        rest.sort_indices()
        other = copy(self)
        other._matrix = rest
        return other, np.column_stack(place)[out > 0].astype(np.int64)

    def _open(self, pairs: IntArray) -> AnyArray:
        """Whether a link between the nodes of each pair can have been held out."""
        there = np.asarray(self._matrix[pairs[:, 0], pairs[:, 1]]).ravel()
        return (there == 0) | (self.law.model == POISSON)


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
