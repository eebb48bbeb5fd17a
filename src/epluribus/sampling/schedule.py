"""The cycle of moves a chain repeats.

A *step*, the unit in which `burn_in` and `thin` count, is what the paper calls an iteration: one
Gibbs update of one item, or one proposal of another move. Every move leaves the posterior
invariant, so that a chain may be looked at after any step, in the middle of a sweep too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from epluribus._validate import check_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from epluribus._typing import IntArray
    from epluribus.models.base import Model

__all__ = ["SCHEDULES", "Move", "make_schedule"]

SCHEDULES = ("default", "appendix")
"""Cycles that have a name."""


class Move(ABC):
    """One kind of move, so many times in each cycle."""

    code: ClassVar[int]
    """Its number in the compiled loop."""

    @abstractmethod
    def n_steps(self, n_items: int) -> int:
        """Steps in one cycle."""


def make_schedule(moves: str | Sequence[Move], model: Model) -> IntArray:
    """Rows (side, move, steps) of one cycle.

    `default` is one Gibbs sweep and 5 split-merge proposals; for a model with two sides one sweep
    and 2 proposals for each. `appendix` is the paper's sampler alone, as many allocation proposals
    as there are items.
    """
    # Imported here: the moves import their base class from this module.
    from epluribus.sampling.allocation import Allocation
    from epluribus.sampling.gibbs import Gibbs
    from epluribus.sampling.split_merge import SplitMerge

    chosen: Sequence[Move]
    if isinstance(moves, str):
        check_choice(moves, SCHEDULES, "moves")
        default = (Gibbs(), SplitMerge(5 if len(model.sides) == 1 else 2))
        chosen = default if moves == "default" else (Allocation(),)
    else:
        chosen = tuple(moves)
        if not chosen or not all(isinstance(move, Move) for move in chosen):
            raise TypeError(
                "'moves' must be 'default', 'appendix' or a sequence of Gibbs(), SplitMerge() and "
                f"Allocation(); got {moves!r}."
            )
    rows = [
        (number, move.code, move.n_steps(side.n_items))
        for number, side in enumerate(model.sides)
        for move in chosen
    ]
    return np.array(rows, dtype=np.int64)
