"""The lower bound of the expected variation of information that a similarity matrix determines.

The expected VI of an estimate a is (1/N) sum_i [ log2 n_i + E log2 m_i - 2 E log2 n_im ], where n_i is the
size of the cluster of item i in a, m_i that in a draw, and n_im the number of items in both. By Jensen's
inequality E log2 n_im is at most log2 E n_im, and E n_im is a sum of similarities p_ij. Hence

    vi_lb = (1/N) sum_i [ log2 n_i + log2 sum_j p_ij - 2 log2 sum over the cluster of i of p_ij ]

The second term does not depend on a. It takes the place of E log2 m_i, which the matrix does not determine,
so that a matrix of zeros and ones gives VI itself. The first and the last term are those of the bound.

Wade, S., Ghahramani, Z. (2018). Bayesian cluster analysis: point estimation and credible balls. Bayesian
Analysis 13, 559-626. doi:10.1214/17-BA1073
"""

from dataclasses import replace

from epluribus.losses.base import Loss, built_in
from epluribus.losses.information import vi


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
