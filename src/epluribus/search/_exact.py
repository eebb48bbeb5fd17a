"""The minimum by enumeration of all partitions, for a few items.

The kernel that compares one partition with many draws also compares one draw with all partitions: only the
roles of f2 and f3, the functions for the estimate and for the draw, are exchanged.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from epluribus import losses
from epluribus._kernels.partitions import count_dtype, loss_sums
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike
from epluribus.draws import Draws, as_draws
from epluribus.engine import NO_BOUNDS, Settings
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.losses.values import values_from_sums
from epluribus.partition import n_partitions
from epluribus.search._greedy import check_k_max

MAX_ITEMS = 12
"""12 items have 4,213,597 partitions; 13 have 27,644,437, whose labels alone would take 360 MB."""


def exact(draws: DrawsLike, loss: LossLike = "vi", *, k_max: int | None = None) -> Estimate:
    """The partition with the smallest expected loss, found by trying all; for at most 12 items.

    Ties go to the partition that comes first in the lexicographic order of canonical labels.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k_max : int, optional
        Largest number of clusters.

    Returns
    -------
    Estimate
        Proven to be optimal, so `converged` is True; there are no `runs`.

    Notes
    -----
    Time and memory are proportional to the number of partitions (Bell number, see
    `epluribus.partition.n_partitions`), the time also to the number of distinct draws.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.exact([[0, 0, 1], [0, 1, 1], [0, 0, 1]], "binder").labels
    array([0, 0, 1])
    """
    began = time.perf_counter()
    sample, chosen = as_draws(draws), losses.get(loss)
    if sample.n_items > MAX_ITEMS:
        raise ValueError(
            f"'draws' must have at most {MAX_ITEMS} items to try all partitions; it has "
            f"{sample.n_items}, which have {n_partitions(sample.n_items):,} partitions. Use minimize."
        )
    settings = Settings(k_max=check_k_max(k_max))
    labels, value = best_of_all(sample, chosen, settings)
    return Estimate(
        labels=labels,
        expected_loss=value,
        loss=chosen,
        n_draws=sample.n_draws,
        runs=(),
        converged=True,
        seconds=time.perf_counter() - began,
        items=sample.items,
        settings=settings,
    )


def best_of_all(draws: Draws, loss: Loss, settings: Settings = NO_BOUNDS) -> tuple[IntArray, float]:
    """The best of all partitions within the bounds of the settings, and its expected loss."""
    # Only partitions whose number of clusters is allowed.
    table = _all_partitions(draws.n_items)
    n_clusters = table.max(axis=0) + 1
    allowed = (n_clusters >= settings.k_min) & (n_clusters <= settings.most(draws.n_items))
    table = np.ascontiguousarray(table[:, allowed])
    # For all partitions at once, draw after draw: psi = sum_t w_t loss(a, z_t) / sum_t w_t.
    expected = np.zeros(table.shape[1])
    for draw, weight in zip(draws.distinct.astype(np.int64), draws.weights, strict=True):
        expected += weight * _values(table, draw, loss)
    expected /= draws.total_weight
    low = float(expected.min())
    # The first one that is as good as the best, up to rounding errors: these must not decide ties.
    best = int(np.argmax(expected <= low + 1e-12 * max(1.0, abs(low))))
    return table[:, best].astype(np.int64), float(expected[best])


def _all_partitions(n_items: int) -> NDArray[np.uint8]:
    """(n_items, n_partitions) canonical labels of all partitions, in lexicographic order."""
    # One item has one partition. Each further item adds a row and multiplies the columns.
    table = np.zeros((1, 1), dtype=np.uint8)
    for _ in range(n_items - 1):
        # Each column is continued by every label it has, and by a new one: 0 0 1 by 0, 1 and 2. Its copies
        # stand side by side, which keeps the lexicographic order.
        ways = table.max(axis=0).astype(np.int64) + 2
        # The new label is the position of a copy among the copies of its column.
        first = np.repeat(np.cumsum(ways) - ways, ways)
        new = (np.arange(ways.sum()) - first).astype(np.uint8)
        table = np.vstack([np.repeat(table, ways, axis=1), new])
    return np.ascontiguousarray(table)


def _values(table: NDArray[np.uint8], draw: IntArray, loss: Loss) -> FloatArray:
    """Loss of each column of `table`, a partition, against one draw."""
    # `loss_sums` takes one partition and many draws. Here it is the other way round, so f2, the function for
    # the estimate, is passed where f3 is expected.
    n_items, n = table.shape
    f1, f2, f3 = loss.tables(n_items)
    groups = int(draw.max()) + 1
    joint, size, equal = np.zeros(n), np.zeros(n), np.empty(n, dtype=np.bool_)
    work = np.empty((min(n, 1024), n_items, groups), dtype=count_dtype(n_items))
    loss_sums(table, draw, groups, f1, f2, work, joint, size, equal)
    group = float(f3[np.bincount(draw)].sum())
    return values_from_sums(loss, n_items, joint, size, group, equal)
