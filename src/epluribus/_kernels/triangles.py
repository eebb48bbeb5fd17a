"""Triangles of items, for bounds on Binder's loss."""

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels._jit import kernel

__all__ = ["least_costs", "pack_triangles", "worst_triangles"]


@kernel
def pack_triangles(
    cost: NDArray[np.float64],  # IN and OUT (n, n) symmetric
    stop: NDArray[np.uint8],
) -> float:
    """Raise the bound sum min(0, cost) by triangles that cannot have all they want; returns by how much.

    i and j want to be together, j and k too, i and k do not: with multiplier d of the constraint
    x_ij + x_jk - x_ik <= 1 two costs rise by d, one falls by d, and d is paid. As long as no cost
    changes its sign, the bound rises by d.
    """
    n = cost.shape[0]
    total = 0.0
    for i in range(n):
        if stop[0]:
            break
        for k in range(i + 1, n):
            room = cost[i, k]
            if room <= 0.0:
                continue
            for j in range(n):
                if cost[i, j] < 0.0 and cost[j, k] < 0.0:
                    d = min(room, min(-cost[i, j], -cost[j, k]))
                    cost[i, j] += d
                    cost[j, i] = cost[i, j]
                    cost[j, k] += d
                    cost[k, j] = cost[j, k]
                    room -= d
                    total += d
                    if room <= 0.0:
                        break
            cost[i, k] = room
            cost[k, i] = room
    return total


@kernel
def worst_triangles(
    x: NDArray[np.float64],
    violation: NDArray[np.float64],  # OUT (n, n)
    third: NDArray[np.int64],  # OUT (n, n)
) -> None:
    """For each pair i < j the item k of largest x_ik + x_kj - x_ij - 1; x has zeros on its diagonal."""
    n = x.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            most = -1.0
            at = 0
            for k in range(n):
                value = x[i, k] + x[j, k]
                if value > most:
                    most = value
                    at = k
            violation[i, j] = most - x[i, j] - 1.0
            third[i, j] = at


@kernel
def least_costs(block: NDArray[np.float64], begin: int, cost: float) -> float:
    """Sum over pairs j < i, rows i from `begin` on, of the cheaper of apart and together."""
    total = 0.0
    for i in range(block.shape[0]):
        for j in range(begin + i):
            total += min(cost * block[i, j], (2.0 - cost) * (1.0 - block[i, j]))
    return total
