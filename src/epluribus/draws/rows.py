"""The rows of a table of draws: which are kept, their weights, and which are the same partition."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.partition import canonical_table, widen_rows

_BLOCK_CELLS = 1 << 20
"""Labels converted at a time: keeps the memory used besides the stored labels to some 20 MB."""
_SAFE = (1e-100, 1e100)
"""Where the largest weight must lie: sums, squares and products of weights are then ordinary numbers."""


def check_chains(chains: Any, n_draws: int) -> IntArray:
    """The chain of each draw as a number 0, 1, ..., in the order of the chains' names.

    >>> check_chains(["b", "a", "b"], 3).tolist()
    [1, 0, 1]
    """
    values = np.asarray(chains)
    if values.shape != (n_draws,):
        raise ValueError(
            f"'chains' must have one entry per draw, shape ({n_draws},); got shape {values.shape}."
        )
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def kept_rows(chain: IntArray, burn: int, thin: int) -> IntArray:
    """Rows that remain after `burn` and `thin` within each chain, in their old order.

    >>> kept_rows(np.array([0, 1, 0, 1, 0, 1]), burn=1, thin=2).tolist()
    [2, 3]
    """
    rows: list[IntArray] = []
    for number in np.unique(chain):
        own = np.flatnonzero(chain == number)
        if burn >= len(own):
            raise ValueError(
                f"'burn' must leave at least one draw; it is {burn} and chain {number} has "
                f"{len(own)} draws."
            )
        rows.append(own[burn::thin])
    # The rows of several chains may alternate in the table: sorting restores the order of the table.
    return np.sort(np.concatenate(rows))


def check_weights(weights: Any, n_draws: int, keep: Any = ...) -> FloatArray:
    """One weight for each of the rows `keep` as it was given, all 1 by default; see `safe_weights`.

    `weights` has one entry for each of the `n_draws` rows, or is a table of chains by draws. Weights need not
    sum to 1; a weight of 0 is allowed, a sum of 0 is not.
    """
    if weights is None:
        return np.ones(n_draws)[keep]
    values = _to_floats(weights)
    # Chains by draws, as samplers return them: the rows of the table are in the same order.
    if values.ndim == 2 and values.size == n_draws:
        values = values.ravel()
    if values.shape != (n_draws,):
        raise ValueError(
            f"'weights' must have one entry per draw, shape ({n_draws},); got shape {values.shape}."
        )
    # Written so that NaN, which is not finite, is refused too.
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        raise ValueError(
            f"'weights' must be finite and not negative; draw {bad[0]} has {values[bad[0]]}. A weight of "
            "0 leaves a draw out."
        )
    # Not a sum, which might overflow.
    if not values[keep].any():
        raise ValueError("'weights' must have a positive sum; all weights of the draws kept are 0.")
    return values[keep]


def _to_floats(weights: Any) -> FloatArray:
    """Weights as floats; those that are masked or no real numbers are refused."""
    if np.ma.is_masked(weights):
        at = np.flatnonzero(np.ma.getmaskarray(weights))[0]
        raise ValueError(
            f"'weights' must be finite and not negative; draw {at} is masked. A weight of 0 leaves a "
            "draw out."
        )
    try:
        values = np.asarray(weights)
        if values.dtype.kind in "cmM":  # NumPy would drop the imaginary part, or the unit of a time
            raise TypeError
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"'weights' must be numbers, one for each draw; got {reprlib.repr(weights)}."
        ) from None


def safe_weights(weights: FloatArray) -> FloatArray:
    """Weights that can be computed with: divided by the largest if that is huge or tiny.

    Only ratios of weights matter. Ordinary weights stay as they are, so that integers stay integers; equal
    weights that are divided become exactly 1. Weights that vanish beside the largest count as 0.

    >>> safe_weights(np.array([2.0, 3.0])).tolist(), safe_weights(np.array([5e-324, 1e-323])).tolist()
    ([2.0, 3.0], [0.5, 1.0])
    """
    largest = weights.max()
    if largest == 0 or _SAFE[0] <= largest <= _SAFE[1]:
        return weights
    return weights / largest


def all_equal(weights: FloatArray) -> bool:
    """Whether all weights are the same, so that draws may simply be counted."""
    return bool(np.all(weights == weights[0]))


def collapse(
    table: AnyArray, keep: IntArray
) -> tuple[NDArray[np.unsignedinteger[Any]], IntArray, IntArray]:
    """Distinct partitions among the rows `keep` of a table of labels.

    One pass, in blocks: rows are made canonical and looked up by a hash. A row is then compared with the
    one that has its hash, so that a collision costs time, never correctness. Time O(n_rows n_items).

    Returns
    -------
    labels : ndarray of shape (n_items, n_distinct)
        Canonical labels, in order of first appearance among the rows, in the smallest unsigned type.
    index : ndarray of shape (n_rows,)
        The column of `labels` that each row equals.
    n_clusters : ndarray of shape (n_distinct,)
        Number of clusters of each distinct partition.

    Examples
    --------
    >>> labels, index, n_clusters = collapse(np.array([[4, 4, 7], [1, 2, 2], [0, 0, 9]]), np.arange(3))
    >>> labels.T.tolist(), index.tolist(), n_clusters.tolist()
    ([[0, 0, 1], [0, 1, 1]], [0, 1, 0], [2, 2])
    """
    n_items = table.shape[1]
    multipliers = _hash_multipliers(n_items)
    row_of: dict[int, int] = {}  # row of `distinct` by hash
    # np.empty reserves addresses; the system provides memory only for the rows that are written, one for
    # each distinct partition.
    distinct = np.empty((len(keep), n_items), dtype=np.uint8)
    n_clusters = np.empty(len(keep), dtype=np.int64)
    index = np.empty(len(keep), dtype=np.int64)
    step = max(1, _BLOCK_CELLS // n_items)
    for begin in range(0, len(keep), step):
        rows, k = canonical_table(_take(table, keep[begin : begin + step]))
        distinct = widen_rows(distinct, len(row_of), int(k.max()) - 1)
        # The hash of a row, sum_i z_i m_i modulo 2^64: unsigned arithmetic wraps around.
        keys = rows.astype(np.uint64) @ multipliers
        # All rows of the block at first; then, again and again, those whose hash was taken by another.
        todo = np.arange(len(rows))
        while todo.size:
            known = len(row_of)
            found = [row_of.setdefault(key, len(row_of)) for key in keys[todo].tolist()]
            index[begin + todo] = places = np.array(found)
            # New places are given in increasing order, so the first row at a new place is the one whose place
            # is above all before it, and above the places known before this round.
            is_new = places > np.maximum.accumulate(np.append(known - 1, places[:-1]))
            new, old = todo[is_new], todo[~is_new]
            distinct[known : len(row_of)] = rows[new]
            n_clusters[known : len(row_of)] = k[new]
            # Another partition has the hash of these rows: they try the next number.
            differ = (distinct[places[~is_new]] != rows[old]).any(axis=1)
            todo = old[differ]
            keys[todo] += 1
    n = len(row_of)
    # Kernels read all draws of an item one after the other: items become the rows.
    return np.ascontiguousarray(distinct[:n].T), index, n_clusters[:n].copy()


def _hash_multipliers(n_items: int) -> NDArray[np.uint64]:
    """Random odd numbers, the same in every call, whose product with a row is its hash."""
    return np.random.default_rng(0).integers(1, 2**63, n_items, dtype=np.uint64) * 2 + 1


def _take(table: AnyArray, rows: IntArray) -> AnyArray:
    """The given rows of a table, which are sorted; a view, not a copy, if they are consecutive."""
    first, last = int(rows[0]), int(rows[-1])
    return table[first : last + 1] if last - first == len(rows) - 1 else table[rows]
