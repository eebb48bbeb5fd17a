"""How much memory is left: asked before large tables are made, so that no process is killed for them."""

from __future__ import annotations

import math
from pathlib import Path

__all__ = ["available", "check_memory", "gigabytes"]

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")  # of version 2, as a container sees its own

_ALWAYS = 1 << 28
"""Bytes that are taken without asking."""


def available() -> float:
    """Bytes that can still be taken; infinity where the system does not say."""
    left = math.inf
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                left = 1024.0 * int(line.split()[1])
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            used = int((_CGROUP / "memory.current").read_text(encoding="ascii"))
            left = min(left, max(0.0, float(int(limit) - used)))
    except (OSError, ValueError):
        pass  # another system, or no limit: what is known so far
    return left


def check_memory(needed: float, what: str, way_out: str) -> None:
    """A MemoryError in words if `needed` bytes are not there."""
    if needed > _ALWAYS and needed > (left := available()):
        raise MemoryError(
            f"{what} needs {gigabytes(needed)}; {gigabytes(left)} are left. {way_out}"
        )


def gigabytes(n_bytes: float) -> str:
    """A size in words."""
    return f"{n_bytes / 1e9:,.1f} GB"
