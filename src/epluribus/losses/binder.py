"""Binder's loss: the number of pairs of items on which two partitions disagree.

    binder(a, z) = (c Qz + (2 - c) Qa) / 2 - Qj

Q sums squares of cluster sizes, or of the cells of the contingency table; c is the cost of
separating two items that belong together, 2 - c that of joining two that do not. With c = 1 this is
equation 14 of Rastelli & Friel (2018).

Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. doi:10.1093/biomet/65.1.31
"""

from epluribus.losses.base import Loss

__all__ = ["binder", "check_cost"]


def square(n: int) -> float:
    """N squared: exact in double precision."""
    return float(n * n)


def check_cost(cost: float) -> float:
    """A cost strictly between 0 and 2."""
    if not (isinstance(cost, int | float) and 0 < cost < 2):
        raise ValueError(
            f"'cost' must be a number between 0 and 2 (1 weighs both errors alike); got {cost!r}."
        )
    return float(cost)


def binder(cost: float = 1.0) -> Loss:
    """Binder's loss; `cost` of separating two items that belong together, 2 - cost of joining.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.loss([0, 0, 1], [0, 1, 1], "binder")
    2.0
    >>> epl.loss([0, 0, 1], [0, 1, 1], epl.losses.binder(cost=1.5))
    2.0
    """
    c = check_cost(cost)

    def f0(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
        return (c * group + (2.0 - c) * size) / 2.0 - joint

    return Loss(
        f0,
        square,
        square,
        square,
        name="binder" if c == 1 else f"binder(cost={c:g})",
        linear=True,
        metric=c == 1,
        zero_if_equal=True,
        made_by=(binder, (c,)),
    )
