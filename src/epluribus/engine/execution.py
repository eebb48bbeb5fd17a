"""What an execution offers to the engine, and its states: how they are copied."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.looks import Looks
from epluribus._typing import FloatArray, IntArray


class Swept(NamedTuple):
    """What a sweep did."""

    state: Any
    """The state; a new one if more room was needed."""
    n_moves: int
    """Number of moves."""
    complete: bool
    """Whether all items were visited: a sweep ends early only if the stopper of the settings says so."""
    change: float
    """Change of the total loss."""


_CHANGING = (
    "labels", "sizes", "n_clusters", "counts", "gain", "joint_sums", "size_sum", "total", "slope", "fold",
    "some_item", "after", "before", "n_of_size", "used_sizes", "place", "n_used",
)  # fmt: skip
"""Fields of a state that moves change, in any execution; the others are constant, or work arrays."""


class Execution(Protocol):
    """What holds the sample and makes states for the loops; see `_kernels/engine.py`."""

    steps: float
    """Steps of a sweep, roughly: how dear it is."""

    def start(self, labels: IntArray, *, room: int = 1, moves: bool = True) -> Any:
        """The state at `labels`, with room for `room` more clusters; without `moves`, for joins only."""

    def widened(self, state: Any) -> Any:
        """The same state with room for more clusters."""

    def narrowed(self, state: Any) -> Any:
        """The same partition in less memory, if many clusters have been closed."""

    def tilt(self, state: Any, row: Any) -> None:
        """Prepare quick glances at a loss that is not linear."""

    def joint(self, state: Any, f1: FloatArray) -> tuple[FloatArray, IntArray]:
        """Sum of f1 over the contingency table of each draw, and the number of its cells in use."""


def copied(state: Any, into: Any = None) -> Any:
    """An independent copy of a state; into another state of the same shape, if one is given."""
    keep = [name for name in _CHANGING if hasattr(state, name)]
    if into is None or any(
        getattr(into, name).shape != getattr(state, name).shape for name in keep
    ):
        looks = Looks(*(values.copy() for values in state.looks))
        return state._replace(looks=looks, **{name: getattr(state, name).copy() for name in keep})
    for name in keep:
        np.copyto(getattr(into, name), getattr(state, name))
    for new, old in zip(into.looks, state.looks, strict=True):
        np.copyto(new, old)
    return into


def changed_clusters(labels: IntArray, parent: IntArray) -> NDArray[np.uint8]:
    """(K,) for each cluster, 1 unless it is also a cluster of the other partition."""
    # All its items are where one of them is, and nothing else is there.
    there = np.empty(int(labels.max()) + 1, dtype=np.int64)
    there[labels] = parent
    split = np.zeros(len(there), dtype=np.uint8)
    split[labels[there[labels] != parent]] = 1
    split[np.bincount(labels) != np.bincount(parent)[there]] = 1
    return split
