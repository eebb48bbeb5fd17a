"""The minimum by enumeration of all partitions, for a few items.

The loss of all partitions against one draw is computed at once, as that of one partition against many
draws is: the two differ only in which of their sums belongs to which.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus import losses
from epluribus._kernels.partitions import count_dtype, loss_sums
from epluribus._kernels.rows import row_costs
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike
from epluribus.draws import Draws, as_draws
from epluribus.engine import NO_BOUNDS, Settings
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.partition import n_partitions
from epluribus.search._greedy import check_k_max

MAX_ITEMS = 12
"""12 items have 4,213,597 partitions, 13 have 27,644,437: their labels alone would take 360 MB."""


def exact(draws: DrawsLike, loss: LossLike = "vi", *, k_max: int | None = None) -> Estimate:
    """The partition with the smallest expected loss, by trying all of them; for at most 12 items.

    Ties go to the partition that comes first in lexicographic order of canonical labels.

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
    # All partitions at once, one draw after the other: psi = sum of weight times loss / sum of weights.
    table = _all_partitions(draws.n_items)
    n_clusters = table.max(axis=0) + 1
    k_max = draws.n_items if settings.k_max is None else settings.k_max
    table = np.ascontiguousarray(table[:, (n_clusters >= settings.k_min) & (n_clusters <= k_max)])
    expected = np.zeros(table.shape[1])
    for draw, weight in zip(draws.distinct.astype(np.int64), draws.weights, strict=True):
        expected += weight * _values(table, draw, loss)
    expected /= draws.total_weight
    low = float(expected.min())
    # The first one that is as good: rounding does not decide ties.
    best = int(np.argmax(expected <= low + 1e-12 * max(1.0, abs(low))))
    return table[:, best].astype(np.int64), float(expected[best])


def _all_partitions(n_items: int) -> NDArray[np.uint8]:
    """(n_items, n_partitions) canonical labels of all partitions, in lexicographic order."""
    table = np.zeros((1, 1), dtype=np.uint8)
    for _ in range(n_items - 1):
        # Each partition goes on with every label it has, and with a new one.
        ways = table.max(axis=0).astype(np.int64) + 2
        first = np.repeat(np.cumsum(ways) - ways, ways)
        new = (np.arange(ways.sum()) - first).astype(np.uint8)
        table = np.vstack([np.repeat(table, ways, axis=1), new])
    return np.ascontiguousarray(table)


def _values(table: NDArray[np.uint8], draw: IntArray, loss: Loss) -> FloatArray:
    """Loss of each column of `table`, a partition, against one draw."""
    # `loss_sums` takes one partition and many draws. Here the draw is the one, so f2, the function for
    # the estimate, goes where it expects f3.
    n_items, n = table.shape
    f1, f2, f3 = loss.tables(n_items)
    groups = int(draw.max()) + 1
    joint, size, equal = np.zeros(n), np.zeros(n), np.empty(n, dtype=np.bool_)
    work = np.empty((min(n, 1024), n_items, groups), dtype=count_dtype(n_items))
    loss_sums(table, draw, groups, f1, f2, work, joint, size, equal)
    group = float(f3[np.bincount(draw)].sum())
    if loss.linear:
        form = loss.linear_form(n_items)
        values: Any = form.constant + form.joint * joint + form.size * size + form.group * group
    else:
        values = np.zeros(n)
        row_costs(loss.compiled_row(), joint, size, group, float(n_items), values)
    if loss.zero_if_equal:
        values[equal] = 0.0
    return values
