"""Partial partitions of high posterior probability: CHiPS.

A partial partition divides some of the items into clusters and says nothing of the others. Its probability is
the share of the draws that divide these items in the same way. With few items it may be near 1; with all of
them it is the probability of a single partition, which is often tiny. The path from one to the other shows
how much of the structure the posterior is sure of.

Finding the best partial partition of every size is hard. Items are added greedily, each time the one, and
with it the cluster, that keeps the most probability (`_kernels/chips.py`), from several random first items.

Barrientos, A. F., Page, G. L., Dahl, D. B., Dunson, D. B. (2024): the conditional high inclusion probability
subset partition (CHiPS), as in `chips` of the R package salso.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from epluribus._kernels.chips import grow
from epluribus._parallel import Stopper, resolve_jobs, run_tasks
from epluribus._text import count, percent, plain_table
from epluribus._typing import DrawsLike, FloatArray, IntArray, RngLike
from epluribus._validate import check_count, check_fraction, make_rng
from epluribus.draws import Draws, as_draws
from epluribus.partition import relabel
from epluribus.uncertainty._error import mean_with_error
from epluribus.uncertainty._statement import statement_holds

_SHOWN = (1.0, 0.99, 0.95, 0.9, 0.8, 0.5, 0.2, 0.1, 0.05, 0.01)
"""Probabilities for which the largest partial partition is printed."""


@dataclass(frozen=True, repr=False, eq=False)
class Path:
    """What a run has found: the items as they were added."""

    order: IntArray
    """(n_items,) the items."""
    label: IntArray
    """(n_items,) their clusters."""
    kept: FloatArray
    """(n_items,) weight of the draws that agree, after each of them."""


@dataclass(frozen=True, repr=False, eq=False)
class PartialPartition:
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
        names: Sequence[Any] = range(len(self.labels)) if self.items is None else self.items
        return [
            [names[i] for i in np.flatnonzero(self.labels == g).tolist()]
            for g in range(self.n_clusters)
        ]

    def __repr__(self) -> str:
        return (
            f"PartialPartition(n_items={self.n_items}, n_clusters={self.n_clusters}, "
            f"probability={self.probability:.4g})"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Chips:
    """Partial partitions of every size; entry n - 1 belongs to n items."""

    probability: FloatArray
    """(n_items,) the largest probability found of a partial partition of n items; it falls with n."""
    n_clusters: IntArray
    """(n_items,) number of its clusters."""
    n_runs: int
    """Number of runs, each from another first item, as far as there are as many."""
    converged: bool
    """False if a time limit or Ctrl-C ended the search early."""
    paths: tuple[Path, ...]
    """The runs that are best for some size."""
    path: IntArray
    """(n_items,) which of them."""
    draws: Draws
    """The draws they come from."""

    @property
    def area(self) -> float:
        """Mean probability over all sizes: 1 if all draws are equal."""
        return float(self.probability.mean())

    def at(
        self, *, n_items: int | None = None, probability: float | None = None
    ) -> PartialPartition:
        """The partial partition of that many items, or the largest with at least that probability.

        Examples
        --------
        >>> import epluribus as epl
        >>> found = epl.chips([[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 1, 0]], rng=1)
        >>> found.at(probability=0.9).labels
        array([ 0,  0,  1, -1])
        >>> found.at(n_items=4).probability
        0.5
        """
        if (n_items is None) == (probability is None):
            raise ValueError("Give one of 'n_items' and 'probability'.")
        if n_items is not None:
            n = check_count(n_items, "n_items")
            if n > len(self.probability):
                raise ValueError(
                    f"'n_items' must be at most {len(self.probability)}, the number of items; got {n}."
                )
        else:
            # One item alone has probability 1, so that there always is one. Rounding of weights is forgiven.
            least = check_fraction(probability, "probability") - 1e-12
            n = int(np.count_nonzero(self.probability >= least))
        run = self.paths[self.path[n - 1]]
        labels = np.full(len(self.probability), -1, dtype=np.int64)
        chosen = np.sort(run.order[:n])
        labels[run.order[:n]] = run.label[:n]
        labels[chosen] = relabel(labels[chosen])
        groups = [np.flatnonzero(labels == g) for g in range(int(labels.max()) + 1)]
        # The same clusters, and one item of each in another cluster than those of the others.
        together = [group for group in groups if len(group) > 1]
        apart = [np.array([group[0] for group in groups])] if len(groups) > 1 else []
        holds = statement_holds(self.draws, together, apart)
        mean = mean_with_error(holds.astype(np.float64), self.draws)
        return PartialPartition(labels, mean.value, mean.standard_error, self.draws.items)

    def __repr__(self) -> str:
        return f"Chips(n_items={len(self.probability)}, area={self.area:.4g})"

    def __str__(self) -> str:
        sizes = [int(np.count_nonzero(self.probability >= p - 1e-12)) for p in _SHOWN]
        # The largest for each probability; the same one is not repeated.
        rows = [n for q, n in enumerate(sizes) if n not in sizes[:q]]
        n = len(self.probability)
        lines = plain_table(
            {
                "items": rows,
                "clusters": [int(self.n_clusters[row - 1]) for row in rows],
                "probability": [float(self.probability[row - 1]) for row in rows],
            },
            words=0,
        )
        head = (
            f"partial partitions of up to {count(n, 'item')}: "
            f"{percent(sizes[_SHOWN.index(0.5)] / n)} of the items with probability 0.5 or more"
        )
        return "\n".join([head, *lines])


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
    lower. With probabilities below a few times 1 / (number of draws) few draws agree, and the partial
    partition says more about these than about the posterior.

    Time O(n_starts n_items n_draws) at least, and more where many items keep nearly the same probability.

    Examples
    --------
    >>> import epluribus as epl
    >>> z = [[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 1, 2], [0, 0, 1, 0]]
    >>> found = epl.chips(z, rng=1)
    >>> found.probability
    array([1. , 1. , 1. , 0.5])
    >>> found.at(n_items=3).clusters
    [[0, 1], [2]]
    """
    sample, runs = as_draws(draws), check_count(n_starts, "n_starts")
    sample.check_complete("CHiPS")
    n, generator, stopper = sample.n_items, make_rng(rng), Stopper(time_limit)
    # Draws without weight are not part of the posterior.
    has = np.flatnonzero(sample.weights > 0)
    table = sample.item_major if len(has) == sample.n_distinct else sample.item_major[:, has]
    table, weights = np.ascontiguousarray(table), sample.weights[has] / sample.weights[has].sum()
    # Every item is the first one once, before any is so twice.
    firsts = np.concatenate([generator.permutation(n) for _ in range(-(-runs // n))])[:runs]
    tasks = [
        partial(_run, table, weights, first, np.random.default_rng(seed), stopper)
        for first, seed in zip(firsts, generator.bit_generator.seed_seq.spawn(runs), strict=True)  # type: ignore[attr-defined]
    ]
    found = run_tasks(tasks, n_jobs=resolve_jobs(n_jobs), stopper=stopper)
    probabilities = np.minimum([path.kept for path in found], 1.0)
    best = probabilities.argmax(axis=0)
    used, path_of = np.unique(best, return_inverse=True)
    paths = tuple(found[run] for run in used)
    clusters = np.array([np.maximum.accumulate(path.label) + 1 for path in paths])
    return Chips(
        probability=probabilities.max(axis=0),
        n_clusters=clusters[path_of, np.arange(n)],
        n_runs=len(found),
        converged=not stopper.flag[0],
        paths=paths,
        path=path_of,
        draws=sample,
    )


def _run(
    table: Any, weights: FloatArray, first: int, rng: np.random.Generator, stopper: Stopper
) -> Path:
    """All items added greedily, beginning with the first one."""
    # Among items that keep the same weight the order in the heap decides.
    heap = rng.permutation(len(table))
    heap = np.concatenate([[first], heap[heap != first]])
    path = Path(np.empty_like(heap), np.empty_like(heap), np.empty(len(table)))
    grow(table, weights, heap, stopper.flag, path.order, path.label, path.kept)
    return path
