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
from epluribus._kernels.pairs import Pairs
from epluribus._typing import FloatArray, IntArray
from epluribus._validate import available_memory
from epluribus.draws.together import Together
from epluribus.engine.execution import Roomy
from epluribus.losses.base import Loss

_LARGEST = 500 << 20
"""Bytes of the matrix above which it is not made: 8,000 items. The limit is lower, a quarter of the free
memory, where there is less."""
_ITEMS_PER_CLUSTER = 400
"""The matrix costs as much as some twenty sweeps with tables where there are this many items for each
cluster of a draw; with more, tables are quicker."""


def pairs_pay(table: NDArray[np.unsignedinteger[Any]], n_groups: IntArray, loss: Loss) -> bool:
    """Whether the loss is a sum over pairs of items, and their matrix is small and quick to make."""
    n_items = table.shape[0]
    few = n_items <= _ITEMS_PER_CLUSTER * float(n_groups.mean())
    fits = 8.0 * n_items**2 <= min(_LARGEST, available_memory() / 4)
    return few and fits and counts_pairs(loss, n_items)


def counts_pairs(loss: Loss, n_items: int) -> bool:
    """Whether f0 is linear and f1 and f2 are multiples of the square, as for Binder's loss."""
    if not loss.linear:
        return False
    squares = np.arange(n_items + 1.0) ** 2
    f1, f2, _ = loss.tables(n_items)
    return bool((f1 == f1[1] * squares).all() and (f2 == f2[1] * squares).all())


class PairExecution(Roomy):
    """Makes the states of `_kernels/pairs.py`; all of them share one matrix.

    `pull` is what it costs to have two items together, by default computed from complete draws.
    """

    skips, grows_with_draws = True, False

    def __init__(
        self,
        table: NDArray[np.unsignedinteger[Any]],
        price: Price,
        loss: Loss,
        pull: FloatArray | None = None,
    ) -> None:
        super().__init__(table, price)
        self.steps = float(self._n_items) ** 2
        if not counts_pairs(loss, self._n_items):
            raise ValueError(f"'kind' must not be \"pairs\" for the loss '{loss.name}'.")
        if pull is None:
            # The coefficients of the squares are the values at 1; f2 has the total weight multiplied in.
            pull = Together(table, price.weights).matrix(1)
            pull *= 2.0 * price.f1[1]  # in place: the matrix may be large
            pull += 2.0 * price.f2[1]
        np.fill_diagonal(pull, 0.0)
        self._pull = pull

    def start(self, labels: IntArray, *, room: int = 1, moves: bool = True) -> Pairs:  # noqa: ARG002
        """The state at `labels`."""
        n, k = self._n_items + 1, int(labels.max()) + 1
        sizes = np.bincount(labels[labels >= 0], minlength=n).astype(np.int64)
        return Pairs(
            price=self._price,
            pull=self._pull,
            labels=labels.astype(np.int64),
            sizes=sizes,
            n_clusters=np.array([k], dtype=np.int64),
            cost=np.zeros(n),
            looks=no_looks(self._n_items),
        )
