"""A search without draws: the partition that suits a similarity matrix best.

    binder   the sum over pairs of (2 - c)(1 - p_ij) for those together and c p_ij for those apart
    vi_lb    (c Z + (2 - c) A - 2 J) / N with Z = sum_i log2 r_i, A = sum_i log2 n_i and J = sum_i log2 s_i: the
             lower bound of Wade & Ghahramani (`losses.vi_lb`)

where n_i is the size of the cluster of item i, r_i the sum of p_ij over all items, and s_i over its cluster.

The rounds are those of a search with draws (`rounds`). In place of a random draw there is a partition around
*pivots*: a random item, with all items more similar to it than a random number, is a cluster, then the same with the
items left. Other starts are ``"average"`` and ``"complete"``, the best of several cuts through the tree of that
linkage, and ``"sequential"`` and ``"together"``, as with draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np

from epluribus._kernels.pairs import cluster_around_pivots
from epluribus._typing import IntArray
from epluribus._validate import available_memory
from epluribus.draws.expected import matrix_loss
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.losses.base import Loss
from epluribus.partition import relabel
from epluribus.search.pairs import MOST_ITEMS, PairCosts
from epluribus.search.starts import Start

_KINDS = ("pivots", "pivots", "sequential", "pivots", "pivots", "together")
"""The kinds of starts after the first round, in turn."""
_TREE = 3000
"""Items above which no tree is made: it takes memory for all pairs, and time that grows with their number."""
_CUTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 100, 150, 250, 500)
"""Numbers of clusters at which a tree is cut."""
_DENSE = 16
"""For Binder's loss a matrix with one pair in 16 above 0, or more, is kept as a whole, which is quicker."""


class MatrixProblem:
    """The expected loss from a similarity matrix, with what a search asks a `Problem` for.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array of shape (n_items, n_items)
        Similarities above zero, symmetric, without the diagonal.
    loss : Loss
        `losses.binder` or `losses.vi_lb`, with any cost.
    """

    def __init__(self, matrix: Any, loss: Loss) -> None:
        self.matrix, self.loss, n = matrix, loss, matrix.shape[0]
        self.n_items, self.n_free, self.n_draws, self.total_weight = n, n, 0, 1.0
        self.weights = np.ones(1)
        self.first, self.near = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        form = loss.linear_form(n)
        self.size = form.size * np.append(loss.tables(n)[1], 0.0)
        self.size_steps = np.append(np.diff(self.size), 0.0)
        # A cost is a sum over up to n items.
        largest = abs(form.joint) + float(np.abs(self.size_steps[:n]).max())
        self.tolerance = 8 * n * 2.0**-53 * largest
        logs = loss.family == "vi_lb"
        rows = 1.0 + matrix.sum(axis=1)
        self.constant = float(form.constant + form.group * (np.log2(rows) if logs else rows).sum())
        """What is the same for all partitions."""
        few = n <= MOST_ITEMS and 8.0 * n**2 <= available_memory() / 4
        if few and not logs and _DENSE * len(self.near) >= n**2:
            self.pairs = PairCosts.dense(matrix.toarray(), form.joint, 1.0, self)
        else:
            lists = np.empty((0, 0)), self.first, self.near, matrix.data
            sizes = self.size, self.size_steps, self.tolerance
            self.pairs = PairCosts(*lists, form.joint, 1.0, logs, *sizes)

    @property
    def cells(self) -> float:
        """Steps of a sweep; those for a neighbor are like four for a cell of a table."""
        return float(self.n_items) ** 2 if len(self.pairs.together) else 4.0 * len(self.near)

    def expected(self, labels: IntArray) -> float:
        """Expected loss of canonical labels, from scratch."""
        return matrix_loss(labels, self.matrix, self.loss)

    def random_draw(self, rng: np.random.Generator) -> IntArray:
        """(n_items,) clusters around random pivots: items are together about as often as they are similar."""
        n, labels = self.n_items, np.full(self.n_items, -1)
        lists = self.first, self.near, self.matrix.data
        cluster_around_pivots(rng.permutation(n), rng.random(n), *lists, labels)
        return labels


def matrix_alone(psm: Any, **others: Any) -> SimilarityMatrix:
    """A similarity matrix in place of draws; what needs draws is refused."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"'{name}' cannot be given together with 'psm', which has no draws.")
    return SimilarityMatrix.of(psm)


def matrix_starts(
    problem: MatrixProblem, given: tuple[Start, ...], rng: np.random.Generator
) -> Iterator[Start]:
    """The starts, without end; those that only the matrix can tell have labels already."""
    yield from given
    if problem.n_items <= _TREE:
        yield Start("average", _cut_tree(problem, "average"))
        yield Start("sequential")
        yield Start("complete", _cut_tree(problem, "complete"))
    for kind in cycle(_KINDS):
        yield Start(kind, relabel(problem.random_draw(rng)) if kind == "pivots" else None)


def _cut_tree(problem: MatrixProblem, method: str) -> IntArray:
    """The best cut through a tree of the items; distances are 1 - p_ij."""
    from scipy.cluster.hierarchy import fcluster, linkage

    n = problem.n_items
    if n < 2:
        return np.zeros(n, dtype=np.int64)
    tree = linkage(1.0 - problem.matrix.toarray()[np.triu_indices(n, 1)], method)
    cuts = (fcluster(tree, k, "maxclust").astype(np.int64) for k in _CUTS if k <= n)
    return min(map(relabel, cuts), key=problem.expected)
