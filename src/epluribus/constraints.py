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
from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus._text import count, sentence_list
from epluribus._typing import IntArray

# SciPy's sparse matrices are imported where they are used: `import epluribus` is to stay quick.
if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False, repr=False)
class Constraints:
    """What a partition must obey; made by `read_constraints`, which checks it once."""

    blocks: IntArray
    """(n_items,) canonical labels: items with the same one must be together."""
    groups: sparse.csr_array
    """(n_groups, n_items) 1 where an item is in a group: no two items of a group may be together."""
    n_sources: int = 0
    """The last this many groups are the sources with two or more items."""
    graph: sparse.csr_array | None = None
    """(n_items, n_items) symmetric adjacency matrix in which clusters must be connected; None for none."""
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

    def broken(self, labels: IntArray) -> list[str]:
        """The names of the arguments that a partition breaks; items with a label of -1 are in no cluster."""
        found, inside = [], labels >= 0
        # A block is whole if all its items have the label of one of them.
        one = np.empty(self.n_blocks, dtype=np.int64)
        one[self.blocks] = labels
        if np.any(one[self.blocks] != labels):
            found.append("must_link")
        shared = self._shared(labels)
        n_pairs = self.groups.shape[0] - self.n_sources
        if np.any(shared < n_pairs):
            found.append("cannot_link")
        if np.any(shared >= n_pairs):
            found.append("sources")
        if self.graph is not None and inside.any():
            parts = components(self.graph, labels)[inside]
            if parts.max() > labels.max():  # a cluster falls apart
                found.append("contiguity")
        if inside.any() and np.bincount(labels[inside]).min() < self.min_size:
            found.append("min_size")
        return found

    def _shared(self, labels: IntArray) -> IntArray:
        """The groups with two or more items in one cluster."""
        group, item = self.groups.nonzero()
        inside = labels[item] >= 0
        k = int(labels.max()) + 1
        cells, n = np.unique((group * max(k, 1) + labels[item])[inside], return_counts=True)
        return np.unique(cells[n > 1] // max(k, 1))

    def allowed_sets(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(2**n_items,) which sets of a few items may be clusters; bit i of a set is item i."""
        n = self.n_items
        sets = np.arange(1 << n)
        allowed = np.bitwise_count(sets) >= self.min_size
        for members in (np.flatnonzero(self.blocks == b) for b in range(self.n_blocks)):
            block = int((1 << members).sum())
            allowed &= (sets & block == 0) | (sets & block == block)
        for row in range(self.groups.shape[0]):
            group = int((1 << self.groups[[row]].nonzero()[1]).sum())
            allowed &= np.bitwise_count(sets & group) <= 1
        if self.graph is not None:
            allowed &= self._connected_sets(sets)
        return np.asarray(allowed)

    def _connected_sets(self, sets: IntArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which of the sets are connected in the graph."""
        assert self.graph is not None
        near = [int((1 << self.graph[[i]].nonzero()[1]).sum()) for i in range(self.n_items)]
        # Grown from the first item of each set, step by step, as far as the set reaches.
        reached = sets & -sets
        for _ in range(self.n_items):
            for i, neighbors in enumerate(near):
                reached |= np.where(reached >> i & 1, neighbors & sets, 0)
        return reached == sets

    def taken(self, items: IntArray | None) -> Constraints:
        """The same conditions with the items in another order; None for the same order."""
        if items is None:
            return self
        graph = None if self.graph is None else self.graph[items][:, items]
        blocks = np.unique(self.blocks[items], return_inverse=True)[1].astype(np.int64)
        return Constraints(blocks, self.groups[:, items], self.n_sources, graph, self.min_size)

    @property
    def words(self) -> str:
        """What is asked for, in words: 'with 3 items that must be together'."""
        sizes, said = np.bincount(self.blocks), []
        linked = int(sizes[sizes > 1].sum())
        if linked:
            said.append(f"{count(linked, 'item')} in {count(int((sizes > 1).sum()), 'must-link')}")
        n_pairs = self.groups.shape[0] - self.n_sources
        if n_pairs:
            said.append(count(n_pairs, "cannot-link"))
        if self.n_sources:
            said.append("at most one item of each source in a cluster")
        if self.graph is not None:
            said.append("clusters connected in the graph")
        if self.min_size > 1:
            said.append(f"clusters of at least {self.min_size} items")
        return sentence_list(said)

    @property
    def names(self) -> list[str]:
        """The arguments of `minimize` that were given."""
        n_pairs = self.groups.shape[0] - self.n_sources
        given = {
            "must_link": self.n_blocks < self.n_items,
            "cannot_link": n_pairs > 0,
            "sources": self.n_sources > 0,
            "contiguity": self.graph is not None,
            "min_size": self.min_size > 1,
        }
        return [name for name, present in given.items() if present]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; `from_dict` makes the object again."""
        groups = [self.groups[[g]].nonzero()[1].tolist() for g in range(self.groups.shape[0])]
        upper = None if self.graph is None else self.graph.nonzero()
        if upper is not None:  # each edge once
            upper = tuple(ends[upper[0] < upper[1]] for ends in upper)
        return {
            "blocks": self.blocks.tolist(),
            "groups": groups,
            "n_sources": self.n_sources,
            "edges": None if upper is None else np.transpose(upper).tolist(),
            "min_size": self.min_size,
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Constraints:
        """The object of which `to_dict` made the record."""
        blocks = np.array(record["blocks"], dtype=np.int64)
        n = len(blocks)
        edges = record["edges"]
        return cls(
            blocks,
            group_matrix([np.array(group, dtype=np.int64) for group in record["groups"]], n),
            int(record["n_sources"]),
            None if edges is None else adjacency(np.array(edges, dtype=np.int64).reshape(-1, 2), n),
            int(record["min_size"]),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraints) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"Constraints({self.words})"


def components(graph: sparse.csr_array, labels: IntArray) -> IntArray:
    """(n_items,) the connected parts of the clusters, numbered; items with a label of -1 are in none."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    edges = graph.tocoo()
    same = (labels[edges.row] == labels[edges.col]) & (labels[edges.row] >= 0)
    inner = sparse.coo_array(
        (np.ones(int(same.sum()), dtype=np.int8), (edges.row[same], edges.col[same])), graph.shape
    )
    part = connected_components(inner, directed=False)[1].astype(np.int64)
    # Without those in no cluster, each of which is a part by itself.
    inside = labels >= 0
    out = np.full(len(labels), -1, dtype=np.int64)
    out[inside] = np.unique(part[inside], return_inverse=True)[1]
    return out


def adjacency(edges: IntArray, n_items: int) -> sparse.csr_array:
    """The symmetric adjacency matrix of pairs of items, without loops."""
    from scipy import sparse

    i, j = edges[edges[:, 0] != edges[:, 1]].T
    ones = np.ones(2 * len(i), dtype=np.int8)
    matrix = sparse.csr_array((ones, (np.append(i, j), np.append(j, i))), shape=(n_items, n_items))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def group_matrix(groups: list[IntArray], n_items: int) -> sparse.csr_array:
    """The 0-1 matrix of groups by items."""
    from scipy import sparse

    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    first = np.append(0, np.cumsum(sizes))
    items = np.concatenate([*groups, np.empty(0, dtype=np.int64)])
    ones = np.ones(len(items), dtype=np.int8)
    return sparse.csr_array((ones, items, first), shape=(len(groups), n_items))
