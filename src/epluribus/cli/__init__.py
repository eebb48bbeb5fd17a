"""The command line: arguments and printing; no logic.

`_draws` and `_models` have the commands, `_base` what they are made of; `main` turns errors into one line
and an exit code.
"""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Sequence

from epluribus._parallel import INTERRUPTED
from epluribus.cli import _draws, _models  # noqa: F401 - the commands, in the order of the list
from epluribus.cli._base import make_parser

__all__ = ["main"]

_BAD_INPUT = 2
"""The exit code of argparse, so that all errors of the user have the same."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0 fine, 2 bad input, 130 interrupted."""
    args = make_parser().parse_args(arguments)
    # The report shows the command that made it.
    args.call = shlex.join(["epluribus", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        code = args.run(args) or 0
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:  # the reader of our output has enough, as head does
        # Python flushes stdout once more at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        print(f"epluribus: {_in_words_of_the_shell(error, args)}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print("epluribus: interrupted", file=sys.stderr)
        return INTERRUPTED


def _in_words_of_the_shell(error: Exception, args: Namespace) -> str:
    """The message in one line, with arguments by the names of their options: '--n-jobs', not 'n_jobs'."""
    message = " ".join(str(error).split())
    # Only where it names an argument: "'k_max' must be at least 1", not the name of an item.
    for name in vars(args):
        message = message.replace(f"'{name}' must", f"'--{name.replace('_', '-')}' must")
    return message.replace(" None means", " Leaving it out means")
