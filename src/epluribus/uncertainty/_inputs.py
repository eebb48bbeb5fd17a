"""What every function here reads first: the partition, the draws, the loss, a level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from epluribus import losses
from epluribus.draws import Draws, as_draws, as_labels
from epluribus.estimate import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike
    from epluribus.losses.base import Loss

__all__ = ["check_fraction", "item_names", "read", "read_labels", "shares"]


def read(
    best: Estimate | LabelsLike, draws: DrawsLike, loss: LossLike | None, argument: str = "best"
) -> tuple[IntArray, Draws, Loss]:
    """Canonical labels, draws and loss; the loss is the one `best` was made for unless it is given."""
    sample = as_draws(draws)
    labels = read_labels(best, sample.n_items, argument)
    if loss is None:
        loss = best.loss if isinstance(best, Estimate) else "vi"
    return labels, sample, losses.get(loss)


def read_labels(best: Estimate | LabelsLike, n_items: int, argument: str = "best") -> IntArray:
    """Canonical labels of an estimate or of anything that is one partition."""
    return as_labels(best.labels if isinstance(best, Estimate) else best, n_items, argument)


def check_fraction(value: Any, argument: str, *, zero: bool = False, one: bool = True) -> float:
    """A number between 0 and 1; whether the ends are allowed is said by `zero` and `one`."""
    low, high = "[" if zero else "(", "]" if one else ")"
    inside = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if inside and (0 < value < 1 or (zero and value == 0) or (one and value == 1)):
        return float(value)
    raise ValueError(f"'{argument}' must be a number in {low}0, 1{high}; got {value!r}.")


def item_names(draws: Draws) -> tuple[str, ...]:
    """Names of the items: their own, or their numbers."""
    return draws.items if draws.items is not None else tuple(str(i) for i in range(draws.n_items))


def shares(draws: Draws) -> NDArray[np.float64]:
    """Probability of each distinct partition: its share of the weights."""
    return draws.weights / draws.total_weight
