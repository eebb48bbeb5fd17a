"""Partitions that an answer must not be worse than: one cluster, all items apart, and the draws.

A draw is a poor estimate as a rule, about as far from the other draws as they are from each other. But where
draws are few, or many of them are equal, one of them may be the best. With few draws and items all of them
are evaluated; otherwise all are compared with a few reference draws, and those that come close to the answer
are evaluated exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from epluribus._typing import IntArray
from epluribus.engine import Engine, Settings
from epluribus.losses.values import loss_values
from epluribus.search.sample import Sample

_REFERENCES = (2, 8)
"""Draws with which all draws are compared, and then those that are left."""
_LABELS = 2e6
"""Labels to compare (draws x draws x items) up to which all draws are compared with all draws."""
_DRAWS = 2000
"""Draws that are compared, at most: those with the largest weights."""
_CLOSEST = 5
"""Draws that are evaluated exactly, at most."""


def better_floors(
    sample: Sample, full: Engine, best: IntArray, settings: Settings, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Canonical labels of partitions, within the bounds, that are better than `best`."""
    value, n = full.value_of(best), sample.n_items
    low, high = settings.k_min, settings.most(n)
    together, apart = full.trivial_values()
    if low == 1 and together < value:
        yield np.zeros(n, dtype=np.int64)
    if high == n and apart < value:
        yield np.arange(n)
    if sample.missing:  # draws are not partitions of all items
        return
    heaviest = np.argsort(-sample.weights, kind="stable")
    within = (sample.n_clusters >= low) & (sample.n_clusters <= high)
    allowed = heaviest[within[heaviest]][:_DRAWS]
    for t in _candidates(sample, full, best, allowed, rng) if len(allowed) else ():
        labels = sample.table[:, t].astype(np.int64)
        if full.value_of(labels) < value:
            yield labels


def _candidates(
    sample: Sample, full: Engine, best: IntArray, allowed: IntArray, rng: np.random.Generator
) -> IntArray:
    """Numbers of the distinct draws that may be better than `best`, out of those allowed, heaviest first."""
    n_draws = sample.n_distinct
    if float(sample.table.size) * n_draws <= _LABELS:
        rounds = [np.arange(n_draws)]
    else:
        some = np.flatnonzero(sample.weights)  # the others say nothing
        rounds = [rng.choice(some, min(n, len(some)), replace=False) for n in _REFERENCES]
    left, gaps = allowed, np.zeros(len(allowed))
    for chosen in rounds:
        references, table, those = full.table.take(chosen, axis=1), full.table, left
        if 2 * len(left) < n_draws:  # otherwise a copy would take longer than the other draws
            table, those = table.take(left, axis=1), np.arange(len(left))
        weights = sample.weights[chosen] / sample.weights[chosen].sum()
        mine = weights @ loss_values(best, references, full.loss)
        losses = [
            loss_values(draw, table, full.loss, columns_estimate=True)[those]
            for draw in references.T.astype(np.int64)
        ]
        theirs = weights @ np.stack(losses)
        close = theirs <= mine * (1 + 1e-9)
        left, gaps = left[close], theirs[close]
        if len(left) == 0:
            break
    closest = left[np.argsort(gaps, kind="stable")[:_CLOSEST]]
    if full.loss.linear:
        return closest
    # The draw that most others equal is always tried: under the 0-1 loss nothing else counts.
    return np.append(closest, allowed[0])
