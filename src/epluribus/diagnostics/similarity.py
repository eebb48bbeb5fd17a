"""Rows of the posterior similarity matrix: how often items share a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from epluribus._parallel import Stopper
from epluribus._typing import FloatArray
from epluribus.draws import Draws
from epluribus.draws.rows import all_equal
from epluribus.draws.store import Slice
from epluribus.draws.together import Together

_REPEATS = 4
"""With this many draws per distinct partition it pays to compare distinct partitions, with weights."""


class Similarity:
    """Probabilities that items share a cluster, computed by rows on demand; threads may share it.

    Parameters
    ----------
    draws : Draws
        Labels are copied in the layout that the comparison needs; the matrix is not stored.

    Examples
    --------
    >>> from epluribus import Draws
    >>> from epluribus.diagnostics import Similarity
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
