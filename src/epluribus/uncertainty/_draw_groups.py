"""Groups of draws that look alike from one item: a hundred rows instead of thousands.

By Jensen's inequality the mean of -log n_it over a group of draws is at least -log of the mean n_it. Little
is lost if the draws of a group agree in the logarithms of the numbers that matter, their features: how many
items of some sets are with the item. Groups whose features vary most are split at the mean, again and again.
"""

from __future__ import annotations

import numpy as np

from epluribus._typing import AnyArray, FloatArray, IntArray

_ROUNDED_UP = 1.0 + 2e-7
"""Shares of a group are rounded up, for single precision: with too many together a bound is only lower."""


def group_draws(
    labels: AnyArray,
    shares: FloatArray,
    cells: AnyArray,
    own: int,
    i: int,
    rows: AnyArray | None,
    n_groups: int,
) -> tuple[FloatArray, FloatArray]:
    """In which share of each group's draws the others are with item i, and the share of the group itself.

    Parameters
    ----------
    labels : ndarray of shape (n_draws, n_items)
        The distinct draws.
    shares : ndarray of shape (n_draws,)
        Their probabilities, all above 0.
    cells : ndarray of shape (n_draws, n_clusters)
        How many items of each cluster of a good partition are with the item in each draw.
    own : int
        The cluster of the item in that partition.
    i : int
        The item.
    rows : ndarray of shape (n_rows, n_items), optional
        More sets of items, which may be in them in part.
    n_groups : int
        Largest number of groups.
    """
    together = labels == labels[:, i, None]
    # The item's own cluster, that with one more cluster, everything, and the rows.
    mine = cells[:, own, None]
    counts = [mine, cells + mine, cells.sum(axis=1, keepdims=True)]
    if rows is not None:
        counts.append(np.einsum("tj,rj->tr", together, rows))
    features = np.log2(np.maximum(1.0, np.concatenate(counts, axis=1)))
    group = split_draws(features, shares, n_groups)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sums = np.add.reduceat(np.where(together, shares[:, None], 0.0)[order], starts, axis=0)
    total = sums[:, i]
    return np.minimum(1.0, sums / total[:, None] * _ROUNDED_UP), total


def split_draws(features: AnyArray, shares: FloatArray, n_groups: int) -> IntArray:
    """The group of each draw, 0, 1, ..., at most `n_groups` of them.

    Examples
    --------
    >>> import numpy as np
    >>> from epluribus.uncertainty._draw_groups import split_draws
    >>> split_draws(np.array([[1.0], [5.0], [1.1], [9.0]]), np.full(4, 0.25), 3).tolist()
    [0, 1, 0, 2]
    """
    group, n = np.zeros(len(features), dtype=np.int64), 1
    while n < n_groups:
        total = np.bincount(group, shares, n)
        # (features, groups) means, and variances times the share of the group.
        means = np.array([np.bincount(group, shares * f, n) for f in features.T]) / total
        away = (features.T - means[:, group]) ** 2
        spread = np.array([np.bincount(group, shares * a, n) for a in away])
        axis, score = spread.argmax(axis=0), spread.max(axis=0)
        # A third of the groups at a time, those that vary most.
        split = np.argsort(-score, kind="stable")[: min(max(1, n // 3), n_groups - n)]
        split = split[score[split] > 1e-12]
        if not len(split):
            break
        new = np.full(n, -1)
        new[split] = n + np.arange(len(split))
        above = features[np.arange(len(group)), axis[group]] > means[axis[group], group]
        group = np.where(above & (new[group] >= 0), new[group], group)
        n += len(split)
    return group
