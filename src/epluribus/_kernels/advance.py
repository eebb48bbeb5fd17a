"""The compiled loop of all samplers: makes the moves in turn, keeps draws, remembers the best partition.

A chain has one partition, or two for the latent block model (rows and columns): models, partitions and
records come as tuples with one entry per side. `schedule` lists the cycle of moves in rows (side, move,
steps). One *step* is one Gibbs update of one item, or one proposal of another move.

Running values collect rounding errors, so everything is recomputed from the labels every `REFRESH` steps,
counted from the beginning of the chain: results do not depend on how the steps are divided among calls.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from epluribus._kernels._jit import JIT_ENABLED, OPTIONS, kernel
from epluribus._kernels.chain import log_target
from epluribus._kernels.moves import GIBBS, SPLIT_MERGE, allocation, gibbs, split_merge
from epluribus._typing import FloatArray, IntArray

REFRESH = 1 << 16
"""About 0.1 s of steps: recomputing costs about one sweep, and rounding errors stay far below 1e-8."""


@kernel
def advance(
    models: Any,
    partitions: Any,
    records: Any,
    schedule: IntArray,
    settings: IntArray,  # burn_in, thin, step to stop after
    stop: NDArray[np.uint8],  # set to 1 by another thread to return early
    rng: Any,
    clock: IntArray,  # OUT steps done, row of `schedule`, steps of that row, draws kept
    running: FloatArray,  # OUT log target, the highest so far
    log_posterior: FloatArray,  # OUT of each draw in the records
) -> None:
    """Run the chain until the step is reached, the records are full, or `stop` is set."""
    burn_in, thin, until = settings[0], settings[1], settings[2]
    while clock[0] < until and clock[3] < log_posterior.size and stop[0] == 0:
        if clock[0] % REFRESH == 0:  # also at step 0, where the statistics are still empty
            running[0] = log_target(models, partitions)
            if clock[0] == 0:  # `best` of the records holds the first labels already
                running[1] = running[0]
        row = clock[1]
        side, move, length = schedule[row, 0], schedule[row, 1], schedule[row, 2]
        m, p, tally = models[side], partitions[side], records[side].tally
        done, begin = clock[0], clock[2]
        # Steps without interruption: to the end of the row, the next draw to keep, the next refresh.
        to_keep = thin - (done - burn_in) % thin if done >= burn_in else burn_in + thin - done
        n_steps = min(length - begin, until - done, to_keep, REFRESH - done % REFRESH)
        n_done = 0
        while n_done < n_steps and stop[0] == 0:
            item = (begin + n_done) % p.labels.size  # for Gibbs: sweeps visit the items in order
            # Not in a function of its own: that would be compiled, with all moves, once more.
            if move == GIBBS:
                running[0] += gibbs(m, p, item, rng, tally)
            elif move == SPLIT_MERGE:
                running[0] += split_merge(m, p, rng, tally)
            else:
                running[0] += allocation(m, p, rng, tally)
            n_done += 1
            if running[0] > running[1] + 1e-9:  # more than rounding errors
                running[1] = running[0]
                for q in range(len(partitions)):
                    for i in range(partitions[q].labels.size):
                        records[q].best[i] = partitions[q].labels[i]
        clock[0] += n_done
        clock[2] += n_done
        if clock[2] == length:  # on to the next move of the cycle
            clock[2] = 0
            clock[1] = (row + 1) % schedule.shape[0]
        if n_done == to_keep:  # this step ends a stretch of `thin` steps after the burn-in
            for q in range(len(partitions)):
                for i in range(partitions[q].labels.size):
                    records[q].labels[clock[3], i] = partitions[q].labels[i]
                records[q].n_clusters[clock[3]] = partitions[q].n_clusters[0]
            log_posterior[clock[3]] = running[0]
            clock[3] += 1


@lru_cache(maxsize=1)
def _advance_uncached() -> Callable[..., None]:
    """The loop compiled in this process only; nothing is kept on disk."""
    compiled: Callable[..., None] = njit(nogil=True, **OPTIONS)(advance.py_func)
    return compiled


def advance_for(state: Any, *, compiled: bool) -> Callable[..., None]:
    """The loop for a model's state: compiled if it can be, and kept on disk if the model is built in.

    The index of the disk cache names the classes of all states it holds, and cannot be read where one of
    them is missing: a class defined in a notebook would make it useless for every other process.
    """
    if not JIT_ENABLED:
        return advance
    if not compiled:  # models with Python inside: the same loop, interpreted
        plain: Callable[..., None] = advance.py_func
        return plain
    built_in = type(state).__module__.partition(".")[0] == __name__.partition(".")[0]
    return advance if built_in else _advance_uncached()
