"""What the commands are made of: arguments described by docstrings, the parser made from them, printing.

A command is a function with the decorator `command`. Its docstring is the text of ``--help``: the first
paragraph stands in the list of commands, and the last one, the example, below the options. A paragraph of
arguments has one in each line: its names, its kind, whether it is required or its default, and what it is for.
Arguments that several commands take are in the docstring of the function that uses them.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import json
import os
import re
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

from epluribus._files import STREAM
from epluribus._parallel import INTERRUPTED
from epluribus._validate import check_choice
from epluribus._version import __version__

Run: TypeAlias = Callable[[Namespace], int | None]
"""What carries out a command; it returns the exit code, or None for 0."""
JSON_VERSION = 1
"""It rises when a key goes or changes its meaning; new keys may come. docs/reference/command_line.md has all."""

_KINDS = {"text": str, "int": int, "number": float, "file": Path, "files": Path, "switch": bool}
"""How the text of an argument is converted, by the name of its kind."""
_ARGUMENT = re.compile(
    r"^((?:-\w )?[\w-]+) \((\w+)(?:, (required|default [^)]*))?\): ", re.MULTILINE
)
"""How the line of an argument begins: '--burn (int, default 0): '."""


class Argument(NamedTuple):
    """One argument of a command."""

    names: list[str]
    """As typed: '--loss', two names '-o', '--out', or 'file' for one that is given by its place."""
    kind: str
    """What it is, a key of `_KINDS`."""
    rule: str | None
    """'required', or 'default' and the value."""
    help: str
    """The line of ``--help`` about it."""

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the argument to a parser of argparse."""
        default = (self.rule or "").partition("default ")[2]
        words = f"{self.help} (default: {default})" if default else self.help
        # argparse refuses a type for a switch, and converts defaults itself.
        settings: dict[str, Any] = {"help": words, "type": _KINDS[self.kind]}
        if self.kind == "switch":
            settings = {"help": words, "action": "store_true"}
        elif not self.names[0].startswith("-"):
            nargs = "+" if self.kind == "files" else None
            settings |= {"metavar": self.names[0].upper(), "nargs": nargs}
        else:
            settings |= {"required": self.rule == "required", "default": default or None}
        parser.add_argument(*self.names, **settings)


def read_docstring(function: Callable[..., Any]) -> tuple[list[str], list[Argument]]:
    """The paragraphs of a docstring, and the arguments that it describes."""
    text, arguments = [], []
    for paragraph in inspect.cleandoc(function.__doc__ or "").split("\n\n"):
        parts = _ARGUMENT.split(paragraph)
        if len(parts) == 1:
            text.append(" ".join(paragraph.split()))
        # What the groups of the pattern found, and what follows each of them.
        for names, kind, rule, words in zip(*(parts[i::4] for i in (1, 2, 3, 4)), strict=True):
            arguments.append(Argument(names.split(), kind, rule, " ".join(words.split())))
    return text, arguments


COMMANDS: dict[str, tuple[Run, list[str], list[Argument]]] = {}
"""The function, the paragraphs and the arguments of each command, by name and in the order of the list."""


def command(*shared: Callable[..., Any]) -> Callable[[Run], Run]:
    """Decorate a function to make it the command of its name, with the arguments of shared functions, too."""

    def register(run: Run) -> Run:
        text, own = read_docstring(run)
        others = [argument for one in shared for argument in read_docstring(one)[1]]
        COMMANDS[run.__name__] = (run, text, own + others)
        return run

    return register


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. '{self.prog} --help' explains the arguments.\n")


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(
        prog="epluribus",
        description="One optimal partition out of many posterior draws of cluster labels.",
        epilog="Example: epluribus summarize draws.csv --loss vi --out labels.csv. Exit codes: 0 success; 1 an "
        "error in epluribus itself; 2 bad input, which one line explains; 130 after Ctrl-C.",
    )
    parser.add_argument("--version", action="version", version=f"epluribus {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND [options]")
    for name, (run, (summary, *text, example), arguments) in COMMANDS.items():
        description = " ".join([summary, *text])
        made = commands.add_parser(name, help=summary, description=description, epilog=example)
        made.set_defaults(run=run, command=name)
        for argument in arguments:
            argument.add_to(made)
    return parser


def parse(words: Sequence[str]) -> Namespace:
    """The values of the arguments; an unknown command or option is an error that suggests the nearest one."""
    if words[0] not in ("-h", "--help", "--version"):
        check_choice(words[0], COMMANDS, "COMMAND")
    args, rest = make_parser().parse_known_args(words)
    if rest:
        options = [name for one in COMMANDS[args.command][2] for name in one.names]
        near = difflib.get_close_matches(rest[0].partition("=")[0], options, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise ValueError(
            f"'epluribus {args.command}' has no argument '{rest[0]}'.{hint} 'epluribus {args.command} --help' "
            "lists all."
        )
    return args


def given(args: Namespace, names: str) -> dict[str, Any]:
    """The values of those arguments, named in a list with blanks, that the command has.

    >>> given(Namespace(k=3, seed=1), "k k_max")
    {'k': 3}
    """
    return {name: getattr(args, name) for name in names.split() if hasattr(args, name)}


def answer(args: Namespace, data: Mapping[str, Any], text: object) -> None:
    """Print the answer: JSON for scripts, text for people.

    --json (switch): print JSON
    """
    print(json.dumps({"json_version": JSON_VERSION, **data}) if args.json else text)


def interrupted(what: str) -> int:
    """Print what is left after Ctrl-C, and return the exit code of an interrupted command."""
    remark(f"interrupted; {what}")
    return INTERRUPTED


def remark(text: object) -> None:
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


@contextmanager
def on_ctrl_c(handle: Callable[..., Any]) -> Iterator[None]:
    """Within this context Ctrl-C calls `handle`, unless it is ignored, as in commands that a shell runs behind."""
    before = signal.getsignal(signal.SIGINT)
    heard = callable(before) and threading.current_thread() is threading.main_thread()
    if heard:
        signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        if heard:
            signal.signal(signal.SIGINT, before)


@contextmanager
def two_interrupts(first: str, second: str) -> Iterator[list[str]]:
    """Ctrl-C meanwhile: the first ends the work and keeps the results so far, the second ends the program.

    `first` and `second` are the lines printed to standard error; those that were printed are yielded.
    """
    said: list[str] = []

    def handle(*_: Any) -> None:
        said.append(second if said else first)
        # Not by `print`, because what was interrupted may itself be printing. On a terminal the line goes
        # below a progress bar.
        start = "\n" if os.isatty(2) else ""
        os.write(2, f"{start}epluribus: {said[-1]}\n".encode())
        if len(said) > 1:  # a normal exit would wait for the threads that are still working
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.raise_signal(signal.SIGINT)
        raise KeyboardInterrupt

    with on_ctrl_c(handle):
        yield said
