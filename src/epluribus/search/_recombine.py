"""Out of two partitions, one: the blocks on which they agree, joined greedily, then single items.

Items that are together in two good partitions probably belong together; where the two differ, the
blocks of their meet are few, so that joining them costs little. One such step usually reaches a
loss that no restart of single-item moves reaches alone: clusters that sit together wrongly can part
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from epluribus import losses
from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike, RngLike
from epluribus._validate import make_rng
from epluribus.draws import as_draws
from epluribus.engine import Engine, Settings
from epluribus.estimate import Run
from epluribus.partition import as_labels, meet_labels, relabel
from epluribus.search._greedy import check_k_max, descend

_BLOCKS_PER_CLUSTER = 8
_BLOCKS = 32
"""Blocks kept: at most 8 for each cluster, which bounds the memory, and at most 32 and 4 for each cluster,
which bounds the time: joining B blocks costs up to B squared."""


def merge(
    draws: DrawsLike, labels: LabelsLike, loss: LossLike = "vi", *, k_max: int | None = None
) -> IntArray:
    """Join clusters of a partition, the best pair first, while the expected loss falls.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    labels : array_like of shape (n_items,)
        The partition.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k_max : int, optional
        Join on, at the smallest rise of the loss, until there are at most this many clusters.

    Returns
    -------
    ndarray of shape (n_items,)
        Canonical labels.

    Examples
    --------
    >>> from epluribus.search import merge
    >>> merge([[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 1]], [0, 1, 2, 3])
    array([0, 0, 0, 1])
    """
    sample = as_draws(draws)
    settings = Settings(k_max=check_k_max(k_max))
    own = as_labels(labels, sample.n_items)
    return Engine.of(sample, losses.get(loss)).merge(own, settings)


def recombine(
    draws: DrawsLike,
    partitions: Sequence[LabelsLike],
    loss: LossLike = "vi",
    *,
    k_max: int | None = None,
    rng: RngLike = None,
) -> Run:
    """Join the blocks on which all given partitions agree, then move single items until none helps.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    partitions : sequence of array_like of shape (n_items,)
        Two or more partitions.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k_max : int, optional
        Largest number of clusters.
    rng : int, Generator or SeedSequence, optional
        Source of the order of items.

    Returns
    -------
    Run

    Examples
    --------
    >>> from epluribus.search import recombine
    >>> draws = [[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 1, 1, 2, 2]]
    >>> recombine(draws, [[0, 0, 0, 0, 0], [0, 1, 1, 2, 2]], rng=1).labels
    array([0, 0, 0, 1, 1])
    """
    sample = as_draws(draws)
    if len(partitions) == 0:
        raise ValueError("'partitions' must hold at least one partition; it is empty.")
    settings = Settings(k_max=check_k_max(k_max))
    blocks = common_blocks([as_labels(labels, sample.n_items) for labels in partitions])
    engine, generator = Engine.of(sample, losses.get(loss)), make_rng(rng)
    return descend(engine, engine.merge(blocks, settings), generator, settings, start="recombined")


def common_blocks(partitions: Sequence[IntArray]) -> IntArray:
    """The meet of canonical partitions, in not too many blocks.

    Where there are too many, the smallest go back to the largest block of their cluster in the first
    partition: a few items can still move one by one.
    """
    # Two items are in one block if all partitions have them together.
    blocks = reduce(meet_labels, partitions)
    first = partitions[0]
    k = int(first.max()) + 1
    limit = min(_BLOCKS_PER_CLUSTER * k, _BLOCKS + _BLOCKS_PER_CLUSTER * k // 2)
    sizes = np.bincount(blocks)
    if len(sizes) <= limit:
        return blocks
    # Every block lies within one cluster of the first partition, since that is one of those met.
    cluster = np.empty(len(sizes), dtype=np.int64)
    cluster[blocks] = first
    largest_first = np.argsort(-sizes, kind="stable")
    _, at = np.unique(cluster[largest_first], return_index=True)
    main = largest_first[at]  # the largest block of each cluster
    kept = np.union1d(main, largest_first[:limit])
    target = main[cluster]
    target[kept] = kept
    return relabel(target[blocks])


def pool_singletons(labels: IntArray) -> IntArray:
    """All items that are alone, in one cluster.

    Where many items fit nowhere, this can be better than any step towards it: joining two of them
    raises the loss, joining all lowers it.
    """
    sizes = np.bincount(labels)
    return relabel(np.where(sizes[labels] == 1, len(sizes), labels))
