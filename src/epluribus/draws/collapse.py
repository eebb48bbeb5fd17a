"""Distinct partitions among draws: canonical, each kept once, item-major in the smallest type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus.partition import canonical_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import IntArray

__all__ = ["collapse"]

_BLOCK_CELLS = 1 << 20
"""Labels converted at a time: bounds the memory used beside the stored labels (some 20 MB)."""


def collapse(
    table: NDArray[Any], keep: IntArray
) -> tuple[NDArray[np.unsignedinteger[Any]], IntArray, IntArray]:
    """Distinct partitions among the rows `keep`, item-major; the row of each draw; their clusters.

    A first pass hashes the canonical rows, a second writes one row per hash and compares every row
    with the one it is said to equal, so a collision of hashes costs memory, never correctness.
    """
    n_items = table.shape[1]
    step = max(1, _BLOCK_CELLS // n_items)
    blocks = [keep[begin : begin + step] for begin in range(0, len(keep), step)]
    # A multilinear hash with fixed odd multipliers; unsigned arithmetic wraps around.
    multiplier = np.random.default_rng(0).integers(1, 2**63, n_items, dtype=np.uint64) * 2 + 1
    hashes = np.empty(len(keep), dtype=np.uint64)
    n_clusters = np.empty(len(keep), dtype=np.int64)
    for number, block in enumerate(blocks):
        rows, k = canonical_table(table[block])
        span = slice(number * step, number * step + len(block))
        hashes[span] = rows.astype(np.uint64) @ multiplier
        n_clusters[span] = k
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.sort(first)  # rows that are the first of their hash, in order of appearance
    index = np.searchsorted(order, first[inverse])
    dtype = np.min_scalar_type(int(n_clusters.max()) - 1)
    stored = np.empty((len(order), n_items), dtype=dtype)
    extra: list[NDArray[Any]] = []
    extra_k: list[int] = []
    for number, block in enumerate(blocks):
        rows, _ = canonical_table(table[block])
        here = np.arange(number * step, number * step + len(block))
        new = first[inverse[here]] == here
        stored[index[here[new]]] = rows[new]
        differ = np.flatnonzero((stored[index[here]] != rows).any(axis=1))
        for row in differ:  # pragma: no cover - two partitions with one 64-bit hash
            match = [j for j, other in enumerate(extra) if np.array_equal(other, rows[row])]
            if not match:
                extra.append(rows[row].astype(dtype))
                extra_k.append(int(n_clusters[here[row]]))
            index[here[row]] = len(order) + (match[0] if match else len(extra) - 1)
    if extra:  # pragma: no cover - see above
        stored = np.concatenate([stored, np.array(extra)])
    k_distinct = np.concatenate([n_clusters[order], np.array(extra_k, dtype=np.int64)])
    labels = np.ascontiguousarray(stored.T)
    labels.flags.writeable = False
    return labels, index, k_distinct
