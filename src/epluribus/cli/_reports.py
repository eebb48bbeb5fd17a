"""The commands that put an answer into words: report, a page, and methods, a paragraph for a paper."""

from __future__ import annotations

from argparse import Namespace

import epluribus as epl
from epluribus._files import check_target
from epluribus._parallel import INTERRUPTED, two_interrupts
from epluribus._validate import need
from epluribus.cli._base import answer, command, given
from epluribus.cli._draws import one_loss, read_draws, resources, search_options
from epluribus.estimate import raise_if_interrupted
from epluribus.page import report as write_page
from epluribus.readers.files import read_labels


@command(read_draws, one_loss, search_options, resources, answer)
def report(args: Namespace) -> int:
    """Find the best partition and write one self-contained HTML page that opens offline.

    It shows the answer, the certainty of items and clusters, similarity, the number of clusters, other
    losses, modes, the credible ball, diagnostics of the chains, the certificate, and a methods paragraph.

    -o --out (file, default report.html): the page
    --title (text, default Optimal partition): heading of the page
    --level (number, default 0.95): probability of the ball
    --compare (file): labels of another partition, such as an expert's: is it plausible, and what differs?

    Example: epluribus report draws.csv -o report.html --loss vi --seed 1
    """
    check_target(args.out, (".html",))
    # A missing package is reported now, not after a long search.
    need("jinja2", "report", "The report")
    loss, draws = one_loss(args), read_draws(args)
    # The first Ctrl-C ends the search or the step it meets, and the page is still written.
    with two_interrupts(
        "interrupted; the page is written with what is known so far (Ctrl-C again ends at once)",
        "ended; no page was written",
    ) as said:
        best = epl.minimize(draws, loss, **search_options(args, draws))
        # After an interrupted search the page is brief: the user wants to see it now.
        options = given(args, "title call level time_limit")
        if args.compare is not None:
            options["partitions"] = {args.compare.stem: read_labels(args.compare)}
        write_page(best, draws, args.out, brief=best.interrupted, **options, **resources(args))
    data = {"out": str(args.out), "bytes": args.out.stat().st_size, **best.to_dict()}
    answer(args, data, f"{best}\n  page written to {args.out}")
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
        found = best.methods(draws, **given(args, "level time_limit"), **resources(args))
    answer(args, found.to_dict(), f"{found}\n\n{found.bibtex}" if args.bibtex else found)
    return INTERRUPTED if said else 0
