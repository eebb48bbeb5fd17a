"""The rows of a table of draws: which are kept, what they weigh, and which are the same partition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.partition import canonical_table, widen_rows

_BLOCK_CELLS = 1 << 20
"""Labels converted at a time: bounds the memory used beside the stored labels (some 20 MB)."""


def check_chains(chains: Any, n_draws: int) -> IntArray:
    """The chain of each draw as a number, 0, 1, ... in the order of their names."""
    values = np.asarray(chains)
    if values.shape != (n_draws,):
        raise ValueError(
            f"'chains' must have one entry per draw, shape ({n_draws},); got shape {values.shape}."
        )
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def kept_rows(chain: IntArray, burn: int, thin: int) -> IntArray:
    """Rows that remain after `burn` and `thin` within each chain, in their old order."""
    rows: list[IntArray] = []
    for number in np.unique(chain):
        own = np.flatnonzero(chain == number)
        if burn >= len(own):
            raise ValueError(
                f"'burn' must leave at least one draw; it is {burn} and chain {number} has "
                f"{len(own)} draws."
            )
        rows.append(own[burn::thin])
    return np.sort(np.concatenate(rows))  # chains may be interleaved


def check_weights(weights: Any, n_draws: int, keep: Any = ...) -> FloatArray:
    """One weight per draw, all 1 by default: those of the rows `keep`."""
    if weights is None:
        return np.ones(n_draws)[keep]
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim == 2 and values.size == n_draws:
        values = values.ravel()  # chains by draws
    if values.shape != (n_draws,):
        raise ValueError(
            f"'weights' must have one entry per draw, shape ({n_draws},); got shape {values.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        raise ValueError(
            f"'weights' must be finite and not negative; draw {bad[0]} has {values[bad[0]]}."
        )
    if not values[keep].sum() > 0:
        raise ValueError("'weights' must have a positive sum; all weights of the draws kept are 0.")
    return values[keep]


def collapse(
    table: AnyArray, keep: IntArray
) -> tuple[NDArray[np.unsignedinteger[Any]], IntArray, IntArray]:
    """Distinct partitions among the rows `keep`, item-major; the one of each row; their clusters.

    One pass, in blocks: rows are made canonical and looked up by a hash. A row is then compared with the
    one that has its hash, so that a collision costs time, never correctness.
    """
    n_items = table.shape[1]
    multipliers = _hash_multipliers(n_items)
    row_of: dict[int, int] = {}  # row of `distinct` by hash
    # The system provides memory only for the rows that are written: one for each distinct partition.
    distinct = np.empty((len(keep), n_items), dtype=np.uint8)
    n_clusters = np.empty(len(keep), dtype=np.int64)
    index = np.empty(len(keep), dtype=np.int64)
    step = max(1, _BLOCK_CELLS // n_items)
    for begin in range(0, len(keep), step):
        rows, k = canonical_table(_take(table, keep[begin : begin + step]))
        distinct = widen_rows(distinct, len(row_of), int(k.max()) - 1)
        keys = rows.astype(np.uint64) @ multipliers  # unsigned arithmetic wraps around
        todo = np.arange(len(rows))
        while todo.size:
            known = len(row_of)
            found = [row_of.setdefault(key, len(row_of)) for key in keys[todo].tolist()]
            index[begin + todo] = places = np.array(found)
            # Places are given in order: the first row at a new one is above all before it.
            is_new = places > np.maximum.accumulate(np.append(known - 1, places[:-1]))
            new, old = todo[is_new], todo[~is_new]
            distinct[known : len(row_of)] = rows[new]
            n_clusters[known : len(row_of)] = k[new]
            differ = (distinct[places[~is_new]] != rows[old]).any(axis=1)
            todo = old[differ]  # another partition has this hash: try the next number
            keys[todo] += 1
    n = len(row_of)
    # Kernels read all draws of an item one after the other: items become the rows.
    return np.ascontiguousarray(distinct[:n].T), index, n_clusters[:n].copy()


def _hash_multipliers(n_items: int) -> NDArray[np.uint64]:
    """Random odd numbers, the same in every call: the hash of a row is its product with them."""
    return np.random.default_rng(0).integers(1, 2**63, n_items, dtype=np.uint64) * 2 + 1


def _take(table: AnyArray, rows: IntArray) -> AnyArray:
    """Rows of a table; without a copy if they follow each other."""
    first, last = int(rows[0]), int(rows[-1])
    return table[first : last + 1] if last - first == len(rows) - 1 else table[rows]
