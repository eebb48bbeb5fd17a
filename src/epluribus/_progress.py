"""Progress of a long run: a bar on a terminal, a function given by the user, or nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

from numba.core import event

from epluribus._parallel import Stopper
from epluribus._validate import shown

ProgressLike: TypeAlias = "bool | Callable[[int, int, dict[str, Any]], Any]"
"""What the argument `progress` may be: True, False, or a function (done, total, info)."""


_event: Any = event
COMPILING = "compiling, once"
"""Shown beside a bar while functions are compiled."""


class Progress:
    """Shows nothing; the other kinds have the same methods."""

    def grow(self, total: int) -> None:
        """Change the number of steps, which is not always known at the beginning."""

    def show(self, done: int, info: dict[str, Any]) -> None:
        """Show that `done` steps are done; `info` is printed beside the bar."""

    def close(self) -> None:
        """End the display when the run has ended."""


class _Bar(Progress):
    """A tqdm bar on stderr, silent when that is not a terminal."""

    def __init__(self, total: int, what: str, delay: float) -> None:
        from tqdm import tqdm

        # disable=None: no bar unless stderr is a terminal.
        self._bar = tqdm(
            total=total, desc=what, unit_scale=True, disable=None, leave=False, delay=delay
        )
        if not self._bar.disable:
            self._compiling = _Compiling(self._bar)
            _event.register("numba:compile", self._compiling)

    def grow(self, total: int) -> None:
        """Change the number of steps."""
        self._bar.total = total

    def show(self, done: int, info: dict[str, Any]) -> None:
        """Advance the bar."""
        # tqdm wants the number of new steps. Refreshed once, by `update`.
        self._bar.set_postfix(info, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Remove the bar."""
        if not self._bar.disable:
            _event.unregister("numba:compile", self._compiling)
        self._bar.close()


class _Compiling(event.Listener):
    """Says beside a bar that functions are compiled, which takes seconds the first time."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def on_start(self, _event: event.Event) -> None:
        """A function is being compiled; Numba does not say this of one that it finds on disk."""
        if self._bar.postfix != COMPILING:
            self._bar.set_postfix_str(COMPILING)

    def on_end(self, _event: event.Event) -> None:
        """It stays until the next step is shown: there is more to compile."""


class _Call(Progress):
    """A function ``(done, total, info)``; if it fails, the run goes on without it.

    An interrupt raised by the function ends the work, in whatever thread it is raised.
    """

    def __init__(
        self, function: Callable[[int, int, dict[str, Any]], Any], total: int, stopper: Stopper
    ) -> None:
        self._function: Callable[[int, int, dict[str, Any]], Any] | None = function
        self._total, self._stopper = total, stopper

    def grow(self, total: int) -> None:
        """Change the number of steps."""
        self._total = total

    def show(self, done: int, info: dict[str, Any]) -> None:
        """Call the function."""
        if self._function is None:
            return
        try:
            self._function(done, self._total, info)
        except KeyboardInterrupt:
            self._stopper.interrupt()
        # Whatever else the user's function raises must not end a long run: it is called no more.
        except Exception as error:  # noqa: BLE001
            self._function = None
            warnings.warn(f"'progress' failed and is off now: {error!r}", stacklevel=2)


def make_progress(
    progress: ProgressLike, total: int, what: str, stopper: Stopper, *, delay: float = 0.0
) -> Progress:
    """The object behind the argument `progress`; a bar appears after `delay` seconds."""
    if callable(progress):
        return _Call(progress, total, stopper)
    if not isinstance(progress, bool):
        raise TypeError(
            f"'progress' must be True, False or a function (done, total, info); got {shown(progress)}."
        )
    return _Bar(total, what, delay) if progress else Progress()
