"""Block models of networks whose edges are counts, with or without degrees; all rates integrated out.

The number of edges between nodes i and j of clusters g and h is

    y_ij ~ Poisson(t_i t_j r_gh),    r_gh ~ Gamma(shape a, rate b)

Without degrees all t are 1. With x_gh pairs of nodes and e_gh edges in a block,

    log p(Y | z) = sum over blocks [ lgamma(a + e) - lgamma(a) + a log b - (a + e) log(b + x) ]
                   - sum log y_ij!

**Degree-corrected** (Karrer & Newman), in the collapsed form of Herlau, Schmidt & Morup: the propensities t
of the n nodes of a cluster are n times a point that is uniform on the simplex, so that they say how the edges
of the cluster are shared among its nodes, and not how many there are. Integrated out, they add for each
cluster with D ends of edges, d_i of them at node i,

    D log n + lgamma(n) - lgamma(n + D) + sum_i lgamma(d_i + 1)

and exposures become x_gg = n^2 / 2: the model is one of multigraphs in which a node may be linked to itself,
at half the rate of a pair. For networks with few parallel edges and loops this is the usual approximation.
Directed networks have propensities to send and to receive, one such term for each, and x_gg = n^2.

References
----------
Karrer, B., Newman, M. E. J. (2011). Stochastic blockmodels and community structure in networks. Physical
Review E 83, 016107. doi:10.1103/PhysRevE.83.016107

Herlau, T., Schmidt, M. N., Morup, M. (2014). Infinite-degree-corrected stochastic block model. Physical
Review E 90, 032819. doi:10.1103/PhysRevE.90.032819
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaincinv, gammaln

from epluribus._kernels.states import POISSON, State
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import check_positive
from epluribus.models.base import Partition
from epluribus.models.graphs import read_network
from epluribus.models.network_model import TABLE_LIMIT, NetworkModel, sparse_rows
from epluribus.models.prior import PartitionLaw


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
    A Gibbs update costs O(K^2 + degree) with K clusters; memory O(n_edges + k_max^2).

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
        shape: float = 0.5,
        rate: float | None = None,
        alpha: float | None = None,
        prior: str | PartitionLaw = "uniform",
        k_max: int | None = None,
    ) -> None:
        self.with_degrees = bool(degree_corrected)
        self.loops = bool(loops)
        network = read_network(
            adjacency, directed, n_nodes, counts=True, loops=self.loops or self.with_degrees
        )
        super().__init__(network, alpha, prior, k_max)
        self.shape = check_positive(shape, "shape")
        if rate is None:
            # Unit-free: with one edge at least, so that an empty network has a prior too.
            rate = self.shape * self._all_pairs() / max(self.n_edges, 1)
        self.rate = check_positive(rate, "rate")

    def _all_pairs(self) -> float:
        """Exposure of the whole network; of a single node without loops, 1."""
        pairs = self.count_blocks(np.zeros(self.n_items, dtype=np.int64))[1]
        return max(float(pairs[0, 0]), 1.0)

    def _log_likelihood(self, *labels: IntArray) -> float:
        a, b = self.shape, self.rate
        e, x = self._blocks(labels[0])
        total = gammaln(a + e) - gammaln(a) + a * np.log(b) - (a + e) * np.log(b + x)
        return float(total.sum() + self._log_degrees(labels[0]) + self._constants().sum())

    def _log_degrees(self, labels: IntArray) -> float:
        """The terms of the propensities, integrated out, that depend on the partition."""
        if not self.with_degrees:
            return 0.0
        n = np.bincount(labels)
        sums = [np.bincount(labels, weights=ends) for ends in self._ends()]
        return float(sum((D * np.log(n) + gammaln(n) - gammaln(n + D)).sum() for D in sums))

    def _constants(self) -> FloatArray:
        """(n_nodes,) what does not depend on the partition, each node's part of it."""
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
        most = max(2 * self.n_items**2, self.n_items + 2 * self.n_edges)
        n = np.arange(min(most + 1, TABLE_LIMIT))
        log_gamma = np.array([gammaln(self.shape), 0.0, 0.0])
        rising = gammaln(n + self.shape) - log_gamma[0]
        table = np.array([rising, np.log(self.rate + n / 2), gammaln(n + 1.0)])
        prior, tables = (self.shape, self.rate), (table, log_gamma)
        return (self._network_state(partitions[0], POISSON, prior, tables, self._constants()),)

    def _posterior(self, edges: IntArray, pairs: FloatArray) -> tuple[FloatArray, ...]:
        counts, exposure = edges + self.shape, pairs + self.rate
        ends = (np.asarray(gammaincinv(counts, share) / exposure) for share in (0.025, 0.975))
        return (np.asarray(counts / exposure), *ends)

    def _predict_one(self, pairs: IntArray, labels: IntArray, part: float | None) -> FloatArray:
        edges, exposure = self.count_blocks(labels)
        i, j = pairs.T
        g, h = labels[i], labels[j]
        scale = np.where((i == j) & (not self.directed), 0.5 if self.with_degrees else 1.0, 1.0)
        if self.with_degrees:
            n = np.bincount(labels)
            # The posterior mean of each propensity: n (d + 1) / (n + D).
            each = [
                (n[labels] * (ends + 1) / (n + np.bincount(labels, weights=ends))[labels])
                for ends in self._ends()
            ]
            scale = scale * each[0][i] * each[-1][j]
        if part is not None:  # what was held out has this part of the rate of the rest
            scale = scale * part / (1 - part)
        # 1 - E exp(-scale r), with r ~ Gamma(a + e, b + x)
        rate = self.rate + exposure[g, h]
        return np.asarray(-np.expm1(-(self.shape + edges[g, h]) * np.log1p(scale / rate)))

    def _open(self, pairs: IntArray) -> AnyArray:
        return np.ones(len(pairs), dtype=bool)

    def _parameters(self) -> dict[str, Any]:
        start, neighbors = sparse_rows(self._matrix)
        kind = np.array([self.directed, self.loops, self.with_degrees])
        return {
            "start": start,
            "neighbors": neighbors,
            "counts": self._matrix.data,
            "settings": np.array([self.shape, self.rate]),
            "kind": kind,
        }
