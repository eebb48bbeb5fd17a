"""Ctrl-C on the command line: the first ends the work and keeps what is there, the second ends all."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Interrupts"]

_CODE = 130


class Interrupts:
    """Counts Ctrl-C while it is entered, and says at once that it was heard."""

    def __init__(self) -> None:
        self.count = 0
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        # A shell that starts a command in the background has it ignore Ctrl-C.
        listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if listening and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _heard(self, *_: object) -> None:
        self.count += 1
        if self.count > 1:
            _say("ended; no page was written")
            os._exit(_CODE)  # threads in the midst of their work would be waited for
        _say("interrupted; the page is written with what is there (once more ends at once)")
        raise KeyboardInterrupt


def _say(text: str) -> None:
    # Not by print: what was interrupted may be in the midst of printing. Below a progress bar.
    start = "\n" if os.isatty(2) else ""
    os.write(2, f"{start}epluribus: {text}\n".encode())
