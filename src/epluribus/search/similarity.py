"""A search without draws: the partition that suits a similarity matrix best.

The rounds are those of a search with draws (`rounds`); starts come from the matrix, and kicks try groups of
items that are similar to one of them:

- ``"average"`` and ``"complete"``: the best of several cuts through the tree of that linkage, once each;
- ``"pivots"``: a random item and those most similar to it are a cluster, then the same with the items left;
- ``"sequential"`` and ``"together"``, as with draws.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import chain, cycle
from typing import Any

import numpy as np

from epluribus._parallel import run_tasks
from epluribus._progress import ProgressLike, make_progress
from epluribus._typing import IntArray
from epluribus._validate import shown
from epluribus.draws import Draws, as_draws
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.estimate import Estimate, Run
from epluribus.losses.base import Loss
from epluribus.losses.values import loss as loss_between
from epluribus.partition import relabel
from epluribus.search.comparison import Comparison
from epluribus.search.local import LocalSearch
from epluribus.search.matrix import MatrixProblem, similar_items
from epluribus.search.rounds import Search
from epluribus.search.starts import Start
from epluribus.settings import Settings

_FIRST = ("average", "sequential", "complete")
"""The kinds of starts of the first round ..."""
_KINDS = ("pivots", "pivots", "sequential", "pivots", "pivots", "together")
"""... and of the others, in turn."""
_TREE = 3000
"""Items above which no tree is made: it takes memory for all pairs, and time that grows with their number."""
_CUTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 100, 150, 250, 500)
"""Numbers of clusters at which a tree is cut."""


def as_draws_or_matrix(
    draws: Any, psm: Any, client: Any, map_labels: Any, progress: Any
) -> Draws | SimilarityMatrix:
    """What `minimize` was given: draws, or a similarity matrix in their place."""
    if psm is None:
        if draws is None:
            raise TypeError("'draws' must be given, or a similarity matrix as 'psm'.")
        return as_draws(draws, client, progress)
    others = {"draws": draws, "client": client, "map_labels": map_labels}
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"'{name}' cannot be given together with 'psm', which has no draws.")
    return SimilarityMatrix.of(psm)


def given_alone(starts: Any, labels: list[IntArray | None]) -> list[IntArray]:
    """The labels that were given as starts; kinds of starts by name are refused."""
    found = [one for one in labels if one is not None]
    if starts is not None and not found:
        raise ValueError(
            f"'starts' must be labels, of one partition or of several, with 'psm'; got {shown(starts)}. "
            "By default starts are made from the matrix."
        )
    return found


def refuse_rules(rules: Mapping[str, Any]) -> None:
    """Refuse constraints and undecided items, which the search with a matrix does not know."""
    asked = [name for name, value in rules.items() if value is not None]
    if asked:
        raise ValueError(f"'{asked[0]}' must be None with 'psm'. It needs the draws themselves.")


def minimize_matrix(
    matrix: SimilarityMatrix,
    chosen: list[Loss],
    given: list[IntArray],
    n_starts: int,
    settings: Settings,
    progress: ProgressLike,
    seed: np.random.SeedSequence,
) -> Comparison:
    """One estimate for each of the losses, and how they compare."""
    problems = [MatrixProblem(matrix.matrix, loss) for loss in chosen]
    found = [_solve(matrix, one, given, n_starts, settings, progress, seed) for one in problems]
    return Comparison(
        tuple(found),
        np.array([[problem.expected(a.labels) for problem in problems] for a in found]),
        np.array([[loss_between(a.labels, b.labels) for b in found] for a in found]),
    )


def _solve(
    matrix: SimilarityMatrix,
    problem: Any,  # a MatrixProblem, which offers what a Problem does
    given: list[IntArray],
    n_starts: int,
    settings: Settings,
    progress: ProgressLike,
    seed: np.random.SeedSequence,
) -> Estimate:
    """The estimate for one loss."""
    began, stopper = time.perf_counter(), settings.stopper
    first = _FIRST if matrix.n_items <= _TREE else ()
    plan = chain(
        (Start("given", one) for one in given), map(Start, first), cycle(map(Start, _KINDS))
    )
    bar = make_progress(progress, n_starts, f"minimize {problem.loss.name}", stopper)
    search = MatrixSearch(problem, plan, n_starts, settings, seed, bar)
    try:
        # In a worker thread, so that this one is free to receive Ctrl-C.
        task = search.recombine if settings.search == "recombine" else search.greedy
        [(runs, best)] = run_tasks([task], n_jobs=1, stopper=stopper)
    finally:
        bar.close()
    return Estimate(
        labels=best.labels,
        expected_loss=problem.expected(best.labels),
        loss=problem.loss,
        n_draws=0,
        runs=tuple(runs),
        converged=best.converged and not stopper.flag[0],
        seconds=time.perf_counter() - began,
        items=matrix.items,
        interrupted=stopper.interrupted,
        settings=settings,
    )


class MatrixSearch(Search):
    """One search for one loss; see `Search`."""

    problem: Any

    def _greedy_run(self, start: Start, rng: np.random.Generator) -> Run:
        return super()._greedy_run(self._made(start, rng), rng)

    def _descend(
        self, problem: Any, settings: Settings, start: Start, rng: np.random.Generator
    ) -> tuple[LocalSearch, Run]:
        return super()._descend(problem, settings, self._made(start, rng), rng)

    def _made(self, start: Start, rng: np.random.Generator) -> Start:
        """The start with its labels, if only the matrix can tell them."""
        if start.name in ("average", "complete"):
            return start._replace(labels=self._cut_tree(start.name))
        return start._replace(labels=self._around_pivots(rng)) if start.name == "pivots" else start

    def _cut_tree(self, method: str) -> IntArray:
        """The best cut through a tree of the items; distances are 1 - p_ij."""
        from scipy.cluster.hierarchy import fcluster, linkage

        n = self.problem.n_items
        if n < 2:
            return np.zeros(n, dtype=np.int64)
        tree = linkage(1.0 - self.problem.matrix.toarray()[np.triu_indices(n, 1)], method)
        cuts = (fcluster(tree, k, "maxclust").astype(np.int64) for k in _CUTS if k <= n)
        return min(map(relabel, cuts), key=self.problem.expected)

    def _around_pivots(self, rng: np.random.Generator) -> IntArray:
        """A random item with those most similar to it, then another with those of the rest, and so on."""
        first, near, share = self.problem.neighbors[:3]
        labels, k = np.full(self.problem.n_items, -1, dtype=np.int64), 0
        for i in rng.permutation(self.problem.n_items):
            if labels[i] < 0:
                own = slice(first[i], first[i + 1])
                left = labels[near[own]] < 0
                items, row = np.append(near[own][left], i), np.append(share[own][left], 1.0)
                labels[items[similar_items(row, rng)]] = k
                labels[i], k = k, k + 1
        return relabel(labels)

    def _frequent(self, problem: Any) -> list[IntArray]:  # noqa: ARG002
        """No draw is known."""
        return []
