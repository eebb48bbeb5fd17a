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
from epluribus.partition import tidy

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

    @property
    def n_pairs(self) -> int:
        """Number of groups that are no sources."""
        return int(self.groups.shape[0]) - self.n_sources

    def broken(self, labels: IntArray) -> list[str]:
        """The names of the arguments that a partition breaks; items with a label of -1 are in no cluster."""
        one = np.empty(self.n_blocks, dtype=np.int64)
        one[self.blocks] = labels  # a block is whole if all its items have the label of one of them
        group, item = self.groups.nonzero()
        known, k = labels[item] >= 0, len(labels)
        cells, n = np.unique((group * k + labels[item])[known], return_counts=True)
        shared = cells[n > 1] // k
        parts = labels if self.graph is None else components(self.graph, labels)
        wrong = {
            "must_link": np.any(one[self.blocks] != labels),
            "cannot_link": np.any(shared < self.n_pairs),
            "sources": np.any(shared >= self.n_pairs),
            "contiguity": parts.max() > labels.max(),
            "min_size": np.any(
                np.unique(labels[labels >= 0], return_counts=True)[1] < self.min_size
            ),
        }
        return [name for name, is_wrong in wrong.items() if is_wrong]

    def allowed_sets(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(2**n_items,) which sets of a few items may be clusters; bit i of a set is item i."""
        n = self.n_items
        sets = np.arange(1 << n)[:, None] >> np.arange(n) & 1
        blocks = np.eye(self.n_blocks, dtype=np.int64)[self.blocks]
        inside = sets @ blocks
        allowed = (sets.sum(axis=1) >= self.min_size) & (sets @ self.groups.T <= 1).all(axis=1)
        allowed &= ((inside == 0) | (inside == blocks.sum(axis=0))).all(axis=1)
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
        linked, pairs = sizes[sizes > 1], count(self.n_pairs, "cannot-link")
        said = {
            "must_link": len(linked)
            and f"{count(int(linked.sum()), 'item')} in {count(len(linked), 'must-link')}",
            "cannot_link": self.n_pairs and pairs,
            "sources": self.n_sources and "at most one item of each source in a cluster",
            "contiguity": self.graph is not None and "clusters connected in the graph",
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
        edges = None if self.graph is None else np.transpose(self.graph.nonzero())
        return {
            "blocks": self.blocks.tolist(),
            "groups": [
                one.tolist() for one in np.split(self.groups.indices, self.groups.indptr[1:-1])
            ],
            "n_sources": self.n_sources,
            "edges": None if edges is None else edges[edges[:, 0] < edges[:, 1]].tolist(),
            "min_size": self.min_size,
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Constraints:
        """The object of which `to_dict` made the record."""
        blocks = np.array(record["blocks"], dtype=np.int64)
        groups = group_matrix(
            [np.array(group, dtype=np.int64) for group in record["groups"]], len(blocks)
        )
        edges = record["edges"]
        graph = (
            None
            if edges is None
            else adjacency(np.array(edges, np.int64).reshape(-1, 2), len(blocks))
        )
        return cls(blocks, groups, int(record["n_sources"]), graph, int(record["min_size"]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraints) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"Constraints({self.words})"


def components(graph: sparse.csr_array, labels: IntArray) -> IntArray:
    """(n_items,) the connected parts of the clusters, numbered; items with a label of -1 are in none."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    i, j = graph.nonzero()
    same = labels[i] == labels[j]
    inner = sparse.coo_array((np.ones(int(same.sum()), np.int8), (i[same], j[same])), graph.shape)
    # Those in no cluster are parts as well, which are not numbered.
    return tidy(np.where(labels < 0, -1, connected_components(inner, directed=False)[1]))


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
