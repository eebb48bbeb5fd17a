"""Constraints as users give them, checked once: items by number or by name, contradictions named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from epluribus._text import count
from epluribus._typing import IntArray
from epluribus._validate import check_count, shown
from epluribus.constraints import Constraints, components
from epluribus.draws import Draws
from epluribus.partition import relabel


def read_constraints(
    draws: Draws,
    rules: Mapping[str, Any],
    k_min: int = 1,
    k_max: int | None = None,
    *,
    undecided: bool = False,
) -> Constraints | None:
    """The constraints that are asked for, by the arguments of `minimize`, or None; contradictory ones are an error.

    If items may stay `undecided`, numbers and sizes of clusters contradict nothing: those too many stay out.
    """
    if all(one is None for one in rules.values()):
        return None
    names, n = ItemNames(draws), draws.n_items
    blocks = np.arange(n)
    for group in _groups("must_link", rules, names):
        blocks[np.isin(blocks, blocks[group])] = blocks[group[0]]
    apart = _groups("cannot_link", rules, names)
    by_source, graph, size = (
        _sources(rules["sources"], names),
        rules["contiguity"],
        rules["min_size"],
    )
    found = Constraints(
        relabel(blocks),
        (*apart, *by_source),
        len(by_source),
        None if graph is None else _edges(graph, names),
        1 if size is None else check_count(size, "min_size"),
    )
    whole = np.zeros(n, dtype=np.int64)
    parts = whole if found.graph is None else components(found.graph, whole)
    _check_blocks(found, names, parts)
    if not undecided:
        _check_sizes(found, names, parts, k_min, k_max)
    return found if found.names else None


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
        has = "names such as " + repr(self.names[0]) if self.named else "no names"
        raise ValueError(
            f"'{argument}' must name items by number, 0 to {self.n_items - 1}, or by name; got {shown(item)}."
            f" The draws have {has}."
        )

    def quote(self, i: int) -> str:
        """An item in a message."""
        return f"'{self.names[i]}'" if self.named else f"item {i}"


def _groups(argument: str, rules: Mapping[str, Any], names: ItemNames) -> tuple[IntArray, ...]:
    """Pairs or groups of items, as arrays of two or more numbers."""
    given = rules[argument]
    # A data frame iterates over its columns.
    given = () if given is None else given.to_numpy() if hasattr(given, "to_numpy") else given
    asked, found = f"'{argument}' must be a list of pairs or groups of items", []
    if not _is_list(given):
        raise TypeError(f"{asked}; got {shown(given)}.")
    for group in given:
        if not _is_list(group):
            raise TypeError(
                f"{asked}, such as [(0, 1), (2, 5, 7)]; one of its entries is {group!r}."
            )
        found.append(np.unique([names.find(item, argument) for item in group]).astype(np.int64))
        if len(found[-1]) < 2:
            raise ValueError(
                f"'{argument}' must hold pairs or groups of two or more different items; got {shown(group)}."
            )
    return tuple(found)


def _is_list(given: Any) -> bool:
    return hasattr(given, "__iter__") and not isinstance(given, Mapping | str)


def _sources(given: Any, names: ItemNames) -> list[IntArray]:
    """The items of each source that has two or more."""
    if isinstance(given, Mapping):
        known = {names.find(item, "sources"): source for item, source in given.items()}
        given = [known.get(i) for i in range(names.n_items)]
    values = [None] * names.n_items if given is None else list(given)
    if len(values) != names.n_items:
        raise ValueError(
            f"'sources' must have one source for each of the {names.n_items} items; got {len(values)}."
        )
    by_source: dict[Any, list[int]] = {}
    for i, source in enumerate(values):
        # None, NaN and empty text mean that the source is not known: such an item may go anywhere.
        if source is not None and source != "" and source == source:
            by_source.setdefault(source, []).append(i)
    return [np.array(items, dtype=np.int64) for items in by_source.values() if len(items) > 1]


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


def _check_blocks(asked: Constraints, names: ItemNames, parts: IntArray) -> None:
    """Raise an error if a block cannot be whole; `parts` are the connected parts of the graph."""
    # Two items of a group in one block.
    for group, *both, _ in zip(*asked.clashes(asked.blocks, np.arange(asked.n_items)), strict=True):
        a, b = (names.quote(int(i)) for i in both)
        is_source = group >= asked.n_pairs
        why = "'sources' has both in one source" if is_source else "'cannot_link' keeps them apart"
        raise ValueError(f"'must_link' puts {a} and {b} together, but {why}. Leave one out.")
    one = np.empty(asked.n_blocks, dtype=np.int64)
    one[asked.blocks] = np.arange(asked.n_items)
    other = one[asked.blocks]
    for i in np.flatnonzero(parts != parts[other])[:1].tolist():
        raise ValueError(
            f"'must_link' puts {names.quote(i)} and {names.quote(int(other[i]))} together, but no path in "
            "'contiguity' leads from one to the other. Leave one out, or add edges."
        )


def _check_sizes(
    asked: Constraints, names: ItemNames, parts: IntArray, k_min: int, k_max: int | None
) -> None:
    """Raise an error if there cannot be as many clusters, or as large ones, as are asked for."""
    n, least, sizes = asked.n_items, asked.min_size, [len(group) for group in asked.groups]
    wrong, alike = f"'min_size' is {least}, but", np.bincount(parts)[parts]
    if alike.min() < least and asked.edges is not None:
        i = int((alike < least).argmax())
        raise ValueError(
            f"{wrong} in 'contiguity' {names.quote(i)} is connected to "
            f"{count(int(alike[i]) - 1, 'other item')} only. Lower it, or add edges."
        )
    # At most one of each source, and all items without one.
    most = n - sum(sizes[asked.n_pairs :]) + asked.n_sources
    if least > most and asked.n_sources:
        raise ValueError(
            f"{wrong} with one item of each of the 'sources' a cluster has at most {most}."
        )
    largest = max(sizes, default=1)
    needed = max(largest, int(parts.max()) + 1)
    why = "a group of items that must all be apart" if needed == largest else "'contiguity'"
    if k_max is not None and k_max < needed:
        raise ValueError(f"'k_max' is {k_max}, but {why} needs at least {needed} clusters.")
    if k_min > asked.n_blocks:
        raise ValueError(
            f"'k_min' is {k_min}, but with 'must_link' there can be at most {asked.n_blocks} clusters."
        )
    who = why if k_min <= needed else "'k_min'"
    if max(needed, k_min) * least > n:
        raise ValueError(
            f"{wrong} {who} needs {max(needed, k_min)} clusters, and there are only {n} items."
        )
