"""Statements about which items are together and which are apart, and those of them that hold in most draws: CHiPS.

A partial partition divides some of the items into clusters and says nothing of the others. Its probability is
the share of the draws that divide these items in the same way. With few items it may be near 1; with all of
them it is the probability of a single partition, which is often tiny. The path from one to the other shows
how much of the structure the posterior is sure of.

Items are added greedily, each time the one, and with it the cluster, that keeps the most probability
(`_kernels/chips.py`), from several random first items.

Barrientos, A. F., Page, G. L., Dahl, D. B., Dunson, D. B. (2024): the conditional high inclusion probability
subset partition (CHiPS), as in `chips` of the R package salso.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epluribus._cards import Plain
from epluribus._kernels.chips import grow
from epluribus._parallel import Stopper, resolve_jobs, run_tasks
from epluribus._text import count, percent, plain_table, sentence_list, worded
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike, RngLike
from epluribus._validate import check_count, check_fraction, make_rng
from epluribus.constraints import Constraints, ItemNames, is_list, item_groups
from epluribus.draws import Draws, as_draws
from epluribus.estimate import Estimate
from epluribus.partition import relabel
from epluribus.search import minimize
from epluribus.uncertainty._error import mean_with_error, plus_minus

_NAMED = 6
"""Items of a group that are named when the statement is printed; of more only their number is given."""
_SHOWN = (1.0, 0.99, 0.95, 0.9, 0.8, 0.5, 0.2, 0.1, 0.05, 0.01)
"""Probabilities for which the largest partial partition is printed."""


@dataclass(frozen=True, repr=False)
class Probability(Plain):
    """Posterior probability of a statement about items, with its Monte Carlo standard error."""

    probability: float
    """Share of the draws, by weight, in which the statement holds."""
    standard_error: float
    """Of the probability, from the effective sample size; NaN with fewer than 4 draws per chain. It is 0 if
    the statement holds in all draws or in none, which does not make it certain or impossible."""
    ess: float
    """Effective number of independent draws behind the probability."""
    statement: str
    """What holds, in words."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    def __float__(self) -> float:
        return self.probability

    def __str__(self) -> str:
        value = plus_minus(self.probability, self.standard_error)
        return f"{self.statement}: {worded('probability', self.kind)} {value}"


def probability(
    draws: DrawsLike, *, together: Sequence[Any] | None = None, apart: Sequence[Any] | None = None
) -> Probability:
    """Posterior probability that some items share a cluster, and that others do not.

    In a paper: *the posterior probability that Ann and Bob are in one cluster, and Cy in another, is 0.83*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    together : sequence of items, or of such sequences, optional
        Items that are all in one cluster; with several groups, each group in one cluster, and two groups
        perhaps in the same.
    apart : sequence of items, or of such sequences, optional
        Items that are in different clusters, any two of them; with several groups, this is said of each.

    Returns
    -------
    Probability
        A number (`float(found)`) with its standard error.

    Notes
    -----
    An item is its number, counted from 0, or its name if the draws have names. All that is given must hold
    at once. To state a partial partition, put its clusters into `together`, and one item of each into `apart`.

    Examples
    --------
    >>> import epluribus as epl
    >>> z = [[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 0, 1], [0, 1, 1, 1]]
    >>> draws = epl.Draws(z, items=["ann", "bob", "cy", "dee"])
    >>> epl.uncertainty.probability(draws, together=["ann", "bob"]).probability
    0.75
    >>> found = epl.uncertainty.probability(draws, together=["ann", "bob"], apart=["bob", "cy", "dee"])
    >>> found.probability, found.statement
    (0.25, 'ann and bob are together; bob, cy and dee are apart')
    >>> float(epl.uncertainty.probability(draws, together=[["ann", "bob"], ["cy", "dee"]]))
    0.25
    """
    sample = as_draws(draws)
    same, different = _groups(together, "together", sample), _groups(apart, "apart", sample)
    if not same and not different:
        raise ValueError("'together' or 'apart' must name items; neither is given.")
    if sample.has_missing:  # only draws that saw all of the items can say anything about them
        items = np.unique(np.concatenate([*same, *different]))
        saw = np.flatnonzero(np.all(sample.store.rows(items) > 0, axis=0).ravel()[sample.index])
        if len(saw) == 0:
            names = sentence_list([sample.item_names[i] for i in items[:_NAMED].tolist()])
            asked = f"labels for all of the items {names} in some draw"
            raise ValueError(f"'draws' must have {asked}; none has.")
        sample = sample[saw]
    words = [f"{_name(group, sample)} are together" for group in same]
    words += [f"{_name(group, sample)} are apart" for group in different]
    mean = mean_with_error(_holds(sample, same, different), sample)
    return Probability(*mean, "; ".join(words), sample.kind)


def _holds(draws: Draws, together: Sequence[IntArray], apart: Sequence[IntArray]) -> FloatArray:
    """(n_distinct,) 1 for each distinct draw in which the statement holds, else 0."""
    holds: NDArray[np.bool_] = np.ones(draws.n_distinct, dtype=np.bool_)
    for group in together:
        labels = draws.store.rows(group)
        holds &= (labels == labels[0]).all(axis=0)
    for group in apart:
        # In order, equal labels of a draw are neighbors.
        labels = np.sort(draws.store.rows(group), axis=0)
        holds &= (labels[1:] != labels[:-1]).all(axis=0)
    return holds.astype(np.float64)


def _groups(items: Any, argument: str, draws: Draws) -> tuple[IntArray, ...]:
    """One or several groups of items, as numbers."""
    one = is_list(items) and not any(map(is_list, items))
    return item_groups(argument, [items] if one else items, ItemNames(draws))


def _name(group: IntArray, draws: Draws) -> str:
    """The items of a group in words; many are only counted."""
    if len(group) > _NAMED:
        return count(len(group), "item")
    names = sentence_list([draws.item_names[i] for i in group])
    return names if draws.items is not None else f"items {names}"


@dataclass(frozen=True, repr=False, eq=False)
class PartialPartition(Plain):
    """Some of the items, divided into clusters."""

    labels: IntArray
    """(n_items,) labels 0, 1, ... in order of first appearance; -1 for an item that is left out."""
    probability: float
    """Posterior probability that exactly these items are together and apart."""
    standard_error: float
    """Monte Carlo standard error of the probability. The partition was chosen for its large share of these
    draws, so that the probability is a little too large; this is not counted."""
    items: tuple[str, ...] | None
    """Names of all items, if the draws have them."""
    kind: str = "posterior"
    """What the draws are: "posterior" or "ensemble"."""

    @property
    def n_items(self) -> int:
        """Number of items that are in it."""
        return int(np.count_nonzero(self.labels >= 0))

    @property
    def n_clusters(self) -> int:
        """Number of its clusters."""
        return int(self.labels.max()) + 1

    @property
    def clusters(self) -> list[list[Any]]:
        """The items of each cluster: names if there are any, else numbers."""
        names = np.arange(len(self.labels)) if self.items is None else np.array(self.items, object)
        return [names[self.labels == g].tolist() for g in range(self.n_clusters)]

    def complete(self, draws: DrawsLike, loss: LossLike = "vi", **options: Any) -> Estimate:
        """The best whole partition in which these items are together and apart as they are here.

        The `options` are those of `epluribus.minimize`.

        Examples
        --------
        >>> import epluribus as epl
        >>> z = [[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 1, 0]]
        >>> epl.uncertainty.chips(z, rng=1).at(n_items=3).complete(z).labels
        array([0, 0, 1, 2])
        """
        groups = [np.flatnonzero(self.labels == g).tolist() for g in range(self.n_clusters)]
        together = [group for group in groups if len(group) > 1]
        apart = [[group[0] for group in groups]] if len(groups) > 1 else None
        links = Constraints(must_link=together, cannot_link=apart)
        return minimize(draws, loss, constraints=links, **options)

    def __str__(self) -> str:
        size = f"{self.n_items:,} of {count(len(self.labels), 'item')} in {count(self.n_clusters, 'cluster')}"
        share = plus_minus(self.probability, self.standard_error)
        return worded(f"{size}: probability {share}", self.kind)


@dataclass(frozen=True, repr=False, eq=False)
class Chips(Plain):
    """Partial partitions of every size; entry n - 1 belongs to n items."""

    probability: FloatArray
    """(n_items,) the largest probability found of a partial partition of n items; it falls with n."""
    n_clusters: IntArray
    """(n_items,) number of its clusters."""
    n_runs: int
    """Number of runs, each from another first item, as far as there are as many."""
    converged: bool
    """False if a time limit or Ctrl-C ended the search early."""
    paths: tuple[tuple[IntArray, IntArray], ...]
    """The items as each run added them, and their clusters."""
    path: IntArray
    """(n_items,) the run that is best for each size."""
    draws: Draws
    """The draws they come from."""

    def at(
        self, *, n_items: int | None = None, probability: float | None = None
    ) -> PartialPartition:
        """The partial partition of that many items, or the largest with at least that probability.

        Examples
        --------
        >>> import epluribus as epl
        >>> found = epl.uncertainty.chips([[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 1, 0]], rng=1)
        >>> found.at(probability=0.9).labels
        array([ 0,  0,  1, -1])
        >>> found.at(n_items=4).probability
        0.5
        """
        if (n_items is None) == (probability is None):
            raise ValueError("Give one of 'n_items' and 'probability'.")
        N = len(self.probability)
        if n_items is None:  # one item alone has probability 1, so that there always is one
            n = self._largest(check_fraction(probability, "probability"))
        elif (n := check_count(n_items, "n_items")) > N:
            raise ValueError(f"'n_items' must be at most {N}, the number of items; got {n}.")
        (order, label), labels = self.paths[self.path[n - 1]], np.full(N, -1, dtype=np.int64)
        labels[order[:n]] = label[:n]
        labels[labels >= 0] = relabel(labels[labels >= 0])
        # The same clusters, and one item of each in another cluster than those of the others.
        together = [np.flatnonzero(labels == g) for g in range(int(labels.max()) + 1)]
        apart = np.array([group[0] for group in together])
        mean = mean_with_error(_holds(self.draws, together, [apart]), self.draws)
        return PartialPartition(labels, *mean[:2], self.draws.items, self.draws.kind)

    def _largest(self, probability: float) -> int:
        """The largest number of items with at least this probability; sums of weights may be rounded."""
        return int(np.count_nonzero(self.probability >= probability - 1e-12))

    def __str__(self) -> str:
        # The largest for each probability; the same one is not repeated.
        sizes, n = np.unique([self._largest(p) for p in _SHOWN]), len(self.probability)
        of_sizes = self.n_clusters[sizes - 1], self.probability[sizes - 1]
        columns = dict(zip(("items", "clusters", "probability"), (sizes, *of_sizes), strict=True))
        head = (
            f"partial partitions of up to {count(n, 'item')}: {percent(self._largest(0.5) / n)} of the items "
            "with probability 0.5 or more"
        )
        kind = self.draws.kind
        lines = plain_table({worded(name, kind): x for name, x in columns.items()}, words=0)
        return "\n".join([worded(head, kind), *lines])


def chips(
    draws: DrawsLike,
    *,
    n_starts: int = 64,
    n_jobs: int | None = None,
    rng: RngLike = None,
    time_limit: float | None = None,
) -> Chips:
    """Partial partitions of large posterior probability, for every number of items (CHiPS).

    In a paper: *a partition of 41 of the 60 items into 3 clusters has posterior probability 0.80; the other
    19 items are left out*.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    n_starts : int, default 64
        Number of runs, each from another random first item; for each number of items the best run counts.
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    rng : int, Generator or SeedSequence, optional
        Source of randomness.
    time_limit : float, optional
        Seconds after which the best so far is returned, marked ``converged=False``. Ctrl-C ends the search
        at any time.

    Returns
    -------
    Chips
        The probability for each number of items; `at` gives the partial partition.

    Notes
    -----
    The search is greedy: there may be partial partitions of higher probability. With more starts none is
    lower. If few draws agree, the partial partition says more about these than about the posterior. Time
    O(n_starts n_items n_draws) at least, and more where many items keep nearly the same probability.

    Examples
    --------
    >>> import epluribus as epl
    >>> z = [[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 1, 0]]
    >>> found = epl.uncertainty.chips(z, rng=1)
    >>> found.probability
    array([1. , 1. , 1. , 0.5])
    >>> found.at(n_items=3).clusters
    [[0, 1], [2]]
    """
    sample, runs = as_draws(draws), check_count(n_starts, "n_starts")
    sample.check_complete("CHiPS")
    n, generator, stopper = sample.n_items, make_rng(rng), Stopper(time_limit)
    # Draws without weight are not part of the posterior.
    has = sample.weights > 0
    table = sample.item_major if has.all() else sample.item_major[:, has]
    table, weights = np.ascontiguousarray(table), sample.weights[has] / sample.weights[has].sum()
    # Every item is the first one once, before any is so twice.
    firsts = np.concatenate([generator.permutation(n) for _ in range(-(-runs // n))])[:runs]
    seeds = generator.bit_generator.seed_seq.spawn(runs)  # type: ignore[attr-defined]

    def run(first: int, seed: Any) -> tuple[IntArray, IntArray, FloatArray]:
        # Among items that keep the same weight a random order decides.
        items = np.random.default_rng(seed).permutation(n)
        items = np.concatenate([[first], items[items != first]])
        # The path: items, clusters, weight of the draws that agree.
        path = np.empty_like(items), np.empty_like(items), np.empty(n)
        grow(table, weights, items, stopper.flag, *path)
        return path

    tasks = [partial(run, *given) for given in zip(firsts, seeds, strict=True)]
    found = run_tasks(tasks, n_jobs=resolve_jobs(n_jobs), stopper=stopper)
    orders, labels, kept = zip(*found, strict=True)
    probability = np.minimum(kept, 1.0)
    path = probability.argmax(axis=0)
    n_clusters = np.maximum.accumulate(labels, axis=1)[path, np.arange(n)] + 1
    paths, ended = tuple(zip(orders, labels, strict=True)), not stopper.flag[0]
    return Chips(probability.max(axis=0), n_clusters, len(found), ended, paths, path, sample)
