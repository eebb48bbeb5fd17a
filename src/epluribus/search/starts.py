"""Where the search starts from.

- ``"draws"``: a random draw of the sample;
- ``"sequential"``: items in random order, each put where it costs least given those before;
- ``"random"``: every item in a random one of about `k_max` clusters, as the paper advises;
- ``"noisy"``: the best of ten random draws with a tenth of the items moved at random, in the manner
  of the paper's noisy MAP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epluribus.draws import as_labels

if TYPE_CHECKING:
    from epluribus._typing import IntArray
    from epluribus.draws import Draws
    from epluribus.search.objective import Objective

__all__ = ["STARTS", "fit_clusters", "make_start"]

STARTS = ("draws", "sequential", "random", "noisy")

_NOISE = 0.1
"""Share of the items that a noisy start moves at random."""


def make_start(
    kind: str,
    draws: Draws,
    objective: Objective,
    rng: np.random.Generator,
    *,
    k_min: int,
    k_max: int,
    map_labels: IntArray | None = None,
) -> IntArray:
    """Labels of a start of the given kind with k_min to k_max clusters."""
    if kind == "draws":
        labels = _random_draw(draws, rng)
    elif kind == "sequential":
        labels = objective.allocate(rng.permutation(draws.n_items), k_max=k_max)
    elif kind == "random":
        labels = _random(draws, rng, k_max)
    else:
        labels = _noisy(draws, objective, rng, map_labels)
    return fit_clusters(labels, objective, rng, k_min=k_min, k_max=k_max)


def fit_clusters(
    labels: IntArray, objective: Objective, rng: np.random.Generator, *, k_min: int, k_max: int
) -> IntArray:
    """The labels themselves, or with clusters joined or items set apart to have k_min..k_max."""
    k = int(labels.max()) + 1
    if k > k_max:
        # Joining only: k_min = k_max stops the merges as soon as the bound is met.
        return objective.merge(labels, k_min=k_max, k_max=k_max)
    if k < k_min:
        labels = labels.copy()
        sizes = np.bincount(labels)
        for i in rng.permutation(len(labels)):
            if k == k_min:
                break
            if sizes[labels[i]] > 1:
                sizes[labels[i]] -= 1
                labels[i] = k
                k += 1
                sizes = np.append(sizes, 1)
        return as_labels(labels)
    return labels


def _random_draw(draws: Draws, rng: np.random.Generator) -> IntArray:
    chosen = rng.choice(draws.n_distinct, p=draws.weights / draws.total_weight)
    return draws.distinct[chosen].astype(np.int64)


def _random(draws: Draws, rng: np.random.Generator, k_max: int) -> IntArray:
    """About k_max clusters; without a bound twice as many as any draw has."""
    k = min(k_max, 2 * int(draws.n_clusters.max()), draws.n_items)
    return as_labels(rng.integers(k, size=draws.n_items))


def _noisy(
    draws: Draws, objective: Objective, rng: np.random.Generator, map_labels: IntArray | None
) -> IntArray:
    if map_labels is None:
        candidates = [_random_draw(draws, rng) for _ in range(10)]
        map_labels = min(candidates, key=objective.value_of)
    labels = map_labels.copy()
    moved = rng.random(draws.n_items) < _NOISE
    labels[moved] = rng.integers(int(labels.max()) + 1, size=int(moved.sum()))
    return as_labels(labels)
