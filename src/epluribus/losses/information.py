"""Losses from information theory: VI, NVI, ID, NID.

With L(x) = x log2 x, A = sum L(n_g), Z = sum L(n_h), J = sum L(n_gh) and C = L(N), entropies are
H(a) = (C - A)/N, H(z) = (C - Z)/N, H(a, z) = (C - J)/N, in bits, and the mutual information is
I = (C + J - A - Z)/N. The losses:

    vi  = 2 H(a, z) - H(a) - H(z)        = (A + Z - 2 J) / N
    nvi = 1 - I / H(a, z)                = (A + Z - 2 J) / (C - J)
    id  = max(H(a), H(z)) - I            = (max(A, Z) - J) / N
    nid = 1 - I / max(H(a), H(z))        = (max(A, Z) - J) / (C - min(A, Z))

Meila, M. (2007). Comparing clusterings: an information based distance. Journal of Multivariate
Analysis 98, 873-895. doi:10.1016/j.jmva.2006.11.013

Vinh, N. X., Epps, J., Bailey, J. (2010). Information theoretic measures for clusterings comparison.
JMLR 11, 2837-2854.
"""

import math

from epluribus.losses.base import Loss, built_in
from epluribus.losses.pairs import check_cost

_MEILA = (
    "Meila, M. (2007). Comparing clusterings: an information based distance. Journal of "
    "Multivariate Analysis 98, 873-895. https://doi.org/10.1016/j.jmva.2006.11.013"
)
_NO_ENTROPY = 1e-12
"""An entropy below this share of its largest value is zero: moving one item changes it by 1/N or more."""


def xlogx(n: int) -> float:
    """n log2 n, and 0 at 0."""  # noqa: D403 - a formula
    return n * math.log2(n) if n else 0.0


@built_in("vi")
def vi(cost: float = 1.0) -> Loss:
    """Variation of information in bits; `cost` of separating, 2 - cost of joining, as for Binder.

    With cost c the loss is (c Z + (2 - c) A - 2 J)/N = c H(a|z) + (2 - c) H(z|a).

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.loss([0, 0, 1, 1], [0, 1, 0, 1], "vi")
    2.0
    """
    c = check_cost(cost)

    def f0(joint: float, size: float, group: float, n_items: float) -> float:
        return (c * group + (2.0 - c) * size - 2.0 * joint) / n_items

    return Loss(
        f0,
        xlogx,
        xlogx,
        xlogx,
        linear=True,
        metric=c == 1,
        zero_if_equal=True,
        unit="bits",
        title="the variation of information (Meila 2007)",
        reference=_MEILA,
    )


def _information_loss(f0, title: str, unit: str = "") -> Loss:  # type: ignore[no-untyped-def]
    return Loss(f0, xlogx, xlogx, xlogx, metric=True, zero_if_equal=True, unit=unit, title=title)


def _nvi(joint: float, size: float, group: float, n_items: float) -> float:
    # (A + Z - 2 J) / (C - J); 0 / 0 if both partitions are one cluster, which are equal
    largest = n_items * math.log2(n_items)
    joint_entropy = largest - joint
    if joint_entropy <= _NO_ENTROPY * largest:
        return 0.0
    return (size + group - 2.0 * joint) / joint_entropy


@built_in("nvi")
def nvi() -> Loss:
    """Normalized variation of information, in [0, 1]."""
    return _information_loss(_nvi, "the normalized variation of information")


def _id(joint: float, size: float, group: float, n_items: float) -> float:
    return (max(size, group) - joint) / n_items


@built_in("id")
def information_distance() -> Loss:
    """Information distance in bits."""
    return _information_loss(_id, "the information distance", "bits")


def _nid(joint: float, size: float, group: float, n_items: float) -> float:
    # (max(A, Z) - J) / (C - min(A, Z)); 0 / 0 as above
    largest = n_items * math.log2(n_items)
    entropy = largest - min(size, group)
    if entropy <= _NO_ENTROPY * largest:
        return 0.0
    return (max(size, group) - joint) / entropy


@built_in("nid")
def nid() -> Loss:
    """Normalized information distance, in [0, 1]."""
    return _information_loss(_nid, "the normalized information distance")
