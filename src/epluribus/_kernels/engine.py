"""What sweeps and joins need to know about the expected loss: the contract of an execution.

An execution is a NamedTuple of arrays: a partition under change (`labels`, `sizes`, `n_clusters`), the
draws, and whatever makes the costs quick to compute. There are five: `tables` keeps the contingency tables
of all draws, `members` walks through the members of the clusters of the draws, `pairs` keeps a matrix of all
pairs of items, `matrix` has such a matrix and no draws, `partial` has tables of what each draw has seen, for
draws with missing labels. The loops in `loops` are written once, on these
functions:

    costs(e, row, i)           the cost of every cluster, and of a new one, for item i; nothing is moved
    glance(e, row, i)          the same, perhaps only roughly if f0 is not linear
    exact(e, row, i, s)        the cost of cluster s in double precision
    choose(e, i, own, opens)   the cluster of least cost in the row computed last
    cost_of(e, s)              the entry of cluster s in that row; exact for the one chosen and for `own`
    exclude(e, s)              makes that entry infinite, so that another cluster is chosen
    least_gap(e, i, own, alone)
                               how much more any other cluster costs item i than its own, at least, by the
                               row computed last; `own` is then excluded
    apply(e, row, i, s)        item i goes to cluster s; s = K opens a new one, an emptied one closes
    join_changes(e, row, a)    change of the loss if cluster a is joined with each other one: again a row
    join(e, row, a, b)         cluster b joins a < b

`row` is None if f0 is linear, else f0 compiled for a row of clusters (`rows`). A cost is the part of the
total loss, summed over the draws with their weights, that depends on where the item goes; only differences
within a row are meaningful. Costs add over draws: an execution may hold all draws, or add up what others
compute for some of them. An execution that is not compiled registers plain functions, and runs the loops
as plain Python (`loops.sweep.py_func`).

With n_tvs the number of items in group v of draw t and in cluster s, without item i, the expected loss is
made of a *joint sum* per draw, sum over v and s of f1(n_tvs), and a *size sum*, sum over s of f2(n_s). If
item i, in group v of draw t, goes to cluster s, they grow by

    joint[n_tvs] = f1(n_tvs + 1) - f1(n_tvs)    and    size[n_s] = f2(n_s + 1) - f2(n_s)

Ties are settled in the same way everywhere: an item stays unless a move lowers the loss by more than
`tolerance`; among equally good targets the smallest label wins, and a new cluster comes last. When a cluster
is left empty, the last cluster takes its label. A label of -1 means that the item is in no cluster yet.
"""

from typing import Any, NamedTuple

import numpy as np

from epluribus._kernels.dispatch import Contract, part, routine
from epluribus._kernels.reference import by_reference
from epluribus._typing import FloatArray

_CLOSE = 4.0
"""Margins within which the gap of an item is computed exactly."""


@by_reference
class Price(NamedTuple):
    """What the loss and the draws determine once and for all: constant while the search runs.

    If f0 is linear, its coefficients are multiplied into f1 and f2, so that costs are plain sums.
    """

    f1: FloatArray
    """(n_items + 1,) f1, summed over the cells of a draw's contingency table: the joint sum."""
    f2: FloatArray
    """(n_items + 1,) f2, summed over the clusters: the size sum. If f0 is linear, times the total weight."""
    joint: FloatArray
    """(n_items + 1,) f1(n + 1) - f1(n), what one more item adds to a cell; the last entry is never used."""
    size: FloatArray
    """(n_items + 1,) f2(n + 1) - f2(n), what it adds to the size sum; the last entry is never used."""
    weights: FloatArray
    """(n_draws,) weight of each draw."""
    group: FloatArray
    """(n_draws,) sum of f3 over the clusters of each draw."""
    margin: float
    """Twice the bound on the rounding error of a cost summed in single precision: costs further apart than
    this are in the right order. 0 if f0 is not linear, where all sums are in double precision."""
    rounding: float
    """Bound on the same error as a share of the joint part of the cost, if all its terms have one sign; else
    0, and only the margin is known."""
    tolerance: float
    """Costs closer than this count as equal."""


# Short functions are inlined into the loops; the longer ones are compiled once and called.
_EXECUTION = Contract(
    costs=3, glance=3, exact=4, choose=4, cost_of=2, exclude=2, least_gap=4, apply=4, join_changes=3, join=4,
)  # fmt: skip
implement_execution = _EXECUTION.implement
costs = _EXECUTION.function("costs", inline=False)
glance = _EXECUTION.function("glance", inline=False)
exact = _EXECUTION.function("exact", inline=False)
choose = _EXECUTION.function("choose", inline=False)
cost_of = _EXECUTION.function("cost_of", inline=True)
exclude = _EXECUTION.function("exclude", inline=True)
least_gap = _EXECUTION.function("least_gap", inline=True)
apply = _EXECUTION.function("apply", inline=False)
join_changes = _EXECUTION.function("join_changes", inline=False)
join = _EXECUTION.function("join", inline=False)


@part
def items_in_all(price: Price) -> int:
    """The number of items of the sample; a state may hold some of them and only count the others."""
    return price.f1.shape[0] - 1


@part
def size_change(price: Price, n: int, m: int) -> float:
    """Change of the size sum if clusters of n and m items are joined."""
    # `members` asks for every two sizes in use, also for pairs that no two clusters have. These may exceed
    # the number of items together: the value is never used, but the index must be within the table.
    total = min(n + m, price.f2.shape[0] - 1)
    return price.f2[total] - price.f2[n] - price.f2[m]


@routine
def lowest(cost: FloatArray, n: int) -> float:
    """The least of the first n costs."""
    # Four minima side by side, because each step of one minimum waits for the step before.
    low0, low1, low2, low3 = np.inf, np.inf, np.inf, np.inf
    for s in range(0, n - 3, 4):
        low0 = min(low0, cost[s])
        low1 = min(low1, cost[s + 1])
        low2 = min(low2, cost[s + 2])
        low3 = min(low3, cost[s + 3])
    for s in range(n - n % 4, n):
        low0 = min(low0, cost[s])
    return min(min(low0, low1), min(low2, low3))


@routine
def first_of_best(cost: FloatArray, own: int, enough: float) -> int:
    """The choice among all clusters that cost at most `enough`: to stay, else the smallest label.

    `own` is -1 for an item in no cluster; a new cluster is the last entry.
    """
    if own >= 0 and cost[own] <= enough:
        return own
    best = 0
    while cost[best] > enough:
        best += 1
    return best


@routine
def row_gap(e: Any, i: int, own: int, alone: bool) -> float:
    """`least_gap` from a row with an entry for each cluster.

    A new cluster counts even where none may open now, since one may open later; but for an item that is
    `alone`, it is no other cluster.
    """
    n = e.n_clusters[0] if alone else e.n_clusters[0] + 1
    here = cost_of(e, own)
    exclude(e, own)
    # The cost of its own cluster is exact, the others may be off by half the margin.
    least = lowest(e.cost, n) - here - 0.5 * e.price.margin
    if least < _CLOSE * e.price.margin and n > 1:
        least = cost_of(e, choose(e, i, -1, not alone)) - here - e.price.tolerance
    return least


# --- what executions share that have a row with an entry for each cluster ---


@routine
def choose_from_row(e: Any, i: int, own: int, opens: bool) -> int:
    """The cluster of least cost; `own` (-1 for none) if it is as good, then the smallest label."""
    n = e.n_clusters[0] + 1 if opens else e.n_clusters[0]
    return first_of_best(e.cost, own, lowest(e.cost, n) + e.price.tolerance)


@routine
def entry(e: Any, s: int) -> float:
    """The entry of cluster s in the row computed last."""
    return e.cost[s]


@routine
def exclude_entry(e: Any, s: int) -> None:
    """Make that entry infinite."""
    e.cost[s] = np.inf


@routine
def rename(e: Any, old: int, new: int) -> None:
    """Give the label of an empty cluster to another one, with its size."""
    for j in range(e.labels.shape[0]):
        if e.labels[j] == old:
            e.labels[j] = new
    e.sizes[new] = e.sizes[old]
    e.sizes[old] = 0
