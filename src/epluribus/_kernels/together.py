"""How often items share a cluster: counts and weights over the draws.

Inner loops run over contiguous labels and nothing else, so that the compiler turns them into vector
instructions: some 30 comparisons a nanosecond for one-byte labels.
"""

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel

__all__ = ["keep_above", "together_counts", "together_weights"]


@kernel
def together_counts(
    labels: NDArray[np.unsignedinteger],
    begin: int,
    end: int,
    stop: int,
    out: NDArray[np.int32],  # OUT (at least end - begin, stop)
) -> None:
    """Number of draws in which items begin..end share a cluster with items 0..stop.

    `labels` is item-major. The block of items stays in a cache while the others pass by.
    """
    for j in range(stop):
        for i in range(begin, end):
            total = 0
            for t in range(labels.shape[1]):
                total += labels[i, t] == labels[j, t]
            out[i - begin, j] = total


@kernel
def together_weights(
    rows: NDArray[np.unsignedinteger],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
    stop: int,
    out: NDArray[np.float64],  # OUT (at least end - begin, stop)
) -> None:
    """Weight of the draws in which items begin..end share a cluster with items 0..stop.

    `rows` is draw-major: the sums for all j are added to side by side, each in the order of the
    draws.
    """
    for i in range(begin, end):
        total = out[i - begin]
        total[:stop] = 0.0
        for t in range(rows.shape[0]):
            row = rows[t]
            own = row[i]
            weight = weights[t]
            for j in range(stop):
                total[j] += weight if row[j] == own else 0.0


@kernel
def keep_above(
    block: NDArray[np.float64],
    threshold: float,
    counts: NDArray[np.int64],  # OUT entries kept of each row
    columns: NDArray[np.int32],  # OUT (block.size,)
    values: NDArray[np.float64],  # OUT (block.size,)
) -> int:
    """Columns and values of the entries above `threshold`, row after row; returns how many."""
    size = 0
    for i in range(block.shape[0]):
        begin = size
        for j in range(block.shape[1]):
            # Written always, kept if the end moves on: no branch to guess wrong.
            columns[size] = j
            values[size] = block[i, j]
            size += block[i, j] > threshold
        counts[i] = size - begin
    return size
