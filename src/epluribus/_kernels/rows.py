"""The function f0 of a loss, compiled for rows of clusters: one row for each of several draws.

For all clusters s

    cost[s] += sum over draws t of weight[t] * f0(joint[t] + gain[at[t] + s], size[s], group[t], n_items)

where `joint[t] + gain[at[t] + s]` is the joint sum of draw t, and `size[s]` the size sum, if an item goes to
s; `group[t]` is the sum of f3 over the clusters of draw t, which no move changes. The gains of draw t begin
at position `at[t]` of one long array. With the loop over draws inside, all that does not depend on the draw
or on the cluster is computed once, and the calls themselves cost nothing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cfunc, njit, types

from epluribus._kernels._jit import JIT_ENABLED, OPTIONS, kernel
from epluribus._typing import FloatArray, IntArray

_NUMBERS = types.Array(types.float64, 1, "C")
_INTEGERS = types.Array(types.int64, 1, "C")
# Fixed types: gain, at, joint, size, group, n_items, weight, cost.
_ROW = types.void(
    _NUMBERS, _INTEGERS, _NUMBERS, _NUMBERS, _NUMBERS, types.float64, _NUMBERS, _NUMBERS
)


def compile_row(f0: Callable[..., float]) -> Any:
    """A function ``row(gain, at, joint, size, group, n_items, weight, cost)`` that adds to `cost`.

    The result has the same type whatever f0 is, so the kernels that call it are compiled once for all
    losses and can be kept on disk.
    """
    f0_compiled = njit(**OPTIONS)(f0)

    def row(gain, at, joint, size, group, n_items, weight, cost):  # type: ignore[no-untyped-def]
        for t in range(at.shape[0]):
            # Unsigned: the check for negative indices would keep the inner loop from being vectorized.
            begin = np.uint64(at[t])
            joint_t, group_t, weight_t = joint[t], group[t], weight[t]
            for s in range(cost.shape[0]):
                value = f0_compiled(joint_t + gain[begin + np.uint64(s)], size[s], group_t, n_items)
                cost[s] += weight_t * value

    # A `cfunc` is called through a pointer: its address is data, not part of the calling kernel's type.
    return cfunc(_ROW, **OPTIONS)(row) if JIT_ENABLED else row


@kernel
def row_values(
    row: Any,
    joint: FloatArray,
    size: FloatArray,  # (1,)
    group: FloatArray,
    n_items: float,
    zero: FloatArray,  # (1,) holding zero
    first: IntArray,  # (1,) holding zero
    one: FloatArray,  # (1,) holding one
    values: FloatArray,  # OUT (n_draws,), zero on entry
) -> None:
    """f0 of one partition against each draw: values[t] = f0(joint[t], size[0], group[t], n_items)."""
    # One call for each draw, with a row of a single entry and nothing gained.
    for t in range(joint.shape[0]):
        now = slice(t, t + 1)
        row(zero, first, joint[now], size, group[now], n_items, one, values[now])


@kernel
def row_costs(
    row: Any,
    joint: FloatArray,
    size: FloatArray,
    group: FloatArray,  # (1,)
    n_items: float,
    zero: FloatArray,  # (1,) holding zero
    first: IntArray,  # (1,) holding zero
    one: FloatArray,  # (1,) holding one
    values: FloatArray,  # OUT (n_partitions,), zero on entry
) -> None:
    """f0 of each of many partitions against one draw."""
    # The joint sums are passed as gains over a joint sum of 0.
    row(joint, first, zero, size, group, n_items, one, values)
