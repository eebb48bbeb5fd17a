"""Constraints as a search asks about them: where a unit may go, and how any partition is made to obey.

A *unit* is a set of items that must be together, most often a single one: it moves as a whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels import rules as kernels
from epluribus._text import sentence_list
from epluribus._typing import IntArray
from epluribus.constraints import Constraints, components, group_matrix
from epluribus.partition import relabel, tidy
from epluribus.search.state import State
from epluribus.settings import Settings

_NO_PATH = """'must_link' puts items together that no path in 'contiguity' connects without items that must be \
apart from them. Leave out one of these constraints, or add edges."""


class Rules:
    """What constraints mean for the moves of a search.

    Parameters
    ----------
    constraints : Constraints or None
        The constraints, with items in the order of the search; None for none.
    n_items : int
        Number of items.
    """

    def __init__(self, constraints: Constraints | None, n_items: int) -> None:
        asked = constraints or Constraints(np.arange(n_items), group_matrix([], n_items))
        self.constraints, self.blocks, self.min_size = asked, asked.blocks, asked.min_size
        self.units = _lists(self.blocks)
        """Where the items of each unit begin, and the items of one unit after the other."""
        near = (
            np.empty((2, 0)) if asked.graph is None else (asked.graph.indptr, asked.graph.indices)
        )
        by_item, groups = asked.groups.T.tocsr(), asked.groups
        lists = by_item.indptr, by_item.indices, groups.indptr, groups.indices, *near
        self.lists = tuple(one.astype(np.int64) for one in lists)
        """Groups of items, members of groups and neighbors, as in `_kernels/rules.py`."""

    def unit(self, u: int) -> IntArray:
        """The items of a unit."""
        return self.units[1][self.units[0][u] : self.units[0][u + 1]]

    def find_open(self, items: IntArray, state: State) -> tuple[bool, NDArray[np.bool_]]:
        """Whether some items of one cluster may leave it, and (n_slots,) where they may go, or go back to."""
        blocked, n = np.empty(len(state.sizes), np.uint8), len(state.labels)
        work = blocked, np.zeros(n, np.uint8), np.empty(n, np.int64)
        known = state.labels, state.sizes, self.lists, self.min_size
        return bool(kernels.find_open(items, *known, *work)), blocked == 0

    def fitted(
        self, labels: IntArray, rng: np.random.Generator, lead: int | None = None
    ) -> IntArray:
        """The partition with units made whole and clusters divided until all are allowed, sizes aside.

        Items with a label of -1 stay out, with all of their unit. Where items must be apart, that of item `lead`
        stays where it is.
        """
        n, cores, graph = len(labels), self.blocks, self.constraints.graph
        while True:
            first = np.empty(int(cores.max()) + 1, dtype=np.int64)
            first[cores[::-1]] = np.arange(n)[::-1]
            new, order = labels[first][cores], rng.permutation(len(first))
            if lead is not None:
                order = np.append(cores[lead], order[order != cores[lead]])
            part = np.full(n, -1)
            kernels.divide(order, *_lists(cores), new, self.lists, part, np.full(n + 1, -1))
            new = np.where(new < 0, -1, new * (n + 1) + part)
            if graph is None:
                return tidy(new)
            new = components(graph, new)
            torn = np.unique(self.blocks[new != new[first][cores]])
            if len(torn) == 0 or cores is not self.blocks:
                return new
            # Once more, with units that fall apart together with items that connect them.
            cores = self._connected(torn, graph, rng)

    def _connected(self, torn: IntArray, graph: Any, rng: np.random.Generator) -> IntArray:
        """The units, some of them together with the items on random shortest paths between their items."""
        from scipy.sparse.csgraph import breadth_first_order

        core, groups = self.blocks.copy(), self.constraints.groups
        for unit in map(self.unit, torn):
            apart = groups.T @ (groups @ np.isin(np.arange(len(core)), unit).astype(np.int64)) > 0
            apart[unit] = False
            free, at = rng.permutation(np.flatnonzero(~apart)), np.empty(len(core), dtype=np.int64)
            at[free] = np.arange(len(free))
            before = breadth_first_order(graph[free][:, free], at[unit[0]], directed=False)[1]
            for i in unit[1:]:
                while i != unit[0]:
                    if before[at[i]] < 0:
                        raise ValueError(_NO_PATH)
                    i = free[before[at[i]]]
                    core[core == core[i]] = core[unit[0]]
        return relabel(core)


def _lists(labels: IntArray) -> tuple[IntArray, IntArray]:
    """Where the items of each label begin, and the items of one label after the other."""
    return np.append(0, np.cumsum(np.bincount(labels))), np.argsort(labels, kind="stable")


def nothing_obeys(settings: Settings, n_tried: int = 0) -> str:
    """The message if there is no partition that obeys, or after this many starts none was found."""
    names = [] if settings.constraints is None else list(settings.constraints.names)
    names += ["k_min"] * (settings.k_min > 1) + ["k_max"] * (settings.k_max is not None)
    asked = sentence_list([f"'{name}'" for name in names])
    if n_tried == 0:
        return f"No partition obeys {asked} together. Relax one of them."
    return (
        f"No partition was found that obeys {asked} together, from {n_tried} starts. There may be none: "
        "relax one of them."
    )
