"""Conditions that a partition must obey: as users give them, and what they mean for clusters and labels.

`Constraints` is what a user gives. It is read once, with contradictions named, and becomes `Rules`. All of these are
conditions on single clusters: a partition obeys if each of its clusters does. A cluster is allowed if it

- holds every *block*, the items that must be together, whole or not at all;
- has at most one item of every *group*: items that must be apart, or all items of one source;
- is connected in the graph, where one is given: from each item to each other one within the cluster;
- has at least `min_size` items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from epluribus._kernels.rules import find_open
from epluribus._text import count, sentence_list
from epluribus._typing import IntArray
from epluribus._validate import check_count, shown
from epluribus.draws import Draws
from epluribus.partition import relabel, tidy

# SciPy's sparse matrices are imported where they are used: `import epluribus` is to stay quick.
if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class Constraints:
    """Conditions that an estimate must obey; draws may break them.

    Items are named by number, from 0, or by name.

    Parameters
    ----------
    must_link, cannot_link : list of pairs or groups of items, optional
        Items that must be in one cluster, and items of which no two may be in one.
    sources : array_like of shape (n_items,) or mapping, optional
        Where each item comes from: a cluster may have at most one item of each source, as in record linkage.
        None, NaN or "" for an item that may go anywhere.
    contiguity : list of pairs of items, sparse matrix or networkx graph, optional
        Neighbors: every cluster must be connected in this graph.
    min_size : int, optional
        Smallest number of items in a cluster.

    Examples
    --------
    >>> import epluribus as epl
    >>> from epluribus.constraints import Constraints
    >>> apart = Constraints(cannot_link=[(0, 1)])
    >>> epl.minimize([[0, 0, 1], [0, 0, 1]], constraints=apart).labels
    array([0, 1, 2])
    """

    must_link: Any = None
    cannot_link: Any = None
    sources: Any = None
    contiguity: Any = None
    min_size: int | None = None

    def __repr__(self) -> str:
        given = ((one.name, getattr(self, one.name)) for one in fields(self))
        return f"Constraints({', '.join(f'{k}={shown(v)}' for k, v in given if v is not None)})"


def read_constraints(
    given: Constraints | None,
    draws: Draws,
    k_min: int = 1,
    k_max: int | None = None,
    *,
    undecided: bool = False,
) -> Rules | None:
    """What constraints mean for the items of the draws, None for nothing; contradictory ones are an error.

    If items may stay `undecided`, numbers and sizes of clusters contradict nothing: those too many stay out.
    """
    if given is None:
        return None
    if not isinstance(given, Constraints):
        raise TypeError(
            "'constraints' must be a Constraints, such as epluribus.Constraints(must_link=[(0, 1)]); got "
            f"{shown(given)}."
        )
    names, n = ItemNames(draws), draws.n_items
    blocks = np.arange(n)
    for group in item_groups("must_link", given.must_link, names):
        blocks[np.isin(blocks, blocks[group])] = blocks[group[0]]
    apart, alike = (
        item_groups("cannot_link", given.cannot_link, names),
        _sources(given.sources, names),
    )
    edges = None if given.contiguity is None else _edges(given.contiguity, names)
    least = 1 if given.min_size is None else check_count(given.min_size, "min_size")
    sizes = np.bincount(blocks)
    linked = sizes[sizes > 1]
    items = count(int(linked.sum()), "item")
    said = {
        "must_link": len(linked) and f"{items} in {count(len(linked), 'must-link')}",
        "cannot_link": len(apart) and count(len(apart), "cannot-link"),
        "sources": len(alike) and "at most one item of each source in a cluster",
        "contiguity": edges is not None and "clusters connected in the graph",
        "min_size": least > 1 and f"clusters of at least {least} items",
    }
    words = {name: str(one) for name, one in said.items() if one}
    found = Rules(relabel(blocks), (*apart, *alike), edges, least, words)
    parts = found.connected(np.zeros(n, dtype=np.int64))
    _check_blocks(found, len(apart), names, parts)
    if not undecided:
        _check_sizes(found, int(parts.max()) + 1, k_min, k_max)
    return found if words else None


class ItemNames:
    """The items by number and by name."""

    def __init__(self, draws: Draws) -> None:
        self.n_items, self.names = draws.n_items, draws.item_names
        self.named = draws.items is not None
        self.number = {name: i for i, name in enumerate(self.names)}

    def find(self, item: Any, argument: str) -> int:
        """The number of an item that is given by number or by name."""
        if isinstance(item, str) and item in self.number:
            return self.number[item]
        # A float may be an integer as well, from a column of a data frame with missing entries.
        is_number = isinstance(item, int | float | np.number) and not isinstance(item, bool)
        if is_number and item == np.floor(item) and 0 <= item < self.n_items:
            return int(item)
        if isinstance(item, str) and self.named:
            named = f"by their names, such as {self.names[0]!r}"
            raise ValueError(f"'{argument}' must name items {named}; got {item!r}.")
        has = "names such as " + repr(self.names[0]) if self.named else "no names"
        raise ValueError(
            f"'{argument}' must name items by number, 0 to {self.n_items - 1}, or by name; got {shown(item)}."
            f" The draws have {has}."
        )

    def quote(self, i: int) -> str:
        """An item in a message."""
        return f"'{self.names[i]}'" if self.named else f"item {i}"


def item_groups(argument: str, given: Any, names: ItemNames) -> tuple[IntArray, ...]:
    """Pairs or groups of items, as arrays of two or more numbers."""
    # A data frame iterates over its columns.
    given = () if given is None else given.to_numpy() if hasattr(given, "to_numpy") else given
    asked, found = f"'{argument}' must be a list of pairs or groups of items", []
    if not is_list(given):
        raise TypeError(f"{asked}; got {shown(given)}.")
    for group in given:
        if not is_list(group):
            raise TypeError(
                f"{asked}, such as [(0, 1), (2, 5, 7)]; one of its entries is {group!r}."
            )
        found.append(np.unique([names.find(item, argument) for item in group]).astype(np.int64))
        if len(found[-1]) < 2:
            raise ValueError(
                f"'{argument}' must hold pairs or groups of two or more different items; got {shown(group)}."
            )
    return tuple(found)


def is_list(given: Any) -> bool:
    """Whether it holds entries of its own."""
    return hasattr(given, "__iter__") and not isinstance(given, Mapping | str)


def _sources(given: Any, names: ItemNames) -> tuple[IntArray, ...]:
    """The items of each source that has two or more."""
    import pandas as pd

    if isinstance(given, Mapping):
        known = {names.find(item, "sources"): source for item, source in given.items()}
        given = [known.get(i) for i in range(names.n_items)]
    values = [None] * names.n_items if given is None else list(given)
    if len(values) != names.n_items:
        raise ValueError(
            f"'sources' must have one source for each of the {names.n_items} items; got {len(values)}."
        )
    # None, NaN and empty text mean that the source is not known: such an item may go anywhere.
    known = pd.Series(values, dtype=object)
    groups = known[known != ""].groupby(known, sort=False).groups.values()
    return tuple(np.array(items, np.int64) for items in groups if len(items) > 1)


def _edges(given: Any, names: ItemNames) -> IntArray:
    """(n_edges, 2) the graph in which clusters must be connected, each edge once, i < j."""
    from scipy import sparse

    from epluribus.models.edges import graph_to_matrix, is_graph

    n, shape = names.n_items, tuple(getattr(given, "shape", ()))
    if isinstance(given, str):
        raise TypeError(
            f"'contiguity' must be a graph or a list of pairs of items; got {shown(given)}."
        )
    if is_graph(given):
        nodes = np.array([names.find(node, "contiguity") for node in given.nodes], dtype=np.int64)
        pairs = nodes[np.transpose(graph_to_matrix(given).nonzero())]
    elif sparse.issparse(given) or (len(shape) == 2 and shape[0] == shape[1] != 2):
        if shape != (n, n):
            raise ValueError(
                f"'contiguity' must have a row for each of the {n} items; got {shape}."
            )
        pairs = np.transpose(sparse.coo_array(given).nonzero())
    else:
        given = given.to_numpy() if hasattr(given, "to_numpy") else given
        listed = [[names.find(item, "contiguity") for item in pair] for pair in given]
        if any(len(pair) != 2 for pair in listed):
            raise ValueError("'contiguity' as a list must hold pairs of neighboring items.")
        pairs = np.array(listed, dtype=np.int64).reshape(-1, 2)
    pairs = np.sort(pairs, axis=1).astype(np.int64)
    return np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)


def _check_blocks(asked: Rules, n_apart: int, names: ItemNames, parts: IntArray) -> None:
    """Raise an error if a block cannot be whole; `parts` are the connected parts of the graph."""
    # Two items of a group in one block.
    for group, *both, _ in zip(*asked.clashes(asked.blocks, np.arange(len(parts))), strict=True):
        a, b = (names.quote(int(i)) for i in both)
        why = (
            "'sources' has both in one source"
            if group >= n_apart
            else "'cannot_link' keeps them apart"
        )
        raise ValueError(f"'must_link' puts {a} and {b} together, but {why}. Leave one out.")
    other = np.unique(asked.blocks, return_index=True)[1][asked.blocks]
    for i in np.flatnonzero(parts != parts[other])[:1].tolist():
        raise ValueError(
            f"'must_link' puts {names.quote(int(other[i]))} and {names.quote(i)} together, but no path in "
            "'contiguity' leads from one to the other. Leave one out, or add edges."
        )


def _check_sizes(asked: Rules, n_parts: int, k_min: int, k_max: int | None) -> None:
    """Raise an error if there cannot be as many clusters, or as large ones, as are asked for."""
    n, largest = len(asked.blocks), max(map(len, asked.groups), default=1)
    needed = max(largest, n_parts)
    why = "a group of items that must all be apart" if needed == largest else "'contiguity'"
    if k_max is not None and k_max < needed:
        raise ValueError(f"'k_max' is {k_max}, but {why} needs at least {needed} clusters.")
    if k_min > len(asked.first):
        raise ValueError(
            f"'k_min' is {k_min}, but with 'must_link' there can be at most {len(asked.first)} clusters."
        )
    if max(needed, k_min) * asked.min_size > n:
        clusters = count(max(needed, k_min), "cluster")
        raise ValueError(
            f"'min_size' is {asked.min_size}, too large for at least {clusters} of {n} items. Lower it."
        )


# --- what they mean ---


@dataclass(frozen=True, eq=False, repr=False)
class Rules:
    """What a partition must obey; `read_constraints` makes them.

    A *unit* is a block, most often a single item: it moves as a whole.
    """

    blocks: IntArray
    """(n_items,) canonical labels: items with the same one must be together."""
    groups: tuple[IntArray, ...] = ()
    """Items of which no two may be together."""
    edges: IntArray | None = None
    """(n_edges, 2) the graph in which clusters must be connected, each edge once, i < j; None for none."""
    min_size: int = 1
    """Smallest number of items in a cluster."""
    said: Mapping[str, str] = field(default_factory=dict)
    """What is asked for in words, by the arguments of `Constraints` that were given."""

    @property
    def words(self) -> str:
        """What is asked for, in words: '3 items in 1 must-link'."""
        return sentence_list(list(self.said.values()))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `from_dict` makes the object again."""
        return {
            "blocks": self.blocks.tolist(),
            "groups": [group.tolist() for group in self.groups],
            "edges": None if self.edges is None else self.edges.tolist(),
            "min_size": self.min_size,
            "words": dict(self.said),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Rules:
        """The object of which `to_dict` made the record."""
        edges, least = record["edges"], int(record["min_size"])
        groups = tuple(np.array(group, np.int64) for group in record["groups"])
        edges = None if edges is None else np.array(edges, np.int64).reshape(-1, 2)
        return cls(np.array(record["blocks"], np.int64), groups, edges, least, record["words"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"Rules({self.words})"

    # --- which partitions are allowed ---

    def connected(self, labels: IntArray) -> IntArray:
        """The connected parts of the clusters, numbered, or the clusters without a graph; -1 stays -1."""
        if self.edges is None:
            return tidy(labels)
        from scipy.sparse.csgraph import connected_components

        inner = self.edges[labels[self.edges[:, 0]] == labels[self.edges[:, 1]]]
        # Items in no cluster are parts as well, which are not numbered.
        _, parts = connected_components(_adjacency(inner, len(labels)), directed=False)
        return tidy(np.where(labels < 0, -1, parts))

    @cached_property
    def membership(self) -> tuple[IntArray, IntArray]:
        """The groups as two arrays: for each item of each group the number of the group, and the item."""
        sizes = [len(group) for group in self.groups]
        items = np.concatenate([np.empty(0, np.int64), *self.groups])
        return np.repeat(np.arange(len(sizes)), sizes), items

    @cached_property
    def graph(self) -> sparse.csr_array | None:
        """(n_items, n_items) symmetric adjacency matrix of the graph; None for none."""
        return None if self.edges is None else _adjacency(self.edges, len(self.blocks))

    @cached_property
    def first(self) -> IntArray:
        """The first item of each block."""
        return np.unique(self.blocks, return_index=True)[1]

    def clashes(self, labels: IntArray, rank: IntArray) -> tuple[IntArray, ...]:
        """Items of a group that are in one cluster, by rank: group, the one before, the item, its place from 0 on."""
        group, item = self.membership
        inside = labels[item] >= 0
        group, item = group[inside], item[inside]
        order = np.lexsort((rank[item], labels[item], group))
        group, item = group[order], item[order]
        again = np.append(True, (np.diff(group) == 0) & (np.diff(labels[item]) == 0))[: len(item)]
        again[:1] = False
        at = np.arange(len(item))
        place = at - np.maximum.accumulate(np.where(again, 0, at))
        at = at[again]
        return group[at], item[at - 1], item[at], place[at]

    def allow(self, labels: IntArray) -> bool:
        """Whether a partition obeys; items with a label of -1 are in no cluster."""
        sizes = np.bincount(labels[labels >= 0])
        return not (
            np.any(labels[self.first][self.blocks] != labels)
            or len(self.clashes(labels, labels)[0])
            or np.any((sizes > 0) & (sizes < self.min_size))
            or self.connected(labels).max() > labels.max()
        )

    def allowed_sets(self) -> NDArray[np.bool_]:
        """(2**n_items,) which sets of a few items may be clusters; bit i of a set is item i."""
        n = len(self.blocks)
        sets = np.arange(1 << n)[:, None] >> np.arange(n) & 1
        allowed = sets.sum(axis=1) >= self.min_size
        allowed &= (sets == sets[:, self.first[self.blocks]]).all(axis=1)
        for group in self.groups:
            allowed &= sets[:, group].sum(axis=1) <= 1
        if self.graph is not None:
            # Grown from the first item of each set, step by step, as far as the set reaches.
            reached = sets * (sets.cumsum(axis=1) == 1)
            for _ in range(n):
                reached |= sets & (reached @ self.graph > 0)
            allowed &= (reached == sets).all(axis=1)
        return np.asarray(allowed)

    # --- where units may go ---

    @cached_property
    def lists(self) -> tuple[IntArray, ...]:
        """Groups of items, members of groups and neighbors, as in `_kernels/rules.py`."""
        (group, item), graph, none = self.membership, self.graph, np.empty(0, np.int64)
        near = (none, none) if graph is None else (graph.indptr, graph.indices)
        lists = (
            *_lists(item, len(self.blocks), group),
            *_lists(group, len(self.groups), item),
            *near,
        )
        return tuple(one.astype(np.int64) for one in lists)

    @cached_property
    def units(self) -> tuple[IntArray, IntArray]:
        """Where the items of each unit begin, and the items of one unit after the other."""
        return _lists(self.blocks, len(self.first), np.arange(len(self.blocks)))

    def unit(self, u: int) -> IntArray:
        """The items of a unit."""
        first, items = self.units
        return items[first[u] : first[u + 1]]

    def find_open(
        self, items: IntArray, labels: IntArray, sizes: IntArray
    ) -> tuple[bool, NDArray[np.uint8]]:
        """Whether some items of one cluster may leave it, and (n_slots,) 0 where they may go, or go back to."""
        blocked, n = np.empty(len(sizes), np.uint8), len(labels)
        work = blocked, np.zeros(n, np.uint8), np.empty(n, np.int64)
        return bool(find_open(items, labels, sizes, self.lists, self.min_size, *work)), blocked

    def closed(self, labels: IntArray, n_slots: int) -> NDArray[np.bool_]:
        """(n_slots, n_slots) whether two clusters may not be joined."""
        closed = np.full((n_slots, n_slots), self.graph is not None)
        if self.graph is not None:
            i, j = (labels[items] for items in self.graph.nonzero())
            both = (i >= 0) & (j >= 0)
            closed[i[both], j[both]] = False
        for group in self.groups:
            slots = labels[group][labels[group] >= 0]
            closed[np.ix_(slots, slots)] = True
        return closed

    # --- labels made to obey ---

    def fitted(self, labels: IntArray, rng: Generator, lead: int | None = None) -> IntArray:
        """The partition with units made whole and clusters divided until all are allowed, sizes aside.

        Items with a label of -1 stay out, with all of their unit. Where items must be apart, that of item `lead`
        stays where it is.
        """
        n, cores = len(labels), self.blocks
        while True:
            first = np.unique(cores, return_index=True)[1]
            rank = rng.permutation(len(first))
            if lead is not None:
                rank[cores[lead]] = -1
            new = labels[first][cores]
            # Of the units of a cluster that cannot be together the first in this order stays where it is, the second
            # goes to a second part of the cluster, and so on; where they are in several groups, step by step.
            far = int(new.max(initial=0)) + 1
            for _ in range(n):
                _, _, later, place = self.clashes(new, rank[cores])
                if len(later) == 0:
                    break
                part = np.zeros(len(first), dtype=np.int64)
                np.maximum.at(part, cores[later], place)
                new += far * part[cores]
            new = self.connected(new)
            torn = np.unique(self.blocks[new != new[first][cores]])
            if len(torn) == 0 or cores is not self.blocks:
                return new
            # Once more, with units that fall apart together with items that connect them.
            cores = self._joined(torn, rng)

    def _joined(self, torn: IntArray, rng: Generator) -> IntArray:
        """The units, some of them together with the items on random shortest paths between their items."""
        from scipy.sparse.csgraph import breadth_first_order

        cores, (group, item), graph = self.blocks.copy(), self.membership, cast(Any, self.graph)
        for unit in map(self.unit, torn):
            free = np.ones(len(cores), np.bool_)
            free[item[np.isin(group, group[np.isin(item, unit)])]] = False
            free[unit] = True
            order, at = rng.permutation(np.flatnonzero(free)), np.empty(len(cores), np.int64)
            at[order] = np.arange(len(order))
            before = breadth_first_order(graph[order][:, order], at[unit[0]], directed=False)[1]
            for i in unit[1:]:
                while i != unit[0]:
                    if before[at[i]] < 0:
                        raise ValueError(
                            "'must_link' puts items together that no path in 'contiguity' connects without "
                            "items that must be apart from them. Leave out one of these constraints, or add edges."
                        )
                    i = order[before[at[i]]]
                    cores[cores == cores[i]] = cores[unit[0]]
        return relabel(cores)


def _lists(keys: IntArray, n: int, values: IntArray) -> tuple[IntArray, IntArray]:
    """Where the values of each of the keys 0..n-1 begin, and the values of one key after the other."""
    first = np.append(0, np.cumsum(np.bincount(keys, minlength=n)))
    return first, values[np.argsort(keys, kind="stable")]


def _adjacency(edges: IntArray, n_items: int) -> sparse.csr_array:
    """The symmetric 0-1 matrix of pairs of items."""
    from scipy import sparse

    ones, (i, j) = np.ones(2 * len(edges), np.int8), edges.T
    pairs = np.append(i, j), np.append(j, i)
    return sparse.csr_array((ones, pairs), (n_items, n_items))
