"""Parts of the check of prices for sets: blocks of items, their ties, and the search for a range of sizes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from epluribus._kernels.set_prices import IN, Blocks, Room, search_sets
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine.constraints import Constraints


class SizeRange:
    """The search through the sets of a range of sizes.

    Parameters
    ----------
    blocks : Blocks
    smallest, largest : int
        Sizes of sets, in items.
    margin : float
        By how much prices may exceed costs, per item.
    """

    def __init__(self, blocks: Blocks, smallest: int, largest: int, margin: float) -> None:
        self.blocks, self.smallest, self.largest, self.margin = blocks, smallest, largest, margin
        n, m = len(blocks.mass), len(blocks.shares)
        whole: Any = partial(np.zeros, dtype=np.int64)
        small: Any = partial(np.zeros, dtype=np.int8)
        self.room = Room(
            small(n), whole(m), whole(m), whole(m), np.zeros(m), np.zeros(m), np.zeros(m),
            np.zeros(n), whole(n), whole(n), whole(n + 1), small(n + 1), np.full(2, -1),
        )  # fmt: skip

    def again(self) -> SizeRange:
        """The same range from the beginning."""
        return SizeRange(self.blocks, self.smallest, self.largest, self.margin)

    def search(self, prices: FloatArray, n_nodes: int, stop: AnyArray) -> int:
        """As `search_sets`."""
        # Clusters are disjoint: their margins, in proportion to their sizes, add up to that of all items.
        margin = self.margin * self.smallest
        sizes = (self.smallest, self.largest)
        return int(search_sets(self.blocks, prices, *sizes, margin, n_nodes, stop, self.room))

    @property
    def inside(self) -> FloatArray:
        """The set that was found."""
        return (self.room.state == IN).astype(np.float64)


def alike_items(draws: Draws, constraints: Constraints | None) -> IntArray:
    """Numbers of the blocks of all items: alike in all draws, and free of conditions."""
    alike = alike_in(draws.distinct)
    if constraints is not None:
        # Items under a condition are blocks of their own: moving others to them might break it.
        bound = np.bincount(constraints.blocks)[constraints.blocks] > 1
        bound |= np.asarray(constraints.groups.sum(axis=0)).reshape(-1) > 0
        alike[bound] = draws.n_items + np.flatnonzero(bound)
    return alike


def alike_in(rows: AnyArray) -> IntArray:
    """A number for each item, the same for items with the same labels in all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.uncertainty._set_ranges import alike_in
    >>> alike_in(np.array([[0, 1, 0, 1], [0, 1, 0, 2]]))
    array([0, 1, 0, 2])
    """
    columns = np.ascontiguousarray(rows.T)
    # An item's labels as one value: sorting these is far quicker than sorting rows.
    whole = columns.view(np.dtype((np.void, columns.itemsize * columns.shape[1]))).reshape(-1)
    return np.unique(whole, return_inverse=True)[1].reshape(-1).astype(np.int64)


def ties_of(constraints: Constraints | None, first: IntArray) -> AnyArray:
    """(n_blocks, n_blocks) 1 for blocks that must be together, 2 for apart; `first` is an item of each."""
    ties = np.zeros((len(first), len(first)), dtype=np.int8)
    if constraints is None:
        return ties
    linked = constraints.blocks[:, None] == constraints.blocks
    groups = constraints.groups.toarray() > 0
    apart = (groups.T.astype(np.int64) @ groups) > 0
    np.fill_diagonal(apart, False)
    # What is apart from an item is apart from all that must be with it.
    apart = (linked.astype(np.int64) @ apart @ linked) > 0
    np.fill_diagonal(linked, False)
    ties[linked[np.ix_(first, first)]] = 1
    ties[apart[np.ix_(first, first)]] = 2
    return ties
