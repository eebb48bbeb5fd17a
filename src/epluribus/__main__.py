"""The command ``epluribus``, also as ``python -m epluribus``: hears Ctrl-C while the package is loaded."""

import os
import signal
import sys
from typing import Any


def main() -> int:
    """Load the command line, which takes a second, and run it; returns the exit code."""
    # A shell makes a command in the background ignore Ctrl-C, and that must stay so.
    listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if listening:
        signal.signal(signal.SIGINT, _leave)
    # Closed (`2>&-`), standard error is None in Python, with which some versions of NumPy cannot be loaded.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - open to the end
    from epluribus.cli import main as run

    if listening:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


def _leave(*_: Any) -> None:
    """End at once: there is nothing yet to save, and a half-loaded package cannot clean up after itself."""
    os.write(2, b"epluribus: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
