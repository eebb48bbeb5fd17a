"""Lower bounds on the smallest expected loss: no partition, found or not, is below them.

**Binder's loss.** With x_ij = 1 if the estimate puts items i and j together, P the similarity matrix and
c the cost of separating two items that belong together,

    psi(x) = sum_{i<j} c P_ij + sum_{i<j} x_ij (2 - c - 2 P_ij),

and x is a partition exactly if it is 0 or 1 and x_ij + x_jk - x_ik <= 1 for all triples. Without
"0 or 1" this is a linear program (Groetschel & Wakabayashi 1989). Its triangle constraints are added
as they are violated. Whatever multipliers l >= 0 the solver returns for them,

    sum c P_ij + sum min(0, price_ij + sum of its l's with their signs) - sum l

is not above the minimum, where price_ij = 2 - c - 2 P_ij (weak duality). The bound is computed from this
formula, so that the solver's tolerances do not matter. Items that no path of pairs with negative prices
connects are apart in an optimum: the components of that graph are solved one by one, the small ones first.
Large ones get the bound of a packing of triangles.

**Metrics.** For any partition a and draws s and t, loss(a, s) + loss(a, t) >= loss(s, t). With probabilities
p_t and a matching y_st = y_ts >= 0, sum_t y_st <= p_s,

    psi(a) >= sum over pairs s < t of y_st loss(s, t),

so draws are matched with distant ones, in blocks: by an assignment, in which each draw shares half of its mass with
its successor, or greedily where masses differ.

**VI, proved or not.** With cost c and h(n) = n log2 n, N times the expected loss is a constant plus the sum
over the clusters S of

    cost(S) = (2 - c) h(|S|) - 2 E sum over clusters g of the draw of h(|S and g|).

If the prices of the items satisfy price(S) <= cost(S) for *every* set S, then the constant plus the sum of
all prices bounds every partition. Here the prices of an estimate's cluster add up to its cost, so that the
bound is the estimate's own loss: what is left to choose is how the cost is shared out among its items. They
are chosen in the middle of what a list of other sets allows; a branch and bound over all sets
(`_kernels/set_prices.py`) proves that the prices hold, or gives up. Items that are together in all draws are one
block, since an optimum has them together. Where clusters are clear this proves in seconds what prices by cluster
size do not; where every item is in doubt it is given up soon.

Groetschel, M., Wakabayashi, Y. (1989). A cutting plane algorithm for a clustering problem.
Mathematical Programming 45, 59-96. doi:10.1007/BF01589097
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._kernels.set_prices import search_sets
from epluribus._kernels.similarity import pack_triangles
from epluribus._parallel import Stopper, hearing, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.draws.expected import Similarity, map_blocks
from epluribus.draws.rows import all_equal
from epluribus.losses.base import Loss
from epluribus.losses.values import loss_values
from epluribus.uncertainty._matrix import psm

_DENSE_ITEMS = 6000
"""Up to this many items the similarity matrix is formed (300 MB); beyond, each pair is bounded on its own."""
_PROGRAM_ITEMS = 600
"""Components larger than this are not given to the solver: each of its rounds would take minutes."""
_VIOLATED = 1e-7
"""Violations up to this do not count: it is the solver's own tolerance."""
_CUTS_PER_ITEM = 40
"""Largest number of constraints added in a round, per item; the most violated come first."""
SAFETY = 1e-12
"""Bound on the rounding errors, as a share of the sum of the terms' absolute values: it is subtracted."""
_BLOCK = 512
"""Draws that are matched with each other: the time of a matching grows with the cube."""
_MANY_ITEMS = 5000
"""With more items there are half as many, since the losses between the draws take longest."""
_MOST_BLOCKS, _MOST_LABELS = 160, 200_000
"""Blocks, and blocks times draws, above which this is not tried: it would rarely end."""
_ROUNDS = ((60, 0.5), (400, 0.25), (3000, 0.125), (10_000, 0.0))
"""Nodes for each size, and the share of the sizes that may be open after them: with more it is given up."""
_MARGIN = 4e-10
"""Share of the loss by which prices may exceed costs in sum: less than what counts as equal."""


# --- Binder's loss ---


def binder_bound(draws: Draws, cost: float, stopper: Stopper, n_jobs: int) -> float:
    """A number not above the smallest expected Binder loss.

    Parameters
    ----------
    draws : Draws
    cost : float
        Cost of separating two items that belong together; that of joining two that do not is 2 - `cost`.
    stopper : Stopper
        When its time is up, the best bound reached is returned.
    n_jobs : int
        Threads.
    """
    if draws.n_items > _DENSE_ITEMS:
        bound, size = _pair_by_pair(draws, cost, stopper, n_jobs)
    else:
        similarity = psm(draws, n_jobs=n_jobs)
        np.fill_diagonal(similarity, 0.0)
        # sum c P_ij, where each pair is in the matrix twice; then what joining a pair adds to it.
        constant = cost * float(similarity.sum()) / 2.0
        price = 2.0 - cost - 2.0 * similarity
        np.fill_diagonal(price, 0.0)
        size = constant + float(np.abs(price).sum()) / 2.0
        bound = constant + _connected(_components(price), stopper)
    bound -= SAFETY * size
    if cost == 1.0 and all_equal(draws.draw_weights):
        # Every expected loss is a number of pairs over the number of draws: the minimum is a multiple of
        # 1 / n_draws, so that the bound may be rounded up to the next one.
        total = bound * draws.n_draws
        if total < 1e9:  # where rounding is far below the margin
            bound = float(np.ceil(total - 1e-4)) / draws.n_draws
    return bound


def _pair_by_pair(draws: Draws, cost: float, stopper: Stopper, n_jobs: int) -> tuple[float, float]:
    """The bound without constraints, and a bound on the sum of its terms.

    Each pair pays min(c P_ij, (2 - c)(1 - P_ij)), the cheaper of apart and together. Neither is negative, so
    that pairs left out for lack of time may count as 0.
    """
    rows = Similarity(draws)

    def part(begin: int, end: int) -> tuple[float, float]:
        block = rows(begin, end, end)
        # Entry (i, j) is for the items begin + i and j: pairs with j < begin + i.
        least = np.tril(np.minimum(cost * block, (2.0 - cost) * (1.0 - block)), begin - 1)
        return float(least.sum()), 2.0 * block.size

    bound, size = np.sum(map_blocks(draws.n_items, part, n_jobs, stopper), axis=0)
    return float(bound), float(size)


def _components(price: FloatArray) -> list[FloatArray]:
    """Prices within each component of the graph of negative prices, the small ones first."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    # Between components every price is at least 0: joining across them never lowers the loss.
    _, component = connected_components(csr_array(price < 0), directed=False)
    members = [np.flatnonzero(component == number) for number in range(component.max() + 1)]
    # A component of one item has no pairs.
    members = sorted((m for m in members if len(m) > 1), key=len)
    return [np.ascontiguousarray(price[np.ix_(m, m)]) for m in members]


def _connected(components: list[FloatArray], stopper: Stopper) -> float:
    """Bound on the sum of x_ij times price over all components."""
    # Valid from the beginning, and improved as far as time allows: cheaply everywhere first, then by the
    # solver where that helps.
    bounds = [_unconstrained(price) for price in components]
    packed = [0.0] * len(components)
    for number, price in enumerate(components):
        if stopper.stopped:
            break
        # In another thread, so that this one can watch the clock.
        task = partial(pack_triangles, price.copy(), stopper.flag)
        [packed[number]] = run_tasks([task], n_jobs=1, stopper=stopper)
        bounds[number] += packed[number]
    for number, price in enumerate(components):
        # Where nothing could be packed, each pair can have what it wants: the bound is the minimum.
        if packed[number] > 0 and len(price) <= _PROGRAM_ITEMS:
            bounds[number] = max(bounds[number], _solve_program(price, stopper))
    return sum(bounds)


def _unconstrained(price: FloatArray) -> float:
    """Sum over pairs of min(0, price)."""
    return float(np.minimum(price, 0.0).sum()) / 2.0


def _solve_program(price: FloatArray, stopper: Stopper) -> float:
    """Bound of the linear program of one component, in the pairs that violated constraints name.

    Constraints are added until none is violated or time is up; the best bound on the way is returned.
    """
    n = len(price)
    bound = start = _unconstrained(price)
    # The solution without constraints: every pair with a negative price is together.
    x = wanted = (price < 0).astype(np.float64)
    cuts: IntArray = np.empty((0, 3), dtype=np.int64)
    while not stopper.stopped and len(fresh := _violated(x)):
        cuts = np.unique(np.concatenate([cuts, fresh]), axis=0)
        matrix, pairs = _constraints(cuts, n)
        cost = price.ravel()[pairs]
        found = solve_program(cost, stopper, A_ub=matrix, b_ub=np.ones(len(cuts)), bounds=(0, 1))
        if found is None:
            break
        # The marginals of "at most" constraints are not positive, up to the solver's tolerance.
        multipliers = np.maximum(0.0, -found.ineqlin.marginals)
        # The formula at the head of the module holds for any multipliers; pairs in no constraint keep
        # their price, so that only the change in the others is summed.
        change = np.minimum(cost + matrix.T @ multipliers, 0.0) - np.minimum(cost, 0.0)
        before, bound = bound, max(bound, start + float(change.sum() - multipliers.sum()))
        # The solution in the pairs of the program, and what was wanted in all others.
        i, j = np.divmod(pairs, n)
        x = wanted.copy()
        x[i, j] = x[j, i] = found.x
        # Constraints with room to spare are dropped, and come back if they are violated again; but only
        # after a gain, or the rounds could go in a circle.
        if bound > before + 1e-3 * abs(before):
            cuts = cuts[(matrix @ found.x > 1 - 1e-6) | (multipliers > 0)]
    return bound


def _violated(x: FloatArray) -> IntArray:
    """Triples (i, j, k) with x_ik + x_jk - x_ij > 1, the worst ones."""
    violation, third = np.zeros(x.shape), np.zeros(x.shape, dtype=np.int64)
    # For each pair of an item a and a later one, the third item of its largest violation.
    for a in range(len(x)):
        sums = x[a] + x[a + 1 :]
        third[a, a + 1 :] = sums.argmax(axis=1)
        violation[a, a + 1 :] = sums.max(axis=1, initial=-1.0) - x[a, a + 1 :] - 1.0
    i, j = np.nonzero(violation > _VIOLATED)
    order = np.argsort(-violation[i, j], kind="stable")[: _CUTS_PER_ITEM * len(x)]
    return np.stack([i[order], j[order], third[i[order], j[order]]], axis=1)


def _constraints(cuts: IntArray, n: int) -> tuple[Any, IntArray]:
    """Constraints as a sparse matrix, and the pairs (i n + j with i < j) of its columns."""
    from scipy.sparse import csr_array

    i, j, k = cuts.T
    # A column for each pair that occurs, and three entries in each row: ik, jk and ij.
    sides = [np.minimum(a, b) * n + np.maximum(a, b) for a, b in ((i, k), (j, k), (i, j))]
    pairs, column = np.unique(np.stack(sides, axis=1), return_inverse=True)
    signs = np.tile([1.0, 1.0, -1.0], len(i))  # x_ik + x_jk - x_ij <= 1
    # CSR by hand: row r has entries 3r, 3r + 1 and 3r + 2.
    starts = np.arange(0, 3 * len(i) + 1, 3)
    return csr_array((signs, column.ravel(), starts), shape=(len(i), len(pairs))), pairs


def solve_program(cost: FloatArray, stopper: Stopper, **limits: Any) -> Any:
    """The solution of a linear program; None after Ctrl-C, or if there is none in the time that is left."""
    from scipy.optimize import linprog

    left = stopper.left
    options = {} if left is None else {"time_limit": max(left, 1e-3)}
    found = hearing(partial(linprog, cost, **limits, options=options), stopper, leave=True)
    return None if found is None or found.status != 0 else found


# --- metrics ---


def triangle_bound(draws: Draws, loss: Loss, stopper: Stopper, n_jobs: int) -> float:
    """A number not above the smallest expected value of a metric loss.

    Time O(n_draws _BLOCK (n_items + _BLOCK)).
    """
    if all_equal(draws.draw_weights):  # draw by draw, so that all have the same mass
        columns, mass = draws.index, np.full(draws.n_draws, 1.0 / draws.n_draws)
    else:
        columns, mass = np.arange(draws.n_distinct), draws.shares
    size = _BLOCK if draws.n_items <= _MANY_ITEMS else _BLOCK // 2
    n_blocks = -(-len(columns) // size)
    # Draws of a block are far apart in the sample: neighbors in a chain are alike.
    blocks = [np.arange(first, len(columns), n_blocks) for first in range(n_blocks)]
    tasks = [partial(_match, draws, columns[block], mass[block], loss, stopper) for block in blocks]
    return sum(run_tasks(tasks, n_jobs=n_jobs, stopper=stopper))


def _match(
    draws: Draws, columns: IntArray, mass: FloatArray, loss: Loss, stopper: Stopper
) -> float:
    """The part of a block of draws in the bound, by a good matching."""
    from scipy.optimize import linear_sum_assignment

    table = draws.item_major.take(columns, axis=1)
    distance = np.zeros((len(mass), len(mass)))
    for s in range(len(mass)):
        if stopper.stopped:
            break  # rows left out count as 0, which is a valid bound on a distance
        distance[s] = loss_values(table[:, s].astype(np.int64), table, loss)
    if all_equal(mass):
        # The best permutation: each draw shares half of its mass with its successor.
        after = linear_sum_assignment(distance, maximize=True)[1]
        return float(mass[0] / 2.0 * distance[np.arange(len(mass)), after].sum())
    # The most distant pair first, with as much mass as both have left.
    left, bound = mass.copy(), 0.0
    i, j = np.triu_indices(len(mass), 1)
    for at in np.argsort(-distance[i, j], kind="stable"):
        s, t = int(i[at]), int(j[at])
        shared = min(left[s], left[t])
        left[[s, t]] -= shared
        bound += shared * float(distance[s, t])
    return bound


# --- the variation of information ---


def set_bound(
    draws: Draws, labels: IntArray, loss: float, cost: float, stopper: Stopper, n_jobs: int
) -> float:
    """The expected loss of a partition, a hair lower, if it is proved optimal; else minus infinity.

    Parameters
    ----------
    draws : Draws
    labels : ndarray of shape (n_items,)
        The partition.
    loss : float
        Its expected loss.
    cost : float
        The cost of the loss; 1 for the usual one.
    stopper : Stopper
    n_jobs : int
        Threads.
    """
    # Items with the same labels in all draws are a block: its labels, as one value, are the same.
    columns = np.ascontiguousarray(draws.item_major)
    _, first, alike, mass = np.unique(
        columns.view(f"V{columns.strides[0]}").ravel(),
        return_index=True, return_inverse=True, return_counts=True,
    )  # fmt: skip
    few = 1 < len(first) <= _MOST_BLOCKS and len(first) * draws.n_distinct <= _MOST_LABELS
    # Where items that are alike are apart, there is a better partition.
    if not few or not np.array_equal(labels, labels[first][alike]):
        return -np.inf
    n, factor, logs = draws.n_items, 2.0 - cost, losses.get("vi").tables(draws.n_items)[0]
    rows = columns[first].T.astype(np.int64)
    n_clusters = rows.max(axis=1) + 1
    cells = np.ascontiguousarray((rows + (np.cumsum(n_clusters) - n_clusters)[:, None]).T)
    shares = np.repeat(draws.shares, n_clusters)

    def shared(blocks: AnyArray) -> float:
        """E sum h(|S and g|) for a set of blocks."""
        counts = np.zeros(len(shares), dtype=np.int64)
        np.add.at(counts, cells[blocks], mass[blocks, None])
        return float(shares @ logs[counts])

    def cost_of(blocks: AnyArray) -> float:
        return factor * float(logs[mass @ blocks]) - 2.0 * shared(blocks)

    own = labels[first] == np.unique(labels)[:, None]
    own_costs = np.array([cost_of(blocks) for blocks in own])
    # Sets near the estimate's clusters, single blocks, and clusters of some draws.
    single = np.eye(len(first), dtype=bool)
    near = [(own[:, None] ^ single), own[:, None] | own]
    some = [row == np.unique(row)[:, None] for row in rows[:: max(1, len(rows) // 30)]]
    sets = np.unique(
        np.concatenate([*(x.reshape(-1, len(first)) for x in near), single, *some]), axis=0
    )
    # How far a set is from the estimate's clusters, in items: near ones may cost little more.
    far = np.min([(sets ^ blocks) @ mass for blocks in own], axis=0)
    use = (far > 0) & sets.any(axis=1)
    costs = np.array([cost_of(blocks) for blocks in sets[use]])
    prices = _choose(sets[use].astype(np.float64), costs, far[use], own, own_costs, stopper)
    # Clusters are disjoint: their margins, in proportion to their sizes, add up to that of all items.
    margin = 0.5 * _MARGIN * loss

    def search(size: int, n_nodes: int) -> bool:
        given = mass, cells, shares, logs, factor, prices, size, margin * size, n_nodes
        return search_sets(*given, stopper.flag)[0] == 0

    sizes = list(range(1, n + 1)) if prices is not None else []
    for n_nodes, share in _ROUNDS:
        tasks = [partial(search, size, n_nodes) for size in sizes]
        holds = run_tasks(tasks, n_jobs=n_jobs, stopper=stopper)
        sizes = [size for size, one in zip(sizes, holds, strict=True) if not one]
        if len(sizes) > share * n:
            break
    if prices is None or sizes or stopper.stopped:
        return -np.inf
    constant = cost * shared(np.ones(len(first), dtype=bool))  # the draws' own part
    # Sums over the draws' clusters, whose terms are at most those of all items in one set.
    rounding = 2.0**-52 * (len(shares) + 4 * len(mass))
    terms = n * (4.0 * np.log2(n) + np.abs(prices / mass).max())
    total = constant + float(prices.sum()) - rounding * (terms + constant)
    return float(total / n - _MARGIN * loss)


def _choose(
    sets: FloatArray,
    costs: FloatArray,
    far: IntArray,
    own: AnyArray,
    own_costs: FloatArray,
    stopper: Stopper,
) -> FloatArray | None:
    """Prices that are far below the costs of all sets of a list; None if there are none, or no time."""
    (k, n), equal = own.shape, own.astype(np.float64)
    # The largest s with price(S) + s far(S) <= cost(S), while the estimate's clusters have their costs.
    found = solve_program(
        np.append(np.zeros(n), -1.0), stopper,
        A_ub=np.column_stack([sets, far]), b_ub=costs,
        A_eq=np.column_stack([equal, np.zeros(k)]), b_eq=own_costs,
        bounds=[(None, None)] * n + [(None, 1.0)],
    )  # fmt: skip
    if found is None or found.x[-1] <= 0.0:
        return None
    # From that corner to the largest product of cost(S) - price(S), by Newton's method: corners rarely hold.
    prices, decrease = found.x[:-1], np.inf
    while decrease >= 1e-3:
        room = costs - sets @ prices
        gradient, scaled = sets.T @ (1.0 / room), sets / room[:, None]
        curvature = scaled.T @ scaled + 1e-9 * np.eye(n)
        system = np.block([[curvature, equal.T], [equal, np.zeros((k, k))]])
        step = np.linalg.solve(system, np.append(-gradient, own_costs - equal @ prices))[:n]
        used = sets @ step
        prices += step * min(1.0, 0.9 * np.min(room[used > 0] / used[used > 0], initial=np.inf))
        decrease = -gradient @ step
    return prices
