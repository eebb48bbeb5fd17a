"""Progress of a long run: a bar on a terminal or in a notebook, a function given by the user, or nothing.

By default a bar appears once the work has taken two seconds, and only where somebody can see it. A call
inside another one, such as a search for modes inside a report, has no bar of its own: its caller has one, or
was asked for none.
"""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any, TypeAlias

from epluribus._parallel import Stopper
from epluribus._validate import shown

ProgressLike: TypeAlias = "bool | Callable[[int, int, dict[str, Any]], Any] | None"
"""What the argument `progress` may be: None, True, False, or a function (done, total, info)."""


_DELAY = 2.0
"""Seconds of work after which a bar appears that nobody asked for."""


class Progress:
    """Shows nothing; the other kinds have the same methods."""

    def grow(self, total: int) -> None:
        """Change the number of steps, which is not always known at the beginning."""

    def show(self, done: int, info: dict[str, Any]) -> None:
        """Show that `done` steps are done; `info` is printed beside the bar."""

    def close(self) -> None:
        """End the display when the run has ended."""
        _OPEN.discard(self)


_OPEN: weakref.WeakSet[Progress] = weakref.WeakSet()
"""The progress of each call at work, shown or not. Weak: one that is never closed must not silence others."""


class _Bar(Progress):
    """A tqdm bar: in a notebook, or on stderr."""

    def __init__(self, total: int, what: str, delay: float) -> None:
        # Without ipywidgets tqdm warns, and gives the bar of a terminal, which a notebook can show too.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm

        self._bar = tqdm(total=total, desc=what, unit_scale=True, leave=False, delay=delay)

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
        super().close()
        self._bar.close()


def _can_be_seen() -> bool:
    """Whether stderr is a terminal, or this is a notebook."""
    # Only a notebook's shell has a kernel; where there is one, IPython has been imported.
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython and ipython.get_ipython(), "kernel", None)
    return kernel is not None or bool(getattr(sys.stderr, "isatty", bool)())


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


def make_progress(progress: ProgressLike, total: int, what: str, stopper: Stopper) -> Progress:
    """The object behind the argument `progress`, to be closed in any case.

    A bar that was asked for appears at once; by default it appears after two seconds, unless a
    call that is at work has a progress of its own.
    """
    made = Progress()
    if callable(progress):
        made = _Call(progress, total, stopper)
    elif progress is True or (progress is None and not _OPEN):
        if _can_be_seen():
            made = _Bar(total, what, 0.0 if progress else _DELAY)
    elif progress is not None and progress is not False:
        raise TypeError(
            f"'progress' must be True, False or a function (done, total, info); got {shown(progress)}."
        )
    _OPEN.add(made)
    return made
