"""The command line: arguments and printing; no logic."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import epluribus as epl
from epluribus.io.files import check_target, read_labels, write_estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["main"]

_INTERRUPTED = 130  # what shells report after Ctrl-C
_BAD_INPUT = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0 fine, 2 bad input, 130 interrupted."""
    parser = _parser()
    args = parser.parse_args(arguments)
    try:
        return int(args.run(args))
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"epluribus: {_one_line(error)}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print("epluribus: interrupted", file=sys.stderr)
        return _INTERRUPTED


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
    _add_sample(commands)
    _add_reproduce(commands)
    _add_demo(commands)
    return parser


def _add_summarize(commands: Commands) -> None:
    command = commands.add_parser(
        "summarize",
        help="find the partition with the smallest expected loss",
        description=(
            "Find the partition with the smallest expected posterior loss. DRAWS holds one draw a row, "
            "one item a column (csv with any common delimiter, with or without header, npy, npz)."
        ),
        epilog="Example: epluribus summarize draws.csv --loss vi --out labels.csv",
    )
    command.add_argument("draws", type=Path, metavar="DRAWS", help="file of draws")
    command.add_argument(
        "--loss", default="vi", help=f"one of {', '.join(epl.losses.available())} (default: vi)"
    )
    command.add_argument("--k", type=int, help="exact number of clusters")
    command.add_argument("--k-max", type=int, help="largest number of clusters (default: no bound)")
    command.add_argument("--burn", type=int, default=0, help="draws to leave out at the beginning")
    command.add_argument("--thin", type=int, default=1, help="keep every THIN-th draw")
    command.add_argument("--var", help="name of the table in an npz file that has several")
    command.add_argument("--search", default="recombine", help="recombine (default) or greedy")
    command.add_argument("--n-starts", type=int, help="number of starts")
    command.add_argument("--seed", type=int, help="seed: the same gives the same answer")
    command.add_argument("--n-jobs", type=int, help="threads (default: all cores)")
    command.add_argument("--time-limit", type=float, help="seconds after which to stop")
    command.add_argument(
        "--out", type=Path, help="write the labels there (.csv, .txt, .npy or .json)"
    )
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=_summarize)


def _summarize(args: argparse.Namespace) -> int:
    draws = epl.Draws(args.draws, burn=args.burn, thin=args.thin, var=args.var)
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
    if args.out is not None:
        write_estimate(args.out, best)
    if args.json:
        print(json.dumps(best.to_dict()))
    else:
        print(best)
        if args.out is not None:
            print(f"  labels written to {args.out}")
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
            "line, or a csv whose last column holds the labels, as written by summarize --out."
        ),
    )
    command.add_argument("a", type=Path, metavar="A", help="labels of the estimate")
    command.add_argument("b", type=Path, metavar="B", help="labels to compare with")
    command.add_argument(
        "--loss", help=f"one of {', '.join(epl.losses.available())} (default: all of them)"
    )
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=_compare)


def _compare(args: argparse.Namespace) -> int:
    a, b = read_labels(args.a), read_labels(args.b)
    names = epl.losses.available() if args.loss is None else (args.loss,)
    values = {name: epl.loss(a, b, name) for name in names}
    if args.json:
        print(json.dumps(values))
    else:
        for name, value in values.items():
            print(f"{name:10s} {value:.6g}")
    return 0


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
    command.add_argument("file", type=Path, metavar="FILE", help="file of data")
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
    command.add_argument("--seed", type=int, help="seed: the same gives the same draws")
    command.add_argument("--n-jobs", type=int, help="threads (default: one a chain, all cores)")
    command.add_argument("--checkpoint", type=Path, help="save the run there every minute")
    command.add_argument("--resume", type=Path, help="continue a checkpoint")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=_sample)


def _sample(args: argparse.Namespace) -> int:
    from epluribus.models.read import read_model

    out = check_target(args.out, ".npz")
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
    print(json.dumps(trace.to_dict()) if args.json else f"{trace}\n  draws written to {out}")
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
    command.set_defaults(run=_reproduce)


def _reproduce(args: argparse.Namespace) -> int:
    from epluribus.studies import reproduce
    from epluribus.studies.folder import check_folder

    folder = check_folder(args.out or Path(f"epluribus-{args.study}"))
    study = reproduce(
        args.study,
        data=args.data,
        quick=args.quick,
        as_printed=args.as_printed,
        rng=args.seed,
        n_jobs=args.n_jobs,
        progress=True,
    )
    files = study.write(folder)
    print(f"{study}\n\nWritten to {folder}: {', '.join(path.name for path in files)}")
    return 0


def _add_demo(commands: Commands) -> None:
    command = commands.add_parser(
        "demo",
        help="a first look, in seconds: galaxies clustered by velocity",
        description=(
            "Sample partitions of the galaxies on board, find the best one, write pictures and a "
            "summary: the short setting of 'reproduce galaxies'."
        ),
    )
    command.add_argument(
        "--out", type=Path, default=Path("epluribus-demo"), help="folder (default: epluribus-demo)"
    )
    command.set_defaults(run=_demo)


def _demo(args: argparse.Namespace) -> int:
    from epluribus.studies.demo import run_demo

    print(run_demo(args.out, progress=True))
    return 0
