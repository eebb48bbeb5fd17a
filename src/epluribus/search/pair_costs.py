"""What pairs of items cost: what all `PairState` of a problem share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus._parallel import Stopper
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws.together import Together
from epluribus.losses.base import Loss

if TYPE_CHECKING:
    from epluribus.search.problem import Problem

MOST_ITEMS, _ITEMS_PER_CLUSTER = 8000, 400
"""With more items, or more of them for each cluster or for each item of a usual group, the others are quicker."""

_CELLS = 1e5
"""Cells of a sweep on tables, below which these are quick enough, and nothing more has to be compiled."""


def counts_pairs(loss: Loss, n_items: int) -> bool:
    """Whether a linear loss is a sum over pairs of items."""
    squares = np.arange(n_items + 1.0) ** 2
    f1, f2, _ = loss.tables(n_items)
    return loss.linear and bool((f1 == f1[1] * squares).all() and (f2 == f2[1] * squares).all())


class PairCosts(NamedTuple):
    """Similarities of pairs, and what they cost (`_kernels/pairs.py`)."""

    together: Any
    """(n_items, n_items) similarities without the diagonal; (0, 0) if there are lists of neighbors ..."""
    first: IntArray
    """... from first[i] to first[i + 1] - 1 for item i ..."""
    near: AnyArray
    """... in this list of items ..."""
    share: FloatArray
    """... and this one of similarities."""
    scale: float
    one: float
    """Similarity of an item with itself."""
    logs: bool
    size: FloatArray
    size_steps: FloatArray
    tolerance: float

    @classmethod
    def pays(cls, problem: Problem) -> bool:
        """Whether the loss is a sum over pairs, and their matrix is small and quick to make."""
        n, loss = problem.n_items, problem.loss
        if n > MOST_ITEMS or problem.missing or not loss.linear or problem.n_free < n:
            return False
        if problem.rows.size * float(problem.n_clusters.mean()) < _CELLS:
            return False
        if n > _ITEMS_PER_CLUSTER * float(problem.n_clusters.mean()) or not counts_pairs(loss, n):
            return False
        group = problem.members_seen / problem.rows.size  # mean size of the groups of an item
        return n <= _ITEMS_PER_CLUSTER * group and 8.0 * n**2 <= available_memory() / 4

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
        Together(problem.table, weights / unit).matrix(n_jobs, stopper, out=together)
        np.fill_diagonal(together, 0)
        scale, one = float(problem.f[0, 1]) * unit, problem.total_weight / unit
        return cls.dense(together, scale, one, problem)

    @classmethod
    def dense(cls, together: Any, scale: float, one: float, problem: Any) -> PairCosts:
        """The costs with a whole matrix, for Binder's loss; no item has neighbors."""
        first, none = np.zeros(len(together) + 1, dtype=np.int64), np.empty(0)
        sizes = problem.size, problem.size_steps, problem.tolerance
        return cls(together, first, none.astype(np.int32), none, scale, one, False, *sizes)

    @property
    def base(self) -> float:
        """What two items cost in one cluster, without what their similarity saves."""
        return 2 * float(self.size[1])

    @property
    def unit(self) -> float:
        """What a similarity of 1 changes for two items in one cluster."""
        return 2 * self.scale
