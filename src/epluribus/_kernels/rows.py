"""The function f0 of a loss, compiled for a row of clusters at a time.

For all clusters s

    cost[s] += weight * f0(joint + gain[s], size[s], group, n_items)

where `joint + gain[s]` is the joint sum of one draw, and `size[s]` the size sum, if an item goes to s;
`group` is the sum of f3 over the clusters of that draw, which no move changes.
"""

from collections.abc import Callable
from typing import Any

from numba import cfunc, njit, types

from epluribus._kernels._jit import JIT_ENABLED, OPTIONS, kernel
from epluribus._typing import FloatArray

_ARRAY = types.Array(types.float64, 1, "C")
# Fixed types: gain, joint, size, group, n_items, weight, cost.
_ROW = types.void(
    _ARRAY, types.float64, _ARRAY, types.float64, types.float64, types.float64, _ARRAY
)


def compile_row(f0: Callable[..., float]) -> Any:
    """A function ``row(gain, joint, size, group, n_items, weight, cost)`` that adds to `cost`.

    The result has the same type whatever f0 is, so the kernels that call it are compiled once for all
    losses and can be kept on disk.
    """
    f0_compiled = njit(**OPTIONS)(f0)

    def row(gain, joint, size, group, n_items, weight, cost):  # type: ignore[no-untyped-def]
        for s in range(cost.shape[0]):
            cost[s] += weight * f0_compiled(joint + gain[s], size[s], group, n_items)

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
    values: FloatArray,  # OUT (n_draws,), zero on entry
) -> None:
    """f0 of one partition against each draw: values[t] = f0(joint[t], size[0], group[t], n_items)."""
    # One call for each draw, with a row of a single entry and nothing gained.
    for t in range(joint.shape[0]):
        row(zero, joint[t], size, group[t], n_items, 1.0, values[t : t + 1])


@kernel
def row_costs(
    row: Any,
    joint: FloatArray,
    size: FloatArray,
    group: float,
    n_items: float,
    values: FloatArray,  # OUT (n_partitions,), zero on entry
) -> None:
    """f0 of each of many partitions against one draw."""
    # The joint sums are passed as gains over a joint sum of 0.
    row(joint, 0.0, size, group, n_items, 1.0, values)
