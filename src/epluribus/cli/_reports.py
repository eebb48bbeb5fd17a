"""The commands that show an answer: plot, a picture, report, a page, and methods, a paragraph for a paper."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

import epluribus as epl
from epluribus import page
from epluribus._files import about, check_target, write_whole
from epluribus._parallel import INTERRUPTED, two_interrupts
from epluribus._validate import check_choice, need
from epluribus.cli._base import answer, command, given
from epluribus.cli._data import read_items
from epluribus.cli._draws import (
    best_or_labels,
    one_loss,
    read_draws,
    resources,
    search_options,
)
from epluribus.estimate import raise_if_interrupted
from epluribus.partition import matched
from epluribus.readers.files import read_labels


@command(read_draws, one_loss, search_options, best_or_labels, resources, answer)
def plot(args: Namespace) -> None:
    """Draw a picture of the best partition, or of one in a file.

    --kind (text): of the draws: similarity (default), certainty, n_clusters, loss_trace, partition_map or
        ball_bounds; of --data: scatter (default), histogram or pairs; of --network: network (default) or blocks
    -o --out (file, required): the picture: .png, .svg or .pdf
    --data (file): numbers for each item: csv with an item in each line, perhaps with names, or npy
    --network (file): links between the items: edges, a square matrix, GraphML or GML

    Example: epluribus plot draws.csv --kind similarity -o figure.png. With data:
    epluribus plot draws.csv --kind scatter --data y.csv -o figure.svg
    """
    check_target(args.out, (".png", ".svg", ".pdf"))
    need("matplotlib", "plots", "A picture")
    from epluribus.plots import KINDS  # imported here: it takes time

    usual = "network" if args.network else "scatter" if args.data else "similarity"
    kind = usual if args.kind is None else check_choice(args.kind, KINDS, "kind")
    draw, needed = KINDS[kind]
    if needed != "draws" and getattr(args, needed) is None:
        raise ValueError(f"'--kind {kind}' must be given together with '--{needed}', a file.")
    loss, draws = one_loss(args), read_draws(args)
    second = {"draws": draws, "network": args.network}
    if needed == "data":
        second["data"] = read_items(args.data)
    best = best_or_labels(args, draws, loss, **search_options(args, draws))
    with about(args.data or args.network or "", "values", "X", "adjacency", "matrix"):
        picture = draw(best, second[needed])
    figure = np.ravel(picture)[0].figure  # some pictures have several panels
    write_whole(args.out, lambda target: figure.savefig(target, dpi=150))
    answer(args, {"out": str(args.out), "kind": kind}, f"{kind} drawn into {args.out}")


@command(read_draws, one_loss, search_options, resources, answer)
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


@command(read_draws, one_loss, search_options, resources, answer)
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
