"""Conditions that a partition must obey, as users give them: read once, and contradictions named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from epluribus._text import count
from epluribus._typing import IntArray
from epluribus._validate import check_count, shown
from epluribus.draws import Draws
from epluribus.partition import relabel
from epluribus.rules import Rules, components


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

    def read(self, draws: Draws, k_min: int, k_max: int | None, *, undecided: bool) -> Rules | None:
        """What they mean for the items of the draws; see `read_constraints`."""
        names, n = ItemNames(draws), draws.n_items
        blocks = np.arange(n)
        for group in _groups("must_link", self.must_link, names):
            blocks[np.isin(blocks, blocks[group])] = blocks[group[0]]
        apart, alike = (
            _groups("cannot_link", self.cannot_link, names),
            _sources(self.sources, names),
        )
        edges = None if self.contiguity is None else _edges(self.contiguity, names)
        least = 1 if self.min_size is None else check_count(self.min_size, "min_size")
        linked = np.bincount(blocks)[np.bincount(blocks) > 1]
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
        whole = np.zeros(n, dtype=np.int64)
        parts = whole if found.graph is None else components(found.graph, whole)
        _check_blocks(found, len(apart), names, parts)
        if not undecided:
            _check_sizes(found, int(parts.max()) + 1, k_min, k_max)
        return found if words else None


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
    if given is not None and not isinstance(given, Constraints):
        raise TypeError(
            "'constraints' must be a Constraints, such as epluribus.Constraints(must_link=[(0, 1)]); got "
            f"{shown(given)}."
        )
    return None if given is None else given.read(draws, k_min, k_max, undecided=undecided)


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


def _groups(argument: str, given: Any, names: ItemNames) -> tuple[IntArray, ...]:
    """Pairs or groups of items, as arrays of two or more numbers."""
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


def _sources(given: Any, names: ItemNames) -> tuple[IntArray, ...]:
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
    return tuple(np.array(items, np.int64) for items in by_source.values() if len(items) > 1)


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
    if k_min > asked.n_blocks:
        raise ValueError(
            f"'k_min' is {k_min}, but with 'must_link' there can be at most {asked.n_blocks} clusters."
        )
    if max(needed, k_min) * asked.min_size > n:
        clusters = count(max(needed, k_min), "cluster")
        raise ValueError(
            f"'min_size' is {asked.min_size}, too large for at least {clusters} of {n} items. Lower it."
        )
