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

from epluribus.losses.base import Loss
from epluribus.losses.binder import check_cost

__all__ = ["information_distance", "nid", "nvi", "vi"]

_NOTHING = 1e-12
"""An entropy below this share of its largest value is zero: one item moved changes it by 1/N or more."""


def xlogx(n: int) -> float:
    """N log2 n, and 0 at 0."""
    return n * math.log2(n) if n else 0.0


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
        name="vi" if c == 1 else f"vi(cost={c:g})",
        linear=True,
        metric=c == 1,
        zero_if_equal=True,
        made_by=(vi, (c,)),
    )


def _nvi(joint: float, size: float, group: float, n_items: float) -> float:
    largest = n_items * math.log2(n_items)
    joint_entropy = largest - joint
    if joint_entropy <= _NOTHING * largest:
        return 0.0
    return (size + group - 2.0 * joint) / joint_entropy


def _id(joint: float, size: float, group: float, n_items: float) -> float:
    return (max(size, group) - joint) / n_items


def _nid(joint: float, size: float, group: float, n_items: float) -> float:
    largest = n_items * math.log2(n_items)
    entropy = largest - min(size, group)
    if entropy <= _NOTHING * largest:
        return 0.0
    return (max(size, group) - joint) / entropy


def nvi() -> Loss:
    """Normalized variation of information, in [0, 1]."""
    return Loss(_nvi, xlogx, xlogx, xlogx, name="nvi", metric=True, zero_if_equal=True)


def information_distance() -> Loss:
    """Information distance in bits."""
    return Loss(_id, xlogx, xlogx, xlogx, name="id", metric=True, zero_if_equal=True)


def nid() -> Loss:
    """Normalized information distance, in [0, 1]."""
    return Loss(_nid, xlogx, xlogx, xlogx, name="nid", metric=True, zero_if_equal=True)
