"""How launches of split-merge are adapted to a model: during burn-in only, and frozen before the first draw.

A move that depends on the past of its chain is no longer exact, so nothing is adapted once draws are kept.
What is adapted depends on the chain alone, never on the clock: the same `rng` gives the same draws.
"""

from __future__ import annotations

import numpy as np

from epluribus._kernels.launch import CHOICES, SCANS, SHARE, TRIALS, WORK
from epluribus._typing import FloatArray, IntArray

_USUAL = 10
"""Scans as long as too few splits were accepted to say more."""
_TOLD = 10
"""Accepted splits that are enough to say more."""
_EFFORT = 3.0
"""Items that the scans of a cycle should visit, for each item of the data."""
_FIRST = 0.1
"""Share of splits in the first cycle."""
_RAREST = 0.005
"""The smallest share of splits among the proposals."""
REST = 4
"""One over the part of the burn-in of large networks in which only single nodes move. The clusters of a chain
that begins at random are all alike: they would be merged until two or three are left, at great cost. Single
nodes alone find most blocks, or parts of them, within 20 to 60 sweeps."""


def first_tuning(schedule: IntArray, *, rest: bool = False) -> FloatArray:
    """What launches begin with, one row for each row of the schedule: the scans asked for, or the usual ones.

    Parameters
    ----------
    schedule : ndarray of shape (rows, 4)
        Rows (side, move, steps, scans).
    rest : bool, default False
        Whether they do nothing until `tune` is called for the first time.
    """
    tuning = np.zeros((len(schedule), TRIALS + 2 * len(CHOICES)))
    tuning[:, SCANS] = np.where(schedule[:, 3] < 0, _USUAL, schedule[:, 3])
    tuning[:, SHARE] = 0.0 if rest else _FIRST
    return tuning


def tune(tuning: FloatArray, n_items: int, cycle: int, *, free: bool, last: bool) -> None:
    """Adapt the launches of one side to what the last cycle has shown.

    Splits are made rarer or more frequent until the scans of a cycle visit about `_EFFORT` times all items.
    If the number of scans is free, each of `CHOICES` is tried in turn, and the one with the most accepted
    splits per item scanned is kept.

    Parameters
    ----------
    tuning : ndarray
        Changed in place.
    n_items : int
        Number of items of the side.
    cycle : int
        Number of the cycle, which says what to try next.
    free : bool
        Whether the number of scans is to be chosen.
    last : bool
        Whether burn-in ends with the next cycle: nothing is tried any more.
    """
    if tuning[SHARE] == 0.0:  # the end of a rest: nothing has been learned yet
        tuning[SHARE] = _FIRST
        return
    # Quickly down, since too many splits cost time, and slowly up: one cycle says little if they are rare.
    factor = np.clip(_EFFORT * n_items / max(tuning[WORK], 1.0), 0.25, 1.25)
    tuning[SHARE] = np.clip(tuning[SHARE] * factor, _RAREST, 0.5)
    tuning[WORK] = 0.0
    if free:
        accepted, scanned = tuning[TRIALS:].reshape(-1, 2).T
        if not last:
            tuning[SCANS] = CHOICES[cycle % len(CHOICES)]
        elif accepted.sum() < _TOLD:
            tuning[SCANS] = _USUAL
        else:
            tuning[SCANS] = CHOICES[int(np.argmax(accepted / np.maximum(scanned, 1.0)))]
