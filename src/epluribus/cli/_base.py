"""What the commands are made of: arguments described by data, the parser made from them, printing.

A command is a function with the decorator `command`, which lists its arguments. The docstring of the function
is the text of ``--help``; its last paragraph is the example that is shown below the options.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from epluribus._files import STREAM
from epluribus._parallel import INTERRUPTED
from epluribus._validate import need
from epluribus._version import __version__

Run: TypeAlias = Callable[[Namespace], int | None]
"""What carries out a command; it returns the exit code, or None for 0."""


class Argument(NamedTuple):
    """One argument of a command."""

    name: str
    """As typed: '--loss', two names '-o --out', or 'file' for one that is given by its place."""
    help: str
    """The line of ``--help`` about it."""
    kind: Any = str
    """The type that its text is converted to; bool for a switch."""
    default: Any = None
    """Its value if it is not given; an argument given by its place has none."""
    choices: tuple[str, ...] | None = None
    """Anything else is refused by the parser."""
    values: tuple[str, ...] = ()
    """Completed by the shell, but checked only by the library, whose error suggests the nearest one."""
    required: bool = False
    many: bool = False
    """Whether several may be given in its place."""

    def add_to(self, parser: argparse.ArgumentParser) -> argparse.Action:
        """Add the argument to a parser of argparse."""
        names = self.name.split()
        # argparse refuses a type for a switch, and `required` for an argument that is given by its place.
        if self.kind is bool:
            return parser.add_argument(*names, help=self.help, action="store_true")
        settings: dict[str, Any] = {"help": self.help, "type": self.kind, "choices": self.choices}
        if names[0].startswith("-"):
            settings |= {"default": self.default, "required": self.required}
        elif self.kind is Path:
            settings |= {"metavar": names[0].upper(), "nargs": "+" if self.many else None}
        return parser.add_argument(*names, **settings)


class Command(NamedTuple):
    """A line on what a command does, its arguments, and the function that carries it out."""

    summary: str
    arguments: tuple[Argument, ...]
    run: Run


_COMMANDS: dict[str, Command] = {}
"""The commands by name, in the order in which they are listed; filled by `command`."""


def command(summary: str, *arguments: Argument) -> Callable[[Run], Run]:
    """Decorate a function to make it the command of its name.

    Parameters
    ----------
    summary : str
        The line about it in the list of commands.
    *arguments : Argument
        What it takes; the function gets their values in a Namespace.
    """

    def register(run: Run) -> Run:
        _COMMANDS[run.__name__] = Command(summary, arguments, run)
        return run

    return register


_FORMAT = partial(argparse.HelpFormatter, max_help_position=28)
"""The text of ``--help`` with a wider column of names, so that most lines hold a name and its text."""


def make_parser(files: Any = None) -> argparse.ArgumentParser:
    """The parser of all commands.

    `files` is given only to make a completion script: it is shtab's way to complete the name of a file.
    """
    parser = argparse.ArgumentParser(
        prog="epluribus",
        description="One optimal partition out of many posterior draws of cluster labels.",
        epilog="Example: epluribus summarize draws.csv --loss vi --out labels.csv",
        formatter_class=_FORMAT,
    )
    parser.add_argument("--version", action="version", version=f"epluribus {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND [options]")
    for name, (summary, arguments, run) in _COMMANDS.items():
        # argparse wraps the text again, so the line breaks of the docstring do not matter.
        *text, example = inspect.cleandoc(run.__doc__ or "").split("\n\n")
        made = commands.add_parser(
            name, help=summary, description=" ".join(text), epilog=example, formatter_class=_FORMAT
        )
        made.set_defaults(run=run)
        for argument in arguments:
            action = argument.add_to(made)
            if files is not None and argument.values:
                # Only in the completion script: in the parser, argparse would refuse 'vi(cost=0.5)'.
                action.choices = argument.values
            elif files is not None and argument.kind is Path:
                # An attribute that shtab looks for; argparse does not know it.
                vars(action).update(complete=files)
    return parser


def completion_script(shell: str) -> str:
    """A script for the shell ('bash', 'zsh', 'tcsh') that completes commands, options and their values."""
    shtab = need("shtab", "completion", "Completion in the shell")
    return str(shtab.complete(make_parser(shtab.FILE), shell))


# Arguments that commands of both modules take.
SEED = Argument(
    "--seed", "seed: the same gives the same answer (default: another one each time)", int
)
N_JOBS = Argument("--n-jobs", "threads (default: all cores)", int)
JSON = Argument("--json", "print JSON", bool)


def given(args: Namespace, *names: str) -> dict[str, Any]:
    """The values of those named arguments that the command has, as keywords for the library.

    >>> given(Namespace(k=3, seed=1), "k", "k_max")
    {'k': 3}
    """
    return {name: getattr(args, name) for name in names if hasattr(args, name)}


JSON_VERSION = 1
"""It rises when a key goes or changes its meaning; new keys may come at any time. docs/json.md has all."""


def answer(args: Namespace, data: Mapping[str, Any], text: object) -> None:
    """Print the answer: JSON for scripts, text for people."""
    print(json.dumps({"json_version": JSON_VERSION, **data}) if args.json else text)


def answer_names(args: Namespace, lines: Mapping[str, str]) -> None:
    """Print a list of names with a line on each, in two columns; in JSON just these, by name."""
    width = max(map(len, lines))
    text = "\n".join(f"{name:<{width}}  {line}" for name, line in lines.items())
    print(json.dumps(dict(lines)) if args.json else text)


def interrupted(what: str) -> int:
    """Print what is left after Ctrl-C, and return the exit code of an interrupted command."""
    remark(f"interrupted; {what}")
    return INTERRUPTED


def remark(text: str) -> None:
    """Print a remark for the user on standard error, so that the answer on standard output stays whole."""
    print(f"epluribus: {text}", file=sys.stderr)


def data_stream() -> Any:
    """Standard output for data: in UTF-8, as files are, whatever the locale says."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")
    return sys.stdout


def is_stream(path: Path | None) -> bool:
    """Whether the name of a file, ``-``, means standard output."""
    return path is not None and str(path) == STREAM
