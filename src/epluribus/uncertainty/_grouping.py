"""Draws that look alike from an item are put into a group: its rows are then over groups, not over draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.draw_groups import mean_of_groups, split_draws
from epluribus._typing import AnyArray, FloatArray, IntArray

_ROWS = 6
"""Rows of an item that its groups are made for: the cheapest ones."""


class Grouping:
    """Fills the groups of items begin..end-1 when called.

    Parameters
    ----------
    labels : ndarray of shape (n_draws, n_items)
        The distinct draws.
    shares : ndarray of shape (n_draws,)
        Their probabilities, all above 0.
    reference : ndarray of shape (n_items,)
        A good partition: draws are alike if they have the same part of its clusters with the item.
    groups : ndarray of shape (n_items, n_groups, n_items)
        OUT: in which share of the draws of a group the others are with the item.
    weights : ndarray of shape (n_items, n_groups)
        OUT: the share of the group.
    """

    def __init__(
        self,
        labels: AnyArray,
        shares: FloatArray,
        reference: IntArray,
        groups: AnyArray,
        weights: FloatArray,
    ) -> None:
        self.labels, self.shares, self.reference = labels, shares, reference
        self.groups, self.weights = groups, weights
        self.at = np.arange(len(shares))
        # (n_draws, clusters of the draw, clusters of the reference) numbers of items
        shape = (len(shares), int(labels.max()) + 1, int(reference.max()) + 1)
        self.counts = np.zeros(shape, dtype=np.int32)
        np.add.at(self.counts, (self.at[:, None], labels, reference), 1)

    def __call__(
        self,
        begin: int,
        end: int,
        *,
        stop: NDArray[np.uint8],
        x: AnyArray | None,
        values: FloatArray | None,
    ) -> None:
        """Group the draws for a range of items; `x` and `values` are their rows, if there are any yet."""
        n_draws, limit = len(self.shares), self.groups.shape[1]
        order, starts = np.empty(n_draws, dtype=np.int64), np.empty(limit + 1, dtype=np.int64)
        score, axis = np.empty(limit), np.empty(limit, dtype=np.int64)
        sums = np.empty(self.labels.shape[1])
        for i in range(begin, end):
            n = 0
            if not stop[0]:
                features = self._features(i, x, values)
                n = split_draws(features, self.shares, limit, order, starts, score, axis)
            mean_of_groups(
                self.labels, i, self.shares, order, starts, n, self.groups[i], self.weights[i], sums
            )

    def _features(self, i: int, x: AnyArray | None, values: FloatArray | None) -> FloatArray:
        """(n_draws, n_features) logarithms of how many items of some sets are with item i."""
        # Its own cluster in the reference, that with one more cluster, and everything.
        cells = self.counts[self.at, self.labels[:, i]].astype(np.float64)
        own = cells[:, self.reference[i]][:, None].copy()
        numbers = [own, cells + own, cells.sum(axis=1)[:, None]]
        if x is not None and values is not None:
            rows = x[i, np.argsort(values[i], kind="stable")[:_ROWS]]
            together = self.labels == self.labels[:, i][:, None]
            numbers.append(np.einsum("tj,rj->tr", together, rows).astype(np.float64))
        return np.log2(np.maximum(1.0, np.concatenate(numbers, axis=1)))
