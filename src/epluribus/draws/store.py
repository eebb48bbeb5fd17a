"""Where the labels of the distinct draws are: one table in memory, or slices on the workers of a cluster.

Labels are item-major, one item per row. Work on a sample is a function of a slice of draws, called for every
slice, whose results are put together: `Store.map`. A table in memory is a single slice; see `dask_store` for
the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._parallel import Stopper
from epluribus._typing import IntArray

Labels = NDArray[np.unsignedinteger[Any]]


class Slice(NamedTuple):
    """Some of the distinct draws."""

    begin: int
    """Number of its first distinct draw."""
    table: Labels
    """(n_items, n) canonical labels of these draws, item-major, C-contiguous. The type is the smallest that
    holds them, and may differ from slice to slice."""

    @property
    def columns(self) -> slice:
        """The numbers of its draws among all distinct draws."""
        return slice(self.begin, self.begin + self.table.shape[1])

    def own(self, numbers: IntArray) -> IntArray:
        """Which of the numbers, by their places among them, are of draws in this slice."""
        return np.flatnonzero((numbers >= self.columns.start) & (numbers < self.columns.stop))


class Store:
    """The labels of all distinct draws: here one table in memory.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_distinct)
        Canonical labels, item-major and contiguous. It can no longer be written to: views are handed out.
    groups : int
        The largest number of clusters of a draw; one more if labels are missing.

    Examples
    --------
    >>> import numpy as np
    >>> store = Store(np.array([[0, 0, 0], [0, 1, 1]], np.uint8), 2)
    >>> store.rows(np.array([1])).tolist(), store.columns(np.array([2, 0])).tolist()
    ([[0, 1, 1]], [[0, 0], [1, 0]])
    >>> store.map(lambda part: part.table.shape)
    [(2, 3)]
    """

    in_one_piece = True
    """Whether all labels are one table in memory, see `whole`."""

    def __init__(self, table: Labels, groups: int) -> None:
        table.flags.writeable = False
        self._table = table
        self.n_items, self.n_distinct, self.groups = *table.shape, groups

    def map(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """`function(slice, *args)` for every slice, results in order; the function is one of a module."""
        return [function(Slice(0, self._table), *args)]

    def reduce(self, function: Callable[..., Any], combine: Callable[..., Any], *args: Any) -> Any:
        """`combine(results, *args)`, where the results are those of `map`; also where the draws are."""
        return combine(self.map(function, *args), *args)

    def share(self, value: Any) -> Any:
        """An argument for many calls of `map` and `reduce`: it travels to the draws once."""
        return value

    def hearing(self, stopper: Stopper) -> Store:  # noqa: ARG002
        """The same store, in which waiting ends at the time limit, or after Ctrl-C."""
        return self

    def rows(self, items: IntArray) -> Labels:
        """(len(items), n_distinct) labels of some items."""
        return self._table[items]

    def columns(self, numbers: IntArray) -> Labels:
        """(n_items, len(numbers)) labels of some distinct draws."""
        return self._table.take(numbers, axis=1)  # four times as fast as an index

    def whole(self) -> Labels:
        """(n_items, n_distinct) all labels."""
        return self._table

    def select(self, numbers: IntArray, n_clusters: IntArray) -> Store:
        """A store of some of the draws, with their numbers of clusters."""
        return Store(self.columns(numbers), int(n_clusters.max()))
