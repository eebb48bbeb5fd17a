"""The cheapest ways to divide sets of items into clusters, for a few items.

A set of items is a number whose bit i is item i. If what a cluster costs does not depend on the others, the
best division of a set is that cluster of its first item which costs least together with the best division of
the rest: a recursion over all 2^N sets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from epluribus._typing import FloatArray, IntArray


class Divisions(NamedTuple):
    """The best division of every set into every number of clusters."""

    least: FloatArray
    """(most + 1, 2**n_items) smallest cost of each set in this many clusters; infinite if there is no way."""
    first: IntArray
    """(most + 1, 2**n_items) the cluster of the first item in that division."""

    def labels(self, k: int, whole: int, n_items: int) -> IntArray:
        """Labels of the items in the best division of the set `whole` into k clusters; -1 for all others."""
        labels = np.full(n_items, -1, dtype=np.int64)
        while whole:
            chosen = int(self.first[k, whole])
            labels[(chosen >> np.arange(n_items)) & 1 == 1] = k
            k, whole = k - 1, whole ^ chosen
        return labels


def divide(cost: FloatArray, n_items: int, most: int) -> Divisions:
    """The best divisions into at most `most` clusters, given what each of the 2**n_items sets costs as one.

    Examples
    --------
    Two items cost 1 each, or 1.5 together:

    >>> import numpy as np
    >>> found = divide(np.array([0.0, 1.0, 1.0, 1.5]), 2, 2)
    >>> found.least[1:, 3].tolist(), found.labels(1, 3, 2).tolist()
    ([1.5, 2.0], [1, 1])
    """
    shape = (most + 1, 1 << n_items)
    found = Divisions(np.full(shape, np.inf), np.zeros(shape, dtype=np.int64))
    found.least[0, 0] = 0.0
    for whole in range(1, 1 << n_items):
        # All parts of the set that have its first item.
        first = whole & -whole
        parts = np.array([first])
        for bit in (1 << i for i in range(n_items) if (whole ^ first) >> i & 1):
            parts = np.append(parts, parts | bit)
        # (k, parts): this part is one cluster, the rest is divided into k - 1.
        costs = cost[parts] + found.least[:-1, whole ^ parts]
        at = costs.argmin(axis=1)
        found.least[1:, whole] = costs[np.arange(most), at]
        found.first[1:, whole] = parts[at]
    return found
