"""What an execution offers to the engine, the part that two of them share, and how states are copied."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._kernels.looks import Looks
from epluribus._typing import FloatArray, IntArray
from epluribus.losses.values import sparse_sums


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
    "labels", "sizes", "n_clusters", "counts", "gain", "joint_sums", "size_sum", "size_sums", "total",
    "slope", "fold", "some_item", "after", "before", "n_of_size", "used_sizes", "place", "n_used",
    "inside",
)  # fmt: skip
"""Fields of a state that moves change, in any execution; the others are constant, or work arrays."""


_WORK = ("cost", "now", "rows", "single", "double", "other")
"""Work arrays of a state with tables."""


class Execution(Protocol):
    """What holds the sample and makes states for the loops; see `_kernels/engine.py`."""

    steps: float
    """Steps of a sweep, roughly: how dear it is."""
    skips: bool
    """Whether sweeps can tell which items certainly stay."""
    grows_with_draws: bool
    """Whether a sweep over more draws takes longer."""

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


class Roomy:
    """The part of an execution without tables: its states have room for as many clusters as items."""

    def __init__(self, table: NDArray[np.unsignedinteger[Any]], price: Price) -> None:
        self._table, self._price = table, price
        self._n_items, self._n_draws = table.shape

    def widened(self, state: Any) -> Any:
        """The state itself."""
        return state

    def narrowed(self, state: Any) -> Any:
        """The state itself: its size does not depend on the number of clusters."""
        return state

    def tilt(self, state: Any, row: Any) -> None:
        """Nothing: all costs are exact."""

    def joint(self, state: Any, f1: FloatArray) -> tuple[FloatArray, IntArray]:
        """Sum of f1 over the contingency table of each draw, and the number of its cells in use."""
        return sparse_sums(state.labels, self._table, int(self._table.max()) + 1, f1)


def copied(state: Any, into: Any = None) -> Any:
    """A copy of a state; into another state of the same shape, if one is given.

    The two share work arrays: they may be worked on in turn, but not at the same time in two threads.
    """
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


def with_own_work(state: Any) -> Any:
    """The same state with work arrays of its own, so that a second thread may look at it."""
    own = {name: np.empty_like(getattr(state, name)) for name in _WORK if hasattr(state, name)}
    return state._replace(**own)


def changed_clusters(labels: IntArray, parent: IntArray) -> NDArray[np.uint8]:
    """(K,) for each cluster, 1 unless it is also a cluster of the other partition."""
    # All its items are where one of them is, and nothing else is there.
    there = np.empty(int(labels.max()) + 1, dtype=np.int64)
    there[labels] = parent
    split = np.zeros(len(there), dtype=np.uint8)
    split[labels[there[labels] != parent]] = 1
    split[np.bincount(labels) != np.bincount(parent)[there]] = 1
    return split
