"""The one decorator of the package: how every kernel is compiled.

`nogil` lets kernels run in threads, `cache` keeps them on disk between runs, and the NumPy error
model makes division by zero follow IEEE rules instead of raising. Fast-math stays off: sums are
added in the order written, so that results do not depend on the platform. With
``NUMBA_DISABLE_JIT=1`` the decorator does nothing and kernels run as plain Python.
"""

from typing import Any

import numba

__all__ = ["JIT_ENABLED", "kernel"]

_config: Any = numba.config
JIT_ENABLED: bool = not _config.DISABLE_JIT

kernel = numba.njit(cache=True, nogil=True, error_model="numpy")
