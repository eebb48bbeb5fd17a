"""Threads, the stop flag, and Ctrl-C: the one place where long work is started and ended.

Kernels release the GIL and check a flag from time to time. Python raises KeyboardInterrupt in the main thread,
between any two of its instructions. So this thread does none of the work and holds nothing that could be lost: it
starts another one, which hands out the tasks and collects the results, and waits. Ctrl-C sets the flag, and the
results so far are returned. Results do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from epluribus._validate import check_count, check_positive

T = TypeVar("T")

INTERRUPTED = 130
"""The exit code that shells report after Ctrl-C."""
_PATIENCE = 0.1
"""Seconds between two checks of the time limit while tasks run."""

NEVER = np.zeros(1, dtype=np.uint8)
"""A stop flag that is never set."""
NEVER.flags.writeable = False


class Stopper:
    """Ends work early, after a time limit or Ctrl-C.

    Parameters
    ----------
    time_limit : float, optional
        Seconds from now.
    patient : bool
        Whether a search uses the time that a limit gives it, or only ends there.

    Attributes
    ----------
    flag : ndarray of uint8, shape (1,)
        What kernels check: 1 if the work is to end. An array, because kernels share its memory.
    interrupted : bool
        Whether the work was ended by Ctrl-C.
    """

    def __init__(self, time_limit: float | None = None, *, patient: bool = True) -> None:
        limit = None if time_limit is None else check_positive(time_limit, "time_limit")
        self.flag = np.zeros(1, dtype=np.uint8)
        self.deadline = None if limit is None else time.perf_counter() + limit
        self.interrupted = False
        self.patient = patient and limit is not None

    @property
    def stopped(self) -> bool:
        """Whether the work is to end now; this also checks the time limit."""
        # Kernels cannot read the clock: the flag passes the end of the time on to them.
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            self.flag[0] = 1
        return bool(self.flag[0])

    @property
    def left(self) -> float | None:
        """Seconds until the time limit, at least 0; None without a limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.perf_counter())

    def interrupt(self) -> None:
        """End the work as soon as possible, keeping the results so far."""
        self.interrupted = True
        self.flag[0] = 1

    @contextmanager
    def for_a_share(self, share: float) -> Iterator[Stopper]:
        """A stopper for part of the work, which may use this share of the time that is left."""
        left = self.left
        part = Stopper(None if left is None else max(1e-9, share * left), patient=self.patient)
        part.interrupted, part.flag[0] = self.interrupted, self.flag[0]
        try:
            yield part
        finally:
            if part.interrupted:
                self.interrupt()

    def check(self) -> None:
        """Raise KeyboardInterrupt if Ctrl-C was caught: for callers to whom half the work is of no use."""
        if self.interrupted:
            raise KeyboardInterrupt


class Stopped(Exception):  # noqa: N818 - not an error: the work was ended early
    """A part of the work that is of no use unless it is whole was ended by the time limit or Ctrl-C."""


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads: all cores for None and for -1."""
    if n_jobs is not None and n_jobs != -1:
        return check_count(n_jobs, "n_jobs", way_out=" -1 means all cores.")
    # The cores that this process may use; in a container these may be fewer than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hearing(work: Callable[[], T], stopper: Stopper, *, leave: bool = False) -> T | None:
    """The result of `work()`; Ctrl-C meanwhile interrupts the stopper, and nothing is lost.

    With `leave`, for work that does not look at the flag: after Ctrl-C it is left to itself, and the result is None.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()  # Ctrl-C is not raised here
    begun, ended = threading.Lock(), threading.Lock()
    ended.acquire()
    found: list[Future[T]] = []

    def run() -> None:
        # Ctrl-C may come when a thread has begun but the main one does not know it: another one has nothing to do.
        if not begun.acquire(blocking=False):
            return
        future: Future[T] = Future()
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)
        found.append(future)
        ended.release()

    while not (found or (leave and stopper.interrupted)):
        try:
            if not begun.locked():
                # Work that is left to itself must not keep the program from ending.
                threading.Thread(target=run, daemon=leave).start()
            ended.acquire(timeout=_PATIENCE)
        except KeyboardInterrupt:
            stopper.interrupt()
    return found[0].result() if found else None


def run_tasks(
    tasks: Sequence[Callable[[], T]],
    *,
    n_jobs: int,
    stopper: Stopper,
    on_done: Callable[[T], Any] = lambda _: None,
    while_waiting: Callable[[], Any] = lambda: None,
) -> list[T]:
    """Run tasks in threads; return their results in the order of the tasks.

    Parameters
    ----------
    tasks : sequence of callables without arguments
        They must look at the flag of the stopper themselves.
    n_jobs : int
        Largest number of threads.
    stopper : Stopper
        What ends the work early. Tasks that have not begun by then are left out, except the first: there
        is always a result.
    on_done : callable
        Called with each result, in one thread, as soon as it is there.
    while_waiting : callable
        Called about ten times a second, in the same thread.
    """
    n_threads = min(n_jobs, max(1, len(tasks)))

    def work() -> list[T]:
        futures: list[Future[T]] = []
        pending: set[Future[T]] = set()
        queue = iter(tasks)
        with ThreadPoolExecutor(max_workers=n_threads) as pool:
            while True:
                if not (futures and stopper.stopped):
                    # Four for each thread at a time: waiting for thousands would itself take long.
                    some = islice(queue, 4 * n_threads - len(pending))
                    new = [pool.submit(task) for task in some]
                    futures += new
                    pending |= set(new)
                if not pending:
                    break
                done, pending = wait(pending, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
                for future in done:
                    if future.cancelled():
                        continue
                    # An exception is raised below, by `result`; until then the others would work in vain.
                    if future.exception() is None:
                        on_done(future.result())
                    else:
                        stopper.flag[0] = 1
                while_waiting()
                # `cancel` succeeds only for tasks that have not begun.
                if stopper.stopped:
                    pending -= {future for future in futures[1:] if future.cancel()}
        return [future.result() for future in futures if not future.cancelled()]

    return hearing(work, stopper) or []


def run_all(
    tasks: Sequence[Callable[[], T]],
    n_jobs: int = 1,
    stopper: Stopper | None = None,
    on_done: Callable[[T], Any] = lambda _: None,
) -> list[T]:
    """The results of all tasks, or of those begun before the time limit; Ctrl-C raises an exception."""
    watch = stopper or Stopper()
    found = run_tasks(tasks, n_jobs=n_jobs, stopper=watch, on_done=on_done)
    watch.check()
    return found


def finish(work: Callable[[], T]) -> T:
    """Do short work that one Ctrl-C does not stop: interrupted, it is simply done again."""
    try:
        return work()
    except KeyboardInterrupt:
        return work()


def parts(n: int, steps: float) -> Iterator[slice]:
    """Slices of range(n), each worth about a tenth of a second if one of the n takes `steps` steps.

    Examples
    --------
    >>> from epluribus._parallel import parts
    >>> list(parts(5, 4e7))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = int(max(1, 1e8 // max(1.0, steps)))
    return (slice(begin, min(begin + size, n)) for begin in range(0, n, size))
