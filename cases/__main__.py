"""Run case studies and write their pages: python -m cases [--out FOLDER] [NAME ...]."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

import matplotlib as mpl

from cases.shared import PAGES, write_page

NAMES = ("single_cells", "records", "prior")


def main() -> None:
    """Run the cases that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m cases", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}")
    parser.add_argument("--out", type=Path, default=PAGES, help="folder for pages and figures")
    args = parser.parse_args()
    unknown = set(args.names) - set(NAMES)
    if unknown:
        parser.error(f"NAME must be one of {', '.join(NAMES)}; got {', '.join(sorted(unknown))}.")
    mpl.use("agg")
    (args.out / "images").mkdir(parents=True, exist_ok=True)
    for name in args.names or NAMES:
        began = time.perf_counter()
        values = importlib.import_module(f"cases.{name}").run(args.out)
        page = write_page(name, values, args.out)
        sys.stdout.write(f"{name}: {time.perf_counter() - began:.0f} s, {page}\n")


if __name__ == "__main__":
    main()
