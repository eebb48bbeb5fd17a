"""A command that thinks it writes to a terminal, so that it shows its bar: the sign to interrupt it at."""

import os
import re
import select
import signal
import subprocess
import sys
import time

PATIENCE = 1800
"""Seconds to wait for a sign; reached only by a command that hangs."""


class Terminal:
    """The command ``epluribus`` in a process of its own; its stderr is a terminal."""

    def __init__(self, *arguments):
        import pty  # not on Windows
        import termios

        self._screen, its_end = pty.openpty()
        termios.tcsetwinsize(its_end, (24, 100))  # a terminal of no width has no room for a bar
        self.err = ""
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-m", "epluribus", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=its_end,
            text=True,
            # a shell that runs the tests in the background has them ignore Ctrl-C
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        os.close(its_end)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()
        os.close(self._screen)

    def wait_for_step(self, bar):
        """Wait until the bar of that name shows that a step is done, and the next has begun."""
        self.wait_for(rf"{re.escape(bar)}:[^\r]*\| *[1-9][^/\r]*/")

    def interrupt(self):
        """Ctrl-C."""
        assert self._process.poll() is None, self.err
        self._process.send_signal(signal.SIGINT)

    def end(self):
        """Wait for the end: exit code and standard output."""
        self.wait_for(None)
        out, _ = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, out

    def wait_for(self, pattern):
        """Wait until the screen has shown the pattern, or for the end of the command if None."""
        deadline = time.monotonic() + PATIENCE
        while pattern is None or not re.search(pattern, self.err):
            ready, _, _ = select.select([self._screen], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{pattern} has not come; on the screen: {self.err}"
            try:
                seen = os.read(self._screen, 4096)
            except OSError:  # what Linux says at the end of a terminal
                seen = b""
            if not seen:
                assert pattern is None, f"{pattern} has not come; on the screen: {self.err}"
                return
            self.err += seen.decode(errors="replace")
