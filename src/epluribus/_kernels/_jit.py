"""The only compiling decorator of the package: how every kernel is compiled, and when it is recompiled.

`nogil` lets kernels run in threads, `cache` keeps them on disk between runs, and the NumPy error
model makes division by zero follow IEEE rules instead of raising. Kernels allocate no memory, so
references to arrays need not be counted (`_nrt=False`): counting took up to half of the time of a sweep.
Fast-math stays off: sums are added in the order written, so that results do not depend on the platform.
With ``NUMBA_DISABLE_JIT=1`` the decorator does nothing and kernels run as plain Python.

Numba reuses compiled code as long as the file of the function is unchanged; it does not notice when a
function called from another file has changed. Kernels call each other across files, so the code on
disk is marked with a hash of this whole folder: if one line changes, every kernel is recompiled.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

try:
    import fcntl
except ImportError:  # not a POSIX system: files are written without a lock, as in plain Numba
    fcntl = None  # type: ignore[assignment]

OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
"""Options of every compiled function, including the parts from which kernels are made."""
INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of a part of a kernel: without what Python would need to call it, which takes long to compile."""

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
        compiled = numba.njit(cache=True, nogil=True, no_cfunc_wrapper=True, **OPTIONS)(function)
    except RuntimeError:  # there is no writable cache folder: every process compiles for itself
        return numba.njit(nogil=True, **OPTIONS)(function)
    if JIT_ENABLED:
        # These attributes are private. Where another version of Numba lacks them, its cache is used
        # unchanged, and only an edit across files could leave stale code on disk.
        store: Any = getattr(compiled._cache, "_cache_file", None)
        if hasattr(store, "_version") and hasattr(store, "_index_path"):
            _guard(store)
    return compiled


def _guard(store: Any) -> None:
    """Mark the cache of a function with the hash of all kernels, and let one process write at a time."""
    # A cache index begins with the version of Numba that wrote it. If that differs from `_version`, Numba
    # ignores the index and overwrites it, so a changed hash discards everything compiled before.
    store._version = f"{store._version} {_STAMP}"
    save = store.save

    def save_alone(key: Any, data: Any) -> None:
        # A variant is saved under the next free number in the index: two processes that save at the
        # same time would choose the same number, and one file would overwrite the other.
        with Path(f"{store._index_path}.lock").open("w") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            save(key, data)

    store.save = save_alone
