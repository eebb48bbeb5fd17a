"""A search without draws: the partition that suits a similarity matrix best.

The phases are those of a search with draws (`phases`); starts come from the matrix, and kicks try groups of
items that are similar to one of them:

- ``"average"`` and ``"complete"``: the best of several cuts through the tree of that linkage, once each;
- ``"pivots"``: a random item and those most similar to it are a cluster, then the same with the items left;
- ``"sequential"`` and ``"together"``, as with draws.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from itertools import chain, cycle
from typing import Any

import numpy as np

from epluribus._parallel import run_tasks
from epluribus._progress import Progress, ProgressLike, make_progress
from epluribus._typing import IntArray
from epluribus._validate import shown
from epluribus.draws import Draws, as_draws
from epluribus.draws.similarity import SimilarityMatrix
from epluribus.engine import Engine, Settings
from epluribus.engine.matrix import MatrixEngine, similar_items
from epluribus.estimate import Estimate, Run
from epluribus.losses.base import Loss
from epluribus.losses.values import loss as loss_between
from epluribus.partition import relabel
from epluribus.search._improve import Climber
from epluribus.search.comparison import Comparison
from epluribus.search.phases import Search, Start
from epluribus.search.sample import Sample
from epluribus.search.starts import fit_clusters, make_start

_FIRST = ("average", "sequential", "complete")
"""The kinds of starts of the first round ..."""
_KINDS = ("pivots", "pivots", "sequential", "pivots", "pivots", "together")
"""... and of the others, in turn."""
_TREE = 3000
"""Items above which no tree is made: it takes memory for all pairs, and time that grows with their number."""
_CUTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 100, 150, 250, 500)
"""Numbers of clusters at which a tree is cut."""


def as_draws_or_matrix(
    draws: Any, psm: Any, client: Any, engine: str, map_labels: Any, progress: Any
) -> Draws | SimilarityMatrix:
    """What `minimize` was given: draws, or a similarity matrix in their place."""
    if psm is None:
        if draws is None:
            raise TypeError("'draws' must be given, or a similarity matrix as 'psm'.")
        return as_draws(draws, client, progress)
    others = {
        "draws": draws,
        "client": client,
        "engine": None if engine == "cpu" else engine,
        "map_labels": map_labels,
    }
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
    engines = [MatrixEngine(matrix.matrix, loss) for loss in chosen]
    found = [
        _solve(matrix, engine, given, n_starts, settings, progress, seed) for engine in engines
    ]
    return Comparison(
        tuple(found),
        np.array([[engine.value_of(a.labels) for engine in engines] for a in found]),
        np.array([[loss_between(a.labels, b.labels) for b in found] for a in found]),
    )


def _solve(
    matrix: SimilarityMatrix,
    engine: MatrixEngine,
    given: list[IntArray],
    n_starts: int,
    settings: Settings,
    progress: ProgressLike,
    seed: np.random.SeedSequence,
) -> Estimate:
    """The estimate for one loss."""
    began, stopper = time.perf_counter(), settings.stopper
    bar = make_progress(progress, n_starts, f"minimize {engine.loss.name}", stopper)
    try:
        # In a worker thread, so that this one is free to receive Ctrl-C.
        task = partial(_search, matrix, engine, given, n_starts, settings, bar, seed)
        [(runs, best)] = run_tasks([task], n_jobs=1, stopper=stopper)
    finally:
        bar.close()
    return Estimate(
        labels=best.labels,
        expected_loss=best.expected_loss,
        loss=engine.loss,
        n_draws=0,
        runs=tuple(runs),
        converged=best.converged and not stopper.flag[0],
        seconds=time.perf_counter() - began,
        items=matrix.items,
        interrupted=stopper.interrupted,
        settings=settings,
    )


def _search(
    matrix: SimilarityMatrix,
    engine: MatrixEngine,
    given: list[IntArray],
    n_starts: int,
    settings: Settings,
    bar: Progress,
    seed: np.random.SeedSequence,
) -> tuple[list[Run], Run]:
    """The runs of a search, and the last or the best of them."""
    first = _FIRST if matrix.n_items <= _TREE else ()
    plan = chain(
        (Start("given", labels) for labels in given), map(Start, first), cycle(map(Start, _KINDS))
    )
    search = MatrixSearch(matrix, engine, plan, n_starts, settings, seed)
    search.bar = bar
    return search.recombine() if settings.search == "recombine" else search.greedy()


class MatrixSearch(Search):
    """One search for one loss; see `Search`."""

    def __init__(self, matrix: SimilarityMatrix, engine: MatrixEngine, *args: Any) -> None:
        nothing = np.empty(0)
        # A sample without draws: the phases ask it for the number of items, and of draws.
        sample = Sample(engine.table, nothing, nothing.astype(np.int64), 0)
        super().__init__(sample, engine, *args)
        self.matrix = matrix

    def _labels_of(self, start: Start, engine: Engine, rng: np.random.Generator) -> IntArray:
        """The labels of a start, made to fit the bounds on the number of clusters."""
        if start.labels is not None:
            labels = start.labels
        elif start.name in ("average", "complete"):
            labels = self._cut_tree(start.name)
        elif start.name == "pivots":
            labels = self._around_pivots(rng)
        else:
            return make_start(start.name, self.sample, engine, rng, self.settings)
        return fit_clusters(labels, engine, rng, self.settings)

    def _cut_tree(self, method: str) -> IntArray:
        """The best cut through a tree of the items; distances are 1 - p_ij."""
        from scipy.cluster.hierarchy import fcluster, linkage

        n = self.matrix.n_items
        if n < 2:
            return np.zeros(n, dtype=np.int64)
        tree = linkage(1.0 - self.matrix.dense()[np.triu_indices(n, 1)], method)
        cuts = (fcluster(tree, k, "maxclust").astype(np.int64) for k in _CUTS if k <= n)
        return min(map(relabel, cuts), key=self.full.value_of)

    def _around_pivots(self, rng: np.random.Generator) -> IntArray:
        """A random item with those most similar to it, then another with those of the rest, and so on."""
        labels, k = np.full(self.matrix.n_items, -1, dtype=np.int64), 0
        first, near, share = (
            self.matrix.matrix.indptr,
            self.matrix.matrix.indices,
            self.matrix.matrix.data,
        )
        for i in rng.permutation(self.matrix.n_items):
            if labels[i] < 0:
                own = slice(first[i], first[i + 1])
                left = labels[near[own]] < 0
                items, row = np.append(near[own][left], i), np.append(share[own][left], 1.0)
                labels[items[similar_items(row, rng)]] = k
                labels[i], k = k, k + 1
        return relabel(labels)

    def _not_beaten(self, best: Climber) -> Climber:
        """The climber, or a better one from one cluster, all items apart, or a given start."""
        n, low, high = (
            self.matrix.n_items,
            self.settings.k_min,
            self.settings.most(self.matrix.n_items),
        )
        for labels in (np.zeros(n, dtype=np.int64), np.arange(n), *self.given):
            if self.stopper.stopped or not low <= labels.max() + 1 <= high:
                continue
            if self.full.value_of(labels) < best.value:
                best = Climber(self.full, labels, self.rng, self.settings)
                best.settle()
        return best
