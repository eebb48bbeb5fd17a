"""The allocation sampler of the paper's appendix, corrected.

k clusters are in use, at most M. A cluster g (size n) is picked uniformly; with probability a_k (0
if k = 1, 1 if k = M, else 1/2) a target h uniformly among the others (size m > 0), else a new one
(m = 0). r is uniform on 1..n, or on 1..ceil(n/2) for a new one, and a uniform subset of r items
goes to h. With b_k = 1 - a_k the move is accepted with probability min(1, pi(after) / pi(before) x
Q):

    transfer    m > 0, r < n    Q = n C(n, r) / [ (m + r) C(m + r, r) ]
    absorption  m > 0, r = n    Q = k n b_{k-1} / [ a_k ceil((m + n)/2) C(m + n, n) ],
                                or 0 if n > ceil((m + n)/2)
    ejection    m = 0, r < n    Q = a_{k+1} ceil(n/2) C(n, r) / [ (k + 1) b_k r ]
    m = 0, r = n = 1            the same partition

What differs from the text: with one cluster in use the target is a new one (read literally, one
cluster can be neither entered nor left); an absorption that no ejection can undo is refused; the
target is a law on partitions, so no factor for labels appears.

References
----------
Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
Statistics and Computing 28, 1169-1186, appendix. doi:10.1007/s11222-017-9786-y

Nobile, A., Fearnside, A. T. (2007). Bayesian finite mixtures with an unknown number of components:
the allocation sampler. Statistics and Computing 17, 147-162. doi:10.1007/s11222-006-9014-7
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from epluribus._kernels.advance import ALLOCATION
from epluribus._validate import check_count
from epluribus.sampling.schedule import Move

__all__ = ["Allocation"]


@dataclass(frozen=True)
class Allocation(Move):
    """Allocation proposals.

    Parameters
    ----------
    proposals : int, optional
        Proposals in each cycle; as many as there are items by default.

    Examples
    --------
    >>> from epluribus.sampling import Allocation
    >>> Allocation().n_steps(n_items=10), Allocation(3).n_steps(n_items=10)
    (10, 3)
    """

    proposals: int | None = None
    code: ClassVar[int] = ALLOCATION

    def __post_init__(self) -> None:
        if self.proposals is not None:
            check_count(self.proposals, "proposals")

    def n_steps(self, n_items: int) -> int:
        """Steps in one cycle."""
        return n_items if self.proposals is None else self.proposals
