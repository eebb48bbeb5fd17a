"""Passes over a whole sample, whatever its size: count tables, look at all items.

Nothing moves during a pass, so the work is done in threads, by items or by draws. Tasks have a fixed size:
the result does not depend on the number of threads, nor on the slices in which the draws are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from epluribus._files import release_pages
from epluribus._kernels.engine import Price
from epluribus._kernels.partitions import count_tables, fill_gain
from epluribus._kernels.scan import add_costs, add_own_costs, find_gaps
from epluribus._kernels.vector import BLOCK, LANES
from epluribus._parallel import Stopped, Stopper, run_tasks
from epluribus._typing import FloatArray, IntArray
from epluribus.draws.store import Labels, LocalStore, Slice, Store
from epluribus.engine.engine import Engine
from epluribus.engine.prices import ROUNDING, least_cost

_ITEMS = 4096
"""Items that a task looks at: their costs stay in the cache."""


class Gains(NamedTuple):
    """What clusters cost an item, for some draws: only the item's groups count."""

    gain: NDArray[np.float32]
    """(n_draws, groups, width) what one more item adds in each cell; empty columns from K on."""
    own: NDArray[np.float32]
    """The same for an item that is counted there."""
    used: int
    """Columns for the clusters and a new one, in whole vectors."""

    def add(
        self,
        table: Labels,
        labels: IntArray,
        cost: FloatArray,
        own: FloatArray,
    ) -> None:
        """Add what the draws of the table say about its items to their costs."""
        single = np.empty(cost.shape[1], dtype=np.float32)
        add_costs(table, self.gain, self.used, single, cost)
        add_own_costs(table, labels, self.own, own)


class Rest(NamedTuple):
    """What else clusters cost, whatever the draws."""

    sizes: IntArray
    """(width,) cluster sizes. Entry K belongs to a new cluster: if none may be opened, it leads to the last
    entry of `size`."""
    n_clusters: int
    """K."""
    size: FloatArray
    """(n_items + 2,) what one more item adds to the size term of a cluster of n; the last one is infinite."""


class Frozen(NamedTuple):
    """A partition for a look at all items."""

    gains: Gains
    rest: Rest
    margin: float
    """Twice the bound on the rounding error of a cost: costs further apart are in the right order."""

    @classmethod
    def of(cls, engine: Engine, state: Any, *, closed: bool = False) -> Frozen:
        """The partition of a state of an engine with tables; if it is `closed`, no cluster may be opened."""
        own, joint, k = np.empty_like(state.gain), state.price.joint, int(state.n_clusters[0])
        fill_gain(state.counts, state.fold, joint, 1, own)
        gains = Gains(state.gain, own, (k // LANES + 1) * LANES)
        sizes, size = state.sizes.copy(), np.append(engine.slope(state) * state.price.size, np.inf)
        if closed:
            sizes[k] = len(size) - 1
        rest = Rest(sizes, k, size)
        # The bound of `prices`, which holds for any factors of the gains.
        largest = float(np.abs(joint).max() * np.abs(state.fold).sum())
        return cls(gains, rest, 2 * ROUNDING * largest)

    def front(self, n: int, price: Price) -> tuple[Frozen, IntArray]:
        """The n largest clusters, one more that stands for all others, and a new one; and which these n are.

        What stands for the others costs any item as little as a cluster of their sizes can, or less. f0 is
        linear.
        """
        gain, own, _ = self.gains
        k, width = self.rest.n_clusters, (n + 1) // LANES * LANES + LANES
        by_size = np.argsort(-self.rest.sizes[:k], kind="stable")
        chosen, sizes = by_size[:n], np.zeros(width, dtype=np.int64)
        sizes[:n], sizes[n + 1] = self.rest.sizes[chosen], self.rest.sizes[k]
        floor = least_cost(price, int(self.rest.sizes[by_size[n]])) - self.rest.size[0]
        some, mine = np.zeros((2, *gain.shape[:2], width), dtype=np.float32)
        some[:, :, :n], mine[:, :, :n] = gain[:, :, chosen], own[:, :, chosen]
        some[:, :, n] = floor / len(gain)
        some[:, :, n + 1] = gain[:, :, k]
        rest = Rest(sizes, n + 1, self.rest.size)
        return Frozen(Gains(some, mine, width), rest, self.margin), chosen

    def part(self, columns: slice) -> Gains:
        """The gains of some draws."""
        gain, own, used = self.gains
        return Gains(gain[columns], own[columns], used)


class Looked(NamedTuple):
    """What a look at all items has found, (n_items,) each."""

    target: IntArray
    """The best cluster other than the item's own, of which K is a new one; the best of all for an item in
    no cluster."""
    gap: FloatArray
    """How much more it costs than the item's own; for an item in no cluster, how much more the second best
    costs than the best."""


class Passes(Protocol):
    """A sample of any size, wherever it is."""

    @property
    def store(self) -> Store:
        """The draws."""

    def count(self, labels: IntArray, k: int) -> NDArray[np.int32]:
        """(n_draws, groups, k) contingency tables of all draws; a label of -1 is not counted."""

    def look(self, labels: IntArray, frozen: Frozen, items: IntArray | None = None) -> Looked:
        """Look at all items, or at some of them."""


class LocalPasses:
    """Passes over draws on this machine, in memory or mapped from a file.

    Parameters
    ----------
    store : LocalStore
        The draws.
    n_jobs : int
        Threads.
    stopper : Stopper
        What ends a pass early; `Stopped` is then raised.
    on_done : callable
        Called when a part of a pass is done, with its share.
    """

    def __init__(
        self, store: LocalStore, n_jobs: int, stopper: Stopper, on_done: Callable[[float], Any]
    ) -> None:
        self.store, self._n_jobs, self._stopper, self._on_done = store, n_jobs, stopper, on_done

    def count(self, labels: IntArray, k: int) -> NDArray[np.int32]:
        """(n_draws, groups, k) contingency tables of all draws; a label of -1 is not counted."""
        out = np.zeros((self.store.n_distinct, self.store.groups, k), dtype=np.int32)

        def count(part: Slice, begin: int, end: int) -> None:
            count_tables(part.table, begin, end, labels, out[part.columns][begin:end])
            release_pages(part.table)

        self._run(
            [
                partial(count, part, *block)
                for part in self.store.slices
                for block in blocks(part.table.shape[1], BLOCK)
            ]
        )
        return out

    def look(self, labels: IntArray, frozen: Frozen, items: IntArray | None = None) -> Looked:
        """Look at all items, or at some of them."""
        n, width = self.store.n_items if items is None else len(items), frozen.gains.gain.shape[2]
        found = nothing_yet(n)

        def look(begin: int, end: int) -> None:
            some = slice(begin, end) if items is None else items[begin:end]
            cost, own, mine = np.zeros((end - begin, width)), np.zeros(end - begin), labels[some]
            for part in self.store.slices:
                # A copy: read in one go, labels come from memory faster than block by block of draws.
                table = part.table[some].copy() if items is None else part.table[some]
                frozen.part(part.columns).add(table, mine, cost, own)
                release_pages(part.table)
            find_gaps(cost, own, mine, *frozen.rest, *(out[begin:end] for out in found))

        self._run([partial(look, *block) for block in blocks(n, _ITEMS)])
        return found

    def _run(self, tasks: Sequence[Callable[[], None]]) -> None:
        share = 1.0 / max(1, len(tasks))
        done = run_tasks(
            tasks,
            n_jobs=self._n_jobs,
            stopper=self._stopper,
            on_done=lambda _: self._on_done(share),
        )
        if len(done) < len(tasks):
            raise Stopped


def nothing_yet(n: int) -> Looked:
    """Room for what a look at n items will find."""
    return Looked(np.empty(n, dtype=np.int64), np.empty(n))


def blocks(n: int, size: int) -> list[tuple[int, int]]:
    """Pieces of range(n), each of `size` but the last."""
    return [(begin, min(begin + size, n)) for begin in range(0, n, size)]
