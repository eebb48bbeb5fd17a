"""Threads, the stop flag, and Ctrl-C: the one place where long work is started and ended.

Kernels release the GIL and look at a flag. Long work runs in worker threads; the calling thread only
waits, because Python delivers Ctrl-C to the main thread, and only between two of its own instructions.
While it waits, Ctrl-C sets the flag instead of raising an exception at a place that nobody foresaw.
Results do not depend on the number of threads.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from epluribus._validate import check_count, check_positive

T = TypeVar("T")

INTERRUPTED = 130
"""The exit code that shells report after Ctrl-C."""
_PATIENCE = 0.1
"""Seconds between two looks at the clock while tasks run."""
_STEPS = 10**8
"""Steps of a kernel in one part of the work: about a tenth of a second."""

NEVER = np.zeros(1, dtype=np.uint8)
"""A stop flag that is never set."""
NEVER.flags.writeable = False


class Stopper:
    """Ends work early: by a time limit or by Ctrl-C. Kernels look at its `flag`."""

    def __init__(self, time_limit: float | None = None) -> None:
        limit = None if time_limit is None else check_positive(time_limit, "time_limit")
        self.flag = np.zeros(1, dtype=np.uint8)
        self.deadline = None if limit is None else time.perf_counter() + limit
        self.interrupted = False

    @property
    def stopped(self) -> bool:
        """Whether the work is to end now; looks at the clock."""
        if self.left == 0.0:
            self.flag[0] = 1
        return bool(self.flag[0])

    @property
    def left(self) -> float | None:
        """Seconds until the time limit, at least 0; None without a limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.perf_counter())

    def interrupt(self) -> None:
        """End the work as soon as possible, keeping what is there."""
        self.interrupted = True
        self.flag[0] = 1

    def check(self) -> None:
        """Raise the interrupt that was caught, where half the work is of no use."""
        if self.interrupted:
            raise KeyboardInterrupt


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads: all cores for None."""
    if n_jobs is not None:
        return check_count(n_jobs, "n_jobs", way_out=" None means all cores.")
    # The cores this process may use: fewer than the machine has, in a container.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _hearing(stopper: Stopper) -> Iterator[None]:
    """Within, a Ctrl-C that would raise KeyboardInterrupt interrupts the stopper instead."""
    before = signal.getsignal(signal.SIGINT)
    # Handlers belong to the main thread. One that cannot be called means that Ctrl-C is ignored.
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def heard(number: int, frame: Any) -> None:
        try:
            before(number, frame)
        except KeyboardInterrupt:
            stopper.interrupt()

    signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run_tasks(
    tasks: Sequence[Callable[[], T]],
    *,
    n_jobs: int,
    stopper: Stopper,
    on_done: Callable[[T], Any] = lambda _: None,
    while_waiting: Callable[[], Any] = lambda: None,
) -> list[T]:
    """Results in the order of the tasks.

    Tasks not begun when the work is stopped are left out, except the first: there is always a result.
    `while_waiting` is called about ten times a second, in the calling thread.
    """
    n_threads = min(n_jobs, max(1, len(tasks)))
    with _hearing(stopper), ThreadPoolExecutor(max_workers=n_threads) as pool:
        futures: list[Future[T]] = [pool.submit(task) for task in tasks]
        pending = set(futures)
        while pending:
            try:
                done, pending = wait(pending, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
                for future in done:
                    if future.cancelled():
                        continue
                    if future.exception() is None:
                        on_done(future.result())
                    else:
                        stopper.flag[0] = 1  # the others would work in vain
                while_waiting()
                if stopper.stopped:
                    pending -= {future for future in futures[1:] if future.cancel()}
            except KeyboardInterrupt:  # raised by a user's function that is told the progress
                stopper.interrupt()
    return [future.result() for future in futures if not future.cancelled()]


def run_all(
    tasks: Sequence[Callable[[], T]], n_jobs: int = 1, stopper: Stopper | None = None
) -> list[T]:
    """The results of all tasks, or of those begun before the time limit; Ctrl-C is raised."""
    watch = stopper or Stopper()
    found = run_tasks(tasks, n_jobs=n_jobs, stopper=watch)
    watch.check()
    return found


def run_apart(task: Callable[[], T], stopper: Stopper) -> T | None:
    """The result of a task that does not look at the flag; None after Ctrl-C, the task left to itself."""
    found: Future[T] = Future()

    def work() -> None:
        try:
            found.set_result(task())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            found.set_exception(error)

    with _hearing(stopper):
        threading.Thread(target=work, daemon=True).start()
        while not stopper.interrupted:
            try:
                return found.result(timeout=_PATIENCE)
            except TimeoutError:
                continue
    return None


def finish(work: Callable[[], T]) -> T:
    """Short work that one Ctrl-C does not stop: it is simply done again."""
    try:
        return work()
    except KeyboardInterrupt:
        return work()


def parts(n: int, steps: float) -> Iterator[slice]:
    """0..n in slices of about a tenth of a second, where each of the n takes `steps` steps."""
    size = int(max(1, _STEPS // max(1.0, steps)))
    return (slice(begin, min(begin + size, n)) for begin in range(0, n, size))


class Interrupts:
    """Ctrl-C on the command line: the first ends the work and keeps what is there, the second ends all."""

    def __init__(self, first: str, second: str) -> None:
        self.count = 0
        self._words = (first, second)
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        # A shell that starts a command in the background makes it ignore Ctrl-C: leave that alone.
        listening = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if listening and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _heard(self, *_: object) -> None:
        self.count += 1
        # Not by print: what was interrupted may itself be printing. Below a progress bar.
        start = "\n" if os.isatty(2) else ""
        os.write(2, f"{start}epluribus: {self._words[min(self.count, 2) - 1]}\n".encode())
        if self.count > 1:
            os._exit(INTERRUPTED)  # a normal exit would wait for threads that still work
        raise KeyboardInterrupt
