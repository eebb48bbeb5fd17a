"""The 0-1 loss: 0 for equal partitions, 1 otherwise (equation 5 of Rastelli & Friel 2018).

Its minimizer is the most frequent draw. Two partitions are equal exactly when Qa + Qz - 2 Qj = 0, Q
sums of squares, which are exact in double precision.
"""

from epluribus.losses.base import Loss
from epluribus.losses.binder import square

__all__ = ["zero_one"]


def _zero_one(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
    return 1.0 if size + group - 2.0 * joint > 0.5 else 0.0


def zero_one() -> Loss:
    """0 for equal partitions, 1 otherwise."""
    return Loss(_zero_one, square, square, square, name="zero_one", metric=True, zero_if_equal=True)
