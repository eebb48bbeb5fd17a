"""The commands that read draws or labels: summarize, compare, psm, ball, modes.

Each checks first what it can (names of files, missing packages), then reads, computes by one call of the
library, and prints text or, with ``--json``, one JSON object.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

import epluribus as epl
from epluribus._files import check_target, write_columns
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
from epluribus.cli._input import (
    ANY_LOSS,
    BOUNDS,
    CONSTRAINTS,
    DRAWS,
    LOSS,
    LOSSES,
    N_STARTS,
    SEARCH,
    SEVERAL_LOSSES,
    one_loss,
    read_draws,
    search,
    search_all,
    split_losses,
)
from epluribus.draws import Draws
from epluribus.estimate import NEXT, Estimate
from epluribus.partition import matched
from epluribus.readers.files import read_labels
from epluribus.search.comparison import Comparison
from epluribus.uncertainty import Health
from epluribus.writers.results import (
    WITH_COLUMNS,
    WRITABLE,
    check_matrix_target,
    columns,
    write_estimate,
    write_matrix,
    write_matrix_csv,
    write_table,
)

_LABELS = (
    "write the labels there (.csv, .parquet, .txt, .npy or .json; - is csv on standard output)"
)
_MATRIX = "write the matrix there (.npy, .csv or .npz; - is csv on standard output)"


@command(
    "find the partition with the smallest expected loss",
    *DRAWS,
    SEVERAL_LOSSES,
    *BOUNDS,
    *CONSTRAINTS,
    SEARCH,
    N_STARTS,
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

    Example: epluribus summarize draws.csv --loss vi --out labels.csv. Several losses side by side:
    epluribus summarize draws.csv --loss vi,binder. In a pipe:
    cat draws.csv | epluribus summarize - --out - > labels.csv
    """
    # A file that cannot be written is refused before the search, which may take minutes, not after it.
    _refuse_two_answers(args)
    if args.out is not None and not is_stream(args.out):
        check_target(args.out, WRITABLE)
    losses = split_losses(args.loss)
    if len(losses) > 1:
        return _summarize_all(args, losses)
    draws = read_draws(args)
    best = search(args, draws)
    if best.interrupted:
        # Certainty takes time; a user who interrupts wants the labels now.
        _tell(args, best, None)
        return interrupted("this is the best so far")
    try:
        _tell(args, best, draws)
    except KeyboardInterrupt:
        if is_stream(args.out):  # the labels may be there, in part
            raise
        _tell(args, best, None)
        return interrupted("the answer was not checked")
    return 0


def _tell(args: Namespace, best: Estimate, draws: Draws | None) -> None:
    """Write and print the answer; without draws nothing is said about its certainty."""
    if is_stream(args.out):
        # The labels are for the next program in the pipe, the summary for the user.
        write_columns(data_stream(), columns(best, draws))
        print(_card(best, None if draws is None else best.health(draws)), file=sys.stderr)
        return
    # Checks take time, and can be interrupted: first of all.
    found = None if draws is None else best.health(draws)
    card = _card(best, found)
    health = {} if found is None else {"health": found.to_dict()}
    written = ""
    if args.out is not None:
        # Only csv and parquet have a column for the certainty; asking for it in others is an error.
        has_column = args.out.suffix.lower() in WITH_COLUMNS
        write_estimate(args.out, best, draws if has_column else None)
        written = f"\n  labels written to {args.out}"
    answer(args, {**best.to_dict(), **health}, card + written)


def _card(best: Estimate, health: Health | None) -> str:
    """The answer in words, with what speaks for and against it."""
    lines = [line for line in str(best).splitlines() if line.strip() != NEXT]
    found = [] if health is None or not best.converged else health.lines
    return "\n".join([*lines, *(f"  {line}" for line in found)])


def _summarize_all(args: Namespace, losses: list[str]) -> int:
    """The best partition for each of several losses, and how they differ."""
    in_columns = args.out is None or is_stream(args.out)
    if not in_columns and args.out.suffix.lower() not in WITH_COLUMNS:
        raise ValueError(
            f"'--out' must end in {' or '.join(WITH_COLUMNS)} for several losses, which are columns; got "
            f"'{args.out}'."
        )
    found = search_all(args, read_draws(args), losses)
    # One column of labels for each loss, under its name.
    first = columns(found[0])
    table = {"item": first["item"], **{one.loss.name: one.labels for one in found}}
    if is_stream(args.out):
        write_columns(sys.stdout, table)
        print(found, file=sys.stderr)
    else:
        written = ""
        if args.out is not None:
            write_table(args.out, table)
            written = f"\nlabels written to {args.out}"
        answer(args, _comparison(found), f"{found}{written}")
    stopped = any(one.interrupted for one in found)
    return interrupted("these are the best so far") if stopped else 0


def _comparison(found: Comparison) -> dict[str, Any]:
    """A comparison of losses as plain values."""
    return {
        "losses": list(found.names),
        "estimates": [one.to_dict() for one in found],
        "expected_losses": np.asarray(found.expected_losses).tolist(),
        "distances": np.asarray(found.distances).tolist(),
        "changes": found.changes,
    }


@command(
    "loss between two partitions",
    Argument("a", "labels of the estimate", Path),
    Argument("b", "labels to compare with", Path),
    ANY_LOSS,
    JSON,
)
def compare(args: Namespace) -> None:
    """Loss between two partitions of the same items.

    A and B are files of labels: one label per line, or what summarize --out writes, a csv with the columns
    item and cluster. Items are matched by name where both files name them.

    Example: epluribus compare labels.csv truth.txt --loss vi
    """
    # Items are matched by name where both files name them.
    a = read_labels(args.a)
    b = matched(read_labels(args.b), a, str(args.b), other=f"'{args.a}'")
    # A loss with a cost, such as vi(cost=0.5), is not symmetric: the estimate is its first argument.
    names = LOSSES if args.loss is None else split_losses(args.loss)
    values = {name: epl.loss(a, b, name) for name in names}
    words = epl.what_differs(a, b, other=f"'{args.b}'")
    text = "\n".join([*(f"{name:10s} {value:.6g}" for name, value in values.items()), words])
    answer(args, values, text)


@command(
    "probability that two items share a cluster, for all pairs",
    *DRAWS,
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
    draws = read_draws(args)
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
    *DRAWS,
    LOSS,
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
    loss = one_loss(args)
    draws = read_draws(args)
    given = None if args.labels is None else read_labels(args.labels)
    best: Any = search(args, draws) if given is None else matched(given, draws, str(args.labels))
    found = epl.credible_ball(best, draws, args.level, loss=loss)
    answer(args, found.to_dict(), found)


@command(
    "a few partitions with weights, and whether one is enough",
    *DRAWS,
    LOSS,
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
    options, loss = given(args, "n_jobs", "time_limit"), one_loss(args)
    draws = read_draws(args)
    found = epl.modes(draws, loss, n_modes, rng=args.seed, progress=not args.json, **options)
    answer(args, found.to_dict(), found)


def _refuse_two_answers(args: Namespace) -> None:
    """Refuse two results on standard output, which no program could take apart again."""
    if args.json and is_stream(args.out):
        raise ValueError(
            "'--json' and '--out -' both write to standard output; got both. Leave one out."
        )
