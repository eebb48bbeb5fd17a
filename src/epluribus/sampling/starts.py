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
from epluribus._validate import check_choice
from epluribus.models.base import Model, Side
from epluribus.partition import as_labels, relabel
from epluribus.sampling.trace import Trace, later_means

_NAMES = ("dispersed", "one", "many", "random")
"""Names of starts; after the first, in the order in which `dispersed` gives them to chains."""


def first_labels(
    start: Any, model: Model, rngs: Sequence[np.random.Generator]
) -> list[tuple[IntArray, ...]]:
    """The labels with which each chain begins, one partition per side.

    Parameters
    ----------
    start : str, or labels
        "one": one cluster; "many": as many as the prior allows; "random": uniform labels among a random
        number of clusters; "dispersed": the first chain "one", the second "many", the others "random". For
        block models "dispersed" leaves out "one", and "random" has at least half as many clusters as
        the prior allows.
        Or one partition for all chains, or one per chain; two of these for a model with two sides. Or a
        trace: all chains begin at the last draw of its best chain.
    model : Model
    rngs : sequence of Generator
        The generator of each chain.

    Returns
    -------
    list of tuple of ndarray
        For each chain a tuple of canonical labels, (n_items,) for each side.
    """
    if isinstance(start, str):
        check_choice(start, _NAMES, "start")
        # The extremes first: if two chains agree, they have come from both ends.
        weak = model.weak_items
        apart = _NAMES[2 if weak else 1 :]
        kinds = [
            apart[min(c, len(apart) - 1)] if start == "dispersed" else start
            for c in range(len(rngs))
        ]
        return [
            tuple(_make(kind, side, rng, weak) for side in model.sides)
            for kind, rng in zip(kinds, rngs, strict=True)
        ]
    if isinstance(start, Trace):
        start = _last_of_best(start)
    # Labels: one set for each side.
    starts = (start,) if len(model.sides) == 1 else start
    if not isinstance(starts, tuple | list) or len(starts) != len(model.sides):
        names = " and ".join(side.name for side in model.sides)
        raise TypeError(f"'start' must be a name or two sets of labels, of {names}.")
    # From one list per side, with an entry for each chain, to one tuple per chain.
    pairs = zip(starts, model.sides, strict=True)
    return list(zip(*(_read(own, side, len(rngs)) for own, side in pairs), strict=True))


def best_chain(trace: Any) -> int:
    """Number of the chain with the highest mean log posterior in its second half."""
    return int(np.argmax(later_means(trace.log_posterior)))


def describe_start(start: Any) -> str:
    """Where the chains began, in words, for the record."""
    if isinstance(start, str):
        return start
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


def _make(kind: str, side: Side, rng: np.random.Generator, weak: bool) -> IntArray:
    """Canonical labels of one side for a named start."""
    slots = side.tables.slots
    if kind == "one":
        return np.zeros(side.n_items, dtype=np.int64)
    if kind == "many":
        # As many clusters as there are slots, of sizes that differ by at most 1.
        return relabel(rng.permutation(np.arange(side.n_items) % slots))
    # At most k clusters: some labels may not occur.
    k = int(rng.integers((slots + 1) // 2 if weak else 1, slots + 1))
    return relabel(rng.integers(0, k, side.n_items))


def _read(start: Any, side: Side, n_chains: int) -> list[IntArray]:
    """Canonical labels of one side for every chain, from one partition or one per chain."""
    if hasattr(
        start, "iloc"
    ):  # the rows of a data frame: a list of it has the names of its columns
        start = start.to_numpy()
    # Two dimensions mean one row per chain. `as_labels` reads anything else as one partition, a single row or
    # column too.
    shape = np.shape(start)
    one = len(shape) != 2 or (1 in shape and shape != (n_chains, side.n_items))
    rows = [start] * n_chains if one else list(start)
    if len(rows) != n_chains:
        raise ValueError(
            f"'start' must be one partition, or one row for each of the {n_chains} chains; got "
            f"shape {np.shape(start)}."
        )
    slots = side.tables.slots
    labels = [as_labels(row, side.n_items, "start") for row in rows]
    for chain, own in enumerate(labels):
        if own.max() >= slots:
            raise ValueError(
                f"'start' must have at most {slots} clusters, the bound of the prior; chain {chain} "
                f"has {own.max() + 1}."
            )
    return labels
