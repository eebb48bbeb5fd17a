"""What a block model says about links: the rates of blocks, and the probabilities of single links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epluribus._text import plain_table, to_frame
from epluribus._typing import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, repr=False, eq=False)
class BlockTable:
    """Links between every two clusters. Rows are the clusters that links come from."""

    sizes: IntArray
    """(K,) nodes of each cluster."""
    edges: IntArray
    """(K, K) links; within a cluster of an undirected network each link counts once."""
    pairs: FloatArray
    """(K, K) pairs of nodes, in the same way; with degrees, their total exposure."""
    mean: FloatArray
    """(K, K) posterior mean of the probability of a link; for counts, of the mean number of links."""
    low: FloatArray
    """(K, K) lower end of its central 95 % interval, given the partition."""
    high: FloatArray
    """(K, K) upper end."""
    directed: bool

    def columns(self) -> dict[str, Any]:
        """One row for each block: of an undirected network, each block once."""
        K = self.sizes.size
        upper = np.triu_indices(K) if not self.directed else np.indices((K, K)).reshape(2, -1)
        g, h = upper
        return {
            "from": g,
            "to": h,
            "edges": self.edges[g, h],
            "pairs": self.pairs[g, h],
            "mean": self.mean[g, h],
            "low": self.low[g, h],
            "high": self.high[g, h],
        }

    def to_pandas(self) -> Any:
        """`columns` as a pandas DataFrame."""
        return to_frame(self.columns())

    def __repr__(self) -> str:
        return f"BlockTable(n_clusters={self.sizes.size}, directed={self.directed})"

    def __str__(self) -> str:
        K = min(self.sizes.size, 12)  # more do not fit into lines
        table: dict[str, Any] = {"cluster": list(range(K)), "nodes": self.sizes[:K].tolist()}
        table |= {str(h): [f"{value:.2g}" for value in self.mean[:K, h]] for h in range(K)}
        rest = self.sizes.size - K
        return "\n".join([*plain_table(table), *([f"and {rest} more clusters"] if rest else [])])


def read_pairs(pairs: Any, names: Sequence[str] | None, n_nodes: int) -> IntArray:
    """(n, 2) numbers of the two nodes of each pair, from numbers or names."""
    place: dict[Any, int] = {node: node for node in range(n_nodes)}
    place |= {name: number for number, name in enumerate(names or ())}
    rows = [list(pair) for pair in pairs]
    if any(len(row) != 2 for row in rows):
        raise ValueError("'pairs' must have two nodes each.")
    odd = next((node for row in rows for node in row if node not in place), None)
    if odd is not None:
        raise ValueError(
            f"'pairs' must be of nodes 0 to {n_nodes - 1}, or of their names; it has no {odd!r}."
        )
    return np.array([[place[node] for node in row] for row in rows], np.int64).reshape(-1, 2)


def some_draws(table: AnyArray, most: int = 200) -> AnyArray:
    """At most this many draws, evenly spaced: means over draws need no more."""
    return table[np.linspace(0, len(table) - 1, min(most, len(table))).astype(np.int64)]
