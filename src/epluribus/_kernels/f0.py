"""The function f0 of a loss, compiled once per process, and its values for many pairs of partitions."""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cfunc, float64

from epluribus._kernels.jit import JIT_ENABLED, OPTIONS, kernel


def compile_f0(f0: Callable[..., float]) -> Any:
    """``f0(joint, size, group, n_items)`` of four floats, compiled at once: kernels call it by its address."""
    signature = float64(float64, float64, float64, float64)
    return cfunc(signature, error_model=OPTIONS["error_model"])(f0) if JIT_ENABLED else f0


@cache
def no_f0() -> Any:
    """A function that takes the place of f0 where kernels have their own."""
    return compile_f0(lambda joint, size, group, n_items: 0.0)  # noqa: ARG005


@kernel
def apply_f0(f0, joint, size, group, n_items, values):
    """values[t] = f0(joint[t], size[t], group[t], n_items)."""
    for t in range(joint.shape[0]):
        values[t] = f0(joint[t], size[t], group[t], n_items)
