"""The command line: arguments and printing; no logic."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import epluribus as epl
from epluribus._files import check_target, write_columns
from epluribus.readers.labels import Labels, match_items, read_labels
from epluribus.writers.files import (
    WITH_COLUMNS, WRITABLE, check_matrix_target, write_estimate, write_matrix, write_matrix_csv,
)  # fmt: skip
from epluribus.writers.results import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["main"]

_INTERRUPTED = 130  # what shells report after Ctrl-C
_BAD_INPUT = 2
_SEED = "seed: the same gives the same answer (default: another one each time)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0 fine, 2 bad input, 130 interrupted."""
    parser = _parser()
    args = parser.parse_args(arguments)
    args.call = shlex.join(["epluribus", *(sys.argv[1:] if arguments is None else arguments)])
    try:
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # who reads our output, as head does, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        print(f"epluribus: {_in_words_of_the_shell(_one_line(error), args)}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print("epluribus: interrupted", file=sys.stderr)
        return _INTERRUPTED


def _in_words_of_the_shell(message: str, args: argparse.Namespace) -> str:
    """Arguments by the names of their options: '--n-jobs', not 'n_jobs'."""
    for name in vars(args):
        message = message.replace(f"'{name}' must", f"'--{name.replace('_', '-')}' must")
    return message.replace(" None means", " Leaving it out means")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="epluribus",
        description="One optimal partition out of many posterior draws of cluster labels.",
        epilog="Example: epluribus summarize draws.csv --loss vi --out labels.csv",
    )
    parser.add_argument("--version", action="version", version=f"epluribus {epl.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_summarize(commands)
    _add_compare(commands)
    _add_psm(commands)
    _add_ball(commands)
    _add_modes(commands)
    _add_report(commands)
    _add_sample(commands)
    _add_reproduce(commands)
    _add_demo(commands)
    _add_losses(commands)
    _add_datasets(commands)
    _add_completion(commands)
    return parser


def _add_draws(command: argparse.ArgumentParser) -> None:
    """What every command that reads draws takes."""
    command.add_argument(
        "draws",
        type=Path,
        nargs="+",
        metavar="DRAWS",
        help="file of draws; several are chains; - reads csv from standard input",
    )
    command.add_argument("--burn", type=int, default=0, help="draws to leave out at the beginning")
    command.add_argument("--thin", type=int, default=1, help="keep every THIN-th draw")
    command.add_argument("--var", help="name of the variable in a file that has several")


def _read(args: argparse.Namespace) -> epl.Draws:
    draws = epl.read_draws(args.draws, burn=args.burn, thin=args.thin, var=args.var)
    if draws.variable is not None and args.var is None:
        print(f"epluribus: labels are read from the variable '{draws.variable}'", file=sys.stderr)
    return draws


def _add_loss(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--loss", default="vi", help=f"one of {', '.join(epl.losses.available())} (default: vi)"
    )


def _add_run(command: argparse.ArgumentParser) -> None:
    """What every command that searches takes."""
    command.add_argument("--seed", type=int, help=_SEED)
    command.add_argument("--n-jobs", type=int, help="threads (default: all cores)")


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON")


def _answer(args: argparse.Namespace, data: Any, text: object) -> None:
    """Print the answer: JSON for scripts, text for people."""
    print(json.dumps(data) if args.json else text)


def _is_stdout(path: Path | None) -> bool:
    return path is not None and str(path) == "-"


def _refuse_two_answers(args: argparse.Namespace) -> None:
    if args.json and _is_stdout(args.out):
        raise ValueError(
            "'--json' and '--out -' both write to standard output; got both. Leave one out."
        )


def _add_summarize(commands: Commands) -> None:
    command = commands.add_parser(
        "summarize",
        help="find the partition with the smallest expected loss",
        description=(
            "Find the partition with the smallest expected posterior loss. DRAWS holds one draw a row, "
            "one item a column (csv with any common delimiter, with or without header, output of Stan, "
            "npy, npz, parquet, netCDF or zarr of ArviZ, R's rds)."
        ),
        epilog=(
            "Example: epluribus summarize draws.csv --loss vi --out labels.csv. In a pipe: "
            "cat draws.csv | epluribus summarize - --out - > labels.csv"
        ),
    )
    _add_draws(command)
    _add_loss(command)
    command.add_argument("--k", type=int, help="exact number of clusters")
    command.add_argument("--k-max", type=int, help="largest number of clusters (default: no bound)")
    command.add_argument("--search", default="recombine", help="recombine (default) or greedy")
    command.add_argument("--n-starts", type=int, help="number of starts")
    _add_run(command)
    command.add_argument("--time-limit", type=float, help="seconds after which to stop")
    command.add_argument(
        "--out",
        type=Path,
        help="write the labels there (.csv, .parquet, .txt, .npy or .json; - is csv on standard output)",
    )
    _add_json(command)
    command.set_defaults(run=_summarize)


def _summarize(args: argparse.Namespace) -> int:
    _refuse_two_answers(args)
    if args.out is not None and not _is_stdout(args.out):
        check_target(args.out, WRITABLE)
    draws = _read(args)
    best = epl.minimize(
        draws,
        args.loss,
        k=args.k,
        k_max=args.k_max,
        search=args.search,
        n_starts=args.n_starts,
        n_jobs=args.n_jobs,
        rng=args.seed,
        progress=not args.json,
        time_limit=args.time_limit,
    )
    # Who interrupts wants the labels now.
    certainty = None if best.interrupted else draws
    if _is_stdout(args.out):
        write_columns(sys.stdout, columns(best, certainty))
        print(best, file=sys.stderr)
    else:
        written = ""
        if args.out is not None:
            has_column = args.out.suffix.lower() in WITH_COLUMNS
            write_estimate(args.out, best, certainty if has_column else None)
            written = f"\n  labels written to {args.out}"
        _answer(args, best.to_dict(), f"{best}{written}")
    if best.interrupted:
        print("epluribus: interrupted; this is the best so far", file=sys.stderr)
        return _INTERRUPTED
    return 0


def _add_compare(commands: Commands) -> None:
    command = commands.add_parser(
        "compare",
        help="loss between two partitions",
        description=(
            "Loss between two partitions of the same items. A and B are files of labels: one label a "
            "line, or what summarize --out writes: a csv with the columns item and cluster. Items are "
            "matched by name where both files name them."
        ),
        epilog="Example: epluribus compare labels.csv truth.txt --loss vi",
    )
    command.add_argument("a", type=Path, metavar="A", help="labels of the estimate")
    command.add_argument("b", type=Path, metavar="B", help="labels to compare with")
    command.add_argument(
        "--loss", help=f"one of {', '.join(epl.losses.available())} (default: all of them)"
    )
    _add_json(command)
    command.set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    a, b = match_items(read_labels(args.a), read_labels(args.b), args.a, args.b)
    names = epl.losses.available() if args.loss is None else (args.loss,)
    values = {name: epl.loss(a, b, name) for name in names}
    _answer(args, values, "\n".join(f"{name:10s} {value:.6g}" for name, value in values.items()))
    return 0


def _add_psm(commands: Commands) -> None:
    command = commands.add_parser(
        "psm",
        help="probability that two items share a cluster, for all pairs",
        description=(
            "Write the posterior similarity matrix: for every two items, the share of draws in which "
            "they are in the same cluster."
        ),
        epilog=(
            "Example: epluribus psm draws.csv --out psm.npy. With many items: "
            "epluribus psm draws.npz --sparse --threshold 0.1 --out psm.npz"
        ),
    )
    _add_draws(command)
    command.add_argument(
        "--out",
        type=Path,
        required=True,
        help="write the matrix there (.npy, .csv or .npz; - is csv on standard output)",
    )
    command.add_argument(
        "--sparse",
        action="store_true",
        help="only the larger entries: .npz of SciPy, or csv by pairs",
    )
    command.add_argument(
        "--threshold",
        type=float,
        help="with --sparse, leave out entries not above it (default: 0.05)",
    )
    command.add_argument("--n-jobs", type=int, help="threads (default: all cores)")
    _add_json(command)
    command.set_defaults(run=_psm)


def _psm(args: argparse.Namespace) -> int:
    check_matrix_target(args.out, sparse=args.sparse)
    _refuse_two_answers(args)
    draws = _read(args)
    matrix = epl.psm(draws, sparse=args.sparse, threshold=args.threshold, n_jobs=args.n_jobs)
    if _is_stdout(args.out):
        write_matrix_csv(sys.stdout, matrix, draws.items)
        return 0
    write_matrix(args.out, matrix, draws.items)
    n, entries = draws.n_items, int(matrix.nnz if args.sparse else matrix.size)
    _answer(
        args,
        {"n_items": n, "n_draws": draws.n_draws, "n_entries": entries, "out": str(args.out)},
        f"similarity matrix of {n:,} items, {entries:,} entries, written to {args.out}",
    )
    return 0


def _add_ball(commands: Commands) -> None:
    command = commands.add_parser(
        "ball",
        help="credible ball around the best partition",
        description=(
            "Find the best partition and the smallest ball around it that holds so much of the "
            "posterior, with the partitions at its edge: the most distant, and the most distant of "
            "those with fewest and with most clusters."
        ),
        epilog="Example: epluribus ball draws.csv --loss vi --level 0.9",
    )
    _add_draws(command)
    _add_loss(command)
    command.add_argument(
        "--level", type=float, default=0.95, help="smallest probability of the ball (default: 0.95)"
    )
    command.add_argument(
        "--labels", type=Path, help="file of labels to centre it on, in place of a search"
    )
    _add_run(command)
    _add_json(command)
    command.set_defaults(run=_ball)


def _ball(args: argparse.Namespace) -> int:
    draws = _read(args)
    best: Any = (
        epl.minimize(draws, args.loss, rng=args.seed, n_jobs=args.n_jobs, progress=not args.json)
        if args.labels is None
        else _labels_in_order(args, draws)
    )
    ball = epl.credible_ball(best, draws, args.level, loss=args.loss)
    _answer(args, ball.to_dict(), ball)
    return 0


def _labels_in_order(args: argparse.Namespace, draws: epl.Draws) -> list[Any]:
    """Labels of a file, in the order of the items of the draws."""
    items = [str(i) for i in range(draws.n_items)] if draws.items is None else list(draws.items)
    own = Labels(items, items)
    return match_items(own, read_labels(args.labels), args.draws[0], args.labels)[1]


def _add_modes(commands: Commands) -> None:
    command = commands.add_parser(
        "modes",
        help="a few partitions with weights, and whether one is enough",
        description=(
            "Summarize the posterior by a few partitions with weights, and say whether one partition "
            "is a fair summary."
        ),
        epilog="Example: epluribus modes draws.csv --loss vi --n-modes 2 --json",
    )
    _add_draws(command)
    _add_loss(command)
    command.add_argument("--n-modes", type=int, help="number of modes (default: chosen)")
    _add_run(command)
    _add_json(command)
    command.set_defaults(run=_modes)


def _modes(args: argparse.Namespace) -> int:
    number = "auto" if args.n_modes is None else args.n_modes
    found = epl.modes(_read(args), args.loss, number, rng=args.seed, n_jobs=args.n_jobs)
    _answer(args, found.to_dict(), found)
    return 0


def _add_report(commands: Commands) -> None:
    command = commands.add_parser(
        "report",
        help="one HTML page with the answer and all about it",
        description=(
            "Find the best partition and write one self-contained HTML page that opens offline: the "
            "answer, certainty of items and clusters, similarity, number of clusters, other losses, "
            "modes, credible ball, diagnostics of the chains, certificate, and a methods paragraph."
        ),
        epilog="Example: epluribus report draws.csv -o report.html --loss vi --seed 1",
    )
    _add_draws(command)
    _add_loss(command)
    command.add_argument(
        "-o",
        "--out",
        type=Path,
        default=Path("report.html"),
        help="the page (default: report.html)",
    )
    command.add_argument("--title", default="Optimal partition", help="heading of the page")
    command.add_argument(
        "--level", type=float, default=0.95, help="probability of the ball (default: 0.95)"
    )
    command.add_argument("--k", type=int, help="exact number of clusters")
    command.add_argument("--k-max", type=int, help="largest number of clusters (default: no bound)")
    command.add_argument("--n-starts", type=int, help="number of starts")
    command.add_argument("--time-limit", type=float, help="seconds after which the search stops")
    _add_run(command)
    _add_json(command)
    command.set_defaults(run=_report)


def _report(args: argparse.Namespace) -> int:
    from epluribus._parallel import Interrupts

    out = args.out
    check_target(out, (".html",))
    draws = _read(args)
    with Interrupts(
        "interrupted; the page is written with what is there (once more ends at once)",
        "ended; no page was written",
    ) as interrupts:
        best = epl.minimize(
            draws,
            args.loss,
            k=args.k,
            k_max=args.k_max,
            n_starts=args.n_starts,
            n_jobs=args.n_jobs,
            rng=args.seed,
            progress=not args.json,
            time_limit=args.time_limit,
        )
        best.report(
            draws,
            out,
            title=args.title,
            call=args.call,
            level=args.level,
            rng=args.seed,
            n_jobs=args.n_jobs,
            progress=not args.json,
            brief=best.interrupted,
        )
    data = {"out": str(out), "bytes": out.stat().st_size, **best.to_dict()}
    _answer(args, data, f"{best}\n  page written to {out}")
    return _INTERRUPTED if interrupts.count else 0


def _add_sample(commands: Commands) -> None:
    command = commands.add_parser(
        "sample",
        help="draw partitions from the posterior of a model",
        description=(
            "Draw partitions from the posterior of a model of the data in FILE (csv or npy). "
            "gaussian: one item a line, one number or several; sbm: a square matrix of 0 and 1, or "
            "edges in two columns, nodes counted from 0; lbm: a matrix of 0 and 1. Burn-in and "
            "thinning count single updates: a sweep over N items is N steps."
        ),
        epilog=(
            "Example: epluribus sample gaussian y.csv --out draws.npz && "
            "epluribus summarize draws.npz"
        ),
    )
    command.add_argument("model", choices=("gaussian", "sbm", "lbm"), help="the model")
    command.add_argument(
        "file", type=Path, metavar="FILE", help="file of data; - reads csv from standard input"
    )
    command.add_argument("--out", type=Path, required=True, help="write the draws there (.npz)")
    command.add_argument("--n-draws", type=int, help="draws kept of each chain (default: 1000)")
    command.add_argument("--burn-in", type=int, help="steps before them (default: a tenth of all)")
    command.add_argument("--thin", type=int, help="steps from draw to draw (default: one cycle)")
    command.add_argument("--n-chains", type=int, help="independent chains (default: 2)")
    command.add_argument("--k-max", type=int, help="largest number of clusters (default: 50)")
    command.add_argument(
        "--prior",
        default="uniform",
        help="on the number of components: uniform (default), poisson, geometric or fixed",
    )
    command.add_argument("--n-nodes", type=int, help="number of nodes, for the edges of an sbm")
    command.add_argument("--moves", default="default", help="default, or appendix: the paper's own")
    command.add_argument("--seed", type=int, help=_SEED)
    command.add_argument("--n-jobs", type=int, help="threads (default: one a chain, all cores)")
    command.add_argument("--checkpoint", type=Path, help="save the run there every minute")
    command.add_argument("--resume", type=Path, help="continue a checkpoint")
    _add_json(command)
    command.set_defaults(run=_sample)


def _sample(args: argparse.Namespace) -> int:
    from epluribus.models.read import read_model

    out = args.out
    check_target(out, (".npz",))
    options = {"prior": args.prior, "k_max": args.k_max}
    if args.n_nodes is not None:
        if args.model != "sbm":
            raise ValueError(
                f"'--n-nodes' is for the model 'sbm'; got '{args.model}'. Leave it out."
            )
        options["n_nodes"] = args.n_nodes
    trace = epl.sample(
        read_model(args.model, args.file, **options),
        n_draws=args.n_draws,
        burn_in=args.burn_in,
        thin=args.thin,
        n_chains=args.n_chains,
        moves=args.moves,
        rng=args.seed,
        n_jobs=args.n_jobs,
        progress=not args.json,
        checkpoint=args.checkpoint,
        resume=args.resume,
    )
    trace.save(out)
    _answer(args, trace.to_dict(), f"{trace}\n  draws written to {out}")
    if trace.interrupted:
        print("epluribus: interrupted; the draws so far are written", file=sys.stderr)
        return _INTERRUPTED
    return 0


def _add_reproduce(commands: Commands) -> None:
    command = commands.add_parser(
        "reproduce",
        help="carry out one of the paper's three applications",
        description=(
            "Carry out one of the paper's three applications: data, sampler, optimal partitions, "
            "tables and pictures, each fact that the paper states beside ours. Writes a folder with "
            "summary.md, labels.csv, draws.npz and the pictures."
        ),
        epilog="Example: epluribus reproduce congress --out votes",
    )
    command.add_argument("study", choices=("galaxies", "congress", "blogs"), help="which one")
    command.add_argument(
        "--data",
        type=Path,
        help="folder with the French blogs (default: EPLURIBUS_DATA, or fetched)",
    )
    command.add_argument("--out", type=Path, help="folder (default: epluribus-STUDY)")
    command.add_argument("--quick", action="store_true", help="short chains: seconds, not minutes")
    command.add_argument(
        "--as-printed",
        action="store_true",
        help="the settings printed in the paper, where others give its results",
    )
    command.add_argument("--seed", type=int, default=1, help="seed (default: 1)")
    command.add_argument("--n-jobs", type=int, help="threads (default: all cores)")
    _add_json(command)
    command.set_defaults(run=_reproduce)


def _reproduce(args: argparse.Namespace) -> int:
    from epluribus.studies import reproduce
    from epluribus.studies.study import check_folder

    folder = check_folder(args.out or Path(f"epluribus-{args.study}"))
    study = reproduce(
        args.study,
        data=args.data,
        quick=args.quick,
        as_printed=args.as_printed,
        rng=args.seed,
        n_jobs=args.n_jobs,
        progress=not args.json,
    )
    files = [path.name for path in study.write(folder)]
    facts = [dict(zip(study.facts.head, map(str, row), strict=True)) for row in study.facts.rows]
    _answer(
        args,
        {"study": study.name, "facts": facts, "folder": str(folder), "files": files},
        f"{study}\n\nWritten to {folder}: {', '.join(files)}",
    )
    return 0


def _add_demo(commands: Commands) -> None:
    command = commands.add_parser(
        "demo",
        help="a first look, in seconds: galaxies clustered by velocity",
        description=(
            "Sample partitions of the galaxies on board, find the best one, write pictures and a "
            "summary: the short setting of 'reproduce galaxies'."
        ),
        epilog="Example: epluribus demo --out first-look",
    )
    command.add_argument(
        "--out", type=Path, default=Path("epluribus-demo"), help="folder (default: epluribus-demo)"
    )
    command.set_defaults(run=_demo)


def _demo(args: argparse.Namespace) -> int:
    from epluribus.studies._galaxies import run_demo

    print(run_demo(args.out, progress=True))
    return 0


def _add_losses(commands: Commands) -> None:
    command = commands.add_parser(
        "losses",
        help="names of the losses, with a line on each",
        description="Names of the losses that --loss takes, with a line on each.",
        epilog="Example: epluribus losses",
    )
    _add_json(command)
    command.set_defaults(run=_losses)


def _losses(args: argparse.Namespace) -> int:
    _print_names(args, epl.losses.describe())
    return 0


def _add_datasets(commands: Commands) -> None:
    command = commands.add_parser(
        "datasets",
        help="names of the data sets, with a line on each",
        description=(
            "Names of the data of the paper's applications, with a line on each. "
            "'epluribus reproduce NAME' analyses them; in Python they are loaded by epl.datasets."
        ),
        epilog="Example: epluribus datasets",
    )
    _add_json(command)
    command.set_defaults(run=_datasets)


def _datasets(args: argparse.Namespace) -> int:
    _print_names(args, epl.datasets.describe())
    return 0


def _print_names(args: argparse.Namespace, lines: dict[str, str]) -> None:
    wide = max(map(len, lines))
    _answer(args, lines, "\n".join(f"{name:<{wide}}  {line}" for name, line in lines.items()))


def _add_completion(commands: Commands) -> None:
    command = commands.add_parser(
        "completion",
        help="print a script that completes commands in the shell",
        description="Print a script that completes commands and options with the tab key.",
        epilog=(
            'Example, in ~/.bashrc: eval "$(epluribus completion bash)"; '
            'in ~/.zshrc, after compinit: eval "$(epluribus completion zsh)"'
        ),
    )
    command.add_argument("shell", choices=("bash", "zsh"), help="which shell")
    command.set_defaults(run=_completion)


def _completion(args: argparse.Namespace) -> int:
    from epluribus.completion import completion_script

    print(completion_script(_parser(), args.shell))
    return 0
