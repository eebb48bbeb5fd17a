"""Where the search starts from, and the draws it looks at first.

- ``"draws"``: a random draw of the sample;
- ``"sequential"``: items in random order, each put where it costs least given those before it;
- ``"random"``: each item in a random one of about `k_max` clusters, as the paper advises;
- ``"noisy"``: the best of ten random draws, with a tenth of the items moved at random, like the
  paper's noisy MAP;
- ``"together"``: one cluster, from which sweeps take items out.

A search over few draws is cheap, and the best partition for a few hundred draws is nearly the best for all
of them: what remains is a handful of items, which one or two sweeps over the whole sample put right.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from epluribus._typing import FloatArray, IntArray
from epluribus.engine import Engine, Settings
from epluribus.partition import relabel
from epluribus.search.sample import Sample

STARTS = ("draws", "sequential", "random", "noisy", "together")
"""The kinds of starts, as `minimize` names them."""

_NOISE = 0.1
"""Share of the items that a noisy start moves at random."""
_DRAWS = (500, 2000)
"""Draws searched first, if there are more than twice as many: with this many, the mean losses of two clearly
different partitions differ by many standard errors. The second number is for losses whose f0 is not linear:
these often have partitions that are far apart and nearly as good as each other."""
DEAR = 1.6e7
"""Steps above which a sweep is dear: some ten milliseconds. Fewer draws are then searched first ..."""
_FEW = 200
"""... but at least this many, or all ..."""
_LABELS = 2_000_000
"""... or as many as have this many labels in all: with many items each draw says more ..."""
_FEWEST = 32
"""... but never fewer draws than this."""
_CANDIDATES = 10
"""Random draws of which a noisy start disturbs the best: enough to leave out those that are far away."""


def few_draws(sample: Sample, rng: np.random.Generator, full: Engine) -> Engine:
    """The engine over some of the draws, or `full` itself."""
    n, steps = _DRAWS[0 if full.loss.linear else 1], full.execution.steps
    if steps > DEAR:
        n = min(n, max(_FEW, int(sample.n_distinct * DEAR / steps)))
        n = min(n, max(_FEWEST, _LABELS // sample.n_items))
    elif 2 * n >= sample.n_distinct:
        n = sample.n_distinct
    if n >= sample.n_distinct or not full.execution.grows_with_draws:
        return full
    columns, counts = comb(sample.weights, n, rng)
    return full.over(columns, counts)


def comb(weights: FloatArray, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Numbers of some draws, and how often each is chosen, n times in all: in proportion to the weights."""
    # A comb with n teeth is laid over the weights, which lie side by side: a draw is chosen as often as
    # teeth fall on its weight. Each tooth then counts 1.
    edges = np.cumsum(weights) / weights.sum()
    teeth = (np.arange(n) + rng.random()) / n
    at = np.minimum(np.searchsorted(edges, teeth, side="right"), len(weights) - 1)
    columns, counts = np.unique(at, return_counts=True)
    return columns, counts.astype(np.float64)


def few_clusters(settings: Settings, sample: Sample) -> Settings:
    """The settings with at most twice as many clusters as any draw has."""
    most = max(2 * int(sample.n_clusters.max()), settings.k_min)
    return replace(settings, k_max=min(most, settings.most(sample.n_items)))


def make_start(
    kind: str,
    sample: Sample,
    engine: Engine,
    rng: np.random.Generator,
    settings: Settings,
    map_labels: IntArray | None = None,
) -> IntArray:
    """Labels of a start of the given kind, within the bounds of the settings.

    `map_labels` is the partition that a noisy start disturbs; by default the best of ten random draws.
    """
    if kind == "draws":
        labels = _random_draw(sample, engine, rng)
    elif kind == "sequential":
        labels = engine.allocate(rng.permutation(sample.n_items), settings.k_max)
    elif kind == "together":
        labels = np.zeros(sample.n_items, dtype=np.int64)
    elif kind == "random":
        # k_max clusters, but at most twice as many as any draw has; some may stay empty.
        k = min(settings.k_max or sample.n_items, 2 * int(sample.n_clusters.max()), sample.n_items)
        labels = relabel(rng.integers(k, size=sample.n_items))
    else:
        if map_labels is None:
            candidates = [_random_draw(sample, engine, rng) for _ in range(_CANDIDATES)]
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


def _random_draw(sample: Sample, engine: Engine, rng: np.random.Generator) -> IntArray:
    # A distinct partition is chosen with probability proportional to its weight.
    return sample.draw(rng.choice(sample.n_distinct, p=sample.shares), engine, rng)


def noisy(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """The partition with a tenth of the items moved to random clusters."""
    out = labels.copy()
    moved = rng.random(out.size) < _NOISE
    out[moved] = rng.integers(int(out.max()) + 1, size=int(moved.sum()))
    return out
