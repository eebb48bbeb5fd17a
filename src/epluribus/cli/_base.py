"""What the commands are made of: arguments described by data, the parser made from them, printing.

A command is a function. The decorator `command` lists what it takes; its docstring is the text of ``--help``,
and the last paragraph of that is the example below the options.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from epluribus._files import STREAM
from epluribus._parallel import INTERRUPTED
from epluribus._validate import need
from epluribus._version import __version__

Run: TypeAlias = Callable[[Namespace], int | None]


class Argument(NamedTuple):
    """One argument of a command."""

    name: str
    """As typed: '--loss', two names '-o --out', or 'file' for one that is given by its place."""
    help: str
    kind: Any = str
    """What its text is turned into; bool for a switch."""
    default: Any = None
    choices: tuple[str, ...] | None = None
    """Anything else is refused by the parser."""
    values: tuple[str, ...] = ()
    """Offered by the shell. They are checked where they are used, by an error that suggests the nearest."""
    required: bool = False
    many: bool = False
    """Whether there may be several in its place."""

    def add_to(self, parser: argparse.ArgumentParser) -> argparse.Action:
        """The argument as argparse has it."""
        names = self.name.split()
        # argparse wants other settings for a switch, an option and an argument given by its place.
        if self.kind is bool:
            return parser.add_argument(*names, help=self.help, action="store_true")
        settings: dict[str, Any] = {"help": self.help, "type": self.kind, "choices": self.choices}
        if names[0].startswith("-"):
            settings |= {"default": self.default, "required": self.required}
        elif self.kind is Path:
            settings |= {"metavar": names[0].upper(), "nargs": "+" if self.many else None}
        return parser.add_argument(*names, **settings)


class Command(NamedTuple):
    """A line on what a command does, what it takes, and the function that carries it out."""

    summary: str
    arguments: tuple[Argument, ...]
    run: Run


_COMMANDS: dict[str, Command] = {}
"""The commands by name, in the order in which they are listed; filled by `command`."""


def command(summary: str, *arguments: Argument) -> Callable[[Run], Run]:
    """Make a function the command of its name."""

    def register(run: Run) -> Run:
        _COMMANDS[run.__name__] = Command(summary, arguments, run)
        return run

    return register


def make_parser(files: Any = None) -> argparse.ArgumentParser:
    """The parser of all commands; `files` is how shtab completes the name of a file, where shtab asks."""
    parser = argparse.ArgumentParser(
        prog="epluribus",
        description="One optimal partition out of many posterior draws of cluster labels.",
        epilog="Example: epluribus summarize draws.csv --loss vi --out labels.csv",
    )
    parser.add_argument("--version", action="version", version=f"epluribus {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (summary, arguments, run) in _COMMANDS.items():
        # argparse breaks lines anew, so that those of the docstring do not matter.
        *text, example = inspect.cleandoc(run.__doc__ or "").split("\n\n")
        made = commands.add_parser(name, help=summary, description=" ".join(text), epilog=example)
        made.set_defaults(run=run)
        for argument in arguments:
            action = argument.add_to(made)
            if files is not None and argument.values:
                # Only for the shell: argparse would refuse 'vi(cost=0.5)', and suggest nothing.
                action.choices = argument.values
            elif files is not None and argument.kind is Path:
                vars(action).update(complete=files)  # an attribute that shtab looks for
    return parser


def completion_script(shell: str) -> str:
    """A script for the shell that completes commands, options and their values."""
    shtab = need("shtab", "completion", "Completion in the shell")
    return str(shtab.complete(make_parser(shtab.FILE), shell))


# What commands of both kinds take.
SEED = Argument(
    "--seed", "seed: the same gives the same answer (default: another one each time)", int
)
N_JOBS = Argument("--n-jobs", "threads (default: all cores)", int)
JSON = Argument("--json", "print JSON", bool)


def given(args: Namespace, *names: str) -> dict[str, Any]:
    """Those of the named arguments that the command has, to be handed to the library as they are."""
    return {name: getattr(args, name) for name in names if hasattr(args, name)}


def answer(args: Namespace, data: Any, text: object) -> None:
    """Print the answer: JSON for scripts, text for people."""
    print(json.dumps(data) if args.json else text)


def answer_names(args: Namespace, lines: Mapping[str, str]) -> None:
    """Print names with a line on each."""
    width = max(map(len, lines))
    answer(args, lines, "\n".join(f"{name:<{width}}  {line}" for name, line in lines.items()))


def interrupted(what: str) -> int:
    """Say what Ctrl-C has left; the exit code."""
    print(f"epluribus: interrupted; {what}", file=sys.stderr)
    return INTERRUPTED


def is_stream(path: Path | None) -> bool:
    """Whether the name of the file means standard output."""
    return path is not None and str(path) == STREAM
