"""Constraints as users give them, checked once: items by number or by name, contradictions named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._text import count
from epluribus._typing import IntArray
from epluribus._validate import check_count, shown
from epluribus.constraints import Constraints, adjacency, group_matrix
from epluribus.draws import Draws
from epluribus.partition import relabel

if TYPE_CHECKING:
    from scipy import sparse


def read_constraints(
    draws: Draws,
    *,
    must_link: Any = None,
    cannot_link: Any = None,
    sources: Any = None,
    contiguity: Any = None,
    min_size: int | None = None,
    k_min: int = 1,
    k_max: int | None = None,
    undecided: bool = False,
) -> Constraints | None:
    """The constraints that are asked for, as in `minimize`, or None; contradictory ones are an error.

    If items may stay `undecided`, numbers and sizes of clusters contradict nothing: those too many stay out.
    """
    asked = (must_link, cannot_link, sources, contiguity, min_size)
    if all(one is None for one in asked):
        return None
    names = _Names(draws)
    n = draws.n_items
    linked = _groups(must_link, "must_link", names)
    apart = _groups(cannot_link, "cannot_link", names)
    by_source = [] if sources is None else _sources(sources, names)
    graph = None if contiguity is None else _graph(contiguity, names)
    smallest = 1 if min_size is None else check_count(min_size, "min_size")
    found = Constraints(
        _blocks(linked, n), group_matrix([*apart, *by_source], n), len(by_source), graph, smallest
    )
    parts = _refuse_torn_blocks(found, names)
    if not undecided:
        _refuse_sizes(found, names, parts, k_min, k_max)
    return found if found.names else None


class _Names:
    """The items by number and by name."""

    def __init__(self, draws: Draws) -> None:
        self.n_items, self.named = draws.n_items, draws.items is not None
        self.names = draws.item_names
        self.number = {name: i for i, name in enumerate(self.names)}

    def find(self, item: Any, argument: str) -> int:
        """The number of an item that is given by number or by name."""
        if isinstance(item, str):
            if item in self.number:
                return self.number[item]
        elif isinstance(item, int | np.integer) and not isinstance(item, bool):
            if 0 <= item < self.n_items:
                return int(item)
        # An integer stored as a float, as in a column of a data frame with missing entries.
        elif isinstance(item, float | np.floating) and item == int(item):
            return self.find(int(item), argument)
        has = "names such as " + repr(self.names[0]) if self.named else "no names"
        raise ValueError(
            f"'{argument}' must name items by number, 0 to {self.n_items - 1}, or by name; got {shown(item)}."
            f" The draws have {has}."
        )

    def quote(self, i: int) -> str:
        """An item in a message."""
        return f"'{self.names[i]}'" if self.named else f"item {i}"


def _groups(given: Any, argument: str, names: _Names) -> list[IntArray]:
    """Pairs or groups of items, as arrays of two or more numbers."""
    if given is None:
        return []
    if hasattr(given, "to_numpy"):  # a data frame iterates over its columns
        given = given.to_numpy()
    if isinstance(given, Mapping | str) or not hasattr(given, "__iter__"):
        raise TypeError(
            f"'{argument}' must be a list of pairs or groups of items; got {shown(given)}."
        )
    found = []
    for group in given:
        if isinstance(group, str) or not hasattr(group, "__iter__"):
            raise TypeError(
                f"'{argument}' must be a list of pairs or groups of items, such as [(0, 1), (2, 5, 7)]; "
                f"one of its entries is {group!r}."
            )
        items = np.unique([names.find(item, argument) for item in group])
        if len(items) < 2:
            raise ValueError(
                f"'{argument}' must hold pairs or groups of two or more different items; got {shown(group)}."
            )
        found.append(items.astype(np.int64))
    return found


def _blocks(linked: list[IntArray], n_items: int) -> IntArray:
    """Items that are linked directly or through others have the same label."""
    from scipy.sparse.csgraph import connected_components

    edges = [np.column_stack([group[:-1], group[1:]]) for group in linked]
    pairs = np.concatenate([*edges, np.empty((0, 2), dtype=np.int64)])
    return relabel(connected_components(adjacency(pairs, n_items), directed=False)[1])


def _sources(given: Any, names: _Names) -> list[IntArray]:
    """The items of each source that has two or more."""
    if isinstance(given, Mapping):
        values: list[Any] = [None] * names.n_items
        for item, source in given.items():
            values[names.find(item, "sources")] = source
    else:
        values = list(given)
    if len(values) != names.n_items:
        raise ValueError(
            f"'sources' must have one source for each of the {names.n_items} items; got {len(values)}."
        )
    by_source: dict[Any, list[int]] = {}
    for i, source in enumerate(values):
        # None, NaN and empty text mean that the source is not known: such an item may go anywhere.
        missing = source is None or source == "" or source != source
        if not missing:
            by_source.setdefault(source, []).append(i)
    return [np.array(items, dtype=np.int64) for items in by_source.values() if len(items) > 1]


def _graph(given: Any, names: _Names) -> sparse.csr_array:
    """The graph in which clusters must be connected."""
    from scipy import sparse

    from epluribus.models.graphs import graph_to_matrix, is_graph

    n = names.n_items
    if isinstance(given, str):
        raise TypeError(
            f"'contiguity' must be a graph or a list of pairs of items; got {shown(given)}."
        )
    if is_graph(given):
        nodes = np.array([names.find(node, "contiguity") for node in given.nodes], dtype=np.int64)
        i, j = graph_to_matrix(given).nonzero()
        return adjacency(np.column_stack([nodes[i], nodes[j]]), n)
    shape: tuple[int, ...] = getattr(given, "shape", ())
    if sparse.issparse(given) or (len(shape) == 2 and shape[0] == shape[1] and shape[1] != 2):
        if shape != (n, n):
            raise ValueError(
                f"'contiguity' must have a row for each of the {n} items; got {shape}."
            )
        return adjacency(np.transpose(sparse.coo_array(given).nonzero()), n)
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    pairs = [tuple(names.find(item, "contiguity") for item in pair) for pair in given]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("'contiguity' as a list must hold pairs of neighboring items.")
    return adjacency(np.array(pairs, dtype=np.int64).reshape(-1, 2), n)


def _refuse_torn_blocks(asked: Constraints, names: _Names) -> IntArray:
    """Raise an error if a block cannot be whole; return the connected parts of the graph."""
    from scipy.sparse.csgraph import connected_components

    # Two items of a group in one block.
    group, item = asked.groups.nonzero()
    if len(group):
        key = group * asked.n_blocks + asked.blocks[item]
        order = np.argsort(key, kind="stable")
        twice = np.flatnonzero(np.diff(key[order]) == 0)
        if twice.size:
            at = int(twice[0])
            a, b = (names.quote(int(item[order[at + step]])) for step in (0, 1))
            is_source = group[order[at]] >= asked.groups.shape[0] - asked.n_sources
            other = (
                "'sources' has both in one source"
                if is_source
                else "'cannot_link' keeps them apart"
            )
            raise ValueError(f"'must_link' puts {a} and {b} together, but {other}. Leave one out.")
    parts = np.zeros(asked.n_items, dtype=np.int64)
    if asked.graph is not None:
        parts = connected_components(asked.graph, directed=False)[1].astype(np.int64)
        one = np.empty(asked.n_blocks, dtype=np.int64)
        one[asked.blocks] = np.arange(asked.n_items)
        torn = np.flatnonzero(parts != parts[one[asked.blocks]])
        if torn.size:
            a, b = names.quote(int(torn[0])), names.quote(int(one[asked.blocks[torn[0]]]))
            raise ValueError(
                f"'must_link' puts {a} and {b} together, but no path in 'contiguity' leads from one to "
                "the other. Leave one out, or add edges."
            )
    return parts


def _refuse_sizes(
    asked: Constraints, names: _Names, parts: IntArray, k_min: int, k_max: int | None
) -> None:
    """Raise an error if there cannot be as many clusters, or as large ones, as are asked for."""
    n, least = asked.n_items, asked.min_size
    small = np.bincount(parts)[parts] < least
    if small.any() and asked.graph is not None:
        i = int(small.argmax())
        others = count(int((parts == parts[i]).sum()) - 1, "other item")
        raise ValueError(
            f"'min_size' is {least}, but in 'contiguity' {names.quote(i)} is connected to {others} only. "
            "Lower it, or add edges."
        )
    per_group = np.asarray(asked.groups.sum(axis=1))
    sources = per_group[len(per_group) - asked.n_sources :]
    # At most one of each source, and all items without one.
    if asked.n_sources and least > n - int((sources - 1).sum()):
        raise ValueError(
            f"'min_size' is {least}, but with one item of each of the 'sources' a cluster has at most "
            f"{n - int((sources - 1).sum())}."
        )
    largest = int(per_group.max(initial=1))
    needed = max(largest, int(parts.max()) + 1)
    why = "a group of items that must all be apart" if needed == largest else "'contiguity'"
    if k_max is not None and k_max < needed:
        raise ValueError(f"'k_max' is {k_max}, but {why} needs at least {needed} clusters.")
    if k_min > asked.n_blocks:
        raise ValueError(
            f"'k_min' is {k_min}, but with 'must_link' there can be at most {asked.n_blocks} clusters."
        )
    if max(needed, k_min) * least > n:
        who = "'k_min'" if k_min > needed else why
        raise ValueError(
            f"'min_size' is {least}, but {who} needs {max(needed, k_min)} clusters, and there are only {n} "
            "items."
        )
