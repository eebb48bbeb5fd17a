"""The smallest expected variation of information for a few draws, exactly.

Items that share their cluster in each of the draws are a block, and an optimal partition keeps a block
together (`uncertainty/_few_draws.py`). Few draws have few blocks, so that all sets of blocks can be looked
at: a set is an integer whose bit b says whether block b is in it.
"""

from typing import NamedTuple

import numpy as np

from epluribus._kernels._jit import kernel
from epluribus._typing import FloatArray, IntArray


class Sets(NamedTuple):
    """Memory with a place for each set of blocks."""

    mass: IntArray
    """Number of items."""
    inner: FloatArray
    """Sum over draws and their clusters of n log2 n, n the items that the set has there, times the share."""
    least: FloatArray
    """The smallest cost of all partitions of the set."""


@kernel
def least_cost(
    mass: IntArray, mates: IntArray, shares: FloatArray, factor: float, logs: FloatArray, sets: Sets
) -> float:
    """The smallest sum over clusters of a partition of factor n log2 n - 2 `inner`, shares times n log2 n.

    `mass` (B,) is the number of items of each block, `mates[t, b]` the set of blocks that are with block b in
    draw t, `shares` (T,) the draws' shares, `logs[n]` is n log2 n. Time O(3^B + T 2^B).
    """
    n_blocks, n_draws = mass.shape[0], mates.shape[0]
    total = 0.0
    for t in range(n_draws):
        total += shares[t]
    sets.mass[0], sets.inner[0], sets.least[0] = 0, 0.0, 0.0
    # A set is one with less, and its highest block.
    for b in range(n_blocks):
        for rest in range(1 << b):
            sets.mass[rest | (1 << b)] = sets.mass[rest] + mass[b]
    for b in range(n_blocks):
        for rest in range(1 << b):
            inner = sets.inner[rest]
            for t in range(n_draws):
                n = sets.mass[rest & mates[t, b]]
                inner += shares[t] * (logs[n + mass[b]] - logs[n])
            sets.inner[rest | (1 << b)] = inner
    # From here on `inner` is the cost of the set as a cluster.
    for s in range(1, 1 << n_blocks):
        sets.inner[s] = factor * total * logs[sets.mass[s]] - 2.0 * sets.inner[s]
    for b in range(n_blocks):
        high = 1 << b
        for rest in range(high):
            # The cluster of the highest block has some of the rest: all subsets, from the rest down to none.
            best, part = np.inf, rest
            while True:
                cost = sets.inner[part | high] + sets.least[rest ^ part]
                best = min(best, cost)
                if part == 0:
                    break
                part = (part - 1) & rest
            sets.least[rest | high] = best
    return float(sets.least[(1 << n_blocks) - 1])
