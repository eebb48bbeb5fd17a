"""The execution for losses that are sums over pairs of items, and when it is the quicker one.

The draws are summed up once in a matrix with an entry for every two items; a sweep then takes as long as
reading the matrix, whatever the number of draws and of clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.engine import Price
from epluribus._kernels.looks import no_looks
from epluribus._kernels.pairs import Pairs, weights_with_anchors
from epluribus._kernels.partitions import count_tables, table_sums
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws.together import Together
from epluribus.engine.anchors import NO_ANCHORS, Anchors
from epluribus.engine.execution import Roomy
from epluribus.engine.settings import NO_BOUNDS, Settings
from epluribus.losses.base import Loss
from epluribus.losses.values import sparse_sums

_MOST_ITEMS = 8000
"""Items above which tables are quicker, whatever their clusters."""
_ITEMS_PER_CLUSTER = 400
"""The matrix costs as much as some twenty sweeps with tables where there are this many items for each
cluster of a draw; with more, tables are quicker."""


def pairs_pay(
    table: NDArray[np.unsignedinteger[Any]], n_groups: IntArray, loss: Loss, itemsize: int
) -> bool:
    """Whether the loss is a sum over pairs of items, and their matrix is small and quick to make."""
    n_items = table.shape[0]
    few = n_items <= min(_MOST_ITEMS, _ITEMS_PER_CLUSTER * float(n_groups.mean()))
    return few and pairs_fit(n_items, itemsize) and counts_pairs(loss, n_items)


def pairs_fit(n_items: int, itemsize: int, most: float = np.inf) -> bool:
    """Whether the matrix takes at most so many bytes, and a quarter of the free memory."""
    return itemsize * float(n_items) ** 2 <= min(most, available_memory() / 4)


def counts_pairs(loss: Loss, n_items: int) -> bool:
    """Whether f0 is linear and f1 and f2 are multiples of the square, as for Binder's loss."""
    if not loss.linear:
        return False
    squares = np.arange(n_items + 1.0) ** 2
    f1, f2, _ = loss.tables(n_items)
    return bool((f1 == f1[1] * squares).all() and (f2 == f2[1] * squares).all())


def units_of(weights: FloatArray) -> tuple[float, np.dtype[Any]]:
    """The unit in which weights are added up, and the smallest type in which the sums are exact.

    >>> units_of(np.array([0.5, 1.5])), units_of(np.array([1.0, 1.5]))
    ((0.5, dtype('uint16')), (1.0, dtype('float64')))
    """
    unit = float(weights.min(initial=np.inf, where=weights > 0))
    units = weights / unit
    whole = (units == np.rint(units)).all() and units.sum() < 1 << 16
    return (unit, np.dtype(np.uint16)) if whole else (1.0, np.dtype(np.float64))


class PairExecution(Roomy):
    """Makes the states of `_kernels/pairs.py`; all of them share one matrix.

    It is made in the threads that `settings` allow. If these end that early, it is incomplete. `pull` is what
    it costs to have two items together, by default computed from complete draws.
    """

    skips, grows_with_draws = True, False

    def __init__(
        self,
        table: NDArray[np.unsignedinteger[Any]],
        price: Price,
        loss: Loss,
        anchors: Anchors = NO_ANCHORS,
        settings: Settings = NO_BOUNDS,
        *,
        pull: FloatArray | None = None,
    ) -> None:
        super().__init__(table, price)
        self._anchors, n = anchors, self._n_items
        self.steps = float(n) ** 2
        if not counts_pairs(loss, n):
            raise ValueError(f"'kind' must not be \"pairs\" for the loss '{loss.name}'.")
        if pull is not None:
            self._together, self._pull = pull, np.array([0.0, 1.0])
        else:
            unit, dtype = units_of(price.weights)
            self._together = np.empty((n, n), dtype=dtype)
            units = Together(table, price.weights / unit)
            units.matrix(settings.n_jobs, settings.stopper, out=self._together)
            # The coefficients of the squares are the values at 1; f2 has the total weight multiplied in.
            self._pull = 2.0 * np.array([price.f2[1], unit * price.f1[1]])
        self._anchor_pull = self._with_anchors()

    def _with_anchors(self) -> FloatArray:
        """What it costs to have each anchor together with each item, and with each anchor."""
        price, (counts, sizes), n = self._price, self._anchors, self._n_items
        many = np.append(np.ones(n), sizes)
        together = np.empty((len(many), len(sizes)))
        if len(sizes) > 0:
            weights_with_anchors(self._table, price.weights, counts, together[:n])
            together[n:] = 0.0
            for weight, one in zip(price.weights, counts, strict=True):
                cells = one.astype(np.float64)
                together[n:] += weight * (cells.T @ cells)
        pull: FloatArray = 2.0 * (price.f1[1] * together + price.f2[1] * np.outer(many, sizes))
        pull[n + np.arange(len(sizes)), np.arange(len(sizes))] = 0.0  # no pair
        return pull

    def start(self, labels: IntArray, *, room: int = 1, moves: bool = True) -> Pairs:  # noqa: ARG002
        """The state at `labels`."""
        n, k = len(labels) + 1, int(labels.max()) + 1
        free, held = labels[: self._n_items], labels[self._n_items :]
        sizes = np.bincount(free[free >= 0], minlength=n).astype(np.int64)
        np.add.at(sizes, held, self._anchors.sizes)
        return Pairs(
            price=self._price,
            together=self._together,
            pull=self._pull,
            anchor_pull=self._anchor_pull,
            labels=labels.astype(np.int64),
            sizes=sizes,
            n_clusters=np.array([k], dtype=np.int64),
            cost=np.zeros(n),
            looks=no_looks(len(labels)),
        )

    def joint(self, state: Any, f1: FloatArray) -> tuple[FloatArray, IntArray]:
        """Sum of f1 over the contingency table of each draw, and the number of its cells in use."""
        free, held = state.labels[: self._n_items], state.labels[self._n_items :]
        # Only for clusters with anchors a table is made.
        anchored, inside = np.unique(held, return_inverse=True)
        place = np.full(
            int(state.n_clusters[0]) + 1, -1
        )  # the last entry is for items in no cluster
        place[anchored] = np.arange(len(anchored))
        others = np.where(place[free] >= 0, -1, free)
        joint, n_cells = sparse_sums(others, self._table, int(self._table.max(initial=0)) + 1, f1)
        if len(held) > 0:
            shape = (*self._anchors.counts.shape[:2], len(anchored))
            counts = np.zeros(shape, dtype=np.int32)
            sums, used = np.empty((2, len(joint))), np.empty((2, len(joint)), dtype=np.int64)
            count_tables(self._table, 0, self._n_draws, place[free], counts)
            self._anchors.add_to(counts, np.zeros(len(anchored), dtype=np.int64), inside)
            table_sums(counts, len(anchored), 0, f1, f1, sums, used)
            joint, n_cells = joint + sums[0], n_cells + used[0]
        return joint, n_cells
