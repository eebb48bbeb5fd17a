"""What differs between two partitions, in words.

Each cluster of the first partition is matched with at most one of the second, so that as many items as possible
are in matched clusters (the assignment problem on the contingency table). These items stay; all others move, as
few as can be. A cluster of the second partition without a match is new, and gets the next free number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from epluribus._text import count, named_items, sentence_list
from epluribus._typing import IntArray, LabelsLike
from epluribus.partition import as_labels, by_size, item_names, matched

__all__ = ["what_differs"]

EQUAL = "the two are equal"
"""What is said of partitions that do not differ."""
_SHOWN = 4
"""Clusters whose changes are told, and parts of a cluster; of the others the number is given."""
_NAMED = 3
"""Items that are named; of more only the number is given."""
_MOST = 2000
"""Changed clusters above which only their number is told: the assignment would take seconds."""


def what_differs(
    a: LabelsLike, b: LabelsLike, *, names: Sequence[str] | None = None, other: str = "the second"
) -> str:
    """How the second partition differs from the first: where the items of each changed cluster are.

    Parameters
    ----------
    a, b : array_like of shape (n_items,)
        The partitions. Clusters of `a` are numbered by size, 0 the largest, and those that only `b` has come
        after them.
    names : sequence of str, optional
        Names of the items; by default those of `a` or `b`, or their numbers.
    other : str, default "the second"
        What the second partition is called.

    Returns
    -------
    str
        Without a full stop; at most four clusters, those that lose most items first. As few items as possible
        are said to move.

    Examples
    --------
    >>> import epluribus as epl
    >>> epl.changes.what_differs([0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 0, 1])
    'in the second, cluster 1 (2 items) joins cluster 0'
    >>> epl.changes.what_differs([0, 0, 0, 0, 1, 1], [0, 0, 2, 3, 1, 1], names=list("abcdef"))
    'in the second, of cluster 0 (4 items) 2 stay, item c is alone and item d is alone'
    >>> epl.changes.what_differs([0, 0, 1, 1], [1, 1, 0, 0])
    'the two are equal'
    """
    first = by_size(as_labels(a, argument="a"))
    second = matched(b, a, "b", other="'a'")
    table = _changed(first, second)
    if not table[0].size:
        return EQUAL
    if max(map(len, table)) > _MOST:
        n = int(first.max()) + 1
        return f"in {other}, {len(table[0]):,} of {count(n, 'cluster')} are different"
    target = renumbered(first, second, table)
    known = names or item_names(a) or item_names(b) or range(len(first))
    names = [str(name) for name in known]
    moved = target != first
    losses = np.bincount(first[moved])
    order = [int(g) for g in np.argsort(-losses, kind="stable") if losses[g]]
    told = [_phrase(g, first, target, names) for g in order[:_SHOWN]]
    if len(order) > _SHOWN:
        n = int(losses[order[_SHOWN:]].sum())
        where = count(len(order) - _SHOWN, "other cluster")
        told.append(f"{count(n, 'item')} of {where} {'moves' if n == 1 else 'move'}")
    return f"in {other}, {'; '.join(told)}"


def _changed(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """The clusters of the first partition that the second does not have, and the reverse."""
    cells, sizes = np.unique(np.stack([first, second]), axis=1, return_counts=True)
    equal = (sizes == np.bincount(first)[cells[0]]) & (sizes == np.bincount(second)[cells[1]])
    return np.unique(cells[0, ~equal]), np.unique(cells[1, ~equal])


def renumbered(
    first: IntArray, second: IntArray, changed: tuple[IntArray, IntArray] | None = None
) -> IntArray:
    """The number of each item's cluster in the second partition: that of its match in the first, or a new one.

    `changed` are the clusters that only one of them has. Both are canonical.
    """
    from scipy.optimize import linear_sum_assignment

    mine, theirs = changed or _changed(first, second)
    inside = np.isin(first, mine)
    # Canonical labels of some of the items are numbered in another order than clusters of all.
    rows, columns = (np.unique(x[inside], return_inverse=True)[1] for x in (first, second))
    cells = np.zeros((len(mine), len(theirs)), dtype=np.int64)
    np.add.at(cells, (rows, columns), 1)
    number = np.full(len(theirs), -1)
    for g, h in zip(*linear_sum_assignment(cells, maximize=True), strict=True):
        if cells[g, h]:
            number[h] = mine[g]
    new = np.flatnonzero(number < 0)
    number[new] = int(first.max()) + 1 + np.arange(len(new))
    target = first.copy()
    target[inside] = number[columns]
    return target


def _phrase(g: int, first: IntArray, target: IntArray, names: Sequence[str]) -> str:
    """Where the items of one cluster are."""
    own = np.flatnonzero(first == g)
    cluster = f"cluster {g} ({count(len(own), 'item')})"
    places, sizes = np.unique(target[own], return_counts=True)
    # The largest part first; of equal ones, those that stay.
    order = np.lexsort((places, places != g, -sizes))
    if len(order) == 1:
        return f"{cluster} joins {_place(int(places[0]), first)}"
    told = [
        _part(int(place), own[target[own] == place], g, first, target, names)
        for place in places[order[:_SHOWN]]
    ]
    rest = order[_SHOWN:]
    if len(rest):
        n = int(sizes[rest].sum())
        where = count(len(rest), "more cluster")
        told.append(f"{count(n, 'item')} {'goes' if n == 1 else 'go'} to {where}")
    return f"of {cluster} {sentence_list(told)}"


def _part(
    place: int, items: IntArray, g: int, first: IntArray, target: IntArray, names: Sequence[str]
) -> str:
    """What one part of cluster g does."""
    one, named = len(items) == 1, len(items) <= _NAMED
    if place == g:
        return f"{len(items):,} {'stays' if one else 'stay'}"
    who = named_items([names[i] for i in items]) if named else f"{len(items):,}"
    size = int((target == place).sum())
    if size == 1:
        return f"{who} is alone"
    if place > first.max() and size == len(items):
        return f"{who} form new cluster {place}"
    return f"{who} {'goes' if one else 'go'} to {_place(place, first)}"


def _place(place: int, first: IntArray) -> str:
    """A cluster of the second partition."""
    return f"{'new ' if place > first.max() else ''}cluster {place}"
