"""A lower bound on the expected variation of information: a price for each item, checked for every set.

**The bound.** With cost c and h(n) = n log2 n, N times the expected loss is a constant plus the sum over the
clusters S of the partition of

    cost(S) = (2 - c) h(|S|) - 2 E sum over clusters g of the draw of h(|S and g|).

If prices of the items satisfy price(S) <= cost(S) for *every* set S that may be a cluster, then the constant
plus the sum of all prices bounds every partition: it is a dual solution of set partitioning.

**Prices.** Those of an estimate's cluster add up to its cost, so that the bound is the estimate's loss: only
how the cost is shared out among the items is left to choose. It is chosen as far as
possible from a list of other sets (the analytic center of price(S) <= cost(S)), which grows
by the sets that violate it.

**The check** is a branch and bound over sets (`_kernels/set_prices.py`), for ranges of sizes |S|. Items
that are together in all draws are one block. Conditions that an estimate obeys leave fewer sets: blocks
that must be together or apart, and smallest sizes. Where the time does not suffice, all prices are lowered:
the check is then quicker, and the bound smaller by as much.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._kernels.set_prices import Blocks
from epluribus._parallel import Stopper, run_apart, run_tasks
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import Settings
from epluribus.engine.constraints import Constraints
from epluribus.uncertainty._set_ranges import SizeRange, alike_items, ties_of

_MOST = 160
"""Blocks above which this is not tried."""
_RATIO = 1.06
"""Largest size over smallest size in a range."""
_FIRST, _TIMES = 60, 4
"""Nodes for each range in the first round, and how many times more there are after each further one."""
_HOPE = 0.8
"""Share of the ranges above which those that are left open after a round say that the check would not end."""
_LONG, _LONGEST = 20_000, 4_000_000
"""Nodes for each range after which that is judged, and after which the check is given up in any case."""
_ITEMS = 5000
"""Items above which this is not tried."""
_WORK = 200_000
"""Blocks times draws above which this is not tried: a node takes two nanoseconds for each."""
_CLUSTERS = 20_000
"""Clusters of all draws above which this is not tried: each range has its own memory for them."""
_INSIDE = 1e-7
"""Room that prices must have to all sets of the list, per item."""
_LOWER = (0.03, 0.01, 0.003)
"""By what shares of the loss prices are lowered where time was too short."""
_MARGIN = 4e-10
"""Share of the loss by which prices may exceed costs in sum: less than what counts as equal."""


def set_bound(
    draws: Draws,
    labels: IntArray,
    loss: float,
    cost: float,
    settings: Settings,
    share: float,
    stopper: Stopper,
    n_jobs: int,
) -> float:
    """A number not above the smallest expected variation of information, within a share of the time left.

    Minus infinity if there are too many blocks and draws for it. Partitions of the items that `settings` do
    not allow are left out, as far as its conditions are on pairs of items or on sizes.
    """
    if draws.n_items > _ITEMS or not 0.0 < cost < 2.0:
        return -np.inf
    asked = settings.constraints
    # Items that are alike count as one, unless clusters must be many, large or connected.
    free = settings.k_min == 1 and (asked is None or (asked.graph is None and asked.min_size == 1))
    alike = alike_items(draws, asked) if free else np.arange(draws.n_items)
    n_blocks = len(np.unique(alike))
    n_clusters = int(draws.distinct.max(axis=1).astype(np.int64).sum()) + draws.n_distinct
    few = 1 < n_blocks <= _MOST and n_blocks * draws.n_distinct <= _WORK
    if not few or n_clusters > _CLUSTERS:
        return -np.inf
    return SetPrices(draws, labels, loss, cost, alike, asked, stopper, n_jobs).run(share)


class SetPrices:
    """Finds prices and checks them.

    Parameters
    ----------
    draws : Draws
    labels : ndarray of shape (n_items,)
        A good partition.
    loss : float
        Its expected loss.
    cost : float
        The cost of the loss, between 0 and 2.
    alike : ndarray of shape (n_items,)
        The number of the block of each item.
    constraints : Constraints or None
        What the partition obeys.
    stopper : Stopper
    n_jobs : int
        Threads.
    """

    def __init__(
        self,
        draws: Draws,
        labels: IntArray,
        loss: float,
        cost: float,
        alike: IntArray,
        constraints: Constraints | None,
        stopper: Stopper,
        n_jobs: int,
    ) -> None:
        self.loss, self.stopper, self.n_jobs = loss, stopper, n_jobs
        self.n_items, self.least = draws.n_items, 1 if constraints is None else constraints.min_size
        self.end = np.inf
        _, first, mass = np.unique(alike, return_index=True, return_counts=True)
        rows = draws.distinct[:, first].astype(np.int64)
        n_clusters = rows.max(axis=1) + 1
        begin = np.cumsum(n_clusters) - n_clusters
        self.blocks = Blocks(
            mass.astype(np.int64),
            np.ascontiguousarray((rows + begin[:, None]).T, dtype=np.int32),
            np.repeat(draws.shares, n_clusters),
            losses.get("vi").tables(draws.n_items)[0],  # n log2 n
            ties_of(constraints, first),
            2.0 - cost,
        )
        # The draws' own part, c times sum m log2 m.
        sizes = np.zeros(int(n_clusters.sum()), dtype=np.int64)
        np.add.at(sizes, self.blocks.cells, self.blocks.mass[:, None])
        self.constant = cost * float(self.blocks.shares @ self.blocks.logs[sizes])
        self.labels = labels[first]
        self.own = (self.labels == np.arange(labels.max() + 1)[:, None]).astype(np.float64)
        self.own_costs = np.array([self.cost_of(each) for each in self.own])
        self.sets: dict[bytes, tuple[FloatArray, float]] = {}
        self._first_sets(rows)

    # --- sets and their costs ---

    def cost_of(self, inside: AnyArray) -> float:
        """What a set of blocks costs as a cluster."""
        blocks, chosen = self.blocks, inside > 0
        n = np.zeros(len(blocks.shares), dtype=np.int64)
        np.add.at(n, blocks.cells[chosen], blocks.mass[chosen, None])
        own = blocks.factor * float(blocks.logs[int(blocks.mass[chosen].sum())])
        return own - 2.0 * float(blocks.shares @ blocks.logs[n])

    def _add(self, inside: AnyArray) -> bool:
        """Add a set to the list; False if it is there, is a cluster of the estimate, or is not allowed."""
        chosen = np.ascontiguousarray(inside, dtype=np.float64)
        key = chosen.tobytes()
        if key in self.sets or not chosen.any() or (self.own == chosen).all(axis=1).any():
            return False
        if chosen @ self.blocks.mass < self.least:
            return False
        # A tied pair must be in or out as one; of a pair that must be apart only one may be in.
        ties, both = self.blocks.ties, chosen[:, None] + chosen
        if ((ties == 1) & (both == 1)).any() or ((ties == 2) & (both == 2)).any():
            return False
        self.sets[key] = (chosen, self.cost_of(chosen))
        return True

    def _first_sets(self, rows: IntArray) -> None:
        """Sets near the estimate's clusters, single blocks, and clusters of some draws."""
        single = np.eye(len(self.blocks.mass))
        for each in self.own:
            for block in single:
                self._add(np.abs(each - block))
            for other in self.own:
                self._add(np.maximum(each, other))
        for block in single:
            self._add(block)
        for row in rows[:: max(1, len(rows) // 30)]:
            for label in range(int(row.max()) + 1):
                self._add(row == label)

    def _descend(self, inside: AnyArray, prices: FloatArray) -> FloatArray:
        """The set that adding or leaving out single blocks leads to, while cost minus prices falls."""
        blocks, chosen = self.blocks, inside > 0
        while True:
            n = np.zeros(len(blocks.shares), dtype=np.int64)
            np.add.at(n, blocks.cells[chosen], blocks.mass[chosen, None])
            size = int(blocks.mass[chosen].sum())
            change = np.where(chosen, -blocks.mass, blocks.mass)
            now = n[blocks.cells]
            rise = blocks.logs[now + change[:, None]] - blocks.logs[now]
            inner = (blocks.shares[blocks.cells] * rise).sum(axis=1)
            own = blocks.factor * (blocks.logs[size + change] - blocks.logs[size])
            total = own - 2.0 * inner - np.where(chosen, -prices, prices)
            at = int(total.argmin())
            if total[at] > -1e-9:
                return chosen.astype(np.float64)
            chosen = chosen.copy()
            chosen[at] = not chosen[at]

    # --- prices ---

    def center(self) -> FloatArray | None:
        """Prices in the middle of what the list allows; None if the time is up."""
        table = np.array([each for each, _ in self.sets.values()])
        costs = np.array([cost for _, cost in self.sets.values()])
        n = table.shape[1]
        # How far a set is from the estimate's clusters, in items: near ones may cost little more.
        far = np.min([np.abs(table - each) @ self.blocks.mass for each in self.own], axis=0)
        # The largest s with price(S) + s far(S) <= cost(S), while the estimate's clusters have their costs.
        goal, own = (
            np.append(np.zeros(n), -1.0),
            np.column_stack([self.own, np.zeros(len(self.own))]),
        )
        limits, lower = [(None, None)] * n + [(None, 1.0)], 0.0
        for _ in range(2):
            target = self.own_costs - lower * (self.own @ self.blocks.mass)
            found = self._program(goal, np.column_stack([table, far]), costs, own, target, limits)
            if found is not None and found[-1] > _INSIDE:
                return self._newton(found[:-1], table, costs, target)
            # Fractions of sets are better than the estimate: by how much at most, per item?
            both = np.vstack([table, self.own])
            whole = self._program(-np.ones(n), both, np.append(costs, self.own_costs))
            if whole is None:
                return None
            below = float(self.own_costs.sum() - whole.sum()) / self.n_items
            lower = 1.2 * max(0.0, below) + 1e-4 * self.loss
        return None

    def _program(
        self,
        goal: FloatArray,
        table: FloatArray,
        most: FloatArray,
        equal: FloatArray | None = None,
        target: FloatArray | None = None,
        limits: Any = (None, None),
    ) -> FloatArray | None:
        """The solution of a linear program; None if there is none, or no time."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        left = min(self.end, self.stopper.deadline or np.inf) - time.perf_counter()
        if left <= 0.0:
            return None
        options = {"time_limit": left} if np.isfinite(left) else {}
        task = partial(
            linprog, goal, A_ub=csr_array(table), b_ub=most, A_eq=equal, b_eq=target,
            bounds=limits, method="highs", options=options,
        )  # fmt: skip
        found = run_apart(task, self.stopper)
        return None if found is None or found.status != 0 else np.asarray(found.x)

    def _newton(
        self, prices: FloatArray, table: FloatArray, costs: FloatArray, target: FloatArray
    ) -> FloatArray:
        """The prices with the largest product of cost(S) - price(S) over the list."""
        n, k = len(prices), len(target)
        system = np.zeros((n + k, n + k))
        system[:n, n:], system[n:, :n] = self.own.T, self.own
        for _ in range(50):
            room = costs - table @ prices
            gradient = table.T @ (1.0 / room)
            scaled = table / room[:, None]
            system[:n, :n] = scaled.T @ scaled + 1e-9 * np.eye(n)
            step = np.linalg.solve(system, np.append(-gradient, target - self.own @ prices))[:n]
            used = table @ step
            longest = float(np.min(room[used > 0] / used[used > 0], initial=1.0 / 0.9))
            prices = prices + 0.9 * longest * step
            if -gradient @ step < 1e-3:
                break
        return prices

    # --- the check ---

    def run(self, share: float) -> float:
        """The bound, within a share of the time left; minus infinity if there is none."""
        left, began = self.stopper.left, time.perf_counter()
        self.end = np.inf if left is None else began + share * left
        found = self.center()
        while found is not None and time.perf_counter() < self.end:
            prices, bound = found, self._value(found)
            # The last quarter of the time is for lower prices.
            left_open = self._check(prices, self._ranges(), 0.75)
            if left_open is not None:
                return bound if not left_open else self._with_lower(prices, left_open)
            found = self.center()
        return -np.inf

    def _value(self, prices: FloatArray) -> float:
        """The bound that prices give, rounded down."""
        n = self.n_items
        # A sum over the draws' clusters for each set; its terms are at most those of all items in a set.
        rounding = 2.0**-52 * (len(self.blocks.shares) + 4 * len(self.blocks.mass))
        terms = n * (4.0 * np.log2(max(2, n)) + np.abs(prices / self.blocks.mass).max())
        total = self.constant + float(prices.sum()) - rounding * (terms + self.constant)
        return total / n - _MARGIN * self.loss

    def _check(
        self, prices: FloatArray, trees: list[SizeRange], share: float
    ) -> list[SizeRange] | None:
        """The ranges that could not be checked in a share of the time; None if a set violates the prices."""
        n_nodes, began = _FIRST, time.perf_counter()
        n_all = len(self._sizes())
        while trees:
            started = time.perf_counter()
            until = min(self.end, began + share * (self.end - began)) if share < 1 else self.end
            flag = np.zeros(1, dtype=np.uint8)

            def watch(flag: AnyArray = flag, until: float = until) -> None:
                flag[0] |= self.stopper.flag[0] | np.uint8(time.perf_counter() > until)

            tasks = [partial(tree.search, prices, n_nodes, flag) for tree in trees]
            answers = run_tasks(
                tasks, n_jobs=self.n_jobs, stopper=self.stopper, while_waiting=watch
            )
            answers += [2] * (len(trees) - len(answers))
            bad = [tree.inside for tree, each in zip(trees, answers, strict=True) if each == 1]
            if bad:
                # Better prices are needed, for sets that are too cheap with these.
                added = [self._add(self._descend(each, prices)) | self._add(each) for each in bad]
                return None if any(added) else trees
            trees = [tree for tree, each in zip(trees, answers, strict=True) if each == 2]
            now = time.perf_counter()
            # The next round takes up to this long. With little hope the time is kept for other bounds.
            ahead = (_TIMES - 1) * (now - started) * len(trees) / len(answers)
            much = n_nodes > _LONG or now - began > 0.05 * (until - began)
            hopeless = (much and len(trees) > _HOPE * n_all) or n_nodes > _LONGEST
            if flag[0] or self.stopper.stopped or hopeless or 0.3 * ahead > until - now:
                break
            n_nodes = (_TIMES - 1) * n_nodes
        return trees

    def _with_lower(self, prices: FloatArray, trees: list[SizeRange]) -> float:
        """The bound with lower prices, which are checked where the others could not be."""
        best = -np.inf
        if len(trees) > _HOPE * len(self._sizes()):
            return best
        for lower in _LOWER:
            lowered = prices - lower * self.loss * self.blocks.mass
            if self._check(lowered, [tree.again() for tree in trees], 1.0) != []:
                break
            best = self._value(lowered)
        return best

    def _ranges(self) -> list[SizeRange]:
        """The searches through all sets, by their sizes."""
        margin = 0.5 * _MARGIN * self.loss
        return [SizeRange(self.blocks, *sizes, margin) for sizes in self._sizes()]

    def _sizes(self) -> list[tuple[int, int]]:
        """Ranges of sizes from the smallest one allowed to all items."""
        ranges, low = [], self.least
        while low <= self.n_items:
            high = min(self.n_items, max(low, int(low * _RATIO)))
            ranges.append((low, high))
            low = high + 1
        return ranges
