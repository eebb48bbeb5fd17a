"""Work that Ctrl-C ends at once: all of it is done, or `KeyboardInterrupt` is raised.

A signal reaches Python between two of its own instructions, so no call of a kernel may take long
in the calling thread: long work goes to threads, or in parts of about a tenth of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from epluribus._parallel import Stopper, run_tasks
from epluribus.losses.expected import loss_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from epluribus._typing import IntArray
    from epluribus.draws import Draws
    from epluribus.losses.base import Loss

__all__ = ["check_interrupt", "draw_losses", "parts", "run_all"]

T = TypeVar("T")

_STEPS = 10**8
"""Steps of a kernel in one part: about a tenth of a second."""


def run_all(
    tasks: Sequence[Callable[[], T]], n_jobs: int = 1, stopper: Stopper | None = None
) -> list[T]:
    """The results of all tasks, in threads; never of some of them."""
    watch = stopper or Stopper()
    found = run_tasks(tasks, n_jobs=n_jobs, stopper=watch)
    check_interrupt(watch)
    return found


def check_interrupt(stopper: Stopper) -> None:
    """Raise what `run_tasks` caught."""
    if stopper.interrupted:
        raise KeyboardInterrupt


def parts(n: int, steps: float) -> Iterator[slice]:
    """0..n in slices of about a tenth of a second, each of the n taking so many steps."""
    size = int(max(1, _STEPS // max(1.0, steps)))
    return (slice(begin, min(begin + size, n)) for begin in range(0, n, size))


def draw_losses(labels: IntArray, draws: Draws, loss: Loss) -> NDArray[np.float64]:
    """`loss_values` of all distinct draws, in parts."""
    table = draws.item_major
    groups = int(draws.n_clusters.max())
    slices = list(parts(table.shape[1], table.shape[0] + groups * (int(labels.max()) + 1)))
    if len(slices) == 1:
        return loss_values(labels, draws, loss)
    columns = (np.ascontiguousarray(table[:, part]) for part in slices)
    return np.concatenate([loss_values(labels, column, loss) for column in columns])
