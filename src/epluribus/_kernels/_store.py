"""Compiled code kept on disk: safe from old code, damaged files, two processes at once, and full disks.

Numba keeps an index for each function and a file for each variant of it: beside the package, else in the
user's cache folder, else, where nothing can be written, only in memory. What it lacks is added here:

- code is used only if it was made from the very same kernels (the *stamp*), and made anew otherwise;
- a file that is damaged counts as missing: a wrong byte in compiled code could crash the process;
- one process writes at a time;
- what cannot be written is left out: it is compiled again by the next process;
- the files of other versions of the package are removed, since nothing would ever use them again.
"""

import glob
import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not a POSIX system: files are written without a lock, as in plain Numba
    fcntl = None  # type: ignore[assignment]

_tidied: set[Path] = set()
"""Folders from which this process has removed the files of other versions."""


def guard(cache: Any, stamp: str, prepare: Callable[[Any], Any] | None) -> None:
    """Mark the cache of one function with the stamp, and make reading and writing safe.

    What was read goes through `prepare` on its way to Numba.
    """
    # These attributes are private. Where another version of Numba lacks them, its cache is used unchanged.
    store: Any = getattr(cache, "_cache_file", None)
    needed = ("_version", "_index_path", "_dump", "save", "load", "flush")
    if not all(hasattr(store, name) for name in needed):
        return
    # A cache index begins with the version of Numba that wrote it. If that differs from `_version`, Numba
    # ignores the index and overwrites it, so a changed stamp discards everything compiled before.
    store._version = f"{store._version} {stamp}"
    save, load, keep = store.save, store.load, cache.save_overload

    def save_safely(key: Any, data: Any) -> None:
        packed = store._dump(data)
        with Path(f"{store._index_path}.lock").open("w") as lock:
            # A variant is saved under the next free number in the index: two processes that save at the
            # same time would choose the same number, and one file would overwrite the other.
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            _remove_other_versions(Path(store._index_path), store._version)
            try:
                save(key, (_digest(packed), packed))
            except OSError:
                raise
            except Exception:  # noqa: BLE001 - a damaged index: whatever pickle makes of it
                store.flush()
                save(key, (_digest(packed), packed))

    def load_safely(key: Any) -> Any:
        try:
            digest, packed = load(key)
            if digest != _digest(packed):
                return None
            saved = pickle.loads(packed)  # noqa: S301 - our own file
            return saved if prepare is None else prepare(saved)
        except Exception:  # noqa: BLE001 - missing or damaged, whatever pickle makes of it
            return None

    def keep_if_possible(signature: Any, compiled: Any) -> None:
        # The folder may have become read-only since, or the disk may be full.
        with suppress(OSError):
            keep(signature, compiled)

    store.save, store.load, cache.save_overload = save_safely, load_safely, keep_if_possible


def _digest(packed: bytes) -> bytes:
    return hashlib.sha256(packed).digest()


def _remove_other_versions(index: Path, version: str) -> None:
    """Remove what other versions left in the folder, once in each process; for this version of Python."""
    if index.parent in _tidied:
        return
    _tidied.add(index.parent)
    # Names are module.function-line.py311.nbi, and module.function-line.py311.1.nbc: the line changes often.
    python = index.suffixes[-2]
    for other in index.parent.glob(f"*{python}.nbi"):
        try:
            with other.open("rb") as file:
                stays = pickle.load(file) == version  # noqa: S301 - our own file
        except Exception:  # noqa: BLE001 - damaged
            stays = False
        if not stays:
            for path in index.parent.glob(f"{glob.escape(other.stem)}.*"):
                path.unlink(missing_ok=True)
