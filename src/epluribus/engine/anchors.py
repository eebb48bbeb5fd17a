"""Items that stay where they are, summed up: one *anchor* stands for all of them in a cluster.

With very many items nearly all are far from moving. The few that are not are the *free* items of an engine;
the others are only counted. An anchor counts in every draw what its items would count, so that the costs of
free items, the values and the joins of clusters are exactly those of the whole sample. In the labels of a
state the anchors follow the free items, one entry each; sweeps never move them, joins take them along.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.partitions import count_tables
from epluribus._typing import FloatArray, IntArray
from epluribus.losses.values import GroupSums
from epluribus.partition import read_only


class Anchors(NamedTuple):
    """The items of K clusters that stay."""

    counts: NDArray[np.int32]
    """(n_draws, groups, K) how many of them each group of each draw has."""
    sizes: IntArray
    """(K,) their number."""

    def without(self, rows: NDArray[np.unsignedinteger[Any]], labels: IntArray) -> Anchors:
        """The anchors without items that have these labels, and these labels in the draws."""
        counts = np.zeros_like(self.counts)
        count_tables(read_only(rows), 0, rows.shape[1], labels, counts)
        np.subtract(self.counts, counts, out=counts)
        return Anchors(counts, self.sizes - np.bincount(labels, minlength=len(self.sizes)))

    def add_to(self, counts: NDArray[np.integer[Any]], sizes: IntArray, labels: IntArray) -> None:
        """Add them to tables and sizes in which anchor s belongs to cluster labels[s]."""
        # Sums fit: the type of the tables holds the number of all items.
        own = self.counts.astype(counts.dtype, copy=False)
        if (labels == np.arange(len(labels))).all():  # nearly always, and much quicker
            counts[:, :, : len(labels)] += own
        else:
            for s, into in enumerate(labels):
                counts[:, :, into] += own[:, :, s]
        np.add.at(sizes, labels, self.sizes)

    def group_sums(self, rows: NDArray[np.unsignedinteger[Any]], f3: FloatArray) -> GroupSums:
        """Sum of f3 over the clusters of each draw, and their number, with the free items in `rows`."""
        sizes = np.zeros((*self.counts.shape[:2], 1), dtype=np.int32)
        one = np.zeros(len(rows), dtype=np.int64)
        count_tables(read_only(rows), 0, rows.shape[1], one, sizes)
        total = sizes[:, :, 0] + self.counts.sum(axis=2)
        return GroupSums(np.where(total > 0, f3[total], 0.0).sum(axis=1), (total > 0).sum(axis=1))


NO_ANCHORS = Anchors(np.empty((0, 0, 0), dtype=np.int32), np.empty(0, dtype=np.int64))
"""All items are free."""
