"""Losses from information theory: VI, NVI, ID, NID.

With L(x) = x log2 x, A = sum L(n_g), Z = sum L(n_h), J = sum L(n_gh) and C = L(N), the entropies in bits
are H(a) = (C - A)/N, H(z) = (C - Z)/N and H(a, z) = (C - J)/N, and the mutual information is
I = H(a) + H(z) - H(a, z) = (C + J - A - Z)/N. The losses:

    vi  = 2 H(a, z) - H(a) - H(z)        = (A + Z - 2 J) / N
    nvi = 1 - I / H(a, z)                = (A + Z - 2 J) / (C - J)
    id  = max(H(a), H(z)) - I            = (max(A, Z) - J) / N
    nid = 1 - I / max(H(a), H(z))        = (max(A, Z) - J) / (C - min(A, Z))

The larger entropy belongs to the smaller of A and Z. All four are metrics, VI with a cost of 1.

**The lower bound of the expected VI** that a similarity matrix determines. The expected VI of an estimate
a is (1/N) sum_i [ log2 n_i + E log2 m_i - 2 E log2 n_im ], where n_i is the size of the cluster of item i
in a, m_i that in a draw, and n_im the number of items in both. By Jensen's inequality E log2 n_im is at most
log2 E n_im, and E n_im is a sum of similarities p_ij. Hence

    vi_lb = (1/N) sum_i [ log2 n_i + log2 sum_j p_ij - 2 log2 sum over the cluster of i of p_ij ]

The second term does not depend on a. It takes the place of E log2 m_i, which the matrix does not determine,
so that a matrix of zeros and ones gives VI itself. The first and the last term are those of the bound.

Meila, M. (2007). Comparing clusterings: an information based distance. Journal of Multivariate
Analysis 98, 873-895. doi:10.1016/j.jmva.2006.11.013

Vinh, N. X., Epps, J., Bailey, J. (2010). Information theoretic measures for clusterings comparison.
JMLR 11, 2837-2854.

Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible balls. Bayesian
Analysis 13, 559-626. doi:10.1214/17-BA1073
"""

import math
from dataclasses import replace

from epluribus.losses.base import Loss, built_in
from epluribus.losses.pairs import check_cost

_MEILA = (
    "Meila, M. (2007). Comparing clusterings: an information based distance. Journal of "
    "Multivariate Analysis 98, 873-895. https://doi.org/10.1016/j.jmva.2006.11.013"
)
_NO_ENTROPY = 1e-12
"""An entropy below this share of log2 N counts as zero. The smallest that is not zero, with one item apart
from all others, is above (1/N) log2 N, and this share is far below 1/N for any N in use."""


def xlogx(n: int) -> float:
    """n log2 n, and 0 at 0."""  # noqa: D403 - a formula
    return n * math.log2(n) if n else 0.0


@built_in("vi")
def vi(cost: float = 1.0) -> Loss:
    """Variation of information in bits; `cost` of separating, 2 - cost of joining, as for Binder.

    With cost c the loss of estimating z by a is (c Z + (2 - c) A - 2 J)/N = c H(a|z) + (2 - c) H(z|a). The
    first term is what a divides within the clusters of z, the second what a joins across them. With c = 1
    it is a metric, between 0 and log2 N.

    Parameters
    ----------
    cost : float, default 1
        Between 0 and 2; a smaller cost gives more clusters.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.loss([0, 0, 1, 1], [0, 1, 0, 1], "vi")
    2.0

    The estimate divides what belongs together; with a cost of 0.5 this costs half as much:

    >>> epl.loss([0, 0, 1, 1], [0, 0, 0, 0], "vi"), epl.loss([0, 0, 1, 1], [0, 0, 0, 0], "vi(cost=0.5)")
    (1.0, 0.5)
    """
    c = check_cost(cost)

    # (c Z + (2 - c) A - 2 J) / N
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
    """A loss made of the three sums of x log2 x."""
    return Loss(f0, xlogx, xlogx, xlogx, metric=True, zero_if_equal=True, unit=unit, title=title)


def _nvi(joint: float, size: float, group: float, n_items: float) -> float:
    # (A + Z - 2 J) / (C - J). This is 0 / 0 if both partitions have one cluster only: they are equal.
    largest = n_items * math.log2(n_items)
    joint_entropy = largest - joint
    if joint_entropy <= _NO_ENTROPY * largest:
        return 0.0
    return (size + group - 2.0 * joint) / joint_entropy


@built_in("nvi")
def nvi() -> Loss:
    """Normalized variation of information, in [0, 1].

    One minus the mutual information divided by the joint entropy.
    """
    return _information_loss(_nvi, "the normalized variation of information")


def _id(joint: float, size: float, group: float, n_items: float) -> float:
    # max(H(a), H(z)) - I = (C - min(A, Z) - (C + J - A - Z)) / N, and A + Z - min(A, Z) = max(A, Z)
    return (max(size, group) - joint) / n_items


@built_in("id")
def information_distance() -> Loss:
    """Information distance in bits.

    The larger of the two entropies minus the mutual information.
    """
    return _information_loss(_id, "the information distance", "bits")


def _nid(joint: float, size: float, group: float, n_items: float) -> float:
    # (max(A, Z) - J) / (C - min(A, Z)), and 0 / 0 as in `_nvi`
    largest = n_items * math.log2(n_items)
    entropy = largest - min(size, group)
    if entropy <= _NO_ENTROPY * largest:
        return 0.0
    return (max(size, group) - joint) / entropy


@built_in("nid")
def nid() -> Loss:
    """Normalized information distance, in [0, 1].

    One minus the mutual information divided by the larger of the two entropies.
    """
    return _information_loss(_nid, "the normalized information distance")


@built_in("vi_lb")
def vi_lb(cost: float = 1.0) -> Loss:
    """Lower bound of the expected VI, from a similarity matrix: for `minimize(psm=...)` only.

    It is computed from sums of similarities; the term that does not depend on the estimate is chosen as in
    the R package mcclust.ext. It is not a loss between two partitions; draws have VI itself.

    Parameters
    ----------
    cost : float, default 1
        Between 0 and 2; a smaller cost gives more clusters.

    Examples
    --------
    >>> import epluribus as epl
    >>> psm = [[1, 0.9, 0.1], [0.9, 1, 0.1], [0.1, 0.1, 1]]
    >>> epl.minimize(psm=psm, loss="vi_lb").labels
    array([0, 0, 1])
    """
    return replace(
        vi(cost),
        title="the lower bound of the variation of information (Wade & Ghahramani 2018)",
        reference="Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible "
        "balls. Bayesian Analysis 13, 559-626. https://doi.org/10.1214/17-BA1073",
    )
