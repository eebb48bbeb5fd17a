"""A lower bound on the smallest expected Binder loss, by linear programming.

With x_ij = 1 if the estimate puts items i and j together, P the similarity matrix and c the cost of
separating,

    psi(x) = sum_{i<j} c P_ij + sum_{i<j} x_ij (2 - c - 2 P_ij),

and x is a partition exactly if it is 0 or 1 and x_ij + x_jk - x_ik <= 1 for all triples. Without
"0 or 1" this is a linear programme (Groetschel & Wakabayashi 1989). Its triangle constraints are
added when they are violated. Whatever multipliers l >= 0 the solver returns for them,

    sum c P_ij + sum min(0, cost_ij + sum of its l's with their signs) - sum l

is not above the minimum: the bound is computed from this formula, and the solver's tolerances do
not matter. Items that no chain of pairs with negative cost connects are apart in an optimum, so that
the components of that graph are solved one by one, the small ones first. Large ones get the bound
of a packing of triangles.

Groetschel, M., Wakabayashi, Y. (1989). A cutting plane algorithm for a clustering problem.
Mathematical Programming 45, 59-96. doi:10.1007/BF01589097
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._kernels.triangles import least_costs, pack_triangles, worst_triangles
from epluribus._parallel import run_apart, run_tasks
from epluribus.uncertainty.psm import Rows, map_rows, psm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._parallel import Stopper
    from epluribus._typing import IntArray
    from epluribus.draws import Draws

__all__ = ["binder_bound"]

_DENSE_ITEMS = 6000
"""Up to so many items the similarity matrix is formed (300 MB); beyond, pairs are bounded one by one."""
_PROGRAMME_ITEMS = 600
"""Components larger than this are not given to the solver: each of its rounds would take minutes."""
_VIOLATED = 1e-7
"""A constraint is violated if by more than this: the solver's own tolerance."""
_CUTS_PER_ITEM = 40
"""Constraints added in a round, the most violated first."""
_SAFETY = 1e-12
"""Share of the sum of all terms that rounding could amount to; taken off the bound."""


def binder_bound(draws: Draws, cost: float, stopper: Stopper, n_jobs: int) -> float:
    """A number not above the smallest expected Binder loss."""
    if draws.n_items > _DENSE_ITEMS:
        bound, size = _pairwise(draws, cost, stopper, n_jobs)
    else:
        similarity = psm(draws, n_jobs=n_jobs)
        np.fill_diagonal(similarity, 0.0)
        constant = cost * float(similarity.sum()) / 2.0
        price = 2.0 - cost - 2.0 * similarity
        np.fill_diagonal(price, 0.0)
        size = constant + float(np.abs(price).sum()) / 2.0
        bound = constant + _connected(_components(price), stopper)
    bound -= _SAFETY * size
    if cost == 1.0 and Rows(draws).equal:
        # Every expected loss is a whole number of pairs over the number of draws.
        whole = bound * draws.n_draws
        if whole < 1e9:  # where rounding is far below the margin
            bound = float(np.ceil(whole - 1e-4)) / draws.n_draws
    return bound


def _pairwise(draws: Draws, cost: float, stopper: Stopper, n_jobs: int) -> tuple[float, float]:
    """The bound of no constraints: each pair by itself, or as many as time allows; none costs below 0."""

    def part(rows: Rows, begin: int, end: int) -> tuple[float, float]:
        block = rows(begin, end, end)
        return least_costs(block, begin, cost), 2.0 * block.size

    parts = map_rows(draws, part, n_jobs, stopper)
    return sum(bound for bound, _ in parts), sum(size for _, size in parts)


def _components(price: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Costs within each component of the graph of negative costs, the small ones first."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(csr_array(price < 0), directed=False)
    members = [np.flatnonzero(component == number) for number in range(component.max() + 1)]
    members = sorted((m for m in members if len(m) > 1), key=len)
    return [np.ascontiguousarray(price[np.ix_(m, m)]) for m in members]


def _connected(components: list[NDArray[np.float64]], stopper: Stopper) -> float:
    """Bound on the sum of x_ij times cost over all components."""
    bounds = [float(np.minimum(price, 0.0).sum()) / 2.0 for price in components]
    packed = [0.0] * len(components)
    for number, price in enumerate(components):
        if stopper.stopped:
            break
        # In a thread, so that this one can watch the clock.
        task = partial(pack_triangles, price.copy(), stopper.flag)
        [packed[number]] = run_tasks([task], n_jobs=1, stopper=stopper)
        bounds[number] += packed[number]
    for number, price in enumerate(components):
        if stopper.stopped:
            break
        # Where nothing could be packed, each pair can have what it wants: the bound is the minimum.
        if packed[number] > 0 and len(price) <= _PROGRAMME_ITEMS:
            bounds[number] = max(bounds[number], _Programme(price).solve(stopper))
    return sum(bounds)


class _Programme:
    """The linear programme of one component, in the pairs that its constraints name so far."""

    def __init__(self, price: NDArray[np.float64]) -> None:
        self.price = price
        self.n = len(price)
        self.x = (price < 0).astype(np.float64)
        self.cuts: IntArray = np.empty((0, 3), dtype=np.int64)
        self.bound = float(np.minimum(price, 0.0).sum()) / 2.0

    def solve(self, stopper: Stopper) -> float:
        """Add violated constraints until none is left or time is up; returns the best bound."""
        while not stopper.stopped:
            fresh = self._violated()
            if len(fresh) == 0:
                break
            self.cuts = np.unique(np.concatenate([self.cuts, fresh]), axis=0)
            if not self._round(stopper):
                break
        return self.bound

    def _violated(self) -> IntArray:
        """Triples (i, j, k) with x_ik + x_jk - x_ij > 1, the worst ones."""
        violation = np.zeros((self.n, self.n))
        third = np.zeros((self.n, self.n), dtype=np.int64)
        worst_triangles(self.x, violation, third)
        i, j = np.nonzero(violation > _VIOLATED)
        order = np.argsort(-violation[i, j], kind="stable")[: _CUTS_PER_ITEM * self.n]
        return np.stack([i[order], j[order], third[i[order], j[order]]], axis=1)

    def _round(self, stopper: Stopper) -> bool:
        """Solve with the present constraints; False if the solver ran out of time."""
        from scipy.optimize import linprog

        matrix, pairs = self._matrix()
        cost = self.price.ravel()[pairs]
        left = stopper.left
        if left == 0:
            return False
        options = {} if left is None else {"time_limit": left}
        ones = np.ones(len(self.cuts))
        solve = partial(
            linprog, cost, A_ub=matrix, b_ub=ones, bounds=(0, 1), method="highs", options=options
        )
        found = run_apart(solve, stopper)
        if found is None or found.status != 0:
            return False
        multipliers = np.maximum(0.0, -found.ineqlin.marginals)
        before = self.bound
        self._improve(cost, matrix, multipliers)
        i, j = np.divmod(pairs, self.n)
        self.x = (self.price < 0).astype(np.float64)
        self.x[i, j] = self.x[j, i] = found.x
        # Constraints with room to spare are dropped, and come back if they are violated again; only
        # after a gain, or the rounds could go in a circle.
        if self.bound > before + 1e-3 * abs(before):
            slack = ones - matrix @ found.x
            self.cuts = self.cuts[(slack < 1e-6) | (multipliers > 0)]
        return True

    def _improve(
        self, cost: NDArray[np.float64], matrix: Any, multipliers: NDArray[np.float64]
    ) -> None:
        """The bound of these multipliers, whatever they are."""
        before = np.minimum(cost, 0.0).sum()
        after = np.minimum(cost + matrix.T @ multipliers, 0.0).sum()
        alone = float(np.minimum(self.price, 0.0).sum()) / 2.0
        self.bound = max(self.bound, alone + float(after - before) - float(multipliers.sum()))

    def _matrix(self) -> tuple[Any, IntArray]:
        """Constraints as a sparse matrix, and the pairs (i n + j with i < j) of its columns."""
        from scipy.sparse import csr_array

        i, j, k = self.cuts.T
        sides = np.stack([_pair(i, k, self.n), _pair(j, k, self.n), _pair(i, j, self.n)], axis=1)
        pairs, column = np.unique(sides, return_inverse=True)
        signs = np.tile([1.0, 1.0, -1.0], len(sides))
        starts = np.arange(0, 3 * len(sides) + 1, 3)
        shape = (len(sides), len(pairs))
        return csr_array((signs, column.ravel(), starts), shape=shape), pairs


def _pair(i: IntArray, j: IntArray, n: int) -> IntArray:
    return np.minimum(i, j) * n + np.maximum(i, j)
