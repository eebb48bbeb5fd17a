"""Conditions that a partition must obey: items together, items apart, connected clusters, no small ones.

All of them are conditions on single clusters: a partition obeys if each of its clusters does. A cluster is
allowed if it

- holds every *block*, the items that must be together, whole or not at all;
- has at most one item of every *group*: two that cannot be together, or all items of one source;
- is connected in the graph, where one is given: from each item to each other one within the cluster;
- has at least `min_size` items.

Draws may break the conditions: an estimate never does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from epluribus._text import count, sentence_list
from epluribus._typing import IntArray
from epluribus.partition import tidy

# SciPy's sparse matrices are imported where they are used: `import epluribus` is to stay quick.
if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class Constraints:
    """What a partition must obey; made by `read_constraints`, which checks it once."""

    blocks: IntArray
    """(n_items,) canonical labels: items with the same one must be together."""
    groups: tuple[IntArray, ...] = ()
    """Items of which no two may be together."""
    n_sources: int = 0
    """The last this many groups are the sources with two or more items."""
    edges: IntArray | None = None
    """(n_edges, 2) the graph in which clusters must be connected, each edge once, i < j; None for none."""
    min_size: int = 1
    """Smallest number of items in a cluster."""

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.blocks)

    @property
    def n_blocks(self) -> int:
        """Number of blocks, single items included."""
        return int(self.blocks.max()) + 1

    @property
    def n_pairs(self) -> int:
        """Number of groups that are no sources."""
        return len(self.groups) - self.n_sources

    @cached_property
    def membership(self) -> tuple[IntArray, IntArray]:
        """The groups as two arrays: for each item of each group the number of the group, and the item."""
        sizes = [len(group) for group in self.groups]
        items = np.concatenate([np.empty(0, np.int64), *self.groups])
        return np.repeat(np.arange(len(sizes)), sizes), items

    @cached_property
    def graph(self) -> sparse.csr_array | None:
        """(n_items, n_items) symmetric adjacency matrix of the graph; None for none."""
        return None if self.edges is None else adjacency(self.edges, self.n_items)

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

    def broken(self, labels: IntArray) -> list[str]:
        """The names of the arguments that a partition breaks; items with a label of -1 are in no cluster."""
        first = np.unique(self.blocks, return_index=True)[1]
        shared = self.clashes(labels, labels)[0]
        parts = labels if self.graph is None else components(self.graph, labels)
        sizes = np.bincount(labels[labels >= 0])
        wrong = {
            "must_link": np.any(labels[first][self.blocks] != labels),
            "cannot_link": np.any(shared < self.n_pairs),
            "sources": np.any(shared >= self.n_pairs),
            "contiguity": parts.max() > labels.max(),
            "min_size": np.any((sizes > 0) & (sizes < self.min_size)),
        }
        return [name for name, is_wrong in wrong.items() if is_wrong]

    def allowed_sets(self) -> NDArray[np.bool_]:
        """(2**n_items,) which sets of a few items may be clusters; bit i of a set is item i."""
        n = self.n_items
        sets = np.arange(1 << n)[:, None] >> np.arange(n) & 1
        first = np.unique(self.blocks, return_index=True)[1]
        allowed = sets.sum(axis=1) >= self.min_size
        allowed &= (sets == sets[:, first[self.blocks]]).all(axis=1)
        for group in self.groups:
            allowed &= sets[:, group].sum(axis=1) <= 1
        if self.graph is not None:
            # Grown from the first item of each set, step by step, as far as the set reaches.
            reached = sets * (sets.cumsum(axis=1) == 1)
            for _ in range(n):
                reached |= sets & (reached @ self.graph > 0)
            allowed &= (reached == sets).all(axis=1)
        return np.asarray(allowed)

    @property
    def _said(self) -> dict[str, str]:
        """What is asked for in words, by the arguments of `minimize` that were given."""
        sizes = np.bincount(self.blocks)
        linked = sizes[sizes > 1]
        items = count(int(linked.sum()), "item")
        said = {
            "must_link": len(linked) and f"{items} in {count(len(linked), 'must-link')}",
            "cannot_link": self.n_pairs and count(self.n_pairs, "cannot-link"),
            "sources": self.n_sources and "at most one item of each source in a cluster",
            "contiguity": self.edges is not None and "clusters connected in the graph",
            "min_size": self.min_size > 1 and f"clusters of at least {self.min_size} items",
        }
        return {name: str(words) for name, words in said.items() if words}

    @property
    def words(self) -> str:
        """What is asked for, in words: 'with 3 items that must be together'."""
        return sentence_list(list(self._said.values()))

    @property
    def names(self) -> list[str]:
        """The arguments of `minimize` that were given."""
        return list(self._said)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `from_dict` makes the object again."""
        return {
            "blocks": self.blocks.tolist(),
            "groups": [group.tolist() for group in self.groups],
            "n_sources": self.n_sources,
            "edges": None if self.edges is None else self.edges.tolist(),
            "min_size": self.min_size,
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Constraints:
        """The object of which `to_dict` made the record."""
        blocks, edges = np.array(record["blocks"], np.int64), record["edges"]
        groups = tuple(np.array(group, np.int64) for group in record["groups"])
        edges = None if edges is None else np.array(edges, np.int64).reshape(-1, 2)
        return cls(blocks, groups, int(record["n_sources"]), edges, int(record["min_size"]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraints) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"Constraints({self.words})"


def components(graph: sparse.csr_array, labels: IntArray) -> IntArray:
    """(n_items,) the connected parts of the clusters, numbered; items with a label of -1 are in none."""
    from scipy.sparse.csgraph import connected_components

    i, j = graph.nonzero()
    same = labels[i] == labels[j]
    inner = adjacency(np.stack([i[same], j[same]], axis=1), len(labels))
    # Those in no cluster are parts as well, which are not numbered.
    return tidy(np.where(labels < 0, -1, connected_components(inner, directed=False)[1]))


def adjacency(edges: IntArray, n_items: int) -> sparse.csr_array:
    """The symmetric 0-1 matrix of pairs of items."""
    from scipy import sparse

    ones, (i, j) = np.ones(2 * len(edges), np.int8), edges.T
    pairs = np.append(i, j), np.append(j, i)
    return sparse.csr_array((ones, pairs), (n_items, n_items))
