"""The command line ``epluribus``: arguments and printing; the work is done by the library.

`_draws` and `_models` hold the commands, `_base` what they are made of; `main` turns errors into one
line on standard error and an exit code.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import warnings
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from epluribus.cli._base import COMMANDS, interrupted, on_ctrl_c, parse, remark

# The commands, in the order in which they are listed.
from epluribus.cli import _draws, _models  # isort: skip  # noqa: F401

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``epluribus``; by default those of the shell. Without any, the help is printed.

    Returns
    -------
    int
        0 if all is fine, 2 for bad input, 130 if Ctrl-C was pressed. An unexpected error keeps its traceback,
        and Python exits with 1.

    Examples
    --------
    >>> from epluribus.cli import main
    >>> main(["summarize", "nowhere.csv"])
    2
    """
    _open_streams()
    words = sys.argv[1:] if arguments is None else list(arguments)
    args, heard = Namespace(), list[bool]()

    def hear(*_: object) -> None:
        heard.append(True)
        raise KeyboardInterrupt

    try:
        # "epluribus help plot" is what git and others understand, too.
        args = parse([*words[1:], "--help"] if words[:1] in ([], ["help"]) else words)
        # The report shows the command that made it.
        args.call = shlex.join(["epluribus", *words])
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: remark(message)
            with on_ctrl_c(hear):
                code = args.run(args) or 0
        # Python drops what is raised where it cleans up, or loads compiled code.
        if heard and code == 0:
            code = interrupted("it came too late, and the answer is whole")
        # A closed pipe must show itself here, not at exit, where nothing can catch it.
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        # The program that reads the output, such as head, has read enough: not an error.
        _abandon_output()
        return 0
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        # What the library raises for bad input, files and memory; anything else is a bug and is not hidden.
        remark(_shell_message(error, args))
        try:
            sys.stdout.flush()
        except OSError:  # the disk is full
            _abandon_output()
        return 2
    except KeyboardInterrupt:
        return interrupted("there is no answer")


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
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror}: '{error.filename}'."
    message = " ".join(str(error).split())
    message = re.sub(r"'rng' must be [^;]*", "'--seed' must be an integer of at least 0", message)
    # Only where the message is about an argument ("'k_max' must be", "at most 'k_max'", "loops=True"): an item or
    # a column may have the same name.
    arguments = COMMANDS[args.command][2] if "command" in args else []
    for typed in (one.names[-1] for one in arguments):
        name = typed.removeprefix("--").replace("-", "_")
        # What is given by its place stands in capital letters in the help.
        option = typed if typed.startswith("-") else typed.upper()
        message = re.sub(
            rf"'{name}'(?= must| is\b| puts)|(?<=at most )'{name}'", f"'{option}'", message
        )
        message = re.sub(rf"\b{name}=True\b", option, message)
        if "_" in name:  # rarely that of an item or a column
            message = message.replace(f"'{name}'", f"'{option}'")
    # Advice that is a call in Python is of no use here, unless it names an option or a command, too.
    first, *rest = re.split(r"(?<=[.?]) (?=[A-Z'])", message)
    call = re.compile(r"\w\([^)]*\)")
    kept = (one for one in rest if "--" in one or "epluribus " in one or not call.search(one))
    return " ".join([first, *kept])
