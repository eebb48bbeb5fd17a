"""What every prior on partitions has: two tables, and the distribution of the number of clusters they imply.

For a partition of N items into K clusters of sizes n_1..n_K

    log p(partition) = log_weight[K] + sum_g log_size[n_g]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from epluribus._typing import FloatArray, LabelsLike
from epluribus._validate import check_count
from epluribus.partition import as_labels

_MANY = 100_000
"""Items beyond which the distribution of K takes more than a second, and is computed only when asked for."""


class PriorTables(NamedTuple):
    """The two tables of a prior on partitions of `n_items` items."""

    log_weight: FloatArray
    """(slots + 2,) by the number of clusters; minus infinity at 0 and at slots + 1, so that moves never open
    a cluster too many."""
    log_size: FloatArray
    """(n_items + 1,) by the size of a cluster; 0 at 0. Moves use differences of its entries."""

    @property
    def slots(self) -> int:
        """The largest possible number of clusters."""
        return self.log_weight.size - 2


class PartitionLaw(ABC):
    """Base of all priors on partitions: a subclass gives its two tables."""

    @abstractmethod
    def tables(self, n_items: int) -> PriorTables:
        """The two tables for `n_items` items."""

    def _seats(self) -> tuple[float, float]:
        """(slope, new): with n items in K clusters, one more has weight n + slope K in these, and `new`.

        These are sums of ratios of `log_size`: over the clusters, and of a cluster of one item to none.
        """
        raise NotImplementedError(f"the number of clusters is not known for {self!r}")

    def _most(self, n_items: int) -> int:
        """A number of clusters that is almost certainly not exceeded."""
        return n_items

    def n_clusters(self, n_items: int) -> dict[int, float]:
        """Prior distribution of the number of clusters of `n_items` items, exactly.

        Parameters
        ----------
        n_items : int

        Returns
        -------
        dict
            Probability of each number of clusters that has more than 1e-12.

        Examples
        --------
        >>> from epluribus.models import DirichletProcess
        >>> {k: round(p, 4) for k, p in DirichletProcess(1.0).n_clusters(3).items()}
        {1: 0.3333, 2: 0.5, 3: 0.1667}
        """
        N = check_count(n_items, "n_items")
        p = _distribution_of_k(self, N)
        return {K: float(value) for K, value in enumerate(p) if value > 1e-12}

    def describe(self, n_items: int) -> str:
        """What the prior says about the number of clusters, in one line: mean and 95 % interval.

        Parameters
        ----------
        n_items : int

        Returns
        -------
        str

        Examples
        --------
        >>> from epluribus.models import DirichletProcess, PartitionPrior
        >>> print(DirichletProcess(1.0).describe(100))
        number of clusters of 100 items, a priori: mean 5.2, 95 % interval 2 to 9
        >>> print(PartitionPrior(4.0).describe(100))
        number of clusters of 100 items, a priori: mean 22.7, 95 % interval 2 to 41
        """
        if check_count(n_items, "n_items") > _MANY:
            return (
                f"number of clusters a priori: `n_clusters` of the prior has it ({n_items:,} items)"
            )
        try:
            p = _distribution_of_k(self, n_items)
        except NotImplementedError:
            return f"number of clusters a priori: not known for {self!r}"
        mean = float(np.arange(p.size) @ p)
        # Quantiles: the smallest K with at least 2.5 %, and with at least 97.5 %, up to it.
        total = np.cumsum(p)
        low, high = np.searchsorted(total, 0.025), np.searchsorted(total, 0.975)
        items = f"{n_items:,} item{'s' if n_items > 1 else ''}"
        return (
            f"number of clusters of {items}, a priori: mean {mean:.1f}, 95 % interval {low} to "
            f"{min(high, p.size - 1)}"
        )

    def log_pmf(self, labels: LabelsLike) -> float:
        """Log probability of a partition.

        Parameters
        ----------
        labels : array_like of shape (n_items,)

        Returns
        -------
        float
            Minus infinity if there are more clusters than the prior allows.
        """
        sizes = np.bincount(as_labels(labels))  # n_1, ..., n_K
        # The table is for this number of items: log_weight depends on N through its normalization.
        table = cached_tables(self, int(sizes.sum()))
        if sizes.size > table.slots:
            return -np.inf
        return float(table.log_weight[sizes.size] + table.log_size[sizes].sum())


@lru_cache(maxsize=16)
def cached_tables(prior: PartitionLaw, n_items: int) -> PriorTables:
    """The tables of a prior, kept for repeated look-ups: a prior never changes and can be hashed."""
    return prior.tables(n_items)


@lru_cache(maxsize=16)
def _distribution_of_k(prior: PartitionLaw, n_items: int) -> FloatArray:
    """(slots + 1,) prior probabilities of 0, 1, ... clusters, summed over all partitions.

    With S(n, K) the sum over the partitions of n items into K clusters of the product of their sizes'
    weights, P(K) is proportional to exp(log_weight[K]) S(N, K), and

        S(n + 1, K) = (n + slope K) S(n, K) + new S(n, K - 1)
    """
    slope, new = prior._seats()
    # Far more clusters than one expects need not be followed: S(n, K) never looks at larger K.
    table = cached_tables(prior, n_items)
    slots = min(table.slots, prior._most(n_items))
    K = np.arange(slots + 1)
    log_s = np.full(slots + 1, -np.inf)
    log_new = np.log(new)
    log_s[1] = log_new
    with np.errstate(divide="ignore"):
        for n in range(1, n_items):
            # n + slope K is 0 or less only where there are more clusters than items, with S = 0.
            stay = np.log(np.maximum(n + slope * K, 0.0)) + log_s
            log_s[1:] = np.logaddexp(stay[1:], log_new + log_s[:-1])
    log_p = table.log_weight[: slots + 1] + log_s
    p = np.exp(log_p - log_p.max())
    return np.asarray(p / p.sum())


def bounded(log_weight: FloatArray) -> FloatArray:
    """Weights of 1..slots clusters, closed by minus infinity at both ends."""
    return np.concatenate([[-np.inf], log_weight, [-np.inf]])
