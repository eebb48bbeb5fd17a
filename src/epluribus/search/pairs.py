"""A partition with sums of similarities: Binder's loss, and the lower bound of VI for a similarity matrix.

A similarity matrix p_ij is enough for two losses:

    binder   the sum over pairs of (2 - c)(1 - p_ij) for those together and c p_ij for those apart
    vi_lb    (c Z + (2 - c) A - 2 J) / N with Z = sum_i log2 r_i, A = sum_i log2 n_i and J = sum_i log2 s_i: the
             lower bound of Wade & Ghahramani (`losses.vi_lb`)

where n_i is the size of the cluster of item i, r_i the sum of p_ij over all items, and s_i over its cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels import similarity as kernels
from epluribus._parallel import Stopper
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws.expected import Together, fill_symmetric, matrix_loss
from epluribus.losses.base import Loss
from epluribus.search.state import Bounds, State, Visited

if TYPE_CHECKING:
    from epluribus.search.problem import Problem

MOST_ITEMS = 8000
"""With more items than these, other ways are quicker."""


def counts_pairs(loss: Loss, n_items: int) -> bool:
    """Whether a linear loss is a sum over pairs of items."""
    f1, f2, _ = loss.tables(n_items)
    squares = np.arange(n_items + 1.0) ** 2
    return loss.linear and bool((f1 == f1[1] * squares).all() and (f2 == f2[1] * squares).all())


class PairCosts(NamedTuple):
    """Similarities of pairs, and what they cost (`_kernels/similarity.py`)."""

    together: AnyArray | None
    """(n_items, n_items) similarities without the diagonal ..."""
    lists: tuple[IntArray, AnyArray, FloatArray] | None
    """... or neighbors: where those of each item begin, these, and their similarities."""
    scale: float
    one: float
    """Similarity of an item with itself."""
    logs: bool
    size: FloatArray
    size_steps: FloatArray
    tolerance: float

    @classmethod
    def of(cls, problem: Problem, n_jobs: int = 1, stopper: Stopper | None = None) -> PairCosts:
        """The matrix of a problem; incomplete if the stopper ends the work early."""
        n, weights = problem.n_free, problem.weights
        unit = float(weights.min(initial=np.inf, where=weights > 0))
        units = weights / unit
        # Whole units are counted: sums are then exact.
        whole = (units == np.rint(units)).all() and units.sum() < 1 << 16
        unit, dtype = (unit, np.uint16) if whole else (1.0, np.float64)
        together = np.empty((n, n), dtype=dtype)
        fill_symmetric(together, Together(problem.table, weights / unit), n_jobs, stopper)
        np.fill_diagonal(together, 0)
        scale, one = float(problem.f[0, 1]) * unit, problem.total_weight / unit
        sizes = problem.size, problem.size_steps, problem.tolerance
        return cls(together, None, scale, one, False, *sizes)

    def no_sums(self, n_slots: int, n_items: int) -> AnyArray:
        """No sums with slots yet, in a type for this many items: whole units need four bytes if these can hold them."""
        if self.together is None:
            return np.zeros((n_slots, 1))
        whole = self.together.dtype == np.uint16 and self.one * n_items < 1 << 31
        shape = n_slots, len(self.together)
        return np.zeros(shape, dtype=np.int32 if whole else np.float64)


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
        self.lists = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data
        sizes = self.size, self.size_steps, self.tolerance
        self.pairs = PairCosts(None, self.lists, form.joint, 1.0, logs, *sizes)
        self.cells = 4.0 * len(matrix.data)
        """Steps of a sweep; those for a neighbor are like four for a cell of a table."""

    def expected(self, labels: IntArray) -> float:
        """Expected loss of canonical labels, from scratch."""
        return matrix_loss(labels, self.matrix, self.loss)

    def random_draw(self, rng: np.random.Generator) -> IntArray:
        """(n_items,) clusters around random pivots: items are together about as often as they are similar."""
        n, (first, near, share) = self.n_items, self.lists
        order, levels, labels = rng.permutation(n), rng.random(n), np.full(n, -1)
        for k, i in enumerate(order):
            # An item in no cluster makes one of the others in none that are more similar to it than its level.
            if labels[i] < 0:
                own = slice(first[i], first[i + 1])
                mates = near[own][share[own] > levels[i]]
                labels[np.append(mates[labels[mates] < 0], i)] = k
        return labels


class PairState(State):
    """A partition, and sums of the similarities of each item with clusters (`_kernels/similarity.py`).

    Parameters
    ----------
    pairs : PairCosts
    labels : ndarray of shape (n_items,)
        Labels 0..K-1, or -1 for an item in no cluster.
    others : tuple of ndarray, optional
        Of items that are not in `labels` and stay where they are: (K, n_items) sums of the similarities of each item
        with those in each cluster, and (K,) the numbers of these.
    """

    def __init__(
        self, pairs: PairCosts, labels: IntArray, others: tuple[AnyArray, IntArray] | None = None
    ) -> None:
        super().__init__(labels, pairs.tolerance)
        n, placed = len(labels), np.flatnonzero(labels >= 0)
        none = pairs.no_sums(0, n), np.zeros(0, dtype=np.int64)
        self.pairs, self.labels, self.inside = pairs, np.full(n, -1), np.full(n, pairs.one)
        width, (self.sums, self.sizes) = len(self.sizes), others or none
        self._resize(np.arange(len(self.sizes)), width)
        self.move(placed, labels[placed])

    def total(self) -> float:
        """Total loss without the constant."""
        p, at = self.pairs, np.flatnonzero(self.labels >= 0)
        lists = p.together is None
        inside = self.inside[at] if lists else p.one + self.sums[self.labels[at], at]
        joint = (np.log2(inside) if p.logs else inside).sum()
        return float(p.scale * joint + p.size[self.sizes].sum())

    def _visit(self, order: IntArray, bounds: Bounds, blocked: AnyArray, quick: bool) -> Visited:  # noqa: ARG002
        return self._sweep(order, np.empty(0, dtype=np.int64), bounds, blocked)

    def _sweep(
        self, order: IntArray, targets: IntArray, bounds: Bounds, blocked: AnyArray
    ) -> Visited:
        """What the kernel does: with targets, items go there."""
        p = self.pairs
        done: Visited = kernels.sweep(
            order, targets, self.n_clusters, p.together, p.lists, p.scale, p.one, p.logs, p.size_steps, p.tolerance,
            *bounds, blocked,
            self.labels, self.sizes, self.sums, self.inside, self.gap, self.second, np.empty(len(self.sizes)),
        )  # fmt: skip
        return done

    def move(self, items: IntArray, targets: IntArray) -> float:
        """Move items to slots; the change of the total loss."""
        none = np.zeros(1, dtype=np.uint8)
        return self._sweep(items, targets, Bounds(0, 0, none), none)[2]

    def _resize(self, slots: IntArray, width: int) -> None:
        """Keep these slots, and have `width` of them in all."""
        super()._resize(slots, width)
        before, self.sums = self.sums, self.pairs.no_sums(width, len(self.labels))
        # Rows are copied once; those that no cluster ever uses take no memory.
        self.sums[: len(slots)] = before if len(slots) == len(before) else before[slots]

    def _shared(self) -> Any:
        """(n_slots, n_slots) what the similarities of clusters change if they are joined, perhaps a sparse matrix."""
        from scipy.sparse import csr_array

        p, at, n = self.pairs, np.flatnonzero(self.labels >= 0), len(self.labels)
        inside = csr_array((np.ones(len(at)), (self.labels[at], at)), (len(self.sizes), n))
        if p.lists is None:
            return 2 * p.scale * (inside @ self.sums.T)
        reach = (csr_array(p.lists[::-1], (n, n)) @ inside.T).tocsr()
        if p.logs:
            items = np.repeat(np.arange(n), np.diff(reach.indptr))
            reach.data = np.log2(1 + reach.data / self.inside[items])
        shared = inside @ reach
        return p.scale * (shared + shared.T)

    def _apart(self, a: Any, b: Any) -> FloatArray:
        """What the sizes of clusters change if they are joined."""
        size, sizes = self.pairs.size, self.sizes
        joined = size[np.minimum(sizes[a] + sizes[b], len(self.labels))]
        return np.asarray(joined - size[sizes[a]] - size[sizes[b]])

    def join_changes(self) -> FloatArray:
        """Change of the total loss for every two slots up to the last one in use."""
        top, shared = self.top, self._shared()
        dense = self.pairs.lists is None
        changes: FloatArray = (shared if dense else shared.toarray())[:top, :top]
        for a in range(top):
            changes[a] += self._apart(a, slice(top))
        empty = self.sizes[:top] == 0
        changes[empty] = changes[:, empty] = np.inf
        np.fill_diagonal(changes, np.inf)
        return changes

    def best_joins(self, closed: NDArray[np.bool_] | None) -> tuple[IntArray, FloatArray]:
        """For each slot the one with which it is best joined, and the change; only similar ones if there are lists."""
        if self.pairs.lists is None:
            return super().best_joins(closed)
        shared, partner = self._shared().tocoo(), np.arange(len(self.sizes))
        a, b = shared.coords
        apart, least = a != b, np.full(len(partner), np.inf)
        a, b, change = a[apart], b[apart], (shared.data + self._apart(a, b))[apart]
        order = np.lexsort((b, change, a))
        slots, first = np.unique(a[order], return_index=True)
        partner[slots], least[slots] = b[order[first]], change[order[first]]
        return partner, least

    def _join(self, into: IntArray, others: IntArray) -> None:
        for a, b in zip(into, others, strict=True):
            items = np.flatnonzero(self.labels == b)
            self.move(items, np.full(len(items), a))
