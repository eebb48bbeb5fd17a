"""The commands that read draws or labels: summarize, compare, psm, ball, modes, report.

Each checks first what it can (names of files, missing packages), then reads, computes by one call of the
library, and prints text or, with ``--json``, one JSON object.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any

import epluribus as epl
from epluribus._files import check_target, write_columns
from epluribus._parallel import INTERRUPTED, Interrupts
from epluribus._validate import need
from epluribus.cli._base import (
    JSON,
    N_JOBS,
    SEED,
    Argument,
    answer,
    command,
    data_stream,
    given,
    interrupted,
    is_stream,
)
from epluribus.estimate import Estimate
from epluribus.readers.files import Labels, match_items, read_labels
from epluribus.readers.objects import NOISE
from epluribus.readers.pairs import read_column, read_groups
from epluribus.search._minimize import SEARCHES
from epluribus.writers.results import (
    WITH_COLUMNS,
    WRITABLE,
    check_matrix_target,
    columns,
    write_estimate,
    write_matrix,
    write_matrix_csv,
)

# Arguments that several commands share.
_FILE = "file of draws; several are chains; - reads csv from standard input"
_LOSSES = epl.losses.available()
_DRAWS = (
    Argument("draws", _FILE, Path, many=True),
    Argument("--burn", "draws to leave out at the beginning", int, 0),
    Argument("--thin", "keep every THIN-th draw", int, 1),
    Argument("--var", "name of the variable in a file that has several"),
    Argument("--missing", "a label that stands for a missing one; empty cells and NA always do"),
    Argument("--noise", "what -1 means: alone (default), together or missing", values=NOISE),
)
_LOSS = Argument("--loss", f"one of {', '.join(_LOSSES)} (default: vi)", str, "vi", values=_LOSSES)
_ANY_LOSS = _LOSS._replace(help=f"one of {', '.join(_LOSSES)} (default: all of them)", default=None)
_BOUNDS = (
    Argument("--k", "exact number of clusters", int),
    Argument("--k-min", "smallest number of clusters (default: no bound)", int),
    Argument("--k-max", "largest number of clusters (default: no bound)", int),
)
_CONSTRAINTS = (
    Argument("--must-link", "file of pairs or groups of items that must be together", Path),
    Argument("--cannot-link", "file of pairs or groups of items that must be apart", Path),
    Argument("--items", "table of items, one in each line (with a column item, or in order)", Path),
    Argument("--source", "column of --items: at most one item of each value in a cluster"),
    Argument("--contiguity", "file of pairs of neighbors: clusters must be connected", Path),
    Argument("--min-size", "smallest number of items in a cluster", int),
    Argument("--undecided", "cost at which an item may be left out (label -1)", float),
)
_SEARCH = Argument("--search", "recombine (default) or greedy", str, "recombine", values=SEARCHES)
_N_STARTS = Argument("--n-starts", "number of starts", int)
_LABELS = (
    "write the labels there (.csv, .parquet, .txt, .npy or .json; - is csv on standard output)"
)
_MATRIX = "write the matrix there (.npy, .csv or .npz; - is csv on standard output)"


@command(
    "find the partition with the smallest expected loss",
    *_DRAWS,
    _LOSS,
    *_BOUNDS,
    *_CONSTRAINTS,
    _SEARCH,
    _N_STARTS,
    SEED,
    N_JOBS,
    Argument("--time-limit", "seconds after which to stop", float),
    Argument("--out", _LABELS, Path),
    JSON,
)
def summarize(args: Namespace) -> int:
    """Find the partition with the smallest expected posterior loss.

    DRAWS holds one draw per row and one item per column: csv with any common delimiter, with or without a
    header, output of Stan, npy, npz, parquet, netCDF or zarr of ArviZ, or R's rds.

    Example: epluribus summarize draws.csv --loss vi --out labels.csv. In a pipe:
    cat draws.csv | epluribus summarize - --out - > labels.csv
    """
    # A file that cannot be written is refused before the search, which may take minutes, not after it.
    _refuse_two_answers(args)
    if args.out is not None and not is_stream(args.out):
        check_target(args.out, WRITABLE)
    draws = _read(args)
    best = _minimize(args, draws)
    # Certainty takes time; a user who interrupts wants the labels now.
    certainty = None if best.interrupted else draws
    if is_stream(args.out):
        # The labels are for the next program in the pipe, the summary for the user.
        write_columns(data_stream(), columns(best, certainty))
        print(best, file=sys.stderr)
    else:
        written = ""
        if args.out is not None:
            # Only csv and parquet have a column for the certainty; asking for it in others is an error.
            has_column = args.out.suffix.lower() in WITH_COLUMNS
            write_estimate(args.out, best, certainty if has_column else None)
            written = f"\n  labels written to {args.out}"
        answer(args, {**best.to_dict(), **_health(args, best)}, f"{best}{written}")
    return interrupted("this is the best so far") if best.interrupted else 0


@command(
    "loss between two partitions",
    Argument("a", "labels of the estimate", Path),
    Argument("b", "labels to compare with", Path),
    _ANY_LOSS,
    JSON,
)
def compare(args: Namespace) -> None:
    """Loss between two partitions of the same items.

    A and B are files of labels: one label per line, or what summarize --out writes, a csv with the columns
    item and cluster. Items are matched by name where both files name them.

    Example: epluribus compare labels.csv truth.txt --loss vi
    """
    # Both come back in the order of the first file.
    a, b = match_items(read_labels(args.a), read_labels(args.b), args.a, args.b)
    # A loss with a cost, such as vi(cost=0.5), is not symmetric: the estimate is its first argument.
    names = _LOSSES if args.loss is None else (args.loss,)
    values = {name: epl.loss(a, b, name) for name in names}
    words = epl.what_differs(a, b, other=f"'{args.b}'")
    text = "\n".join([*(f"{name:10s} {value:.6g}" for name, value in values.items()), words])
    answer(args, values, text)


@command(
    "probability that two items share a cluster, for all pairs",
    *_DRAWS,
    Argument("--out", _MATRIX, Path, required=True),
    Argument("--sparse", "only the larger entries: .npz of SciPy, or csv by pairs", bool),
    Argument("--threshold", "with --sparse, leave out entries not above it (default: 0.05)", float),
    N_JOBS,
    JSON,
)
def psm(args: Namespace) -> None:
    """Write the posterior similarity matrix.

    It holds, for every two items, the share of draws in which they are in the same cluster.

    Example: epluribus psm draws.csv --out psm.npy. With many items:
    epluribus psm draws.npz --sparse --threshold 0.1 --out psm.npz
    """
    check_matrix_target(args.out, sparse=args.sparse)
    _refuse_two_answers(args)
    draws = _read(args)
    # Options that were not given are None, which the library takes as its defaults.
    options = given(args, "sparse", "threshold", "n_jobs")
    matrix = epl.psm(draws, progress=not args.json, **options)
    # In a pipe the matrix is all that is printed.
    if is_stream(args.out):
        write_matrix_csv(data_stream(), matrix, draws.items)
        return
    write_matrix(args.out, matrix, draws.items)
    n, entries = draws.n_items, int(matrix.nnz if args.sparse else matrix.size)
    answer(
        args,
        {"n_items": n, "n_draws": draws.n_draws, "n_entries": entries, "out": str(args.out)},
        f"similarity matrix of {n:,} items, {entries:,} entries, written to {args.out}",
    )


@command(
    "credible ball around the best partition",
    *_DRAWS,
    _LOSS,
    Argument("--level", "smallest probability of the ball (default: 0.95)", float, 0.95),
    Argument("--labels", "file of labels to center it on, in place of a search", Path),
    SEED,
    N_JOBS,
    JSON,
)
def ball(args: Namespace) -> None:
    """Find the best partition and the smallest ball around it of at least a given probability.

    Also shown are the partitions at its edge: the most distant, and the most distant of those with the fewest
    and with the most clusters.

    Example: epluribus ball draws.csv --loss vi --level 0.9
    """
    draws = _read(args)
    best: Any
    if args.labels is None:
        best = _minimize(args, draws)
    else:
        # The labels must be in the order of the items of the draws, which are matched as if they were a file
        # of labels themselves.
        items = list(draws.item_names)
        file = read_labels(args.labels)
        _, best = match_items(Labels(items, items), file, args.draws[0], args.labels)
    found = epl.credible_ball(best, draws, args.level, loss=args.loss)
    answer(args, found.to_dict(), found)


@command(
    "a few partitions with weights, and whether one is enough",
    *_DRAWS,
    _LOSS,
    Argument("--n-modes", "number of modes (default: chosen)", int),
    SEED,
    N_JOBS,
    Argument("--time-limit", "seconds after which to stop", float),
    JSON,
)
def modes(args: Namespace) -> None:
    """Summarize the posterior by a few partitions with weights, and say whether one is a fair summary.

    Example: epluribus modes draws.csv --loss vi --n-modes 2 --json
    """
    # An option of the shell is a number or absent; the library has a word for "choose it".
    n_modes = "auto" if args.n_modes is None else args.n_modes
    options = given(args, "n_jobs", "time_limit")
    draws = _read(args)
    found = epl.modes(draws, args.loss, n_modes, rng=args.seed, progress=not args.json, **options)
    answer(args, found.to_dict(), found)


@command(
    "one HTML page with the answer and all about it",
    *_DRAWS,
    _LOSS,
    Argument("-o --out", "the page (default: report.html)", Path, Path("report.html")),
    Argument("--title", "heading of the page", str, "Optimal partition"),
    Argument("--level", "probability of the ball (default: 0.95)", float, 0.95),
    *_BOUNDS,
    *_CONSTRAINTS,
    _N_STARTS,
    Argument("--time-limit", "seconds for the search, and as many for the rest of the page", float),
    SEED,
    N_JOBS,
    JSON,
)
def report(args: Namespace) -> int:
    """Find the best partition and write one self-contained HTML page that opens offline.

    It shows the answer, the certainty of items and clusters, similarity, the number of clusters, other
    losses, modes, the credible ball, diagnostics of the chains, the certificate, and a methods paragraph.

    Example: epluribus report draws.csv -o report.html --loss vi --seed 1
    """
    check_target(args.out, (".html",))
    # A missing package is reported now, not after a long search.
    need("jinja2", "report", "The report")
    draws = _read(args)
    # The first Ctrl-C ends the search or the step it meets, and the page is still written.
    with Interrupts(
        "interrupted; the page is written with what is known so far (Ctrl-C again ends at once)",
        "ended; no page was written",
    ) as interrupts:
        best = _minimize(args, draws)
        # After an interrupted search the page is brief: the user wants to see it now.
        best.report(
            draws,
            args.out,
            rng=args.seed,
            progress=not args.json,
            brief=best.interrupted,
            **given(args, "title", "call", "level", "n_jobs", "time_limit"),
        )
    data = {"out": str(args.out), "bytes": args.out.stat().st_size, **best.to_dict()}
    answer(args, data, f"{best}\n  page written to {args.out}")
    # The page is written, but a script must see that parts of it may be missing.
    return INTERRUPTED if interrupts.count else 0


def _read(args: Namespace) -> epl.Draws:
    """The draws in the files of a command, with its options on them."""
    # Commands without --json write files, and have a terminal to themselves.
    bar = not getattr(args, "json", False)
    options = given(args, "burn", "thin", "var", "noise")
    # A number stands for that number, anything else for a word.
    mark: Any = args.missing
    with suppress(TypeError, ValueError):
        mark = int(mark)
    draws = epl.read_draws(args.draws, missing=mark, **options, progress=bar)
    # If the reader chose the variable, the user is shown which one, so that a wrong choice is noticed.
    if draws.variable is not None and args.var is None:
        print(f"epluribus: labels are read from the variable '{draws.variable}'", file=sys.stderr)
    return draws


def _minimize(args: Namespace, draws: epl.Draws) -> Estimate:
    """The best partition, found by a search with the options that the command has."""
    names = (
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
    options = {**given(args, *names), **_constraints(args, draws)}
    return epl.minimize(draws, args.loss, rng=args.seed, progress=not args.json, **options)


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


def _health(args: Namespace, best: Estimate) -> dict[str, Any]:
    """The lines beside the answer, for --json; an interrupted search is not checked."""
    return {"health": best.health().to_dict()} if args.json and not best.interrupted else {}


def _refuse_two_answers(args: Namespace) -> None:
    """Refuse two results on standard output, which no program could take apart again."""
    if args.json and is_stream(args.out):
        raise ValueError(
            "'--json' and '--out -' both write to standard output; got both. Leave one out."
        )
