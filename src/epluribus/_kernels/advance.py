"""The compiled loop of all samplers: it makes the moves in turn, keeps draws and the best partition.

A chain has one partition, or two for the latent block model (rows and columns): models, partitions and
records come as tuples with one entry per side. Each row of `schedule` is (side, move, number of steps,
scans); the rows are carried out in turn, over and over. One *step* is one Gibbs update of one item, or one
proposal of another move.

Running values accumulate rounding errors, so everything is recomputed from the labels every `REFRESH`
steps, counted from the beginning of the chain: results do not depend on how the steps are divided among
calls.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from epluribus._kernels._jit import JIT_ENABLED, KERNEL, kernel
from epluribus._kernels.chain import log_target
from epluribus._kernels.moves import (
    ALLOCATION,
    GIBBS,
    INFORMED,
    LAUNCH,
    REGROUP,
    SPLIT_MERGE,
    allocation,
    gibbs,
    informed,
)
from epluribus._kernels.regroup import regroup
from epluribus._kernels.split_merge import launch, split_merge
from epluribus._typing import FloatArray, IntArray

REFRESH = 1 << 16
"""About 0.1 s of steps: recomputing costs about one sweep, and rounding errors stay far below 1e-8."""


@kernel
def advance(
    models: Any,
    partitions: Any,
    records: Any,
    schedule: IntArray,
    settings: IntArray,  # burn_in, thin, number of steps after which to stop
    stop: NDArray[np.uint8],  # another thread sets it to 1 to make this loop return early
    rng: Any,
    clock: IntArray,  # OUT steps done, row of `schedule`, steps done of that row, draws kept, tuning due
    running: FloatArray,  # OUT log target now, and the highest so far
    tuning: FloatArray,  # OUT what launches know, one row for each row of `schedule`
    log_posterior: FloatArray,  # OUT log target of each draw in the records
    sequential: Any,  # None if there is no SPLIT_MERGE in the schedule: it is not compiled then
    launching: Any,  # the same for LAUNCH
    allocating: Any,  # the same for ALLOCATION
    guessing: Any,  # the same for INFORMED
    regrouping: Any,  # the same for REGROUP
) -> None:
    """Run the chain until the last step is reached, the records are full, or `stop` is set.

    A later call with the same arrays goes on where this one ended. During burn-in the loop also returns
    after each row of moves with a launch: `clock[4]` is then the number of the row plus 1, for `tune` to
    look at.
    """
    burn_in, thin, until = settings[0], settings[1], settings[2]
    while clock[0] < until and clock[3] < log_posterior.size and stop[0] + clock[4] == 0:
        if clock[0] % REFRESH == 0:  # also at step 0, where the statistics are still empty
            running[0] = log_target(models, partitions)
            if clock[0] == 0:  # `best` of the records already holds the initial labels
                running[1] = running[0]
        row = clock[1]
        side, move, length = schedule[row, 0], schedule[row, 1], schedule[row, 2]
        m, p, tally = models[side], partitions[side], records[side].tally
        done, begin = clock[0], clock[2]
        # Draw number m is kept after burn_in + m thin steps, m = 1, 2, ...: steps to the next of these.
        to_keep = thin - (done - burn_in) % thin if done >= burn_in else burn_in + thin - done
        # Steps without interruption: to the end of the row, the next draw to keep, the next refresh.
        n_steps = min(length - begin, until - done, to_keep, REFRESH - done % REFRESH)
        n_done = 0
        while n_done < n_steps and stop[0] == 0:
            item = (begin + n_done) % p.labels.size  # sweeps visit the items in order
            # Not moved to a separate function, which would compile all moves a second time.
            if move == GIBBS:
                running[0] += gibbs(m, p, item, rng, tally)
            if sequential is not None:  # noqa: SIM102 - alone, so that Numba leaves the branch out
                if move == SPLIT_MERGE:
                    running[0] += split_merge(m, p, rng, tally)
            if launching is not None:  # noqa: SIM102 - alone, so that Numba leaves the branch out
                if move == LAUNCH:
                    running[0] += launch(m, p, rng, tally, tuning[row])
            if allocating is not None:  # noqa: SIM102 - alone, so that Numba leaves the branch out
                if move == ALLOCATION:
                    running[0] += allocation(m, p, rng, tally)
            if guessing is not None:  # noqa: SIM102 - alone, so that Numba leaves the branch out
                if move == INFORMED:
                    running[0] += informed(m, p, item, rng, tally)
            if regrouping is not None:  # noqa: SIM102 - alone, so that Numba leaves the branch out
                if move == REGROUP:
                    running[0] += regroup(m, p, rng, tally, tuning[row])
            n_done += 1
            # A new best partition, by more than rounding errors: labels of all sides belong to it.
            if running[0] > running[1] + 1e-9:
                running[1] = running[0]
                for q in range(len(partitions)):
                    for i in range(partitions[q].labels.size):
                        records[q].best[i] = partitions[q].labels[i]
        clock[0] += n_done
        clock[2] += n_done
        if clock[2] == length:  # go on to the next row of the schedule
            clock[2] = 0
            clock[1] = (row + 1) % schedule.shape[0]
            if (move == LAUNCH or move == REGROUP) and clock[0] < burn_in:  # noqa: SIM109
                clock[4] = row + 1
        # A draw to keep, on all sides. If `stop` cut the steps short, n_done is smaller.
        if n_done == to_keep:
            for q in range(len(partitions)):
                for i in range(partitions[q].labels.size):
                    records[q].labels[clock[3], i] = partitions[q].labels[i]
                records[q].n_clusters[clock[3]] = partitions[q].n_clusters[0]
            log_posterior[clock[3]] = running[0]
            clock[3] += 1


@lru_cache(maxsize=1)
def _advance_uncached() -> Callable[..., None]:
    """The loop compiled in this process only; nothing is kept on disk."""
    compiled: Callable[..., None] = njit(**KERNEL)(advance.py_func)
    return compiled


def advance_for(state: Any, *, compiled: bool) -> Callable[..., None]:
    """The loop for a model's state: compiled if it can be, and kept on disk if the model is built in.

    The index of the disk cache refers to the classes of all states it holds, and cannot be read where one
    of them is missing: a class defined in a notebook would make it useless for every other process.
    """
    if not JIT_ENABLED:
        return advance
    if not compiled:  # a model written in plain Python: the same loop, interpreted
        plain: Callable[..., None] = advance.py_func
        return plain
    built_in = type(state).__module__.partition(".")[0] == __name__.partition(".")[0]
    return advance if built_in else _advance_uncached()
