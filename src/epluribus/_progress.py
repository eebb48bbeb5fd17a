"""Progress of a long run: a bar on a terminal, a function of the user's, or nothing."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Progress", "ProgressLike", "make_progress"]

ProgressLike: TypeAlias = "bool | Callable[[int, int, dict[str, Any]], Any]"


class Progress:
    """Does nothing; the others have the same methods."""

    def step(self, **info: Any) -> None:
        """One unit of work is done."""

    def close(self) -> None:
        """All work is done."""


class _Bar(Progress):
    """A tqdm bar on stderr, silent when that is not a terminal."""

    def __init__(self, total: int, what: str) -> None:
        from tqdm import tqdm

        self._bar = tqdm(total=total, desc=what, disable=None, leave=False)

    def step(self, **info: Any) -> None:
        self._bar.set_postfix(info, refresh=False)
        self._bar.update(1)

    def close(self) -> None:
        self._bar.close()


class _Call(Progress):
    """A function ``(done, total, info)``; if it fails, it is not called again and the run goes on."""

    def __init__(self, function: Callable[[int, int, dict[str, Any]], Any], total: int) -> None:
        self._function: Callable[[int, int, dict[str, Any]], Any] | None = function
        self._total = total
        self._done = 0

    def step(self, **info: Any) -> None:
        self._done += 1
        if self._function is None:
            return
        try:
            self._function(self._done, self._total, info)
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises
            self._function = None
            warnings.warn(f"'progress' failed and is off now: {error!r}", stacklevel=2)


def make_progress(progress: ProgressLike, total: int, what: str) -> Progress:
    """The object behind the argument `progress`."""
    if callable(progress):
        return _Call(progress, total)
    if not isinstance(progress, bool):
        raise TypeError(
            f"'progress' must be True, False or a function (done, total, info); got {progress!r}."
        )
    return _Bar(total, what) if progress else Progress()
