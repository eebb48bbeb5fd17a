"""Single-site collapsed Gibbs: each item in turn is drawn again given all others.

With item i taken out, K clusters of sizes n_g remain. It goes to cluster g with weight

    w(K) s(n_g + 1) / s(n_g) p(y_i | g),       to a new one with       w(K + 1) s(1) p(y_i | new)

where log w and log s are the two tables of the prior (`epluribus.models.prior`) and p the
predictive probabilities. At the bound of K there is no new one. Always accepted; the rate reported
is that of items that moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from epluribus._kernels.advance import GIBBS
from epluribus._validate import check_count
from epluribus.sampling.schedule import Move

__all__ = ["Gibbs"]


@dataclass(frozen=True)
class Gibbs(Move):
    """Sweeps of single-site Gibbs updates.

    Parameters
    ----------
    sweeps : int, default 1
        Sweeps over all items in each cycle.

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
        """Steps in one cycle."""
        return self.sweeps * n_items
