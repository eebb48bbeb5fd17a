"""The draws as a search sees them: distinct, weighted, and in an order that does not depend on the input.

A search makes random choices among items and draws by their numbers. To find the same partition whatever the
order in which items and draws were given, it numbers them by what they are: by signatures that every
permutation leaves the same (`_kernels/signatures.py`). Above 20 million labels, where the copy would cost
much memory, the given order is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._kernels.signatures import renumber, sign_draws, sign_items
from epluribus._parallel import run_all
from epluribus._typing import FloatArray, IntArray
from epluribus.draws import Draws
from epluribus.engine import Engine, PartialEngine, make_engine
from epluribus.losses.base import Loss
from epluribus.partition import relabel, tidy

_LABELS = 20_000_000
"""Labels above which items and draws keep the order in which they were given."""
_ROUNDS = 3
"""Rounds of signatures: each lets an item see the neighbors of its neighbors."""
_TASK = 1 << 20
"""Labels of a task, at least: about a millisecond."""


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
    def of(cls, draws: Draws, n_jobs: int = 1) -> Sample:
        """The draws in their own order; those on other machines are brought here."""
        table, missing = draws.item_major, draws.has_missing
        return cls.of_table(table, draws.weights, draws.n_draws, missing=missing, n_jobs=n_jobs)

    @classmethod
    def of_table(
        cls,
        table: NDArray[np.unsignedinteger[Any]],
        weights: FloatArray,
        n_draws: int,
        *,
        missing: bool = False,
        n_jobs: int = 1,
    ) -> Sample:
        """Distinct draws in their own order: item-major labels, not always canonical, and weights."""
        if table.size > _LABELS:
            n_clusters = table.max(axis=0).astype(np.int64) + (not missing)
            return cls(table, weights, n_clusters, n_draws, missing=missing)
        items, columns = _order(table, weights / weights.sum(), n_jobs)
        out, n_clusters = np.empty_like(table, order="C"), np.zeros(len(columns), dtype=np.int64)
        code = np.full((len(columns), int(table.max()) + 1), -1, dtype=np.int64)
        if missing:  # these stay 0, and the first cluster is 1
            code[:, 0], n_clusters[:] = 0, 1

        def work(begin: int, end: int) -> None:
            renumber(table, items, columns, begin, end, code, n_clusters, out)

        _in_parts(work, table.size, len(columns), n_jobs)
        return cls(out, weights[columns], n_clusters - missing, n_draws, items, missing)

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
    table: NDArray[np.unsignedinteger[Any]], shares: FloatArray, n_jobs: int
) -> tuple[IntArray, IntArray]:
    """The items and the draws in the order of their signatures."""
    n_items, n_draws = table.shape
    item, draw = np.ones(n_items, dtype=np.uint64), np.empty(n_draws, dtype=np.uint64)
    group = np.empty((n_draws, int(table.max()) + 1), dtype=np.uint64)
    # Weights of equal draws are added in the order given, so their last digits may differ.
    weight = shares.astype(np.float32).view(np.uint32).astype(np.uint64)

    def of_draws(begin: int, end: int) -> None:
        sign_draws(table, weight, item, begin, end, group, draw)

    def of_items(begin: int, end: int) -> None:
        sign_items(table, group, draw, begin, end, item)

    for _ in range(_ROUNDS):
        group[:] = 0
        _in_parts(of_draws, table.size, n_draws, n_jobs)
        _in_parts(of_items, table.size, n_items, n_jobs)
    return np.argsort(item, kind="stable"), np.argsort(draw, kind="stable")


def _in_parts(work: Callable[[int, int], None], labels: int, n: int, n_jobs: int) -> None:
    """Do the work for 0..n-1, which is a pass over so many labels, in threads if that pays."""
    edges = np.linspace(0, n, min(labels // _TASK, n) + 2, dtype=np.int64).tolist()
    tasks = [partial(work, *ends) for ends in pairwise(edges)]
    if n_jobs == 1 or len(tasks) == 1:
        work(0, n)
    else:
        run_all(tasks, n_jobs)
