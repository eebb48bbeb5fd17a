"""Running independent tasks in threads: same results for any number, stoppable at any time.

Kernels release the GIL and look at a stop flag. The calling thread only waits, so that Ctrl-C
reaches it.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from epluribus._validate import check_count, check_positive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Stopper", "resolve_jobs", "run_tasks"]

T = TypeVar("T")

_PATIENCE = 0.1
"""Seconds between two looks at the clock while tasks run."""


class Stopper:
    """A flag that kernels see, set by a time limit or an interrupt."""

    def __init__(self, time_limit: float | None = None) -> None:
        limit = None if time_limit is None else check_positive(time_limit, "time_limit")
        self.flag = np.zeros(1, dtype=np.uint8)
        self.deadline = None if limit is None else time.perf_counter() + limit
        self.interrupted = False

    @property
    def stopped(self) -> bool:
        """Whether the work is to end now; looks at the clock."""
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            self.flag[0] = 1
        return bool(self.flag[0])

    def interrupt(self) -> None:
        """End the work as soon as possible, keeping what is there."""
        self.interrupted = True
        self.flag[0] = 1


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads: all cores for None."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return (
        cores if n_jobs is None else check_count(n_jobs, "n_jobs", way_out=" None means all cores.")
    )


def run_tasks(
    tasks: Sequence[Callable[[], T]],
    *,
    n_jobs: int,
    stopper: Stopper,
    on_done: Callable[[T], Any] = lambda _: None,
) -> list[T]:
    """Results in the order of the tasks.

    Tasks not begun when the work is stopped are left out, except the first: there is always a result.
    """
    futures: list[Future[T]] = []
    with ThreadPoolExecutor(max_workers=min(n_jobs, max(1, len(tasks)))) as pool:
        futures = [pool.submit(task) for task in tasks]
        pending = set(futures)
        while pending:
            try:
                done, pending = wait(pending, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
                for future in done:
                    if not future.cancelled() and future.exception() is None:
                        on_done(future.result())
                if stopper.stopped:
                    pending -= {future for future in futures[1:] if future.cancel()}
            except KeyboardInterrupt:
                stopper.interrupt()
    return [future.result() for future in futures if not future.cancelled()]
