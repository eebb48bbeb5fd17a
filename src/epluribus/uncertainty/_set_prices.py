"""A proof for the variation of information: a price for each item, checked against every set.

With cost c and h(n) = n log2 n, N times the expected loss is a constant plus the sum over the clusters S of

    cost(S) = (2 - c) h(|S|) - 2 E sum over clusters g of the draw of h(|S and g|).

If the prices of the items satisfy price(S) <= cost(S) for *every* set S, then the constant plus the sum of
all prices bounds every partition. Here the prices of an estimate's cluster add up to its cost, so that the
bound is the estimate's own loss: what is left to choose is how the cost is shared out among its items. They
are chosen in the middle of what a list of other sets allows; a branch and bound over all sets
(`_kernels/set_prices.py`) proves that the prices hold, or gives up. Items that are together in all draws are one
block, since an optimum has them together. Where clusters are clear this proves in seconds what prices by cluster
size do not; where every item is in doubt it is given up soon.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from epluribus import losses
from epluribus._kernels.set_prices import search_sets
from epluribus._parallel import Stopper, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.uncertainty._bounds import solve_program

_MOST_BLOCKS, _MOST_LABELS = 160, 200_000
"""Blocks, and blocks times draws, above which this is not tried: it would rarely end."""
_ROUNDS = ((60, 0.5), (400, 0.25), (3000, 0.125), (10_000, 0.0))
"""Nodes for each size, and the share of the sizes that may be open after them: with more it is given up."""
_MARGIN = 4e-10
"""Share of the loss by which prices may exceed costs in sum: less than what counts as equal."""


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
    if not few or not 0.0 < cost < 2.0 or not np.array_equal(labels, labels[first][alike]):
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
        system = np.block(
            [[scaled.T @ scaled + 1e-9 * np.eye(n), equal.T], [equal, np.zeros((k, k))]]
        )
        step = np.linalg.solve(system, np.append(-gradient, own_costs - equal @ prices))[:n]
        used = sets @ step
        prices += step * min(1.0, 0.9 * np.min(room[used > 0] / used[used > 0], initial=np.inf))
        decrease = -gradient @ step
    return prices
