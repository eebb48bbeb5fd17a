"""The moves of a chain, and the cycle in which they are repeated.

A *step*, the unit in which `burn` and `thin` count, is what the paper calls an iteration: one
Gibbs update of one item, or one proposal of another move. Every move leaves the posterior
invariant, so that a draw may be taken after any step, even in the middle of a sweep.

Below, pi is the posterior. The log probability of a partition under the prior is log w(K) plus the sum
over clusters of log s(n_g): these are the two tables of `epluribus.models.prior`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epluribus._kernels.moves import ALLOCATION, GIBBS, SPLIT_MERGE
from epluribus._typing import IntArray
from epluribus._validate import check_choice, check_count, shown
from epluribus.models.base import Model, Side

SCHEDULES = ("default", "appendix")
"""Names of the built-in cycles."""


class Move(ABC):
    """One kind of move, repeated a number of times in each cycle."""

    @abstractmethod
    def row(self, side: Side) -> tuple[int, int, int]:
        """Its number in the compiled loop, the steps in one cycle, and the scans of a launch."""


@dataclass(frozen=True)
class Gibbs(Move):
    """Sweeps of single-site Gibbs updates: each item in turn is drawn again, given all others.

    With item i taken out, K clusters of sizes n_g remain. It goes to cluster g with weight

        w(K) s(n_g + 1) / s(n_g) p(y_i | g),       to a new one with       w(K + 1) s(1) p(y_i | new)

    where p is the predictive probability of the item's data. At the largest number of clusters no new one is
    opened. An update is always accepted; the rate reported is the fraction of updates that moved the item.
    Cost O(K) predictive probabilities.

    Parameters
    ----------
    sweeps : int, default 1
        Number of sweeps over all items in each cycle.
    """

    sweeps: int = 1

    def __post_init__(self) -> None:
        check_count(self.sweeps, "sweeps")

    def row(self, side: Side) -> tuple[int, int, int]:
        """As many steps as there are items, for each sweep."""
        return GIBBS, self.sweeps * side.n_items, 0


@dataclass(frozen=True)
class SplitMerge(Move):
    """Split-merge proposals: one cluster is divided in two, or two are made one.

    With K clusters of at most M, nothing is proposed with probability 1 - K / M, since proposals take longer where
    clusters are few and large. Else a cluster is picked, and one of its items. A split of the cluster is
    proposed with probability 1/2, else a merge with another cluster h, with probabilities w_h in proportion to
    the predictives of the item. The members, the item first and the others in random order, are divided:

    - the *launch*: the first two found the sides, and each of the others chooses between them by the data of those
      before it; then come some restricted Gibbs scans, in which every item chooses by the data of all others. The
      sizes play no role, which would draw all items to one side;
    - one more scan makes the split. The first item stays where it is, and the others choose with the prior for the
      sizes too, counting those that have chosen in this scan; q is the product of their probabilities.

    A split is accepted with probability

        min(1, pi(after) / pi(before) x w_h / q x n / n_g)

    with n items in all and n_g in the part of the item, h the other part, and a merge with the inverse ratio, where
    q is the probability that the last scan restores the present two clusters. Order and launch depend on the
    item and the union of the two clusters only, so they have the same distribution from both sides. Most merges
    are refused before any scan. In the moves of Jain & Neal two items are held apart; in a sparse network two
    nodes say next to nothing.

    Parameters
    ----------
    proposals : int, optional
        Number of proposals in each cycle; by default the largest number of clusters M. For half of the clusters a
        split is then tried in each cycle, for half a merge, whatever the number of items.
    scans : int, default 3
        Scans of a launch.

    References
    ----------
    Jain, S., Neal, R. M. (2004). A split-merge Markov chain Monte Carlo procedure for the Dirichlet
    process mixture model. Journal of Computational and Graphical Statistics 13, 158-182.
    doi:10.1198/1061860043001
    """

    proposals: int | None = None
    scans: int = 3

    def __post_init__(self) -> None:
        if self.proposals is not None:
            check_count(self.proposals, "proposals")
        check_count(self.scans, "scans", low=0)

    def row(self, side: Side) -> tuple[int, int, int]:
        """As many proposals as asked for."""
        return SPLIT_MERGE, self.proposals or side.tables.slots, self.scans


@dataclass(frozen=True)
class Allocation(Move):
    """Proposals of the allocation sampler of the paper's appendix, corrected.

    There are k clusters, at most M. A cluster g (size n) is picked uniformly. With probability a_k (0 if
    k = 1, 1 if k = M, else 1/2) the target h is picked uniformly among the others (size m > 0), else it
    is a new cluster (m = 0). A number r is uniform on 1..n, or on 1..ceil(n/2) for a new cluster, and a
    uniform subset of r items goes to h. With b_k = 1 - a_k the move is accepted with probability
    min(1, pi(after) / pi(before) x Q):

        transfer    m > 0, r < n    Q = n C(n, r) / [ (m + r) C(m + r, r) ]
        absorption  m > 0, r = n    Q = k n b_{k-1} / [ a_k ceil((m + n)/2) C(m + n, n) ],
                                    or 0 if n > ceil((m + n)/2)
        ejection    m = 0, r < n    Q = a_{k+1} ceil(n/2) C(n, r) / [ (k + 1) b_k r ]
        m = 0, r = n = 1            the same partition

    The differences from the paper's text: with one cluster the target is a new one (read literally, a single
    cluster can be neither entered nor left); an absorption that no ejection can undo is rejected; pi is a
    distribution on partitions, so no factor for labels appears.

    Parameters
    ----------
    proposals : int, optional
        Number of proposals in each cycle; by default as many as there are items.

    References
    ----------
    Rastelli, R., Friel, N. (2018). Optimal Bayesian estimators for latent variable cluster models.
    Statistics and Computing 28, 1169-1186, appendix. doi:10.1007/s11222-017-9786-y

    Nobile, A., Fearnside, A. T. (2007). Bayesian finite mixtures with an unknown number of components:
    the allocation sampler. Statistics and Computing 17, 147-162. doi:10.1007/s11222-006-9014-7
    """

    proposals: int | None = None

    def __post_init__(self) -> None:
        if self.proposals is not None:
            check_count(self.proposals, "proposals")

    def row(self, side: Side) -> tuple[int, int, int]:
        """As many proposals as asked for."""
        return ALLOCATION, self.proposals or side.n_items, 0


def make_schedule(moves: str | Sequence[Move], model: Model) -> IntArray:
    """One cycle of moves, in the form in which the compiled loop reads it.

    Parameters
    ----------
    moves : {"default", "appendix"} or sequence of Move
        "default" is [Gibbs(), SplitMerge()], "appendix" the paper's sampler, [Allocation()]. With two sides
        all moves of the rows come first, then all moves of the columns.
    model : Model

    Returns
    -------
    ndarray of shape (rows, 4)
        Rows (side, move, steps, scans).

    Examples
    --------
    >>> from epluribus.models import GaussianMixture
    >>> from epluribus.sampling.moves import make_schedule
    >>> make_schedule("default", GaussianMixture([0.1, -0.2, 5.0]))
    array([[0, 0, 3, 0],
           [0, 1, 3, 3]])
    """
    chosen: Sequence[Move]
    if isinstance(moves, str):
        check_choice(moves, SCHEDULES, "moves")
        chosen = (Gibbs(), SplitMerge()) if moves == "default" else (Allocation(),)
    else:
        chosen = tuple(moves)
        if not chosen or not all(isinstance(move, Move) for move in chosen):
            raise TypeError(
                "'moves' must be 'default', 'appendix' or a sequence of Gibbs(), SplitMerge() and "
                f"Allocation(); got {shown(moves)}."
            )
    rows = [(number, *move.row(side)) for number, side in enumerate(model.sides) for move in chosen]
    return np.array(rows, dtype=np.int64)
