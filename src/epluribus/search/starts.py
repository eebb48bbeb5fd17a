"""Where the search starts from, and the draws it looks at first.

- ``"draws"``: a random draw of the sample;
- ``"sequential"``: items in random order, each put where it costs least given those before it;
- ``"random"``: each item in a random one of about `k_max` clusters, as the paper advises;
- ``"noisy"``: the best of ten random draws, with a tenth of the items moved at random, like the
  paper's noisy MAP.

A search over few draws is cheap, and the best partition for a few hundred draws is nearly the best for all
of them: what remains is a handful of items, which one or two sweeps over the whole sample put right.
"""

from __future__ import annotations

import numpy as np

from epluribus._typing import IntArray
from epluribus.draws import Draws
from epluribus.draws.rows import all_equal
from epluribus.engine import Engine, Settings
from epluribus.partition import relabel

STARTS = ("draws", "sequential", "random", "noisy")
"""The kinds of starts, as `minimize` names them."""

_NOISE = 0.1
"""Share of the items that a noisy start moves at random."""
_DRAWS = 200
"""Draws searched first. With this many, the mean losses of two clearly different partitions differ by many
standard errors."""
_LABELS = 2_000_000
"""With many items fewer draws are enough, since each says more: at most this many labels in all ..."""
_FEWEST = 32
"""... but never fewer draws than this."""
_CANDIDATES = 10
"""Random draws of which a noisy start disturbs the best: enough to leave out those that are far away."""


def few_draws(draws: Draws, rng: np.random.Generator, full: Engine) -> Engine:
    """The engine over some of the draws, chosen at random; or `full` itself where the sample is small."""
    n = min(_DRAWS, max(_FEWEST, _LABELS // draws.n_items))
    if n >= draws.n_distinct:
        return full
    weights = draws.draw_weights
    if all_equal(weights):
        rows = rng.choice(draws.n_draws, size=n, replace=False)
    else:  # weights are the probabilities with which draws are chosen, so each one chosen counts 1
        rows = rng.choice(draws.n_draws, size=n, p=weights / weights.sum())
    # Equal draws are stored once: the weight of a distinct partition is how often it was chosen.
    columns, counts = np.unique(draws.index[rows], return_counts=True)
    table = np.ascontiguousarray(draws.item_major[:, columns])
    return Engine(table, counts.astype(np.float64), full.loss)


def make_start(
    kind: str,
    draws: Draws,
    engine: Engine,
    rng: np.random.Generator,
    settings: Settings,
    map_labels: IntArray | None = None,
) -> IntArray:
    """Labels of a start of the given kind, within the bounds of the settings.

    `map_labels` is the partition that a noisy start disturbs; by default the best of ten random draws.
    """
    if kind == "draws":
        labels = _random_draw(draws, rng)
    elif kind == "sequential":
        labels = engine.allocate(rng.permutation(draws.n_items), settings.k_max)
    elif kind == "random":
        # k_max clusters, but at most twice as many as any draw has; some may stay empty.
        k = min(settings.k_max or draws.n_items, 2 * int(draws.n_clusters.max()), draws.n_items)
        labels = relabel(rng.integers(k, size=draws.n_items))
    else:
        if map_labels is None:
            candidates = [_random_draw(draws, rng) for _ in range(_CANDIDATES)]
            map_labels = min(candidates, key=engine.value_of)
        labels = relabel(noisy(map_labels, rng))
    return fit_clusters(labels, engine, rng, settings)


def fit_clusters(
    labels: IntArray, engine: Engine, rng: np.random.Generator, settings: Settings
) -> IntArray:
    """The labels, with clusters joined or items separated if the bounds of the settings require it."""
    k = int(labels.max()) + 1
    if settings.k_max is not None and k > settings.k_max:
        # With k_min = k_max the joins end as soon as the bound is met. The stopper is not passed on: a start
        # with too many clusters would be of no use.
        return engine.merge(labels, Settings(k_min=settings.k_max, k_max=settings.k_max))
    # Too few clusters: items become clusters by themselves, in random order, but never the last item of a
    # cluster, which would only rename it.
    labels, sizes = labels.copy(), np.bincount(labels, minlength=max(k, settings.k_min))
    for i in rng.permutation(len(labels)) if k < settings.k_min else ():
        if k < settings.k_min and sizes[labels[i]] > 1:
            sizes[labels[i]] -= 1
            labels[i], sizes[k] = k, 1
            k += 1
    return relabel(labels)


def _random_draw(draws: Draws, rng: np.random.Generator) -> IntArray:
    # A distinct partition is chosen with probability proportional to its weight.
    chosen = rng.choice(draws.n_distinct, p=draws.shares)
    return draws.distinct[chosen].astype(np.int64)


def noisy(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """The partition with a tenth of the items moved to random clusters."""
    out = labels.copy()
    moved = rng.random(out.size) < _NOISE
    out[moved] = rng.integers(int(out.max()) + 1, size=int(moved.sum()))
    return out
