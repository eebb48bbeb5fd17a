"""The command ``epluribus``, also as ``python -m epluribus``."""

import os
import sys


def main() -> int:
    """Load the command line, which takes a second, and run it; returns the exit code."""
    # Closed (`2>&-`), standard error is None in Python, with which some versions of NumPy cannot be loaded.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - open to the end
    try:
        from epluribus.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("epluribus: interrupted", file=sys.stderr)  # noqa: T201
        return 130


if __name__ == "__main__":
    sys.exit(main())
