"""The operations of a device in plain NumPy: what those of a GPU must do, on any machine."""

import numpy as np

from epluribus._kernels.vector import BLOCK
from epluribus.engine.passes import blocks


class NumpyDevice:
    """The operations in plain NumPy: what those of a GPU must do."""

    name = "NumPy"

    def __init__(self, free=np.inf):
        self._free = free

    @property
    def free(self):
        """Bytes of memory that it pretends to have."""
        return self._free

    def put(self, array):
        """The array itself."""
        return np.asarray(array)

    def zeros(self, shape, dtype):
        """An array of zeros."""
        return np.zeros(shape, dtype=dtype)

    def get(self, array):
        """The array itself."""
        return array

    def add_costs(self, table, labels, gain, own, used, cost, own_cost):
        """Add what the draws of the table cost its items."""
        placed = np.flatnonzero(labels >= 0)
        for begin, end in blocks(table.shape[1], BLOCK):
            single = np.zeros((len(table), used), dtype=np.float32)
            for t in range(begin, end):
                single += gain[t, table[:, t], :used]
                own_cost[placed] += own[t, table[placed, t], labels[placed]]
            cost[:, :used] += single

    def find_gaps(self, cost, own, labels, rest):
        """Targets and gaps."""
        sizes, k, size = rest
        n, placed = len(cost), labels >= 0
        value = cost[:, : k + 1] + size[sizes[: k + 1]]
        value[np.flatnonzero(placed), labels[placed]] = np.inf
        # No new cluster for an item that is alone, or in no cluster.
        value[~placed | (sizes[labels] == 1), k] = np.inf
        target = value.argmin(axis=1)
        low = value[np.arange(n), target]
        value[np.arange(n), target] = np.inf
        stay = own + size[np.maximum(sizes[labels], 1) - 1]
        return np.where(np.isinf(low), -1, target), np.where(
            placed, low - stay, value.min(axis=1) - np.where(placed, 0.0, low)
        )

    def count(self, table, labels, counts):
        """Add the items of the table to contingency tables."""
        placed = np.flatnonzero(labels >= 0)
        for t in range(table.shape[1]):
            np.add.at(counts[t], (table[placed, t], labels[placed]), 1)
