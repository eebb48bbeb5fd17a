"""Numbers that identify items and draws whatever order they come in.

Two items get the same number only if no pattern of sizes and neighbors tells them apart (or by chance, once
in 2^64): the number of a draw depends on those of its clusters, that of a cluster on those of its items, and
that of an item on those of its clusters in all draws. All sums are modulo 2^64: their order does not matter.
"""

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel
from epluribus._kernels.dispatch import part


@part
def mixed(x: np.uint64) -> np.uint64:
    """A number in which every bit depends on every bit of x: the finalizer of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def sign(
    table: NDArray[np.unsignedinteger],
    weight: NDArray[np.uint64],
    item: NDArray[np.uint64],  # IN and OUT (n_items,)
    group: NDArray[np.uint64],  # WORK (n_draws, groups)
    draw: NDArray[np.uint64],  # OUT (n_draws,)
) -> None:
    """One round: clusters from their items, draws from their clusters and weights, items from both."""
    for t in range(group.shape[0]):
        for v in range(group.shape[1]):
            group[t, v] = np.uint64(0)
    for i in range(table.shape[0]):
        for t in range(table.shape[1]):
            group[t, table[i, t]] += item[i]
    for t in range(group.shape[0]):
        total = weight[t]
        for v in range(group.shape[1]):
            # An empty cluster counts nothing, however many there are.
            if group[t, v] != np.uint64(0):
                group[t, v] = mixed(group[t, v])
                total += group[t, v]
        draw[t] = mixed(total)
    for i in range(table.shape[0]):
        total = np.uint64(0)
        for t in range(table.shape[1]):
            total += mixed(group[t, table[i, t]] ^ draw[t])
        item[i] = mixed(total)


@kernel
def renumber(
    table: NDArray[np.unsignedinteger],  # IN and OUT, item-major
    code: NDArray[np.int64],  # WORK (n_draws, groups), -1 on entry
    n_clusters: NDArray[np.int64],  # OUT (n_draws,), zero on entry
) -> None:
    """Relabel each column in order of first appearance."""
    for i in range(table.shape[0]):
        for t in range(table.shape[1]):
            v = table[i, t]
            if code[t, v] < 0:
                code[t, v] = n_clusters[t]
                n_clusters[t] += 1
            table[i, t] = code[t, v]
