"""What pairs of items cost together: the matrix that all `PairState` of a problem share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from epluribus._kernels.pair_costs import list_friends
from epluribus._parallel import Stopper
from epluribus._typing import AnyArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws.together import Together
from epluribus.losses.base import Loss

if TYPE_CHECKING:
    from epluribus.search.problem import Problem

MOST_ITEMS, _ITEMS_PER_CLUSTER = 8000, 400
"""With more items, or more of them for each cluster of a draw, tables are quicker."""

_FRIENDS = 16
"""Lists of friends are made if one pair in 16 is in them, or fewer: with more there are few clusters."""


def counts_pairs(loss: Loss, n_items: int) -> bool:
    """Whether a linear loss is a sum over pairs of items."""
    squares = np.arange(n_items + 1.0) ** 2
    f1, f2, _ = loss.tables(n_items)
    return loss.linear and bool((f1 == f1[1] * squares).all() and (f2 == f2[1] * squares).all())


class PairCosts(NamedTuple):
    """Costs of pairs: `base` and, for each unit of `together`, `unit`."""

    together: Any
    base: float
    unit: float
    own_cost: float
    """What an item adds to the total loss by itself."""
    tolerance: float
    first: IntArray
    """The friends of item i, with which it costs less than 0, are at first[i] to first[i + 1] - 1 ..."""
    friends: AnyArray
    """... of this list; `first` is [0] if there are too many of them."""

    @classmethod
    def pays(cls, problem: Problem) -> bool:
        """Whether the loss is a sum over pairs, and their matrix is small and quick to make."""
        n = problem.n_items
        few = n <= min(MOST_ITEMS, _ITEMS_PER_CLUSTER * float(problem.n_clusters.mean()))
        if not few or problem.missing or not problem.loss.linear or problem.n_free < n:
            return False
        return counts_pairs(problem.loss, n) and 8.0 * n**2 <= available_memory() / 4

    @classmethod
    def of(cls, problem: Problem, n_jobs: int = 1, stopper: Stopper | None = None) -> PairCosts:
        """The matrix of a problem; incomplete if the stopper ends the work early."""
        n, weights = problem.n_free, problem.weights
        unit = float(weights.min(initial=np.inf, where=weights > 0))
        units = weights / unit
        whole = (units == np.rint(units)).all() and units.sum() < 1 << 16
        unit, dtype = (unit, np.uint16) if whole else (1.0, np.float64)
        together = np.empty((n, n), dtype=dtype)
        Together(problem.table, weights / unit).matrix(n_jobs, stopper, out=together)
        np.fill_diagonal(together, 0)
        joint, size = float(problem.f[0, 1]), float(problem.size[1])
        own = joint * problem.total_weight + size
        return cls.with_friends(together, 2 * size, 2 * joint * unit, own, problem.tolerance)

    @classmethod
    def with_friends(
        cls, together: Any, base: float, unit: float, own_cost: float, tolerance: float
    ) -> PairCosts:
        """The costs with lists of friends, if these are few."""
        first, friends = np.zeros(len(together) + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
        list_friends(together, base, unit, first, friends)
        if first[-1] > together.size / _FRIENDS:
            first = first[:1]
        elif first[-1]:
            friends = np.empty(first[-1], dtype=np.int32)
            list_friends(together, base, unit, first, friends)
        return cls(together, base, unit, own_cost, tolerance, first, friends)
