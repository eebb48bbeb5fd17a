"""The function f0 of a loss, compiled once per process, and its values for many pairs of partitions."""

from collections.abc import Callable
from typing import Any

from numba import njit

from epluribus._kernels.jit import OPTIONS


def compile_f0(f0: Callable[..., float]) -> Any:
    """``f0(joint, size, group, n_items)`` of four floats, compiled at once: kernels may call it."""
    return njit("float64(float64, float64, float64, float64)", **OPTIONS)(f0)


@njit(**OPTIONS)
def apply_f0(f0, joint, size, group, n_items, values):
    """values[t] = f0(joint[t], size[t], group[t], n_items); compiled anew for each f0, in 0.2 s."""
    for t in range(joint.shape[0]):
        values[t] = f0(joint[t], size[t], group[t], n_items)
