"""Priors on partitions, each given by two tables.

For a partition of N items into K clusters of sizes n_1..n_K

    log p(partition) = log_weight[K] + sum_g log_size[n_g]

Mixtures of finite mixtures: k components, k ~ p(k), with weights from Dirichlet(a, ..., a). Given k, a
vector of labels in {1..k}^N has probability D(k) prod_g Gamma(n_g + a) / Gamma(a), where D(k) = Gamma(ka) /
Gamma(ka + N), and a partition corresponds to k! / (k - K)! such vectors. Hence

    log_weight[K] = log sum_k p(k) k! / (k - K)! D(k),      log_size[n] = lgamma(n + a) - lgamma(a)

Dirichlet process: log_size[n] = lgamma(n), log_weight[K] = K log theta + lgamma(theta) -
lgamma(theta + N). Pitman-Yor process with discount d: log_size[n] = lgamma(n - d) - lgamma(1 - d),
log_weight[K] = sum_{0<j<K} log(theta + j d) - lgamma(theta + N) + lgamma(theta + 1). All sum to 1 over the
partitions of N items, unless `k_max` cuts an unbounded k.

References
----------
Miller, J. W., Harrison, M. T. (2018). Mixture models with a prior on the number of components. JASA
113, 340-356. doi:10.1080/01621459.2016.1255636

Pitman, J. (1995). Exchangeable and partially exchangeable random partitions. Probability Theory and
Related Fields 102, 145-158. doi:10.1007/BF01213386
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from epluribus._typing import FloatArray, LabelsLike
from epluribus._validate import check_choice, check_count, check_positive, shown
from epluribus.partition import as_labels

ON_K = ("uniform", "poisson", "geometric", "fixed")
"""Names of the priors on the number of components."""
PROCESSES = ("dirichlet-process", "pitman-yor")
"""Names of the priors without a number of components."""
NAMES = (*ON_K, *PROCESSES)
"""All names that a model takes for its prior on partitions."""


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
        """Prior distribution of the number of clusters of `n_items` items: each with more than 1e-12, exactly.

        Examples
        --------
        >>> from epluribus.models import DirichletProcess
        >>> {k: round(p, 4) for k, p in DirichletProcess(1.0).n_clusters(3).items()}
        {1: 0.3333, 2: 0.5, 3: 0.1667}
        """
        p = _distribution_of_k(self, check_count(n_items, "n_items"))
        return {K: float(value) for K, value in enumerate(p) if value > 1e-12}

    def describe(self, n_items: int) -> str:
        """What the prior says about the number of clusters, in one line: mean and 95% interval.

        Examples
        --------
        >>> from epluribus.models import DirichletProcess
        >>> print(DirichletProcess(1.0).describe(100))
        number of clusters of 100 items, a priori: mean 5.2, 95% interval 2 to 9
        """
        # With more items the distribution of K takes more than a second: it is computed only when asked for.
        if check_count(n_items, "n_items") > 100_000:
            return (
                f"number of clusters a priori: `n_clusters` of the prior has it ({n_items:,} items)"
            )
        try:
            p = _distribution_of_k(self, n_items)
        except NotImplementedError:
            return f"number of clusters a priori: not known for {self!r}"
        mean = float(np.arange(p.size) @ p)
        # Quantiles: the smallest K with at least 2.5%, and with at least 97.5%, up to it.
        total = np.cumsum(p)
        low, high = np.searchsorted(total, 0.025), np.searchsorted(total, 0.975)
        items = f"{n_items:,} item{'s' if n_items > 1 else ''}"
        return (
            f"number of clusters of {items}, a priori: mean {mean:.1f}, 95% interval {low} to "
            f"{min(high, p.size - 1)}"
        )

    def log_pmf(self, labels: LabelsLike) -> float:
        """Log probability of a partition; minus infinity with more clusters than the prior allows."""
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


@dataclass(frozen=True)
class PartitionPrior(PartitionLaw):
    """A mixture of finite mixtures: Dirichlet weights on k components, with a prior on k.

    Parameters
    ----------
    concentration : float, default 0.5
        Parameter `a` of the symmetric Dirichlet distribution (the paper's alpha).
    on_k : {'uniform', 'poisson', 'geometric', 'fixed'}, default 'uniform'
        Prior on the number of components k, empty ones included: uniform on 1..k_max; Poisson(1)
        given k >= 1; 2^-k; or always k_max.
    k_max : int, default 50
        Largest number of clusters (the paper's K_up). With 'poisson' and 'geometric' it bounds the
        number of non-empty clusters, and the prior is not renormalized.

    Examples
    --------
    >>> from epluribus.models import PartitionPrior
    >>> prior = PartitionPrior(concentration=1.0, on_k="fixed", k_max=2)
    >>> float(np.exp(prior.log_pmf([0, 0])).round(6)), float(np.exp(prior.log_pmf([0, 1])).round(6))
    (0.666667, 0.333333)
    """

    concentration: float = 0.5
    on_k: str = "uniform"
    k_max: int = 50

    def __post_init__(self) -> None:
        check_positive(self.concentration, "concentration")
        check_choice(self.on_k, ON_K, "on_k")
        check_count(self.k_max, "k_max")

    def _log_weight(self, n_items: int, n_clusters: int) -> float:
        """The log of the sum of p(k) k! / (k - K)! D(k) over the numbers of components k >= K."""
        a = self.concentration
        # A bounded k ends at k_max. The terms of an unbounded one fall at least as fast as 2^-k once k exceeds a few
        # times K: those left out are below 1e-30 of the sum.
        last = self.k_max if self.on_k in ("uniform", "fixed") else n_clusters + n_items + 400
        k = np.arange(last if self.on_k == "fixed" else n_clusters, last + 1)
        # p(k); Poisson(1) given k >= 1 is 1 / ((e - 1) k!)
        log_p = {
            "uniform": np.full(k.size, -np.log(self.k_max)),
            "poisson": -gammaln(k + 1.0) - np.log(np.expm1(1.0)),
            "geometric": -k * np.log(2.0),
            "fixed": np.zeros(k.size),
        }[self.on_k]
        # D(k), and the k! / (k - K)! vectors of labels that give one partition
        log_d = gammaln(k * a) - gammaln(k * a + n_items)
        return float(logsumexp(log_p + gammaln(k + 1.0) - gammaln(k - n_clusters + 1.0) + log_d))

    def tables(self, n_items: int) -> PriorTables:
        """The two tables for `n_items` items."""
        # There are never more clusters than items.
        slots = min(self.k_max, n_items)
        log_weight = [self._log_weight(n_items, K) for K in range(1, slots + 1)]
        sizes = np.arange(n_items + 1)
        a = self.concentration
        return PriorTables(bounded(np.array(log_weight)), gammaln(sizes + a) - gammaln(a))

    def _seats(self) -> tuple[float, float]:
        return self.concentration, self.concentration


@dataclass(frozen=True)
class PitmanYor(PartitionLaw):
    """The Pitman-Yor process as a prior on partitions; discount 0 is the Dirichlet process.

    Parameters
    ----------
    concentration : float, default 1
        Theta, above minus the discount.
    discount : float, default 0.5
        d, at least 0 and below 1; if d > 0, the number of clusters grows as N^d.
    k_max : int, optional
        Largest number of clusters; by default there is no bound. With a bound the prior is not renormalized.

    Examples
    --------
    >>> from epluribus.models import PitmanYor
    >>> round(float(np.exp(PitmanYor(1.0, 0.5).log_pmf([0, 1]))), 6)
    0.75
    """

    concentration: float = 1.0
    discount: float = 0.5
    k_max: int | None = None

    def __post_init__(self) -> None:
        if self.k_max is not None:
            check_count(self.k_max, "k_max", way_out=" None means no bound.")
        if not 0 <= self.discount < 1:
            raise ValueError(
                f"'discount' must be at least 0 and below 1; got {shown(self.discount)}."
            )
        if not (np.isfinite(self.concentration) and self.concentration > -self.discount):
            raise ValueError(
                f"'concentration' must be above minus the discount, {-self.discount}; "
                f"got {shown(self.concentration)}."
            )

    def tables(self, n_items: int) -> PriorTables:
        """The two tables for `n_items` items."""
        theta, d = self.concentration, self.discount
        j = np.arange(1, n_items)
        # prod_{0<j<K} (theta + j d) / prod_{0<i<N} (theta + i)
        log_weight = np.concatenate([[0.0], np.log(theta + j * d).cumsum()])[: self.k_max]
        log_weight -= np.log(theta + j).sum()
        # (1 - d)(2 - d) ... (n - 1 - d) for a cluster of n; an empty one has no factor.
        sizes = np.arange(1, n_items + 1)
        log_size = np.concatenate([[0.0], gammaln(sizes - d) - gammaln(1 - d)])
        return PriorTables(bounded(log_weight), log_size)

    def _seats(self) -> tuple[float, float]:
        return -self.discount, 1.0

    def _most(self, n_items: int) -> int:
        theta, d = self.concentration, self.discount
        # Mean and second moment of K, item by item: a new cluster has probability (theta + d K)/(theta + n).
        mean = square = 1.0
        for n in range(1, n_items):
            opened, product = theta + d * mean, theta * mean + d * square
            square += (2 * product + opened) / (theta + n)
            mean += opened / (theta + n)
        return int(mean + 15 * np.sqrt(max(square - mean**2, 0.0)) + 20)


@dataclass(frozen=True)
class DirichletProcess(PitmanYor):
    """The Dirichlet process as a prior on partitions, the Chinese restaurant process: discount 0.

    Parameters
    ----------
    concentration : float, default 1
        Theta, positive; the prior mean of the number of clusters grows as theta log N.
    k_max : int, optional
        Largest number of clusters; by default there is no bound. With a bound the prior is not renormalized.

    Examples
    --------
    >>> from epluribus.models import DirichletProcess
    >>> round(float(np.exp(DirichletProcess(1.0).log_pmf([0, 0, 1]))), 6)
    0.166667
    """

    discount: float = field(default=0.0, init=False, repr=False)


@dataclass(frozen=True)
class FlatPrior(PartitionLaw):
    """Weight 1 for every partition into at most `k_max` clusters; not normalized.

    For models whose function of the labels is the whole log posterior.
    """

    k_max: int

    def tables(self, n_items: int) -> PriorTables:
        """The two tables for `n_items` items."""
        return PriorTables(bounded(np.zeros(min(self.k_max, n_items))), np.zeros(n_items + 1))


def as_prior(
    prior: str | PartitionLaw, alpha: float | None, k_max: int | None, default_alpha: float
) -> PartitionLaw:
    """The prior that the arguments `prior`, `alpha` and `k_max` of a model stand for.

    `prior` is one of `NAMES`, or a prior, which has its own parameters and is returned unchanged. `default_alpha` is
    the model's default of `alpha` for a `PartitionPrior`; that of a process is 1.
    """
    given: dict[str, Any] = {"alpha": alpha, "k_max": k_max}
    given = {name: value for name, value in given.items() if value is not None}
    if isinstance(prior, PartitionLaw):
        if given:  # a value that would be ignored in silence is an error
            raise ValueError(
                f"'{next(iter(given))}' belongs to the named priors; 'prior' is a {type(prior).__name__}, "
                "which has its own parameters: give it there."
            )
        return prior
    if not isinstance(prior, str):
        raise TypeError(
            "'prior' must be a name or an object such as PartitionPrior, DirichletProcess or "
            f"PitmanYor; got {shown(prior)}."
        )
    check_choice(prior, NAMES, "prior")
    if alpha is not None:
        given["concentration"] = check_positive(given.pop("alpha"), "alpha")
    if prior in PROCESSES:
        return (DirichletProcess if prior == "dirichlet-process" else PitmanYor)(**given)
    return PartitionPrior(**{"concentration": default_alpha, **given}, on_k=prior)
