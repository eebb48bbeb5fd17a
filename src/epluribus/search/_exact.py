"""The partition with the smallest expected loss, proven, for a few items.

Partitions are treated by the sizes of their clusters. For given sizes there is a lower bound on the expected
loss that is a sum over clusters (`shapes.py` derives it), and whose minimum over all partitions with these
sizes is found exactly. Only partitions whose bound is below the best loss so far are visited.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from epluribus import losses
from epluribus._kernels.subsets import (
    Best,
    Path,
    Sets,
    Tree,
    as_good,
    least_costs,
    search_shape,
    subset_codes,
    subset_sums,
)
from epluribus._text import count
from epluribus._typing import DrawsLike, FloatArray, IntArray, LossLike
from epluribus._validate import check_memory
from epluribus.draws import Draws, as_draws
from epluribus.engine import NO_BOUNDS, Settings, draw_losses
from epluribus.engine.read_constraints import read_constraints
from epluribus.estimate import Estimate
from epluribus.losses.base import Loss
from epluribus.partition import n_partitions
from epluribus.search._exact_partial import best_of_partial
from epluribus.search._greedy import check_bounds
from epluribus.search._rules import nothing_obeys
from epluribus.search.shapes import CODE, all_shapes, lines_below

MAX_ITEMS = 12
"""12 items have 4096 sets and 4,213,597 partitions; the codes of `shapes.py` end here."""


def exact(
    draws: DrawsLike,
    loss: LossLike = "vi",
    *,
    k: int | None = None,
    k_min: int | None = None,
    k_max: int | None = None,
    must_link: Any = None,
    cannot_link: Any = None,
    sources: Any = None,
    contiguity: Any = None,
    min_size: int | None = None,
) -> Estimate:
    """The partition with the smallest expected loss of all, proven; for at most 12 items.

    Ties go to the partition that comes first in the lexicographic order of canonical labels.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k : int, optional
        Exact number of clusters.
    k_min, k_max : int, optional
        Smallest and largest number of clusters.
    must_link, cannot_link, sources, contiguity, min_size : optional
        Constraints, as in `minimize`.

    Returns
    -------
    Estimate
        Proven to be optimal, so `converged` is True; there are no `runs`.

    Notes
    -----
    Partitions are not tried one by one. For given sizes of the clusters there is a lower bound on the
    expected loss whose minimum is found from the 2**n_items sets of items, and partitions whose bound is
    above the best loss are left out. For linear losses (VI, Binder, your own), ID, NID and one minus the
    adjusted Rand index the bound is the expected loss itself, and nothing is left to try.

    Twelve items, which have 4,213,597 partitions, and 1000 distinct draws take about 0.1 s on one core, for
    these losses and for NVI, whether the draws agree or are pure noise. More time is needed where the bound
    is far from the loss: 1 s for the 0-1 loss and for NVI with a small `k_max` if the draws are noise, and
    some seconds (6 in the worst of our trials) for a loss of your own that is not linear. This part grows
    with the number of distinct draws. Memory: some 30 MB, and 4 kB for each distinct draw where the bound is
    not the loss itself.

    Examples
    --------
    >>> import epluribus as epl
    >>> draws = [[0, 0, 1], [0, 1, 1], [0, 0, 1]]
    >>> epl.exact(draws, "binder").labels
    array([0, 0, 1])
    >>> epl.exact(draws, "binder", k=3).expected_loss
    1.0
    """
    began = time.perf_counter()
    sample, chosen = as_draws(draws), losses.get(loss)
    if sample.n_items > MAX_ITEMS:
        raise ValueError(
            f"'draws' must have at most {MAX_ITEMS} items to be solved exactly; it has "
            f"{sample.n_items}, which have {n_partitions(sample.n_items):,} partitions. Use minimize."
        )
    if not solves(sample, chosen):
        raise ValueError(
            f"'loss' must be linear, such as 'vi' or 'binder', to be solved exactly with missing labels; got "
            f"'{chosen.name}'. Use minimize."
        )
    low, high = check_bounds(k, k_min, k_max, sample.n_items)
    asked = read_constraints(
        sample,
        must_link=must_link,
        cannot_link=cannot_link,
        sources=sources,
        contiguity=contiguity,
        min_size=min_size,
        k_min=low,
        k_max=high,
    )
    settings = Settings(low, high, constraints=asked)
    labels, value = best_of_all(sample, chosen, settings)
    return Estimate(
        labels=labels,
        expected_loss=value,
        loss=chosen,
        n_draws=sample.n_draws,
        runs=(),
        converged=True,
        seconds=time.perf_counter() - began,
        items=sample.items,
        dimension=sample.dimension,
        settings=settings,
    )


def solves(draws: Draws, loss: Loss) -> bool:
    """Whether `best_of_all` can be asked for the best of all partitions."""
    return draws.n_items <= MAX_ITEMS and (loss.linear or not draws.has_missing)


def best_of_all(draws: Draws, loss: Loss, settings: Settings = NO_BOUNDS) -> tuple[IntArray, float]:
    """The best of all partitions within the bounds of the settings, and its expected loss.

    For at most `MAX_ITEMS` items.
    """
    if draws.has_missing:
        labels = best_of_partial(draws, loss, settings)
    else:
        labels = _Problem(draws, loss, settings).solve()
    return labels, draws.mean(draw_losses(labels, draws, loss))


class _Problem:
    """What every set of items costs as a cluster, for each shape of the estimate."""

    def __init__(self, draws: Draws, loss: Loss, settings: Settings) -> None:
        # Constraints are conditions on single clusters: a set that breaks one is infinitely dear.
        asked = settings.constraints
        self.settings, self.allowed = settings, None if asked is None else asked.allowed_sets()
        self.n_items, self.shapes = draws.n_items, all_shapes(draws.n_items)
        # A set of items is a number whose bit i is item i; these are the sizes of all sets.
        self.size = np.bitwise_count(np.arange(1 << self.n_items)).astype(np.int64)
        # Draws of the same shape, a kind, have the same lines: they are put side by side.
        clusters = clusters_as_sets(draws)
        shape = self.shapes.with_codes(CODE[self.size[clusters]].sum(axis=0))
        order = np.argsort(shape, kind="stable")
        self.clusters = clusters[:, order]
        self.shares = draws.weights[order] / draws.total_weight
        present, self.kinds = np.unique(shape[order], return_inverse=True)
        self.lines = lines_below(loss, self.n_items, present)
        self.n_kinds, self.n_codes = len(present), int(self.shapes.codes.max()) + 1
        self.sums = self._sums(loss.tables(self.n_items)[0])
        # Only draws whose loss is somewhere above its line have to be looked at one by one.
        self.uneven = np.flatnonzero(np.any(self.lines.excess, axis=(1, 2))[self.kinds])
        self.sets = self._sets(draws.item_major[:, order[self.uneven]].astype(np.int64))
        self.path = self._path()

    def _sums(self, f1: FloatArray) -> FloatArray:
        """(n_kinds, 2**N) sum of f1 over the cells of each set, by kind of draw, times the shares."""
        # A cluster that several draws of a kind have in common is added once, with the sum of their shares.
        known, number = np.unique(self.kinds << self.n_items | self.clusters, return_inverse=True)
        shares = np.broadcast_to(self.shares, self.clusters.shape)
        weights = np.bincount(number.ravel(), weights=shares.ravel())
        kinds, clusters = np.divmod(known, 1 << self.n_items)
        sums = np.zeros((self.n_kinds, 1 << self.n_items))
        subset_sums(clusters, weights, kinds, self.size, f1, sums)
        return sums

    def _sets(self, labels: IntArray) -> Sets:
        """The codes of all sets for the uneven draws, whose labels are given."""
        # The kernel takes four draws at a time: up to three without weight are added.
        n = len(self.uneven)
        width = 4 * math.ceil(n / 4)
        check_memory(
            width << self.n_items,
            f"Comparing the partitions of {self.n_items} items with {count(n, 'distinct draw')}",
            "Take fewer draws, or use minimize.",
        )
        together = np.take_along_axis(self.clusters[:, self.uneven], labels, axis=0)
        codes = np.zeros((1 << self.n_items, width), dtype=np.uint8)
        subset_codes(together, self.size, np.diff(CODE), codes)
        weights = np.pad(self.shares[self.uneven], (0, width - n))
        # The row of those without weight is one of zeros, after the others.
        kinds = np.pad(self.kinds[self.uneven], (0, width - n), constant_values=self.n_kinds)
        return Sets(self.size, codes, weights, (kinds * self.n_codes).astype(np.uint64))

    def _path(self) -> Path:
        """Room for the search; all trees share it."""
        chosen, coming, left = np.zeros((3, self.n_items), dtype=np.int64)
        sums = np.zeros((self.n_items, len(self.sets.weights)), dtype=np.uint8)
        return Path(chosen, coming, left, np.zeros(self.n_items), sums)

    def tree(self, shape: int) -> Tree:
        """The search through the partitions of the shape with this number."""
        sizes, lines = self.shapes.sizes[shape], self.lines
        # cost(g) = sum over draws of w_t slope sum_h f1(n_gh), where the slope is the same for a kind.
        cost = lines.slope[:, shape] @ self.sums
        if self.allowed is not None:
            cost[~self.allowed] = np.inf
        least = np.empty((len(sizes) + 1, 1 << self.n_items))
        least_costs(sizes, cost, self.size, least)
        start = float(lines.level[self.kinds, shape] @ self.shares)
        excess = np.zeros((self.n_kinds + 1, self.n_codes))
        excess[:-1, self.shapes.codes] = lines.excess[:, shape]
        # From the first to the last draw with some excess for this shape.
        found = np.flatnonzero(np.any(excess, axis=1)[self.kinds[self.uneven]])
        begin, end = (found[0] // 4 * 4, 4 * (found[-1] // 4 + 1)) if found.size else (0, 0)
        large = max(1, int(np.count_nonzero(sizes > 1)))
        return Tree(sizes, large, start, cost, least, excess.ravel(), int(begin), int(end))

    def solve(self) -> IntArray:
        """Canonical labels of the best partition within the bounds of the settings."""
        k, settings = self.shapes.n_clusters, self.settings
        allowed = np.flatnonzero((k >= settings.k_min) & (k <= settings.most(self.n_items)))
        trees = [self.tree(shape) for shape in allowed.tolist()]
        if settings.constraints is not None:
            # A shape none of whose partitions obeys has an infinite bound.
            trees = [tree for tree in trees if np.isfinite(tree.bound)]
            if not trees:
                raise ValueError(nothing_obeys(settings))
        trees.sort(key=lambda tree: tree.bound)
        best = _nothing_yet(self.n_items, self.lines.scale)
        # First those with the smallest bound of their shape: they are good, and rule out most others.
        self._search(trees, best, first=True)
        # If the smallest loss fell by next to nothing, a partition passed over before may tie with the new
        # best. The next time nothing falls: the smallest loss is known.
        while self._search(trees, best):
            pass
        return best.labels

    def _search(self, trees: list[Tree], best: Best, *, first: bool = False) -> int:
        """Visit the partitions that may be the best; how often the smallest loss fell by next to nothing."""
        falls = 0
        for tree in trees:
            if tree.bound > as_good(best.low[0], best.scale):
                break
            limit = as_good(tree.bound, best.scale) if first else np.inf
            falls += search_shape(self.sets, tree, self.path, limit, best)
        return falls


def clusters_as_sets(draws: Draws) -> IntArray:
    """(K, n_distinct) the clusters of each draw as sets of items; 0 where it has fewer than K."""
    # Item i is the number with bit i alone.
    items = 1 << np.arange(draws.n_items)
    labels = range(int(draws.n_clusters.max()))
    return np.array([items @ (draws.item_major == label) for label in labels])


def _nothing_yet(n_items: int, scale: float) -> Best:
    """No partition so far; `scale` is the size of the terms that losses are made of."""
    labels = np.zeros(n_items, dtype=np.int64)
    # Losses are compared with a tolerance of 1e-12. Where their terms are so large that rounding alone may
    # exceed it, it grows with them: 1e-15 is some ten rounding errors.
    scale = max(1.0, 1e-3 * scale)
    return Best(np.full(1, np.inf), np.full(1, np.inf), labels, labels.copy(), scale)
