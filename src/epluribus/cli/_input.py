"""What the commands that read draws share: their arguments, reading, and the search.

A command names the arguments it takes; what it leaves out, the library chooses.
"""

from __future__ import annotations

import re
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any

import epluribus as epl
from epluribus.cli._base import Argument, given, remark
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.readers.objects import NOISE
from epluribus.readers.text import read_column, read_groups
from epluribus.search._minimize import SEARCHES
from epluribus.search.comparison import Comparison

_FILE = "file of draws; several are chains; - reads csv from standard input"
LOSSES = epl.losses.available()
DRAWS = (
    Argument("draws", _FILE, Path, many=True),
    Argument("--burn", "draws to leave out at the beginning", int, 0),
    Argument("--thin", "keep every THIN-th draw", int, 1),
    Argument("--var", "name of the variable in a file that has several"),
    Argument("--missing", "a label that stands for a missing one; empty cells and NA always do"),
    Argument("--noise", "what -1 means: alone (default), together or missing", values=NOISE),
)
_NAMES = ", ".join(LOSSES)
LOSS = Argument(
    "--loss",
    f"one of {_NAMES} (default: vi), perhaps with a cost: 'vi(cost=0.5)'",
    str,
    "vi",
    values=LOSSES,
)
SEVERAL_LOSSES = LOSS._replace(
    help=f"{LOSS.help}; several, separated by commas, are compared: vi,binder"
)
ANY_LOSS = LOSS._replace(
    help=f"one of {_NAMES}, or several separated by commas (default: all of them)", default=None
)
BOUNDS = (
    Argument("--k", "exact number of clusters", int),
    Argument("--k-min", "smallest number of clusters (default: no bound)", int),
    Argument("--k-max", "largest number of clusters (default: no bound)", int),
)
CONSTRAINTS = (
    Argument("--must-link", "file of pairs or groups of items that must be together", Path),
    Argument("--cannot-link", "file of pairs or groups of items that must be apart", Path),
    Argument("--items", "table of items, one in each line (with a column item, or in order)", Path),
    Argument("--source", "column of --items: at most one item of each value in a cluster"),
    Argument("--contiguity", "file of pairs of neighbors: clusters must be connected", Path),
    Argument("--min-size", "smallest number of items in a cluster", int),
    Argument("--undecided", "cost at which an item may be left out (label -1)", float),
)
SEARCH = Argument("--search", "recombine (default) or greedy", str, "recombine", values=SEARCHES)
N_STARTS = Argument("--n-starts", "number of starts", int)
_OPTIONS = (
    "k",
    "k_min",
    "k_max",
    "search",
    "n_starts",
    "n_jobs",
    "time_limit",
    "min_size",
    "undecided",
)
"""Options of the search that go to the library unchanged."""


def split_losses(text: str) -> list[str]:
    """The losses in a list separated by commas, some of them perhaps with parameters.

    >>> split_losses("vi(cost=0.5), binder")
    ['vi(cost=0.5)', 'binder']
    """
    # A comma inside parentheses belongs to a loss.
    return [name.strip() for name in re.split(r",(?![^()]*\))", text)]


def one_loss(args: Namespace) -> str:
    """The loss of a command that takes one."""
    if len(split_losses(args.loss)) > 1:
        raise ValueError(
            f"'--loss' must be one loss here; got '{args.loss}'. 'epluribus summarize' compares several."
        )
    return str(args.loss)


def read_draws(args: Namespace) -> epl.Draws:
    """The draws in the files, without burn-in and thinned."""
    # Reading a large file takes seconds; the bar is shown on a terminal only.
    bar = not args.json
    options = given(args, "burn", "thin", "var", "noise")
    # A number stands for that number, anything else for a word.
    mark: Any = args.missing
    with suppress(TypeError, ValueError):
        mark = int(mark)
    draws = epl.read_draws(args.draws, missing=mark, **options, progress=bar)
    # If the reader chose the variable, the user is shown which one, so that a wrong choice is noticed.
    if draws.variable is not None and args.var is None:
        remark(f"labels are read from the variable '{draws.variable}'")
    return draws


def search(args: Namespace, draws: epl.Draws) -> Estimate:
    """The best partition, found by a search with the options that the command has."""
    return epl.minimize(draws, one_loss(args), **_options(args, draws))


def search_all(args: Namespace, draws: epl.Draws, losses: list[str]) -> Comparison:
    """The best partition for each of several losses, compared."""
    chosen: list[str | Loss] = list(losses)
    return epl.minimize(draws, chosen, **_options(args, draws))


def _options(args: Namespace, draws: epl.Draws) -> dict[str, Any]:
    """The options of the command as keywords of `minimize`."""
    options = {**given(args, *_OPTIONS), **_constraints(args, draws)}
    return {"rng": args.seed, "progress": not args.json, **options}


def _constraints(args: Namespace, draws: epl.Draws) -> dict[str, Any]:
    """The constraints that the command takes from files."""
    names = set(draws.item_names)
    files = given(args, "must_link", "cannot_link", "contiguity")
    found: dict[str, Any] = {
        name: read_groups(path, names) for name, path in files.items() if path is not None
    }
    source, table = getattr(args, "source", None), getattr(args, "items", None)
    if (source is None) != (table is None):
        raise ValueError(
            "'--source' must be given together with '--items', the table it is a column of."
        )
    if source is not None and table is not None:
        found["sources"] = read_column(table, source)
    return found
