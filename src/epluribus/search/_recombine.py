"""One partition out of two or more: the blocks on which they agree are joined, then single items moved.

Two items that are together in all of several good partitions probably belong together. The *meet* of the
partitions, their coarsest common refinement, has these sets of items as its blocks; there are few of them, so
joining them greedily costs little. One such step usually reaches a loss that no restart of single-item moves
reaches: a cluster that wrongly combines two groups of items can be divided again, which would take many
single moves, the first of them uphill.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from epluribus import losses
from epluribus._typing import DrawsLike, IntArray, LabelsLike, LossLike, RngLike
from epluribus._validate import make_rng
from epluribus.draws import as_draws
from epluribus.engine import Settings, engine_for
from epluribus.estimate import Run
from epluribus.partition import as_labels, meet_labels, relabel
from epluribus.search._greedy import check_k_max, descend

_BLOCKS_PER_CLUSTER = 8
_BLOCKS = 32
"""At most min(8 K, 32 + 2 K) blocks are kept, with K the number of clusters of the first partition: the first
bound limits memory, the second time, since joining B blocks costs up to B squared."""


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
        Go on joining, with the smallest possible rise of the loss, until there are at most this many
        clusters.

    Returns
    -------
    ndarray of shape (n_items,)
        Canonical labels.

    Notes
    -----
    The time grows with n_draws K^2 for a partition with K clusters. For a linear loss, such as VI or Binder,
    no two clusters of the result can be joined to lower the expected loss; moving single items may still
    lower it.

    Examples
    --------
    >>> from epluribus.search import merge
    >>> merge([[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 1]], [0, 1, 2, 3])
    array([0, 0, 0, 1])
    """
    sample = as_draws(draws)
    settings = Settings(k_max=check_k_max(k_max))
    own = as_labels(labels, sample.n_items)
    return engine_for(sample, losses.get(loss)).merge(own, settings)


def recombine(
    draws: DrawsLike,
    partitions: Sequence[LabelsLike],
    loss: LossLike = "vi",
    *,
    k_max: int | None = None,
    rng: RngLike = None,
) -> Run:
    """Join the blocks on which all given partitions agree, then move single items while that helps.

    Parameters
    ----------
    draws : Draws or array_like of shape (n_draws, n_items)
        The posterior sample.
    partitions : sequence of array_like of shape (n_items,)
        Usually two or more good partitions; with one, its own clusters are the blocks.
    loss : str or Loss, default "vi"
        See `epluribus.losses.available`.
    k_max : int, optional
        Largest number of clusters.
    rng : int, Generator or SeedSequence, optional
        Source of randomness for the order of items.

    Returns
    -------
    Run
        Labels, expected loss, number of clusters, and the trace of the sweeps.

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
    # Joining finds the coarse structure; the sweeps then correct single items.
    blocks = common_blocks([as_labels(labels, sample.n_items) for labels in partitions])
    engine, generator = engine_for(sample, losses.get(loss)), make_rng(rng)
    merged, n_draws = engine.merge(blocks, settings), sample.n_draws
    return descend(engine, merged, generator, settings, n_draws=n_draws, start="recombined")


def common_blocks(partitions: Sequence[IntArray]) -> IntArray:
    """The meet of canonical partitions, with a bound on the number of blocks.

    If there are too many, the smallest are added to the largest block of their cluster in the first
    partition: their few items can still be moved one by one later.
    """
    # Two items are in the same block if all partitions have them together.
    blocks = reduce(meet_labels, partitions)
    first = partitions[0]
    k = int(first.max()) + 1
    limit = min(_BLOCKS_PER_CLUSTER * k, _BLOCKS + _BLOCKS_PER_CLUSTER * k // 4)
    sizes = np.bincount(blocks)
    if len(sizes) <= limit:
        return blocks
    # Every block lies within one cluster of the first partition, since the meet refines it.
    cluster = np.empty(len(sizes), dtype=np.int64)
    cluster[blocks] = first
    # Going through the blocks by size, the first one found in each cluster is its largest.
    largest_first = np.argsort(-sizes, kind="stable")
    _, at = np.unique(cluster[largest_first], return_index=True)
    main = largest_first[at]  # the largest block of each cluster
    # A block that is kept is its own target; all others go to the largest block of their cluster.
    kept = np.union1d(main, largest_first[:limit])
    target = main[cluster]
    target[kept] = kept
    return relabel(target[blocks])
