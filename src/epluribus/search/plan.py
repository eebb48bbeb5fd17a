"""The starts that a search is asked to make: kinds, taken in turn, or labels that are given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, cycle
from typing import Any, NamedTuple

import numpy as np

from epluribus._typing import IntArray
from epluribus._validate import check_choice, check_count, quoted
from epluribus.partition import as_labels, is_estimate
from epluribus.search.phases import Start
from epluribus.search.starts import STARTS

# Kinds of starts in the order in which they are used, repeated if more are asked for. Recombination needs
# starts that are good and different, hence mostly draws; the greedy search takes the kinds of the paper.
_DEFAULT_STARTS = {
    "recombine": (
        "draws",
        "draws",
        "together",
        "draws",
        "draws",
        "sequential",
        "draws",
        "random",
        "noisy",
    ),
    "greedy": ("random", "noisy", "draws"),
}
_DEFAULT_N_STARTS = {"recombine": 6, "greedy": 9}


class Plan(NamedTuple):
    """The starts of a search."""

    first: tuple[Start, ...]
    """Starts made once, at the beginning: labels that were given."""
    kinds: tuple[Start, ...]
    """Kinds of starts made after them, in turn, as long as the search goes on."""
    n_starts: int
    """Number of starts, at least."""
    asked: bool = False
    """Whether that number, or labels to start from, were given."""

    def starts(self) -> Iterator[Start]:
        """The starts, without end."""
        return chain(self.first, cycle(self.kinds))


def check_starts(
    starts: Any, n_starts: int | None, search: str, n_items: int, disturbed: IntArray | None
) -> Plan:
    """The starts that are asked for."""
    wanted = None if n_starts is None else check_count(n_starts, "n_starts")
    first: tuple[Start, ...] = ()
    kinds: Sequence[str] = _DEFAULT_STARTS[search]
    if isinstance(starts, str):
        kinds = [check_choice(starts, STARTS, "starts")]
    elif starts is not None:
        rows = list(starts) if not is_estimate(starts) else [starts]
        if not rows:
            raise ValueError(
                f"'starts' must be one or more of {quoted(STARTS)}, or labels; it is empty."
            )
        # Strings may also be the labels of one partition: only names of kinds are taken as kinds.
        if all(isinstance(kind, str) and kind in STARTS for kind in rows):
            kinds = rows
        else:
            first = _given(starts, rows, n_items)
            # The paper's procedure starts from the given labels alone; they are repeated if need be.
            kinds = () if search == "greedy" else kinds
    made = tuple(Start(kind, base=disturbed if kind == "noisy" else None) for kind in kinds)
    n = len(first) or _DEFAULT_N_STARTS[search]
    return Plan(first, made or first, wanted or n, wanted is not None or bool(first))


def _given(starts: Any, rows: list[Any], n_items: int) -> tuple[Start, ...]:
    """The labels of one partition, or of one partition per row."""
    if hasattr(starts, "to_numpy"):  # a data frame iterates over its columns, not over its rows
        starts = starts.to_numpy()
        rows = list(starts)
    several = all(is_estimate(one) or np.ndim(one) > 0 for one in rows) and not is_estimate(starts)
    column = getattr(starts, "ndim", 1) == 2 and starts.shape[1] == 1 and n_items > 1
    partitions = rows if several and not column else [starts]
    return tuple(Start("given", as_labels(one, n_items, argument="starts")) for one in partitions)
