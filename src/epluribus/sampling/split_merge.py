"""Split-merge with sequential allocation.

Two items i and j are picked at random. In one cluster: i keeps it, j founds a new one, and the
other members, in random order, choose between the two with probabilities proportional to prior
times predictive, the counts as they stand; q is the product of the probabilities of the choices
made, and the split is accepted with probability

    min(1, pi(after) / pi(before) / q)

In two clusters: they merge, q is the probability that the same procedure makes the present two, and
the merge is accepted with probability min(1, pi(after) / pi(before) x q). The order is an auxiliary
variable with the same law both ways, and (i, j) is as likely in both states, so the ratios are
exact.

References
----------
Dahl, D. B., Newcomb, S. (2022). Sequentially allocated merge-split samplers for conjugate Bayesian
nonparametric models. Journal of Statistical Computation and Simulation 92, 1487-1511.
doi:10.1080/00949655.2021.1998502
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from epluribus._kernels.advance import SPLIT_MERGE
from epluribus._validate import check_count
from epluribus.sampling.schedule import Move

__all__ = ["SplitMerge"]


@dataclass(frozen=True)
class SplitMerge(Move):
    """Split-merge proposals.

    Parameters
    ----------
    proposals : int, default 5
        Proposals in each cycle.

    Examples
    --------
    >>> from epluribus.sampling import SplitMerge
    >>> SplitMerge().n_steps(n_items=10)
    5
    """

    proposals: int = 5
    code: ClassVar[int] = SPLIT_MERGE

    def __post_init__(self) -> None:
        check_count(self.proposals, "proposals")

    def n_steps(self, n_items: int) -> int:  # noqa: ARG002 - the same for any number of items
        """Steps in one cycle."""
        return self.proposals
