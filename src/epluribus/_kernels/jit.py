"""How every kernel is compiled: the one decorator of this folder, on documented options of Numba alone.

`nogil` lets kernels run in threads, `cache` keeps them on disk between runs, and the NumPy error model makes
division by zero follow IEEE rules instead of raising. Fast-math stays off: sums are added in the order written,
so that results do not depend on the machine. With ``NUMBA_DISABLE_JIT=1`` kernels run as plain Python.

Numba recompiles a kernel when its own file changes, not when a kernel that it calls in another file does. The
Makefile and the tests therefore keep compiled kernels in a folder named after a hash of this one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cfunc, config, float64, njit
from numba.extending import register_jitable

JIT_ENABLED: bool = not config.DISABLE_JIT  # type: ignore[attr-defined]
"""Whether kernels are compiled at all; False with ``NUMBA_DISABLE_JIT=1``."""
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""Options of every kernel; those compiled for a function of the user are not kept on disk."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, or load it from the disk cache."""
    try:
        return njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no folder can be written to
        warnings.warn(
            "Compiled code cannot be kept: neither the folder of the package nor your cache folder can be written to. "
            "Every process compiles for itself, which takes seconds. Set NUMBA_CACHE_DIR to a folder of your own.",
            stacklevel=1,  # once, not for every kernel
        )
        return njit(**OPTIONS)(function)


def part(function: Callable[..., Any]) -> Any:
    """Let kernels call a function; to Python it stays a plain function, for models in plain Python.

    A compiled function that calls another one counts references to the arrays that it has given a name. Where it
    matters, read them by ``m.`` each time.
    """
    return register_jitable(**OPTIONS)(function)


def compile_f0(f0: Callable[..., float]) -> Any:
    """``f0(joint, size, group, n_items)`` of four floats, compiled at once: kernels call it by its address."""
    signature = float64(float64, float64, float64, float64)
    return cfunc(signature, error_model=OPTIONS["error_model"])(f0) if JIT_ENABLED else f0


@cache
def no_f0() -> Any:
    """A function that takes the place of f0 where kernels have their own."""
    return compile_f0(lambda joint, size, group, n_items: 0.0)  # noqa: ARG005
