"""Run the fuzzer: ``python tests/fuzz/run_fuzz.py --cases 50000 --seed 0``, as `make fuzz` does.

The cases are dealt out to the four targets in rounds. A failure is shown with the smallest case that
hypothesis finds; the next round goes on. The same seed gives the same cases. A round that hangs, or crashes
the process, leaves a traceback of where it was.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
import traceback
from contextlib import chdir
from functools import partial
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, given, seed, settings

import fuzz_calls
import fuzz_files

TARGETS = (
    (4, fuzz_files.damaged_files, fuzz_files.DAMAGED),
    (3, fuzz_files.any_text, fuzz_files.TEXTS),
    (4, fuzz_calls.any_call, fuzz_calls.CALLS),
    (1, fuzz_calls.any_command, fuzz_calls.COMMANDS),
)
"""Shares of the cases, what is tried, and the strategies of its arguments."""
ROUND = 1000
"""Cases of all targets in a round."""
HANGS = 3000
"""Seconds after which a round of one target, a few hundred cases, is taken to hang."""


def fuzz(cases: int, first: int, show=print) -> list[str]:
    """Run the targets; the failures as text."""
    failures: list[str] = []
    total, begin = sum(share for share, _, _ in TARGETS), time.process_time()
    options = {"deadline": None, "database": None, "derandomize": False}
    options |= {
        "phases": (Phase.generate, Phase.shrink),
        "suppress_health_check": list(HealthCheck),
    }
    for number, done in enumerate(range(0, cases, ROUND)):
        for share, target, strategies in TARGETS:
            n = max(1, min(ROUND, cases - done) * share // total)
            case = seed(first + number)(given(*strategies)(target))
            faulthandler.dump_traceback_later(HANGS, exit=True)
            try:
                # Commands write files under any name into the folder where they run.
                with TemporaryDirectory() as folder, chdir(folder):
                    settings(max_examples=n, **options)(case)()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
                failures.append(f"{target.__name__}, seed {first + number}: {describe(error)}")
                show(failures[-1])
        faulthandler.cancel_dump_traceback_later()
        spent = time.process_time() - begin
        show(f"{min(done + ROUND, cases):,} cases, {len(failures)} failures, {spent:.0f} s of CPU")
    return failures


def describe(error: BaseException) -> str:
    """The error, the line that raised it, and the smallest case that does; of several, all."""
    if isinstance(error, BaseExceptionGroup):
        return "\n".join(map(describe, error.exceptions))
    at = traceback.extract_tb((error.__context__ or error).__traceback__)[-1]
    case = " | ".join(getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {error}\n  at {at.filename}:{at.lineno}\n  {case}"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    faulthandler.enable()
    print(f"seed {args.seed}", flush=True)
    failures = fuzz(args.cases, args.seed, show=partial(print, flush=True))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
