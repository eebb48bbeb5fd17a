"""The built-in losses: those that count pairs of items, and those from information theory.

**Pairs.** Qa, Qz and Qj are the sums of squares of the cluster sizes of a, of those of z, and of the cells of their
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

**Information theory.** With L(x) = x log2 x, A = sum L(n_g), Z = sum L(n_h), J = sum L(n_gh) and C = L(N), the
entropies in bits are H(a) = (C - A)/N, H(z) = (C - Z)/N and H(a, z) = (C - J)/N, and the mutual information is
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
from collections.abc import Callable
from typing import Any

from epluribus._validate import shown
from epluribus.losses.base import BUILT_IN, Loss, SizeFunction

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


def _built_in(
    make: Callable[..., Loss],
    name: str,
    f0: Callable[..., float],
    f: SizeFunction,
    cost: float | None = None,
    metric: bool = True,
    **facts: Any,
) -> Loss:
    """The loss with that name that `make` makes, perhaps with a cost, whose f1, f2 and f3 are f.

    A cost that is not 1 is part of the name, which `losses.get` reads: "vi(cost=0.5)".
    """
    return Loss(
        f0,
        f,
        f,
        f,
        name=name if cost in (None, 1.0) else f"{name}(cost={cost!r})",
        linear=cost is not None,
        metric=metric and cost in (None, 1.0),
        zero_if_equal=True,
        made_by=(make, () if cost is None else (cost,)),
        parameters={} if cost is None else {"cost": cost},
        **facts,
    )


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

    return _built_in(
        binder,
        "binder",
        f0,
        square,
        c,
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


def omari() -> Loss:
    """One minus the adjusted Rand index.

    It is 0 for equal partitions, 1 on average for unrelated ones, and may exceed 1. Not a metric.
    """
    return _built_in(
        omari,
        "omari",
        _omari,
        _pairs,
        metric=False,
        title="one minus the adjusted Rand index (Hubert & Arabie 1985)",
        reference="Hubert, L., Arabie, P. (1985). Comparing partitions. Journal of Classification "
        "2, 193-218. https://doi.org/10.1007/BF01908075",
    )


def _zero_one(joint: float, size: float, group: float, n_items: float) -> float:  # noqa: ARG001
    # Qa + Qz - 2 Qj is an even integer: 0 for equal partitions, at least 2 for others.
    return 1.0 if size + group - 2.0 * joint > 0.5 else 0.0


def zero_one() -> Loss:
    """0 for equal partitions, 1 otherwise: its minimizer is the most frequent draw."""
    return _built_in(zero_one, "zero_one", _zero_one, square, title="the 0-1 loss")


def _weighted_vi(c: float) -> Callable[..., float]:
    # (c Z + (2 - c) A - 2 J) / N
    def f0(joint: float, size: float, group: float, n_items: float) -> float:
        return (c * group + (2.0 - c) * size - 2.0 * joint) / n_items

    return f0


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
    return _built_in(
        vi,
        "vi",
        _weighted_vi(c),
        xlogx,
        c,
        unit="bits",
        title="the variation of information (Meila 2007)",
        reference=_MEILA,
    )


def _nvi(joint: float, size: float, group: float, n_items: float) -> float:
    # (A + Z - 2 J) / (C - J). This is 0 / 0 if both partitions have one cluster only: they are equal.
    largest = n_items * math.log2(n_items)
    joint_entropy = largest - joint
    if joint_entropy <= _NO_ENTROPY * largest:
        return 0.0
    return (size + group - 2.0 * joint) / joint_entropy


def nvi() -> Loss:
    """Normalized variation of information, in [0, 1].

    One minus the mutual information divided by the joint entropy.
    """
    return _built_in(nvi, "nvi", _nvi, xlogx, title="the normalized variation of information")


def _id(joint: float, size: float, group: float, n_items: float) -> float:
    # max(H(a), H(z)) - I = (C - min(A, Z) - (C + J - A - Z)) / N, and A + Z - min(A, Z) = max(A, Z)
    return (max(size, group) - joint) / n_items


def information_distance() -> Loss:
    """Information distance in bits.

    The larger of the two entropies minus the mutual information.
    """
    title = "the information distance"
    return _built_in(information_distance, "id", _id, xlogx, unit="bits", title=title)


def _nid(joint: float, size: float, group: float, n_items: float) -> float:
    # (max(A, Z) - J) / (C - min(A, Z)), and 0 / 0 as in `_nvi`
    largest = n_items * math.log2(n_items)
    entropy = largest - min(size, group)
    if entropy <= _NO_ENTROPY * largest:
        return 0.0
    return (max(size, group) - joint) / entropy


def nid() -> Loss:
    """Normalized information distance, in [0, 1].

    One minus the mutual information divided by the larger of the two entropies.
    """
    return _built_in(nid, "nid", _nid, xlogx, title="the normalized information distance")


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
    c = check_cost(cost)
    return _built_in(
        vi_lb,
        "vi_lb",
        _weighted_vi(c),
        xlogx,
        c,
        unit="bits",
        title="the lower bound of the variation of information (Wade & Ghahramani 2018)",
        reference="Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible "
        "balls. Bayesian Analysis 13, 559-626. https://doi.org/10.1214/17-BA1073",
    )


BUILT_IN.update(
    binder=binder,
    vi=vi,
    nvi=nvi,
    id=information_distance,
    nid=nid,
    omari=omari,
    zero_one=zero_one,
    vi_lb=vi_lb,
)
