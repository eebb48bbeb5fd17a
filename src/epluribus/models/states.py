"""Making the arrays of `epluribus._kernels.states` on which the moves work."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from epluribus._kernels.states import (
    COUNT,
    LABEL,
    LOG_FACTORIAL,
    ORDER,
    PLACE,
    SCORE,
    SIZE,
    TARGET,
    State,
)
from epluribus._typing import AnyArray, FloatArray, IntArray
from epluribus.models.laws import PriorTables


class Partition(NamedTuple):
    """The arrays that a state has whatever the model."""

    own: IntArray
    logs: FloatArray

    @property
    def slots(self) -> int:
        """The largest possible number of clusters."""
        return int(self.own[COUNT, 1])


def make_partition(labels: IntArray, tables: PriorTables) -> Partition:
    """The partition of canonical labels, ready for moves.

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Canonical labels of at most `tables.slots` clusters.
    tables : PriorTables
        The prior for this number of items.
    """
    slots, n_items = tables.slots, labels.size
    own = np.zeros((TARGET + 1, n_items + 1), dtype=np.int64)
    own[LABEL, :n_items] = labels
    own[SIZE, :slots] = np.bincount(labels, minlength=slots)
    # Labels are canonical: the non-empty clusters are 0..K-1, as their order must begin.
    own[ORDER, :slots] = own[PLACE, :slots] = np.arange(slots)
    own[COUNT, :2] = labels.max() + 1, slots
    work = np.zeros((SCORE - LOG_FACTORIAL, 0))
    rows = (tables.log_weight, tables.log_size, gammaln(np.arange(n_items + 1) + 1.0), *work)
    return Partition(own, stack(*rows, width=n_items + 2))


def make_state(
    partition: Partition,
    model: Any,
    stat: tuple[int, int],
    *,
    hyper: Any = (),
    x: AnyArray | None = None,
    links: tuple[IntArray, IntArray] | None = None,
    table: FloatArray | None = None,
    other: Partition | None = None,
) -> State:
    """A state with empty statistics; what a model does not need may be left out.

    Parameters
    ----------
    partition : Partition
        The side's own.
    model : int or callable
        The number of a built-in model, or a function; see `epluribus._kernels.likelihood`.
    stat : (int, int)
        Shape of the statistics.
    hyper, x, links, table : optional
        Fields of `State`; `links` is `start` and `near`.
    other : Partition, optional
        The other side; by default this one.
    """
    start, near = links or (np.zeros(1, dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
    n_items = partition.own.shape[1] - 1
    return State(
        model=model,
        hyper=np.asarray(hyper, dtype=np.float64),
        x=np.zeros((n_items, 0)) if x is None else np.ascontiguousarray(x, dtype=np.float64),
        start=start,
        near=near,
        table=np.zeros((1, 0)) if table is None else table,
        stat=np.zeros(stat),
        own=partition.own,
        other=(other or partition).own,
        logs=partition.logs,
    )


def stack(*rows: AnyArray, width: int = 0) -> FloatArray:
    """Rows of different lengths in one table, filled up with zeros."""
    out = np.zeros((len(rows), max(width, *(len(row) for row in rows))))
    for own, row in zip(out, rows, strict=True):
        own[: len(row)] = row
    return out
