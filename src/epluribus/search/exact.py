"""The minimum by enumeration of all partitions, for a few items."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from epluribus import losses
from epluribus._validate import check_count
from epluribus.draws import as_draws
from epluribus.estimate import Estimate
from epluribus.losses.expected import loss_values
from epluribus.partition import n_partitions, partitions

if TYPE_CHECKING:
    from epluribus._typing import DrawsLike, IntArray, LossLike
    from epluribus.draws import Draws
    from epluribus.losses.base import Loss

__all__ = ["MAX_ITEMS", "best_of_all", "exact"]

MAX_ITEMS = 12
"""12 items have 4,213,597 partitions: minutes; 13 have 27,644,437."""


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
    bound = sample.n_items if k_max is None else check_count(k_max, "k_max")
    labels, value = best_of_all(sample, chosen, 1, bound)
    return Estimate(
        labels=labels,
        expected_loss=value,
        loss=chosen,
        n_draws=sample.n_draws,
        runs=(),
        converged=True,
        seconds=time.perf_counter() - began,
        items=sample.items,
    )


def best_of_all(draws: Draws, loss: Loss, k_min: int, k_max: int) -> tuple[IntArray, float]:
    """The best of all partitions with k_min to k_max clusters, and its expected loss."""
    best, best_value = None, float("inf")
    for labels in partitions(draws.n_items):
        if k_min <= labels.max() + 1 <= k_max:
            value = float(loss_values(labels, draws, loss) @ draws.weights / draws.total_weight)
            # rounding does not decide ties
            if best is None or value < best_value - 1e-12 * max(1.0, abs(best_value)):
                best, best_value = labels, value
    assert best is not None
    return best, best_value
