"""The commands that put an answer into words: report, a page, and methods, a paragraph for a paper."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from epluribus._files import check_target
from epluribus._parallel import INTERRUPTED, Interrupts
from epluribus._validate import need
from epluribus.cli._base import JSON, N_JOBS, SEED, Argument, answer, command, given, interrupted
from epluribus.cli._input import (
    BOUNDS,
    CONSTRAINTS,
    DRAWS,
    LOSS,
    N_STARTS,
    one_loss,
    read_draws,
    search,
)

_LEVEL = Argument("--level", "probability of the ball (default: 0.95)", float, 0.95)


@command(
    "one HTML page with the answer and all about it",
    *DRAWS,
    LOSS,
    Argument("-o --out", "the page (default: report.html)", Path, Path("report.html")),
    Argument("--title", "heading of the page", str, "Optimal partition"),
    _LEVEL,
    *BOUNDS,
    *CONSTRAINTS,
    N_STARTS,
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
    one_loss(args)
    draws = read_draws(args)
    # The first Ctrl-C ends the search or the step it meets, and the page is still written.
    with Interrupts(
        "interrupted; the page is written with what is known so far (Ctrl-C again ends at once)",
        "ended; no page was written",
    ) as interrupts:
        best = search(args, draws)
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


@command(
    "a paragraph for the methods section of a paper",
    *DRAWS,
    LOSS,
    _LEVEL,
    *BOUNDS,
    *CONSTRAINTS,
    N_STARTS,
    Argument(
        "--time-limit", "seconds for the search, and as many for what is said about it", float
    ),
    Argument("--bibtex", "also print the BibTeX entry of epluribus itself", bool),
    SEED,
    N_JOBS,
    JSON,
)
def methods(args: Namespace) -> int:
    """Find the best partition and print a paragraph for the methods section of a paper.

    It says what was done and what was found: the loss, the draws, the search, the credible ball, modes, how
    precise the numbers are, and the references. It is the paragraph of the report for the same seed.

    Example: epluribus methods draws.csv --loss vi --seed 1
    """
    one_loss(args)
    draws = read_draws(args)
    best = search(args, draws)
    if best.interrupted:
        return interrupted("there is nothing to report yet")
    found = best.methods(
        draws,
        rng=args.seed,
        progress=not args.json,
        **given(args, "level", "n_jobs", "time_limit"),
    )
    answer(args, found.to_dict(), f"{found}\n\n{found.bibtex}" if args.bibtex else found)
    return 0
