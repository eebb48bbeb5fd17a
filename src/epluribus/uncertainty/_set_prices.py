"""A proof for the variation of information: a price for each item, checked against every set.

With cost c and h(n) = n log2 n, N times the expected loss is a constant plus the sum over the clusters S of

    cost(S) = (2 - c) h(|S|) - 2 E sum over clusters g of the draw of h(|S and g|).

If the prices of the items satisfy price(S) <= cost(S) for *every* set S, then the constant plus the sum of
all prices bounds every partition. Here the prices of an estimate's cluster add up to its cost, so that the
bound is the estimate's own loss: what is left to choose is how the cost is shared out among its items. They
are chosen in the middle of what a list of other sets allows; a branch and bound over all sets
(`_kernels/set_prices.py`) either proves that the prices hold, or finds sets for the list. Items that are
together in all draws are one block, since an optimum has them together. Where clusters are clear this proves
in seconds what prices by cluster size do not; where every item is in doubt it is given up soon.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from epluribus import losses
from epluribus._kernels.set_prices import IN, search_sets
from epluribus._parallel import Stopper, run_apart, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws

_MOST_BLOCKS, _MOST_LABELS = 160, 200_000
"""Blocks, and blocks times draws, above which this is not tried: it would rarely end."""
_NODES = (60, 400, 3000, 10_000)
"""Nodes for each size, round by round: cheap sizes are settled before dear ones are tried."""
_OPEN = 0.5
"""Share of the sizes that may be open after the first round, halved after each: with more it is given up."""
_LISTS = 60
"""Lists of sets that are tried: each brings the prices nearer to the right ones."""
_STEPS = 50
"""Steps of Newton's method at most: ten are usual."""
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
    alike = _blocks(draws.distinct)
    n_blocks = int(alike.max()) + 1
    few = 1 < n_blocks <= _MOST_BLOCKS and n_blocks * draws.n_distinct <= _MOST_LABELS
    # Where items that are alike are apart, there is a better partition.
    together = np.array_equal(labels, labels[np.unique(alike, return_index=True)[1]][alike])
    if not few or not together or not 0.0 < cost < 2.0:
        return -np.inf
    work = _SetPrices(draws, labels, loss, cost, alike, n_jobs, stopper)
    for _ in range(_LISTS):
        prices = None if stopper.stopped else work.choose_prices()
        if prices is None:
            break
        answer = work.check(prices)
        if answer is not None:
            return work.value(prices) if answer else -np.inf
    return -np.inf


class _SetPrices:
    """Finds prices and checks them; arguments as in `set_bound`, and the block of each item."""

    def __init__(
        self,
        draws: Draws,
        labels: IntArray,
        loss: float,
        cost: float,
        alike: IntArray,
        n_jobs: int,
        stopper: Stopper,
    ) -> None:
        self.loss, self.n_jobs, self.stopper = loss, n_jobs, stopper
        self.n_items, self.factor = draws.n_items, 2.0 - cost
        _, first, self.mass = np.unique(alike, return_index=True, return_counts=True)
        rows = draws.distinct[:, first].astype(np.int64)
        n_clusters = rows.max(axis=1) + 1
        begin = np.cumsum(n_clusters) - n_clusters
        self.cells = np.ascontiguousarray((rows + begin[:, None]).T)
        self.shares = np.repeat(draws.shares, n_clusters)
        self.logs = losses.get("vi").tables(draws.n_items)[0]  # n log2 n
        # The draws' own part, c times sum m log2 m.
        self.constant = cost * float(self.shares @ self.logs[self._inside(np.ones(len(first)))])
        own = labels[first]
        self.own = (own == np.unique(own)[:, None]).astype(np.float64)
        self.own_costs = np.array([self._cost(each) for each in self.own])
        self.sets: dict[bytes, tuple[FloatArray, float]] = {}
        single = np.eye(len(first))
        # Sets near the estimate's clusters, single blocks, and clusters of some draws.
        near = [abs(each - other) for each in self.own for other in single]
        joined = [np.maximum(each, other) for each in self.own for other in self.own]
        some = rows[:: max(1, len(rows) // 30)]
        of_draws = [row == label for row in some for label in range(int(row.max()) + 1)]
        for each in [*near, *joined, *single, *of_draws]:
            self._add(each)

    def _inside(self, chosen: AnyArray) -> IntArray:
        """How many items of a set of blocks are in each cluster of the draws."""
        counts = np.zeros(len(self.shares), dtype=np.int64)
        np.add.at(counts, self.cells[chosen > 0], self.mass[chosen > 0, None])
        return counts

    def _cost(self, chosen: AnyArray) -> float:
        """What a set of blocks costs as a cluster."""
        own = self.factor * float(self.logs[int(self.mass @ (chosen > 0))])
        return own - 2.0 * float(self.shares @ self.logs[self._inside(chosen)])

    def _add(self, inside: AnyArray) -> bool:
        """Add a set to the list; False if it is empty, there already, or a cluster of the estimate."""
        chosen = np.ascontiguousarray(inside, dtype=np.float64)
        key = chosen.tobytes()
        if key in self.sets or not chosen.any() or (self.own == chosen).all(axis=1).any():
            return False
        self.sets[key] = (chosen, self._cost(chosen))
        return True

    def _descend(self, inside: AnyArray, prices: FloatArray) -> AnyArray:
        """The set that adding or leaving out single blocks leads to, while cost minus prices falls."""
        chosen = inside > 0
        while True:
            change = np.where(chosen, -self.mass, self.mass)
            now, size = self._inside(chosen)[self.cells], int(self.mass @ chosen)
            rise = self.logs[now + change[:, None]] - self.logs[now]
            total = self.factor * (self.logs[size + change] - self.logs[size])
            total -= 2.0 * (self.shares[self.cells] * rise).sum(axis=1)
            total -= np.where(chosen, -prices, prices)
            at = int(total.argmin())
            if total[at] > -1e-9:
                return chosen
            chosen[at] = not chosen[at]

    def choose_prices(self) -> FloatArray | None:
        """Prices far from all sets of the list; None if there are none, or no time."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        table = np.array([each for each, _ in self.sets.values()])
        costs = np.array([cost for _, cost in self.sets.values()])
        n = table.shape[1]
        # How far a set is from the estimate's clusters, in items: near ones may cost little more.
        far = np.min([np.abs(table - each) @ self.mass for each in self.own], axis=0)
        # The largest s with price(S) + s far(S) <= cost(S), while the estimate's clusters have their costs.
        left = self.stopper.left
        task = partial(
            linprog,
            np.append(np.zeros(n), -1.0),
            A_ub=csr_array(np.column_stack([table, far])),
            b_ub=costs,
            A_eq=np.column_stack([self.own, np.zeros(len(self.own))]),
            b_eq=self.own_costs,
            bounds=[(None, None)] * n + [(None, 1.0)],
            options={} if left is None else {"time_limit": max(left, 1e-3)},
        )
        found = run_apart(task, self.stopper)
        if found is None or found.status != 0 or found.x[-1] <= 0.0:
            return None
        return self._center(found.x[:-1], table, costs)

    def _center(self, prices: FloatArray, table: FloatArray, costs: FloatArray) -> FloatArray:
        """The prices with the largest product of cost(S) - price(S) over the list, by Newton's method.

        The linear program alone goes from corner to corner: ten times as many lists did not suffice.
        """
        n = len(prices)
        system = np.zeros((n + len(self.own), n + len(self.own)))
        system[:n, n:], system[n:, :n] = self.own.T, self.own
        for _ in range(_STEPS):
            room = costs - table @ prices
            gradient, scaled = table.T @ (1.0 / room), table / room[:, None]
            system[:n, :n] = scaled.T @ scaled + 1e-9 * np.eye(n)
            step = np.linalg.solve(system, np.append(-gradient, self.own_costs - self.own @ prices))
            used = table @ step[:n]
            longest = float(np.min(room[used > 0] / used[used > 0], initial=1.0 / 0.9))
            prices = prices + 0.9 * longest * step[:n]
            if -gradient @ step[:n] < 1e-3:
                break
        return prices

    def value(self, prices: FloatArray) -> float:
        """The bound that prices give, rounded down."""
        n = self.n_items
        # Sums over the draws' clusters, whose terms are at most those of all items in one set.
        rounding = 2.0**-52 * (len(self.shares) + 4 * len(self.mass))
        terms = n * (4.0 * np.log2(max(2, n)) + np.abs(prices / self.mass).max())
        total = self.constant + float(prices.sum()) - rounding * (terms + self.constant)
        return total / n - _MARGIN * self.loss

    def check(self, prices: FloatArray) -> bool | None:
        """True if the prices hold for all sets, False if that is not known; None if sets joined the list."""
        # Clusters are disjoint: their margins, in proportion to their sizes, add up to that of all items.
        margin = 0.5 * _MARGIN * self.loss
        sizes = list(range(1, self.n_items + 1))

        def search(size: int, n_nodes: int) -> tuple[int, AnyArray]:
            state = np.zeros(len(self.mass), dtype=np.int8)
            answer, _ = search_sets(
                self.mass, self.cells, self.shares, self.logs, self.factor, prices,
                size, margin * size, n_nodes, self.stopper.flag, state,
            )  # fmt: skip
            return answer, state == IN

        for number, n_nodes in enumerate(_NODES):
            tasks = [partial(search, size, n_nodes) for size in sizes]
            answers = run_tasks(tasks, n_jobs=self.n_jobs, stopper=self.stopper)
            if self.stopper.stopped:
                return False
            bad = [inside for answer, inside in answers if answer == 1]
            if bad:
                added = [self._add(self._descend(each, prices)) | self._add(each) for each in bad]
                return None if any(added) else False
            sizes = [size for size, (answer, _) in zip(sizes, answers, strict=True) if answer]
            if not sizes:
                return True
            if len(sizes) > _OPEN / 2**number * self.n_items:
                return False
        return False


def _blocks(rows: AnyArray) -> IntArray:
    """A number for each item, the same for items with the same labels in all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.uncertainty._set_prices import _blocks
    >>> _blocks(np.array([[0, 1, 0, 1], [0, 1, 0, 2]]))
    array([0, 1, 0, 2])
    """
    columns = np.ascontiguousarray(rows.T)
    # An item's labels as one value: sorting these is far quicker than sorting rows.
    whole = columns.view(np.dtype((np.void, columns.itemsize * columns.shape[1]))).reshape(-1)
    return np.unique(whole, return_inverse=True)[1].reshape(-1).astype(np.int64)
