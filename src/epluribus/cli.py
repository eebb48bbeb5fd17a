"""The command line: arguments and printing; no logic."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import epluribus as epl
from epluribus.io.files import read_labels, write_estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    _add_demo(commands)
    return parser


def _add_summarize(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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


def _add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "demo",
        help="summarize draws on board and write a picture",
        description="Summarize posterior draws of the galaxy data and write a picture.",
    )
    command.add_argument(
        "--out", type=Path, default=Path("epluribus-demo"), help="folder (default: epluribus-demo)"
    )
    command.set_defaults(run=_demo)


def _demo(args: argparse.Namespace) -> int:
    from epluribus.studies.demo import run_demo

    print(run_demo(args.out))
    return 0
