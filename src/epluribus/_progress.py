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
    """A tqdm bar, or a function ``(done, total, info)``, or neither; to be closed in any case.

    A bar that was asked for appears at once; by default it appears after two seconds, unless a call that is at work
    has a progress of its own. If the function fails, the run goes on without it. An interrupt that it raises ends the
    work.

    Parameters
    ----------
    progress : bool, callable or None
        The argument of that name.
    total : int
        Number of steps, as far as it is known.
    what : str
        What the bar is called.
    stopper : Stopper
        What an interrupt stops.
    """

    def __init__(self, progress: ProgressLike, total: int, what: str, stopper: Stopper) -> None:
        self._total, self._stopper = total, stopper
        self._function: Any = progress if callable(progress) else None
        self._bar: Any = None
        if not (callable(progress) or progress is None or isinstance(progress, bool)):
            raise TypeError(
                f"'progress' must be True, False or a function (done, total, info); got {shown(progress)}."
            )
        # Only a notebook's shell has a kernel; where there is one, IPython has been imported.
        ipython = sys.modules.get("IPython")
        notebook = getattr(ipython and ipython.get_ipython(), "kernel", None) is not None
        can_be_seen = notebook or bool(getattr(sys.stderr, "isatty", bool)())
        if can_be_seen and (progress is True or (progress is None and not _OPEN)):
            # Without ipywidgets tqdm warns, and gives the bar of a terminal, which a notebook can show too.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm

            delay = 0.0 if progress else _DELAY
            self._bar = tqdm(total=total, desc=what, unit_scale=True, leave=False, delay=delay)
        _OPEN.add(self)

    def show(self, done: int, info: dict[str, Any], total: int | None = None) -> None:
        """Show that `done` steps are done, of `total` if that has changed; `info` is printed beside the bar."""
        self._total = self._total if total is None else total
        if self._bar is not None:
            self._bar.total = self._total
            # tqdm wants the number of new steps. Refreshed once, by `update`.
            self._bar.set_postfix(info, refresh=False)
            self._bar.update(done - self._bar.n)
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

    def close(self) -> None:
        """End the display when the run has ended."""
        _OPEN.discard(self)
        if self._bar is not None:
            self._bar.close()


_OPEN: weakref.WeakSet[Progress] = weakref.WeakSet()
"""The progress of each call at work, shown or not. Weak: one that is never closed must not silence others."""
