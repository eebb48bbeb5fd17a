"""Where chains begin: far apart by default, so that agreement between them means something.

R-hat compares chains with each other. Chains that begin at the same place may agree because they have not
left it; chains that begin with one cluster and with many agree only once both have found the posterior.
In a sparse network one node says little about its cluster, and a chain that begins with one cluster may never
leave it: there chains begin with many clusters, in different numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from epluribus._typing import IntArray
from epluribus.models.base import Model, Side
from epluribus.partition import as_labels, relabel
from epluribus.sampling.trace import Trace, later_means


def first_labels(
    start: Any, model: Model, rngs: Sequence[np.random.Generator]
) -> list[tuple[IntArray, ...]]:
    """The labels with which each chain begins, one partition per side.

    Parameters
    ----------
    start : None, labels or Trace
        None: the first chain begins with one cluster, the second with as many as the prior allows, the others
        with uniform labels among a random number of clusters. For block models none begins with one cluster, and
        random numbers are at least half of what the prior allows. Labels: all chains begin there; two
        partitions for a model with two sides. A trace: all chains begin at the last draw of its best chain.
    model : Model
    rngs : sequence of Generator
        The generator of each chain.

    Returns
    -------
    list of tuple of ndarray
        For each chain a tuple of canonical labels, (n_items,) for each side.
    """
    if start is None:
        # The extremes first: if two chains agree, they have come from both ends.
        kinds = [c + model.weak_items for c in range(len(rngs))]
        pairs = list(zip(kinds, rngs, strict=True))
        weak = model.weak_items
        return [tuple(_make(k, side, rng, weak) for side in model.sides) for k, rng in pairs]
    if isinstance(start, Trace):
        start = _last_of_best(start)
    starts = (start,) if len(model.sides) == 1 else start
    if not isinstance(starts, tuple | list) or len(starts) != len(model.sides):
        names = " and ".join(side.name for side in model.sides)
        raise TypeError(f"'start' must be a trace or two partitions, of {names}.")
    labels = tuple(_check(own, side) for own, side in zip(starts, model.sides, strict=True))
    return [labels] * len(rngs)


def best_chain(trace: Any) -> int:
    """Number of the chain with the highest mean log posterior in its second half."""
    return int(np.argmax(later_means(trace.log_posterior)))


def describe_start(start: Any) -> str:
    """Where the chains began, in words, for the record."""
    if start is None:
        return "dispersed"
    if isinstance(start, Trace):
        chain = best_chain(start)
        return (
            f"all chains from the last draw of chain {chain} (counted from 0) of an earlier run, the best of "
            f"{start.n_chains}: that they agree does not show that they have found the posterior"
        )
    return "from labels that were given"


def _last_of_best(trace: Any) -> Any:
    """The last draw of the best chain: labels, or those of rows and of columns."""
    last = (best_chain(trace) + 1) * trace.n_draws - 1  # chains lie end to end
    rows = np.asarray(trace.draws[last])
    return rows if trace.column_draws is None else (rows, np.asarray(trace.column_draws[last]))


def _make(kind: int, side: Side, rng: np.random.Generator, weak: bool) -> IntArray:
    """Canonical labels of one side: one cluster (0), as many as there can be (1), or random (more)."""
    slots = side.tables.slots
    if kind == 0:
        return np.zeros(side.n_items, dtype=np.int64)
    if kind == 1:
        # As many clusters as there are slots, of sizes that differ by at most 1.
        return relabel(rng.permutation(np.arange(side.n_items) % slots))
    # At most k clusters: some labels may not occur.
    k = int(rng.integers((slots + 1) // 2 if weak else 1, slots + 1))
    return relabel(rng.integers(0, k, side.n_items))


def _check(start: Any, side: Side) -> IntArray:
    """Canonical labels of one side that were given."""
    labels = as_labels(start, side.n_items, "start")
    if labels.max() >= side.tables.slots:
        raise ValueError(
            f"'start' must have at most {side.tables.slots} clusters, the bound of the prior; it has "
            f"{labels.max() + 1}."
        )
    return labels
