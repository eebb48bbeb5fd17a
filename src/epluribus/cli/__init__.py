"""The command line ``epluribus``: arguments and printing; the work is done by the library.

`_draws`, `_page`, `_soft`, `_models` and `_warmup` hold the commands, `_base` and `_input` what they are made
of; `main` turns errors into one line on standard error and an exit code.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from epluribus._parallel import INTERRUPTED
from epluribus.cli._base import make_parser

# The commands, in the order in which they are listed.
from epluribus.cli import _draws, _page, _soft, _models, _warmup  # isort: skip  # noqa: F401

__all__ = ["main"]

_BAD_INPUT = 2
"""Exit code for bad input: that of argparse, so that all errors of the user have the same."""


_AS_TYPED = {
    " None means": " Leaving it out means",
    "'adjacency' must": "The network must",
    "directed=True": "--directed",
    "loops=True": "--loops",
    "log=True": "--log",
    "left. threshold=": "left. --threshold ",
    "PoissonBlockModel takes counts": "The model 'dcsbm' takes counts",
    "PoissonBlockModel, which has counts": "the model 'dcsbm', which has counts",
    " with 'var'": " with '--var'",
}
"""Words of the library's messages, and what a user of the command line would call them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``epluribus``; by default those of the shell.

    Returns
    -------
    int
        0 if all is fine, 2 for bad input, 130 if Ctrl-C was pressed. An unexpected error keeps its traceback.

    Examples
    --------
    >>> from epluribus.cli import main
    >>> main(["summarize", "nowhere.csv"])
    2
    """
    _open_streams()
    args = Namespace()
    try:
        args = make_parser().parse_args(arguments)
        # The report shows the command that made it.
        args.call = shlex.join(["epluribus", *(sys.argv[1:] if arguments is None else arguments)])
        code = args.run(args) or 0
        # A closed pipe must show itself here, not at exit, where nothing can catch it.
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        # The program that reads the output, such as head, has read enough: not an error.
        _abandon_output()
        return 0
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        # What the library raises for bad input, files and memory; anything else is a bug and is not hidden.
        print(f"epluribus: {_shell_message(error, args)}", file=sys.stderr)
        try:
            sys.stdout.flush()
        except OSError:  # the disk is full
            _abandon_output()
        return _BAD_INPUT
    except KeyboardInterrupt:
        print("epluribus: interrupted", file=sys.stderr)
        return INTERRUPTED


def _open_streams() -> None:
    """Make standard output and error usable: closed ones lead nowhere, and no character stops them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - to the end
        # In a locale without them, letters of other alphabets are printed as escapes.
        elif hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def _abandon_output() -> None:
    """Lead standard output nowhere: Python flushes it once more at exit, which must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _shell_message(error: Exception, args: Namespace) -> str:
    """The message in one line, with options as they are typed: '--n-jobs', not 'n_jobs'."""
    message = " ".join(str(error).split())
    # Only where the message is about an argument ("'k_max' must be at least 1"): an item or a column may
    # have the same name.
    for name in vars(args):
        message = message.replace(f"'{name}' must", f"'--{name.replace('_', '-')}' must")
    for python, shell in _AS_TYPED.items():
        message = message.replace(python, shell)
    return message
