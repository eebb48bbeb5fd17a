"""The block models that users make: of networks, with links that are there or not or with counts, and of matrices.

The models of networks are one, `epluribus.models.networks`, which has their formulas.

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

from collections.abc import Sequence
from typing import Any

import numpy as np

from epluribus._kernels.states import LATENT, State
from epluribus._typing import IntArray
from epluribus._validate import check_positive
from epluribus.models.base import Model, Partition, Side, make_state
from epluribus.models.edges import read_network
from epluribus.models.networks import GammaLaw, NetworkModel, beta_law, count_ones, sparse_links
from epluribus.models.prior import PartitionLaw, as_prior
from epluribus.models.tables import count_matrix, row_names


class StochasticBlockModel(NetworkModel):
    """Stochastic block model of a binary network.

    Parameters
    ----------
    adjacency : matrix, graph, data frame, edges or path
        A square matrix of zeros and ones, dense or sparse; a graph of networkx or igraph; a pandas data
        frame, square with the names of the nodes, or with an edge in each row; edges as pairs of node
        numbers from 0 or of names; the path of a GraphML or GML file or of a text file with two names in each
        line. A list of tuples, a set or a view is always edges; an array with two columns is, unless it is
        2 x 2; with `n_nodes`, any array is. Nodes without edges are allowed, but an edge list alone does not
        show them: give `n_nodes`. The items are the nodes, in the order of the graph and with its names.
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
        self.law = beta_law(beta)


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
    matrix : array_like, sparse matrix or data frame of shape (n_rows, n_columns)
        Zeros and ones. The draws have the names of the rows and columns of a data frame.
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
        self._matrix = count_matrix(matrix, "matrix")
        self.law = beta_law(beta)
        names = row_names(matrix), row_names(getattr(matrix, "T", None))
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

        def view(own: Partition, other: Partition, matrix: Any, down: int, across: int) -> State:
            hyper = (*prior, down, across, 0.0, 0.0, 0.0, *log_gamma)
            shape = (rows.slots * columns.slots, 2)
            links = sparse_links(matrix)
            return make_state(
                own, LATENT, shape, hyper=hyper, links=links, table=table, other=other
            )

        first = view(rows, columns, self._matrix, columns.slots, 1)
        # The columns see the same blocks, transposed.
        second = view(columns, rows, self._matrix.T, 1, columns.slots)
        return first, second._replace(stat=first.stat)


def _pair(value: Any, argument: str) -> tuple[Any, Any]:
    """One value for rows and one for columns, from one value for both or from two."""
    if not isinstance(value, tuple | list):
        return value, value
    if len(value) != 2:
        raise ValueError(
            f"'{argument}' must be one value or two, for rows and columns; got {len(value)}."
        )
    return value[0], value[1]
