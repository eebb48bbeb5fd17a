"""The commands that read draws or labels: summarize, compare, psm, ball, plausible, modes, plot, report, methods.

Each checks first what it can (names of files, missing packages), then reads, computes by one call of the
library, and prints text or, with ``--json``, one JSON object. What an option leaves out, the library chooses.
"""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from contextlib import suppress
from typing import Any

import numpy as np

import epluribus as epl
from epluribus import page, writers
from epluribus._files import about, check_target, write_columns, write_whole
from epluribus._parallel import INTERRUPTED
from epluribus._text import or_none
from epluribus._validate import check_choice, need
from epluribus.cli import _base as cli
from epluribus.cli._base import answer, given, two_interrupts
from epluribus.cli._data import read_items
from epluribus.constraints import Constraints
from epluribus.draws import Draws
from epluribus.estimate import raise_if_interrupted
from epluribus.losses.base import Loss
from epluribus.partition import item_names, matched
from epluribus.readers.files import read_labels
from epluribus.readers.text import read_column, read_groups
from epluribus.search import Comparison


def split_losses(text: str) -> list[str | Loss]:
    """The losses in a list separated by commas, some of them perhaps with parameters.

    >>> split_losses("vi(cost=0.5), binder")
    ['vi(cost=0.5)', 'binder']
    """
    # A comma inside parentheses belongs to a loss.
    return [name.strip() for name in re.split(r",(?![^()]*\))", text)]


def one_loss(args: Namespace) -> str:
    """The loss of a command that takes one.

    --loss (text, default vi): vi, binder, ... ('epluribus losses' lists all), perhaps with a cost: 'vi(cost=0.5)'
    """
    if len(split_losses(args.loss)) > 1:
        raise ValueError(
            f"'--loss' must be one loss here; got '{args.loss}'. 'epluribus summarize' compares several."
        )
    return str(args.loss)


def read_draws(args: Namespace) -> Draws:
    """The draws in the files, without burn-in and thinned.

    draws (files): file of draws; several are chains; - reads csv from standard input
    --burn (int, default 0): draws to leave out at the beginning
    --thin (int, default 1): keep every THIN-th draw
    --var (text): name of the variable in a file that has several
    --missing (text): a label that stands for a missing one; empty cells and NA always do
    --noise (text): what -1 means: alone (default), together or missing
    --ensemble (switch): the draws are clusterings without order, chains or probabilities
    """
    # A number stands for that number, anything else for a word.
    mark: Any = args.missing
    with suppress(TypeError, ValueError):
        mark = int(mark)
    options = given(args, "burn thin var noise")
    kind = "ensemble" if args.ensemble else None
    draws = epl.read_draws(args.draws, missing=mark, kind=kind, **options)
    # If the reader chose the variable, the user is shown which one, so that a wrong choice is noticed.
    if draws.variable is not None and args.var is None:
        cli.remark(f"labels are read from the variable '{draws.variable}'")
    return draws


def search_options(args: Namespace, draws: Draws | None) -> dict[str, Any]:
    """The options of the command as keywords of `minimize`; constraints are read from their files.

    --k (int): exact number of clusters
    --k-min (int): smallest number of clusters (default: no bound)
    --k-max (int): largest number of clusters (default: no bound)
    --must-link (file): file of pairs or groups of items that must be together
    --cannot-link (file): file of pairs or groups of items that must be apart
    --items (file): table of items, one in each line (with a column item, or in order)
    --source (text): column of --items: at most one item of each value in a cluster
    --contiguity (file): file of pairs of neighbors: clusters must be connected
    --min-size (int): smallest number of items in a cluster
    --undecided (number): cost at which an item may be left out (label -1)
    --n-starts (int): number of starts
    --time-limit (number): seconds for the search; report and methods take as many for the rest
    """
    names = "k k_min k_max search n_starts n_jobs time_limit undecided"
    options = {"rng": args.seed, "progress": not args.json, **given(args, names)}
    asked = {name: value for name, value in given(args, "min_size").items() if value is not None}
    for name, path in given(args, "must_link cannot_link contiguity").items():
        if path is not None:
            asked[name] = read_groups(path, set() if draws is None else set(draws.item_names))
    source, table = getattr(args, "source", None), getattr(args, "items", None)
    if (source is None) != (table is None):
        raise ValueError(
            "'--source' must be given together with '--items', the table it is a column of."
        )
    if source is not None and table is not None:
        asked["sources"] = read_column(table, source)
    if asked and draws is None:
        raise ValueError("'--psm' must be used without constraints, which need draws.")
    return {**options, "constraints": Constraints(**asked) if asked else None}


def resources(args: Namespace) -> dict[str, Any]:
    """The seed and the number of threads, as keywords of the library.

    --seed (int): random seed (default: another answer each time)
    --n-jobs (int): threads (default: all cores)
    """
    return {"rng": args.seed, "n_jobs": args.n_jobs, "progress": not args.json}


@cli.command(read_draws, search_options, resources, answer)
def summarize(args: Namespace) -> int:
    """Find the partition with the smallest expected posterior loss.

    DRAWS holds one draw per row and one item per column: csv with any common delimiter, with or without a
    header, output of Stan, npy, npz, parquet, netCDF or zarr of ArviZ, or R's rds.

    --loss (text, default vi): one loss, as 'epluribus losses' lists them, perhaps with a cost, 'vi(cost=0.5)';
        or several to compare, separated by commas: vi,binder
    --psm (switch): DRAWS is one file of a similarity matrix, such as from R, in place of draws: csv, npy, npz or rds
    --search (text, default recombine): recombine or greedy
    -o --out (file): file of labels: .csv, .parquet, .txt, .npy or .json; - is csv on standard output

    Example: epluribus summarize draws.csv --loss vi --out labels.csv. Several losses side by side:
    epluribus summarize draws.csv --loss vi,binder. In a pipe:
    cat draws.csv | epluribus summarize - --out - > labels.csv
    """
    # A file that cannot be written is refused before the search, which may take minutes, not after it.
    _refuse_two_answers(args)
    losses = split_losses(args.loss)
    if args.out is not None and not cli.is_stream(args.out):
        check_target(args.out, writers.WRITABLE if len(losses) == 1 else writers.WITH_COLUMNS)
    if args.psm and len(args.draws) > 1:
        raise ValueError(f"'--psm' is for one file, a similarity matrix; got {len(args.draws)}.")
    draws = None if args.psm else read_draws(args)
    options = search_options(args, draws) | ({"psm": args.draws[0]} if args.psm else {})
    if len(losses) > 1:
        return _summarize_all(args, epl.minimize_all(draws, losses, **options))
    best = epl.minimize(draws, losses[0], **options)
    stopped, health, certainty = "this is the best so far" if best.interrupted else "", None, None
    has_column = args.out is not None and (
        cli.is_stream(args.out) or args.out.suffix.lower() in writers.WITH_COLUMNS
    )
    try:
        # Checks take time; a user who interrupts wants the labels now.
        if draws is not None and not stopped:
            health = best.health(draws)
            if has_column:
                certainty = writers.columns(best, draws)["certainty"]
    except KeyboardInterrupt:
        stopped = "the answer was not checked"
    data = best.to_dict() | ({} if health is None else {"health": health.to_dict()})
    text = str(best._card({} if health is None else health.facts.facts))
    table = writers.columns(best, certainty)
    _deliver(args, data, text, table, lambda to: writers.write_estimate(to, best, certainty))
    return cli.interrupted(stopped) if stopped else 0


def _deliver(args: Namespace, data: Any, text: str, table: Any, write: Any) -> None:
    """Write the labels into the pipe or the file that was asked for, and print the answer."""
    if cli.is_stream(args.out):
        # The labels are for the next program in the pipe, the answer for the user.
        write_columns(cli.data_stream(), table)
        print(text, file=sys.stderr)
        return
    if args.out is not None:
        write(args.out)
        text += f"\n  written to {args.out}"
    answer(args, data, text)


def _summarize_all(args: Namespace, found: Comparison) -> int:
    """The best partition for each of several losses, and how they differ."""
    # One column of labels for each loss, under its name.
    items = writers.columns(found[0])["item"]
    table = {"item": items, **{one.loss.name: one.labels for one in found}}
    data = {
        "losses": list(found.names),
        "estimates": [one.to_dict() for one in found],
        "expected_losses": np.asarray(found.expected_losses).tolist(),
        "distances": np.asarray(found.distances).tolist(),
        "changes": found.changes,
    }
    _deliver(args, data, str(found), table, lambda path: writers.write_table(path, table))
    stopped = any(one.interrupted for one in found)
    return cli.interrupted("these are the best so far") if stopped else 0


@cli.command(answer)
def compare(args: Namespace) -> None:
    """Compute the loss between two partitions of the same items.

    A and B are files of labels: one label per line, or what summarize --out writes, a csv with the columns
    item and cluster. Items are matched by name where both files name them.

    a (file): labels of the estimate
    b (file): labels to compare with
    --loss (text): one loss, or several separated by commas (default: all of them)

    Example: epluribus compare labels.csv truth.txt --loss vi
    """
    # Items are matched by name where both files name them.
    a = read_labels(args.a)
    b = matched(read_labels(args.b), a, str(args.b), other=f"'{args.a}'")
    # A loss with a cost, such as vi(cost=0.5), is not symmetric: the estimate is its first argument.
    names = epl.losses.available() if args.loss is None else split_losses(args.loss)
    values = {str(name): epl.loss(a, b, name) for name in names}
    lines = [f"{name:10s} {value:.6g}" for name, value in values.items()]
    lines.append(epl.changes.what_differs(a, b, names=item_names(a), other=f"'{args.b}'"))
    answer(args, values, "\n".join(lines))


@cli.command(read_draws, answer)
def psm(args: Namespace) -> None:
    """Write the posterior similarity matrix: the probability that two items share a cluster, for all pairs.

    -o --out (file, required): the matrix: .npy, .csv or .npz; - is csv on standard output
    --sparse (switch): only the larger entries: .npz of SciPy, or csv by pairs
    --threshold (number): with --sparse, leave out entries not above it (default: 0.05)
    --n-jobs (int): threads (default: all cores)

    Example: epluribus psm draws.csv --out psm.npy. With many items:
    epluribus psm draws.npz --sparse --threshold 0.1 --out psm.npz
    """
    writers.check_matrix_target(args.out, sparse=args.sparse)
    _refuse_two_answers(args)
    draws = read_draws(args)
    matrix = epl.psm(draws, progress=not args.json, **given(args, "sparse threshold n_jobs"))
    # In a pipe the matrix is all that is printed.
    if cli.is_stream(args.out):
        writers.write_matrix_csv(cli.data_stream(), matrix, draws.items)
        return
    writers.write_matrix(args.out, matrix, draws.items)
    n, entries = draws.n_items, int(matrix.nnz if args.sparse else matrix.size)
    answer(
        args,
        {"n_items": n, "n_draws": draws.n_draws, "n_entries": entries, "out": str(args.out)},
        f"similarity matrix of {n:,} items, {entries:,} entries, written to {args.out}",
    )


def best_or_labels(args: Namespace, draws: Draws, loss: str, **options: Any) -> Any:
    """The partition that a command is about.

    --labels (file): file of labels to take in place of the best partition
    """
    if args.labels is not None:
        labels = read_labels(args.labels)
        matched(labels, draws, str(args.labels))
        return labels
    best = epl.minimize(draws, loss, **options)
    # A ball around a partition that is not the best has another radius.
    raise_if_interrupted(best)
    return best


@cli.command(read_draws, one_loss, best_or_labels, resources, answer)
def ball(args: Namespace) -> None:
    """Find a credible ball around the best partition: the smallest one of at least a given probability.

    Also shown are the partitions at its edge: the most distant, and the most distant of those with the fewest
    and with the most clusters.

    --level (number, default 0.95): smallest probability of the ball

    Example: epluribus ball draws.csv --loss vi --level 0.9
    """
    loss, draws = one_loss(args), read_draws(args)
    best = best_or_labels(args, draws, loss, **resources(args))
    found = epl.credible_ball(best, draws, args.level, loss=loss)
    answer(args, found.to_dict(), found)


@cli.command(read_draws, one_loss, best_or_labels, resources, answer)
def items(args: Namespace) -> None:
    """List how sure the place of each item is, the least certain first.

    Support is how often an item is with the others of its cluster, and its runner-up the other cluster that it is
    with most.

    -o --out (file): the table, with all items: .csv or .parquet; - is csv on standard output

    Example: epluribus items draws.csv --out items.csv
    """
    _refuse_two_answers(args)
    if args.out is not None and not cli.is_stream(args.out):
        check_target(args.out, writers.WITH_COLUMNS)
    loss, draws = one_loss(args), read_draws(args)
    found = epl.items(best_or_labels(args, draws, loss, **resources(args)), draws)
    table = found.columns()
    data = {name: or_none(column) for name, column in table.items()}
    _deliver(args, data, str(found), table, lambda path: writers.write_table(path, table))


def partition_file(args: Namespace) -> Any:
    """The partition in a file of labels.

    partition (file): labels of the partition, as summarize --out writes them
    """
    return read_labels(args.partition)


@cli.command(read_draws, partition_file, one_loss, answer)
def plausible(args: Namespace) -> None:
    """Say whether the posterior can live with a partition: an expert's, last year's, or a simpler one.

    The p-value is the share of draws that are as atypical as the partition.

    Example: epluribus plausible draws.csv expert.csv --loss vi
    """
    found = epl.uncertainty.plausibility(partition_file(args), read_draws(args), one_loss(args))
    answer(args, found.to_dict(), found)


@cli.command(read_draws, one_loss, resources, answer)
def modes(args: Namespace) -> None:
    """Summarize the posterior by a few partitions with weights, and say whether one is a fair summary.

    --n-modes (int): number of modes (default: chosen)
    --time-limit (number): seconds after which to stop

    Example: epluribus modes draws.csv --loss vi --n-modes 2 --json
    """
    loss, draws = one_loss(args), read_draws(args)
    # An option of the shell is a number or absent; the library has a word for "choose it".
    n_modes = "auto" if args.n_modes is None else args.n_modes
    found = epl.modes(draws, loss, n_modes, time_limit=args.time_limit, **resources(args))
    answer(args, found.to_dict(), found)


def _refuse_two_answers(args: Namespace) -> None:
    """Refuse two results on standard output, which no program could take apart again."""
    if args.json and cli.is_stream(args.out):
        raise ValueError(
            "'--json' and '--out -' both write to standard output; got both. Leave one out."
        )


@cli.command(read_draws, one_loss, search_options, best_or_labels, resources, answer)
def plot(args: Namespace) -> None:
    """Draw a picture of the best partition, or of one in a file.

    --kind (text): of the draws: similarity (default), certainty, n_clusters, loss_trace, partition_map or
        ball_bounds; of --data: histogram (default of one column), scatter (of more) or pairs; of --network: network
        (default) or blocks
    -o --out (file, required): the picture: .png, .svg or .pdf
    --data (file): numbers for each item: csv with an item in each line, perhaps with names, or npy
    --network (file): links between the items: edges, a square matrix, GraphML or GML

    Example: epluribus plot draws.csv --kind similarity -o figure.png. With data:
    epluribus plot draws.csv --kind scatter --data y.csv -o figure.svg
    """
    check_target(args.out, (".png", ".svg", ".pdf"))
    need("matplotlib", "plots", "A picture")
    from epluribus.plots import KINDS  # imported here: it takes time

    data: Any = None if args.data is None else read_items(args.data)
    of_data = "histogram" if np.ndim(data) == 1 or np.shape(data)[1:] == (1,) else "scatter"
    usual = "network" if args.network else "similarity" if data is None else of_data
    kind = usual if args.kind is None else check_choice(args.kind, KINDS, "kind")
    draw, needed = KINDS[kind]
    if needed != "draws" and getattr(args, needed) is None:
        raise ValueError(f"'--kind {kind}' must be given together with '--{needed}', a file.")
    for other in ("data", "network"):
        if other != needed and getattr(args, other) is not None:
            raise ValueError(f"'--{other}' is not for '--kind {kind}'. Leave it out.")
    loss, draws = one_loss(args), read_draws(args)
    second = {"draws": draws, "network": args.network, "data": data}
    best = best_or_labels(args, draws, loss, **search_options(args, draws))
    with about(args.data or args.network or "", "values", "X", "adjacency", "matrix"):
        picture = draw(best, second[needed])
    figure = np.ravel(picture)[0].figure  # some pictures have several panels
    write_whole(args.out, lambda target: figure.savefig(target, dpi=150))
    answer(args, {"out": str(args.out), "kind": kind}, f"{kind} drawn into {args.out}")


@cli.command(read_draws, one_loss, search_options, resources, answer)
def report(args: Namespace) -> int:
    """Find the best partition and write one self-contained HTML page that opens offline.

    It shows the answer, the certainty of items and clusters, similarity, the number of clusters, other
    losses, modes, the credible ball, diagnostics of the chains, the certificate, and a methods paragraph.

    -o --out (file, default report.html): the page
    --title (text, default Optimal partition): heading of the page
    --level (number, default 0.95): probability of the ball
    --compare (file): labels of another partition, such as an expert's: is it plausible, and what differs?
    --data (file): numbers for each item, drawn with the clusters in color: csv or npy
    --network (file): links between the items: edges, a square matrix, GraphML or GML

    Example: epluribus report draws.csv -o report.html --loss vi --seed 1
    """
    check_target(args.out, (".html",))
    # A missing package is reported now, not after a long search.
    need("jinja2", "report", "The report")
    loss, draws = one_loss(args), read_draws(args)
    data = None if args.data is None else read_items(args.data)
    data = None if data is None else matched(data, draws, str(args.data), rows=True)
    # The first Ctrl-C ends the search or the step it meets, and the page is still written.
    with two_interrupts(
        "interrupted; the page is written with what is known so far (Ctrl-C again ends at once)",
        "ended; no page was written",
    ) as said:
        best = epl.minimize(draws, loss, **search_options(args, draws))
        # After an interrupted search the page is brief: the user wants to see it now.
        options = given(args, "title call level time_limit network") | {"data": data}
        if args.compare is not None:
            options["partitions"] = {args.compare.stem: read_labels(args.compare)}
        with about(args.network or "", "network"):
            page.report(best, draws, args.out, brief=best.interrupted, **options, **resources(args))
    found = {"out": str(args.out), "bytes": args.out.stat().st_size, **best.to_dict()}
    answer(args, found, f"{best._card({})}\n  page written to {args.out}")
    # The page is written, but a script must see that parts of it may be missing.
    return INTERRUPTED if said else 0


@cli.command(read_draws, one_loss, search_options, resources, answer)
def methods(args: Namespace) -> int:
    """Find the best partition and print a paragraph for the methods section of a paper.

    It says what was done and what was found: the loss, the draws, the search, the credible ball, modes, how
    precise the numbers are, and the references. It is the paragraph of the report for the same seed.

    --level (number, default 0.95): probability of the ball
    --bibtex (switch): also print the BibTeX entries of the references

    Example: epluribus methods draws.csv --loss vi --seed 1
    """
    loss, draws = one_loss(args), read_draws(args)
    best = epl.minimize(draws, loss, **search_options(args, draws))
    # There is nothing to report yet; a later Ctrl-C leaves out what was not computed.
    raise_if_interrupted(best)
    with two_interrupts(
        "interrupted; the paragraph leaves out what was not computed",
        "ended; there is no paragraph",
    ) as said:
        found = page.methods(best, draws, **given(args, "level time_limit"), **resources(args))
    answer(args, found.to_dict(), f"{found}\n\n{found.bibtex}" if args.bibtex else found)
    return INTERRUPTED if said else 0
