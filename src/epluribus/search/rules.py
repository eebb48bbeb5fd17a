"""Constraints as a search asks about them: which clusters may take a unit, and can its own let it go.

A *unit* is a set of items that must be together, most often a single one: it moves as a whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels import rules
from epluribus._text import sentence_list
from epluribus._typing import IntArray
from epluribus.constraints import Constraints, components, group_matrix
from epluribus.partition import relabel, tidy
from epluribus.settings import Settings

_NOTHING = np.empty(0, dtype=np.int64)


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
        if constraints is None:
            constraints = Constraints(np.arange(n_items), group_matrix([], n_items))
        self.constraints, self.min_size, self.graph = (
            constraints,
            constraints.min_size,
            constraints.graph,
        )
        self.blocks = constraints.blocks
        order = np.argsort(self.blocks, kind="stable")
        self.units = np.split(order, np.cumsum(np.bincount(self.blocks))[:-1])
        groups = constraints.groups
        by_item = groups.T.tocsr()
        # Items of a group, and groups of an item: slices of these arrays.
        self._members, self._first = groups.indices, groups.indptr
        self._groups, self._own = by_item.indices, by_item.indptr
        self.apart = groups.shape[0] > 0
        nothing = np.empty(0, dtype=np.int32)
        self._near = nothing, nothing
        if self.graph is not None:
            self._near = self.graph.indptr, self.graph.indices
        # What a start is made of: blocks, and with a graph the items that connect those that fall apart.
        self.cores = self.blocks
        self.loose = np.zeros(
            len(self.units), dtype=np.bool_
        )  # units that are not connected by themselves
        if self.graph is not None:
            several = np.flatnonzero(np.bincount(self.blocks) > 1)
            self.loose[several] = [not self._connected(self.units[u]) for u in several]
            self.cores = self._connected_blocks()

    def clashing(self, items: IntArray) -> IntArray:
        """The items that cannot be with one of these, which may be among them."""
        if not self.apart:
            return _NOTHING
        own, first = self._own, self._first
        if len(items) == 1:
            groups = self._groups[own[items[0]] : own[items[0] + 1]]
        else:
            groups = np.unique(np.concatenate([self._groups[own[i] : own[i + 1]] for i in items]))
        if len(groups) == 0:
            return _NOTHING
        return np.concatenate([self._members[first[g] : first[g + 1]] for g in groups])

    def near(self, items: IntArray) -> IntArray:
        """The neighbors of the items in the graph."""
        at, ends = self.graph.indices, self.graph.indptr  # type: ignore[union-attr]
        if len(items) == 1:
            return np.asarray(at[ends[items[0]] : ends[items[0] + 1]])
        return np.concatenate([at[ends[i] : ends[i + 1]] for i in items])

    def blocked(self, labels: IntArray, items: IntArray, width: int) -> NDArray[np.uint8]:
        """(width,) 1 for the clusters that the items may not join, sizes aside; their own is not always open."""
        found = np.empty(width, dtype=np.uint8)
        rules.mark_blocked(
            items, labels, self._own, self._groups, self._first, self._members, *self._near, found
        )
        if self.falls_apart(items):  # then the cluster must connect all of it
            for s in np.flatnonzero(found == 0):
                found[s] = not self._connected(np.union1d(items, np.flatnonzero(labels == s)))
        return found

    def falls_apart(self, items: IntArray) -> bool:
        """Whether the items are a unit that is not connected by itself."""
        unit = self.blocks[items[0]]
        return bool(self.loose[unit]) and len(items) == len(self.units[unit])

    def _connected(self, items: IntArray) -> bool:
        from scipy.sparse.csgraph import connected_components

        sub = self.graph[items][:, items]  # type: ignore[index]
        return int(connected_components(sub, directed=False)[0]) == 1

    def may_leave(self, labels: IntArray, items: IntArray, size: int) -> bool:
        """Whether the cluster of the items, of this size, is still allowed without them, or is gone."""
        left = size - len(items)
        if left == 0 or self.graph is None:
            return left == 0 or left >= self.min_size
        n = len(labels)
        scratch = np.zeros(n, dtype=np.uint8), np.empty(n, dtype=np.int64)
        return left >= self.min_size and bool(
            rules.stays_connected(items, labels, *self._near, *scratch)
        )

    def _connected_blocks(self) -> IntArray:
        """Blocks, each joined with others on a shortest path between its parts until it is connected."""
        from scipy.sparse.csgraph import connected_components

        core = self.blocks.copy()
        for block in np.flatnonzero(self.loose).tolist():
            one = self.units[block][0]
            while True:
                items = np.flatnonzero(core == core[one])
                sub = self.graph[items][:, items]  # type: ignore[index]
                n_parts, part = connected_components(sub, directed=False)
                if n_parts == 1:
                    break
                for i in self._path(core, items, items[part == 0]):
                    core[core == core[i]] = core[one]
        return relabel(core)

    def _path(self, core: IntArray, items: IntArray, begin: IntArray) -> list[int]:
        """Items that lead from `begin` to another part of `items`, none in conflict with them."""
        target, came = set(items.tolist()) - set(begin.tolist()), dict.fromkeys(begin.tolist(), -1)
        barred = np.zeros(len(core), dtype=np.bool_)
        barred[np.isin(core, core[self.clashing(items)])] = True
        ahead = begin.tolist()
        for i in ahead:  # breadth first: the list grows while it is read
            for j in self.near(np.array([i])).tolist():
                if j in came or (barred[j] and j not in target):
                    continue
                came[j] = i
                if j in target:
                    path = []
                    while came[i] >= 0:
                        path.append(i)
                        i = came[i]
                    return path
                ahead.append(j)
        raise ValueError(
            "'must_link' puts items together that no path in 'contiguity' connects without items that must "
            "be apart from them. Leave out one of these constraints, or add edges."
        )

    def fitted(self, labels: IntArray, rng: np.random.Generator) -> IntArray:
        """The partition with units made whole and clusters divided until all are allowed, sizes aside.

        Items with a label of -1 stay out, with all of their unit.
        """
        first = np.empty(int(self.cores.max()) + 1, dtype=np.int64)
        first[self.cores[::-1]] = np.arange(len(labels))[::-1]
        new = labels[first][self.cores]
        new = self._divided(new, rng) if self.apart else new
        if self.graph is not None:
            new = components(self.graph, new)
        return tidy(new)

    def _divided(self, labels: IntArray, rng: np.random.Generator) -> IntArray:
        """Clusters with items that must be apart, divided: each core goes to the first part without one."""
        torn = self.torn(labels)
        if len(torn) == 0:
            return labels
        inside = np.isin(labels, torn)
        part = np.where(inside, -1, 0)
        for core in rng.permutation(np.unique(self.cores[inside])):
            items = np.flatnonzero(self.cores == core)
            others = self.clashing(items)
            used = part[others[labels[others] == labels[items[0]]]]
            free = np.ones(len(used) + 1, dtype=np.bool_)
            free[used[(used >= 0) & (used <= len(used))]] = False
            part[items] = int(np.argmax(free))
        return np.where(labels < 0, -1, labels * (int(part.max()) + 1) + part)

    def torn(self, labels: IntArray) -> IntArray:
        """The clusters that hold two items that must be apart."""
        k = max(int(labels.max()) + 1, 1)
        group = np.repeat(np.arange(len(self._first) - 1), np.diff(self._first))
        own = labels[self._members]
        cells, n = np.unique((group * k + own)[own >= 0], return_counts=True)
        return np.unique(cells[n > 1] % k)


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
