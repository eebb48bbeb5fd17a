"""The compiled loop of all samplers: it makes the moves in turn, keeps draws and the best partition.

A chain has one partition, or two for the latent block model (rows and columns): states and records come in pairs, for
a model with one side twice the same. Each row of `schedule` is (side, move, number of steps, scans); the rows are
carried out in turn, over and over. One *step* is one Gibbs update of one item, or one proposal of another move.

Running values accumulate rounding errors, so everything is recomputed from the labels every `REFRESH`
steps, counted from the beginning of the chain: results do not depend on how the steps are divided among
calls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from numba import njit

from epluribus._kernels.jit import JIT_ENABLED, OPTIONS, kernel
from epluribus._kernels.likelihood import log_target
from epluribus._kernels.moves import (
    ALLOCATION,
    GIBBS,
    MARGIN,
    allocation,
    gibbs,
    split_merge,
)
from epluribus._kernels.states import COUNT, LABEL, by_address

REFRESH = 1 << 16
"""About 0.1 s of steps: recomputing costs about one sweep, and rounding errors stay far below 1e-8."""


@kernel
def advance(states, records, schedule, settings, stop, rng, clock, running, log_posterior):
    """Run the chain until the last step is reached, the records are full, or `stop` is set.

    settings (4,): steps of burn-in, steps from draw to draw, number of steps after which to stop, number of sides.
    stop (1,): another thread sets it to 1 to make this loop return early.
    clock (4,): OUT steps done, row of `schedule`, steps done of that row, draws kept.
    running (2,): OUT log target now, and the highest so far.
    log_posterior (capacity,): OUT log target of each draw in the records.

    A later call with the same arrays goes on where this one ended.
    """
    burn, thin, until, n_sides = settings[0], settings[1], settings[2], settings[3]
    while clock[0] < until and clock[3] < log_posterior.size and stop[0] == 0:
        if clock[0] % REFRESH == 0:  # also at step 0, where the statistics are still empty
            running[0] = log_target(states, n_sides)
            if clock[0] == 0:  # `best` of the records already holds the initial labels
                running[1] = running[0]
        row, done, begin = clock[1], clock[0], clock[2]
        move, length = schedule[row, 1], schedule[row, 2]
        m, tally = by_address(states[schedule[row, 0]]), records[schedule[row, 0]].tally
        # Draw number m is kept after burn + m thin steps, m = 1, 2, ...: steps to the next of these.
        to_keep = thin - (done - burn) % thin if done >= burn else burn + thin - done
        # Steps without interruption: to the end of the row, the next draw to keep, the next refresh.
        n_steps = min(length - begin, until - done, to_keep, REFRESH - done % REFRESH)
        n_done = 0
        while n_done < n_steps and stop[0] == 0:
            if move == GIBBS:  # sweeps visit the items in order
                n_done += gibbs(begin + n_done, n_steps - n_done, rng, tally, running, stop, m)
            elif move == ALLOCATION:
                running[0] += allocation(rng, tally, m)
            else:
                running[0] += split_merge(schedule[row, 3], rng, tally, m)
            n_done += move != GIBBS
            # A new best partition: labels of all sides belong to it.
            if running[0] > running[1] + MARGIN:
                running[1] = running[0]
                for side in range(n_sides):
                    for i in range(states[side].x.shape[0]):
                        records[side].best[i] = states[side].own[LABEL, i]
        clock[0] += n_done
        clock[2] += n_done
        if clock[2] == length:  # go on to the next row of the schedule
            clock[2] = 0
            clock[1] = (row + 1) % schedule.shape[0]
        # A draw to keep, on all sides. If `stop` cut the steps short, n_done is smaller.
        if n_done == to_keep:
            for side in range(n_sides):
                for i in range(states[side].x.shape[0]):
                    records[side].labels[clock[3], i] = states[side].own[LABEL, i]
                records[side].n_clusters[clock[3]] = states[side].own[COUNT, 0]
            log_posterior[clock[3]] = running[0]
            clock[3] += 1


@lru_cache(maxsize=1)
def _advance_uncached() -> Callable[..., None]:
    """The loop compiled for this process only: a function of the user cannot be kept on disk."""
    return njit(**OPTIONS)(advance.py_func)


def advance_for(model: Any, *, compiled: bool) -> Callable[..., None]:
    """The loop for the `model` of a state: kept on disk for a number, plain Python if it cannot be compiled."""
    if not JIT_ENABLED:
        return advance
    if not compiled:
        return advance.py_func
    return advance if isinstance(model, int) else _advance_uncached()
