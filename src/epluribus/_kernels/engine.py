"""What sweeps and joins need of the expected loss: the contract of an execution.

An execution is a NamedTuple of arrays: a partition under change (`labels`, `sizes`, `n_clusters`), the
draws, and whatever makes the costs quick to compute. There are two: `tables` keeps the contingency tables
of all draws, `members` walks through the members of the clusters of the draws. The loops of `loops` are
written once, on these functions:

    costs(e, row, i)           the cost of every cluster, and of a new one, for item i; nothing is moved
    exact(e, row, i, s)        that of cluster s in double precision
    choose(e, i, own, opens)   the cluster of least cost in the row computed last
    cost_of(e, s)              the entry of cluster s in that row
    apply(e, row, i, s)        item i goes to cluster s; s = K opens a new one, an emptied one closes
    join_changes(e, row, a)    the change of the loss if cluster a is joined with each other: a row again
    join(e, row, a, b)         cluster b joins a < b

`row` is None if f0 is linear, else f0 compiled for a row of clusters (`rows`). A cost is the part of the
total loss, summed over the draws with their weights, that depends on where the item goes; only differences
within a row mean anything. Costs add over draws: an execution may hold all of them, or add up what others
compute for some of them. One that is not compiled registers plain functions, and runs the loops as plain
Python (`loops.sweep.py_func`).

The order of clusters, which settles ties, is the same everywhere: an item stays unless a move lowers the
loss by more than `tolerance`; then the smallest label wins, and a new cluster comes last. A cluster left
empty gives its label to the last cluster. A label of -1 means that the item is in no cluster yet.
"""

from typing import NamedTuple

from epluribus._kernels.dispatch import Contract, part
from epluribus._typing import FloatArray


class Price(NamedTuple):
    """What the loss and the draws say, unchanged while the search runs.

    If f0 is linear its coefficients are multiplied in, so that costs are plain sums.
    """

    f1: FloatArray
    """(n_items + 1,) f1, for the joint sum of a draw: that over the cells of its contingency table."""
    f2: FloatArray
    """(n_items + 1,) f2, for the size sum: that over the clusters. If linear, times the sum of weights."""
    joint: FloatArray
    """(n_items + 1,) f1(n + 1) - f1(n), what one more item adds to a cell; the last entry is never used."""
    size: FloatArray
    """(n_items + 1,) f2(n + 1) - f2(n), what it adds to the size sum; the last entry is never used."""
    weights: FloatArray
    """(n_draws,) weight of each draw."""
    group: FloatArray
    """(n_draws,) sum of f3 over the clusters of each draw."""
    margin: float
    """Bound on the rounding error of a cost summed in single precision."""
    tolerance: float
    """Costs closer than this are equal."""


_EXECUTION = Contract(costs=3, exact=4, choose=4, cost_of=2, apply=4, join_changes=3, join=4)
implement_execution = _EXECUTION.implement
costs = _EXECUTION.function("costs", inline=True)
exact = _EXECUTION.function("exact", inline=False)
choose = _EXECUTION.function("choose", inline=True)
cost_of = _EXECUTION.function("cost_of", inline=True)
apply = _EXECUTION.function("apply", inline=False)
join_changes = _EXECUTION.function("join_changes", inline=False)
join = _EXECUTION.function("join", inline=False)


@part
def size_change(price: Price, n: int, m: int) -> float:
    """Change of the size sum if clusters of n and m items are joined."""
    total = min(n + m, price.f2.shape[0] - 1)  # beyond it there are no two such clusters
    return price.f2[total] - price.f2[n] - price.f2[m]
