"""The only compiling decorator of the package: how every kernel is compiled, and when it is recompiled.

`nogil` lets kernels run in threads, `cache` keeps them on disk between runs, and the NumPy error
model makes division by zero follow IEEE rules instead of raising. Kernels allocate no memory, so
references to arrays need not be counted (`_nrt=False`): counting took up to half of the time of a sweep.
Fast-math stays off: sums are added in the order written, so that results do not depend on the platform.
With ``NUMBA_DISABLE_JIT=1`` the decorator does nothing and kernels run as plain Python.

Numba reuses compiled code as long as the file of the function is unchanged; it does not notice when a
function called from another file has changed. Kernels call each other across files, so the code on
disk is marked with a hash of this whole folder: if one line changes, every kernel is recompiled (`_store`).
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from epluribus._kernels._store import guard

try:
    from epluribus._kernels._compiler import PART, ROUTINE, WHOLE, load_routines
except (ImportError, AttributeError):  # another version of Numba: compiled in its own way
    PART, ROUTINE, WHOLE = {}, {}, {}
    load_routines = None  # type: ignore[assignment]

OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
"""Options of every compiled function."""
_INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
INLINED: dict[str, Any] = {**_INNER, **PART, "forceinline": True}
CALLED: dict[str, Any] = {**_INNER, **ROUTINE}
"""Options of what kernels are made of, parts and routines: without what Python would need to call them, which
takes long to compile."""
KERNEL: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, **OPTIONS, **WHOLE}
"""Options of a kernel."""

_config: Any = numba.config
JIT_ENABLED: bool = not _config.DISABLE_JIT
"""Whether kernels are compiled at all; False with ``NUMBA_DISABLE_JIT=1``."""


def _hash_of_kernels() -> str:
    """A fingerprint of the source of all kernels."""
    digest = hashlib.sha256()
    # In a fixed order, because the order in which a file system lists a folder is arbitrary.
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_STAMP = _hash_of_kernels()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, or load it from the disk cache."""
    try:
        compiled = numba.njit(cache=True, **KERNEL)(function)
    except RuntimeError:  # there is no writable cache folder: every process compiles for itself
        return numba.njit(**KERNEL)(function)
    if JIT_ENABLED:
        guard(compiled._cache, _STAMP, load_routines if WHOLE else None)
    return compiled
