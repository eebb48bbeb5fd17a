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
def sign_draws(
    table: NDArray[np.unsignedinteger],
    weight: NDArray[np.uint64],
    item: NDArray[np.uint64],
    begin: int,
    end: int,
    group: NDArray[np.uint64],  # OUT (n_draws, groups), zero on entry
    draw: NDArray[np.uint64],  # OUT (n_draws,)
) -> None:
    """Numbers of the clusters of draws begin..end-1 from their items, and of these draws from both."""
    for i in range(table.shape[0]):
        for t in range(begin, end):
            group[t, table[i, t]] += item[i]
    for t in range(begin, end):
        total = weight[t]
        for v in range(group.shape[1]):
            # An empty cluster counts nothing, however many there are.
            if group[t, v] != np.uint64(0):
                group[t, v] = mixed(group[t, v])
                total += group[t, v]
        draw[t] = mixed(total)


@kernel
def sign_items(
    table: NDArray[np.unsignedinteger],
    group: NDArray[np.uint64],
    draw: NDArray[np.uint64],
    begin: int,
    end: int,
    item: NDArray[np.uint64],  # OUT (n_items,)
) -> None:
    """Numbers of items begin..end-1 from those of their clusters in all draws."""
    for i in range(begin, end):
        total = np.uint64(0)
        for t in range(table.shape[1]):
            total += mixed(group[t, table[i, t]] ^ draw[t])
        item[i] = mixed(total)


@kernel
def renumber(
    table: NDArray[np.unsignedinteger],
    items: NDArray[np.int64],
    columns: NDArray[np.int64],
    begin: int,
    end: int,
    code: NDArray[np.int64],  # WORK (n_draws, groups), -1 on entry
    n_clusters: NDArray[np.int64],  # OUT (n_draws,), zero on entry
    out: NDArray[np.unsignedinteger],  # OUT (n_items, n_draws)
) -> None:
    """Columns begin..end-1 of the table in another order, each relabelled in order of first appearance."""
    for i in range(out.shape[0]):
        row = table[items[i]]
        for t in range(begin, end):
            v = row[columns[t]]
            if code[t, v] < 0:
                code[t, v] = n_clusters[t]
                n_clusters[t] += 1
            out[i, t] = code[t, v]
