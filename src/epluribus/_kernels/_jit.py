"""The one decorator of the package: how every kernel is compiled, and when it is compiled anew.

`nogil` lets kernels run in threads, `cache` keeps them on disk between runs, and the NumPy error
model makes division by zero follow IEEE rules instead of raising. Kernels allocate no memory, so that
references to arrays need not be counted (`_nrt=False`): counting took up to half of the time of a sweep.
Fast-math stays off: sums are added in the order written, so that results do not depend on the platform.
With ``NUMBA_DISABLE_JIT=1`` the decorator does nothing and kernels run as plain Python.

Numba keeps compiled code as long as the file of the function is unchanged; that a function called
from another file has changed, it does not notice. Kernels call each other across files, so the code
kept on disk is marked with a hash of this whole folder: one edited line, and all are compiled anew.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

try:
    import fcntl
except ImportError:  # not a POSIX system: files are written without a lock, as Numba does
    fcntl = None  # type: ignore[assignment]

OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
"""How every compiled function is compiled, parts of kernels included."""

_config: Any = numba.config
JIT_ENABLED: bool = not _config.DISABLE_JIT


def _hash_of_kernels() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_STAMP = _hash_of_kernels()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, or take it from the disk."""
    try:
        compiled = numba.njit(cache=True, nogil=True, **OPTIONS)(function)
    except RuntimeError:  # no folder to keep compiled code in: it is compiled in every process
        return numba.njit(nogil=True, **OPTIONS)(function)
    if JIT_ENABLED:
        # Where these attributes are missing (another version of Numba) the cache works as Numba's does.
        store: Any = getattr(compiled._cache, "_cache_file", None)
        if hasattr(store, "_version") and hasattr(store, "_index_path"):
            _guard(store)
    return compiled


def _guard(store: Any) -> None:
    """Mark the files of a function with the hash of all kernels, and let one process write at a time."""
    # Numba reads the version of itself that made a file before anything else in it: what does not match
    # is not even opened, and written anew.
    store._version = f"{store._version} {_STAMP}"
    save = store.save

    def save_alone(key: Any, data: Any) -> None:
        # Two processes that save two variants at once would give both the same file.
        with Path(f"{store._index_path}.lock").open("w") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            save(key, data)

    store.save = save_alone
