"""The draws as a search sees them: distinct, weighted, and in an order that does not depend on the input.

A search makes random choices among items and draws by their numbers. To find the same partition whatever the
order in which items and draws were given, it numbers them by what they are: by signatures that every
permutation leaves the same (`_kernels/signatures.py`). Above 20 million labels, where the copy would cost
much memory, the given order is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.signatures import renumber, sign
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import Engine, PartialEngine, make_engine
from epluribus.losses.base import Loss
from epluribus.partition import relabel, tidy

_LABELS = 20_000_000
"""Labels above which items and draws keep the order in which they were given."""
_ROUNDS = 3
"""Rounds of signatures: each lets an item see the neighbors of its neighbors."""


@dataclass(frozen=True)
class Sample:
    """Distinct draws with weights."""

    table: NDArray[np.unsignedinteger[Any]]
    """(n_items, n_distinct) canonical labels, item-major; if some are missing, from 1 on, and 0 for these."""
    weights: FloatArray
    """(n_distinct,) weight of each draw."""
    n_clusters: IntArray
    """(n_distinct,) number of clusters of each draw."""
    n_draws: int
    """Number of draws, equal ones included."""
    items: IntArray | None = None
    """(n_items,) numbers of the items in the order in which they were given; None if that was kept."""
    missing: bool = False
    """Whether labels are missing."""

    @classmethod
    def of(cls, draws: Draws) -> Sample:
        """The draws in their own order; those on other machines are brought here."""
        return cls.of_table(
            draws.item_major, draws.weights, draws.n_draws, missing=draws.has_missing
        )

    @classmethod
    def of_table(
        cls,
        table: NDArray[np.unsignedinteger[Any]],
        weights: FloatArray,
        n_draws: int,
        *,
        missing: bool = False,
    ) -> Sample:
        """Distinct draws in their own order: item-major labels, not always canonical, and weights."""
        if table.size > _LABELS:
            n_clusters = table.max(axis=0).astype(np.int64) + (not missing)
            return cls(table, weights, n_clusters, n_draws, missing=missing)
        items, columns = _order(table, weights / weights.sum())
        table = table[np.ix_(items, columns)]
        n_clusters = np.zeros(table.shape[1], dtype=np.int64)
        code = np.full((table.shape[1], int(table.max()) + 1), -1, dtype=np.int64)
        if missing:  # these stay 0, and the first cluster is 1
            code[:, 0], n_clusters[:] = 0, 1
        renumber(table, code, n_clusters)
        return cls(table, weights[columns], n_clusters - missing, n_draws, items, missing)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.table.shape[0]

    @property
    def n_distinct(self) -> int:
        """Number of distinct draws."""
        return self.table.shape[1]

    @property
    def shares(self) -> FloatArray:
        """(n_distinct,) weights that add up to 1."""
        return self.weights / self.weights.sum()

    def draw(self, t: int, engine: Engine, rng: np.random.Generator) -> IntArray:
        """Labels of distinct draw t; items it has not seen are put where they cost least by the engine."""
        labels = self.table[:, t].astype(np.int64)
        if isinstance(engine, PartialEngine):
            return engine.completed(labels - 1, rng.permutation(self.n_items))
        return labels

    def engine(self, loss: Loss) -> Engine:
        """The engine over all draws."""
        return make_engine(self.table, self.weights, loss, missing=self.missing)

    def take(self, labels: IntArray) -> IntArray:
        """Labels of the items as given, in the order of this sample."""
        return labels if self.items is None else relabel(labels[self.items])

    def give_back(self, labels: IntArray) -> IntArray:
        """Labels in the order of this sample, for the items as given."""
        if self.items is None:
            return labels
        out = np.empty_like(labels)
        out[self.items] = labels
        return tidy(out)


def _order(
    table: NDArray[np.unsignedinteger[Any]], shares: FloatArray
) -> tuple[IntArray, IntArray]:
    """The items and the draws in the order of their signatures."""
    n_items, n_draws = table.shape
    item, draw = np.ones(n_items, dtype=np.uint64), np.empty(n_draws, dtype=np.uint64)
    group = np.empty((n_draws, int(table.max()) + 1), dtype=np.uint64)
    # Weights of equal draws are added in the order given, so their last digits may differ.
    weight = shares.astype(np.float32).view(np.uint32).astype(np.uint64)
    for _ in range(_ROUNDS):
        sign(table, weight, item, group, draw)
    return np.argsort(item, kind="stable"), np.argsort(draw, kind="stable")
