"""Losses that count pairs of items: Binder's loss, one minus the adjusted Rand index, the 0-1 loss.

Qa, Qz and Qj are the sums of squares of the cluster sizes of a, of those of z, and of the cells of their
contingency table; Pa, Pz and Pj are the numbers of pairs of items that are together in a, in z, and in both:

    binder   = (c Qz + (2 - c) Qa) / 2 - Qj
    omari    = 1 - (Pj - E) / ((Pa + Pz)/2 - E),    E = Pa Pz / M,    M = N(N - 1)/2
    zero_one = 0 if Qa + Qz - 2 Qj = 0, else 1

Binder's loss is c times the number of pairs that only z has together, (Qz - Qj)/2, plus 2 - c times the
number that only a has together, (Qa - Qj)/2. Squares and numbers of pairs are exact in double precision.
Two partitions are equal if and only if Qa + Qz - 2 Qj = 0. Binder's loss with c = 1 is equation 12 of
Rastelli & Friel (2018), the 0-1 loss equation 5.

Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. doi:10.1093/biomet/65.1.31

Hubert, L., Arabie, P. (1985). Comparing partitions. Journal of Classification 2, 193-218.
doi:10.1007/BF01908075
"""

from epluribus._validate import shown
from epluribus.losses.base import Loss, built_in


def square(n: int) -> float:
    """The square of n; exact in double precision."""
    return float(n * n)


def _pairs(n: int) -> float:
    """Number of pairs among n items, n (n - 1) / 2; exact in double precision."""
    return float(n * (n - 1) // 2)


def check_cost(cost: float) -> float:
    """A cost strictly between 0 and 2."""
    # At 0 or 2 one of the two errors would be free: all items apart, or all together, would be optimal.
    if not (isinstance(cost, int | float) and 0 < cost < 2):
        raise ValueError(
            f"'cost' must be a number between 0 and 2 (1 weighs both errors alike); got {shown(cost)}."
        )
    return float(cost)


@built_in("binder")
def binder(cost: float = 1.0) -> Loss:
    """Binder's loss; `cost` of separating two items that belong together, 2 - cost of joining.

    With cost 1 it is the number of pairs of items on which two partitions disagree.

    Parameters
    ----------
    cost : float, default 1
        Between 0 and 2; a smaller cost gives more clusters.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.loss([0, 0, 1], [0, 1, 1], "binder")
    2.0

    The estimate separates one pair that belongs together:

    >>> epl.loss([0, 1, 2], [0, 0, 1], epl.losses.binder(cost=1.5))
    1.5
    """
    c = check_cost(cost)

    # (c Qz + (2 - c) Qa) / 2 - Qj
    def f0(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
        return (c * group + (2.0 - c) * size) / 2.0 - joint

    return Loss(
        f0,
        square,
        square,
        square,
        linear=True,
        metric=c == 1,
        zero_if_equal=True,
        unit="pairs of items",
        title="Binder's loss (Binder 1978)",
        reference="Binder, D. A. (1978). Bayesian cluster analysis. Biometrika 65, 31-38. "
        "https://doi.org/10.1093/biomet/65.1.31",
    )


def _omari(joint: float, size: float, group: float, n_items: float) -> float:
    # 1 - (Pj - E) / ((Pa + Pz)/2 - E). E is the expected number of shared pairs if the labels of z were
    # shuffled; a single item has no pairs.
    all_pairs = n_items * (n_items - 1.0) / 2.0
    if all_pairs == 0.0:
        return 0.0
    expected = size * group / all_pairs
    room = (size + group) / 2.0 - expected
    # 0 / 0 only if both partitions are one cluster, or both are singletons: equal in either case.
    if room == 0.0:
        return 0.0
    return 1.0 - (joint - expected) / room


@built_in("omari")
def omari() -> Loss:
    """One minus the adjusted Rand index.

    It is 0 for equal partitions, 1 on average for unrelated ones, and may exceed 1. Not a metric.
    """
    return Loss(
        _omari,
        _pairs,
        _pairs,
        _pairs,
        zero_if_equal=True,
        title="one minus the adjusted Rand index (Hubert & Arabie 1985)",
        reference="Hubert, L., Arabie, P. (1985). Comparing partitions. Journal of Classification "
        "2, 193-218. https://doi.org/10.1007/BF01908075",
    )


def _zero_one(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
    # Qa + Qz - 2 Qj is an even integer: 0 for equal partitions, at least 2 for others.
    return 1.0 if size + group - 2.0 * joint > 0.5 else 0.0


@built_in("zero_one")
def zero_one() -> Loss:
    """0 for equal partitions, 1 otherwise: its minimizer is the most frequent draw."""
    return Loss(
        _zero_one, square, square, square, metric=True, zero_if_equal=True, title="the 0-1 loss"
    )
