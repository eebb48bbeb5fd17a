"""The one compiled loop of all samplers: moves in turn, draws kept, the best partition remembered.

A chain has one partition, or two for the latent block model (rows and columns): models, partitions
and records come as tuples with one entry a side. `schedule` lists the cycle of moves, one row
(side, move, steps) each. One *step* is one Gibbs update of one item or one proposal of another
move.

Running values collect rounding, so everything is recomputed from the labels every `REFRESH` steps,
counted from the beginning of the chain: results do not depend on how the steps are cut into calls.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from epluribus._kernels._jit import JIT_ENABLED, OPTIONS, kernel
from epluribus._kernels.allocation import allocation
from epluribus._kernels.chain import log_prior, rebuild
from epluribus._kernels.dispatch import part, routine
from epluribus._kernels.gibbs import gibbs
from epluribus._kernels.split_merge import split_merge

__all__ = [
    "ALLOCATION",
    "GIBBS",
    "KINDS",
    "REFRESH",
    "SPLIT_MERGE",
    "advance",
    "advance_for",
    "log_target",
]

GIBBS, SPLIT_MERGE, ALLOCATION = 0, 1, 2
KINDS = ("gibbs", "split", "merge", "transfer", "absorption", "ejection")
"""Rows of `Record.tally`."""
REFRESH = 1 << 16
"""Some 0.1 s of steps: a recomputation costs about one sweep, and rounding stays far below 1e-8."""


@part
def log_target(models: Any, partitions: Any) -> float:
    """Log prior plus log marginal likelihood, all statistics recomputed from the labels.

    The sides of a model share their statistics, so that the first side's are all.
    """
    value = rebuild(models[0], partitions[0])
    for side in range(len(partitions)):
        value += log_prior(partitions[side])
    return value


@part
def _one_step(move: int, item: int, m: Any, p: Any, rng: Any, tally: Any) -> float:
    if move == GIBBS:
        return gibbs(m, p, item, rng, tally)
    if move == SPLIT_MERGE:
        return split_merge(m, p, rng, tally)
    return allocation(m, p, rng, tally)


@routine
def _copy_best(partitions: Any, records: Any) -> None:
    for side in range(len(partitions)):
        p, r = partitions[side], records[side]
        for i in range(p.labels.size):
            r.best[i] = p.labels[i]


@routine
def _keep(partitions: Any, records: Any, row: int) -> None:
    for side in range(len(partitions)):
        p, r = partitions[side], records[side]
        for i in range(p.labels.size):
            r.labels[row, i] = p.labels[i]
        r.n_clusters[row] = p.n_clusters[0]


@kernel
def advance(
    models: Any,
    partitions: Any,
    records: Any,
    schedule: NDArray[np.int64],
    settings: NDArray[np.int64],  # burn_in, thin, step to stop after
    stop: NDArray[np.uint8],  # set to 1 from another thread to come back early
    rng: Any,
    clock: NDArray[np.int64],  # OUT steps done, row of `schedule`, steps of that row, draws kept
    running: NDArray[np.float64],  # OUT log target, the highest so far
    log_posterior: NDArray[np.float64],  # OUT of each draw in the records
) -> None:
    """Run the chain until the step is reached, the records are full, or `stop` is set."""
    burn_in, thin, until = settings[0], settings[1], settings[2]
    while clock[0] < until and clock[3] < log_posterior.size and stop[0] == 0:
        if clock[0] % REFRESH == 0:
            running[0] = log_target(models, partitions)
            if clock[0] == 0:
                running[1] = running[0]
                _copy_best(partitions, records)
        row = clock[1]
        side, move, length = schedule[row, 0], schedule[row, 1], schedule[row, 2]
        m, p, tally = models[side], partitions[side], records[side].tally
        done, begin = clock[0], clock[2]
        to_keep = thin - (done - burn_in) % thin if done >= burn_in else burn_in + thin - done
        n_steps = min(length - begin, until - done, to_keep, REFRESH - done % REFRESH)
        n_done = 0
        while n_done < n_steps and stop[0] == 0:
            item = (begin + n_done) % p.labels.size
            running[0] += _one_step(move, item, m, p, rng, tally)
            n_done += 1
            if running[0] > running[1] + 1e-9:  # more than rounding
                running[1] = running[0]
                _copy_best(partitions, records)
        clock[0] += n_done
        clock[2] += n_done
        if clock[2] == length:
            clock[2] = 0
            clock[1] = (row + 1) % schedule.shape[0]
        if n_done == to_keep:
            _keep(partitions, records, clock[3])
            log_posterior[clock[3]] = running[0]
            clock[3] += 1


@lru_cache(maxsize=1)
def _advance_uncached() -> Callable[..., None]:
    """The loop compiled anew in this process, nothing kept on disk."""
    compiled: Callable[..., None] = njit(nogil=True, **OPTIONS)(advance.py_func)
    return compiled


def advance_for(state: Any, *, compiled: bool) -> Callable[..., None]:
    """The loop for a model's state: compiled if it can be, kept on disk if it is one of ours.

    The index of the disk cache names the classes of all states it holds, and cannot be read where
    one of them is missing: a class from a notebook would make it useless for every other process.
    """
    if not JIT_ENABLED:
        return advance
    if not compiled:
        plain: Callable[..., None] = advance.py_func
        return plain
    ours = type(state).__module__.partition(".")[0] == __name__.partition(".")[0]
    return advance if ours else _advance_uncached()
