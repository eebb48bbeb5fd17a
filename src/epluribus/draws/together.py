"""How often items share a cluster: the weight of the draws, and its share, by rows or as a matrix."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.similarity import together_counts, together_weights
from epluribus._parallel import Stopper, run_all
from epluribus._typing import FloatArray
from epluribus.draws.draws import Draws
from epluribus.draws.rows import all_equal
from epluribus.draws.store import Slice
from epluribus.partition import read_only

_BLOCK_ROWS = 32
"""Rows of the matrix per task: their labels over a few thousand draws fit into a core's cache."""
_BLOCK_CELLS = 1 << 22
"""Largest number of entries of a block: 32 MB."""
_REPEATS = 4
"""With this many draws per distinct partition it pays to compare distinct partitions, with weights."""


class Together:
    """Weight of the draws in which items share a cluster; threads may share it.

    Parameters
    ----------
    table : ndarray of shape (n_items, n_draws)
        Labels, item-major. They are kept in the layout that the comparison needs.
    weights : ndarray of shape (n_draws,)

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.draws.together import Together
    >>> Together(np.array([[0, 0], [0, 1], [1, 1]], dtype=np.uint8), np.array([1.0, 1.0])).matrix(1)
    array([[2., 1., 0.],
           [1., 2., 1.],
           [0., 1., 2.]])
    """

    def __init__(self, table: NDArray[np.unsignedinteger[Any]], weights: FloatArray) -> None:
        self._weights, self._counted = weights, all_equal(weights)
        self._labels = read_only(np.ascontiguousarray(table if self._counted else table.T))
        self._n_items = table.shape[0]

    def __call__(self, begin: int, end: int, stop: int) -> FloatArray:
        """(end - begin, stop) weights for items begin..end-1 with items 0..stop-1."""
        shape = (end - begin, stop)
        if self._counted:  # integers: no rounding but that of the product
            counts = np.empty(shape, dtype=np.int32)
            together_counts(self._labels, begin, end, stop, counts)
            return self._weights[0] * counts
        out = np.empty(shape)
        together_weights(self._labels, self._weights, begin, end, stop, out)
        return out

    def matrix(
        self,
        n_jobs: int,
        stopper: Stopper | None = None,
        on_rows: Callable[[int], Any] = lambda _: None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """(n_items, n_items) weights for all items; `on_rows` is told how many rows each block has."""
        out = np.empty((self._n_items, self._n_items)) if out is None else out

        def fill(begin: int, end: int) -> int:
            # The lower triangle is computed and mirrored. Blocks do not overlap: threads need no lock.
            block = self(begin, end, end)
            out[begin:end, :end] = block
            out[:begin, begin:end] = block[:, :begin].T
            return end - begin

        map_blocks(self._n_items, fill, n_jobs, stopper, on_done=on_rows)
        return out


class Similarity:
    """Probabilities that items share a cluster, computed by rows on demand; threads may share it.

    Parameters
    ----------
    draws : Draws
        Labels are copied in the layout that the comparison needs; the matrix is not stored.

    Examples
    --------
    >>> from epluribus import Draws
    >>> from epluribus.draws.together import Similarity
    >>> Similarity(Draws([[0, 0, 1], [0, 1, 1]]))(1, 2, 3)  # item 1 with items 0, 1, 2
    array([[0.5, 1. , 0.5]])
    """

    def __init__(self, draws: Draws) -> None:
        weights = draws.draw_weights
        equal_weights = all_equal(weights)
        store, mass = draws.store, draws.weights
        if equal_weights:
            # Divided by the common weight they are integers, and sums of integers are exact.
            mass = draws.weights / weights[0]
        self._store, self._mass, self._total = store, mass, float(mass.sum())
        self._together: Together | None = None
        # Slices are compared one after the other, when rows are asked for.
        if store.in_one_piece:
            table = store.whole()
            # Counting equal labels, draw by draw, is quickest, unless partitions are repeated often.
            if equal_weights and draws.n_distinct < draws.n_draws < _REPEATS * draws.n_distinct:
                table, mass = table[:, draws.index], np.ones(draws.n_draws)
            self._together = Together(table, mass)
        self._seen: FloatArray | None = None
        if draws.has_missing:
            self._seen = (store.whole() > 0).astype(np.float64)

    def __call__(self, begin: int, end: int, stop: int) -> FloatArray:
        """(end - begin, stop) probabilities of items begin..end-1 with items 0..stop-1."""
        if self._seen is not None:
            return self._where_seen(begin, end, stop)
        if self._together is not None:
            return self._probability(self._together(begin, end, stop))
        sums = self._store.map(_slice_together, self._mass, begin, end, stop)
        return self._probability(sum(sums[1:], start=sums[0]))

    def matrix(
        self,
        n_jobs: int,
        stopper: Stopper | None = None,
        on_rows: Callable[[int], Any] = lambda _: None,
    ) -> FloatArray:
        """(n_items, n_items) all of them; `on_rows` is told how many rows each block has."""
        if self._seen is not None:
            out = self._where_seen(0, len(self._seen), len(self._seen))
            on_rows(len(out))
            return out
        together = self._together or Together(self._store.whole(), self._mass)
        out = self._probability(together.matrix(n_jobs, stopper, on_rows))
        # An item is always with itself; sums of weights may have been rounded.
        np.fill_diagonal(out, 1.0)
        return out

    def _where_seen(self, begin: int, end: int, stop: int) -> FloatArray:
        """The same where labels are missing: among the draws that have seen both; NaN if none has."""
        assert self._seen is not None
        mine, theirs = self._seen[begin:end], self._seen[:stop]
        together = Together(self._store.whole(), self._mass)(begin, end, stop)
        # Two missing labels are equal as well, but not together.
        together -= ((1.0 - mine) * self._mass) @ (1.0 - theirs).T
        both = (mine * self._mass) @ theirs.T
        out = np.full(both.shape, np.nan)
        np.divide(together, both, out=out, where=both > 0)
        return np.clip(out, 0.0, 1.0, out=out)

    def _probability(self, weight: FloatArray) -> FloatArray:
        weight /= self._total
        return np.minimum(weight, 1.0, out=weight)  # rounding of weights may exceed 1


def _slice_together(part: Slice, mass: FloatArray, begin: int, end: int, stop: int) -> FloatArray:
    """Weight of the draws of one slice in which items share a cluster."""
    return Together(part.table, mass[part.columns])(begin, end, stop)


def map_blocks(
    n_items: int,
    task: Callable[[int, int], Any],
    n_jobs: int,
    stopper: Stopper | None = None,
    *,
    step: int = 1,
    on_done: Callable[[Any], Any] = lambda _: None,
) -> list[Any]:
    """`task(begin, end)` for every block of items, or every `step`-th one, in threads; results in order.

    Blocks that have not begun when the time of `stopper` is up are left out, except the first. `on_done` is
    called with each result, in the calling thread.
    """
    # Fewer rows where they are long, so that a block of each thread fits in memory.
    rows = max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // n_items))
    begins = range(0, n_items, rows * step)
    tasks = [partial(task, begin, min(begin + rows, n_items)) for begin in begins]
    return run_all(tasks, n_jobs, stopper, on_done)
