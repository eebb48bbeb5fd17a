"""The moves of a chain, and the cycle in which they are repeated.

A *step*, the unit in which `burn_in` and `thin` count, is what the paper calls an iteration: one
Gibbs update of one item, or one proposal of another move. Every move leaves the posterior
invariant, so that a draw may be taken after any step, even in the middle of a sweep.

Below, pi is the posterior. The log probability of a partition under the prior is log w(K) plus the sum
over clusters of log s(n_g): these are the two tables of `epluribus.models.prior`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from epluribus._kernels.moves import ALLOCATION, GIBBS, SPLIT_MERGE
from epluribus._typing import IntArray
from epluribus._validate import check_choice, check_count
from epluribus.models.base import Model

SCHEDULES = ("default", "appendix")
"""Names of the built-in cycles."""


class Move(ABC):
    """One kind of move, repeated a number of times in each cycle."""

    code: ClassVar[int]
    """Its number in the compiled loop."""

    @abstractmethod
    def n_steps(self, n_items: int) -> int:
        """Number of steps in one cycle."""


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

    Examples
    --------
    >>> from epluribus.sampling import Gibbs
    >>> Gibbs(2).n_steps(n_items=10)
    20
    """

    sweeps: int = 1
    code: ClassVar[int] = GIBBS

    def __post_init__(self) -> None:
        check_count(self.sweeps, "sweeps")

    def n_steps(self, n_items: int) -> int:
        """Number of steps in one cycle."""
        return self.sweeps * n_items


@dataclass(frozen=True)
class SplitMerge(Move):
    """Split-merge proposals with sequential allocation.

    Two items i and j are picked at random. If they share a cluster, it is split: i keeps it, j founds
    a new one, and the other members, in random order, choose between the two with probabilities
    proportional to prior times predictive, given those that have chosen already. With q the product of the
    probabilities of the choices made, the split is accepted with probability

        min(1, pi(after) / pi(before) / q)

    If they are in two clusters, these are merged. Then q is the probability that the same procedure
    splits them into the present two, and the merge is accepted with probability

        min(1, pi(after) / pi(before) x q)

    The order is an auxiliary variable with the same distribution both ways, and (i, j) has the same
    probability in both states, so the ratios are exact. Cost O(members of the two clusters) predictive
    probabilities.

    Parameters
    ----------
    proposals : int, default 5
        Number of proposals in each cycle.

    References
    ----------
    Dahl, D. B., Newcomb, S. (2022). Sequentially allocated merge-split samplers for conjugate Bayesian
    nonparametric models. Journal of Statistical Computation and Simulation 92, 1487-1511.
    doi:10.1080/00949655.2021.1998502

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
        """Number of steps in one cycle."""
        return self.proposals


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
        """Number of steps in one cycle."""
        return n_items if self.proposals is None else self.proposals


def make_schedule(moves: str | Sequence[Move], model: Model) -> IntArray:
    """One cycle of moves, in the form in which the compiled loop reads it.

    Parameters
    ----------
    moves : {"default", "appendix"} or sequence of Move
        "default" is one Gibbs sweep and 5 split-merge proposals; for a model with two sides, one sweep and
        2 proposals for each side. "appendix" is the paper's sampler alone, with as many allocation
        proposals as there are items.
    model : Model

    Returns
    -------
    ndarray of shape (rows, 3)
        Rows (side, move, steps).

    Examples
    --------
    >>> from epluribus.models import GaussianMixture
    >>> from epluribus.sampling.moves import make_schedule
    >>> make_schedule("default", GaussianMixture([0.1, -0.2, 5.0]))
    array([[0, 0, 3],
           [0, 1, 5]])
    """
    chosen: Sequence[Move]
    if isinstance(moves, str):
        check_choice(moves, SCHEDULES, "moves")
        # On the paper's data this cycle gave the most effective draws per second, and without split-merge
        # chains on networks do not mix. With rows and columns Gibbs alone mixes nearly as well, and 2
        # proposals suffice.
        default = (Gibbs(), SplitMerge(5 if len(model.sides) == 1 else 2))
        chosen = default if moves == "default" else (Allocation(),)
    else:
        chosen = tuple(moves)
        if not chosen or not all(isinstance(move, Move) for move in chosen):
            raise TypeError(
                "'moves' must be 'default', 'appendix' or a sequence of Gibbs(), SplitMerge() and "
                f"Allocation(); got {moves!r}."
            )
    # With two sides: all moves of the rows, then all moves of the columns.
    rows = [
        (number, move.code, move.n_steps(side.n_items))
        for number, side in enumerate(model.sides)
        for move in chosen
    ]
    return np.array(rows, dtype=np.int64)
